"""Dated logs of agents: `## 22:36 | decision | tag, tag` headings."""

from __future__ import annotations

import re
from typing import Any

from pipeline.text.markdown import Heading

_ENTRY = re.compile(r"^\[?(\d{1,2}:\d{2})(?::\d{2})?\]?\s*\|\s*([\w -]{1,40}?)\s*(?:\|\s*(.*))?$")
MAX_TAGS = 30


def metadata(headings: list[Heading]) -> dict[str, Any]:
    """`tags` (types and tags of the entries, in order) and `entries` (their number); empty for other texts."""
    found = [match for heading in headings if (match := _ENTRY.match(heading.text.strip()))]
    if not found:
        return {}
    tags = [tag.strip() for match in found for tag in (match.group(2), *(match.group(3) or "").split(","))]
    return {"tags": list(dict.fromkeys(tag for tag in tags if tag))[:MAX_TAGS], "entries": len(found)}
