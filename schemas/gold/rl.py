"""gold.rl: the prompts that a round offers to a trainer."""

import pyarrow as pa

from schemas.table import Table, column

RL = Table(
    name="gold.rl",
    comment="Training prompts of a round with contract and what the policy could do on them: what an RL trainer is offered. Write-once per round.",
    schema=pa.schema(
        [
            column("round", pa.int32(), "round"),
            column("prompt_id", pa.string(), "gold.prompts"),
            column("task_id", pa.string(), "gold.tasks"),
            column("task_version", pa.int32(), "version of the task that was rolled out"),
            column("task_type", pa.string(), "kind"),
            column("form", pa.string(), "answer_only, reason_then_answer, choice, format"),
            column("template", pa.string(), "name@version"),
            column("context_mode", pa.string(), "closed_book, choice"),
            column("system", pa.string(), "system message"),
            column("prompt", pa.string(), "user message"),
            column("question", pa.string(), "question of the task, without its form"),
            column("subject", pa.string(), "what it is about"),
            column("context", pa.string(), "quoted passage, as contained in prompt", null=True),
            column("options", pa.string(), "canonical JSON list of the options in order, [] where not a choice"),
            column("answer", pa.string(), "gold answer"),
            column("answer_type", pa.string(), "number, date, text, choice"),
            column("contract", pa.string(), "canonical JSON of schemas.contract.AnswerContract, that of this form"),
            column("verifier", pa.string(), "name@version"),
            column("weight", pa.float64(), "weight in training"),
            column("why", pa.string(), "why the round planned it, reason code of gold.round_plan"),
            column("seed", pa.int64(), "seed of its samples"),
            column("policy_id", pa.string(), "checkpoint that was rolled out"),
            column("n_samples", pa.int32(), "samples planned"),
            column("n_valid", pa.int32(), "samples with known reward"),
            column("k", pa.int32(), "correct samples"),
            column("posterior_mean", pa.float64(), "mean of the pooled posterior of the solve rate"),
            column("p_in_band", pa.float64(), "probability that the solve rate lies in the capability band"),
            column("cluster_id", pa.string(), "near-duplicate cluster of its document"),
            column("origin", pa.string(), "slice of gold.tasks that brought the task"),
            column("doc_id", pa.string(), "document of the evidence"),
            column("licence", pa.string(), "licence of the document", null=True),
        ]
    ),
    key=("round", "prompt_id"),
    partition="round",
    write_once=True,
)
