"""Runs one stage of the table: is there work, what does it make, does that keep the contract; then it is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipeline.engine.artifacts import drop_staged, is_published, staged_files
from pipeline.engine.context import Build, Inputs
from pipeline.engine.records import Part, Record
from pipeline.engine.stages import Stage
from pipeline.ground.digests import digest
from syntropy.contract.errors import BuildError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Result:
    """What a stage did: its record, whether it was up to date already, and figures for people."""

    name: str
    record: Record
    skipped: bool
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data_version(self) -> str:
        """Digest of what the stage made: equal versions, equal content."""
        return digest(*(f"{name}={value}" for name, value in sorted(self.record.digests.items())))


def run_stage(stage: Stage, build: Build) -> Result:
    """Bring one stage up to date.

    Raises BuildError where something it reads was never made, or where it breaks the contract.
    """
    build.reporter.stage(stage.name)
    inputs = build.inputs_of(stage)
    if inputs is None:
        missing = [name for name in stage.upstream if build.records.get(name) is None]
        raise BuildError(
            f"{stage.name} reads what was never made: {', '.join(missing)}",
            hint="materialize its upstream assets first, or run `syntropy build`",
        )
    known = _artifact_up_to_date(stage, build, inputs) if stage.artifact else build.up_to_date(stage, inputs)
    if known and stage.present(build):
        build.release(stage)
        return Result(stage.name, known, True)
    return _run(stage, build, inputs)


def _run(stage: Stage, build: Build, inputs: str) -> Result:
    from pipeline.ground.tables import conform  # polars

    made = stage.run(build, Inputs(build, stage, inputs))
    tables: dict[str, pl.DataFrame | Sequence[Part]] = {
        table.name: made.parts.get(table.name) or conform(table, made.tables[table.name]) for table in stage.makes
    }
    facts, digests = dict(made.facts), dict(made.digests)
    if stage.artifact:
        facts["files"] = staged_files(build, stage)
        digests[stage.artifact] = inputs
    record = build.save(stage, tables, facts, digests)
    build.release(stage)
    return Result(stage.name, record, False, made.figures)


def _artifact_up_to_date(stage: Stage, build: Build, inputs: str) -> Record | None:
    """A record if the artifact is published from these inputs; what an unpublished attempt left is removed."""
    if not is_published(build, stage, inputs):
        return None
    drop_staged(build, stage)
    return build.records.get(stage.name) or Record(inputs, {}, {stage.artifact: inputs}, {})
