"""Loads and validates the configuration in one place: defaults, the workspace's file, ``--conf`` files, ``--set``; all errors at once."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from schemas.conf import Config
from schemas.errors import VerilakeError

DEFAULTS = "conf/defaults.toml"


class ConfigError(VerilakeError):
    """The configuration is wrong; the message lists every error with file, key, value and what is allowed."""

    exit_code = 2

    @classmethod
    def from_problems(cls, problems: Iterable[str]) -> ConfigError:
        """All problems found, one a line."""
        lines = list(problems)
        return cls(f"{len(lines)} error{'s' if len(lines) != 1 else ''} in the configuration:\n" + "\n".join(f"  {line}" for line in lines))


def load_config(workspace: Path | None = None, files: Iterable[Path] = (), overrides: Iterable[str] = ()) -> Config:
    """Merge all layers, the later over the earlier, and validate the result.

    Args:
        workspace: directory whose ``conf/verilake.toml`` is read where it exists.
        files: further TOML files.
        overrides: ``section.key=value`` or ``section.table.key=value`` with ``value`` in TOML; what is no TOML is taken as a string.

    Raises:
        ConfigError: any file cannot be read or parsed, any key is unknown, any value is not allowed; all at once.
    """
    problems: list[str] = []
    merged: dict[str, Any] = {}
    origin: dict[str, str] = {}
    _merge(merged, tomllib.loads(resources.files("conf").joinpath("defaults.toml").read_text("utf-8")), DEFAULTS, origin)
    own = [workspace / "conf" / "verilake.toml"] if workspace is not None and (workspace / "conf" / "verilake.toml").is_file() else []
    for path in [*own, *files]:
        try:
            _merge(merged, tomllib.loads(path.read_text("utf-8")), str(path), origin)
        except FileNotFoundError:
            problems.append(f"{path}: no such file")
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            problems.append(f"{path}: {error}")
    for text in overrides:
        key, separator, value = text.partition("=")
        section, dot, name = key.strip().partition(".")
        if not separator or not dot or not name:
            problems.append(f"--set {text}: expected section.key=value")
            continue
        name, inner, last = name.partition(".")
        parsed = _toml_value(value.strip())
        _merge(merged, {section: {name: {last: parsed} if inner else parsed}}, f"--set {text}", origin)
    try:
        config = Config.model_validate(merged)
    except ValidationError as error:
        problems.extend(_describe(item, origin) for item in error.errors())
        raise ConfigError.from_problems(problems) from None
    if problems:
        raise ConfigError.from_problems(problems)
    return config


def _merge(into: dict[str, Any], layer: Mapping[str, Any], name: str, origin: dict[str, str]) -> None:
    for section, values in layer.items():
        origin[section] = name
        if not isinstance(values, Mapping):
            into[section] = values
            continue
        target = into.setdefault(section, {})
        if not isinstance(target, dict):
            target = into[section] = {}
        for key, value in values.items():
            # A table within a section (thresholds of one set of rules, say) is merged key by key like the section itself.
            held = target.get(key)
            target[key] = {**held, **value} if isinstance(held, Mapping) and isinstance(value, Mapping) else value
            origin[f"{section}.{key}"] = name


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def _describe(item: Any, origin: Mapping[str, str]) -> str:
    if not item["loc"]:  # a rule between sections
        return str(item["msg"])
    key = ".".join(str(part) for part in item["loc"])
    file = origin.get(".".join(str(part) for part in item["loc"][:2])) or origin.get(str(item["loc"][0]), DEFAULTS)
    if item["type"] == "extra_forbidden":
        allowed = _allowed_keys(item["loc"])
        return f"{file}: {key}: unknown key; allowed: {', '.join(allowed)}"
    if item["type"] == "missing":
        return f"{file}: {key}: missing; it stands in {DEFAULTS}"
    value = item.get("input")
    if isinstance(value, Mapping):  # a rule between keys of a section: it names their values itself
        return f"{file}: {key}: {item['msg']}"
    return f"{file}: {key} = {value!r}: {item['msg']}"


def _allowed_keys(location: tuple[Any, ...]) -> list[str]:
    model: type[BaseModel] = Config
    for part in location[:-1]:
        field = model.model_fields.get(str(part))
        if field is None or not isinstance(field.annotation, type) or not issubclass(field.annotation, BaseModel):
            break
        model = field.annotation
    return sorted(model.model_fields)
