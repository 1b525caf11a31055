"""What a text says of its tags, by the knowledge-index seed's three strategies: marks, as written.

frontmatter: `tags` in any YAML form; inline: a line `Tags: a, b`; header: the first three H2/H3 headings. Which
strategy counts is decided by the tag stage. Linear scanners: the seed's regex needed 8 s for 112 kB.
"""

from __future__ import annotations

import re
from typing import Any

from pipeline.text.markdown import Heading

MAX_HEADER_TAGS = 3
INLINE_TAGS = re.compile(r"^[\s>*_#/-]{0,12}tags?[*_]{0,3}\s{0,4}:[*_]{0,3}[ \t]*(\S.*)$", re.IGNORECASE)
_NUMBERING = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+")


def tag_marks(metadata: dict[str, Any], body_lines: list[str], headings: list[Heading]) -> list[tuple[str, str]]:
    """(origin, text as written) of every mark; `body_lines` are the lines outside of code fences."""
    return [
        *(("frontmatter", text) for text in _from_metadata(metadata)),
        *(("inline", text) for text in _from_lines(body_lines)),
        *(("header", text) for text in _from_headings(headings)),
    ]


def _from_metadata(metadata: dict[str, Any]) -> list[str]:
    value = metadata.get("tags", metadata.get("tag"))
    if isinstance(value, str):
        return value.strip("[]").split(",") if "," in value else value.strip("[]").split()
    if isinstance(value, list):
        return [str(v) for v in value if isinstance(v, str | int)]
    return []


def _from_lines(lines: list[str]) -> list[str]:
    for line in lines:
        if match := INLINE_TAGS.match(line[:1000]):
            return match.group(1).strip().strip("[]").split(",")
    return []


def _from_headings(headings: list[Heading]) -> list[str]:
    return [_NUMBERING.sub("", h.text) for h in headings if h.level in (2, 3)][:MAX_HEADER_TAGS]
