"""Which files a file of rules is about: by where it lies, and by the fields that agents read.

Claude's `paths`, Cursor's `globs` and `alwaysApply`, Copilot's `applyTo`; AGENTS.md and CLAUDE.md govern the
folder they lie in. Patterns are gitignore patterns from the project's root.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.ground.diagnostics import Problem

_FIELDS = ("paths", "globs", "applyTo")
_RULES = (".claude/rules", ".cursor/rules", ".github/instructions", ".windsurf/rules", ".clinerules")
_FOLDERS = (*_RULES, ".github")
_SKILL = re.compile(r"(?:^|/)(?:skills/)?([^/]+)/SKILL\.md$")


_BRACES = re.compile(r"\{([^{}]*)\}")
MAX_PATTERNS = 64
"""Patterns that one pattern with braces may stand for."""


class Scope(NamedTuple):
    """`applies_to`: patterns (empty: all files; `skill:NAME`: while the skill is used), and what is odd about it."""

    applies_to: list[str]
    problems: list[Problem]


def is_dedicated(path: str) -> bool:
    """Is it a file of nothing but rules, in a folder that an agent keeps for them?"""
    name = path.rpartition("/")[2]
    return (
        any(f"/{folder}/" in f"/{path}" for folder in _RULES)
        or name.startswith(".")
        or name.endswith((".mdc", ".instructions.md"))
    )


def scope_of(path: str, metadata: Mapping[str, Any]) -> Scope:
    """The scope of a file of rules by its path in its tree and its frontmatter."""
    if skill := _SKILL.search(path):
        return Scope([f"skill:{metadata.get('name') or skill.group(1)}"], [])
    base = _base(path)
    patterns = [pattern for field in _FIELDS for pattern in _patterns(metadata.get(field))]
    always = metadata.get("alwaysApply")
    if patterns and always is not True:
        return Scope([_below(base, pattern) for pattern in dict.fromkeys(patterns)], [])
    problems = []
    if always is False and not str(metadata.get("description") or "").strip():
        problems.append(
            Problem(
                "rule-on-request",
                1,
                "has alwaysApply: false, no globs and no description, so an agent reads it only when it is named",
                "give it globs or a description, or set alwaysApply: true",
                "info",
            )
        )
    return Scope([f"/{base}/**"] if base else [], problems)


def _base(path: str) -> str:
    """The folder that a file of rules governs; empty for the whole tree."""
    for folder in _FOLDERS:
        before, found, _ = f"/{path}".partition(f"/{folder}/")
        if found:
            return before.strip("/")
    return path.rpartition("/")[0]


def _patterns(value: Any) -> list[str]:
    """A list, or a text with commas between patterns (not those inside braces)."""
    if isinstance(value, list):
        return [pattern for item in value for pattern in _patterns(item)]
    if not isinstance(value, str):
        return []
    text = value.strip().strip("[]")
    parts, depth = [""], 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if char == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    return [pattern for part in parts for pattern in _expanded(part.strip().strip("'\""))]


def _expanded(pattern: str) -> list[str]:
    """`*.{ts,tsx}` as two patterns: gitignore knows no braces. At most MAX_PATTERNS of them."""
    found = [pattern] if pattern else []
    while match := next(filter(None, map(_BRACES.search, found)), None):
        found = [
            one.replace(match.group(0), choice.strip(), 1)
            for one in found
            for choice in (match.group(1).split(",") if match.group(0) in one else [match.group(0)])
        ][:MAX_PATTERNS]
    return found


def _below(base: str, pattern: str) -> str:
    pattern = pattern.removeprefix("./")
    if not base:
        return pattern
    return f"/{base}/{pattern.lstrip('/')}" if "/" in pattern.strip("/") else f"/{base}/**/{pattern.strip('/')}"
