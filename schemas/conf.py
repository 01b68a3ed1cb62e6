"""The configuration as a type. Values and their explanation stand in ``conf/defaults.toml``; this says what is allowed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.conf_convert import Convert
from schemas.conf_reward import Reward
from schemas.conf_rounds import Agent, Judge, Rescore, Sandbox
from schemas.conf_section import Count, Positive, Section, Share
from schemas.policy import EngineName

Form = Literal["answer_only", "reason_then_answer", "choice", "open_book"]


class Campaign(Section):
    """A row of rounds."""

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9_.-]+$")
    seed: Count


class Spark(Section):
    """The session that verilake builds when it is not given one."""

    master: str
    driver_memory: str = Field(pattern=r"^\d+[mg]$")
    shuffle_partitions: Positive
    conf: dict[str, str]


class Ingest(Section):
    """Field names and units of incoming records."""

    text_field: str = Field(min_length=1)
    id_field: str
    uri_field: str
    title_field: str
    licence_field: str
    text_unit: Literal["file", "paragraph"]
    max_document_bytes: Positive
    html_text: Literal["main", "page"]
    http_status: tuple[Annotated[str, Field(pattern=r"^[1-5](xx|\d\d)$")], ...] = Field(min_length=1)
    split_mb: Positive


class Gopher(Section):
    """Thresholds of Gopher's filters of quality and repetition."""

    min_words: Count
    max_words: Positive
    min_mean_word_length: Annotated[float, Field(ge=0)]
    max_mean_word_length: Annotated[float, Field(gt=0)]
    max_hash_ratio: Annotated[float, Field(ge=0)]
    max_ellipsis_ratio: Annotated[float, Field(ge=0)]
    max_bullet_line_share: Share
    max_ellipsis_line_share: Share
    min_alpha_word_share: Share
    min_stop_words: Count
    max_repeated_line_share: Share
    max_repeated_paragraph_share: Share
    max_dup_line_share: Share
    max_dup_paragraph_share: Share
    max_top_2gram_share: Share
    max_top_3gram_share: Share
    max_top_4gram_share: Share
    max_dup_5gram_chars: Share
    max_dup_6gram_chars: Share
    max_dup_7gram_chars: Share
    max_dup_8gram_chars: Share
    max_dup_9gram_chars: Share
    max_dup_10gram_chars: Share


class C4(Section):
    """Thresholds of C4's filters."""

    min_full_sentences: Count
    max_braces: Count
    max_lorem_ipsum: Count


class MC4(Section):
    """Threshold of mC4's filter of lines."""

    min_long_lines: Count


class FineWeb(Section):
    """Thresholds of FineWeb's filters, and of those of C4's that it keeps."""

    min_terminal_line_share: Share
    max_short_line_share: Share
    max_dup_line_share: Share
    max_newline_ratio: Annotated[float, Field(ge=0)]
    min_sentences: Count
    max_braces: Count
    max_lorem_ipsum: Count


class Curate(Section):
    """Heuristics, language, personal data, shingling, banding, split."""

    rules: tuple[Literal["basic", "gopher", "c4", "mc4", "fineweb"], ...]
    gopher: Gopher
    c4: C4
    mc4: MC4
    fineweb: FineWeb
    stop_words: dict[str, tuple[Annotated[str, Field(min_length=1)], ...]]
    languages: tuple[Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}([_-][A-Za-z]{2,8})?$")], ...]
    min_language_score: Share
    language_model: str
    mask_pii: bool
    min_words: Count
    max_words: Positive
    max_mean_word_length: Annotated[float, Field(gt=0)]
    max_symbol_ratio: Share
    max_top_word_share: Share
    max_dup_line_share: Share
    max_dup_5gram_share: Share
    shingle: Positive
    bands: Count
    rows: Positive
    permutations: Positive
    jaccard: Annotated[float, Field(gt=0.0, le=1.0)]
    verify_rounds: Positive
    mode: Literal["verified", "components"]
    max_edges: Positive
    keep: tuple[Literal["earlier_ingest", "quality", "length", "source_priority", "id"], ...] = Field(min_length=2)
    source_priority: tuple[str, ...]
    kernel: Literal["auto", "numba", "numpy"]
    eval_share: Share

    @model_validator(mode="after")
    def _order_is_total(self) -> Curate:
        if self.keep[0] != "earlier_ingest" or self.keep[-1] != "id" or len(set(self.keep)) < len(self.keep):
            msg = f"keep must begin with earlier_ingest (what was kept stays), end with id and name nothing twice, got {list(self.keep)}"
            raise ValueError(msg)
        if ("source_priority" in self.keep) != bool(self.source_priority):
            msg = "keep names source_priority if and only if the list source_priority names sources"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Curate:
        if self.min_words > self.max_words:
            msg = f"min_words ({self.min_words}) exceeds max_words ({self.max_words})"
            raise ValueError(msg)
        return self


