"""The one table of stages: what each reads and makes, and what else decides its result.

What may be skipped, the order, the edges and columns of the assets, and the picture in the architecture all
derive from it. A stage's function has its name in `steps.py`; that module is loaded only when something runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from syntropy.contract.published import DATABASE, ENCODER, INDEX_JSON, INDEX_MD, QUERY_SCRIPT
from syntropy.contract.schema import (
    CHUNK_KEYS,
    CHUNKS,
    DIAGNOSTICS,
    DOCUMENTS,
    FILES,
    HEADINGS,
    LINKS,
    MENTIONS,
    OUTLINES,
    RELATIONS,
    RULES,
    SOURCES,
    TAG_MARKS,
    TAGS,
    TERMS,
    UNRESOLVED,
    VIOLATIONS,
    WINDOWS,
    Table,
)
from syntropy.search.profiles import DECIDING

if TYPE_CHECKING:
    from pipeline.engine.context import Build, Inputs
    from pipeline.engine.steps import Made

WINDOWS_OF = ("embed.engine", "embed.model", "embed.revision", "embed.window_tokens", "embed.window_overlap")
"""Settings that decide how texts are cut into windows and what their vectors are; whether there are any is another."""

SCORES_OF = tuple(f"search.{name}" for name in (*DECIDING, "profile"))
"""Settings of search that the stored thresholds hold for."""

SCAN = "source_files"
PUBLICATION = "publication"


@dataclass(frozen=True)
class Stage:
    """One step of a build.

    `reads`: names of tables, or `stage.table` where several stages make one of that name; `makes`: tables of the
    contract; `names`: results that are not tables and have a digest all the same; `config`: sections and keys it
    depends on; `outside`: what else decides its result; `artifact`: what it stages for publication.
    """

    name: str
    about: str
    reads: tuple[str, ...] = ()
    makes: tuple[Table, ...] = ()
    names: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    outside: Callable[[Build], tuple[str, ...]] = lambda build: ()
    present: Callable[[Build], bool] = lambda build: True
    """Is what the record names, and does not hold itself, still there?"""
    artifact: str = ""
    split: bool = False
    """Is it done shard by shard, and are its tables in parts, where there is more than one shard?"""
    of_shards: tuple[str, ...] = ()
    """Of `config`, what decides a shard's part, where that is not all."""
    group: str = "knowledge"
    kinds: tuple[str, ...] = ("polars",)
    shown: tuple[str, ...] = ()
    """Columns of the first table whose values are counted for people."""

    @property
    def run(self) -> Callable[[Build, Inputs], Made]:
        """Its function."""
        from pipeline.engine import steps  # polars and all stages; a build with nothing to do loads neither

        found: Callable[[Build, Inputs], Made] = getattr(steps, self.name)
        return found

    @cached_property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """(stage, table or name) of each thing it reads."""
        return tuple(source_of(name) for name in self.reads)

    @cached_property
    def upstream(self) -> tuple[str, ...]:
        """Names of the stages it reads from, each once, in their order."""
        read = {stage for stage, _ in self.inputs}
        return tuple(stage.name for stage in STAGES if stage.name in read)


