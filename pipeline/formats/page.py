"""A page: Markdown made of a part of a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from pipeline.ground.diagnostics import Problem


class Page(NamedTuple):
    """`id` within its file (empty: the page stands for the whole file), kind, Markdown with frontmatter."""

    id: str
    kind: str
    text: str


@dataclass
class Pages:
    """Pages of one file, in its order, and what was wrong."""

    pages: list[Page] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _taken: dict[str, int] = field(default_factory=dict)
    """Ids of the pages so far, and how often each was given."""

    def add(self, page: Page, line: int = 0) -> None:
        """Append a page; a second one of the same id is kept under another and reported."""
        if page.id in self._taken:
            self.problem(
                "duplicate-id", line, f"id {page.id!r} occurs more than once", "give each entry an id of its own"
            )
            number = self._taken[page.id] + 1
            while f"{page.id}~{number}" in self._taken:
                number += 1
            self._taken[page.id] = number
            page = page._replace(id=f"{page.id}~{number}")
        self._taken[page.id] = 1
        self.pages.append(page)

    def problem(self, code: str, line: int, message: str, hint: str, severity: str = "warning") -> None:
        """Note what is wrong."""
        self.problems.append(Problem(code, line, message, hint, severity))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True  # our own loader refuses them


def markdown(metadata: Mapping[str, Any], title: str, *parts: str) -> str:
    """A Markdown text: frontmatter without empty values, title, and the parts that are not empty."""
    kept = {key: value for key, value in metadata.items() if value not in (None, "", [], {})}
    head = yaml.dump(kept, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
    body = "\n\n".join(part.strip("\n") for part in (f"# {one_line(title)}", *parts) if part.strip())
    return f"---\n{head}---\n\n{body}\n"


def one_line(text: str) -> str:
    """The text with white space runs made single spaces."""
    return " ".join(text.split())


def fence(code: str, language: str = "") -> str:
    """A code fence that nothing inside it can close."""
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{code.rstrip()}\n{marks}"


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; line feeds and bars inside cells made harmless."""
    if not rows:
        return ""
    cells = [[one_line(cell).replace("|", "\\|") for cell in row] for row in [columns, ["---"] * len(columns), *rows]]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)
