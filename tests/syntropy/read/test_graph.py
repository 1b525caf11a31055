"""Both layers as one graph."""

import random
import time

import pytest

from syntropy.contract.errors import DocumentNotFoundError, UsageError
from syntropy.read.graph import Edge, Graph, Node, UserRelation


@pytest.fixture(scope="module")
def graph(demo):
    import syntropy

    with syntropy.open(demo) as knowledge:
        user = [
            UserRelation("TK-001", "derives_from", "RF-004", "auto", 0.5),
            UserRelation("TK-002", "supersedes", "TK-001", "user", 0.9),
        ]
        yield Graph(knowledge.database, [("TK-001", "An insight"), ("TK-002", "A newer one")], user)


def test_a_path_from_an_insight_through_a_refactoring_to_a_smell(graph):
    found = graph.path("TK-001", "SMELL-002")
    assert [n.name for n in found.nodes] == ["TK-001", "RF-004", "SMELL-002"]
    assert [e.type for e in found.edges] == ["derives_from", "solves"]
    assert [n.layer for n in found.nodes] == ["tacit", "canonical", "canonical"]
    back = graph.path("SMELL-002", "TK-001", weighted=True)
    assert [e.type for e in back.edges] == ["solved_by", "source_of"]
    assert back.length == 2


def test_entities_by_key_path_and_id(graph):
    assert graph.entity("RF-004").title == "Extract Class"
    assert graph.entity("raw/refactoring/extract-class.md").name == "RF-004"
    assert graph.entity("cmd-gw-users-list").kind == "command"
    assert graph.entity("docs/faq").kind == "doc"
    with pytest.raises(DocumentNotFoundError, match="nothing"):
        graph.entity("RF-999")


def test_neighbors_by_type_direction_and_depth(graph):
    near = graph.neighbors("SMELL-002", types=["solved_by"])
    assert {n.kind for _, _, n in near} <= {"refactoring", "design-pattern"}
    assert {e.type for _, e, _ in near} == {"solved_by"}
    assert graph.neighbors("TK-001", direction="in") and all(
        e.type == "superseded_by" for _, e, _ in graph.neighbors("TK-001", direction="in")
    )
    assert max(h for h, _, _ in graph.neighbors("TK-002", depth=3)) == 3
    for bad in ({"depth": 0}, {"depth": 11}, {"direction": "up"}):
        with pytest.raises(UsageError):
            graph.neighbors("TK-001", **bad)


def test_no_path_and_the_way_to_oneself(graph):
    assert graph.path("TK-001", "TK-001").length == 0
    assert graph.path("TK-002", "SMELL-002", max_depth=2) is None
    assert graph.path("TK-002", "SMELL-002", max_depth=3).length == 3


def test_related(graph):
    found = graph.related("RF-004", limit=5)
    assert len(found) == 5
    assert all(0 < score <= 1 and why for _, score, why in found)


def random_graph(chooser, *, nodes, edges):
    graph = Graph(None)
    for n in range(nodes):
        graph._nodes[f"n{n}"] = Node(f"n{n}", "", "doc", "canonical", "")
    for _ in range(edges):
        a, b = chooser.sample(range(nodes), 2)
        graph._add(Edge(f"n{a}", "references", f"n{b}", "id", 1.0, ""))
    return graph


def test_shortest_paths_equal_a_plain_search():
    chooser = random.Random(3)
    graph = random_graph(chooser, nodes=60, edges=90)
    for _ in range(60):
        a, b = (f"n{x}" for x in chooser.sample(range(60), 2))
        hops = {n.name: h for h, _, n in graph.neighbors(a, depth=10)}
        found = graph.path(a, b, max_depth=10)
        assert (found.length if found else None) == hops.get(b)
        if found:
            assert all(x.end == y.start for x, y in zip(found.edges, found.edges[1:], strict=False))
            weighted = graph.path(a, b, max_depth=10, weighted=True)
            assert weighted.length == found.length


def test_large_graphs_are_quick_enough_to_answer():
    chooser = random.Random(1)
    graph = random_graph(chooser, nodes=20_000, edges=100_000)
    times = []
    for _ in range(20):
        a, b = (f"n{x}" for x in chooser.sample(range(20_000), 2))
        started = time.perf_counter()
        assert graph.path(a, b) is not None
        times.append(time.perf_counter() - started)
    print(sorted(times)[10])
