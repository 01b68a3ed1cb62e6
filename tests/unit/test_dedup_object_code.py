"""Compiled kernels that outlive their process: found again, never stale, never in the way; no JVM."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numba
import numpy as np
import pytest

from udfs.dedup import numba_kernel, object_code

ROOT = Path(__file__).resolve().parents[2]
LEFT, RIGHT = np.array([1, 3, 5, 7], np.uint64), np.array([3, 4, 7, 9], np.uint64)  # 3 and 7 in common


def fresh(monkeypatch, folder):
    """``shared`` as a new process would find it."""
    monkeypatch.setenv("VERILAKE_KERNELS", str(folder))
    return object_code.kept(numba.njit(nogil=True)(numba_kernel.shared.py_func))


def loaded(function):
    """Its answer, and whether it was loaded and not compiled."""
    assert function(LEFT, RIGHT) == 2
    return sum(function.stats.cache_hits.values()) == 1


def the_file(folder):
    (path,) = folder.glob("*.code")
    return path


def test_the_second_time_it_is_loaded(monkeypatch, tmp_path):
    folder = tmp_path / "a" / "kernels"
    assert not loaded(fresh(monkeypatch, folder))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert loaded(fresh(monkeypatch, folder))
    assert [path.name for path in folder.iterdir()] == [the_file(folder).name]
    monkeypatch.setenv("NUMBA_OPT", "1")  # another setting is another file
    assert not loaded(fresh(monkeypatch, folder))
    assert len(list(folder.glob("*.code"))) == 2


@pytest.mark.parametrize("damage", [lambda _raw: b"", lambda raw: raw[:100], lambda raw: raw[:-1], lambda raw: raw[:-9] + b"x" + raw[-8:]])
def test_a_torn_or_changed_file_is_compiled_anew_and_replaced(monkeypatch, tmp_path, damage):
    loaded(fresh(monkeypatch, tmp_path / "k"))
    path = the_file(tmp_path / "k")
    path.write_bytes(damage(path.read_bytes()))
    assert not loaded(fresh(monkeypatch, tmp_path / "k"))
    assert loaded(fresh(monkeypatch, tmp_path / "k"))


def test_what_others_may_write_is_not_unpickled(monkeypatch, tmp_path):
    folder = tmp_path / "k"
    loaded(fresh(monkeypatch, folder))
    path = the_file(folder)
    path.chmod(0o620)
    assert not loaded(fresh(monkeypatch, folder))  # and replaces it by one of its own
    assert loaded(fresh(monkeypatch, folder))
    folder.chmod(0o770)
    assert not loaded(fresh(monkeypatch, folder))
    folder.chmod(0o700)
    (tmp_path / "link").symlink_to(folder)
    assert not loaded(fresh(monkeypatch, tmp_path / "link"))
    held = path.read_bytes()
    path.unlink()
    (tmp_path / "elsewhere").write_bytes(held)
    path.symlink_to(tmp_path / "elsewhere")
    assert not loaded(fresh(monkeypatch, folder))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)  # a folder of someone else's
    assert not loaded(fresh(monkeypatch, folder))


def test_no_place_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    assert not loaded(fresh(monkeypatch, tmp_path / "file" / "k"))
    monkeypatch.setenv("VERILAKE_KERNELS", "")
    assert object_code.folder() is None
    monkeypatch.delenv("VERILAKE_KERNELS")
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/where")
    assert object_code.folder() == Path("/some/where/verilake/kernels")


def test_a_full_disk_leaves_nothing_half_written(monkeypatch, tmp_path):
    def full(_self, _to):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert not loaded(fresh(monkeypatch, tmp_path / "k"))
    assert list((tmp_path / "k").iterdir()) == []


def test_files_that_nobody_loads_go(monkeypatch, tmp_path):
    loaded(fresh(monkeypatch, tmp_path / "k"))
    first = the_file(tmp_path / "k")
    (tmp_path / "k" / "mine.txt").write_text("")
    for name in (first.name, "mine.txt"):
        os.utime(tmp_path / "k" / name, (1, 1))
    assert loaded(fresh(monkeypatch, tmp_path / "k"))  # in use: young again
    monkeypatch.setenv("NUMBA_OPT", "2")
    assert not loaded(fresh(monkeypatch, tmp_path / "k"))
    assert first.exists()
    os.utime(first, (1, 1))
    monkeypatch.setenv("NUMBA_OPT", "1")
    assert not loaded(fresh(monkeypatch, tmp_path / "k"))
    assert not first.exists()
    assert (tmp_path / "k" / "mine.txt").exists()  # not ours


PROBE = """
import sys; sys.path.insert(0, sys.argv[1])
import numpy as np, pyarrow as pa
from udfs.dedup import kernel, numba_kernel
text = pa.array(["Five words make a shingle", "caf\\u00e9 au lait"])
fast, slow = (kernel.token_hashes(text, name)[0] for name in ("numba", "numpy"))
assert "code.zip" in numba_kernel.__file__
assert np.array_equal(fast, slow), (fast, slow)
print(sum(numba_kernel._batch_tokens.stats.cache_hits.values()), fast[0])
"""


def zipped(path, base):
    """The rooms in a zip, as Spark's --py-files brings them, with the multiplier of token hashes replaced."""
    with zipfile.ZipFile(path, "w") as out:
        for file in sorted([*(ROOT / "udfs").rglob("*.py"), *(ROOT / "schemas").rglob("*.py")]):
            text = file.read_text()
            changed = text.replace("0x9FB21C651E98DF25", base) if file.name == "mix.py" else text
            out.writestr(str(file.relative_to(ROOT)), changed)
    return path


def test_from_zips_under_changing_paths_and_never_the_code_of_other_constants(tmp_path):
    env = {**os.environ, "VERILAKE_KERNELS": str(tmp_path / "k"), "PYTHONPATH": "", "PYTHONWARNINGS": "error"}
    found = {}
    for name, base in (("a", "0x9FB21C651E98DF25"), ("b", "0x9FB21C651E98DF25"), ("c", "0x9FB21C651E98DF27")):
        (tmp_path / name).mkdir()
        archive = zipped(tmp_path / name / "code.zip", base)
        ran = subprocess.run(
            [sys.executable, "-c", PROBE, str(archive)], env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )
        assert ran.returncode == 0, ran.stderr
        found[name] = ran.stdout.split()
    assert [found[name][0] for name in "abc"] == ["0", "1", "0"]
    assert found["a"][1] == found["b"][1] != found["c"][1]


def test_many_at_once_on_an_empty_folder(tmp_path):
    code = PROBE.replace('assert "code.zip" in numba_kernel.__file__\n', "")
    env = {**os.environ, "VERILAKE_KERNELS": str(tmp_path / "k")}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(ROOT)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)
    ]
    ends = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0] * 3, ends
    assert len({out.split()[1] for out, _ in ends}) == 1
    held = list((tmp_path / "k").iterdir())
    assert {path.suffix for path in held} == {".code"}, "nothing half written stays"
    kernels = [path.name.rpartition("-")[0] for path in held]
    assert sorted(set(kernels)) == sorted(kernels), "every kernel is kept once, whoever compiled it"
