"""`query.py`: a standalone read-only reader for people who have just the artifacts.

The reader's own modules travel inside, packed: titles, typos, synonyms, phrases and copies count there as they do for
the command, and nothing can drift. It needs duckdb and PyStemmer, as the reader does.
"""

from __future__ import annotations

import ast
import base64
import json
import zlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import duckdb
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from pipeline.ground.imports import imported_names
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
        names = imported_names(ast.parse(found[name]), package, later=True)
        ours = (other for other in names if other.partition(".")[0] == "syntropy" and _is_module(other))
        waiting += [*filter(None, [parent]), *ours]
    return found


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
