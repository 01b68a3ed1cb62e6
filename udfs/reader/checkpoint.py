"""Checkpoints of the reader: named weights in ``weights.json``, and the hand-set ones that every campaign starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from schemas.errors import VerilakeError
from schemas.ids import canonical_json, content_id
from udfs.reader.features import CANDIDATE_NAMES
from udfs.reader.wrappers import wrapper_names

Floats = np.ndarray[Any, np.dtype[np.float64]]

ENGINE = "reader"
#: Version of features, wrappers and tokens: a checkpoint of another one means something else.
ENGINE_VERSION = "1"
WEIGHTS_FILE = "weights.json"

#: Names of all weights in the order of the vector: candidates first, then wrappers.
NAMES: tuple[str, ...] = (*CANDIDATE_NAMES, *wrapper_names())

#: Set by hand after E§2, scaled so that at temperature 1 a third of the samples on extractive items are right and three
#: quarters of the groups of 8 lie between 1 and 7; what is not named is 0 and is left to training.
_BASE: dict[str, float] = {
    "bm25": 3.0, "top_passage": 1.5, "sentence_overlap": 5.0, "proximity": 7.0, "in_question": -3.0, "length_off_two": -0.2,
    "blank_left": 3.0, "blank_right": 3.0, "sentence_start": 0.5, "boundary_left": 0.5, "boundary_right": 0.5, "abstain": -2.0,
    "after_equals": 2.0, "quoted": 0.5, "default_after_colon": 1.0, "base_after_colon": 2.5,
    "type_date": 1.5, "type_number": 1.5, "type_name": 1.5, "type_version": 1.5, "type_default": 1.5, "type_base": 1.5, "type_object": 1.5,
    "plain:bias": 1.5, "unit:bias": -1.0, "reasoned:bias": -0.5, "json:bias": -1.0,
    "answer_line:answer_line": 1.0, "reasoned:reason": 1.5, "json:json": 2.0, "unit:unit": 2.0,
}  # fmt: skip


class CheckpointError(VerilakeError):
    """A checkpoint that this engine cannot run."""

    exit_code = 3

    @classmethod
    def from_file(cls, path: Path, detail: str) -> CheckpointError:
        """It cannot be read, or was written for other features."""
        return cls(f"{path}: no checkpoint of {ENGINE} version {ENGINE_VERSION}: {detail}")


class Checkpoint(BaseModel):
    """``weights.json``.

    Attributes:
        policy_id: content id of engine, version and weights.
        policy_version: ordinal of the weights within their campaign; 0 for the hand-set ones.
        names: names of the weights.
        weights: their values, at temperature 1; the temperature is the sampler's.
        parent_policy_id: the checkpoint it was trained from.
        replica: 0 for the one that a campaign goes on with; others were trained from the same rows with other draws, to show how
            much these matter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: Literal["reader"] = "reader"
    engine_version: str
    policy_id: str
    policy_version: int
    names: tuple[str, ...]
    weights: tuple[float, ...]
    parent_policy_id: str | None = None
    replica: int = 0

    @classmethod
    def make(cls, weights: Floats, policy_version: int, parent_policy_id: str | None = None, replica: int = 0) -> Checkpoint:
        """A checkpoint of this engine version; equal weights have equal ids."""
        values = tuple(float(w) for w in weights)
        return cls(
            engine_version=ENGINE_VERSION,
            policy_id=policy_id_of(values),
            policy_version=policy_version,
            names=NAMES,
            weights=values,
            parent_policy_id=parent_policy_id,
            replica=replica,
        )

    @classmethod
    def load(cls, folder: Path) -> Checkpoint:
        """Read ``weights.json`` of a policy directory.

        Raises:
            CheckpointError: it is missing, malformed, of another engine version, or its id is not that of its weights.
        """
        path = folder / WEIGHTS_FILE
        try:
            checkpoint = cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise CheckpointError.from_file(path, str(error)) from error
        if checkpoint.engine_version != ENGINE_VERSION or checkpoint.names != NAMES:
            raise CheckpointError.from_file(path, f"written for version {checkpoint.engine_version} with {len(checkpoint.names)} weights")
        if len(checkpoint.weights) != len(NAMES) or not np.isfinite(checkpoint.weights).all():
            raise CheckpointError.from_file(path, f"{len(NAMES)} finite weights are needed")
        if checkpoint.policy_id != policy_id_of(checkpoint.weights):
            raise CheckpointError.from_file(path, "its policy_id is not that of its weights")
        return checkpoint

    def to_bytes(self) -> bytes:
        """The bytes of ``weights.json``; equal checkpoints have equal bytes."""
        return (canonical_json(self.model_dump(mode="json")) + "\n").encode("utf-8")

    @property
    def vector(self) -> Floats:
        """The weights as an array."""
        return np.asarray(self.weights)


def policy_id_of(weights: tuple[float, ...]) -> str:
    """``reader-`` and 12 hex digits over engine version, names and weights."""
    return f"{ENGINE}-{content_id(ENGINE, ENGINE_VERSION, list(NAMES), list(weights))[:12]}"


def base_weights() -> Floats:
    """The hand-set weights (E§2), in the order of ``NAMES``."""
    return np.asarray([_BASE.get(name, 0.0) for name in NAMES])


def base_checkpoint() -> Checkpoint:
    """The policy that a campaign starts from."""
    return Checkpoint.make(base_weights(), policy_version=0)
