"""The contract of a coding task: which tests a program must pass, in a form that can be stored and tried."""

from __future__ import annotations

import ast
import threading
import warnings
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from schemas.errors import VerilakeError
from schemas.ids import canonical_json

TestKind = Literal["assert", "call", "stdin"]

#: How ``inputs`` and ``outputs`` of call-style tests are spelt: JSON text, or Python literals (which can say tuple, set, bytes, complex).
Encoding = Literal["json", "literal"]


_parsing = threading.Lock()


def read_python(text: str) -> ast.Module:
    """The syntax tree of a text; nothing is run, and its odd escapes are nobody's business here.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python, or nested too deep for the parser.
    """
    # The filters of warnings belong to the whole process: one thread at a time may set them aside.
    with _parsing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


class NoTestsError(VerilakeError):
    """A contract without a single test: every program would pass it."""

    exit_code = 3

    @classmethod
    def from_kind(cls, kind: str, where: str) -> NoTestsError:
        """Tests of this kind have nothing to run."""
        return cls(f"code contract ({kind}): no test at all in {where}; any program would pass. Give at least one test or drop the task.")


class BrokenTestsError(VerilakeError):
    """Tests that cannot be read, or of which parts do not belong together."""

    exit_code = 3


class CodeLimits(BaseModel):
    """Bounds of one grading.

    Attributes:
        cpu: seconds of processor that one process of the candidate may use; an endless loop ends here.
        wall: seconds on the clock that it may take for one test; a backstop for what sleeps, generous because machines are busy.
        total: seconds on the clock that it may take for all of them; what has not run by then has failed.
        memory_mb: MiB of its process.
        output_kb: KiB that it may print.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    cpu: float = Field(default=10.0, gt=0.0, le=600.0)
    wall: float = Field(default=30.0, gt=0.0, le=600.0)
    total: float = Field(default=90.0, gt=0.0, le=3600.0)
    memory_mb: int = Field(default=512, ge=32, le=65536)
    output_kb: int = Field(default=256, ge=1, le=65536)


class CodeTests(BaseModel):
    """The tests of a coding task; what they expect never reaches the candidate's process.

    Attributes:
        kind: ``assert`` (Python code that compares by itself), ``call`` (arguments and stored answers) or ``stdin`` (input and output texts).
        entry_point: function that is called; needed by ``call`` and by tests that define ``check(candidate)``, else found in the asserts.
        setup: Python that runs before asserts, in their sandbox alone; it sees what the prompt defines and nothing of the candidate.
        code: of ``assert``: asserts, or a function ``check(candidate)`` full of them.
        inputs: of ``call``: a list of arguments each; of ``stdin``: what is read. Texts.
        outputs: what must come of each input.
        encoding: spelling of ``inputs`` and ``outputs`` of ``call``.
        tolerance: ``call``: absolute and relative difference up to which a float is right; 0 means exact.
        tuple_as_list: ``call``: a tuple may stand for a list; for sets of tests kept as JSON, which cannot say tuple.
        public: numbers, from 0, of the tests that the candidate may see in its prompt.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: TestKind
    entry_point: str | None = None
    setup: str = ""
    code: str | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    encoding: Encoding = "json"
    tolerance: float = Field(default=0.0, ge=0.0)
    tuple_as_list: bool = False
    public: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _sound(self) -> Self:
        """Refuse what cannot be run; the reasons are errors of their own, so that a caller can tell them apart."""
        if self.entry_point is not None and not self.entry_point.isidentifier():
            raise BrokenTestsError(f"code contract: entry_point {self.entry_point[:80]!r} is no name of Python.")
        if min(self.public, default=0) < 0 or len(set(self.public)) != len(self.public):
            raise BrokenTestsError("code contract: public must hold distinct numbers from 0.")
        if self.kind == "assert":
            self._assert_sound()
        else:
            self._stored_sound()
        return self

    def _assert_sound(self) -> None:
        if self.inputs or self.outputs:
            raise BrokenTestsError("code contract (assert): inputs and outputs belong to kinds call and stdin.")
        for part, text in (("setup", self.setup), ("code", self.code or "")):
            try:
                tree = read_python(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                raise BrokenTestsError(f"code contract (assert): {part} is not Python: {str(error)[:200]}") from error
        if not any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
            raise NoTestsError.from_kind(self.kind, "code")

    def _stored_sound(self) -> None:
        if self.code is not None:
            raise BrokenTestsError(f"code contract ({self.kind}): code belongs to kind assert.")
        if len(self.inputs) != len(self.outputs):
            raise BrokenTestsError(f"code contract ({self.kind}): {len(self.inputs)} inputs but {len(self.outputs)} outputs.")
        if not self.inputs:
            raise NoTestsError.from_kind(self.kind, "inputs")
        if max(self.public, default=0) >= len(self.inputs):
            raise BrokenTestsError(f"code contract ({self.kind}): public names test {max(self.public)}, there are {len(self.inputs)}.")
        if self.kind == "call" and self.entry_point is None:
            raise BrokenTestsError("code contract (call): entry_point is missing.")


class CodeContract(BaseModel):
    """A coding task as a verifier sees it.

    Attributes:
        type: always ``code``; tells it from an answer contract.
        tests: what must pass.
        prompt: what the candidate was given; code before its last function (imports, helpers) is there when the candidate runs.
        limits: bounds of one grading.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    type: Literal["code"] = "code"
    tests: CodeTests
    prompt: str = ""
    limits: CodeLimits = CodeLimits()

    def canonical(self) -> str:
        """The one JSON spelling of this contract, as stored in the tables."""
        return canonical_json(self.model_dump(mode="json"))

    @classmethod
    def load(cls, text: str) -> CodeContract:
        """Read a contract from its JSON.

        Raises:
            NoTestsError: it has no test.
            BrokenTestsError: its tests cannot be read.
            pydantic.ValidationError: it is no contract.
        """
        return cls.model_validate_json(text)

    @classmethod
    def of(cls, fields: dict[str, Any]) -> CodeContract:
        """A contract from decoded JSON, with lists where tuples are meant; errors as :meth:`load`."""
        return cls.model_validate_json(canonical_json(fields))
