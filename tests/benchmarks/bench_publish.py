"""Figures of publication: checkout beside `cp -r` of the same bytes in the same run, and the new bytes of a round that changed a little.

    .venv/bin/python tests/benchmarks/bench_publish.py [--gib 2] [--folder DIR]

No assertion: the figures stand beside their floor, and a person reads them. No JVM: files are written by the same code as a task's.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jobs.publish.assemble import Facts, assemble, manifest_bytes
from jobs.publish.checkout import checkout
from jobs.publish.export import WrittenSegment, WrittenShard
from jobs.publish.history import TRAILER, History
from jobs.publish.objects import STAGE, Cache
from jobs.publish.pins import params_bytes, pin_bytes
from jobs.publish.slices import SegmentPlan, SetPlan
from jobs.publish.swap import Staging, to_cache
from jobs.workspace import Workspace
from schemas.datasets.sft import SFT_SET
from schemas.ids import content_id
from schemas.publication import Pin, PinnedSet
from tests.publish_lake import AT, filled
from udfs.export.shards import BUCKET, HASH, SEGMENT, Shape, write_shards

ROWS = 2000


def rows_of(segment: int, seed: int, text_bytes: int) -> pa.RecordBatch:
    """Rows whose text does not compress: the size on the disk is the size asked for."""
    draw = np.random.default_rng(seed)
    per = [
        filled(SFT_SET.schema, {"round": segment, "sft_id": f"{n:08d}", "response": draw.bytes(text_bytes // 2).hex(), "source": "s"})
        for n in range(ROWS)
    ]
    table = pa.Table.from_pylist(per, schema=SFT_SET.schema).combine_chunks().to_batches()[0]
    extra = {
        SEGMENT: pa.array([segment] * ROWS, pa.int32()),
        BUCKET: pa.array([0] * ROWS, pa.int32()),
        HASH: pa.array(range(ROWS), pa.int64()),
    }
    return pa.RecordBatch.from_arrays([*table.columns, *extra.values()], [*table.schema.names, *extra])


def publish(root: Path, tag: str, seeds: list[int], text_bytes: int) -> None:
    """One publication of the set sft with a segment for each seed, by the parts that a publication is made of."""
    history, staging = History(root), Staging(root)
    staging.begin()

    def export(_plan, pending, _buckets):
        found = {}
        for segment in pending:
            number = int(segment.value)
            (told,) = write_shards(iter([rows_of(number, seeds[number], text_bytes)]), Shape(SFT_SET.schema, 500, str(staging.attempts)))
            shards = tuple(
                WrittenShard(r["bucket"], staging.attempts / r["attempt"], r["rows"], r["bytes"], r["sha256"], r["md5"], r["checksum"])
                for r in told.to_pylist()
            )
            found[segment.name] = WrittenSegment(1, ROWS, shards)
        return found

    segments = tuple(SegmentPlan(f"round={n}", str(n), content_id(n, seed), {}) for n, seed in enumerate(seeds))
    facts = Facts("bench", 1, {}, "", {}, {}, (), {}, {})
    staged = assemble(SetPlan(SFT_SET, segments), [], staging.set_folder("sft"), export, facts, 500)
    to_cache(Cache.of(root), staged)
    sha256 = hashlib.sha256(manifest_bytes(staged.manifest)).hexdigest()
    pin = Pin(
        campaign="bench", round=1, attempt=1, tag=tag, policy_id="", sets={"sft": PinnedSet(manifest_sha256=sha256, rows=1, bytes=1, files=1)}, tables={},
        eval_digest="", collected_digest="", conf={}, code_hash="", filters={}, templates={}, verifiers=(), figures={},
    )  # fmt: skip
    staging.swap(tag, {"sft": staged}, {"params.yaml": params_bytes(pin), "pins/round-1.json": pin_bytes(pin)})
    (root / "dvc.yaml").write_text("stages:\n  publish:\n    cmd: x\n    frozen: true\n    outs:\n      - datasets/sft\n")
    history.dvc("commit", "--force", "--quiet", STAGE)
    paths = ["dvc.yaml", "dvc.lock", "params.yaml", "pins/round-1.json"]
    history.tag(tag, history.commit(paths, f"x\n\n{TRAILER} {tag} {content_id(tag)}\n", AT))
    history.refresh(paths)
    staging.sweep()


def stored(root: Path) -> int:
    """Bytes in DVC's cache."""
    return sum(path.stat().st_size for path in (root / ".dvc" / "cache" / "files").rglob("*") if path.is_file())


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gib", type=float, default=2.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-publish-", dir=given.folder))
    try:
        measure(folder, given.gib)
    finally:
        shutil.rmtree(folder)


def measure(folder: Path, gib: float) -> None:
    """Publish, copy, check out, publish again with one of twenty segments changed."""
    workspace = Workspace.init(folder / "ws")
    # half a byte of entropy a character: what is asked for is what zstd leaves
    text_bytes = int(gib * 2**30 * 2 / 20 / ROWS)
    started = time.monotonic()
    publish(workspace.root, "round-1", list(range(20)), text_bytes)
    first = stored(workspace.root)
    print(f"published {first / 2**30:.2f} GiB in 20 segments: {time.monotonic() - started:.1f} s (making the rows included)")
    for turn in range(3):
        os.sync()
        started = time.monotonic()
        subprocess.run(["cp", "-r", str(workspace.root / "datasets"), str(folder / f"cp{turn}")], check=True)
        os.sync()
        floor = time.monotonic() - started
        started = time.monotonic()
        report = checkout(workspace, "round-1", folder / f"out{turn}")
        os.sync()
        whole = time.monotonic() - started
        print(
            f"cp -r {floor:.2f} s | checkout: start {report.seconds_start:.2f} s, copy {report.seconds_copy:.2f} s, verify {report.seconds_verify:.2f} s, "
            f"sync included {whole:.2f} s, without start and verify {whole - report.seconds_start - report.seconds_verify:.2f} s "
            f"= {(whole - report.seconds_start - report.seconds_verify) / floor:.2f} x cp"
        )
        shutil.rmtree(folder / f"cp{turn}")
        shutil.rmtree(folder / f"out{turn}")
    report = checkout(workspace, "round-1", folder / "linked", link=True)
    print(f"checkout --link: copy {report.seconds_copy:.3f} s, verify {report.seconds_verify:.2f} s")
    publish(workspace.root, "round-1.2", [1000, *range(1, 20)], text_bytes)
    print(f"one of 20 segments changed: {(stored(workspace.root) - first) / first:.1%} new bytes in the cache")


if __name__ == "__main__":
    main()
