"""ops.bindings: which bytes a checkpoint was offered."""

import pyarrow as pa

from schemas.table import TIMESTAMP, Table, column

BINDINGS = Table(
    name="ops.bindings",
    comment="Append-only: checkpoint <-> published sets it was offered, MLflow run, parent checkpoint. The newest row of a checkpoint counts.",
    schema=pa.schema(
        [
            column("event_id", pa.string(), "content_id over checkpoint, round, commit, sets, parent"),
            column("checkpoint_id", pa.string(), "policy_id of an embedded policy, or the name that its trainer gave it"),
            column("checkpoint_uri", pa.string(), "where it lies, as given", null=True),
            column("checkpoint_sha256", pa.string(), "over its files, where they could be read", null=True),
            column("round", pa.int32(), "round whose publication it was offered"),
            column("tag", pa.string(), "tag of that publication in the workspace's git"),
            column("commit", pa.string(), "commit of that tag"),
            column("sets", pa.string(), "canonical JSON: set -> sha256 of its MANIFEST.json"),
            column("mlflow_run_id", pa.string(), "run of the round, or of the training where one was named", null=True),
            column("parent_checkpoint_id", pa.string(), "checkpoint it was trained from", null=True),
            column("detail", pa.string(), "canonical JSON: trainer, settings, seeds, figures"),
            column("at", TIMESTAMP, "when"),
        ]
    ),
    key=("event_id",),
    partition=None,
    volatile=("at", "mlflow_run_id", "commit"),
    writer="deltalake",
)
