"""Environment ``question_answering``: the policy answers, and that is all."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from gpu_workers.environments.environment import Action, Observation, Step, Tool
from gpu_workers.environments.snapshot import fingerprint_of, image_of, read_setting
from schemas.environment import Fingerprint

NAME, VERSION = "question_answering", "1"


class QuestionAnsweringSetting(BaseModel):
    """Nothing can be set."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class QuestionAnswering:
    """No tools and no state; the first turn ends the episode."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, setting: str) -> None:
        """Take the setting of an item.

        Raises:
            SettingError: it says anything.
        """
        read_setting(QuestionAnsweringSetting, NAME, setting)

    def reset(self, seed: int) -> Observation:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        del seed
        return Observation("")

    def step(self, action: Action) -> Step:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        del action
        return Step(Observation(""), done=True)

    def close(self) -> None:
        """As :class:`gpu_workers.environments.environment.Environment`."""

    def fingerprint(self) -> Fingerprint:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        return fingerprint_of(f"{NAME}@{VERSION}", image_of(files={}), None)
