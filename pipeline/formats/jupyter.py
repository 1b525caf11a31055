"""Jupyter notebooks as one page: Markdown cells as they are, code cells fenced, outputs left out."""

from __future__ import annotations

import json
from typing import Any

from pipeline.formats.page import Page, Pages, fence


def pages(text: str, kind: str) -> Pages:
    """The page of a notebook (nbformat 3 and 4). What cannot be read is reported."""
    found = Pages()
    try:
        notebook = json.loads(text)
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        language = str(notebook.get("metadata", {}).get("kernelspec", {}).get("language") or "python")
        parts = [part for cell in cells if (part := _cell(cell, language)).strip()]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        found.problem("bad-notebook", getattr(error, "lineno", 0), f"is not a notebook: {error!r}", "fix or exclude it")
        return found
    if not parts:
        found.problem("empty", 1, "holds no cell with text", "write it or delete it", "info")
        return found
    found.add(Page("", kind, "\n\n".join(part.strip("\n") for part in parts) + "\n"))
    return found


def _cell(cell: Any, language: str) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(source) if isinstance(source, list) else str(source)
    if cell.get("cell_type") == "code":
        return fence(text, language) if text.strip() else ""
    return text if cell.get("cell_type") in ("markdown", "heading") else ""
