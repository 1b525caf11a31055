"""`search_knowledge`: the best passages whole, as far as a budget holds, then where the next ones are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..contract.budget import tokens
from ..contract.errors import UsageError
from ..contract.identity import Citation
from ..contract.text import index_terms, shortened
from ..contract.untrusted import Data
from ..contract.vocabulary import KINDS
from ..notes.notebook import Fresh
from ..read.federation import FederatedResults
from ..search.absence import is_common
from ..search.excerpt import excerpt
from ..search.filters import SOURCES
from ..search.passages import Hit
from ..search.ranking import NOTHING_PASSES
from .desk import DETAILED_TOKENS, Desk, cursor_at, fit, following, kept_in, position

ANSWER_TOKENS = 800
"""An answer by default: three to six passages and where the next ones are (benchmarks/answers.py)."""

FIRST_SHARE = 0.6
"""Of the room, at most for the first passage: one passage is seldom all."""

MOST_CITED = 2
"""Passages that are only named."""

LEAST_PIECE = 60
"""Tokens below which a part of a passage tells nothing: it is cited instead."""

CITED_TOKENS = 28
"""What naming a passage takes."""

NEAREST_TOKENS = 160
"""Of the nearest passage, where there is no answer: enough to see that it is none."""

FRESH_HITS = 3
FRESH_TOKENS = 120
"""How many insights and notes a search shows, and how much of each."""

FRESH_ANSWERS = 0.35
"""Score from which an insight or note is an answer: half of the words, or a third of them and some likeness."""

MOST_UNKNOWN = 20


def search_knowledge(
    desk: Desk,
    *,
    query: str,
    mode: str = "",
    types: Sequence[str] = (),
    packages: Sequence[str] = (),
    tags: Sequence[str] = (),
    all_tags: Sequence[str] = (),
    path: str = "",
    category: str = "",
    since: str = "",
    where: Mapping[str, str] | None = None,
    limit: int = 8,
    budget: int = 0,
    detailed: bool = False,
    cursor: str = "",
) -> dict[str, Any]:
    """Passages, best first, and fresh insights and notes where nothing filters."""
    start = position(desk, cursor)
    if packages:
        _check_packages(desk, packages)
    sources, kinds = _sources_and_kinds(types)
    waiting = desk.warming and mode not in ("fast", "semantic") and not cursor
    found = desk.search(
        query,
        mode=kept_in(cursor) or ("fast" if waiting else mode),
        sources=sources,
        kinds=kinds,
        packages=packages,
        tags=tags,
        all_tags=all_tags,
        path=path,
        category=category,
        since=since,
        where=dict(where or {}),
        limit=start + limit + 1,
    )
    filtered = bool(types or packages or tags or all_tags or path or category or since or where)
    fresh = [] if filtered or start else _fresh(desk, query)
    room = budget or (DETAILED_TOKENS if detailed else ANSWER_TOKENS)
    told = [_told(one) for one in fresh]
    answers = [one for one in fresh if one.score >= FRESH_ANSWERS]
    absent = found.not_here if not start else ""
    answer: dict[str, Any] = {}
    if absent and not answers:
        answer["not_here"] = _said(absent, hits=bool(found.hits))
    elif absent:
        answer["fresh"] = told  # the documents say nothing on it, these do
        answer["documents"] = f"not in the documents: {absent}"
    answer["mode"] = found.mode
    if isinstance(found, FederatedResults):
        answer["known_by"] = [name for name in (desk.name, *desk.beside) if name not in found.without]
    if found.corrections:
        said = (f"{word} occurs nowhere, searched {near} instead" for word, near in found.corrections.items())
        answer["corrected"] = "; ".join(said)
    unknown = [
        word for word in found.unknown_terms if word not in found.corrections and shortened(word, 40) not in absent
    ]
    if unknown := [word for word in unknown if not all(map(is_common, index_terms(word)))]:
        answer["unknown_terms"] = [shortened(word, 40) for word in unknown[:MOST_UNKNOWN]]
    if absent:
        nearest = packed([] if answers else found.hits[:1], NEAREST_TOKENS)
        answer["answer"] = Data(f"Nearest:\n{nearest.text}" if nearest.text else "")
        desk.read += nearest.read
    else:
        spare = room - FRESH_TOKENS * len(fresh)
        shown = packed(found.hits[start : start + limit], spare, detailed=detailed, first=start + 1)
        answer["answer"] = Data(shown.text)
        desk.read += shown.read
        if start + shown.named < len(found.hits):
            answer |= following(cursor_at(desk, start + shown.named, kept=found.mode))
    if told:
        answer.setdefault("fresh", told)
    if not found.hits and found.suggestions and not found.warning:
        answer["near_titles"] = Data(fit("; ".join(found.suggestions), FRESH_TOKENS))
    if found.warning:
        desk.warnings.append(found.warning)
    if waiting:
        desk.warnings.append("the encoder is being loaded: answered by words only")
    return answer


class Packed(NamedTuple):
    """Text; how many hits it names; citations of the passages in it."""

    text: str
    named: int
    read: list[str]


def packed(hits: Sequence[Hit], room: int, *, detailed: bool = False, first: int = 1) -> Packed:
    """Hits in at most about `room` tokens: passages by rank while they fit, then where the next ones are."""
    left = room - CITED_TOKENS * min(MOST_CITED, len(hits) - 1)
    shown: dict[int, tuple[Citation, str]] = {}
    for place, hit in enumerate(hits):
        head = tokens(_head(first + place, hit, hit.citation, hit.text, detailed=detailed)) + 1
        space = left - head
        shown[place] = _passage(hit, space if place else min(space, int(left * FIRST_SHARE)))
        if shown[place][1]:
            left -= tokens(shown[place][1]) + head
    parts: list[str] = []
    cited: list[str] = []
    read: list[str] = []
    for place, hit in enumerate(hits):
        citation, text = shown[place]
        if text:
            parts.append(f"{_head(first + place, hit, citation, text, detailed=detailed)}\n{text}")
            read.append(_cited(hit, citation))
        elif len(cited) < MOST_CITED:
            cited.append(_head(first + place, hit, citation, "", detailed=detailed))
        else:
            hits = hits[:place]  # the cursor goes on here
            break
    text = "\n\n".join([*parts, *(["Next:\n" + "\n".join(cited)] if cited else [])])
    return Packed(text, len(hits), read)


def _passage(hit: Hit, space: int) -> tuple[Citation, str]:
    """A passage cut to a space in tokens, and its lines; empty where too little would remain."""
    text = hit.text
    if space < LEAST_PIECE and tokens(text) > space:
        return hit.citation, ""
    piece = excerpt(text, space, focus=hit.focus)
    shown = text[piece.start : piece.end].strip("\n") + piece.closing
    skipped = piece.start + len(text[piece.start : piece.end]) - len(text[piece.start : piece.end].lstrip("\n"))
    start = hit.citation.line_start + text.count("\n", 0, skipped)
    citation = hit.citation
    if piece.start or text[piece.end :].strip():
        citation = Citation(*hit.citation[:3], start, start + text[skipped : piece.end].rstrip("\n").count("\n"))
    return citation, shown


def _head(number: int, hit: Hit, citation: Citation, text: str, *, detailed: bool) -> str:
    """Where it stands and what it is called; a section is not named where the text begins with its heading."""
    section = hit.headings.rpartition(" > ")[2]
    names = (name for name in dict.fromkeys((hit.title, section)) if name and not _opens_with(text, name))
    line = f"[{number}] {_cited(hit, citation)} · {' › '.join(names)}".rstrip(" ·")
    if detailed:
        line += f"\n{hit.kind}, score {hit.score:.2f}, key {hit.key}, matched on {', '.join(hit.matched_on)}"
        line += f"; tags {', '.join(hit.tags)}" if hit.tags else ""
        line += f"\nthe same as {', '.join(hit.copies)}" if hit.copies else ""
    return line


def _cited(hit: Hit, citation: Citation) -> str:
    """The citation, with the name of its database where several are searched."""
    return f"{hit.database}:{citation}" if hit.database else str(citation)


def _opens_with(text: str, name: str) -> bool:
    return text.lstrip("# \n").startswith(name)


def _said(why: str, *, hits: bool) -> str:
    if why == NOTHING_PASSES:
        return "no document passes the filters: drop one, or see get_overview for what there is"
    nearest = "Say so; the nearest passage follows." if hits else "Say so, or try other words."
    return f"there is no answer in this knowledge: {why}. {nearest}"


def _told(one: Fresh) -> dict[str, Any]:
    return {
        "id": one.name,
        "kind": one.kind,
        "created": one.created_at[:10],
        "text": Data(fit(one.text, FRESH_TOKENS)),
    }


def _sources_and_kinds(types: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of types, in singular or plural, as sources and kinds. Raises UsageError for unknown ones."""
    sources, kinds = [], []
    for name in types:
        plain = name.strip().lower()
        spelled = (plain, f"{plain}s", plain.removesuffix("s"))
        source = next((one for one in spelled if one in SOURCES), "")
        kind = next((one for one in spelled if one in KINDS), "")
        if kind == plain or (kind and not source):
            kinds.append(kind)
        elif source:
            sources.append(source)
        else:
            raise UsageError(
                f"unknown type {name!r}", hint=f"choose from: {', '.join(dict.fromkeys([*SOURCES, *KINDS]))}"
            )
    # both narrow: where both are given, a document of either is meant
    return ([], kinds + [k for s in sources for k in SOURCES[s]]) if sources and kinds else (sources, kinds)


def _fresh(desk: Desk, query: str) -> list[Fresh]:
    """Insights and notes of the project for a query."""
    path = desk.notes_file
    if path is None or not path.is_file() or not desk.knowledge.config.notes.in_search:
        return []
    with desk.memory() as memory:
        recalled = memory.recall(query, limit=FRESH_HITS)
    if recalled.warning:
        desk.warnings.append(recalled.warning)
    return recalled.hits


def _check_packages(desk: Desk, packages: Sequence[str]) -> None:
    """Raises UsageError for packages that are not there."""
    every = (desk.knowledge, *desk.beside.values())
    sql = "SELECT DISTINCT package FROM documents ORDER BY 1"
    known = list(dict.fromkeys(name for one in every for (name,) in one.database.rows(sql)))
    for name in packages:
        if name not in known:
            raise UsageError(f"unknown package {name!r}", hint=f"there are: {', '.join(known)}")
