"""Which reader takes a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.formats import console, entity_sections, entries, glossary, help_content, openapi, python_cli, script_cli
from pipeline.formats import jupyter as notebook
from pipeline.formats.openapi_parts import NO_PARTS
from pipeline.formats.page import Page, Pages

SCRIPTS = (".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs")


def expand(text: str, path: str, kind: str, shared: Any = None, entities: Sequence[Mapping[str, Any]] = ()) -> Pages:
    """The pages of a file; `kind` is that of its source. A file of any other form is one page, as it is.

    `shared` is what `shared.gather` found in all files of the kind; `entities` are what a canonical set says of
    sections of this one.
    """
    lower = path.lower()
    if entities:
        return entity_sections.pages(text, path, kind, entities)
    if lower.endswith(".ipynb"):
        return notebook.pages(text, kind)
    if kind == "console":
        return console.pages(text, path, shared or console.NOTHING_SHARED)
    if kind == "cli" and lower.endswith(SCRIPTS):
        return script_cli.pages(text, path)
    if kind == "cli":
        return python_cli.pages(text, path)
    if kind == "openapi":
        return openapi.pages(text, path, shared or NO_PARTS)
    if kind == "glossary":
        return glossary.pages(text, path)
    if kind == "entries" and lower.endswith((".json", ".yaml", ".yml")):
        return entries.pages(text, path)
    if kind == "entries" and lower.endswith(SCRIPTS):
        return help_content.pages(text, path)
    if kind == "entries":
        return entries.markdown_page(text)
    return Pages([Page("", kind, text)])
