"""Where a build keeps its stage tables between runs, and how it knows what need not be done again.

A stage's record names its input digest and its tables' files. Files carry their digest in their name
and the record is renamed into place last, so a killed build leaves the former record and its files.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syntropy.contract.config import Config, Overrides, load_config
from syntropy.contract.errors import ConfigError
from syntropy.contract.files import sync_file, write_text
from syntropy.contract.folders import cache_folder
from syntropy.contract.published import DATABASE, MANIFEST, locate
from syntropy.store.freshness import NOTE
from syntropy.store.last_build import LAST_BUILD

if TYPE_CHECKING:
    import polars as pl

_LIBRARIES = (
    "duckdb",
    "polars",
    "pyarrow",
    "pyromark",
    "python-frontmatter",
    "PyYAML",
    "tokenizers",
    "griffelib",
    "jinja2",
    "pathspec",
    "numpy",
)


WINDOWS_OF = ("embed.engine", "embed.model", "embed.revision", "embed.window_tokens", "embed.window_overlap")
"""Settings that decide how texts are cut into windows and what their vectors are; whether there are any is another."""


@dataclass(frozen=True)
class Record:
    """What a stage did last. `tables`: name -> file; `digests`: name -> SHA-256; `facts`: anything else."""

    inputs: str
    tables: dict[str, str]
    digests: dict[str, str]
    rows: dict[str, int]
    facts: dict[str, Any]


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
        return self.out / ".staging"

    @property
    def stages(self) -> Path:
        return self.cache / "stages"

    def own_folders(self) -> list[str]:
        """Our own outputs below the root, relative, which no connector may read."""
        return [
            path.relative_to(self.root).as_posix()
            for path in (self.out, (self.root / self.config.paths.out).resolve(), self.cache, self.index_copy)
            if path is not None and path.is_relative_to(self.root)
        ]

    @property
    def index_copy(self) -> Path | None:
        name = self.config.paths.index_copy
        return self.root / name if name else None

    def record(self, stage: str) -> Record | None:
        """The stage's last record, or None where there is none or one of its files is gone."""
        try:
            data = json.loads((self.stages / f"{stage}.json").read_text(encoding="utf-8"))
            record = Record(**data)
        except (OSError, ValueError, TypeError):
            return None
        return record if all((self.stages / f).is_file() for f in record.tables.values()) else None

    def up_to_date(self, stage: str, inputs: str) -> Record | None:
        """The record if it was made from these inputs (and caches may be used)."""
        record = self.record(stage) if self.fresh_only else None
        return record if record and record.inputs == inputs else None

    def method(self, stage: str) -> str:
        """Digest of how a stage works (code and configuration): what former rows must agree with."""
        sections = {"chunks": ("chunk", *WINDOWS_OF), "documents": ("secrets",)}.get(stage, ())
        return digest(stage, code_digest(), self.config.canonical_json(*sections) if sections else "")

    def table(self, stage: str, name: str, *, only: str = "", without: str = "") -> pl.DataFrame:
        """A table of a stage's last record: one column of it, or all but one, where such is named.

        Raises FileNotFoundError where the stage never ran.
        """
        import polars as pl

        record = self.record(stage)
        if record is None:
            raise FileNotFoundError(f"stage {stage} has no tables yet; build it first")
        frame = pl.scan_parquet(self.stages / record.tables[name])
        return (frame.select(only) if only else frame.drop(without) if without else frame).collect()

    def save(
        self,
        stage: str,
        inputs: str,
        tables: Mapping[str, pl.DataFrame],
        facts: Mapping[str, Any] | None = None,
        digests: Mapping[str, str] | None = None,
    ) -> Record:
        """Store a stage's tables and record. `digests` names results that are no tables of ours."""
        self.stages.mkdir(parents=True, exist_ok=True)
        former = self.record(stage)
        files, sums, rows = {}, {}, {}
        for name, frame in tables.items():
            temporary = self.stages / f".{stage}.{name}.new.parquet"
            frame.write_parquet(temporary, compression="lz4")
            with temporary.open("rb") as handle:
                checksum = hashlib.file_digest(handle, "sha256").hexdigest()
            files[name] = f"{stage}.{name}.{checksum[:16]}.parquet"
            sync_file(temporary)
            temporary.replace(self.stages / files[name])
            sums[name], rows[name] = checksum, frame.height
        facts = {**(facts or {}), "method": self.method(stage)}
        record = Record(inputs, files, {**sums, **(digests or {})}, rows, facts)
        write_text(self.stages / f"{stage}.json", json.dumps(vars(record), sort_keys=True))
        for old in former.tables.values() if former else ():
            if old not in files.values():
                (self.stages / old).unlink(missing_ok=True)
        return record


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


_CACHE_NAMES = frozenset({"stages", "embeddings", "models", "digests.json", "dagster", "hook.log", LAST_BUILD, NOTE})


def _require_ours(folder: Path, key: str, is_ours: Callable[[Path], bool]) -> None:
    """Refuse a folder that holds somebody's files and nothing that says it is ours."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{key}: {folder} is no folder", hint="name another one")
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


def digest(*parts: str) -> str:
    """SHA-256 of strings, each with its length, so that no two lists look alike."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()


def digest_rows(rows: Iterable[tuple[Any, ...]]) -> str:
    """Digest of rows of plain values, in their order."""
    return digest(*(json.dumps(row, ensure_ascii=True, separators=(",", ":")) for row in rows))


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Digest of our own code and of the libraries that shape the tables: new code, new tables."""
    import pipeline
    import syntropy

    parts = []
    for package in (pipeline, syntropy):
        root = Path(package.__file__ or "").parent
        for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".jinja") and "cli" not in p.parts):
            if "_location" not in path.relative_to(root).parts:
                parts += [f"{root.name}/{path.relative_to(root).as_posix()}", path.read_text(encoding="utf-8")]
    for library in _LIBRARIES:
        parts.append(f"{library} {importlib.metadata.version(library)}")
    return digest(*parts)
