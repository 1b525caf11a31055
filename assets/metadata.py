"""What the UI shows of an asset: columns with descriptions, row counts, and small tables for people."""

from __future__ import annotations

from typing import Any

import dagster as dg
import polars as pl

from pipeline.engine.artifacts import place_of
from pipeline.engine.context import Build
from pipeline.engine.runner import Result
from pipeline.engine.stages import Stage
from syntropy.contract.published import INDEX_MD
from syntropy.contract.schema import Table, database_tables

MAX_ROWS = 50
"""Rows of a table that is shown whole."""

MAX_OVERVIEW = 8_000
"""Characters of INDEX.md."""


def schema_metadata(stage: Stage) -> dict[str, Any]:
    """Columns of what a stage makes: the first table's under Dagster's own key, the others' beside it."""
    if stage.name == "search_database":
        return {f"columns/{table.name}": _schema(table, stored=True) for table in database_tables()}
    first, *others = stage.makes or (None,)
    return {
        **({"dagster/column_schema": _schema(first)} if first else {}),
        **{f"columns/{table.name}": _schema(table) for table in others if table},
    }


def result_metadata(stage: Stage, result: Result, build: Build, *, seconds: float) -> dict[str, Any]:
    """Rows, figures and what is worth a look, after a stage ran or was found up to date."""
    metadata: dict[str, Any] = {
        "seconds": round(seconds, 3),
        "up to date": result.skipped,
        **{f"rows/{name}": count for name, count in sorted(result.record.rows.items())},
        **{f"rows/{name}": count for name, count in sorted(result.record.facts.get("rows", {}).items())},
        **{name: value for name, value in result.figures.items() if isinstance(value, str | int | float | bool)},
    }
    if stage.makes:
        metadata["dagster/row_count"] = result.record.rows[stage.makes[0].name]
    if stage.name == "search_database":
        metadata["dagster/row_count"] = result.record.facts.get("rows", {}).get("documents", 0)
    if stage.shown:
        metadata["counts"] = _counts(build, stage)
    if stage.name == "chunks":
        metadata["tokens"] = _histogram(build.table("chunks", "chunks")["token_count"])
    if stage.name == "drift":
        metadata["first diagnostics"] = _diagnostics(build)
    if stage.artifact == INDEX_MD:
        text = place_of(build, INDEX_MD).read_text(encoding="utf-8")
        metadata["overview"] = dg.MetadataValue.md(text[:MAX_OVERVIEW])
    return metadata


def _schema(table: Table, *, stored: bool = False) -> dg.TableSchemaMetadataValue:
    columns = table.database_columns() if stored else table.stage_columns()
    return dg.MetadataValue.table_schema(
        dg.TableSchema(
            columns=[
                dg.TableColumn(c.name, c.type.lower(), c.description, dg.TableColumnConstraints(nullable=c.null))
                for c in columns
            ]
        )
    )


def _counts(build: Build, stage: Stage) -> dg.MarkdownMetadataValue:
    frame = build.table(stage.name, stage.makes[0].name).select(stage.shown)
    return _table(frame.group_by(stage.shown).len().sort(stage.shown), [*stage.shown, "rows"])


def _diagnostics(build: Build) -> dg.MarkdownMetadataValue:
    frame = build.table("drift", "diagnostics").filter(pl.col("severity") != "info").sort("path", "line")
    columns = ["severity", "code", "path", "line", "message", "hint"]
    return _table(frame.head(MAX_ROWS).select(columns), [*columns[:-1], "what to do"])


def _table(frame: pl.DataFrame, title: list[str]) -> dg.MarkdownMetadataValue:
    """A Markdown table of a small frame."""
    lines = ["| " + " | ".join(title) + " |", "|" + "---|" * len(title)]
    lines += [
        "| " + " | ".join(str(v).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ") for v in row) + " |"
        for row in frame.iter_rows()
    ]
    return dg.MetadataValue.md("\n".join(lines))


def _histogram(sizes: pl.Series) -> dg.MarkdownMetadataValue:
    """Chunk sizes as a bar of blocks a hundred tokens."""
    if not len(sizes):
        return dg.MetadataValue.md("no chunks")
    counts = (sizes // 100 * 100).value_counts().sort("token_count")
    most = int(counts["count"].max() or 1)  # type: ignore[arg-type]
    lines = [
        f"{size:>5}-{size + 99:<5} {'█' * max(1, round(30 * count / most))} {count}"
        for size, count in counts.iter_rows()
    ]
    return dg.MetadataValue.md("```\n" + "\n".join(lines) + "\n```")
