"""Context packs: the best passages for a task, what they rest on, and the rules that apply, within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..contract.budget import cut, tokens
from ..contract.errors import UsageError
from ..contract.identity import PROJECT_PACKAGE, Citation, place_of
from ..contract.text import idf, index_terms
from ..notes.notebook import SAVED
from ..read.applicable import about
from ..read.citations import proven
from ..read.graph import CANONICAL, Graph
from ..read.knowledge import Knowledge, Rule
from ..search.excerpt import excerpt
from ..search.passages import Hit
from ..search.ranking import Results
from ..search.second_look import NAMED_KINDS

MIN_BUDGET, MAX_BUDGET = 150, 100_000

CANDIDATES = 24
"""Passages looked at for a pack."""

RULES_SHARE = 0.2
PREREQUISITES_SHARE = 0.2
"""Of the budget, at most; what they leave, passages take."""

RELEVANT = 0.6
"""Share of the best passage's score below which passages fill a budget and tell nothing."""

ENTRY_FIRST = 0.75
"""Share of the best passage's score from which a command or another entry goes first: it was written for the task."""

RULE_SHARE = 0.2
"""Of the task's information a rule has to hold to apply; half of it where the rule's folder holds a passage."""

SAME = 0.8
"""Share of common words from which a passage says nothing new (as for handoffs, see `notes.session`)."""

NEEDED = ("depends_on", "requires", "derives_from")
AROUND = ("implements", "solves", "enforces", "enables", "related_to", "violates", "solved_by")
"""Relations of a passage's document that lead to what it rests on, and to what lies next to it."""

MOST_LINKED = 8
"""Documents looked at for each of both."""

_LEFT_OUT_TOKENS = 60
TITLE_TOKENS = 40
_ENTRY_TOKENS = 150


class Part(NamedTuple):
    """A piece of a pack. `role`: rule, passage, prerequisite or neighbour."""

    role: str
    citation: str
    title: str
    text: str

    def markdown(self) -> str:
        """As it stands in the pack."""
        if self.role == "rule":
            return f"- {self.text} [{self.citation}]"
        return f"### {self.title}\n[{self.citation}]\n{self.text}"


_HEADINGS = {
    "rule": "## Rules that apply",
    "passage": "## Passages",
    "prerequisite": "## What they rest on",
    "neighbour": "## Next to them",
}


@dataclass(frozen=True)
class Pack:
    """Parts in reading order; `left_out` says what the budget did not hold."""

    task: str
    parts: list[Part]
    left_out: str
    warning: str = ""
    not_here: str = ""

    def text(self) -> str:
        """Markdown, within the budget it was packed for; what is not here is said first."""
        return _written(_head(self.task, self.not_here), self.parts, self.left_out)

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return {
            "task": self.task,
            "not_here": self.not_here,
            "tokens": tokens(self.text()),
            "parts": [part._asdict() for part in self.parts],
            "left_out": self.left_out,
            "warning": self.warning,
        }


def context_pack(
    knowledge: Knowledge,
    graph: Graph,
    task: str,
    *,
    budget: int,
    saved_rules: Sequence[str] = (),
    files: Sequence[str] = (),
    mode: str = "",
) -> Pack:
    """What to know before a task is begun; `files` it is about bring the rules whose scope they lie in.

    Raises UsageError for a blank task or a budget out of range.
    """
    if not MIN_BUDGET <= budget <= MAX_BUDGET:
        raise UsageError(f"a budget of {budget} tokens is out of range", hint=f"give {MIN_BUDGET} to {MAX_BUDGET}")
    found = knowledge.search(task, mode=mode, limit=CANDIDATES, hits_per_document=2)
    hits = _telling(found)
    owners = [hit.citation for hit in hits]
    texts = _texts(knowledge, [place_of(c.package, c.path) for c in owners])
    passages = _distinct(
        Part("passage", _proven(texts, hit.citation), _title(hit.title, hit.headings), hit.text.strip()) for hit in hits
    )
    rules = _rules(knowledge, "" if found.not_here else task, [c.path for c in owners], saved_rules, files)
    lead = [] if found.not_here else owners  # what is next to a passage that answers nothing answers nothing
    names = list(dict.fromkeys(place_of(citation.package, citation.path) for citation in lead))[:5]
    needed, around = _linked(knowledge, graph, names, NEEDED), _linked(knowledge, graph, names, AROUND)
    shelf = _Shelf(_head(task, found.not_here), budget)
    shelf.take(rules, RULES_SHARE)
    shelf.take([part._replace(role="prerequisite") for part in needed], PREREQUISITES_SHARE)
    shelf.take(passages, 1.0)
    shelf.take([part for part in around if part.citation not in {n.citation for n in needed}], 1.0)
    return Pack(task, shelf.ordered(), shelf.left_out(), found.warning, found.not_here)


