"""Syntropy: one prebuilt search database over everything a team knows.

import syntropy

with syntropy.open("path/to/project") as knowledge:
    for hit in knowledge.search("how do we retry webhooks").hits:
        print(hit.score, hit.citation, hit.snippet)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .contract.errors import SyntropyError
    from .notes.notebook import Notebook, open_notes
    from .read.federation import Federation
    from .read.knowledge import Knowledge
    from .read.knowledge import open_knowledge as open  # noqa: A004 (the API's verb)

__version__ = "0.1.0"
__all__ = ["Federation", "Knowledge", "Notebook", "SyntropyError", "__version__", "open", "open_notes"]

_LAZY = {
    "open": ("read.knowledge", "open_knowledge"),
    "Knowledge": ("read.knowledge", "Knowledge"),
    "Notebook": ("notes.notebook", "Notebook"),
    "open_notes": ("notes.notebook", "open_notes"),
    "Federation": ("read.federation", "Federation"),
    "SyntropyError": ("contract.errors", "SyntropyError"),
}


def __getattr__(name: str) -> Any:
    # duckdb takes 60 ms to import, and `syntropy --help` needs none of it
    if name not in _LAZY:
        raise AttributeError(f"module 'syntropy' has no attribute {name!r}")
    import importlib

    module, attribute = _LAZY[name]
    value = getattr(importlib.import_module(f".{module}", __name__), attribute)
    globals()[name] = value
    return value