STAGES: tuple[Stage, ...] = (
    Stage(
        SCAN,
        "Every file of the project with its fate: indexed, excluded by a named rule, or rejected.",
        makes=(SOURCES, DIAGNOSTICS),
        config=("build.shards",),
        outside=lambda build: (build.scan_digest,),
        group="sources",
        kinds=("file",),
        shown=("status", "reason"),
    ),
    Stage(
        "documents",
        "Documents with metadata, headings, references and rules.",
        reads=("sources",),
        makes=(DOCUMENTS, TAG_MARKS, HEADINGS, MENTIONS, RULES, OUTLINES, FILES, DIAGNOSTICS),
        config=("secrets",),
        split=True,
        kinds=("markdown", "polars"),
        shown=("scope", "kind"),
    ),
    Stage(
        "tags",
        "Tags: those that texts carry and, where wanted, those that follow from others.",
        reads=("tag_marks", "headings"),
        makes=(TAGS,),
        config=("tags",),
        split=True,
        shown=("origin",),
    ),
    Stage(
        "chunks",
        "Chunks (read and cited), windows (embedded), and the terms of each chunk.",
        reads=("documents", "tags", "headings", "outlines"),
        makes=(CHUNKS, WINDOWS, TERMS, CHUNK_KEYS, DIAGNOSTICS),
        config=("chunk", *WINDOWS_OF),
        split=True,
    ),
    Stage(
        "embeddings",
        "Unit vectors of all windows, from the content-addressed cache where known.",
        reads=("chunks", "windows"),
        names=("vectors", "model"),
        config=("embed.enabled", *WINDOWS_OF),
        split=True,
        present=lambda build: build.vectors_present,
        kinds=("huggingface", "onnx"),
    ),
    Stage(
        "relations",
        "Links, duplicates and see-also relations between documents.",
        reads=("documents", "mentions", "rules", "sources", "outlines", "windows", "vectors"),
        makes=(RELATIONS, LINKS, UNRESOLVED, DIAGNOSTICS),
        config=("link", "embed.enabled"),
        shown=("type", "origin"),
    ),
    Stage(
        "drift",
        "All diagnostics, and drift: claims that do not hold.",
        reads=(
            "documents",
            "relations",
            "source_files.diagnostics",
            "documents.diagnostics",
            "chunks.diagnostics",
            "relations.diagnostics",
        ),
        makes=(DIAGNOSTICS, VIOLATIONS),
        config=("problems",),
        shown=("severity", "code"),
    ),
    Stage(
        "search_database",
        "The search database: full text, vectors, postings, graph. Staged, not yet published.",
        reads=(
            "sources",
            "documents",
            "tags",
            "headings",
            "rules",
            "chunks",
            "windows",
            "terms",
            "vectors",
            "relations",
            "drift.diagnostics",
            "violations",
        ),
        config=("ranking", "store", "embed.enabled", "project", "synonyms", *SCORES_OF),
        outside=lambda build: build.outside_of_database,
        split=True,
        of_shards=("ranking", "store", "embed.enabled"),
        artifact=DATABASE,
        group="artifacts",
        kinds=("duckdb",),
    ),
    Stage(
        "index_json",
        "syntropy-index.json: every pattern, PRP, memory and rule by key, and drift.",
        reads=("documents", "tags", "rules", "relations", "violations"),
        config=("project", "sources"),
        outside=lambda build: (f"source-date {build.source_date}",) if build.source_date else (),
        artifact=INDEX_JSON,
        group="artifacts",
        kinds=("json",),
    ),
    Stage(
        "index_overview",
        "INDEX.md: the overview, within its token budget.",
        reads=("documents", "rules", "chunks", "violations", "drift.diagnostics"),
        config=("project", "render"),
        artifact=INDEX_MD,
        group="artifacts",
        kinds=("markdown",),
    ),
    Stage(
        "query_script",
        "query.py: a standalone read-only reader for people who have just the artifacts.",
        artifact=QUERY_SCRIPT,
        group="artifacts",
        kinds=("python",),
    ),
    Stage(
        "query_encoder",
        "The query encoder that travels with the database.",
        reads=("model",),
        artifact=ENCODER,
        group="artifacts",
        kinds=("onnx",),
    ),
)
"""In the order in which they run."""

ARTIFACTS = tuple(stage for stage in STAGES if stage.artifact)
"""What is published; staged only where its inputs differ from the published ones."""


def stage_named(name: str) -> Stage:
    """The stage of this name."""
    return next(stage for stage in STAGES if stage.name == name)


@lru_cache(maxsize=64)
def source_of(name: str) -> tuple[str, str]:
    """(stage, table) of a name in `reads`. Raises KeyError where no stage, or more than one, makes it."""
    stage, dot, table = name.rpartition(".")
    found = [made for made in _made() if made[1] == table and (not dot or made[0] == stage)]
    if len(found) != 1:
        raise KeyError(f"{name} is made by {len(found)} stages")
    return found[0]


def picture() -> str:
    """The graph as text for the documentation: one line a stage, what it reads, what it makes."""
    width = max(len(stage.name) for stage in STAGES)
    lines = []
    for stage in STAGES:
        made = ", ".join([*(table.name for table in stage.makes), *stage.names]) or stage.artifact
        lines.append(f"{stage.name:<{width}}  {', '.join(stage.upstream) or '-'} → {made}")
    return "\n".join(lines)


def _made() -> Iterator[tuple[str, str]]:
    for stage in STAGES:
        for table in stage.makes:
            yield stage.name, table.name
        for name in stage.names:
            yield stage.name, name
