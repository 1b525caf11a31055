"""The commands of the living layer, in argparse calls."""

from __future__ import annotations

import argparse
from typing import Any

from syntropy.contract.budget import SESSION_TOKENS

_TYPES = ("decision", "progress", "issue", "handoff", "insight", "reference", "checkpoint")


def add_memory_commands(commands: argparse._SubParsersAction[Any], rules: argparse.ArgumentParser) -> None:
    """`insight`, `notes`, `graph`, `session-start`, and the verbs of `rules`."""
    _insight(_group(commands, "insight", "Insights: what was learned between builds."))
    _rules(rules.add_subparsers(metavar="VERB"))
    _notes(_group(commands, "notes", "Notes: decisions, progress, issues, handoffs."))
    _graph(_group(commands, "graph", "Walk the relations of documents, entities and insights."))
    start = _verb(
        commands,
        "session-start",
        "session_start",
        "What an agent should know first.",
        "session-start",
    )
    start.add_argument(
        "--budget", type=int, default=SESSION_TOKENS, metavar="TOKENS", help="size of it all; rules are never cut"
    )


def _insight(verbs: argparse._SubParsersAction[Any]) -> None:
    add = _verb(verbs, "add", "insight_add", "Store an insight.", 'insight add "Facade beats Extract Class here"')
    add.add_argument("text", metavar="TEXT", help="what was learned")
    add.add_argument("--for-project", default="", metavar="NAME", help="name of a project it belongs to")
    add.add_argument("--tags", default="", metavar="A,B", help="tags, separated by commas")
    add.add_argument(
        "--link", action="append", default=[], metavar="IDS", help="entities it applies to; may be repeated"
    )
    search = _verb(verbs, "search", "insight_search", "Find insights.", 'insight search "god class"')
    search.add_argument("query", metavar="QUERY", help="any text")
    search.add_argument("-n", "--limit", type=int, default=10, help="number of hits, at most 20")
    search.add_argument("--semantic", action="store_true", help="also by meaning, with the knowledge's encoder")
    search.add_argument("--superseded", action="store_true", help="also those that were replaced")
    confirm = _verb(
        verbs, "confirm", "insight_confirm", "Accept or reject links.", "insight confirm TK-001 --accept LAW-1"
    )
    confirm.add_argument("id", metavar="ID", help="e.g. TK-001")
    confirm.add_argument("--accept", default="", metavar="IDS", help="links that hold")
    confirm.add_argument("--reject", default="", metavar="IDS", help="links that do not")
    confirm.add_argument("--merge", default="", metavar="ID", help="the insight that replaces this one")
    listed = _verb(verbs, "list", "insight_list", "List insights.", "insight list")
    listed.add_argument("--superseded", action="store_true", help="also those that were replaced")
    show = _verb(verbs, "show", "insight_show", "Show one insight.", "insight show TK-001")
    show.add_argument("id", metavar="ID", help="e.g. TK-001")
    edit = _verb(verbs, "edit", "insight_edit", "Change an insight.", 'insight edit TK-001 --text "…"')
    edit.add_argument("id", metavar="ID", help="e.g. TK-001")
    edit.add_argument("--text", default="", help="the new text")
    edit.add_argument("--tags", metavar="A,B", help="the new tags")
    delete = _verb(verbs, "delete", "insight_delete", "Delete an insight.", "insight delete TK-001")
    delete.add_argument("id", metavar="ID", help="e.g. TK-001")


def _rules(verbs: argparse._SubParsersAction[Any]) -> None:
    save = _verb(verbs, "save", "rules_save", "Save a rule.", 'rules save commits "Never use emoji in commit messages"')
    save.add_argument("label", metavar="LABEL", help="short key; a rule of the same label is replaced")
    save.add_argument("text", metavar="TEXT", help="the rule")
    delete = _verb(verbs, "delete", "rules_delete", "Delete a saved rule.", "rules delete commits")
    delete.add_argument("label", metavar="LABEL", help="its key")
    _verb(verbs, "list", "rules_list", "Saved rules and those of the project's files.", "rules list")


