"""What a module imports, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def imported_names(tree: ast.Module, package: str, *, later: bool) -> Iterator[str]:
    """Absolute names: of `from a import b` both `a` and `a.b`, since only the caller knows which are modules.

    `package` resolves relative imports. Imports for types only do not count; those within functions if `later`.
    """
    for node in _statements(tree, later=later):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _statements(node: ast.AST, *, later: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if not later and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield child
        yield from _statements(child, later=later)
