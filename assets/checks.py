"""Blocking asset checks: a build that fails one is not published."""

from __future__ import annotations

import dagster as dg

from assets.assets import index_overview, search_database
from assets.resource import WorkspaceResource
from pipeline.checks import golden, parity
from pipeline.checks import integrity as checks
from pipeline.engine import gate
from syntropy.contract.published import DATABASE, INDEX_MD

_ASSETS = {DATABASE: search_database, INDEX_MD: index_overview}

_ABOUT = {
    **{name: check.__doc__ for name, check in checks.DATABASE_CHECKS.items()},
    "full_text_parity": parity.full_text_parity.__doc__,
    "golden_queries": golden.golden_queries.__doc__,
    "overview_budget": checks.overview_budget.__doc__,
}


def _asset_check(check: gate.Check) -> dg.AssetChecksDefinition:
    # the first line break would make the rest of a docstring a block of code in the UI
    about = " ".join((_ABOUT[check.name] or "").split())

    @dg.asset_check(asset=_ASSETS[check.artifact], blocking=True, name=check.name, description=about)
    def run(workspace: WorkspaceResource) -> dg.AssetCheckResult:
        found = workspace.outputs().run_check(check)
        if not found.passed:
            workspace.failed(gate.failure(check, found.figures))
        return dg.AssetCheckResult(
            passed=found.passed,
            severity=dg.AssetCheckSeverity.ERROR,
            metadata=found.figures,
            description=None if found.passed else str(gate.failure(check, found.figures)),
        )

    return run


ALL_CHECKS = [_asset_check(check) for check in gate.CHECKS]