def _notes(verbs: argparse._SubParsersAction[Any]) -> None:
    save = _verb(verbs, "save", "notes_save", "Write a note.", 'notes save decision "We bound retries by time"')
    save.add_argument("type", choices=_TYPES, help="what it is")
    save.add_argument("text", metavar="TEXT", help="the note")
    save.add_argument("--for-project", default="", metavar="NAME", help="name of a project it belongs to")
    save.add_argument("--tags", default="", metavar="A,B", help="tags, separated by commas")
    listed = _verb(verbs, "list", "notes_list", "List notes.", "notes list --days 7 --type decision")
    listed.add_argument("--days", type=int, default=0, help="only of the last days")
    listed.add_argument("--type", choices=_TYPES, default="", help="only this type")
    listed.add_argument("--for-project", default="", metavar="NAME", help="only of this project")
    listed.add_argument("--archived", action="store_true", help="also archived ones")
    search = _verb(verbs, "search", "notes_search", "Find notes.", 'notes search "retries"')
    search.add_argument("query", metavar="QUERY", help="any text")
    search.add_argument("-n", "--limit", type=int, default=10, help="number of hits")
    archive = _verb(verbs, "archive", "notes_archive", "Hide a note.", "notes archive 12")
    archive.add_argument("id", type=int, metavar="NUMBER", help="its number")
    export = _verb(verbs, "export", "notes_export", "All of it as JSON lines.", "notes export notes.jsonl")
    export.add_argument("file", nargs="?", default="", metavar="FILE", help="default: standard output")
    taken = _verb(verbs, "import", "notes_import", "Merge an export.", "notes import notes.jsonl")
    taken.add_argument("file", metavar="FILE", help="a file of `syntropy notes export`")


def _graph(verbs: argparse._SubParsersAction[Any]) -> None:
    entity = _verb(verbs, "entity", "graph_entity", "Show a node and its relations.", "graph entity RF-004")
    entity.add_argument("name", metavar="NAME", help="key, path or TK-001")
    near = _verb(verbs, "neighbors", "graph_neighbors", "What is near a node.", "graph neighbors SMELL-002 --depth 2")
    near.add_argument("name", metavar="NAME", help="key, path or TK-001")
    near.add_argument("--type", default="", metavar="A,B", help="only these relations")
    near.add_argument("--direction", choices=("out", "in", "both"), default="both", help="of the relations")
    near.add_argument("--depth", type=int, default=1, help="steps, 1 to 10")
    path = _verb(verbs, "path", "graph_path", "The shortest way between two nodes.", "graph path TK-001 SMELL-002")
    path.add_argument("start", metavar="A", help="key, path or TK-001")
    path.add_argument("end", metavar="B", help="key, path or TK-001")
    path.add_argument("--max-depth", type=int, default=5, help="steps, 1 to 10")
    path.add_argument("--weighted", action="store_true", help="prefer sure relations")
    related = _verb(verbs, "related", "graph_related", "Nodes with neighbours in common.", "graph related RF-004")
    related.add_argument("name", metavar="NAME", help="key, path or TK-001")
    related.add_argument("-n", "--limit", type=int, default=10, help="number of nodes")


def _group(commands: argparse._SubParsersAction[Any], name: str, text: str) -> argparse._SubParsersAction[Any]:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.set_defaults(run="", group=parser)
    verbs: argparse._SubParsersAction[Any] = parser.add_subparsers(metavar="VERB")
    return verbs


def _verb(
    verbs: argparse._SubParsersAction[Any], name: str, run: str, text: str, example: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=text, description=text, epilog=f"example: syntropy {example}", allow_abbrev=False
    )
    parser.set_defaults(run=f"noting.{run}")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="PATH", help="project (default: the one around this folder)")
    where.add_argument("--user", action="store_true", help="the notes that follow you, not the project's")
    parser.add_argument("--notes", dest="file_path", metavar="FILE", help="a file of notes (default: notes.path)")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    return parser
