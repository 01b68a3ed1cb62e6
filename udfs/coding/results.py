"""What became of each test of a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

#: How one test ended. ``broken`` is ours (the tests or the machine); everything else but ``passed`` is the program's.
What = Literal[
    "passed", "wrong", "raised", "timeout", "oom", "pids", "output_limit", "died", "garbled", "not_plain", "not_loaded", "not_run", "broken"
]


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test.

    Attributes:
        index: its number in the contract, from 0.
        what: how it ended.
        detail: what happened, without anything that the test expects.
    """

    __test__ = False

    index: int
    what: What
    detail: str = ""

    @property
    def passed(self) -> bool:
        """Whether it passed."""
        return self.what == "passed"


@dataclass(frozen=True, slots=True)
class TestRun:
    """All tests of one program.

    Attributes:
        results: one for each test of the contract, in order.
        broken: why nothing can be said (law 6): ``sandbox_error`` or ``broken_tests``; None where the results stand.
        reason: of ``broken``, in one line.
        flags: what the program did at run time: ``exit``, ``timeout``, ``memory``, ``processes``, ``output_flood``, ``died``, ``forged_frame``,
            ``not_plain``, ``bool_for_number``.
        tier: of the sandbox.
    """

    __test__ = False

    results: tuple[TestResult, ...]
    broken: Literal["sandbox_error", "broken_tests"] | None = None
    reason: str = ""
    flags: tuple[str, ...] = ()
    tier: str | None = None

    def __post_init__(self) -> None:
        if [result.index for result in self.results] != list(range(len(self.results))) or not (self.results or self.broken):
            raise AssertionError("results are not one a test")


#: Flag of a test that ended the program.
FAULT_FLAGS = {
    "timeout": "timeout", "oom": "memory", "pids": "processes", "output_limit": "output_flood", "died": "died", "garbled": "forged_frame",
}  # fmt: skip
#: Flag of an exception, by its class.
ERROR_FLAGS = {"SystemExit": "exit", "MemoryError": "memory", "NotPlainError": "not_plain", "NumberWantedError": "bool_for_number"}


@dataclass
class Tally:
    """What has been found so far."""

    results: list[TestResult] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)

    def add(self, what: What, detail: str = "", error: str = "") -> None:
        """The next test ended so; ``error`` is the class of what was raised."""
        self.results.append(TestResult(len(self.results), what, detail.encode("utf-8", "backslashreplace").decode("utf-8")))
        self.flags.update(flag for flag in (FAULT_FLAGS.get(what), ERROR_FLAGS.get(error)) if flag)

    def rest(self, total: int, what: What, detail: str) -> None:
        """All tests that are left ended so."""
        while len(self.results) < total:
            self.add(what, detail)
