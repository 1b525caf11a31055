"""What a command works on: arguments first, then the environment, then the project around the current folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from syntropy.cli.output import printable, warn
from syntropy.contract.config import find_project, load_config, require_project
from syntropy.contract.errors import ProjectNotFoundError, UsageError

if TYPE_CHECKING:
    from syntropy.notes.notebook import Notebook
    from syntropy.read.knowledge import Knowledge
    from syntropy.search.engine import EngineName


class Place(NamedTuple):
    """`project`, `out` and `db` as given, or empty; at most one of the last two. `beside`: other databases by name."""

    project: str
    out: str
    db: str
    beside: Mapping[str, str] = {}

    @property
    def root(self) -> Path:
        """The project's folder. Raises UsageError, ProjectNotFoundError."""
        start = Path(self.project or ".")
        if not start.is_dir():
            raise UsageError(f"{start} is not a folder", hint="name the project's folder with --project")
        return require_project(start)

    @property
    def found_root(self) -> Path | None:
        """The project's folder, or None where there is none."""
        return find_project(Path(self.project or "."))

    @property
    def artifacts(self) -> Path:
        """The folder of artifacts: the one that is named, or the project's. Raises ProjectNotFoundError."""
        if self.db:
            return Path(self.db).parent
        if self.out:
            return Path(self.out)
        root = self.root
        return root / load_config(root).paths.out


def locate(given: argparse.Namespace) -> Place:
    """The one reading of --project, --out, --db and of SYNTROPY_PROJECT, SYNTROPY_OUT, SYNTROPY_DB.

    A reader asks one question, "what is read": its variables count only where no argument answers it, and of the last
    two SYNTROPY_DB wins. Other commands ask two, "which project" and "where to", each with a variable of its own.
    """
    project, out = (str(getattr(given, name, None) or "") for name in ("project", "out"))
    first, *more = [_named(text) for text in getattr(given, "db", None) or []] or [("", "")]
    beside = dict([*more, *map(_named, getattr(given, "beside", None) or [])])
    db = first[1]
    named = {name: os.environ.get(f"SYNTROPY_{name}", "") for name in ("PROJECT", "OUT", "DB")}
    if not hasattr(given, "db"):
        return Place(project or named["PROJECT"], (out or named["OUT"]) if hasattr(given, "out") else "", "")
    if not (project or out or db):
        project, db = named["PROJECT"], named["DB"]
        out = "" if db else named["OUT"]
    return Place(project, out, db, beside)


def _named(text: str) -> tuple[str, str]:
    """(name, place) of NAME=PLACE, or of a place that is called like its file or folder."""
    name, equals, place = text.partition("=")
    if equals and name and not Path(text).exists():
        return name, place
    path = Path(text)
    folder = path.parent if path.suffix == ".duckdb" else path
    return (folder.resolve().parent if folder.resolve().name == "build" else folder.resolve()).name, text


def federated(given: argparse.Namespace, knowledge: Knowledge) -> dict[str, Knowledge]:
    """Databases to be searched together with it, by name: of `[federation]`, then those the command line names.

    Raises ConfigError, DatabaseError.
    """
    from syntropy.read.federation import open_members

    configured = knowledge.config.federation
    found = open_members(configured, knowledge.project or Path.cwd()) if configured else {}
    return {**found, **open_members(locate(given).beside, Path.cwd())}


def opened(given: argparse.Namespace, engine: EngineName = "sql") -> Knowledge:
    """The published knowledge that the command line names. Raises ProjectNotFoundError, DatabaseError."""
    from syntropy.read.knowledge import open_knowledge  # duckdb takes 60 ms, and building need not read

    place = locate(given)
    return open_knowledge(project=place.project or None, out=place.out or None, db=place.db or None, engine=engine)


def notebook_of(given: argparse.Namespace, *, alone: bool = False) -> Notebook:
    """The notes that the command line names, with the published knowledge where there is some, unless `alone`.

    Raises ProjectNotFoundError, ConfigError.
    """
    from syntropy.notes.notebook import open_notes  # sqlite3 takes 5 ms, and most commands need no notes

    place = locate(given)
    if place.project and place.found_root is None:
        hint = "run `syntropy init` there, or leave out --project"
        raise ProjectNotFoundError(f"no project at {place.project}", hint=hint)
    file = Path(given.file_path) if given.file_path else None
    notebook = open_notes(place.project or None, user=given.user or bool(file), alone=alone, file=file)
    warn(printable(notebook.problem))
    return notebook