@dataclass
class _Shelf:
    """What has been packed under a head, and what did not fit."""

    head: str
    budget: int
    parts: list[Part] = field(default_factory=list)
    left: list[Part] = field(default_factory=list)

    def take(self, parts: Sequence[Part], share: float) -> None:
        """Pack parts in their order while they fit; a first passage that is too long is cut."""
        limit = min(self.budget - _LEFT_OUT_TOKENS, self._used() + int(self.budget * share))
        for part in parts:
            if self._used(part) <= limit:
                self.parts.append(part)
            elif part.role == "passage" and not any(p.role == "passage" for p in self.parts):
                room = limit - self._used(part._replace(text=""))
                if room > 0:
                    self.parts.append(_shortened(part, room))
                self.left.append(part)
            else:
                self.left.append(part)

    def ordered(self) -> list[Part]:
        """Rules, passages, what they rest on, what lies next to them."""
        roles = list(_HEADINGS)
        return sorted(self.parts, key=lambda part: roles.index(part.role))

    def left_out(self) -> str:
        """One line on what was left out, naming the best of it as far as the budget holds."""
        if not self.left:
            return "Left out: nothing."
        counts = {role: sum(part.role == role for part in self.left) for role in _HEADINGS}
        line = "Left out: " + ", ".join(f"{n} {role}{'s' if n > 1 else ''}" for role, n in counts.items() if n) + "."
        named: list[str] = []
        for part in self.left:
            longer = f"{line} First: {', '.join([*named, part.citation])}"
            if tokens(_written(self.head, self.parts, longer)) > self.budget or len(named) == 3:
                break
            named.append(part.citation)
        return f"{line} First: {', '.join(named)}" if named else line

    def _used(self, *more: Part) -> int:
        return tokens(_written(self.head, [*self.parts, *more], ""))


def _shortened(part: Part, room: int) -> Part:
    """Its beginning, up to a block's end, and the lines of that in its citation (without the digest of the whole)."""
    piece = excerpt(part.text, room)
    text = part.text[piece.start : piece.end]
    place, _, lines = part.citation.partition("~")[0].rpartition("#L")
    start = int(lines.partition("-")[0])
    citation = f"{place}#L{start}-L{start + text.count(chr(10))}"
    return part._replace(citation=citation, text=f"{text}{piece.closing}\n…")


def _head(task: str, not_here: str) -> str:
    title = f"# Context for: {cut(' '.join(task.split()), TITLE_TOKENS).rstrip()}"
    return f"Not here: {cut(not_here, TITLE_TOKENS).rstrip()}.\n\n{title}" if not_here else title


def _telling(found: Results) -> list[Hit]:
    """Hits while they tell something; an entry that was written for the task first; the nearest where there is none."""
    if found.not_here or not found.hits:
        return found.hits[:1]
    best = found.hits[0].score
    kept = [hit for hit in found.hits if hit.score >= RELEVANT * best]
    entry = next((hit for hit in kept if hit.kind in NAMED_KINDS and hit.score >= ENTRY_FIRST * best), None)
    return [entry, *(hit for hit in kept if hit is not entry)] if entry else kept


def _written(head: str, parts: Sequence[Part], left_out: str) -> str:
    lines = [head]
    for role, heading in _HEADINGS.items():
        of_role = [part.markdown() for part in parts if part.role == role]
        if of_role:
            lines += ["", heading, *of_role]
    return "\n".join([*lines, "", left_out]).strip() + "\n"


