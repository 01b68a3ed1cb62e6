"""All tables of the lake by name."""

from __future__ import annotations

from schemas.bronze.benchmark_items import BENCHMARK_ITEMS
from schemas.bronze.documents import DOCUMENTS as BRONZE_DOCUMENTS
from schemas.bronze.judgements import JUDGEMENTS
from schemas.bronze.rejects import REJECTS
from schemas.bronze.replies import REPLIES
from schemas.bronze.rescored import RESCORED
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.alerts import ALERTS
from schemas.gold.preferences import PREFERENCES
from schemas.gold.prompts import PROMPTS
from schemas.gold.regression import REGRESSION
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.rl import RL
from schemas.gold.round_metrics import ROUND_METRICS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.gold.tasks import TASKS
from schemas.gold.worker_metrics import WORKER_METRICS
from schemas.ops.bindings import BINDINGS
from schemas.ops.job_runs import JOB_RUNS
from schemas.ops.rounds import ROUNDS
from schemas.ops.tombstones import TOMBSTONES
from schemas.silver.calls import CALLS
from schemas.silver.contamination import CONTAMINATION
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.documents import DOCUMENTS as SILVER_DOCUMENTS
from schemas.silver.eval_samples import EVAL_SAMPLES
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.judge_audits import JUDGE_AUDITS
from schemas.silver.qa import QA
from schemas.silver.qa_verdicts import QA_VERDICTS
from schemas.silver.rewards import REWARDS
from schemas.silver.task_stats import TASK_STATS
from schemas.silver.tokens import TOKENS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.silver.trajectory_verdicts import TRAJECTORY_VERDICTS
from schemas.table import Table

ALL_TABLES: tuple[Table, ...] = (
    BRONZE_DOCUMENTS,
    REJECTS,
    REPLIES,
    ROLLOUTS,
    JUDGEMENTS,
    RESCORED,
    DOCUMENT_PROFILES,
    BENCHMARK_ITEMS,
    SILVER_DOCUMENTS,
    DOCUMENT_VERDICTS,
    CONTAMINATION,
    CONVERSIONS,
    JUDGE_AUDITS,
    QA,
    QA_VERDICTS,
    TRAJECTORIES,
    INTERACTIONS,
    TOKENS,
    REWARDS,
    CALLS,
    TRAJECTORY_VERDICTS,
    TASK_STATS,
    EVAL_SAMPLES,
    TASKS,
    PROMPTS,
    ROUND_PLAN,
    RL,
    SFT,
    PREFERENCES,
    REGRESSION,
    REPAIR_QUEUE,
    ROUND_METRICS,
    WORKER_METRICS,
    ALERTS,
    JOB_RUNS,
    ROUNDS,
    BINDINGS,
    TOMBSTONES,
)

TABLES: dict[str, Table] = {table.name: table for table in ALL_TABLES}
