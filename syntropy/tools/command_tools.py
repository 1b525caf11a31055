"""The tools of the group `commands`."""

from __future__ import annotations

from typing import Any

from ..contract.identity import Citation
from ..contract.untrusted import Data
from ..read.citations import proven
from .desk import CONCISE_TOKENS, DETAILED_TOKENS, Desk, following, page

MOST_RELATED = 20
MOST_CATEGORIES = 20


def get_command(desk: Desk, *, name: str, detailed: bool = False) -> dict[str, Any]:
    """One command with its syntax; `match` says how it was found, `difference` what it lacks."""
    match = desk.edition.commands.find(name)
    document = desk.knowledge.document(match.command.place)
    body = document.text.split("\n---\n", 1)[-1].lstrip("\n") if document.text.startswith("---\n") else document.text
    citation = Citation(document.package, document.commit, document.path, 1, document.line_count)
    desk.read.append(str(citation))
    shown = page(body, desk, "", DETAILED_TOKENS if detailed else CONCISE_TOKENS)
    answer: dict[str, Any] = {
        **({"no_such_command": f"{name!r}: this is the nearest one"} if match.how == "nearest" else {}),
        "match": match.how,
        "command": match.command.title,
        **({"difference": match.difference} if match.difference else {}),
        "text": Data(shown.text),
        "citation": proven(citation, document.text),
    }
    if shown.next_cursor:
        answer["next"] = "get_document with the citation reads all of it, page by page"
    if detailed:
        answer |= {
            "id": match.command.key,
            "category": match.command.category,
            "aliases": list(match.command.aliases),
            "related": [target for _, target, _ in document.related][:MOST_RELATED],
        }
    return answer


def list_commands(desk: Desk, *, category: str = "", detailed: bool = False, cursor: str = "") -> dict[str, Any]:
    """Commands by title; `detailed` adds summaries."""
    commands = desk.edition.commands
    found = commands.of(category)
    lines = [f"{c.title}: {c.summary}" if detailed and c.summary else c.title for c in found]
    shown = page("\n".join(lines), desk, cursor, DETAILED_TOKENS if detailed else CONCISE_TOKENS)
    answer: dict[str, Any] = {"count": len(found), "commands": Data(shown.text)}
    if not category and not cursor:
        categories = sorted(commands.categories().items(), key=lambda entry: (-entry[1], entry[0]))
        answer["categories"] = dict(sorted(categories[:MOST_CATEGORIES]))
    return {**answer, **following(shown.next_cursor)}
