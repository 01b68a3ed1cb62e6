"""Is a published folder what was published? Works on a set, a checkout, a workspace; without a lake, git or DVC."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from schemas.errors import InputRefusedError
from schemas.publication import CHECKOUT_FILE, MANIFEST_FILE, Checkout, Pin, pin_name
from udfs.export.files import check_set, extra_entries


@dataclass(frozen=True)
class VerifyReport:
    """Which sets were looked at, and one line for each problem."""

    folder: Path
    sets: tuple[str, ...]
    problems: tuple[str, ...]


class NothingToVerifyError(InputRefusedError):
    """A folder without any manifest."""

    @classmethod
    def from_folder(cls, folder: Path) -> NothingToVerifyError:
        """Says what is expected."""
        return cls(
            f"{folder}: neither a published set ({MANIFEST_FILE}), nor a checkout ({CHECKOUT_FILE}), nor a workspace with datasets/."
        )


def verify(folder: Path) -> VerifyReport:
    """Check every byte below ``folder``.

    Args:
        folder: a set's folder, a checkout, ``datasets/`` of a workspace, or the workspace.

    Raises:
        InputRefusedError: there is no such folder.
        NothingToVerifyError: nothing there was published.
    """
    if not folder.is_dir():
        raise InputRefusedError.from_missing(str(folder))
    if (folder / CHECKOUT_FILE).is_file():
        return _checkout(folder)
    if (folder / MANIFEST_FILE).is_file():
        return VerifyReport(folder, (folder.name,), tuple(check_set(folder, _expected(folder.resolve()))))
    held = folder / "datasets" if (folder / "datasets").is_dir() else folder
    pinned = _pinned(held.resolve())
    names = sorted({*pinned, *(entry.name for entry in held.iterdir() if (entry / MANIFEST_FILE).is_file())})
    if not names:
        raise NothingToVerifyError.from_folder(folder)
    problems = extra_entries(held, folders=names) if pinned else []
    for name in names:
        problems += check_set(held / name, pinned.get(name))
    return VerifyReport(folder, tuple(names), tuple(problems))


def _checkout(folder: Path) -> VerifyReport:
    try:
        said = Checkout.model_validate_json((folder / CHECKOUT_FILE).read_bytes())
    except ValidationError as error:
        return VerifyReport(folder, (), (f"{folder / CHECKOUT_FILE}: changed: it cannot be read ({error.error_count()} errors)",))
    expected = {held.path for held in said.sets.values()}
    problems = extra_entries(folder, files=(CHECKOUT_FILE,), folders=expected)
    for held in said.sets.values():
        problems += check_set(folder / held.path, held.manifest_sha256)
    return VerifyReport(folder, tuple(sorted(said.sets)), tuple(problems))


def _expected(folder: Path) -> str | None:
    """What the manifest of one set must be, by the checkout or the workspace around it; None where the folder stands alone."""
    beside = folder.parent / CHECKOUT_FILE
    if beside.is_file():
        try:
            held = Checkout.model_validate_json(beside.read_bytes()).sets.get(folder.name)
        except ValidationError:
            return None
        return held.manifest_sha256 if held is not None else None
    return _pinned(folder.parent).get(folder.name)


def _pinned(datasets: Path) -> dict[str, str]:
    """Set -> sha256 of its manifest by the pin of the round that a workspace's params.yaml names; empty where there is none.

    ``params.yaml`` is of this workspace's own making: ``round: 3`` stands in it on a line of its own.
    """
    params = datasets.parent / "params.yaml"
    if not params.is_file():
        return {}
    lines = dict(
        line.split(": ", 1) for line in params.read_text("utf-8", "replace").splitlines() if ": " in line and not line.startswith(" ")
    )
    pin = datasets.parent / pin_name(lines.get("round", ""))
    try:
        return {name: held.manifest_sha256 for name, held in Pin.model_validate_json(pin.read_bytes()).sets.items()}
    except (OSError, ValidationError):
        return {}
