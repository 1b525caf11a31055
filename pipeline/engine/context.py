"""One build: its workspace, what it reads of the world, and the tables it has at hand. Made once, handed to all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.engine.history import published_inputs
from pipeline.engine.records import Part, Record, Records
from pipeline.engine.stages import SCAN, STAGES, Stage, source_of
from pipeline.engine.workspace import Workspace
from pipeline.ground.diagnostics import Diagnostic
from pipeline.ground.digests import code_digest, digest
from pipeline.packages.installed import package_sources
from pipeline.sources.protocol import Scan
from pipeline.sources.scan import scan_all, scan_digest, seen_files
from syntropy.contract.config import Config
from syntropy.contract.errors import BuildError
from syntropy.contract.schema import TABLES

if TYPE_CHECKING:
    import polars as pl

    from pipeline.embed.embedder import Embedder
    from pipeline.workers.workers import Workers

MAX_KEPT_BYTES = 512 * 2**20
"""Tables kept in memory for later stages; what goes beyond is read again from its file when it is needed."""


AGAIN = "read otherwise"
"""Fact of a record: how much of what it was made from was not as its inputs say. Then it is never up to date."""


class Reporter(Protocol):
    """Who is told how a build goes."""

    def stage(self, name: str) -> None:
        """A stage begins."""

    def advance(self, done: int, total: int) -> None:
        """How far it is, in units of its own (characters, windows)."""

    def say(self, text: str) -> None:
        """One line for people."""


class Silent:
    """Nobody is told anything."""

    def stage(self, name: str) -> None:
        """Not told on."""

    def advance(self, done: int, total: int) -> None:
        """Not told on."""

    def say(self, text: str) -> None:
        """Not told on."""


class Build:
    """One build of one workspace.

    `scan`: what was met, where somebody looked already; `synced_at`: ISO time for the index; `source_date`: what
    fixed it, or ''; `started`: when the build began, and `clock`: seconds since 1970, for what readers are told.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        reporter: Reporter | None = None,
        scan: Scan | None = None,
        synced_at: str = "",
        source_date: str = "",
        clock: Callable[[], float] = time.time,
        started: float | None = None,
    ) -> None:
        self.workspace = workspace
        self.reporter: Reporter = reporter or Silent()
        self.synced_at = synced_at
        self.source_date: str = source_date
        self.clock, self.started = clock, clock() if started is None else started
        self.failure: tuple[str, BaseException] | None = None
        """(step, error) of what ended the build first, in its own form: the shell would only keep its text."""
        self._scan = scan
        self._kept: dict[tuple[str, str], pl.DataFrame] = {}
        self._done: set[str] = set()
        self._inputs: dict[str, str | None] = {}

    @property
    def config(self) -> Config:
        """The project's configuration."""
        return self.workspace.config

    @property
    def records(self) -> Records:
        """What stages did last."""
        return self.workspace.records

    @property
    def scan(self) -> Scan:
        """What all connectors met; read once a build. Raises ConfigError."""
        if self._scan is None:
            place = self.workspace
            seen = seen_files(place.cache, self.config) if place.fresh_only else None
            self._scan = scan_all(place.root, self.config, place.own_folders(), seen=seen)
        return self._scan

    @cached_property
    def scan_digest(self) -> str:
        """Digest of the scan's rows."""
        return scan_digest(self.scan)

    @cached_property
    def packages(self) -> str:
        """JSON of the installed context packages."""
        return package_sources(self.workspace.root, self.config)

    @property
    def outside_of_database(self) -> tuple[str, ...]:
        """What decides the database and is not a table: where packages come from, vectors that follow."""
        packages = (f"packages {self.packages}",) if self.packages != "{}" else ()
        return packages + (("vectors follow",) if self.workspace.vectors_follow else ())

    @cached_property
    def published(self) -> dict[str, str]:
        """Artifact -> input digest of what was published, whole, when this build began."""
        return published_inputs(self.workspace)

    @cached_property
    def embedder(self) -> Embedder:
        """The model and its machinery."""
        from pipeline.embed.embedder import Embedder  # numpy, onnxruntime

        return Embedder(self.config.embed, self.workspace.shared)

    @cached_property
    def workers(self) -> Workers:
        """Who works on shards: this process, where there is one. Raises what `make_workers` raises."""
        from pipeline.workers.workers import SerialWorkers, make_workers

        return make_workers(self.config.build) if self.shards > 1 else SerialWorkers()

    def close(self) -> None:
        """Let go of the workers."""
        if "workers" in vars(self):
            self.workers.close()

    @property
    def shards(self) -> int:
        """In how many parts documents lie: as the files were counted last, 1 before that."""
        return int(self.facts_of(SCAN).get("shards", 1))

    @property
    def vectors_present(self) -> bool:
        """Are the vectors of all windows in the cache, which others may empty? True where none are wanted."""
        if not self.config.embed.enabled:
            return True
        hashes = self.table("chunks", "windows", only=["text_hash"])["text_hash"].unique()
        return bool(self.embedder.cache.known(hashes).all())

    @property
    def problems(self) -> list[Diagnostic]:
        """The worst diagnostics, from the small record beside the tables: nothing heavy is loaded."""
        return [Diagnostic(*row) for row in self.facts_of("drift").get("diagnostics", [])]

    def inputs_of(self, stage: Stage) -> str | None:
        """The digest of all that decides a stage's result; None where something it reads was never made."""
        if stage.name not in self._inputs:
            self._inputs[stage.name] = self._inputs_of(stage)
        return self._inputs[stage.name]

    def save(
        self,
        stage: Stage,
        tables: Mapping[str, pl.DataFrame | Sequence[Part]],
        facts: Mapping[str, Any],
        names: Mapping[str, str],
    ) -> Record:
        """Store what a stage made from its present inputs, and hold its tables for those that read them.

        What was stored in parts already is not held.
        """
        inputs = self.inputs_of(stage)
        assert inputs is not None  # or it would not have run
        facts = {**facts, "method": self.method_of(stage)}
        record = self.records.save(stage.name, inputs, tables, facts, names)
        self._inputs = {stage.name: inputs}  # those of later stages depend on this record
        self.keep(stage.name, {n: table for n, table in tables.items() if not isinstance(table, list | tuple)})  # type: ignore[misc]
        return record

    def _inputs_of(self, stage: Stage) -> str | None:
        config = self.config.canonical_json(*stage.config) if stage.config else ""
        parts = [stage.name, code_digest(), config, *self._split(stage), *stage.outside(self)]
        for source, table in stage.inputs:
            record = self.records.get(source)
            if record is None or table not in record.digests:
                return None
            parts.append(record.digests[table])
        return digest(*parts)

    def method_of(self, stage: Stage) -> str:
        """Digest of how a stage works (code and configuration): what former rows must agree with."""
        config = self.config.canonical_json(*stage.config) if stage.config else ""
        return digest(stage.name, code_digest(), config, *self._split(stage))

    def _split(self, stage: Stage) -> tuple[str, ...]:
        return (f"shards {self.shards}",) if stage.split and self.shards > 1 else ()

    def part_inputs(self, stage: Stage, shard: int) -> str:
        """The digest of all that decides a shard's part of a stage: its part of what is in parts, the rest whole."""
        own = stage.of_shards or stage.config
        config = self.config.canonical_json(*own) if own else ""
        found = [stage.name, code_digest(), config, *self._split(stage), str(shard)]
        for source, table in stage.inputs:
            record = self.records.get(source)
            assert record is not None  # the stage's own inputs were known
            if stage.artifact and is_whole(table):
                continue  # lies beside the shards
            parts = record.tables.get(table, [])
            of_shard = record.names.get(part_name(table, shard), "")
            found.append(of_shard or (parts[shard].sha256 if len(parts) == self.shards else record.digests[table]))
        return digest(*found)

    def up_to_date(self, stage: Stage, inputs: str) -> Record | None:
        """The stage's record if it was made from these inputs (and former results may be used)."""
        record = self.records.get(stage.name) if self.workspace.fresh_only else None
        return record if record and record.inputs == inputs and not record.facts.get(AGAIN) else None

    def facts_of(self, stage: str) -> Mapping[str, Any]:
        """What a stage noted beside its tables; empty where it never ran."""
        record = self.records.get(stage)
        return record.facts if record else {}

    def records_of(self, stage: str) -> Record:
        """A stage's last record. Raises BuildError where it never ran."""
        record = self.records.get(stage)
        if record is None:
            raise BuildError(f"{stage} was never made", hint=f"materialize {stage} first, or run `syntropy build`")
        return record

    def rows_of(self, stage: str, table: str) -> int:
        """Number of rows of a table; 0 where it was never made."""
        record = self.records.get(stage)
        return record.rows.get(table, 0) if record else 0

    def digest_of(self, name: str) -> str:
        """Digest of a table or name that some stage made last. Raises BuildError where it never ran."""
        stage, table = source_of(name)
        return self.records_of(stage).digests[table]

    def table(self, stage: str, name: str, *, only: Sequence[str] = (), without: Sequence[str] = ()) -> pl.DataFrame:
        """A table as it was made last: from memory where it is kept, else from its files. Raises BuildError."""
        kept = self._kept.get((stage, name))
        if kept is not None:
            return kept.select(only) if only else kept.drop(without)
        frame = self.records.table(stage, name, only=only, without=without)
        key = TABLES[name].key
        in_parts = len(self.records_of(stage).tables[name]) > 1
        return frame.sort(key) if in_parts and frame.height and set(key) <= set(frame.columns) else frame

    def needed(self) -> set[tuple[str, str]]:
        """(stage, table) of all that stages will read which did not run yet."""
        return {read for stage in STAGES if stage.name not in self._done for read in stage.inputs}

    def keep(self, stage: str, tables: Mapping[str, pl.DataFrame]) -> None:
        """Hold tables in memory for the stages that read them."""
        self._kept |= {(stage, name): frame for name, frame in tables.items()}

    def release(self, stage: Stage) -> None:
        """A stage is done: let go of tables that no other one will read, and of those that are too much together."""
        self._done.add(stage.name)
        needed, total = self.needed(), 0
        for key, frame in list(self._kept.items()):
            total += int(frame.estimated_size()) if key in needed else 0
            if key not in needed or total > MAX_KEPT_BYTES:
                del self._kept[key]


