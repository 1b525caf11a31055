"""PRPs in all the dialects found in real projects: YAML, bare key lines, quoted or bold fields, none.

A: YAML `prp_id`, `status`, `dependencies`; B: `feature_name`; C: the same keys without `---`;
D: `> **Status:** Ready` lines and file names `001--x.md`, `PRP-009-x.md`; E: `name`/`description`, no id.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from pipeline.text.frontmatter import BLOCK_MARKS

DONE = frozenset({"executed", "completed", "complete", "done", "implemented", "merged", "verified", "deployed"})
"""Statuses (and folder names) that claim the work is finished."""

_KEYS = (
    "prp_id",
    "id",
    "feature_name",
    "name",
    "title",
    "status",
    "dependencies",
    "created",
    "created_date",
    "updated",
    "tags",
    "priority",
    "confidence",
    "effort_hours",
    "type",
    "category",
    "description",
    "summary",
    "author",
    "verified",
    "version",
    "complexity",
    "issue",
    "phase",
    "estimate",
    "owner",
)
KEY_LINE = re.compile(r"^(" + "|".join(_KEYS) + r")\s*:\s*(.*)$", re.IGNORECASE)
_FIELD_LINE = re.compile(r"^\s*(?:[>*-]\s*)*\*\*([A-Za-z][\w /-]{0,30}?)\s*(?::\*\*|\*\*\s*:)\s*(.+?)\s*$")
_FILE_ID = re.compile(r"^PRP[-_](\d+(?:\.\d+)*|[A-Za-z])(?=[-_.\s]|$)", re.IGNORECASE)
_FILE_NUMBER = re.compile(r"^(\d{2,6})--")
_ID = re.compile(r"^(?:PRP[-_ ]?)?(\d+(?:\.\d+)*|[A-Za-z])$", re.IGNORECASE)
_VERIFIED_LINE = re.compile(r"\bverified\b\W{0,6}(yes|true|no|false|\u2705|\u2714|\u274c)", re.IGNORECASE)
_VALIDATION_HEADING = re.compile(
    r"\b(validation|success criteria|acceptance|verification|checklist|definition of done)\b", re.IGNORECASE
)
_BOX = re.compile(r"^\s*[-*+]\s+\[([ xX])\]")
HEAD_LINES = 40
"""Fields stand in the head of a PRP; further down `**Note:** …` is prose."""


class PrpFacts(NamedTuple):
    """`prp_id` is empty where neither metadata nor file name hold one."""

    prp_id: str
    status: str
    verified: bool


def head_fields(lines: list[str]) -> dict[str, Any]:
    """Fields that a PRP without YAML writes as bare `key: value`, quoted or bold lines."""
    fields: dict[str, Any] = {}
    bare = True
    last = ""
    for line in lines[:HEAD_LINES]:
        if line.startswith("## "):
            break
        if match := _FIELD_LINE.match(line):
            fields.setdefault(match.group(1).strip().lower().replace(" ", "_"), match.group(2).strip())
            continue
        if bare and (match := KEY_LINE.match(line)):
            last = match.group(1).lower()
            fields.setdefault(last, "" if match.group(2).strip() in BLOCK_MARKS else _scalar(match.group(2)))
        elif bare and last and line.startswith("  ") and line.strip() and isinstance(fields.get(last), str):
            fields[last] = f"{fields[last]} {line.strip()}".strip()  # a block scalar, or a value that goes on
        elif bare and last and (item := re.match(r"^\s+-\s+(.+)$|^-\s+(.+)$", line)):
            items = fields[last] if isinstance(fields.get(last), list) else []
            fields[last] = [*items, (item.group(1) or item.group(2)).strip()]
        elif line.strip() and not line.startswith(("#", ">", "<!--")):
            bare = False
    return fields


def facts(metadata: dict[str, Any], path: str, lines: list[str]) -> PrpFacts:
    """Id, status and verification of a PRP; `metadata` already holds :func:`head_fields`."""
    folders = [part.lower() for part in path.split("/")[:-1]]
    status = _status(str(metadata.get("status") or ""))
    if not status:
        status = next(
            (f for f in reversed(folders) if f in DONE or f in ("feature-requests", "research", "templates")), ""
        )
    return PrpFacts(_prp_id(metadata, path), status, _verified(metadata, status, lines))


def _status(written: str) -> str:
    """`✅ **Executed** (2025-10-18)` → executed, `In Progress - 60%` → in-progress: the words before any remark."""
    bare = re.sub(r"[^\w\s(\[,;:|/.\u2013\u2014-]", " ", written).strip()
    words = re.split(r"\s*(?:[(\[,;:|/.]|\s[-\u2013\u2014]+\s|\u2014)\s*", bare)
    found = "-".join(words[0].strip("*_` -").lower().split()[:3]) if words else ""
    return next((word for word in found.split("-") if word in DONE), found) if found else ""


def _prp_id(metadata: dict[str, Any], path: str) -> str:
    for key in ("prp_id", "prp", "id"):
        value = metadata.get(key)
        if value is not None and (match := _ID.match(str(value).strip())):
            return f"PRP-{match.group(1).upper()}"
    name = path.rpartition("/")[2].rpartition(".")[0]
    if match := _FILE_ID.match(name) or _FILE_NUMBER.match(name):
        return f"PRP-{match.group(1).upper()}"
    return ""


def normalized_id(prp_id: str) -> str:
    """`PRP-009` and `PRP-9` are one id: leading zeros of each number dropped."""
    parts = prp_id.upper().removeprefix("PRP-").split(".")
    return "PRP-" + ".".join(p.lstrip("0") or "0" if p.isdigit() else p for p in parts)


def _verified(metadata: dict[str, Any], status: str, lines: list[str]) -> bool:
    """Frontmatter `verified` decides; then a `Verified: yes` line; then all boxes of a checklist
    under a validation heading being ticked."""
    declared = metadata.get("verified")
    if declared is not None:
        return str(declared).strip().lower() in ("true", "yes", "1", "\u2705")
    if status == "verified":
        return True
    boxes: list[bool] = []
    validating = False
    for line in lines:
        if line.startswith("#"):
            validating = _VALIDATION_HEADING.search(line) is not None
        elif match := _VERIFIED_LINE.search(line[:200]):
            return match.group(1).lower() in ("yes", "true", "\u2705", "\u2714")
        elif validating and (box := _BOX.match(line)):
            boxes.append(box.group(1) != " ")
    return bool(boxes) and all(boxes)


def _scalar(raw: str) -> Any:
    value = raw.strip()
    if value.startswith("[") and value.endswith("]"):
        return [part.strip().strip("'\"") for part in value[1:-1].split(",") if part.strip()]
    return value.strip("'\"")
