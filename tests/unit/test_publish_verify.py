"""verify names every flipped, truncated, missing and extra file; copying keeps bytes."""

from __future__ import annotations

import hashlib
import json
import os

import pytest

from jobs.cli.main import run
from jobs.publish.checkout import copy_file, transfer
from jobs.publish.verify import NothingToVerifyError, verify
from schemas.errors import InputRefusedError
from schemas.ids import canonical_json
from schemas.publication import CheckedOutSet, Checkout, Manifest, ShardFile
from udfs.export.files import tree_sha256


def lay_set(folder, **files):
    """A set's folder with a manifest over files of any bytes."""
    folder.mkdir(parents=True)
    shards = []
    for name, data in files.items():
        (folder / f"{name}.parquet").write_bytes(data)
        sha256 = hashlib.sha256(data).hexdigest()
        shards.append(ShardFile(path=f"{name}.parquet", segment="all", bucket=0, rows=1, bytes=len(data), sha256=sha256, checksum="1-0-0"))
    manifest = Manifest(
        dataset=folder.name, campaign="c", round=1, columns=(), key=(), schema_hash="", rows=len(shards), bytes=0, files=tuple(shards), segments=(),
        tables={}, conf={}, code_hash="", filters={}, templates={}, verifiers=(), writer={}, licences={}, sources={},
    )  # fmt: skip
    text = canonical_json(manifest.model_dump(mode="json")) + "\n"
    (folder / "MANIFEST.json").write_text(text)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def copy(tmp_path):
    """A checkout of two sets."""
    root = tmp_path / "copy"
    sets = {name: CheckedOutSet(path=name, manifest_sha256=lay_set(root / name, a=b"A" * 100, b=b"B" * 100)) for name in ("rl", "sft")}
    said = Checkout(checkpoint_id=None, round=1, tag="round-1", commit="c", sets=sets)
    (root / "CHECKOUT.json").write_text(canonical_json(said.model_dump(mode="json")) + "\n")
    return root


def problems(folder):
    return [line.replace(f"{folder}/", "") for line in verify(folder).problems]


def test_a_whole_copy_has_no_problem(copy):
    assert problems(copy) == []
    assert verify(copy).sets == ("rl", "sft")
    assert verify(copy / "rl").problems == ()


def test_every_kind_of_damage_is_named_at_once(copy):
    flipped = bytearray(b"A" * 100)
    flipped[50] ^= 1
    (copy / "rl" / "a.parquet").write_bytes(flipped)
    (copy / "rl" / "b.parquet").write_bytes(b"B" * 99)
    (copy / "rl" / ".hidden").write_text("x")
    (copy / "rl" / "sub").mkdir()
    (copy / "sft" / "a.parquet").unlink()
    (copy / "sft" / "b.parquet").replace(copy / "elsewhere")
    (copy / "sft" / "b.parquet").symlink_to(copy / "elsewhere")
    assert problems(copy) == [
        "elsewhere: extra file",
        "rl/.hidden: extra file",
        "rl/sub: extra folder",
        "rl/a.parquet: changed: other bytes of the same size",
        "rl/b.parquet: truncated: 99 bytes instead of 100",
        "sft/b.parquet: a link where a file should be",
        "sft/a.parquet: missing",
    ]


def test_a_manifest_that_was_changed_with_its_files_is_noticed(copy):
    (copy / "rl" / "a.parquet").unlink()
    text = json.loads((copy / "rl" / "MANIFEST.json").read_text())
    text["files"] = text["files"][1:]
    (copy / "rl" / "MANIFEST.json").write_text(canonical_json(text) + "\n")
    changed = "MANIFEST.json: changed: it is not the manifest that was published"
    assert problems(copy) == [f"rl/{changed}"]
    assert problems(copy / "rl") == [changed]


def test_a_set_that_is_gone_and_files_that_are_no_manifest_are_named(copy):
    (copy / "rl" / "MANIFEST.json").write_text("{}")
    for path in (copy / "sft").iterdir():
        path.unlink()
    found = problems(copy)
    assert found[0] == "rl/MANIFEST.json: changed: it is not the manifest that was published"
    assert found[1].startswith("rl/MANIFEST.json: changed: it is no manifest")
    assert found[2] == "sft/MANIFEST.json: missing"


def test_the_command_ends_with_1_where_something_is_wrong(copy, capsys):
    assert run(["verify", str(copy)]) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    (copy / "rl" / "\x1b[31mred\u202e").write_text("x")
    assert run(["verify", str(copy), "--json"]) == 1
    told = capsys.readouterr()
    assert len(json.loads(told.out)["problems"]) == 1
    assert "\x1b[31mred" not in told.err


def test_folders_without_a_publication_are_refused(tmp_path):
    with pytest.raises(NothingToVerifyError, match="neither a published set"):
        verify(tmp_path)
    with pytest.raises(InputRefusedError, match="no such file"):
        verify(tmp_path / "nowhere")


@pytest.mark.parametrize("size", [0, 1, 70_000, (1 << 20) + 7])
def test_a_copy_has_the_same_bytes_and_never_replaces_a_file(tmp_path, size):
    data = os.urandom(size)
    (tmp_path / "source").write_bytes(data)
    copy_file(tmp_path / "source", tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == data
    with pytest.raises(FileExistsError):
        transfer([(tmp_path / "source", tmp_path / "target")], link=False)


def test_the_hash_of_a_checkpoint_covers_names_and_bytes(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "inner" / "w").write_bytes(b"1")
    assert tree_sha256(tmp_path / "a") == tree_sha256(tmp_path / "b")
    (tmp_path / "b" / "inner" / "w").rename(tmp_path / "b" / "w")
    assert tree_sha256(tmp_path / "a") != tree_sha256(tmp_path / "b")
