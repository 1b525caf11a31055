"""Problems that a build found: read from what it published, worst first, in the forms that others read."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from .. import __version__
from ..contract.identity import place_of
from ..contract.vocabulary import SEVERITIES

if TYPE_CHECKING:
    from ..store.database import Database

DIAGNOSTIC_STAGES = ("sources", "extract", "catalog", "chunk", "link")
"""Where diagnostics come from, in the order of what they cost: a lost file before a dangling reference."""

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
"""SARIF's words for severities (SARIF 2.1.0, 3.27.10)."""

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
"""GitHub's workflow commands."""


class Problem(NamedTuple):
    """One diagnostic; `path` as it is cited (a package's begins with its alias), `line` 0 where none is known."""

    severity: str
    code: str
    path: str
    line: int
    message: str
    hint: str

    @property
    def place(self) -> str:
        """`path:line`, as editors open it."""
        return f"{self.path}:{self.line}" if self.line else self.path


class Ignored:
    """The patterns of `problems.ignore`: `CODE`, `CODE:PATH`, `*:PATH`."""

    def __init__(self, patterns: Iterable[str]) -> None:
        parts = (pattern.partition(":") for pattern in patterns)
        self._patterns = [(code, path or "*") for code, _, path in parts]

    def holds(self, code: str, path: str) -> bool:
        """Is a problem of this code and path to be left out?"""
        return any(fnmatchcase(code, c) and fnmatchcase(path, p) for c, p in self._patterns)


def read_problems(
    database: Database, *, ignore: Sequence[str] = (), codes: Sequence[str] = (), path: str = "", infos: bool = False
) -> list[Problem]:
    """Problems of the published build by severity, stage, code and place; `path` is a pattern or a folder."""
    severities, stages = list(SEVERITIES), list(DIAGNOSTIC_STAGES)
    rows = database.rows("SELECT stage, severity, code, package, path, line, message, hint FROM diagnostics")
    ignored = Ignored(ignore)
    found = [
        (severities.index(severity), stages.index(stage) if stage in stages else len(stages), problem)
        for stage, severity, code, package, file, line, message, hint in rows
        if (infos or severity != "info" or codes)
        and (not codes or code in codes)
        and not ignored.holds(code, file)
        and (problem := Problem(severity, code, place_of(package, file), line, message, hint))
        and _lies_at(problem.path, path)
    ]
    return [problem for *_, problem in sorted(found, key=lambda f: (f[0], f[1], f[2].code, f[2].path, f[2].line))]


def _lies_at(path: str, wanted: str) -> bool:
    """Is a path the one that is named, below it, or of its pattern? `.`, `./docs` and `docs/` are understood."""
    place = posixpath.normpath(wanted) if wanted else "."
    return place == "." or fnmatchcase(path, place) or path.startswith(f"{place}/")


def hint_of(problems: Sequence[Problem]) -> str:
    """What to do about all of them; empty where it differs."""
    hints = {problem.hint for problem in problems}
    return hints.pop() if len(hints) == 1 else ""


def by_code(problems: Iterable[Problem]) -> dict[str, list[Problem]]:
    """Groups in the order in which they begin: the worst first."""
    groups: dict[str, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.code, []).append(problem)
    return groups


def as_sarif(problems: Sequence[Problem], prefix: str = "") -> dict[str, Any]:
    """A SARIF 2.1.0 log, as code scanning reads it; `prefix`: the project's folder in its repository, with `/`."""
    groups = by_code(problems)
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "syntropy",
                        "version": __version__,
                        "rules": [
                            {"id": code, "help": {"text": hint_of(found) or code}} for code, found in groups.items()
                        ],
                    }
                },
                "results": [
                    {
                        "ruleId": problem.code,
                        "level": _LEVELS[problem.severity],
                        "message": {"text": f"{problem.message} ({problem.hint})"},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": {"uri": quote(prefix + problem.path)},
                                    "region": {"startLine": max(1, problem.line)},
                                }
                            }
                        ],
                    }
                    for problem in problems
                ],
            }
        ],
    }


def as_annotation(problem: Problem, prefix: str = "") -> str:
    """A workflow command: GitHub shows it at the line; `prefix` as above."""
    where = f"file={_property(prefix + problem.path)},line={max(1, problem.line)},title={_property(problem.code)}"
    return f"::{_COMMANDS[problem.severity]} {where}::{_data(f'{problem.message} ({problem.hint})')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
