"""What MLflow is told of a round, as plain values: made from the publication, the lake and its logs, the same each time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.lake.layout import Lake
from jobs.tracking.params import TAG_LIMIT, clean_name, clean_value, flat_params
from jobs.tracking.published import Publication
from jobs.views.costs import cost_figures
from jobs.views.reader import LakeReader
from jobs.views.vocabulary import vocabulary
from schemas.gold.preferences import PREFERENCES
from schemas.gold.regression import REGRESSION
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.ids import ID_DIGITS, content_id
from schemas.publication import Manifest, PinnedSet
from schemas.silver.task_stats import TASK_STATS

#: Sets on which a policy is measured; the others are trained on. MLflow keeps one context per set and run (L§3).
EVALUATED = frozenset({"eval", "regression"})
#: Tables that feedback writes last: their commits end the round.
_CLOSING = (TASK_STATS, SFT, PREFERENCES, REGRESSION)
KEY = "verilake.key"


@dataclass(frozen=True)
class SetInput:
    """A published set as a dataset of MLflow; ``source`` holds no path of a machine, because MLflow keeps the first source of a digest."""

    name: str
    digest: str
    context: str
    source: str
    schema: str | None
    profile: str
    tags: dict[str, str]


@dataclass(frozen=True)
class RoundRecord:
    """One round.

    Attributes:
        campaign_key: finds the campaign's run again.
        key: finds the round's run again.
        started_ms, ended_ms: from the tables' own logs, in milliseconds.
        metric_ms: timestamp of its metrics; later attempts come after earlier ones.
    """

    campaign: str
    campaign_key: str
    campaign_tags: dict[str, str]
    round_no: int
    key: str
    name: str
    started_ms: int
    ended_ms: int
    metric_ms: int
    params: dict[str, str]
    metrics: dict[str, float]
    headlines: dict[str, float]
    tags: dict[str, str]
    inputs: tuple[SetInput, ...]


def make_record(
    reader: LakeReader,
    publication: Publication,
    manifests: Mapping[str, Manifest],
    dvc: Mapping[str, str],
    events: Iterable[Mapping[str, Any]],
) -> RoundRecord:
    """Gather everything but the artifacts.

    Args:
        reader: tables of the lake.
        publication: the round.
        manifests: of its sets, as far as they are in reach.
        dvc: set -> md5 in DVC's lock.
        events: of ops.rounds.

    Raises:
        UnknownMetricError: the pin holds a figure that the vocabulary does not know.
    """
    pin = publication.pin
    lake_id = str(reader.lake.delta(ROUND_PLAN).metadata().id)
    campaign_key = content_id("campaign", lake_id, pin.campaign)
    started, ended = round_times(reader.lake, pin.round, events)
    figures = vocabulary().checked({**pin.figures, **cost_figures(reader, pin.round), "round": pin.round})
    tags = {
        "round": f"{pin.round:03d}", "verilake.kind": "round", "verilake.campaign": pin.campaign, "verilake.attempt": str(pin.attempt),
        "verilake.tag": pin.tag, "verilake.commit": publication.commit or "", "verilake.pin_sha256": publication.sha256,
        "verilake.eval_digest": pin.eval_digest, "verilake.collected_digest": pin.collected_digest, "verilake.code_hash": pin.code_hash,
        "verilake.policy_rolled_out": pin.policy_id, "verilake.policy_trained": ", ".join(publication.trained),
        "mlflow.note.content": f"Round {pin.round} of campaign {pin.campaign}. Its bytes: `verilake checkout {pin.tag} DIR`",
        **{f"verilake.manifest.{clean_name(name)}": held.manifest_sha256 for name, held in pin.sets.items()},
    }  # fmt: skip
    return RoundRecord(
        campaign=pin.campaign, campaign_key=campaign_key, round_no=pin.round, key=content_id("round", campaign_key, pin.round, pin.attempt),
        campaign_tags={"verilake.kind": "campaign", "verilake.campaign": pin.campaign, "verilake.lake": lake_id},
        name=pin.tag, started_ms=started, ended_ms=ended, metric_ms=ended + pin.attempt - 1, params=_params(publication), metrics=figures,
        headlines=vocabulary().headlines(figures), tags={name: clean_value(value, TAG_LIMIT) for name, value in tags.items() if value},
        inputs=tuple(_input(publication, name, held, manifests.get(name), dvc.get(name)) for name, held in sorted(pin.sets.items())),
    )  # fmt: skip


def _params(publication: Publication) -> dict[str, str]:
    pin = publication.pin
    described = {
        "round": pin.round, "policy_id": pin.policy_id, "eval_digest": pin.eval_digest, "collected_digest": pin.collected_digest,
        "filter": pin.filters, "template": pin.templates, "verifiers": list(pin.verifiers),
    }  # fmt: skip
    return flat_params({**pin.conf, **described})


def _input(publication: Publication, name: str, held: PinnedSet, manifest: Manifest | None, dvc: str | None) -> SetInput:
    """Source, schema and profile follow from the manifest alone, as the digest does; what belongs to the round is a tag of the input."""
    pin = publication.pin
    tables = manifest.tables if manifest is not None else {}
    source = {
        "uri": f"datasets/{name}", "manifest_sha256": held.manifest_sha256,
        "delta": {table: {"id": used.table_id, "version": used.version} for table, used in sorted(tables.items())},
    }  # fmt: skip
    profile: dict[str, Any] = {"num_rows": held.rows, "num_files": held.files, "bytes": held.bytes}
    if manifest is not None:
        profile |= {"licences": dict(sorted(manifest.licences.items())), "sources": dict(sorted(manifest.sources.items()))}
    tags = {
        "mlflow.data.context": "evaluation" if name in EVALUATED else "training", "verilake.tag": pin.tag,
        "verilake.commit": publication.commit or "", "verilake.manifest_sha256": held.manifest_sha256, "verilake.dvc_md5": dvc or "",
        # Texts: version 0 is a version, which MLflow's own Delta source drops.
        **{f"delta.{table}": f"{used.table_id}@{used.version}" for table, used in sorted(tables.items())},
    }  # fmt: skip
    return SetInput(
        name=name, digest=held.manifest_sha256[:ID_DIGITS], context=tags["mlflow.data.context"],
        source=json.dumps(source, sort_keys=True), schema=_schema(manifest) if manifest is not None else None,
        profile=json.dumps(profile, sort_keys=True)[:60000], tags={key: value[:500] for key, value in tags.items() if value},
    )  # fmt: skip


#: Arrow type -> type of an MLflow column.
_TYPES = {
    "string": "string", "large_string": "string", "int32": "integer", "int64": "long", "float": "float", "double": "double", "bool": "boolean",
    "binary": "binary",
}  # fmt: skip


def _schema(manifest: Manifest) -> str:
    columns = [
        {"type": _TYPES.get(dtype, "datetime" if dtype.startswith("timestamp") else "string"), "name": name, "required": not nullable}
        for name, dtype, nullable in manifest.columns
    ]
    return json.dumps({"mlflow_colspec": columns})


def round_times(lake: Lake, round_no: int, events: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """When the round was planned and when it was closed, in milliseconds.

    The ledger's events carry the start of the process that wrote them, one and the same for all rounds of a `run`; the commits of the
    tables carry the moment itself. The ledger decides only where the tables' logs no longer tell.
    """
    number, noted = str(round_no), [event for event in events if event["round"] == round_no and event["state"] in {"planned", "closed"}]
    closing = [held[number].timestamp_ms for table in _CLOSING if number in (held := lake.slices(table))]
    planned = lake.slices(ROUND_PLAN).get(number)
    told = [_millis(event["at"]) for event in noted]
    end = max(closing) if closing else max(told, default=0)
    start = planned.timestamp_ms if planned is not None else min(told, default=end)
    return min(start, end), end


def _millis(at: datetime) -> int:
    return int(at.timestamp() * 1000)
