"""Telling MLflow of a round so that telling it twice, or half and then again, leaves one campaign, one run and one value of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from jobs.tracking.client import TrackingError
from jobs.tracking.destination import Destination
from jobs.tracking.params import TAG_LIMIT, clean_value
from jobs.tracking.record import KEY, RoundRecord, SetInput
from udfs.killpoints import reach

#: Most parameters, tags and metrics of one `log_batch` (MLflow allows 100, 100 and 1000).
_BATCH, _METRICS = 100, 1000


@dataclass(frozen=True)
class Logged:
    """Where a round ended up."""

    experiment: str
    parent_id: str
    run_id: str


def find_experiment(client: Any, where: Destination, name: str) -> str:
    """Id of the experiment, created with its artifact location where there is none.

    Raises:
        TrackingError: it was deleted.
    """
    from mlflow.exceptions import MlflowException

    held = client.get_experiment_by_name(name)
    if held is None:
        try:
            return str(client.create_experiment(name, artifact_location=where.artifacts))
        except MlflowException:
            # Another workspace may just have created it; anything else is raised again by the next line.
            held = client.get_experiment_by_name(name)
            if held is None:
                raise
    if held.lifecycle_stage != "active":
        raise TrackingError.from_deleted(where, name)
    return str(held.experiment_id)


def log_round(client: Any, experiment_id: str, record: RoundRecord, artifacts: Path, tables: list[str]) -> Logged:
    """Log one round and close its run.

    Args:
        client: ``MlflowClient``.
        experiment_id: from :func:`find_experiment`.
        record: what to log.
        artifacts: directory whose content becomes the run's artifacts.
        tables: paths below it that MLflow may show as tables.
    """
    parent = _run(client, experiment_id, record.campaign_key, record.campaign, record.started_ms, record.campaign_tags)
    links = {"mlflow.parentRunId": parent.info.run_id}
    run = _run(client, experiment_id, record.key, record.name, record.started_ms, record.tags | links)
    reach("track/run_created")
    if tables:
        shown = json.dumps([{"path": path, "type": "table"} for path in tables])
        links["mlflow.loggedArtifacts"] = clean_value(shown, TAG_LIMIT)
    run_id, parent_id = run.info.run_id, parent.info.run_id
    # A parameter cannot be changed: one that is there stays.
    _batches(client, run_id, params={k: v for k, v in record.params.items() if k not in run.data.params})
    _batches(client, run_id, tags={k: v for k, v in (record.tags | links).items() if run.data.tags.get(k) != v})
    reach("track/params")
    _batches(client, run_id, metrics=record.metrics, at=record.metric_ms, step=record.round_no)
    _batches(client, parent_id, metrics=record.headlines, at=record.metric_ms, step=record.round_no)
    _inputs(client, run, record.inputs)
    reach("track/metrics")
    client.log_artifacts(run_id, str(artifacts))
    reach("track/artifacts")
    client.set_terminated(run_id, "FINISHED", end_time=record.ended_ms)
    # The campaign ends, as far as anybody knows, with its newest round.
    client.set_terminated(parent_id, "FINISHED", end_time=max(record.ended_ms, parent.info.end_time or 0))
    return Logged(experiment_id, parent_id, run_id)


def _run(client: Any, experiment_id: str, key: str, name: str, started_ms: int, tags: Mapping[str, str]) -> Any:
    """The run that carries ``key``; created with all its tags in one call, so that no half-made run is ever left unfound."""
    found = client.search_runs([experiment_id], filter_string=f"tags.`{KEY}` = '{key}'", max_results=100)
    if found:
        return min(found, key=lambda run: (run.info.start_time, run.info.run_id))
    return client.create_run(experiment_id, start_time=started_ms, tags={**tags, KEY: key}, run_name=name)


def _batches(
    client: Any,
    run_id: str,
    *,
    params: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    metrics: Mapping[str, float] | None = None,
    at: int = 0,
    step: int = 0,
) -> None:
    from mlflow.entities import Metric, Param, RunTag

    for part in _parts(params or {}, _BATCH):
        client.log_batch(run_id, params=[Param(name, value) for name, value in part])
    for part in _parts(tags or {}, _BATCH):
        client.log_batch(run_id, tags=[RunTag(name, value) for name, value in part])
    for part in _parts(metrics or {}, _METRICS):
        # A metric is known by name, time, step and value: the same again changes nothing.
        client.log_batch(run_id, metrics=[Metric(name, value, at, step) for name, value in part])


def _parts(values: Mapping[str, Any], size: int) -> Iterator[list[tuple[str, Any]]]:
    items = iter(values.items())
    while part := list(islice(items, size)):
        yield part


def _inputs(client: Any, run: Any, inputs: tuple[SetInput, ...]) -> None:
    """Entities of MLflow, made by hand: `mlflow.data` would compute digests of its own and loses versions and contexts (L§3)."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    held = {(item.dataset.name, item.dataset.digest) for item in (run.inputs.dataset_inputs if run.inputs else [])}
    new = [
        DatasetInput(
            Dataset(name=item.name, digest=item.digest, source_type="local", source=item.source, schema=item.schema, profile=item.profile),
            [InputTag(key, value) for key, value in item.tags.items()],
        )
        for item in inputs
        if (item.name, item.digest) not in held
    ]
    if new:
        client.log_inputs(run.info.run_id, datasets=new)
