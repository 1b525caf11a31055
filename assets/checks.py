"""Blocking asset checks: a build that fails one is not published."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import dagster as dg

from assets.assets import index_overview, search_database
from assets.resources import WorkspaceResource
from pipeline import checks, golden, parity
from pipeline.workspace import Workspace
from syntropy.artifacts import DATABASE, INDEX_MD


def _result(workspace: Workspace, name: str, check: Callable[[Path], checks.CheckResult]) -> dg.AssetCheckResult:
    """Check the staged file; one that was not staged is the published one, checked when it was."""
    path = workspace.staging / name
    if not path.is_file():
        return dg.AssetCheckResult(passed=True, metadata={"unchanged since it was checked and published": True})
    found = check(path)
    return dg.AssetCheckResult(passed=found.passed, severity=dg.AssetCheckSeverity.ERROR, metadata=found.figures)


def _database_check(name: str, check: Callable[[Path], checks.CheckResult]) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=search_database, blocking=True, name=name, description=check.__doc__)
    def run(workspace: WorkspaceResource) -> dg.AssetCheckResult:
        return _result(workspace.workspace(), DATABASE, check)

    return run


@dg.asset_check(asset=search_database, blocking=True, description=parity.full_text_parity.__doc__)
def full_text_parity(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """See `pipeline.parity.full_text_parity`."""
    opened = workspace.workspace()
    return _result(opened, DATABASE, lambda path: parity.full_text_parity(path, opened.config.ranking))


@dg.asset_check(asset=search_database, blocking=True, description=golden.golden_queries.__doc__)
def golden_queries(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """See `pipeline.golden.golden_queries`."""
    outputs = workspace.outputs()
    return _result(outputs.workspace, DATABASE, lambda path: golden.golden_queries(path, outputs))


@dg.asset_check(asset=index_overview, blocking=True, description=checks.overview_budget.__doc__)
def overview_budget(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """See `pipeline.checks.overview_budget`."""
    opened = workspace.workspace()
    return _result(opened, INDEX_MD, lambda path: checks.overview_budget(path, opened.config.render.index_max_tokens))


ALL_CHECKS = [
    *(_database_check(name, check) for name, check in checks.DATABASE_CHECKS.items()),
    full_text_parity,
    golden_queries,
    overview_budget,
]
