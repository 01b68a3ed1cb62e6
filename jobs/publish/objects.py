"""What a commit's dvc.lock names, and the objects of DVC's cache that hold the bytes; read without starting DVC."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from jobs.publish.errors import HistoryError, MissingBytesError
from jobs.publish.history import History
from schemas.publication import MANIFEST_FILE, Manifest, Pin, pin_name

DATASETS = "datasets"
STAGE = "publish"
_MD5 = re.compile(r"[0-9a-f]{32}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_=][A-Za-z0-9_.=-]*", re.ASCII)


@dataclass(frozen=True)
class Cache:
    """DVC's content-addressed store of one workspace."""

    folder: Path

    @classmethod
    def of(cls, root: Path) -> Cache:
        """Where the workspace's DVC keeps its objects: ``cache.dir`` of its settings, ``.dvc/cache`` where none is named."""
        home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        for path in (root / ".dvc" / "config.local", root / ".dvc" / "config", home / "dvc" / "config", Path("/etc/xdg/dvc/config")):
            settings = configparser.ConfigParser(interpolation=None)
            if path.is_file():
                settings.read_string(path.read_text("utf-8", "replace"))
            named = settings.get("cache", "dir", fallback="").strip().strip('"')
            if named:
                return cls((path.parent / Path(named).expanduser()).resolve())
        return cls(root / ".dvc" / "cache")

    def path(self, md5: str) -> Path:
        """Where the object with this md5 (``.dir`` for a listing) lies."""
        return self.folder / "files" / "md5" / md5[:2] / md5[2:]


@dataclass(frozen=True)
class Snapshot:
    """The publication at one commit, as dvc.lock tells it."""

    history: History
    tag: str
    commit: str

    @cached_property
    def cache(self) -> Cache:
        """Of the workspace."""
        return Cache.of(self.history.root)

    @cached_property
    def listings(self) -> dict[str, str]:
        """Set -> md5 of its listing."""
        import yaml  # type: ignore[import-untyped]

        lock = yaml.safe_load(self.history.show(self.commit, "dvc.lock"))
        outs: list[dict[str, Any]] = lock["stages"][STAGE]["outs"]
        found = {}
        for out in outs:
            path, md5 = PurePosixPath(str(out["path"])), str(out["md5"])
            if (
                len(path.parts) == 2
                and path.parts[0] == DATASETS
                and _NAME.fullmatch(path.name)
                and _MD5.fullmatch(md5.removesuffix(".dir"))
            ):
                found[path.name] = md5
        return found

    def pin(self) -> Pin:
        """The pin that was committed with it."""
        round_no = self.tag.removeprefix("round-").partition(".")[0]
        return Pin.model_validate_json(self.history.show(self.commit, pin_name(round_no)))

    def files(self, dataset: str) -> dict[str, Path]:
        """Name within the set -> object in the cache; the listing must be there.

        Raises:
            MissingBytesError: the listing is not in the cache, or names a path outside the set.
        """
        md5 = self.listings[dataset]
        listing = self.cache.path(md5)
        if not listing.is_file():
            raise MissingBytesError.from_objects(self.tag, 1, f"{DATASETS}/{dataset}", "nor is their listing")
        found = {}
        for entry in json.loads(listing.read_bytes()):
            name, inner = str(entry["relpath"]), str(entry["md5"])
            if not _NAME.fullmatch(name) or not _MD5.fullmatch(inner):
                raise MissingBytesError.from_damage(self.tag, [f"the listing of {dataset} names {name!r}"])
            found[name] = self.cache.path(inner)
        return found

    def manifest(self, dataset: str) -> Manifest:
        """MANIFEST.json of a set.

        Raises:
            MissingBytesError: it is not in the cache.
        """
        held = self.files(dataset).get(MANIFEST_FILE)
        if held is None or not held.is_file():
            raise MissingBytesError.from_objects(self.tag, 1, f"{DATASETS}/{dataset}/{MANIFEST_FILE}", "nor can it be read")
        return Manifest.model_validate_json(held.read_bytes())

    def missing(self, datasets: list[str]) -> list[str]:
        """Files of these sets that the cache lacks."""
        lacking = []
        for dataset in datasets:
            if not self.cache.path(self.listings[dataset]).is_file():
                lacking.append(f"{DATASETS}/{dataset}")
            else:
                lacking += [f"{DATASETS}/{dataset}/{name}" for name, path in self.files(dataset).items() if not path.is_file()]
        return lacking

    def fetch(self, datasets: list[str]) -> None:
        """Bring what the cache lacks from the DVC remote.

        Raises:
            MissingBytesError: there is no remote, or it lacks them too.
        """
        lacking = self.missing(datasets)
        if not lacking:
            return
        why = "and no DVC remote is set (publish.remote)"
        if _has_remote(self.history.root):
            try:
                self._fetch(datasets)
            except HistoryError as error:
                why = f"and fetching them failed ({error})"
            else:
                why = "and the DVC remote does not hold them"
            lacking = self.missing(datasets)
        if lacking:
            raise MissingBytesError.from_objects(self.tag, len(lacking), lacking[0], why)

    def _fetch(self, datasets: list[str]) -> None:
        # `dvc fetch` knows no revision, and the workspace itself must not be moved: a bare-bones clone at the commit fetches into our cache.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=self.history.root / ".dvc") as folder:
            clone = History(Path(folder) / "clone")
            self.history.git("clone", "--quiet", "--shared", "--no-checkout", "--", str(self.history.root), str(clone.root))
            clone.git("checkout", "--quiet", "--detach", self.commit)
            for name in ("config", "config.local"):
                if (self.history.root / ".dvc" / name).is_file():
                    shutil.copyfile(self.history.root / ".dvc" / name, clone.root / ".dvc" / name)
            clone.dvc("cache", "dir", "--quiet", "--local", str(self.cache.folder))
            clone.dvc("fetch", "--quiet", *(f"{DATASETS}/{dataset}" for dataset in datasets))


def _has_remote(root: Path) -> bool:
    return any(
        "remote" in path.read_text("utf-8", "replace")
        for path in (root / ".dvc" / "config", root / ".dvc" / "config.local")
        if path.is_file()
    )
