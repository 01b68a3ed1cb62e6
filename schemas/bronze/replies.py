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
            column("call_hash", pa.string(), "the same without the draw: one logical call, however often it was asked", null=True),
            column("stage", pa.string(), "extract, filter, identify, generate, check, audit, document (nothing was asked)", null=True),
            column("ordinal", pa.int32(), "which persona of the document the call was for, from 0", null=True),
            column(
                "reask", pa.int32(), "0: the call's first reply; 1: asked again, the first reply was none that could be read", null=True
            ),
            column("model", pa.string(), "which model replied, as the server names it", null=True),
            column("domain", pa.string(), "domain of the document, once it is known", null=True),
            column("persona", pa.string(), "for whom the question is made", null=True),
            column("cached_tokens", pa.int64(), "of the prompt, from the engine's cache of prefixes", null=True),
        ]
    ),
    key=("request_hash",),
    partition="run_id",
    volatile=("seconds", "worker_id", "finished_at"),
    append_only=True,
)
