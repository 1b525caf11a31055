"""`syntropy search`: hits as text, Markdown or JSON, on a terminal with colours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from syntropy.cli import terminal
from syntropy.cli.output import print_json, printable, warn
from syntropy.cli.place import federated, opened
from syntropy.contract.errors import UsageError
from syntropy.read.federation import FederatedResults, Federation
from syntropy.read.knowledge import Knowledge
from syntropy.search.passages import Hit

if TYPE_CHECKING:
    from syntropy.notes.notebook import Fresh


def search(given: argparse.Namespace) -> int:
    """0 with hits, 1 without."""
    with opened(given) as knowledge:
        together = federated(given, knowledge, "sql")
        ask = Federation(together).search if together else knowledge.search
        found = ask(
            " ".join(given.query),
            mode=given.mode,
            sources=given.sources,
            kinds=given.kinds,
            scope=given.scope,
            packages=given.packages,
            tags=given.tags,
            all_tags=given.all_tags,
            path=given.path,
            where=[_pair(text) for text in given.where],
            since=given.since,
            until=given.until,
            category=given.category,
            limit=given.limit,
            threshold=given.threshold,
            hits_per_document=given.per_document,
            synonyms=False if given.no_synonyms else None,
            profile=given.profile,
            neighbors=given.neighbors,
        )
        fresh = _fresh(knowledge, given)
    warn(found.warning)
    hits = found.hits[:1] if found.not_here and not given.all_hits else found.hits
    if given.json or given.format == "json":
        print_json(
            {
                "query": found.query,
                "mode": found.mode,
                "not_here": found.not_here,
                "count": len(hits),
                "unknown_terms": found.unknown_terms,
                "corrections": dict(found.corrections),
                "synonyms": list(found.synonyms),
                "suggestions": list(found.suggestions),
                "warning": found.warning,
                **({"without": dict(found.without)} if isinstance(found, FederatedResults) else {}),
                "hits": [hit.as_dict(explain=given.explain) for hit in hits],
                "fresh": [hit._asdict() for hit in fresh],
            }
        )
        return 0 if found.hits or fresh else 1
    if found.corrections:  # before what was found in its place
        warn("; ".join(f"{word} occurs nowhere: searched {near} instead" for word, near in found.corrections.items()))
    if found.not_here:
        more = "; fresh notes below:" if fresh else "; the nearest passage:" if len(hits) == 1 else ""
        where = "not in the documents" if fresh else "not here"
        print(f"{where}: {printable(found.not_here)}{more}", flush=True)
        hits = [] if fresh and not given.all_hits else hits
    ranked: Sequence[Hit | Fresh] = hits
    if fresh:
        from syntropy.notes.notebook import merged

        ranked = merged(hits, fresh)
    show = _shower(given, knowledge.project)
    for one in ranked:
        show(one) if isinstance(one, Hit) else _show_fresh(one)
    if fresh:
        return 0
    if not found.hits:
        tried = f"looked up: {', '.join(found.terms)}" if found.terms else "no word of the query can be looked up"
        print(f"no hits ({found.mode}; {tried})", file=sys.stderr)
        if found.suggestions:
            print(f"titles that come near: {'; '.join(found.suggestions)}", file=sys.stderr)
    unknown = [word for word in found.unknown_terms if word not in found.corrections and word not in found.not_here]
    if found.hits and unknown:
        warn(f"found nowhere: {', '.join(unknown)}")
    return 0 if found.hits else 1


def _fresh(knowledge: Knowledge, given: argparse.Namespace) -> list[Fresh]:
    """Insights and notes for the query; none where documents are filtered, or where there are no notes."""
    filtered = any(
        (given.sources, given.kinds, given.scope, given.packages, given.tags, given.all_tags, given.path, given.where,
         given.since, given.until, given.category)
    )  # fmt: skip
    if filtered or given.no_notes or knowledge.project is None or not knowledge.config.notes.in_search:
        return []
    path = knowledge.project / knowledge.config.notes.path
    if not path.is_file():
        return []
    from syntropy.notes.notebook import Notebook  # sqlite3 takes 5 ms, and most projects have no notes

    memory = Notebook(path, knowledge, borrowed=True)
    words_only = (given.mode or knowledge.config.search.mode) == "fast"  # else the query is encoded anyway
    try:
        limit = given.limit or knowledge.config.search.limit
        recalled = memory.recall(" ".join(given.query), limit=limit, semantic=False if words_only else None)
    finally:
        memory.close()
    warn(recalled.warning)
    threshold = given.threshold if given.threshold is not None else knowledge.config.search.threshold
    return [hit for hit in recalled.hits if hit.score >= threshold]


def _show_fresh(hit: Fresh) -> None:
    """A hit of the living layer, with its age and what replaced it."""
    seen = f", confirmed {hit.last_validated[:10]}" if hit.last_validated else ""
    old = f", superseded by {hit.superseded_by}" if hit.superseded_by else ""
    print(f"{hit.score:.3f}  {hit.name}  [{hit.kind}, {hit.layer}] {printable(hit.title)}")
    print(f"       {hit.created_at[:10]}{seen}{old}: {printable(_cut(hit.text, 240))}")


def _shower(given: argparse.Namespace, project: Path | None) -> Callable[[Hit], None]:
    """How a hit is shown: as Markdown, with colours on a terminal, else as plain text."""
    if given.format == "md":
        return lambda hit: _show_markdown(hit, explain=given.explain)
    console = terminal.console() if not given.format else None
    if console is not None:
        root = project.resolve() if project else None
        return lambda hit: terminal.show_hit(console, hit, root, _more(hit, explain=given.explain))
    return lambda hit: _show(hit, explain=given.explain)


def _show(hit: Hit, *, explain: bool) -> None:
    headings = f" › {hit.headings.rpartition(' > ')[2]}" if hit.headings else ""
    print(f"{hit.score:.3f}  {printable(hit.place)}  [{hit.kind}] {printable(hit.title + headings)}")
    print(f"       {printable(hit.snippet)}")
    for line in _more(hit, explain=explain):
        print(f"       {printable(line)}")


def _show_markdown(hit: Hit, *, explain: bool) -> None:
    """A hit with its whole passage, to be pasted."""
    headings = f" › {hit.headings}" if hit.headings else ""
    print(f"### {printable(hit.title + headings)}\n\n`{printable(hit.place)}` ({hit.kind}, {hit.score:.3f})\n")
    print(printable(hit.text.strip("\n")) + "\n")
    for line in _more(hit, explain=explain):
        print(f"- {printable(line)}")


def _more(hit: Hit, *, explain: bool) -> Iterator[str]:
    """Lines behind a hit: why it was found, and what stands around it."""
    if explain:
        signals = [f"matched on {', '.join(hit.matched_on)}"]
        for name, value in hit.explanation.items():
            if isinstance(value, dict):
                signals.append(f"{name} rank {value['rank'] or '-'} {value['score']:.3f} → {value['contribution']:.3f}")
            else:
                signals.append(f"{name} {value}")
        yield "; ".join(signals)
    for neighbor in hit.neighbors:
        yield f"+ {neighbor.citation}"
        yield "  " + _cut(neighbor.text, 200)


def _cut(text: str, length: int) -> str:
    """Text on one line, cut between words."""
    line = " ".join(text.split())
    return line if len(line) <= length else (line[: length - 1].rpartition(" ")[0] or line[: length - 1]) + "…"


def _pair(text: str) -> tuple[str, str]:
    key, found, value = text.partition("=")
    if not found or not key.strip():
        raise UsageError(f"--where {text!r} has no value", hint="give KEY=VALUE, e.g. status=executed")
    return key.strip(), value.strip()
