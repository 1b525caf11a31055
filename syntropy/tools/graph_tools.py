"""The tools of the group `graph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..contract.untrusted import Data
from ..read.graph import TACIT, Edge, Node
from .desk import CONCISE_TOKENS, DETAILED_TOKENS, Desk, fitting, following, page, position

FEW_EDGES, MOST_EDGES = 10, 60
"""Relations in an answer, concise and detailed; `get_neighbors` pages through all."""

ENTITY_TOKENS = DETAILED_TOKENS - 2_000


def get_entity(desk: Desk, *, name: str, detailed: bool = False) -> dict[str, Any]:
    """An entity, entry, document or insight with its summary (`detailed`: its text) and relations."""
    graph = desk.graph()
    node = graph.entity(name)
    edges = [edge for _, edge, _ in graph.neighbors(node.name)]
    shown = edges[: MOST_EDGES if detailed else FEW_EDGES]
    answer: dict[str, Any] = {"entity": _node(node), "relations": [_edge(edge) for edge in shown]}
    rest = [f"{len(edges) - len(shown)} more relations: get_neighbors"] * (len(shown) < len(edges))
    if node.layer == TACIT:
        with desk.memory() as memory:
            insight = memory.insights().get(node.name)
        text, answer["confidence"] = insight.content, insight.confidence
    else:
        document = desk.knowledge.document(node.path)
        text = document.text if detailed else document.summary
    piece = page(text, desk, "", ENTITY_TOKENS if detailed else CONCISE_TOKENS)
    if piece.next_cursor:
        rest.append("the text goes on: get_document" if node.path else "the text goes on: `syntropy insight show`")
    return {**answer, "text": Data(piece.text), **({"next": "; ".join(rest)} if rest else {})}


def get_neighbors(
    desk: Desk,
    *,
    name: str,
    types: Sequence[str] = (),
    direction: str = "both",
    depth: int = 1,
    limit: int = 20,
    cursor: str = "",
) -> dict[str, Any]:
    """Nodes within some steps, nearest first."""
    start = position(desk, cursor)
    found = desk.graph().neighbors(name, types=types, direction=direction, depth=depth)
    near = [{**_node(node), "steps": hops, "by": _edge(edge)} for hops, edge, node in found]
    shown, more = fitting(near, desk, start, limit, CONCISE_TOKENS)
    return {"count": len(found), "neighbors": shown, **following(more)}


def find_path(desk: Desk, *, start: str, end: str, max_depth: int = 5) -> dict[str, Any]:
    """The shortest way between two nodes."""
    found = desk.graph().path(start, end, max_depth=max_depth)
    if found is None:
        return {"length": -1, "nodes": [], "relations": [], "next": f"no way of at most {max_depth} steps"}
    return {
        "length": found.length,
        "nodes": [_node(node) for node in found.nodes],
        "relations": [_edge(edge) for edge in found.edges],
    }


def _node(node: Node) -> dict[str, str]:
    return {"name": node.name, "title": node.title, "kind": node.kind, **({"path": node.path} if node.path else {})}


def _edge(edge: Edge) -> str:
    return f"{edge.start} {edge.type} {edge.end}"
