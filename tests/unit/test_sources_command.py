"""verilake tasks: wrong use is told before anything is written or a JVM started."""

from __future__ import annotations

import pytest

from jobs.cli.main import run
from jobs.workspace import Workspace


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["add", "set", "FILE", "--as", "gsm9k"], 2, "no such format. There are: conversations, format, gsm8k"),
        (["add", "a/b", "FILE", "--as", "gsm8k"], 2, "letters, digits"),
        (["add", "set", "gone.jsonl", "--as", "gsm8k"], 3, "no such file"),
        (["add", "set", "FILE", "--as", "mmlu", "--split", "dev"], 2, "'dev'"),
        (["generate", "poetry", "--count", "5", "--seed", "1"], 2, "no such family. There are: arithmetic"),
        (["generate", "mixed", "--count", "5", "--seed", "1", "--difficulty", "5..9"], 2, "from 1 to 5"),
        (["generate", "mixed", "--count", "0", "--seed", "1"], 2, "--count"),
    ],
    ids=["format", "name", "file", "split", "family", "levels", "count"],
)
def test_wrong_use(arguments, code, says, tmp_path, capsys):
    workspace = Workspace.init(tmp_path / "ws")
    (tmp_path / "set.jsonl").write_text('{"question": "q", "answer": "#### 1"}\n', "utf-8")
    given = [str(tmp_path / "set.jsonl") if argument == "FILE" else argument for argument in arguments]
    assert run(["tasks", *given, "--workspace", str(workspace.root)]) == code
    assert says in " ".join(capsys.readouterr().err.split())
    assert list(workspace.lake_root.iterdir()) == []
