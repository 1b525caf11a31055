"""What a command works on: arguments first, then the environment, then the project around the current folder."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from syntropy.cli.output import printable, warn
from syntropy.contract.config import find_project, load_config, require_project
from syntropy.contract.errors import ProjectNotFoundError, SyntropyError, UsageError

if TYPE_CHECKING:
    from syntropy.notes.notebook import Notebook
    from syntropy.read.knowledge import Knowledge
    from syntropy.search.engine import EngineName


class Place(NamedTuple):
    """`project`, `out` and `db` as given, or empty; at most one of the last two.

    `name` of what is read, where it was given one; `beside`: (name, place) of other databases.
    """

    project: str
    out: str
    db: str
    name: str = ""
    beside: tuple[tuple[str, str], ...] = ()

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
    given_db = getattr(given, "db", None) or []
    if len(given_db) > 1 and not hasattr(given, "beside"):
        raise UsageError(f"--db is given {len(given_db)} times", hint="give one; `search` and `serve` take several")
    (name, db), *more = [_named(text) for text in given_db] or [("", "")]
    beside = (*more, *map(_named, getattr(given, "beside", None) or []))
    name = name if "=" in (given_db or [""])[0] else ""
    named = {name: os.environ.get(f"SYNTROPY_{name}", "") for name in ("PROJECT", "OUT", "DB")}
    if not hasattr(given, "db"):
        return Place(project or named["PROJECT"], (out or named["OUT"]) if hasattr(given, "out") else "", "")
    if not (project or out or db):
        project, db = named["PROJECT"], named["DB"]
        out = "" if db else named["OUT"]
    return Place(project, out, db, name, beside)


def _named(text: str) -> tuple[str, str]:
    """(name, place) of NAME=PLACE, or of a place that is called like its file or folder."""
    name, equals, place = text.partition("=")
    if equals and name and not Path(text).exists():
        return name, place
    path = Path(text)
    folder = path.parent if path.suffix == ".duckdb" else path
    return (folder.resolve().parent if folder.resolve().name == "build" else folder.resolve()).name, text


def federated(given: argparse.Namespace, knowledge: Knowledge, engine: EngineName) -> dict[str, Knowledge]:
    """What is searched together, by name: `knowledge` first, then `[federation]`, then what the command line names.

    Empty where it is alone. What the configuration names and cannot be opened is left out with a word. Raises
    UsageError for two of one name, ConfigError, DatabaseError.
    """
    place, configured = locate(given), knowledge.config.federation
    if not place.beside and not configured:
        return {}
    from syntropy.read.federation import open_member, require_names

    own = place.name or knowledge.meta["project"]
    require_names([own, *configured, *(name for name, _ in place.beside)])
    found = {own: knowledge}
    for name, text in configured.items():
        try:
            found[name] = open_member(name, text, knowledge.project or Path.cwd(), engine)
        except SyntropyError as error:
            warn(printable(f"[federation] {name} is left out: {error.message}"))
    for name, text in place.beside:
        found[name] = open_member(name, text, Path.cwd(), engine)
    return found


@contextlib.contextmanager
def owner_of(given: argparse.Namespace, cited: str) -> Iterator[tuple[Knowledge, str]]:
    """The open knowledge that a place (or `name:place`, as a search over several shows it) is of; the place there."""
    with opened(given) as knowledge:
        name, colon, rest = cited.partition(":")
        others = federated(given, knowledge, "sql") if colon else {}
        try:
            yield (others[name], rest) if name in others else (knowledge, cited)
        finally:
            for other in others.values():
                other.close()


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
