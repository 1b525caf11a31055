"""The one place where the reader reaches for the builder, lazily and only for the verbs that build.

In a checkout `pipeline` and `assets` lie beside `syntropy`; in a wheel below `syntropy/_location/`,
which goes first on the path (and into PYTHONPATH, for Dagster's child processes).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from ..contract.distribution import install_command
from ..contract.errors import MissingDependencyError

_PACKAGE = Path(__file__).parent.parent
_WHEEL_LOCATION = _PACKAGE / "_location"


def code_location() -> Path:
    """The folder that holds `pipeline`, `assets` and `workspace.yaml`."""
    return _WHEEL_LOCATION if _WHEEL_LOCATION.is_dir() else _PACKAGE.parent


def program() -> list[str]:
    """The command line that runs this installation from any folder."""
    beside = Path(sys.executable).with_name("syntropy.exe" if sys.platform == "win32" else "syntropy")
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "syntropy"]


def package_manager() -> ModuleType:
    """`pipeline.packages.manage`. Raises MissingDependencyError where only the readers are installed."""
    return builder_module("pipeline.packages.manage")


def builder_module(name: str) -> ModuleType:
    """One light module of the builder. Raises MissingDependencyError where only the readers are installed."""
    _put_on_path()
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(f"{name} needs {error.name}", hint=install_command("build-lite")) from error


def builder() -> ModuleType:
    """`assets.run`, the module that builds. Raises MissingDependencyError without the build extra."""
    _put_on_path()
    for module in ("polars", "pyarrow", "jinja2", "pyromark", "dagster"):
        if importlib.util.find_spec(module) is None:
            raise MissingDependencyError(
                f"building needs {module}, which is not installed",
                hint=install_command("build-lite"),
            )
    return importlib.import_module("assets.run")


def _put_on_path() -> None:
    """Make `pipeline` and `assets` importable here and in child processes."""
    location = code_location()
    if not (location / "assets" / "run.py").is_file():
        raise MissingDependencyError("this installation holds the readers only", hint=install_command("build-lite"))
    if str(location) not in sys.path:
        sys.path.insert(0, str(location))
        inherited = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = f"{location}{os.pathsep}{inherited}" if inherited else str(location)
