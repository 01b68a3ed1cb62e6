"""What every episode of an item starts from: its files, their digest, and the fingerprint of where they lie."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from gpu_workers.environments.environment import SettingError
from schemas.environment import Fingerprint
from udfs.sandbox.interpreter import fingerprint as interpreter_of
from udfs.sandbox.process import check_name
from udfs.sandbox.sandbox import Sandbox

#: Bytes of all files of a snapshot, and their number: they travel in every item.
MAX_BYTES, MAX_FILES = 8 << 20, 1_000

Setting = TypeVar("Setting", bound=BaseModel)


def read_setting(kind: type[Setting], environment: str, text: str) -> Setting:
    """The setting of an item.

    Raises:
        SettingError: it is not of this kind; every fault is named. Fields that the environment does not have are among them: hidden tests
            that a planner put there by mistake must not be carried along.
    """
    try:
        return kind.model_validate(json.loads(text))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'setting'}: {e['msg']}" for e in error.errors())
        raise SettingError(f"environment {environment}: {wrong}. A setting has the fields {', '.join(kind.model_fields)}.") from None
    except (ValueError, RecursionError) as error:
        raise SettingError(f"environment {environment}: the setting is not JSON: {error}") from None


def snapshot_of(environment: str, files: Mapping[str, str]) -> dict[str, bytes]:
    """The files of a setting as bytes.

    Raises:
        SettingError: a name that is no relative path, a file that is another's folder, or more than a snapshot may hold.
    """
    try:
        for name in files:
            check_name(name)
        folders = {"/".join(name.split("/")[:k]) for name in files for k in range(1, name.count("/") + 1)}
        data = {name: text.encode("utf-8") for name, text in sorted(files.items())}
    except ValueError as error:
        raise SettingError(f"environment {environment}: files: {error}") from None
    if both := sorted(folders & files.keys()):
        raise SettingError(f"environment {environment}: files: {both[0]} is a file and a folder.")
    if len(data) > MAX_FILES or sum(map(len, data.values())) > MAX_BYTES:
        raise SettingError(f"environment {environment}: files: at most {MAX_FILES} of {MAX_BYTES >> 20} MiB together.")
    return data


def image_of(*parts: bytes, files: Mapping[str, bytes]) -> str:
    """Digest of a snapshot: SHA-256 over name, length and content of each file, in the order of the names, and over further parts."""
    total = hashlib.sha256()
    for name, content in [*((f"/{k}", part) for k, part in enumerate(parts)), *sorted(files.items())]:  # no file's name begins with a slash
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return f"sha256:{total.hexdigest()}"


def fingerprint_of(environment: str, image: str, sandbox: Sandbox | None) -> Fingerprint:
    """Where an episode takes place; without a sandbox no code runs, and interpreter and packages are ``-``."""
    if sandbox is None:
        return Fingerprint(environment=environment, image=image, interpreter="-", packages="-", network="none", tier="-")
    inside = interpreter_of()
    return Fingerprint(
        environment=environment,
        image=image,
        interpreter=inside["interpreter"],
        packages=inside["packages"],
        network="none",
        tier=sandbox.tier,
    )
