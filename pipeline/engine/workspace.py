"""A project's folders and configuration, and digests of all that decides what is built from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pipeline.engine.records import Records
from syntropy.contract.config import Config, Overrides, load_config
from syntropy.contract.errors import ConfigError
from syntropy.contract.folders import cache_folder
from syntropy.contract.published import DATABASE, MANIFEST, SKILL, locate
from syntropy.store.freshness import NOTE
from syntropy.store.last_build import LAST_BUILD


@dataclass(frozen=True)
class Workspace:
    """A project's folders and configuration. `shared`: the user's cache; `fresh_only` is False under `--full`."""

    root: Path
    out: Path
    cache: Path
    config: Config
    shared: Path
    fresh_only: bool = True
    vectors_follow: bool = False
    """Is this a first publication for words only, with vectors to come in a second one?"""

    @property
    def staging(self) -> Path:
        """Where artifacts wait for their publication."""
        return self.out / ".staging"

    @cached_property
    def records(self) -> Records:
        """What stages left there last."""
        return Records(self.cache / "stages")

    def own_folders(self) -> list[str]:
        """Our own outputs below the root, relative, which no connector may read."""
        skill = (self.root / SKILL).parent
        return [
            path.relative_to(self.root).as_posix()
            for path in (self.out, (self.root / self.config.paths.out).resolve(), self.cache, self.index_copy, skill)
            if path is not None and path.is_relative_to(self.root)
        ]

    @property
    def index_copy(self) -> Path | None:
        """The second place of syntropy-index.json, where one is configured."""
        name = self.config.paths.index_copy
        return self.root / name if name else None


def make_workspace(
    project: str | Path,
    out: str = "",
    *,
    full: bool = False,
    overrides: Overrides | None = None,
    vectors_follow: bool = False,
) -> Workspace:
    """The workspace of a project; `out` is relative to the current folder, `[paths]` to the project.

    Raises ConfigError for a bad configuration and where outputs would swallow the project.
    """
    root = Path(project).resolve()
    config = load_config(root, flags=overrides)
    if vectors_follow:
        config = without_vectors(config)
    target = Path(out).resolve() if out else (root / config.paths.out).resolve()
    cache = (root / config.paths.cache).resolve()
    if root in (target, cache) or target == cache:
        raise ConfigError(
            f"paths.out ({target}) and paths.cache ({cache}) must be folders of their own",
            hint=f"not the project {root} itself, and not the same one",
        )
    _require_ours(target, "paths.out", _is_output)
    _require_ours(cache, "paths.cache", _is_cache)
    return Workspace(root, target, cache, config, cache_folder(), fresh_only=not full, vectors_follow=vectors_follow)


def without_vectors(config: Config) -> Config:
    """The configuration of a build for words only."""
    return replace(config, embed=replace(config.embed, enabled=False))


_CACHE_NAMES = frozenset(
    {"stages", "embeddings", "models", "digests.json", "scan.json", "dagster", "hook.log", LAST_BUILD, NOTE}
)


def _require_ours(folder: Path, key: str, is_ours: Callable[[Path], bool]) -> None:
    """Refuse a folder that holds somebody's files and nothing that says it is ours."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{key}: {folder} is not a folder", hint="name another one")
    if not folder.is_dir():
        return
    found = {entry.name for entry in folder.iterdir() if not entry.name.startswith(".")}
    if found and not is_ours(folder):
        raise ConfigError(
            f"{key}: {folder} holds files that Syntropy did not write ({min(found)})",
            hint=f"choose a folder of its own: --out or {key}",
        )


def _is_cache(folder: Path) -> bool:
    return any((folder / name).exists() for name in _CACHE_NAMES)


def _is_output(out: Path) -> bool:
    """Does the folder hold a manifest of ours (or one being published)?"""
    try:
        generator = json.loads(locate(out, MANIFEST).read_text(encoding="utf-8")).get("generator", "")
        return str(generator).startswith("syntropy ")
    except (OSError, ValueError, AttributeError):
        return (out / DATABASE).is_file()