class Decontaminate(Section):
    """What counts as holding a benchmark item, and what follows."""

    sets: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")], ...]
    action: Literal["reject", "flag"]
    n: Literal[8, 13]
    coverage: Annotated[float, Field(gt=0.0, le=1.0)]
    short_coverage: Annotated[float, Field(gt=0.0, le=1.0)]
    full_tokens: Positive
    window: Count
    template_items: Positive
    template_documents: Positive

    @model_validator(mode="after")
    def _shorter_needs_more(self) -> Decontaminate:
        if self.short_coverage < self.coverage:
            msg = f"short_coverage ({self.short_coverage}) is below coverage ({self.coverage})"
            raise ValueError(msg)
        return self


class Admit(Section):
    """Admission of candidate questions."""

    max_answer_share: Share
    min_answer_cap: Positive
    max_near_misses: Positive
    choice_options: Annotated[int, Field(ge=2, le=26)]
    sibling_leak: Literal["report", "reject"]
    forms: tuple[Form, ...] = Field(min_length=1)


class Plan(Section):
    """What a round rolls out."""

    train_prompts: Count
    probe_prompts: Count
    eval_prompts: Count
    eval_fresh: Count
    eval_collected: Count
    band: tuple[Share, Share]
    min_p_in_band: Share
    failed_share: Share
    unexplored_share: Share
    format_share: Share
    pool_rounds: Positive
    prior_alpha: Annotated[float, Field(gt=0)]
    prior_beta: Annotated[float, Field(gt=0)]
    max_stage_first_round: Positive

    @model_validator(mode="after")
    def _shares_fit(self) -> Plan:
        if self.band[0] >= self.band[1]:
            msg = f"band must rise, got {list(self.band)}"
            raise ValueError(msg)
        if self.failed_share + self.unexplored_share + self.format_share > 1.0:
            msg = "failed_share + unexplored_share + format_share exceed 1"
            raise ValueError(msg)
        return self


class Rollout(Section):
    """Sampling."""

    engine: EngineName
    model: str
    samples: Positive
    base_samples: Positive
    temperature: Annotated[float, Field(gt=0.0)]
    prompts_per_shard: Positive
    passages_per_question: Positive
    max_response_tokens: Positive
    top_p: Annotated[float, Field(gt=0.0, le=1.0)]
    top_k: Annotated[int, Field(ge=-1)]
    min_p: Share

    @model_validator(mode="after")
    def _a_model_where_one_is_served(self) -> Rollout:
        if (self.engine == "reader") == bool(self.model):
            msg = (
                f"engine = {self.engine!r} needs model: a checkpoint's directory (vllm) or the name at the server (openai)"
                if self.engine != "reader"
                else f"model = {self.model!r}: the reader's checkpoints lie in the workspace's policies/; set engine as well"
            )
            raise ValueError(msg)
        if self.engine == "reader" and (self.top_p, self.top_k, self.min_p) != (1.0, -1, 0.0):
            msg = "the reader samples from its whole distribution: leave top_p = 1.0, top_k = -1, min_p = 0.0"
            raise ValueError(msg)
        return self


