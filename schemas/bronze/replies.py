"""bronze.replies: every reply of a conversion engine."""

import pyarrow as pa

from schemas.table import TIMESTAMP, Table, column

REPLIES = Table(
    name="bronze.replies",
    comment="Every engine reply ever paid for: the cache and the replay of conversion. Append-only.",
    schema=pa.schema(
        [
            column(
                "request_hash",
                pa.string(),
                "content_id of engine, revision, rendered prompt, template, output schema, sampling, max_tokens, draw",
            ),
            column("run_id", pa.string(), "hand-off run that delivered it"),
            column("ingest_id", pa.string(), "ingest of the document"),
            column("doc_id", pa.string(), "document that was converted"),
            column("engine", pa.string(), "extractive, vllm, openai ..."),
            column("engine_version", pa.string(), "version of the engine (extractive: version of its rules)"),
            column("template", pa.string(), "name@version of the prompt template or of the rule set"),
            column("draw", pa.int32(), "ordinal of the draw: a re-ask is a new draw"),
            column(
                "reply", pa.string(), "what the engine answered: canonical JSON list of candidate items; null where it failed", null=True
            ),
            column("n_items", pa.int32(), "candidate items in the reply, 0 where none or failed"),
            column("failure_class", pa.string(), "null where it succeeded; else G§3's classes", null=True),
            column("finish_reason", pa.string(), "stop, length, error"),
            column("prompt_tokens", pa.int64(), "usage (extractive: code points read)"),
            column("completion_tokens", pa.int64(), "usage (extractive: code points written)"),
            column("price", pa.float64(), "money, in the currency of conf; 0.0 for engines that cost none"),
            column("seconds", pa.float64(), "engine seconds"),
            column("worker_id", pa.string(), "who made it"),
            column("finished_at", TIMESTAMP, "when"),
        ]
    ),
    key=("request_hash",),
    partition="run_id",
    volatile=("seconds", "worker_id", "finished_at"),
    append_only=True,
)
