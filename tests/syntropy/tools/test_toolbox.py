"""Tools under arguments and documents nobody would expect: answers stay answers, and within their bounds."""

from __future__ import annotations

import json
import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import syntropy
from syntropy.cli.main import main
from syntropy.contract.budget import tokens
from syntropy.tools.edition import Publication
from syntropy.tools.table import GROUPS, TOOLS
from syntropy.tools.toolbox import Toolbox
from tests.quick import build

CONCISE, DETAILED = 2_000, 8_000
LINES = "\n".join(f'A "quoted" line \\ {n} with a lamp and 한국어 환영합니다.' for n in range(3_000))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Everything too large at once."""
    root = tmp_path_factory.mktemp("large")
    (root / "docs").mkdir()
    (root / "knowledge").mkdir()
    (root / "docs/large.md").write_text(f"# Large lamp\n\n{LINES}\n")
    (root / "docs/line.md").write_text("# Line\n\n" + 'lamp "x" ' * 9_000 + "\n")
    (root / "docs/headings.md").write_text(
        "# Many\n\n" + "".join(f"## Heading {n} of the lamp\n\ntext\n\n" for n in range(4_000))
    )
    links = "".join(f"- [{n}](page-{n}.md)\n" for n in range(800))
    (root / "docs/hub.md").write_text(f"# Hub\n\n{links}\n")
    for n in range(800):
        (root / f"docs/page-{n}.md").write_text(f"# Page {n} of the lamp\n\nShort.\n")
    entries = [
        {"id": f"cmd-{n}", "type": "command", "title": f"lamp turn {n} <angle>", "category": f"category number {n}",
         "summary": "Turns it. " * 20, "content": "Turns the lamp. " * 450 + "\n\n**Never run this twice.**"}
        for n in range(180)
    ]  # fmt: skip
    (root / "knowledge/commands.json").write_text(json.dumps({"entries": entries}))
    (root / "CLAUDE.md").write_text(
        "# Rules\n\n" + "".join(f"- Never do {n} {'very ' * 60} badly\n" for n in range(200))
    )
    (root / "syntropy.toml").write_text("[embed]\nenabled = false\n")
    build(root)
    with syntropy.open_notes(root) as memory:
        memory.rules(write=True).save("long", "Always " + "한국어 " * 2_000, now="2026-11-22T00:00:00Z")
        for n in range(60):
            memory.rules(write=True).save(f"r{n:02}", f"Never {n}", now="2026-11-22T00:00:00Z")
            memory.notes(write=True).save("issue", f"lamp {n} " + "한국어 " * 300, now=f"2026-11-22T00:00:{n:02}Z")
        for _ in range(30):
            memory.add_insight("The lamp " + "한국어 " * 3_000)
    return root


@pytest.fixture(scope="module")
def box(root):
    with Publication(lambda: syntropy.open(project=root)) as publication:
        yield Toolbox(publication, GROUPS)


CALLS = [
    ("get_overview", {}),
    ("search_knowledge", {"query": "lamp", "limit": 50}),
    ("search_knowledge", {"query": "lamp"}),
    ("get_document", {"path": "docs/large.md"}),
    ("get_document", {"path": "docs/line.md"}),
    ("get_section", {"path": "docs/headings.md", "heading": "Many"}),
    ("get_section", {"path": "docs/headings.md", "heading": "nope"}),
    ("list_contexts", {}),
    ("get_context", {"task": "turn the lamp", "budget": 2000}),
    ("get_command", {"name": "lamp turn 7"}),
    ("list_commands", {}),
    ("list_commands", {"category": "nope"}),
    ("get_entity", {"name": "docs/hub.md"}),
    ("get_entity", {"name": "TK-001"}),
    ("get_neighbors", {"name": "docs/hub.md", "limit": 50}),
    ("find_path", {"start": "docs/page-1.md", "end": "docs/page-2.md"}),
    ("search_insights", {"query": "lamp", "limit": 20}),
    ("list_rules", {}),
    ("list_notes", {"limit": 200}),
    ("get_document", {"path": "x" * 200_000}),
    ("x" * 100_000, {}),
    ("get_document", {"y" * 100_000: 1}),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_every_answer_stays_within_its_bounds(box, name, arguments):
    assert tokens(box.call(name, arguments).text) <= CONCISE
    tool = box.tools.get(name)
    if tool is not None and any(p.name == "detailed" for p in tool.parameters):
        answer = box.call(name, {**arguments, "detailed": True})
        assert tokens(answer.text) <= DETAILED
        assert answer.error == box.call(name, arguments).error


@pytest.mark.parametrize("budget", [200, 230, 300, 500, 2_000, 8_000])
@pytest.mark.parametrize("task", ["turn the lamp", "🚀" * 200, 'a "b" ' * 300, "한국어"])
def test_a_context_keeps_the_budget_it_was_given(box, task, budget):
    answer = box.call("get_context", {"task": task, "budget": budget})
    assert not answer.error
    assert tokens(answer.text) <= budget


def test_what_is_cut_is_said(box):
    for name, arguments in [("get_command", {"name": "lamp turn 7"}), ("get_entity", {"name": "docs/large.md", "detailed": True}),
                            ("get_entity", {"name": "docs/hub.md"})]:  # fmt: skip
        assert "get_" in box.call(name, arguments).structured["next"]


@pytest.mark.parametrize(
    ("name", "arguments", "key"),
    [
        ("list_commands", {"detailed": True}, "commands"),
        ("get_overview", {"detailed": True}, "documents"),
        ("get_neighbors", {"name": "docs/hub.md", "limit": 50}, "neighbors"),
        ("list_notes", {"limit": 7}, "notes"),
        ("search_insights", {"query": "lamp", "limit": 3}, "insights"),
        ("list_rules", {}, "rules"),
        ("search_knowledge", {"query": "page", "limit": 20}, "answer"),
        ("get_document", {"path": "docs/line.md"}, "text"),
    ],
)
def test_pages_follow_each_other_without_a_gap_or_a_repetition(box, name, arguments, key):
    seen, cursor = [], ""
    for _ in range(30):
        answer = box.call(name, {**arguments, **({"cursor": cursor} if cursor else {})})
        assert not answer.error, answer.text
        value = answer.structured[key]
        seen += [json.dumps(one) for one in value] if isinstance(value, list) else [value]
        cursor = answer.structured.get("next_cursor", "")
        if not cursor:
            break
    assert len(seen) > 1
    if name not in ("get_document", "search_insights"):
        assert len(seen) == len(set(seen))
    counts = {"list_notes": 60, "search_insights": 20, "list_rules": 61, "get_neighbors": 800}
    assert len(seen) == counts.get(name, len(seen)) or cursor


def test_a_cursor_belongs_to_its_question_and_its_listing(root):
    with Publication(lambda: syntropy.open(project=root)) as publication:
        box = Toolbox(publication, GROUPS)
        cursor = box.call("search_knowledge", {"query": "page"}).structured["next_cursor"]
        for name, arguments in [("search_knowledge", {"query": "lamp"}), ("get_document", {"path": "docs/large.md"})]:
            answer = box.call(name, {**arguments, "cursor": cursor})
            assert answer.error
            assert "other arguments" in answer.text
        notes = box.call("list_notes", {"limit": 5}).structured["next_cursor"]
        saved = box.call("save_note", {"type": "issue", "content": "one more"}).structured["id"]
        assert "has changed" in box.call("list_notes", {"limit": 5, "cursor": notes}).text
        with sqlite3.connect(root / ".context/notes.sqlite") as connection:
            connection.execute("DELETE FROM entries WHERE id = ?", (saved,))
        connection.close()


WRONG = [
    ("search_knowledge", {"query": "lamp", "limit": 5.0}, False),
    ("get_neighbors", {"name": "docs/hub.md", "depth": 1.0}, False),
    ("search_knowledge", {"query": "lamp", "limit": 2.5}, True),
    ("search_knowledge", {"query": "\ud800lamp", "tags": ["\udfff"], "where": {"\ud800": "\udfff"}}, False),
    ("list_notes", {"project": "\ud800"}, False),
    ("get_document", {"path": "docs/large.md", "lines": "9" * 5_000}, True),
    ("get_document", {"path": f"docs/large.md#L{'9' * 5_000}"}, False),  # no lines: an anchor
    ("get_document", {"path": "docs/large.md", "cursor": "9" * 5_000}, True),
    ("search_knowledge", {"query": "lamp", "where": {'a"b': "c"}}, True),
    ("search_knowledge", {"query": None}, True),
    ("search_knowledge", {"query": "\x00"}, False),
]


@pytest.mark.parametrize(("name", "arguments", "error"), WRONG)
def test_odd_arguments_get_an_answer(box, name, arguments, error):
    answer = box.call(name, arguments)
    assert answer.error == error, answer.text
    assert "inside syntropy" not in answer.text


VALUES = st.one_of(st.text(max_size=30), st.integers(-5, 10**6), st.floats(), st.booleans(), st.none(),
                   st.lists(st.text(max_size=8), max_size=3), st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2))  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_arguments_at_all_get_an_answer(box, data):
    tool = data.draw(st.sampled_from([tool for tool in TOOLS if not tool.writes]))
    names = st.sampled_from([p.name for p in tool.parameters] + ["nope"])
    answer = box.call(tool.name, data.draw(st.dictionaries(names, VALUES, max_size=4)))
    assert "inside syntropy" not in answer.text
    json.dumps(answer.structured)


def test_an_insight_may_be_about_any_document(box):
    answer = box.call("add_insight", {"text": "Pages like this one are short", "linked_entities": ["docs/page-1.md"]})
    assert not answer.error, answer.text
    near = box.call("get_neighbors", {"name": "docs/page-1.md"}).text
    assert answer.structured["id"] in near


def test_it_says_when_it_does_not_know(demo):
    with Publication(lambda: syntropy.open(project=demo)) as publication:
        box = Toolbox(publication)
        absent = box.call("search_knowledge", {"query": "who won the football world cup in 1998"})
        assert absent.text.startswith("not_here: there is no answer in this knowledge: 1998 occurs nowhere")
        assert absent.text.count("#L") <= 1  # the nearest one
        good = box.call("search_knowledge", {"query": "how do we retry failed carrier webhooks"})
        assert "not_here" not in good.text
        assert "docs/guides/retries.md#L" in good.text
        none = box.call("search_knowledge", {"query": "zzzqqq"})
        assert "#L" not in none.text
        assert "zzzqqq occurs nowhere" in none.text


def test_damaged_notes_are_said(demo, tmp_path, capsys):
    notes = tmp_path / "notes"
    (notes / ".context").mkdir(parents=True)
    (notes / "syntropy.toml").write_text("")
    (notes / ".context/notes.sqlite").write_bytes(b"no database at all" * 100)
    with Publication(lambda: syntropy.open(project=notes, out=demo / "build")) as publication:
        box = Toolbox(publication, GROUPS)
        assert box.call("list_rules", {}).error
        detailed = box.call("list_rules", {"detailed": True}).structured
        assert "saved rules were left out" in detailed["warning"]
        assert detailed["rules"]
        assert "left out" in box.call("search_knowledge", {"query": "webhooks"}).structured["warning"]
    assert main(["context", "webhooks", "--project", str(notes), "--out", str(demo / "build")]) == 0
    assert "left out" in capsys.readouterr().err
