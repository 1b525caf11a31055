"""The tools of agents: one table, from which MCP, function definitions and the chat derive.

From one's own loop: `definitions(...)` tells a model what there is, `call(...)` runs what it asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .own_loop import call, definitions

__all__ = ["call", "definitions"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'syntropy.tools' has no attribute {name!r}")
    from . import own_loop  # duckdb and the notes take 60 ms to import, and the table's readers need neither

    return getattr(own_loop, name)
