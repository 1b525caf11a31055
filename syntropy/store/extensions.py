"""DuckDB's extensions out of packages: signed binaries inside wheels, loaded by path, never fetched."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import duckdb

from ..contract.errors import MissingDependencyError


def extension_path(name: str) -> Path | None:
    """The binary of an extension for the running DuckDB, or None where its wheel is not installed."""
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(next(iter(spec.submodule_search_locations)))
    path = root / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    return path if path.is_file() else None


def load_extension(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """LOAD by path. Raises MissingDependencyError where no wheel matches this DuckDB."""
    path = extension_path(name)
    if path is None:
        raise MissingDependencyError(
            f"DuckDB {duckdb.__version__} has no extension {name!r} installed beside it",
            hint=f"pip install duckdb-extension-{name}=={duckdb.__version__}",
        )
    connection.execute(f"LOAD '{str(path).replace(chr(39), chr(39) * 2)}'")
