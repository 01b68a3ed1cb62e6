"""Which GPUs this worker takes, where several workers of one launcher share a machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gpu_workers.errors import RefusedRunError

#: Ordinal of this worker among those that its launcher started here; set by ``gpu_workers.launch``.
INDEX = "VERILAKE_WORKER_INDEX"
VISIBLE = "CUDA_VISIBLE_DEVICES"


def claim_devices(size: int) -> None:
    """Show this process its own GPUs alone, before anything looks for them.

    A worker that was started by itself (Slurm, Kubernetes, a shell) takes what it was given; so does one on a machine without GPUs.

    Args:
        size: GPUs of one engine.

    Raises:
        RefusedRunError: more workers were started here than the GPUs can serve.
    """
    index = os.environ.get(INDEX)
    visible = os.environ.get(VISIBLE)
    here = visible.split(",") if visible else [str(k) for k in range(count_devices())]
    if index is not None and here:
        os.environ[VISIBLE] = ",".join(share_of(here, int(index), size))


def share_of(devices: Sequence[str], index: int, size: int) -> list[str]:
    """The devices of worker ``index``, of ``size`` each.

    Raises:
        RefusedRunError: there are not so many.
    """
    share = list(devices[index * size : (index + 1) * size])
    if len(share) < size:
        raise RefusedRunError(
            f"worker {index} of this machine needs {size} GPU(s), of {len(devices)} none are left for it. Start {len(devices) // size} workers."
        )
    return share


def count_devices(folder: Path = Path("/dev")) -> int:
    """NVIDIA GPUs of this machine, by their device nodes."""
    return sum(node.name.removeprefix("nvidia").isdigit() for node in folder.glob("nvidia*"))
