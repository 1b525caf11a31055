"""The Dagster code location: `SYNTROPY_PROJECT` names the project (the demo by default)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import dagster as dg

_ROOT = Path(__file__).resolve().parent.parent
if str(_ROOT) not in sys.path:  # loaded by file path, from anywhere
    sys.path.insert(0, str(_ROOT))

from assets.assets import ALL_ASSETS  # noqa: E402
from assets.automation import automation  # noqa: E402
from assets.checks import ALL_CHECKS  # noqa: E402
from assets.resource import build_resource  # noqa: E402
from syntropy.contract.config import find_project  # noqa: E402


def definitions(project: Path, out: str = "") -> dg.Definitions:
    """Everything Dagster shows and runs for one project."""
    return dg.Definitions(
        assets=ALL_ASSETS,
        asset_checks=ALL_CHECKS,
        resources={"build": build_resource(project, out)},
        executor=dg.in_process_executor,
        **automation(project, out),
    )


_DEMO = _ROOT / "examples" / "acme"
_GIVEN = os.environ.get("SYNTROPY_PROJECT")
_PROJECT = Path(_GIVEN) if _GIVEN else _DEMO if _DEMO.is_dir() else find_project(Path.cwd()) or Path.cwd()

defs = definitions(_PROJECT, os.environ.get("SYNTROPY_OUT", ""))
