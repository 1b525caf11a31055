"""Entries of a command reference: the seed's schema, in every form it is written."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.formats import entries, glossary, help_content
from pipeline.formats import jupyter as notebook
from pipeline.formats.expand import expand
from pipeline.text.frontmatter import read_frontmatter
from tests.conftest import DATA, ROOT

KNOWLEDGE = ROOT / "examples/acme/knowledge"
ENTRY = {
    "id": "cmd-a",
    "type": "command",
    "title": "a <b>",
    "summary": "Does a.",
    "content": "**A**",
    "keywords": ["k"],
}


def one(entry, name="e.json"):
    return entries.pages(json.dumps([entry]), name)


def test_object_and_bare_array_are_the_same():
    bare, wrapped = json.dumps([ENTRY]), json.dumps({"entries": [ENTRY]})
    assert entries.pages(bare, "a.json") == entries.pages(wrapped, "a.json")
    assert [p.id for p in entries.pages(bare, "a.json").pages] == ["cmd-a"]


def test_all_of_an_entry_is_in_its_page():
    more = {
        "aliases": ["x y"],
        "examples": [{"description": "Try", "code": "a 1", "output": "ok"}],
        "since": {"version": "2"},
    }
    page = one({**ENTRY, **more, "category": "c", "relatedIds": ["z"]}).pages[0]
    metadata = read_frontmatter(page.text).metadata
    assert metadata["aliases"] == ["x y"]
    assert metadata["relatedIds"] == ["z"]
    assert metadata["tags"] == ["c"]
    for part in ("# a <b>", "Does a.", "**A**", "Try:", "```\na 1\n```", "Output:", "## Since", "### Version"):
        assert part in page.text


def test_code_that_holds_a_fence_stays_in_its_fence():
    page = one({**ENTRY, "examples": [{"code": "```\nx\n```"}]}).pages[0]
    assert "````\n```\nx\n```\n````" in page.text


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({**ENTRY, "type": "recipe"}, "unknown type 'recipe'"),
        ({**ENTRY, "title": ""}, "no title"),
        ({"title": "x"}, "no usable id"),
        ("text", "not an object"),
        ({**ENTRY, "keywords": "k"}, "keywords is not a list"),
        ({**ENTRY, "aliases": [{}]}, "aliases is not a list"),
    ],
)
def test_bad_entries_are_reported(entry, words):
    assert words in one(entry).problems[0].message


def test_the_others_go_on():
    found = entries.pages(json.dumps([{"id": "x"}, ENTRY]), "a.json")
    assert [p.id for p in found.pages] == ["cmd-a"]


def test_repeated_ids_stay_findable():
    found = entries.pages(json.dumps([ENTRY, ENTRY]), "a.json")
    assert [p.id for p in found.pages] == ["cmd-a", "cmd-a~2"]
    assert "duplicate-id" in [p.code for p in found.problems]


@pytest.mark.parametrize("text", ["", "{", "[" * 60_000, '{"a": 1}', "42"])
def test_files_that_are_none(text):
    found = entries.pages(text, "a.json")
    assert found.pages == []
    assert found.problems[0].code == "bad-entries"


def test_the_demo_documents_every_command_of_the_seed():
    found = entries.pages((KNOWLEDGE / "commands.json").read_text(), "commands.json")
    assert len(found.pages) == 38
    assert found.problems == []
    for page in found.pages:
        metadata = read_frontmatter(page.text).metadata
        assert metadata["keywords"]
        assert metadata["aliases"]
        assert metadata["relatedIds"]
        assert "## Examples" in page.text


def test_yaml_and_markdown_entries():
    assert len(expand((KNOWLEDGE / "features.yaml").read_text(), "features.yaml", "entries").pages) >= 5
    for path in (KNOWLEDGE / "troubleshooting").glob("*.md"):
        assert [p.kind for p in expand(path.read_text(), path.name, "entries").pages] == ["troubleshooting"]
    assert expand("---\ntype: odd\n---\n# T\n", "a.md", "entries").problems[0].code == "bad-entry"


def test_help_articles_in_typescript():
    found = help_content.pages((KNOWLEDGE / "legacy/help-search.tool.ts").read_text(), "help.ts")
    assert len(found.pages) == 4
    assert found.problems == []
    computed = "export const H = [{ id: 'a', title: 'T', content: make() }];"
    assert help_content.pages(computed, "a.ts").problems[0].code == "bad-entry"


@pytest.mark.corpora
def test_every_entry_of_a_real_reference_is_accounted_for():
    folder = DATA / "corpora/helios-content"
    if not folder.is_dir():
        pytest.skip("no ../shared/data")
    for path in folder.rglob("*.json"):
        data = json.loads(path.read_text())
        count = len(data["entries"]) if "entries" in data else 1
        found = entries.pages(path.read_text(), str(path))
        assert len(found.pages) + sum(p.code != "thin-entry" for p in found.problems) == count


def test_notebooks_without_outputs():
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"text": "SECRET OUTPUT"}]},
    ]
    page = notebook.pages(json.dumps({"cells": cells, "nbformat": 4}), "doc").pages[0]
    assert page.text == "# Title\ntext\n\n```python\nprint(1)\n```\n"
    assert notebook.pages("{}", "doc").problems[0].code == "bad-notebook"


def test_a_glossary_has_a_page_a_row():
    found = glossary.pages(
        'Term,Definition,Synonyms\nParcel,"A box, sent",package; box\n,none,\nETA,Time of arrival\n', "glossary.csv"
    )
    assert [(p.id, p.kind) for p in found.pages] == [("parcel", "term"), ("eta", "term")]
    assert read_frontmatter(found.pages[0].text).metadata == {"title": "Parcel", "aliases": ["package", "box"]}
    assert "A box, sent" in found.pages[0].text
    assert [p.code for p in found.problems] == ["bad-row", "bad-row"]


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=300),
    st.sampled_from(["a.json", "a.yaml", "a.ts", "a.csv", "a.ipynb", "a.tsx"]),
    st.sampled_from(["entries", "openapi", "console", "glossary"]),
)
def test_no_text_makes_a_reader_fail(text, name, kind):
    for page in expand(text, name, kind).pages:
        assert page.text or not text


def test_what_an_entry_lacks_is_told():
    entry = {"id": "g-1", "type": "guide", "title": "T", "sumary": "S", "keyword": ["a"], "lastUpdated": "next week"}
    found = entries.pages(json.dumps([entry, {**WHOLE, "unheard": 1}]), "entries.json")
    assert [(p.code, p.severity) for p in found.problems] == [
        ("thin-entry", "info"),
        ("bad-entry", "warning"),
        ("bad-entry", "warning"),
        ("bad-entry", "warning"),
    ]
    said = " ".join(p.message + p.hint for p in found.problems)
    for words in ("content, category, summary", "'next week'", "'sumary'", "did you mean 'summary'", "'keywords'"):
        assert words in said
    assert len(found.pages) == 2


WHOLE = {
    "id": "g-2", "type": "guide", "title": "T", "summary": "S", "content": "C", "category": "c", "lastUpdated": "2026-01-31",
}  # fmt: skip
