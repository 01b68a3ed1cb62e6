"""ops.job_runs: who read what and wrote what."""

import pyarrow as pa

from schemas.table import TIMESTAMP, Table, column

JOB_RUNS = Table(
    name="ops.job_runs",
    comment="Append-only events: each run of a job that wrote something, what it read, wrote and counted.",
    schema=pa.schema(
        [
            column("event_id", pa.string(), "content_id(job, scope, fingerprint, state)"),
            column("job", pa.string(), "ingest_corpus, curate_corpus ..."),
            column("scope", pa.string(), "ingest=<id> or round=<n>"),
            column("fingerprint", pa.string(), "hash of inputs, configuration that matters, code and schema version"),
            column("state", pa.string(), "started, finished, failed"),
            column("job_run_id", pa.string(), "id of this process's run, as in its log lines"),
            column("reads", pa.string(), "canonical JSON: table -> {scope: fingerprint}"),
            column("writes", pa.string(), "canonical JSON: table -> {version, rows, checksum}"),
            column("counts", pa.string(), "canonical JSON: the job's funnel, input = sum of its states"),
            column("conf_hash", pa.string(), "hash of the configuration that matters to the job"),
            column("code_hash", pa.string(), "hash of the source of the rooms that the job runs"),
            column("error", pa.string(), "message of a failure", null=True),
            column("seconds", pa.float64(), "wall time"),
            column("at", TIMESTAMP, "when"),
        ]
    ),
    key=("event_id",),
    partition=None,
    volatile=("job_run_id", "seconds", "at"),
    writer="deltalake",
)
