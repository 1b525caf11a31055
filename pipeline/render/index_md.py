"""`INDEX.md`: what there is to know, grouped by source and kind, within a token budget.

Over budget it degrades in this order, and says so at its end: (1) summaries shortened to 80 characters,
(2) no summaries for docs, (3) no summaries at all, (4) docs as folders with counts, (5) whole groups
from the last on, as counts. Tokens are estimated at four characters (nocaap's rule: 8,000 tokens are
about 32,000 characters).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from syntropy.config import Config
from syntropy.ids import PROJECT_PACKAGE

CHARS_PER_TOKEN = 4
_SHORT = 80

GROUPS = (
    ("system", "rule", "Framework rules"),
    ("user", "rule", "Project rules"),
    ("system", "pattern", "Framework patterns"),
    ("user", "pattern", "Patterns"),
    ("system", "example", "Framework examples"),
    ("user", "example", "Examples"),
    ("system", "prp", "Framework PRPs"),
    ("user", "prp", "PRPs"),
    ("user", "memory", "Memories"),
    ("user", "command", "Commands"),
    ("user", "api", "API operations"),
    ("user", "guide", "Guides"),
    ("user", "feature", "Features"),
    ("user", "setting", "Settings"),
    ("user", "troubleshooting", "Troubleshooting"),
    ("user", "design-pattern", "Design patterns"),
    ("user", "refactoring", "Refactorings"),
    ("user", "law", "Laws"),
    ("user", "smell", "Code smells"),
    ("user", "term", "Glossary"),
    ("system", "doc", "Framework documents"),
    ("user", "doc", "Documentation"),
)


class Line(NamedTuple):
    """One document in the overview."""

    path: str
    key: str
    title: str
    summary: str


class Group(NamedTuple):
    """Documents of one scope and kind; `folders` replaces `lines` where the budget forced it."""

    title: str
    kind: str
    size: int
    lines: list[Line]
    folders: list[tuple[str, int]]


PACKAGE = "package"
"""Kind of a group that holds a package's documents of all kinds; their paths are no files of the project."""


def estimate_tokens(text: str) -> int:
    """Tokens by length, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def render_index_md(
    tables: dict[str, pl.DataFrame], config: Config, *, project: str, chunks: int, drift_score: float
) -> str:
    """The overview, at most `render.index_max_tokens` tokens."""
    template = Environment(
        loader=PackageLoader("pipeline.render"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=select_autoescape(),
    ).get_template("INDEX.md.jinja")
    groups = _groups(tables["documents"])
    budget = config.render.index_max_tokens
    facts = {
        "project": project,
        "documents": tables["documents"].height,
        "chunks": chunks,
        "rules": tables["rules"].height,
        "drift": drift_score,
        "problems": tables["diagnostics"].filter(pl.col("severity") != "info").height,
    }

    def render(shown: list[Group], left_out: list[str]) -> str:
        return template.render(groups=shown, left_out=left_out, **facts)

    text = render(groups, [])
    for shown, left_out in _degraded(groups):
        if estimate_tokens(text) <= budget:
            break
        text = render(shown, left_out)
    return text


def _degraded(groups: list[Group]) -> Any:
    """Ever smaller versions of the groups, each with the notes on what it leaves out."""
    notes = ["summaries longer than 80 characters were shortened"]
    current = [g._replace(lines=[line._replace(summary=_short(line.summary)) for line in g.lines]) for g in groups]
    yield current, notes
    current = [_without_summaries(g) if g.kind in ("doc", PACKAGE) else g for g in current]
    notes = ["summaries of documentation", *notes]
    yield current, notes
    current = [_without_summaries(g) for g in current]
    notes = ["all summaries"]
    yield current, notes
    current = [_as_folders(g) if g.kind in ("doc", PACKAGE) else g for g in current]
    notes = ["all summaries", "single documents of the documentation (folders with counts instead)"]
    yield current, notes
    for position in range(len(current) - 1, -1, -1):
        group = current[position]
        current = [*current[:position], group._replace(lines=[], folders=[]), *current[position + 1 :]]
        notes = [*notes, f"the {group.size} documents of “{group.title}”"]
        yield current, notes


def _groups(documents: pl.DataFrame) -> list[Group]:
    result = []
    for scope, kind, title in GROUPS:
        of_kind = (pl.col("scope") == scope) & (pl.col("kind") == kind)
        rows = documents.filter((pl.col("package") == PROJECT_PACKAGE) & of_kind).sort("path")
        lines = [
            Line(path, key, _one_line(name), _one_line(summary))
            for path, key, name, summary in rows.select("path", "key", "title", "summary").iter_rows()
        ]
        if lines:
            result.append(Group(title, kind, len(lines), lines, []))
    others = documents.filter(pl.col("package") != PROJECT_PACKAGE).sort("package", "path")
    for (package,), rows in others.group_by("package", maintain_order=True):
        lines = [
            Line(f"{package}:{path}", "", _one_line(name), _one_line(summary))
            for path, name, summary in rows.select("path", "title", "summary").iter_rows()
        ]
        result.append(Group(f"Package {package}", PACKAGE, len(lines), lines, []))
    return result


def _as_folders(group: Group) -> Group:
    counts: dict[str, int] = {}
    for line in group.lines:
        folder = line.path.rpartition("/")[0] or "."
        counts[folder] = counts.get(folder, 0) + 1
    return group._replace(lines=[], folders=sorted(counts.items()))


def _without_summaries(group: Group) -> Group:
    return group._replace(lines=[line._replace(summary="") for line in group.lines])


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1].rpartition(" ")[0] + "…"


def _one_line(text: str) -> str:
    """Text that cannot break out of its list item."""
    return " ".join(text.replace("|", "\\|").split())
