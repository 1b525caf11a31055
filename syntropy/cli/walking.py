"""`syntropy graph`: relations of documents, entities and insights."""

from __future__ import annotations

import argparse
from typing import Any

from syntropy.cli.output import print_json, printable, show, split
from syntropy.cli.place import notebook_of


def entity(given: argparse.Namespace) -> int:
    """A node with its relations."""
    with notebook_of(given) as notebook:
        graph = notebook.graph()
        node = graph.entity(given.name)
        around = graph.neighbors(given.name)
    if given.json:
        print_json({**node._asdict(), "relations": [_edge(edge, other) for _, edge, other in around]})
        return 0
    print(printable(f"{node.name}  [{node.kind}, {node.layer}]  {node.title}  {node.path}"))
    for _, edge, other in around:
        print(printable(f"  {edge.type} {other.name} {other.title} ({edge.origin})"))
    return 0


def neighbors(given: argparse.Namespace) -> int:
    """What is near a node."""
    with notebook_of(given) as notebook:
        found = notebook.graph().neighbors(
            given.name, types=split(given.type), direction=given.direction, depth=given.depth
        )

    def lines() -> None:
        for hops, edge, node in found:
            print(
                printable(f"{hops}  {edge.start} {edge.type} {node.name}  [{node.kind}] {node.title} ({edge.origin})")
            )

    show(given, [{"hops": hops, **_edge(edge, node)} for hops, edge, node in found], lines)
    return 0 if found else 1


def path(given: argparse.Namespace) -> int:
    """The shortest way between two nodes."""
    with notebook_of(given) as notebook:
        found = notebook.graph().path(given.start, given.end, max_depth=given.max_depth, weighted=given.weighted)
    if found is None:
        show(given, {"length": None, "steps": []}, lambda: print(f"no path within {given.max_depth} steps"))
        return 1
    if given.json:
        steps = [_edge(edge, node) for edge, node in zip(found.edges, found.nodes[1:], strict=True)]
        print_json({"length": found.length, "start": found.nodes[0]._asdict(), "steps": steps})
        return 0
    first = found.nodes[0]
    print(printable(f"{first.name}  [{first.kind}] {first.title}"))
    for edge, node in zip(found.edges, found.nodes[1:], strict=True):
        print(printable(f"  {edge.type} ({edge.origin})\n{node.name}  [{node.kind}] {node.title}"))
    return 0


def related(given: argparse.Namespace) -> int:
    """Nodes with neighbours in common, and similar ones."""
    with notebook_of(given) as notebook:
        found = notebook.graph().related(given.name, limit=given.limit)

    def lines() -> None:
        for node, score, why in found:
            print(printable(f"{score:.3f}  {node.name}  [{node.kind}] {node.title} (by {', '.join(why[:4])})"))

    show(given, [{**node._asdict(), "score": score, "why": why} for node, score, why in found], lines)
    return 0 if found else 1


def _edge(edge: Any, node: Any) -> dict[str, object]:
    return {
        "from": edge.start,
        "type": edge.type,
        "name": node.name,
        "title": node.title,
        "kind": node.kind,
        "layer": node.layer,
        "origin": edge.origin,
        "confidence": edge.confidence,
        "evidence": edge.evidence,
    }
