"""`INDEX.md`: what there is to know, grouped by source and kind, within a token budget.

What fits is shown whole: every document with its summary. Else the budget is spent in rounds, each over
all groups in their order: (1) groups as folders with counts, (2) folders opened, the uppermost first,
down to their documents, (3) the first documents of folders that are too large to open, (4) summaries cut
at 80 characters, (5) whole ones. What does not fit in a round is skipped and the next one tried, so that
the budget is used whatever the project's size. Tokens are estimated at four characters (nocaap's rule:
8,000 tokens are about 32,000 characters).
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from syntropy.contract.config import Config
from syntropy.contract.identity import PROJECT_PACKAGE

CHARS_PER_TOKEN = 4
_SHORT = 80

_LEAST = 30
"""Characters a group needs besides its heading: the line that counts its documents."""

_CLOSING = 400
"""Characters kept for the line on what was left out."""

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

PACKAGE = "package"
"""Kind of a group that holds a package's documents of all kinds; their paths are not files of the project."""

_WITHOUT_KEY = ("rule", "doc", "term", PACKAGE)


class Line(NamedTuple):
    """One document in the overview: its list item without the summary, and the summary."""

    path: str
    item: str
    summary: str


class Group(NamedTuple):
    """Documents of one scope and kind, by path; `rows` are its list items as they are shown."""

    title: str
    lines: list[Line]
    rows: list[str]

    @property
    def size(self) -> int:
        """Characters of its lines."""
        return len(self.lines)


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

    whole = [group._replace(rows=[_row(line.item, line.summary) for line in group.lines]) for group in groups]
    text = render(whole, [])
    if estimate_tokens(text) <= config.render.index_max_tokens:
        return text
    budget = config.render.index_max_tokens * CHARS_PER_TOKEN
    kept, room = list(groups), 0
    while kept and (room := budget - len(render(kept, [])) - _CLOSING) < _LEAST * len(kept):
        kept = kept[: len(kept) * 9 // 10]  # more groups than the budget has room for headings
    shown, left_out = _Fitting(kept, room).result()
    if len(kept) < len(groups):
        left_out.append(
            f"{len(groups) - len(kept)} groups ({sum(group.size for group in groups[len(kept) :])} documents)"
        )
    return render(shown, left_out)


class _Folder:
    """A folder of a group: documents `first` to `end` lie below it; it is shown by its name until it is opened."""

    def __init__(self, path: str, first: int, end: int, depth: int) -> None:
        self.path, self.first, self.end, self.depth = path, first, end, depth
        self.shown = 0  # documents listed although the folder is not opened

    @property
    def row(self) -> str:
        count = self.end - self.first - self.shown
        place = f"`{self.path}/`: " if self.path else ""
        return f"- {place}{count} {'more ' if self.shown else ''}documents\n"


class _Fitting:
    """Spends `room` characters on the groups."""

    def __init__(self, groups: list[Group], room: int) -> None:
        self._groups, self._room = groups, room
        self._members: list[list[_Folder | int]] = [[] for _ in groups]
        """What each group shows, in order: folders, and positions of documents."""
        self._summaries: list[dict[int, str]] = [{} for _ in groups]

    def result(self) -> tuple[list[Group], list[str]]:
        """The groups with their rows, and what was left out."""
        self._open_folders()
        self._list_first_documents()
        self._add_summaries(_SHORT)
        self._add_summaries(None)
        return [self._shown(n) for n in range(len(self._groups))], self._left_out()

    def _open_folders(self) -> None:
        """Uppermost folders first, in the order of the groups; what is too large stays closed."""
        waiting: list[tuple[int, int, int, _Folder | None]] = [(0, n, 0, None) for n in range(len(self._groups))]
        serial = 0
        while waiting:
            depth, number, _, folder = heapq.heappop(waiting)
            members = self._members[number]
            inside = self._inside(number, folder)
            if len(inside) == 1 and isinstance(inside[0], _Folder) and folder is not None:
                inside[0].depth = depth  # a chain of folders is one step
            former = len(folder.row) if folder else -1  # the empty line between a heading and its rows
            cost = sum(len(self._row_of(number, member)) for member in inside) - former
            if cost > self._room and folder is None:
                whole = _Folder("", 0, len(self._groups[number].lines), 0)  # its first documents may still fit
                members[:] = [whole]
                self._room -= len(whole.row) + 1
                continue
            if cost > self._room:
                continue
            self._room -= cost
            if folder is None:
                members[:] = inside
            else:
                place = members.index(folder)
                members[place : place + 1] = inside
            for member in inside:
                if isinstance(member, _Folder):
                    serial += 1
                    heapq.heappush(waiting, (member.depth, number, serial, member))

    def _inside(self, number: int, folder: _Folder | None) -> list[_Folder | int]:
        """Folders and documents right below a folder, or of the whole group."""
        lines = self._groups[number].lines
        first, end, depth = (folder.first, folder.end, folder.depth + 1) if folder else (0, len(lines), 1)
        start = len(folder.path) + 1 if folder else 0
        found: list[_Folder | int] = []
        position = first
        while position < end:
            name, below, _ = lines[position].path[start:].partition("/")
            if not below:
                found.append(position)
                position += 1
                continue
            path = lines[position].path[: start + len(name)]
            last = position
            while last < end and lines[last].path.startswith(f"{path}/"):
                last += 1
            found.append(_Folder(path, position, last, depth))
            position = last
        return found

    def _list_first_documents(self) -> None:
        """Folders that stayed closed show their first documents, one each in turn while there is room."""
        closed = [
            (number, member)
            for number, members in enumerate(self._members)
            for member in members
            if isinstance(member, _Folder)
        ]
        while closed:
            still = []
            for number, folder in closed:
                position = folder.first + folder.shown
                cost = len(_row(self._groups[number].lines[position].item, "")) + len("more ")
                if cost <= self._room and folder.shown + 1 < folder.end - folder.first:
                    self._room -= cost
                    members = self._members[number]
                    members.insert(members.index(folder), position)
                    folder.shown += 1
                    still.append((number, folder))
            closed = still

    def _add_summaries(self, length: int | None) -> None:
        for number, members in enumerate(self._members):
            lines, known = self._groups[number].lines, self._summaries[number]
            for member in members:
                if isinstance(member, int) and lines[member].summary:
                    wanted = _short(lines[member].summary, length)
                    former = known.get(member, "")
                    cost = len(wanted) - len(former) if former else len(wanted) + 2
                    if cost <= self._room:
                        self._room -= cost
                        known[member] = wanted

    def _row_of(self, number: int, member: _Folder | int) -> str:
        if isinstance(member, _Folder):
            return member.row
        return _row(self._groups[number].lines[member].item, self._summaries[number].get(member, ""))

    def _shown(self, number: int) -> Group:
        rows = [self._row_of(number, member) for member in self._members[number]]
        return self._groups[number]._replace(rows=rows)

    def _left_out(self) -> list[str]:
        total = sum(group.size for group in self._groups)
        listed = [(n, m) for n, members in enumerate(self._members) for m in members if isinstance(m, int)]
        texts = [(self._groups[n].lines[m].summary, self._summaries[n].get(m, "")) for n, m in listed]
        notes = (
            (total - len(listed), "documents (counted by folder or group)"),
            (sum(bool(summary) and not shown for summary, shown in texts), "summaries"),
            (sum(bool(shown) and shown != summary for summary, shown in texts), "ends of summaries"),
        )
        return [f"{count} {what}" for count, what in notes if count]


def _groups(documents: pl.DataFrame) -> list[Group]:
    result = []
    for scope, kind, title in GROUPS:
        of_kind = (pl.col("scope") == scope) & (pl.col("kind") == kind)
        rows = documents.filter((pl.col("package") == PROJECT_PACKAGE) & of_kind)
        lines = [
            Line(path, _item(f"[{_one_line(name)}](<{path}>)", "" if kind in _WITHOUT_KEY else key), _one_line(summary))
            for path, key, name, summary in rows.select("path", "key", "title", "summary").iter_rows()
        ]
        if lines:
            result.append(Group(title, sorted(lines, key=_by_folder), []))
    others = documents.filter(pl.col("package") != PROJECT_PACKAGE).sort("package", "path")
    for (package,), rows in others.group_by("package", maintain_order=True):
        lines = [
            Line(path, _item(f"{_one_line(name)} `{package}:{path}`", ""), _one_line(summary))
            for path, name, summary in rows.select("path", "title", "summary").iter_rows()
        ]
        result.append(Group(f"Package {package}", sorted(lines, key=_by_folder), []))
    return result


def _by_folder(line: Line) -> list[str]:
    """Order in which all that lies below one folder stands together."""
    return line.path.split("/")


def _item(link: str, key: str) -> str:
    return f"- {link} `{key}`" if key else f"- {link}"


def _row(item: str, summary: str) -> str:
    return f"{item}: {summary}\n" if summary else f"{item}\n"


def _short(text: str, length: int | None) -> str:
    if length is None or len(text) <= length:
        return text
    return (text[: length - 1].rpartition(" ")[0] or text[: length - 1]) + "…"


def _one_line(text: str) -> str:
    """Text that cannot break out of its list item."""
    return " ".join(text.replace("|", "\\|").split())
