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
from assets.automation import build_job, make_schedule, make_sensor  # noqa: E402
from assets.checks import ALL_CHECKS  # noqa: E402
from assets.resource import WorkspaceResource  # noqa: E402
from syntropy.contract.config import find_project, load_config  # noqa: E402

_DEMO = _ROOT / "examples" / "acme"


def definitions(project: Path, out: str = "") -> dg.Definitions:
    """Everything Dagster shows and runs for one project."""
    schedule = load_config(project).schedule
    return dg.Definitions(
        assets=ALL_ASSETS,
        asset_checks=ALL_CHECKS,
        jobs=[build_job],
        schedules=[make_schedule(schedule)],
        sensors=[make_sensor(project, out, schedule)],
        resources={"workspace": WorkspaceResource(project=str(project), out=out)},
        executor=dg.in_process_executor,
    )


def _configured_project() -> Path:
    given = os.environ.get("SYNTROPY_PROJECT")
    return Path(given) if given else (_DEMO if _DEMO.is_dir() else find_project(Path.cwd()) or Path.cwd())


defs = definitions(_configured_project(), os.environ.get("SYNTROPY_OUT", ""))
