"""What is wanted and what is installed, in nocaap's own files.

`.context/context.config.json`: `{registryUrl?, packages: [{alias, source, path?, version?}]}`;
`.context/context.lock`: `{alias: {commitHash, sparsePath, updatedAt}}`. Packages may stand in
`[packages]` of syntropy.toml instead, never in both.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from syntropy.contract.config import CONFIG_NAME, Config
from syntropy.contract.errors import ConfigError, UsageError
from syntropy.contract.files import write_text
from syntropy.contract.identity import PROJECT_PACKAGE

FOLDER = ".context"
CONFIG = "context.config.json"
LOCK = "context.lock"
CHECKOUTS = "packages"

_ALIAS = re.compile(r"^[a-z0-9][a-z0-9._-]{0,63}$")


class Package(NamedTuple):
    """What the user wants: an address, a folder in it (POSIX, empty: all), a branch, tag or commit (empty: HEAD)."""

    alias: str
    source: str
    path: str = ""
    version: str = ""


class Locked(NamedTuple):
    """What is installed. `updated_at` is ISO 8601."""

    commit: str
    path: str
    updated_at: str


@dataclass(frozen=True)
class Packages:
    """Both files of a project. `in_toml`: the list stands in syntropy.toml and is not ours to write."""

    root: Path
    registry: str
    wanted: tuple[Package, ...]
    locked: dict[str, Locked]
    in_toml: bool
    written: Mapping[str, Any] = field(default_factory=dict)
    """The list as its file has it: keys that are not ours are written back."""
    written_lock: Mapping[str, Any] = field(default_factory=dict)

    def checkout(self, alias: str) -> Path:
        """Where a package's files lie."""
        return self.root / FOLDER / CHECKOUTS / alias

    def base_branch(self) -> str:
        """The branch that pull requests are for, where nocaap's settings say one (`push.baseBranch`)."""
        push = self.written.get("push")
        return str(push.get("baseBranch") or "") if isinstance(push, dict) else ""

    def package(self, alias: str) -> Package:
        """The package of that alias. Raises UsageError."""
        found = next((p for p in self.wanted if p.alias == alias), None)
        if found is None:
            known = ", ".join(p.alias for p in self.wanted) or "none"
            raise UsageError(f"no package is called {alias!r}", hint=f"packages: {known}")
        return found

    def with_package(self, package: Package) -> Packages:
        """With one more, or one changed."""
        others = tuple(p for p in self.wanted if p.alias != package.alias)
        return replace(self, wanted=tuple(sorted((*others, package))))

    def without(self, alias: str) -> Packages:
        """Without one, in both files."""
        return replace(
            self,
            wanted=tuple(p for p in self.wanted if p.alias != alias),
            locked={name: lock for name, lock in self.locked.items() if name != alias},
        )

    def save_wanted(self) -> None:
        """Write the list. Raises UsageError where it stands in syntropy.toml."""
        if self.in_toml:
            raise UsageError(
                f"packages are listed in {CONFIG_NAME}", hint=f"change [packages] in {CONFIG_NAME} instead"
            )
        data = {**self.written, **({"registryUrl": self.registry} if self.registry else {})}
        former = {str(e.get("alias")): e for e in self.written.get("packages", []) if isinstance(e, dict)}
        data["packages"] = [
            {**former.get(package.alias, {}), **{key: value for key, value in package._asdict().items() if value}}
            for package in self.wanted
        ]
        self._write(CONFIG, data)

    def save_lock(self) -> None:
        """Write the lock."""
        listed = {package.alias for package in self.wanted}
        kept = {alias: entry for alias, entry in self.written_lock.items() if alias in listed}
        for alias, lock in self.locked.items():
            entry = kept.get(alias)
            ours = {"commitHash": lock.commit, "sparsePath": lock.path, "updatedAt": lock.updated_at}
            kept[alias] = {**(entry if isinstance(entry, dict) else {}), **ours}
        self._write(LOCK, dict(sorted(kept.items())))

    def _write(self, name: str, data: Any) -> None:
        folder = self.root / FOLDER
        folder.mkdir(exist_ok=True)
        write_text(folder / name, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def load_packages(root: Path, config: Config) -> Packages:
    """The project's packages. Raises ConfigError: unreadable files, bad aliases, two lists at once."""
    data = _read(root / FOLDER / CONFIG)
    listed = data.get("packages", [])
    if not isinstance(listed, list) or not all(isinstance(p, dict) for p in listed):
        raise ConfigError(f"{FOLDER}/{CONFIG}: packages is not a list of objects", hint="write it as nocaap does")
    if listed and config.packages:
        raise ConfigError(
            f"packages are listed in {CONFIG_NAME} and in {FOLDER}/{CONFIG}", hint="keep one of the two lists"
        )
    raw = [{**table, "alias": alias} for alias, table in config.packages.items()] or listed
    wanted = tuple(sorted(_package(entry) for entry in raw))
    names = [p.alias for p in wanted]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{FOLDER}/{CONFIG}: alias {name!r} is used twice", hint="give each package its own")
    lock = _read(root / FOLDER / LOCK)
    locked = {
        alias: Locked(str(entry["commitHash"]), str(entry.get("sparsePath") or ""), str(entry.get("updatedAt") or ""))
        for alias, entry in lock.items()
        if isinstance(entry, dict) and re.fullmatch(r"[0-9a-f]{40,64}", str(entry.get("commitHash", "")))
    }
    registry = str(data.get("registryUrl") or "")
    return Packages(root, registry, wanted, locked, bool(config.packages), data, lock)


def alias_of(source: str, path: str) -> str:
    """A name from an address: the last part of the path, else of the repository."""
    last = (path or source).rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")
    name = re.sub(r"[^a-z0-9._-]+", "-", last.lower()).strip("-._") or "package"
    return f"{name}-package" if name == PROJECT_PACKAGE else name[:64]


def check_alias(alias: str) -> str:
    """The alias. Raises UsageError for one that cannot be a folder's or package's name."""
    if not _ALIAS.match(alias) or alias == PROJECT_PACKAGE or alias.endswith((".", ".lock")):
        raise UsageError(f"{alias!r} is not an alias", hint="use lower-case letters, digits, '.', '_' and '-'")
    return alias


def posix_path(path: str) -> str:
    """A folder as git knows it: forward slashes, relative, without dots. Raises UsageError for one outside."""
    posix = posixpath.normpath(path.strip().replace("\\", "/")) if path.strip() else ""
    posix = "" if posix == "." else posix.lstrip("/")
    if posix.startswith("../") or posix == ".." or re.match(r"^[A-Za-z]:", posix) or not posix.isprintable():
        raise UsageError(f"{path!r} is not a folder of a repository", hint="give a path below its root, e.g. docs/api")
    return posix


def _package(entry: dict[str, Any]) -> Package:
    try:
        source = str(entry["source"])
        path = posix_path(str(entry.get("path") or ""))
        alias = check_alias(str(entry.get("alias") or alias_of(source, path)))
    except KeyError as error:
        raise ConfigError(
            f"{FOLDER}/{CONFIG}: a package has no {error.args[0]}", hint="name its git address"
        ) from error
    except UsageError as error:
        raise ConfigError(f"{FOLDER}/{CONFIG}: {error.message}", hint=error.hint) from error
    version = str(entry.get("version") or "")
    if version.startswith("-") or re.search(r"[\s~^:?*\[\\]|\.\.|@\{", version):
        raise ConfigError(f"{alias}: {version!r} is not a version", hint="name a branch, tag or commit")
    return Package(alias, source, path, version)


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.exists() and not path.is_file():
            raise OSError("no regular file")
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="fix or delete it") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} holds no object", hint="fix or delete it")
    return data
