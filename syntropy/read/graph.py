"""Canonical and user relations as one graph, in memory.

Nodes are named by key where a document has one of its own (PRP id, entry id, entity id, `TK-001`), else by
path. Every edge can be walked both ways; against its direction it has its inverse type. Writing never
touches the canonical side: the graph is read from both and changes neither.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..contract.errors import DocumentNotFoundError, UsageError
from ..contract.identity import place_of
from ..contract.vocabulary import INVERSE_RELATIONS

if TYPE_CHECKING:
    from ..store.database import Database

MAX_DEPTH = 10
DEFAULT_DEPTH = 5
DIRECTIONS = ("out", "in", "both")
CANONICAL, TACIT = "canonical", "tacit"

_INVERSE = {
    **INVERSE_RELATIONS,
    **{inverse: kind for kind, inverse in INVERSE_RELATIONS.items()},
    "derives_from": "source_of",
    "applies_to": "applied_by",
    "supersedes": "superseded_by",
    "links_to": "linked_from",
    "references": "referenced_by",
    "depends_on": "needed_by",
    "implements": "implemented_by",
    "see_also": "see_also",
    "duplicate_of": "has_copy",
    "near_duplicate_of": "has_near_copy",
}


_TYPES = frozenset(_INVERSE) | frozenset(_INVERSE.values())
_WEAK = frozenset({"references", "referenced_by", "links_to", "linked_from", "see_also"})
"""Between ways of equal length those that say more are preferred."""


class Node(NamedTuple):
    """A document or an insight."""

    name: str
    title: str
    kind: str
    layer: str
    path: str


class Edge(NamedTuple):
    """A relation as it is walked: `type` in the direction of the walk."""

    start: str
    type: str
    end: str
    origin: str
    confidence: float
    evidence: str


class Path(NamedTuple):
    """The nodes from one end to the other, and the edges between them; its length counts hops."""

    nodes: list[Node]
    edges: list[Edge]

    @property
    def length(self) -> int:
        """Number of relations on the way."""
        return len(self.edges)


class UserRelation(NamedTuple):
    """A row of the notes: who it starts at, type, target, origin, confidence."""

    start: str
    type: str
    end: str
    origin: str
    confidence: float


class Graph:
    """Made once from a database and the notes; a copy with other notes shares the canonical side."""

    def __init__(
        self, database: Database | None, insights: Iterable[tuple[str, str]] = (), user: Iterable[UserRelation] = ()
    ) -> None:
        self._nodes: dict[str, Node] = {}
        self._aliases: dict[str, str] = {}
        self._out: dict[str, list[Edge]] = {}
        self._in: dict[str, list[Edge]] = {}
        self._both: dict[str, list[Edge]] = {}
        """What was asked for, what says more first."""

        if database is not None:
            self._read(database)
        for name, title in insights:
            self._nodes[name] = Node(name, title, "insight", TACIT, "")
        for relation in user:
            end = self._aliases.get(relation.end, relation.end)
            if relation.start in self._nodes and end in self._nodes:
                self._add(Edge(relation.start, relation.type, end, relation.origin, relation.confidence, ""))

    def entity(self, name: str) -> Node:
        """A node by key, path or id. Raises DocumentNotFoundError."""
        wanted = name.strip()
        for candidate in (wanted, wanted.upper(), f"{wanted}.md"):
            known = self._aliases.get(candidate, candidate)
            if known in self._nodes:
                return self._nodes[known]
        part = wanted.lower()
        near = sorted(n for n, node in self._nodes.items() if part in n.lower() or part in node.title.lower())
        hint = f"did you mean {', '.join(near[:3])}?" if near else "names are keys (RF-004, PRP-29.3) and paths"
        raise DocumentNotFoundError(f"nothing in the graph is called {name!r}", hint=hint)

    def neighbors(
        self, name: str, *, types: Sequence[str] = (), direction: str = "both", depth: int = 1
    ) -> list[tuple[int, Edge, Node]]:
        """(hops, edge it was reached by, node), nearest first. Raises UsageError, DocumentNotFoundError."""
        _check(direction, depth)
        for kind in types:
            if kind not in _TYPES:
                raise UsageError(f"unknown relation {kind!r}", hint=f"choose from: {', '.join(sorted(_TYPES))}")
        start = self.entity(name).name
        seen = {start}
        found: list[tuple[int, Edge, Node]] = []
        waiting = deque([(start, 0)])
        while waiting:
            current, hops = waiting.popleft()
            if hops == depth:
                continue
            for edge in self._edges(current, direction):
                if (not types or edge.type in types) and edge.end not in seen:
                    seen.add(edge.end)
                    found.append((hops + 1, edge, self._nodes[edge.end]))
                    waiting.append((edge.end, hops + 1))
        return found

    def path(self, start: str, end: str, *, max_depth: int = DEFAULT_DEPTH, weighted: bool = False) -> Path | None:
        """The shortest way, whatever the directions; `weighted` prefers sure relations. None where there is none.

        Raises UsageError for a depth out of 1-10; DocumentNotFoundError.
        """
        _check("both", max_depth)
        first, last = self.entity(start).name, self.entity(end).name
        if first == last:
            return Path([self._nodes[first]], [])
        edges = self._cheapest(first, last, max_depth) if weighted else self._shortest(first, last, max_depth)
        if edges is None:
            return None
        return Path([self._nodes[first], *(self._nodes[edge.end] for edge in edges)], edges)

    def related(self, name: str, *, limit: int = 10) -> list[tuple[Node, float, list[str]]]:
        """(node, score, why): nodes with neighbours in common (Jaccard) and those similar by their texts.

        Raises UsageError.
        """
        if limit < 1:
            raise UsageError(f"limit {limit} is out of range", hint="give 1 or more")
        start = self.entity(name).name
        own = {edge.end for edge in self._edges(start, "both") if edge.type != "see_also"}
        scores: dict[str, float] = {}
        why: dict[str, list[str]] = {}
        for shared in own:
            for edge in self._edges(shared, "both"):
                if edge.end != start and edge.type != "see_also":
                    why.setdefault(edge.end, []).append(shared)
        for other, common in why.items():
            theirs = {edge.end for edge in self._edges(other, "both") if edge.type != "see_also"}
            scores[other] = len(set(common)) / len(own | theirs)
        for edge in self._edges(start, "both"):
            if edge.type == "see_also":
                scores[edge.end] = scores.get(edge.end, 0.0) + edge.confidence / 2
                why.setdefault(edge.end, []).append("similar text")
        best = sorted(scores, key=lambda other: (-scores[other], other))[:limit]
        return [(self._nodes[n], round(min(1.0, scores[n]), 4), sorted(set(why[n]))) for n in best]

    def _read(self, database: Database) -> None:
        names: dict[int, str] = {}
        by_path = ("doc", "rule")  # kinds whose keys are file stems, which several documents may share
        for number, package, path, kind, key, title in database.rows(
            "SELECT document_id, package, path, kind, key, title FROM documents ORDER BY document_id"
        ):
            place = place_of(package, path)
            name = place if kind in by_path or key in self._nodes else key
            names[number] = name
            self._nodes[name] = Node(name, title, kind, CANONICAL, place)
            self._aliases.setdefault(place, name)
        for start, kind, end, origin, score, evidence in database.rows(
            "SELECT from_id, type, to_id, origin, score, evidence FROM relations WHERE to_id IS NOT NULL "
            "AND origin <> 'inverse' ORDER BY from_id, type, to_id, origin"
        ):
            self._add(Edge(names[start], kind, names[end], origin, float(score), evidence))

    def _add(self, edge: Edge) -> None:
        self._both.pop(edge.start, None)
        self._both.pop(edge.end, None)
        self._out.setdefault(edge.start, []).append(edge)
        self._in.setdefault(edge.end, []).append(
            edge._replace(start=edge.end, type=_INVERSE.get(edge.type, f"inverse of {edge.type}"), end=edge.start)
        )

    def _edges(self, name: str, direction: str) -> list[Edge]:
        if direction != "both":
            return (self._out if direction == "out" else self._in).get(name, [])
        known = self._both.get(name)
        if known is None:
            edges = [*self._out.get(name, []), *self._in.get(name, [])]
            known = self._both[name] = sorted(edges, key=lambda edge: edge.type in _WEAK)
        return known

    def _shortest(self, first: str, last: str, depth: int) -> list[Edge] | None:
        """Breadth first from both ends, always on the smaller side."""
        forward: dict[str, Edge | None] = {first: None}
        backward: dict[str, Edge | None] = {last: None}
        ahead, behind = [first], [last]
        for _ in range(depth):
            if not ahead or not behind:
                return None
            onward = len(ahead) <= len(behind)
            side, reached, other = (ahead, forward, backward) if onward else (behind, backward, forward)
            layer: list[str] = []
            meeting: list[str] = []
            for name in side:
                for edge in self._edges(name, "both"):
                    if edge.end in reached:
                        continue
                    reached[edge.end] = edge
                    layer.append(edge.end)
                    if edge.end in other:
                        meeting.append(edge.end)
            if meeting:
                ways = [self._joined(name, forward, backward) for name in sorted(set(meeting))]
                return min(ways, key=lambda edges: sum(edge.type in _WEAK for edge in edges))
            if onward:
                ahead = layer
            else:
                behind = layer
        return None

    def _joined(self, middle: str, forward: dict[str, Edge | None], backward: dict[str, Edge | None]) -> list[Edge]:
        edges: list[Edge] = []
        edge = forward[middle]
        while edge is not None:
            edges.insert(0, edge)
            edge = forward[edge.start]
        edge = backward[middle]
        while edge is not None:
            edges.append(self._turned(edge))
            edge = backward[edge.start]
        return edges

    def _turned(self, edge: Edge) -> Edge:
        """The same relation, walked the other way."""
        back = [e for e in self._edges(edge.end, "both") if e.end == edge.start and e.evidence == edge.evidence]
        kinds = (_INVERSE.get(edge.type, ""), edge.type.removeprefix("inverse of "), f"inverse of {edge.type}")
        return next((e for e in back if e.type in kinds or _INVERSE.get(e.type) == edge.type), back[0])

    def _cheapest(self, first: str, last: str, depth: int) -> list[Edge] | None:
        """Dijkstra over (node, hops); an edge costs the inverse of its confidence."""
        queue: list[tuple[float, int, str]] = [(0.0, 0, first)]
        best: dict[tuple[str, int], float] = {(first, 0): 0.0}
        came: dict[tuple[str, int], Edge] = {}
        while queue:
            cost, hops, name = heapq.heappop(queue)
            if name == last:
                edges: list[Edge] = []
                while hops:
                    edge = came[name, hops]
                    edges.insert(0, edge)
                    name, hops = edge.start, hops - 1
                return edges
            if hops == depth or cost > best[name, hops]:
                continue
            for edge in self._edges(name, "both"):
                total = cost + 1 / max(0.05, min(1.0, edge.confidence))
                state = (edge.end, hops + 1)
                if total < best.get(state, float("inf")):
                    best[state] = total
                    came[state] = edge
                    heapq.heappush(queue, (total, hops + 1, edge.end))
        return None


def _check(direction: str, depth: int) -> None:
    if direction not in DIRECTIONS:
        raise UsageError(f"unknown direction {direction!r}", hint=f"choose from: {', '.join(DIRECTIONS)}")
    if not 1 <= depth <= MAX_DEPTH:
        raise UsageError(f"depth {depth} is out of range", hint=f"give 1 to {MAX_DEPTH}")