def is_whole(name: str) -> bool:
    """Is a table of this name about all documents together?"""
    table = TABLES.get(name.rpartition(".")[2])
    return table is not None and table.whole


def part_name(name: str, shard: int) -> str:
    """What the digest of a shard's part of something is called that is not a table."""
    return f"{name}/{shard:03}"


class Inputs(Mapping[str, "pl.DataFrame"]):
    """The tables a stage declared that it reads; asking for another one is a defect, and a KeyError."""

    def __init__(self, build: Build, stage: Stage, digest: str) -> None:
        self._build, self._stage = build, stage
        self.digest = digest
        """Digest of all that decides the stage's result."""

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stage.reads)

    def __len__(self) -> int:
        return len(self._stage.reads)

    def without(self, name: str, *columns: str) -> pl.DataFrame:
        """A table without some of its columns; a name alone will do where the stage reads one table of that name."""
        return self._read(name, without=columns)

    def only(self, name: str, *columns: str) -> pl.DataFrame:
        """Some columns of a table."""
        return self._read(name, only=columns)

    def parts(self, name: str) -> list[Part]:
        """The parts of a table, one a shard."""
        stage, table = self._source(name)
        return self._build.records_of(stage).tables[table]

    def _source(self, name: str) -> tuple[str, str]:
        declared = [read for read in self._stage.reads if name in (read, read.rpartition(".")[2])]
        if len(declared) != 1:
            raise KeyError(f"stage {self._stage.name} reads {len(declared)} tables called {name}")
        return source_of(declared[0])

    def _read(self, name: str, *, only: Sequence[str] = (), without: Sequence[str] = ()) -> pl.DataFrame:
        stage, table = self._source(name)
        frame = self._build.table(stage, table, only=only, without=without)
        if not only and not without:
            self._build.keep(stage, {table: frame})
        return frame

    @cached_property
    def former(self) -> dict[str, pl.DataFrame]:
        """The stage's own former tables where code and configuration are the same; else empty."""
        record = self.former_record
        return {name: self._build.table(self._stage.name, name) for name in record.tables} if record else {}

    @cached_property
    def former_record(self) -> Record | None:
        """The stage's own former record where code, configuration and the number of shards are the same."""
        build, stage = self._build, self._stage
        record = build.records.get(stage.name) if build.workspace.fresh_only else None
        return record if record and record.facts.get("method") == build.method_of(stage) else None