class Work(Section):
    """Worker processes and their leases."""

    workers: Positive
    python: str
    engine_options: dict[str, dict[str, str | int | float | bool]]
    launcher: Literal["local", "spark"]
    gpus: Annotated[float, Field(ge=0.0, le=64.0)]
    lease_seconds: Annotated[float, Field(gt=0.0)]
    max_attempts: Positive

    @model_validator(mode="after")
    def _engines_have_options(self) -> Work:
        unknown = sorted(set(self.engine_options) - {"vllm", "openai"})
        if unknown:
            msg = f"engine_options: no engine with options is called {', '.join(unknown)}; allowed: openai, vllm"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _gpus_can_be_given(self) -> Work:
        if self.gpus > 1.0 and not self.gpus.is_integer():
            msg = f"gpus must be a whole number above 1, or the share of one that a worker takes, got {self.gpus}"
            raise ValueError(msg)
        return self


class Handoff(Section):
    """How far rollouts may run ahead of the trainer, and how much may lie about."""

    max_staleness: Count
    batch: Count
    max_uncommitted_mb: Count


class Check(Section):
    """Quality bounds of a round."""

    max_null_share: Share
    max_duplicate_share: Share
    max_format_failures: Share
    max_zero_variance_share: Share
    length_factor: Annotated[float, Field(gt=1.0)]
    worker_z: Annotated[float, Field(gt=0.0)]
    time_window_minutes: Positive
    min_judge_recall: Share
    min_judge_pass_rate: Share
    judge_alerts: Literal["block", "warn"]
    block_on: tuple[str, ...]


class Feedback(Section):
    """What flows back."""

    sft_per_prompt: Count
    pairs_per_prompt: Count
    min_score_gap: Annotated[float, Field(gt=0.0)]
    repair_min_share: Share
    repair_min_samples: Positive
    repair_cap: Count
    audited_open_book: Share


class Publish(Section):
    """Files of the published sets."""

    shard_mb: Positive
    row_group_rows: Positive
    remote: str


class Track(Section):
    """MLflow."""

    enabled: bool
    uri: str
    experiment: str
    timeout_seconds: Positive
    sample_rows: Count


class Train(Section):
    """The embedded trainer: GRPO on the reader's weights."""

    trainer: Literal["reader", "none"]
    steps: Positive
    prompts_per_step: Positive
    samples: Annotated[int, Field(ge=2)]
    learning_rate: Annotated[float, Field(gt=0.0)]
    pull: Annotated[float, Field(ge=0.0)]
    replicas: Positive


class Eval(Section):
    """Scores and their intervals."""

    bootstrap: Positive
    confidence: Annotated[float, Field(gt=0.0, lt=1.0)]


class Maintain(Section):
    """What maintenance may remove."""

    keep_hours: Count
    small_file_mb: Positive


class Config(Section):
    """The whole configuration; one attribute per TOML table."""

    campaign: Campaign
    spark: Spark
    ingest: Ingest
    curate: Curate
    decontaminate: Decontaminate
    convert: Convert
    admit: Admit
    plan: Plan
    rollout: Rollout
    agent: Agent
    sandbox: Sandbox
    work: Work
    handoff: Handoff
    check: Check
    judge: Judge
    rescore: Rescore
    reward: Reward
    feedback: Feedback
    publish: Publish
    track: Track
    train: Train
    eval: Eval
    maintain: Maintain

    @model_validator(mode="after")
    def _the_trainer_fits_the_policy(self) -> Config:
        if self.train.trainer == "reader" and self.rollout.engine != "reader":
            msg = f'train.trainer = "reader" trains the reader\'s weights, and rollout.engine is {self.rollout.engine!r}: set train.trainer = "none"'
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _agents_have_an_engine(self) -> Config:
        if self.agent.environments and self.rollout.engine == "reader":
            msg = 'agent.environments needs a model that can call tools, and rollout.engine is "reader": set "vllm" or "openai", or leave it empty'
            raise ValueError(msg)
        return self
