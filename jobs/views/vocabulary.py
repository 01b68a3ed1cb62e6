"""The fixed vocabulary of metrics: ``conf/metrics.toml`` as values. A figure whose name does not stand there is refused."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict

from schemas.errors import VerilakeError
from schemas.ids import content_id

#: What MLflow, file systems and TOML all take in a name without quoting.
NAME = re.compile(r"[A-Za-z0-9_./-]+")
_SLICE = re.compile(r"[A-Za-z0-9_-]+")
_PATTERN = re.compile(r"(?P<base>[^<>]+)\.<[a-z_]+>")
#: Characters kept of a slice that is no name itself.
_KEPT = 60


class UnknownMetricError(VerilakeError):
    """A figure has a name or value that the vocabulary does not allow; a fault of ours, or of the metrics file."""

    @classmethod
    def from_name(cls, name: str) -> UnknownMetricError:
        """The name is not in the vocabulary."""
        return cls(f"{name!r} is no metric of conf/metrics.toml. Add it there with description, unit and direction, or use one that is.")

    @classmethod
    def from_value(cls, name: str, value: float) -> UnknownMetricError:
        """The value is not a number."""
        return cls(f"{name} = {value}: a metric is a finite number; leave out what is unknown.")


class Metric(BaseModel):
    """One entry of the vocabulary."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    unit: Literal["share", "count", "tokens", "seconds", "money", "score", "ordinal"]
    better: Literal["higher", "lower", "none"]
    headline: bool = False


class Vocabulary:
    """All metrics by name; patterns (``train/solve_rate.<task_type>``) by the part before their slice."""

    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        self.metrics = dict(metrics)
        self._plain = {name: metric for name, metric in metrics.items() if "<" not in name}
        self._sliced = {found["base"]: metric for name, metric in metrics.items() if (found := _PATTERN.fullmatch(name))}
        wrong = [name for name in metrics if not (_PATTERN.fullmatch(name) if "<" in name else NAME.fullmatch(name))]
        if wrong:
            raise UnknownMetricError.from_name(wrong[0])

    def find(self, name: str) -> Metric:
        """The entry of a metric.

        Raises:
            UnknownMetricError: there is none.
        """
        if name in self._plain:
            return self._plain[name]
        base, dot, value = name.rpartition(".")
        if dot and base in self._sliced and _SLICE.fullmatch(value):
            return self._sliced[base]
        raise UnknownMetricError.from_name(name)

    def checked(self, figures: Mapping[str, float | None]) -> dict[str, float]:
        """The figures in order of their names, as floats; those that are unknown (None) are left out.

        Raises:
            UnknownMetricError: a name is not in the vocabulary, a value is NaN or infinite.
        """
        out = {}
        for name, value in sorted(figures.items()):
            self.find(name)
            if value is None:
                continue
            if not math.isfinite(value):
                raise UnknownMetricError.from_value(name, value)
            out[name] = float(value)
        return out

    def headlines(self, figures: Mapping[str, float]) -> dict[str, float]:
        """Only the headline figures."""
        return {name: value for name, value in figures.items() if self.find(name).headline}


@cache
def vocabulary() -> Vocabulary:
    """The vocabulary of this installation."""
    text = resources.files("conf").joinpath("metrics.toml").read_text("utf-8")
    return Vocabulary({name: Metric.model_validate(entry) for name, entry in tomllib.loads(text).items()})


def sliced(base: str, values: Mapping[str, float | None]) -> dict[str, float | None]:
    """``base.<slice>`` for every slice. A slice that is no name (it may come from outside) is spelled as one, two alike never fall together."""
    return {f"{base}.{spelled(value)}": figure for value, figure in values.items()}


def spelled(value: str) -> str:
    """A slice as the last part of a metric's name."""
    if _SLICE.fullmatch(value) and len(value) <= _KEPT:
        return value
    return re.sub(r"[^A-Za-z0-9_-]", "_", value)[:_KEPT] + "-" + content_id(value)[:8]


def described(names: Iterable[str]) -> dict[str, dict[str, str | bool]]:
    """Unit, direction and meaning of metrics, for a file beside their values."""
    return {name: vocabulary().find(name).model_dump(mode="json") for name in sorted(names)}
