"""The small files of a publication: what manifests and pin say beside the rows, and ``params.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.context import JobContext, code_hash
from jobs.publish.assemble import Facts, StagedSet
from jobs.publish.slices import RULES, SHARED, TABLES, Slices
from jobs.rounds import planned_policy
from jobs.views.reader import alias
from schemas.conf import Config
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.ids import canonical_json
from schemas.publication import Pin, PinnedSet, SourceTable
from schemas.silver.rewards import REWARDS
from udfs.export.shards import writer_versions

#: Sections that change no row: how and where work runs, and what happens after a publication.
_ELSEWHERE = {"spark", "work", "track", "train", "eval", "maintain"}


def conf_of(config: Config) -> dict[str, Any]:
    """The settings that may change a row."""
    sections = {name: values for name, values in config.model_dump(mode="json").items() if name not in _ELSEWHERE}
    sections["publish"] = {key: value for key, value in sections["publish"].items() if key != "remote"}
    return sections


def gather_facts(ctx: JobContext, slices: Slices, round_no: int) -> Facts:
    """What is the same for every set; read without a JVM."""
    from jobs.check_quality import RULES as CHECK_RULES
    from jobs.feed_back import RULES as FEEDBACK_RULES
    from udfs.admission.checks import RULES_VERSION as ADMIT_RULES

    reader, tables = slices.reader, {}
    for table in (*TABLES, *SHARED):
        delta = reader.delta(table)
        if delta is not None:
            tables[table.name] = (str(delta.metadata().id), int(delta.version()))
    return Facts(
        campaign=ctx.config.campaign.name, round_no=round_no, conf=conf_of(ctx.config), code_hash=code_hash(),
        filters={
            "admit": str(ADMIT_RULES), "check": str(CHECK_RULES), "feedback": str(FEEDBACK_RULES), "sets": RULES, "takedowns": slices.takedowns,
        },
        templates=_templates(slices, round_no), verifiers=_verifiers(slices, round_no),
        writer=writer_versions(ctx.config.publish.row_group_rows), tables=tables,
    )  # fmt: skip


def _templates(slices: Slices, round_no: int) -> dict[str, str]:
    sql = (
        f"SELECT DISTINCT p.template AS label FROM {alias(PROMPTS)} p JOIN {alias(ROUND_PLAN)} r ON p.prompt_id = r.prompt_id "
        f"WHERE r.round = {int(round_no)} ORDER BY label"
    )
    versions: dict[str, str] = {}
    for row in slices.reader.select(sql, PROMPTS, ROUND_PLAN):
        name, _, version = row["label"].partition("@")
        versions[name] = f"{versions[name]},{version}" if name in versions else version
    return versions


def _verifiers(slices: Slices, round_no: int) -> tuple[str, ...]:
    sql = f"SELECT DISTINCT verifier_name AS name, verifier_version AS version FROM {alias(REWARDS)} WHERE round = {int(round_no)} AND is_outcome"
    return tuple(sorted(f"{row['name']}@{row['version']}" for row in slices.reader.select(sql, REWARDS)))


def make_pin(ctx: JobContext, slices: Slices, facts: Facts, sets: Mapping[str, StagedSet], attempt: int, tag: str) -> Pin:
    """pins/round-<n>.json: the manifests, and everything else that may change a score."""
    from jobs.views.figures import round_figures
    from jobs.views.scores import eval_digests

    eval_digest, collected_digest = eval_digests(slices.reader, facts.round_no)
    tables: dict[str, SourceTable] = {}
    for staged in sets.values():
        for name, source in staged.manifest.tables.items():
            held = tables[name].slices if name in tables else {}
            tables[name] = source.model_copy(update={"slices": dict(sorted({**held, **source.slices}.items()))})
    pinned = {
        name: PinnedSet(
            manifest_sha256=staged.manifest_sha256, rows=staged.manifest.rows, bytes=staged.manifest.bytes, files=len(staged.manifest.files)
        )
        for name, staged in sets.items()
    }
    return Pin(
        campaign=facts.campaign, round=facts.round_no, attempt=attempt, tag=tag, policy_id=planned_policy(ctx, facts.round_no), sets=pinned,
        tables=dict(sorted(tables.items())), eval_digest=eval_digest, collected_digest=collected_digest, conf=facts.conf,
        code_hash=facts.code_hash, filters=facts.filters, templates=facts.templates, verifiers=facts.verifiers,
        figures=round_figures(slices.reader, facts.round_no),
    )  # fmt: skip


def pin_bytes(pin: Pin) -> bytes:
    """Canonical JSON and a newline."""
    return (canonical_json(pin.model_dump(mode="json")) + "\n").encode()


def params_bytes(pin: Pin) -> bytes:
    """params.yaml: what the stage depends on; names and hashes of our own making, which need no quotes."""
    lines = [f"round: {pin.round}", f"tag: '{pin.tag}'", "manifests:"]
    lines += [f"  {name}: '{held.manifest_sha256}'" for name, held in sorted(pin.sets.items())]
    return ("\n".join(lines) + "\n").encode()
