"""`query.py`: a standalone read-only reader for people who have just the artifacts.

The reader's own modules travel inside, packed: titles, typos, synonyms, phrases and copies count there as they do for
the command, and nothing can drift. It needs duckdb and PyStemmer, as the reader does.
"""

from __future__ import annotations

import ast
import base64
import json
import zlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import duckdb
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from syntropy.contract.published import DATABASE

ENTRIES = ("syntropy.read.knowledge", "syntropy.search.sql_engine")
"""What the script imports; all that these import travels with them."""

_WIDTH = 116


@lru_cache(maxsize=1)
def render_query_script() -> str:
    """The script's source; the same for every project of one version."""
    environment = Environment(
        loader=PackageLoader("pipeline.render"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=select_autoescape(),
    )
    packed = base64.b64encode(zlib.compress(json.dumps(reader_modules(), sort_keys=True).encode(), 9)).decode()
    lines = [packed[start : start + _WIDTH] for start in range(0, len(packed), _WIDTH)]
    template = environment.get_template("query.py.jinja")
    return template.render(duckdb_version=duckdb.__version__, database=DATABASE, modules="\n".join(lines))


def reader_modules() -> dict[str, str]:
    """Module -> source, of `ENTRIES` and of everything of ours that they import."""
    found: dict[str, str] = {}
    waiting = list(ENTRIES)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        spec = find_spec(name)
        assert spec is not None  # our own module
        assert spec.origin is not None
        found[name] = Path(spec.origin).read_text(encoding="utf-8")
        parent = name.rpartition(".")[0]
        package = name if spec.submodule_search_locations else parent
        waiting += [*filter(None, [parent]), *_imported(ast.parse(found[name]), package)]
    return found


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Modules of ours that a module imports, be it later, within a function; not those for types."""
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in for_types:
            continue
        base = node.module or ""
        if node.level:
            parents = package.split(".")
            base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
        if base.partition(".")[0] == "syntropy":
            yield base
            yield from (name for alias in node.names if _is_module(name := f"{base}.{alias.name}"))


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
