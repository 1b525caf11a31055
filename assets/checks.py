"""Blocking asset checks, derived from the gate's table: a build that fails one is not published."""

from __future__ import annotations

import dagster as dg

from assets.assets import ALL_ASSETS
from assets.resource import note_failure, noting
from pipeline.engine import gate
from pipeline.engine.context import Build
from pipeline.engine.stages import ARTIFACTS

_ASSETS = {stage.artifact: asset for stage in ARTIFACTS for asset in ALL_ASSETS if asset.key.path == [stage.name]}


def _asset_check(check: gate.Check) -> dg.AssetChecksDefinition:
    # the first line break would make the rest of a docstring a block of code in the UI
    about = " ".join((check.run.__doc__ or "").split())

    @dg.asset_check(asset=_ASSETS[check.artifact], blocking=True, name=check.name, description=about)
    def run(build: dg.ResourceParam[Build]) -> dg.AssetCheckResult:
        with noting(build, f"check {check.name}"):
            found = gate.run_check(check, build)
        failure = None if found.passed else gate.failure(check, found.figures)
        if failure:
            note_failure(build, f"check {check.name}", failure)
        return dg.AssetCheckResult(
            passed=found.passed,
            severity=dg.AssetCheckSeverity.ERROR,
            metadata=found.figures,
            description=str(failure) if failure else None,
        )

    return run


ALL_CHECKS = [_asset_check(check) for check in gate.CHECKS]
