"""Work on one shard: given to a worker, done once, and signed for.

A task is a function of its inputs' digest. Its tables are written beside, synced and renamed, the receipt comes last;
whoever finds the receipt need not do the task again, and doing it twice gives the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.engine.records import Receipt, Records
from pipeline.ground import parallel
from pipeline.ground.tables import conform
from syntropy.contract.errors import BuildError, SyntropyError
from syntropy.contract.schema import TABLES

if TYPE_CHECKING:
    import polars as pl

Work = Callable[..., tuple[Mapping[str, "pl.DataFrame"], Mapping[str, Any]]]
"""(tables, facts) of the arguments of a task, and the records of the stages as `records`."""


@dataclass(frozen=True)
class Task:
    """`work(records, **arguments)` for a shard of a stage; `inputs`: digest of all that decides its result.

    `unsettled` names tables whose keys are made unique later, over all shards.
    """

    folder: Path
    stage: str
    shard: int
    inputs: str
    work: Work
    arguments: Mapping[str, Any] = field(repr=False)
    unsettled: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"shard {self.shard} of {self.stage}"


@contextmanager
def naming(task: object) -> Iterator[None]:
    """Whatever goes wrong in the body is an error that names the task."""
    try:
        yield
    except SyntropyError:
        raise
    except Exception as error:
        raise BuildError(
            f"{task} failed: {type(error).__name__}: {error}",
            hint="what is published stays; build again, or `syntropy build --full`, which uses no cache",
        ) from error


def run_task(task: Task) -> Receipt:
    """Do it, unless it was done."""
    records = Records(task.folder)
    if known := records.receipt(task.stage, task.shard, task.inputs):
        return known
    with parallel.alone(), naming(task):
        tables, facts = task.work(records, **task.arguments)
    parts = {
        name: records.write(task.stage, name, conform(TABLES[name], frame, unique=name not in task.unsettled))
        for name, frame in tables.items()
    }
    receipt = Receipt(task.shard, task.inputs, parts, dict(facts))
    records.sign(task.stage, receipt)
    return receipt
