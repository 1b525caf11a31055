"""One asset a step. Each body calls one step and shows what it did; logic lives in `pipeline`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import dagster as dg
import polars as pl

from assets import resource as resources
from assets.resource import WorkspaceResource
from pipeline.engine.steps import StepResult
from syntropy.contract.errors import SyntropyError
from syntropy.contract.published import locate

OWNERS = ["team:knowledge"]
_SHOWN_DIAGNOSTICS = 50


def _asset(group: str, kinds: set[str], deps: list[str] | None = None) -> Callable[..., dg.AssetsDefinition]:
    """The decorator all of our assets share; the docstring is the description in the UI."""
    return dg.asset(group_name=group, kinds=kinds, owners=OWNERS, deps=[dg.AssetKey(d) for d in deps or []])


def _run(
    name: str,
    workspace: WorkspaceResource,
    call: Callable[[], StepResult],
    more: Callable[[StepResult], dict[str, Any]] | None = None,
) -> dg.MaterializeResult[None]:
    """Run a step and turn what it says into metadata and a data version."""
    started = time.perf_counter()
    if resources.reporter:
        resources.reporter.stage(name)
    try:
        result = call()
    except BaseException as error:
        workspace.failed(error)
        if isinstance(error, SyntropyError):
            raise dg.Failure(description=str(error)) from error
        raise
    metadata: dict[str, Any] = {
        "seconds": round(time.perf_counter() - started, 3),
        "up to date": result.skipped,
        **{f"rows/{name}": count for name, count in sorted(result.record.rows.items())},
        **{name: value for name, value in result.figures.items() if isinstance(value, str | int | float | bool)},
    }
    if more:
        metadata |= more(result)
    return dg.MaterializeResult[None](metadata=metadata, data_version=dg.DataVersion(result.data_version))


def _table(frame: pl.DataFrame, title: list[str]) -> dg.MarkdownMetadataValue:
    """A Markdown table of a small frame."""
    lines = ["| " + " | ".join(title) + " |", "|" + "---|" * len(title)]
    lines += [
        "| " + " | ".join(str(v).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ") for v in row) + " |"
        for row in frame.iter_rows()
    ]
    return dg.MetadataValue.md("\n".join(lines))


@_asset("sources", {"file"})
def source_files(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Every file of the project with its fate: indexed, excluded by a named rule, or rejected."""
    steps = workspace.steps()

    def more(_: StepResult) -> dict[str, Any]:
        files = steps.workspace.table("source_files", "sources")
        counts = files.group_by("status", "reason").len().sort("status", "reason")
        return {"files": _table(counts, ["status", "reason", "files"])}

    return _run("source_files", workspace, lambda: steps.source_files(resources.known_scan), more)


@_asset("knowledge", {"markdown", "polars"}, ["source_files"])
def documents(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Documents with metadata, tags, headings, references and rules."""
    steps = workspace.steps()

    def more(_: StepResult) -> dict[str, Any]:
        frame = steps.workspace.table("documents", "documents", without="text")
        counts = frame.group_by("scope", "kind").len().sort("scope", "kind")
        return {"documents": _table(counts, ["scope", "kind", "documents"])}

    return _run("documents", workspace, steps.documents, more)


@_asset("knowledge", {"polars"}, ["documents"])
def chunks(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Chunks (read and cited) and windows (embedded)."""
    steps = workspace.steps()

    def more(_: StepResult) -> dict[str, Any]:
        sizes = steps.workspace.table("chunks", "chunks", only="token_count")["token_count"]
        return {"tokens": _histogram(sizes)}

    return _run("chunks", workspace, steps.chunks, more)


@_asset("knowledge", {"huggingface", "onnx"}, ["chunks"])
def embeddings(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Unit vectors of all windows, from the content-addressed cache where known."""
    outputs = workspace.outputs()
    return _run("embeddings", workspace, lambda: outputs.steps.embeddings(outputs.engine))


@_asset("knowledge", {"polars"}, ["documents", "embeddings", "source_files"])
def relations(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Links, duplicates and see-also relations between documents."""
    steps = workspace.steps()

    def more(_: StepResult) -> dict[str, Any]:
        frame = steps.workspace.table("relations", "relations")
        counts = frame.group_by("type", "origin").len().sort("type", "origin")
        return {"relations": _table(counts, ["type", "origin", "relations"])}

    return _run("relations", workspace, steps.relations, more)


@_asset("knowledge", {"polars"}, ["documents", "chunks", "relations", "source_files"])
def drift(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """All diagnostics, and drift: claims that do not hold."""
    steps = workspace.steps()

    def more(_: StepResult) -> dict[str, Any]:
        frame = steps.workspace.table("drift", "diagnostics").filter(pl.col("severity") != "info").sort("path", "line")
        shown = frame.head(_SHOWN_DIAGNOSTICS).select("severity", "code", "path", "line", "message", "hint")
        return {
            "diagnostics": frame.height,
            "first diagnostics": _table(shown, ["severity", "code", "path", "line", "message", "what to do"]),
        }

    return _run("drift", workspace, steps.drift, more)


@_asset("artifacts", {"duckdb"}, ["documents", "chunks", "embeddings", "relations", "drift"])
def search_database(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """The search database: full text, vectors, postings, graph. Staged, not yet published."""
    outputs = workspace.outputs()

    def more(result: StepResult) -> dict[str, Any]:
        rows = result.record.facts.get("rows", {})
        return {f"rows/{name}": count for name, count in sorted(rows.items())}

    return _run("search_database", workspace, outputs.database, more)


@_asset("artifacts", {"json"}, ["documents", "relations", "drift"])
def index_json(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """syntropy-index.json: every pattern, PRP, memory and rule by key, and drift."""
    return _run("index_json", workspace, workspace.outputs().index_json)


@_asset("artifacts", {"markdown"}, ["documents", "chunks", "drift"])
def index_overview(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """INDEX.md: the overview, within its token budget."""
    outputs = workspace.outputs()

    def more(_: StepResult) -> dict[str, Any]:
        staged = outputs.workspace.staging / "INDEX.md"
        path = staged if staged.is_file() else locate(outputs.workspace.out, "INDEX.md")
        return {"overview": dg.MetadataValue.md(path.read_text(encoding="utf-8")[:8_000])}

    return _run("index_overview", workspace, outputs.index_md, more)


@_asset("artifacts", {"python"})
def query_script(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """query.py: a standalone read-only reader for people who have just the artifacts."""
    return _run("query_script", workspace, workspace.outputs().query_script)


@_asset("artifacts", {"onnx"}, ["embeddings"])
def query_encoder(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """The query encoder that travels with the database."""
    return _run("query_encoder", workspace, workspace.outputs().encoder)


@_asset("publication", {"file"}, ["search_database", "index_json", "index_overview", "query_script", "query_encoder"])
def publication(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """The manifest, and the one rename that makes all artifacts visible together."""
    try:
        changed, figures = workspace.outputs().publish()
    except BaseException as error:
        workspace.failed(error)
        if isinstance(error, SyntropyError):
            raise dg.Failure(description=str(error)) from error
        raise
    return dg.MaterializeResult[None](
        metadata={
            "published anew": changed,
            "out": dg.MetadataValue.path(str(workspace.workspace().out)),
            **{name: ", ".join(value) for name, value in figures.items()},
        }
    )


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


ALL_ASSETS = [
    source_files,
    documents,
    chunks,
    embeddings,
    relations,
    drift,
    search_database,
    index_json,
    index_overview,
    query_script,
    query_encoder,
    publication,
]
