"""How the tables hang together: one list of stations and one of links, from which ``explain`` finds every chain."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.judgements import JUDGEMENTS
from schemas.bronze.replies import REPLIES
from schemas.bronze.rescored import RESCORED
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.preferences import PREFERENCES
from schemas.gold.prompts import PROMPTS
from schemas.gold.regression import REGRESSION
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.rl import RL
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.gold.tasks import TASKS
from schemas.silver.calls import CALLS
from schemas.silver.contamination import CONTAMINATION
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.documents import DOCUMENTS as SILVER_DOCUMENTS
from schemas.silver.eval_samples import EVAL_SAMPLES
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.qa import QA
from schemas.silver.qa_verdicts import QA_VERDICTS
from schemas.silver.rewards import REWARDS
from schemas.silver.task_stats import TASK_STATS
from schemas.silver.tokens import TOKENS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.silver.trajectory_verdicts import TRAJECTORY_VERDICTS
from schemas.table import Table


@dataclass(frozen=True)
class Station:
    """A table in a chain: by which columns a row can be asked for, and what is shown of it."""

    table: Table
    title: str
    shown: tuple[str, ...]
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Link:
    """``child`` rows name their ``parent`` by ``on`` = ((child column, parent column), ...).

    ``attached`` rows say more about their parent (a verdict, a statistic) and lead nowhere.
    """

    child: Table
    parent: Table
    on: tuple[tuple[str, str], ...]
    attached: bool = False


#: In the order of the way of the data, which is the order of printing.
STATIONS: tuple[Station, ...] = (
    Station(DOCUMENTS, "document as received", ("source", "uri", "title", "licence", "path", "position", "ingest_id", "ingest_seq", "fetched_at"), ("doc_id",)),
    Station(DOCUMENT_VERDICTS, "verdict of curation", ("state", "reason", "dup_of", "jaccard", "containment", "evidence")),
    Station(CONTAMINATION, "holds a benchmark item", ("kind", "row_id", "part", "coverage", "span_start", "span_end")),
    Station(SILVER_DOCUMENTS, "kept document", ("cluster_id", "split", "n_words", "n_chars", "language", "masked")),
    Station(CONVERSIONS, "what conversion made of it", ("state", "reason", "domain", "persona", "qa_id", "draws", "prompt_tokens", "completion_tokens", "price_nanos")),
    Station(
        REPLIES, "reply of the conversion engine",
        (
            "engine", "engine_version", "model", "stage", "ordinal", "reask", "persona", "template", "draw", "n_items", "reply", "failure_class",
            "prompt_tokens", "completion_tokens", "price",
        ), ("request_hash",),
    ),
    Station(
        QA, "candidate question",
        ("kind", "subject", "question", "answer", "contract", "evidence_start", "evidence_end", "evidence_hash", "engine", "template", "filter_reason"), ("qa_id",),
    ),
    Station(QA_VERDICTS, "verdict of admission", ("state", "reason", "evidence", "probes")),
    Station(
        TASKS, "task",
        ("kind", "question", "answer", "contract", "verifier", "split", "allowed_roles", "stage", "status", "status_reason", "origin", "parent_task_id"), ("task_id",),
    ),
    Station(PROMPTS, "prompt", ("form", "template", "context_mode", "system", "text"), ("prompt_id",)),
    Station(ROUND_PLAN, "plan of a round", ("role", "why", "n_samples", "weight", "policy_id", "evidence")),
    Station(TASK_STATS, "what a policy can do on it", ("n", "n_valid", "k", "posterior_mean", "p_in_band", "majority_answer", "majority_is_gold")),
    Station(REGRESSION, "collected failure", ("n_valid", "k", "why")),
    Station(ROLLOUTS, "generation as delivered", ("engine", "policy_id", "policy_version", "seed", "temperature", "finish_reason", "failure_class")),
    Station(
        TRAJECTORIES, "rollout",
        ("role", "policy_id", "status", "response_length", "outcome_reward", "is_trainable", "failure_class", "group_id"), ("trajectory_id", "group_id"),
    ),
    Station(INTERACTIONS, "turn", ("role", "content", "finish_reason")),
    Station(CALLS, "engine call", ("engine", "engine_version", "prompt_tokens", "completion_tokens", "error"), ("call_id",)),
    Station(REWARDS, "reward", ("value", "weight", "is_outcome", "verdict", "extracted_answer", "gold_answer", "verifier_name", "verifier_version", "flags")),
    Station(TRAJECTORY_VERDICTS, "verdict of quality", ("state", "reason", "flags", "evidence")),
    Station(SFT, "row for supervised fine-tuning", ("response", "reward", "task_type"), ("sft_id",)),
    Station(PREFERENCES, "preference pair", ("chosen", "rejected", "score_gap", "judged_by"), ("pair_id",)),
    Station(REPAIR_QUEUE, "in the repair queue", ("gold", "majority_answer", "majority_count", "n_valid", "rank", "why")),
)  # fmt: skip

STATION_OF: dict[str, Station] = {station.table.name: station for station in STATIONS}

#: An ingest has an id but no table of its own: it is asked for through its documents.
INGEST_COLUMN = "ingest_id"


def _same(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


LINKS: tuple[Link, ...] = (
    Link(DOCUMENT_VERDICTS, DOCUMENTS, _same("doc_id"), attached=True),
    Link(CONTAMINATION, DOCUMENTS, _same("doc_id"), attached=True),
    Link(SILVER_DOCUMENTS, DOCUMENTS, _same("doc_id"), attached=True),
    Link(CONVERSIONS, DOCUMENTS, _same("doc_id"), attached=True),
    Link(REPLIES, DOCUMENTS, _same("doc_id")),
    Link(REPLIES, DOCUMENTS, _same("doc_id"), attached=True),  # the others about it: what filtered, and what checked
    Link(QA, DOCUMENTS, _same("doc_id")),
    Link(QA, REPLIES, _same("request_hash")),
    Link(QA_VERDICTS, QA, _same("qa_id"), attached=True),
    Link(TASKS, QA, _same("qa_id")),
    Link(TASKS, TASKS, (("parent_task_id", "task_id"),)),
    Link(TASKS, TASKS, _same("task_id"), attached=True),  # its other versions
    Link(PROMPTS, TASKS, (("task_id", "task_id"), ("task_version", "version"))),
    Link(ROUND_PLAN, PROMPTS, _same("prompt_id")),
    Link(TASK_STATS, PROMPTS, _same("prompt_id"), attached=True),
    Link(REGRESSION, PROMPTS, _same("prompt_id"), attached=True),
    Link(TRAJECTORIES, ROUND_PLAN, _same("round", "prompt_id")),
    Link(TRAJECTORIES, PROMPTS, _same("prompt_id")),
    Link(ROLLOUTS, TRAJECTORIES, _same("run_id", "prompt_id", "sample_index"), attached=True),
    Link(INTERACTIONS, TRAJECTORIES, _same("trajectory_id"), attached=True),
    Link(REWARDS, TRAJECTORIES, _same("trajectory_id"), attached=True),
    Link(TRAJECTORY_VERDICTS, TRAJECTORIES, _same("trajectory_id"), attached=True),
    Link(CALLS, TRAJECTORIES, _same("trajectory_id")),
    Link(SFT, TRAJECTORIES, _same("trajectory_id")),
    Link(PREFERENCES, TRAJECTORIES, (("chosen_trajectory_id", "trajectory_id"),)),
    Link(PREFERENCES, TRAJECTORIES, (("rejected_trajectory_id", "trajectory_id"),)),
    Link(REPAIR_QUEUE, TASKS, _same("task_id"), attached=True),
)

#: By which one column the rows of a table belong, in the end, to a document; a parent stands before its children. Every table with rows of
#: documents has exactly one such owner, also those that no chain shows: what is taken down is found through this list.
OWNERS: tuple[Link, ...] = (
    *(
        Link(table, DOCUMENTS, _same("doc_id"))
        for table in (DOCUMENT_PROFILES, DOCUMENT_VERDICTS, CONTAMINATION, SILVER_DOCUMENTS, REPLIES, CONVERSIONS, QA, TASKS)
    ),
    Link(QA_VERDICTS, QA, _same("qa_id")),
    *(Link(table, TASKS, _same("task_id")) for table in (PROMPTS, REPAIR_QUEUE)),
    *(
        Link(table, PROMPTS, _same("prompt_id"))
        for table in (ROUND_PLAN, TASK_STATS, REGRESSION, ROLLOUTS, TRAJECTORIES, EVAL_SAMPLES, RL, SFT, PREFERENCES)
    ),
    *(Link(table, TRAJECTORIES, _same("trajectory_id")) for table in (INTERACTIONS, TOKENS, REWARDS, CALLS, TRAJECTORY_VERDICTS, RESCORED)),
    # both sides of a pair answer one prompt: what takes one takes the other
    Link(JUDGEMENTS, TRAJECTORIES, (("trajectory_a", "trajectory_id"),)),
)


def columns_of(station: Station) -> list[str]:
    """What must be read of a station: its key, what is shown, and every column that a link follows."""
    followed = [child for link in LINKS if link.child is station.table for child, _ in link.on]
    followed += [parent for link in LINKS if link.parent is station.table for _, parent in link.on]
    extra = ["doc_id", "answer_start", "answer_end"] if station.table is QA else []
    return list(dict.fromkeys([*station.table.key, *station.shown, *followed, *extra]))
