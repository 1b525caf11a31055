"""Imports read from source: absolute names, relative ones resolved, those for types left out."""

import ast

from pipeline.ground.imports import imported_names

SOURCE = """
from __future__ import annotations
import json
from . import near
from ..far import thing
if TYPE_CHECKING:
    from .types import Only
try:
    from .maybe import it
except ImportError:
    it = None
def later():
    from .lazy import one
class Here:
    from .inside import two
"""


def test_imports_when_loaded_and_later():
    now = set(imported_names(ast.parse(SOURCE), "a.b", later=False))
    assert {"json", "a.b", "a.b.near", "a.far", "a.far.thing", "a.b.maybe", "a.b.inside"} <= now
    assert not {"a.b.types", "a.b.lazy"} & now
    assert set(imported_names(ast.parse(SOURCE), "a.b", later=True)) - now == {"a.b.lazy", "a.b.lazy.one"}