def _distinct(parts: Iterable[Part]) -> list[Part]:
    """Parts in their order without those that say what an earlier one says."""
    kept: list[tuple[Part, frozenset[str]]] = []
    for part in parts:
        words = frozenset(index_terms(part.text))
        if not any(len(words & other) >= SAME * max(1, len(words)) for _, other in kept):
            kept.append((part, words))
    return [part for part, _ in kept]


def _rules(
    knowledge: Knowledge, task: str, paths: Sequence[str], saved: Sequence[str], files: Sequence[str]
) -> list[Part]:
    """Saved rules; those about the files; then those that hold enough of the task's words, a folder's own first there.

    Rare words weigh most. Where files are named, rules about others are left out.
    """
    every = knowledge.rules()
    bound = about(every, files)
    rules = [rule for rule in every if rule not in bound and not (files and rule.applies_to)]
    words = [set(index_terms(f"{rule.heading} {rule.text}")) for rule in rules]
    weights = {term: idf(len(rules), sum(term in own for own in words)) for term in set(index_terms(task))}
    whole = sum(weights.values())
    scored = []
    for number, (rule, own) in enumerate(zip(rules, words, strict=True)):
        folder = rule.path.rpartition(":")[2].rpartition("/")[0]
        local = bool(folder) and not folder.startswith(".") and any(path.startswith(f"{folder}/") for path in paths)
        share = sum(weight for term, weight in weights.items() if term in own) / whole if whole else 0.0
        if share >= (RULE_SHARE / 2 if local else RULE_SHARE):
            scored.append(((-share - local, number), _rule(rule)))
    scored.sort(key=lambda entry: entry[0])
    mine = [Part("rule", SAVED, "", " ".join(text.split())) for text in saved]
    return [*mine, *map(_rule, bound), *(part for _, part in scored)]


def _rule(rule: Rule) -> Part:
    return Part("rule", f"{rule.path}#L{rule.line}-L{rule.line}", rule.heading, rule.text)


def _linked(knowledge: Knowledge, graph: Graph, names: Sequence[str], types: Sequence[str]) -> list[Part]:
    """Beginnings of the documents that others lead to by some relations."""
    direction = "out" if types == NEEDED else "both"
    found = {
        node.path: (node, edge)
        for name in reversed(names)
        for _, edge, node in reversed(graph.neighbors(name, types=types, direction=direction))
        if node.layer == CANONICAL and node.name not in names and node.path not in names
    }
    nodes = list(reversed(found.values()))[:MOST_LINKED]
    texts = _texts(knowledge, [node.path for node, _ in nodes])
    parts = []
    for node, edge in nodes:
        text = texts[node.path]
        lines = text.text.split("\n")
        start = next((n for n, line in enumerate(lines, 1) if line.startswith("# ")), 1)
        whole = "\n".join(lines[start - 1 :])
        piece = excerpt(whole, _ENTRY_TOKENS)
        body = whole[piece.start : piece.end]
        citation = Citation(text.package, text.commit, text.path, start, start + body.count("\n"))
        body += piece.closing
        title = f"{node.title} ({edge.start} {edge.type} it)"
        parts.append(Part("neighbour", _proven(texts, citation), title, body))
    return parts


class _Text(NamedTuple):
    package: str
    commit: str
    path: str
    text: str


def _texts(knowledge: Knowledge, places: Sequence[str]) -> dict[str, _Text]:
    """Documents by their places, in one question."""
    rows = knowledge.database.rows(
        'SELECT package, "commit", path, text FROM documents '
        "WHERE list_contains(?, if(package = ?, path, package || ':' || path))",
        [list(places), PROJECT_PACKAGE],
    )
    return {place_of(row[0], row[2]): _Text(*row) for row in rows}


def _proven(texts: dict[str, _Text], citation: Citation) -> str:
    """With the digest of the lines it names (a chunk may begin within a line)."""
    lines = texts[place_of(citation.package, citation.path)].text.split("\n")
    return proven(citation, "\n".join(lines[citation.line_start - 1 : citation.line_end]))


def _title(title: str, headings: str) -> str:
    last = headings.rpartition(" > ")[2]
    return f"{title}: {last}" if last and last != title else title
