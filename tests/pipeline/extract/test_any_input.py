"""A build ends and loses nothing, whatever a file holds; what is wrong is said with its place."""

import json

import pytest

from pipeline.extract.extraction import extract_texts
from pipeline.formats import openapi
from pipeline.formats.page import Page, Pages
from pipeline.sources.protocol import SourceText
from syntropy.contract.config import SecretsConfig
from syntropy.read.knowledge import open_knowledge
from tests.quick import build

SCRIPTS = {
    "latin": "Übergrößenträger", "greek": "ΟΔΥΣΣΕΥΣ", "cyrillic": "Ёжиков", "armenian": "Հայաստան", "hebrew": "שָׁלוֹם",
    "arabic": "العَرَبِيَّة", "syriac": "ܣܘܪܝܝܐ", "thaana": "ދިވެހި", "devanagari": "हिंदी", "bengali": "বাংলা",
    "gurmukhi": "ਪੰਜਾਬੀ", "gujarati": "ગુજરાતી", "oriya": "ଓଡ଼ିଆ", "tamil": "தமிழ்", "telugu": "తెలుగు",
    "kannada": "ಕನ್ನಡ", "malayalam": "മലയാളം", "sinhala": "සිංහල", "thai": "ภาษาไทย", "lao": "ພາສາລາວ",
    "tibetan": "བོད་ཡིག", "myanmar": "မြန်မာဘာသာ", "georgian": "ქართული", "hangul": "한국어판", "jamo": "한국",
    "ethiopic": "አማርኛ", "cherokee": "ᏣᎳᎩ", "khmer": "ភាសាខ្មែរ", "mongolian": "ᠮᠣᠩᠭᠣᠯ", "hiragana": "ひらがな",
    "katakana": "カタカナ", "han": "繁體中文", "yi": "ꆈꌠꁱꂷ", "tifinagh": "ⵜⵉⴼⵉⵏⴰⵖ", "adlam": "𞤀𞤣𞤤𞤢𞤥", "nko": "ߒߞߏ",
}  # fmt: skip


def problems(root):
    record = json.loads((root / ".syntropy/stages/drift.json").read_text())
    return {(code, path): message for _, _, code, _, path, _, message, _ in record["facts"]["diagnostics"]}


def test_words_of_every_script_are_found_by_themselves(project):
    root = project(
        {
            f"docs/{name}.md": f"# Page {number}\n\n{word} stands here.\n"
            for number, (name, word) in enumerate(SCRIPTS.items())
        }
    )
    build(root)
    with open_knowledge(project=root) as knowledge:
        missed = [
            name for name, word in SCRIPTS.items()
            if f"docs/{name}.md" not in [hit.citation.path for hit in knowledge.search(word).hits]
        ]  # fmt: skip
        assert missed == []
        (hit,) = knowledge.search(SCRIPTS["devanagari"]).hits
        assert [hit.snippet[a:b] for a, b in hit.highlights] == [SCRIPTS["devanagari"]]


def test_a_few_wrong_bytes_cost_nothing_else(project):
    root = project({
        "README.md": b"# Parcels\n\nIt\x92s about parcels and their labels, and about many other things.\n",
        "docs/photo.md": bytes(range(128, 256)) * 40,
    })  # fmt: skip
    build(root)
    with open_knowledge(project=root) as knowledge:
        assert "It\ufffds about" in knowledge.document("README.md").text
        assert knowledge.search("labels").hits
    found = problems(root)
    assert "byte 0x92 at offset 13 is not UTF-8; it was replaced" in found["bad-encoding", "README.md"]
    assert "nor is the rest" in found["bad-encoding", "docs/photo.md"]


@pytest.mark.parametrize("value", ["!!timestamp hello", "!!bool maybe", '!!int ""', "!!float x", "!!binary ü"])
def test_an_explicit_tag_that_does_not_fit(project, value):
    root = project({"docs/a.md": f"---\ndate: {value}\ntitle: Kept\n---\n# A\n\nparcels\n", "docs/b.md": "# B\n"})
    build(root)
    assert ("frontmatter-invalid", "docs/a.md") in problems(root)
    with open_knowledge(project=root) as knowledge:
        assert knowledge.search("parcels").hits


def test_lone_surrogates_are_replaced(project):
    half = "\\ud83d"
    root = project({
        "docs/n.ipynb": f'{{"cells": [{{"cell_type": "markdown", "source": ["# Note {half}"]}}]}}',
        "knowledge/e.json": f'{{"entries": [{{"id": "cmd-{half}", "type": "command", "title": "ship {half}", "content": "c"}}]}}',
        "openapi.json": f'{{"openapi": "3.0.0", "paths": {{"/{half}": {{"get": {{"summary": "s {half}"}}}}}}}}',
        "docs/y.md": f'---\ntitle: "Y {half}"\n---\n# Y\n',  # which YAML refuses
        "examples/x.py": f'"""Pattern {half}."""\n',
    })  # fmt: skip
    build(root)
    with open_knowledge(project=root) as knowledge:
        titles = [title for (title,) in knowledge.database.rows("SELECT title FROM documents")]
    assert len(titles) == 5  # whose names were whole, or are whole now
    assert sum("\ufffd" in title for title in titles) >= 2, titles


def test_whatever_a_reader_raises_names_its_document(monkeypatch):
    def expand(text, path, kind, shared, entities):
        if "bad" in path:
            raise RuntimeError("no idea")
        return Pages([Page("", kind, text)])

    monkeypatch.setattr("pipeline.extract.extraction.expand", expand)
    texts = [
        SourceText("project", f"docs/{name}.md", "", "doc", "user", "0" * 64, f"# {name}\n")
        for name in ("a", "bad", "c")
    ]
    found = extract_texts(texts, SecretsConfig())
    assert found.documents["path"].to_list() == ["docs/a.md", "docs/c.md"]
    (row,) = found.diagnostics.rows()
    assert row[1:5] == ("error", "unreadable-document", "project", "docs/bad.md")
    assert "RuntimeError: no idea" in row[6]


def test_a_document_that_takes_too_long_is_given_up(monkeypatch):
    def expand(text, path, kind, shared, entities):
        while "bad" in path:
            pass
        return Pages([Page("", kind, text)])

    monkeypatch.setattr("pipeline.extract.extraction.expand", expand)
    monkeypatch.setattr("pipeline.extract.extraction.DOCUMENT_SECONDS", 0.05)
    texts = [
        SourceText("project", f"docs/{name}.md", "", "doc", "user", "0" * 64, f"# {name}\n") for name in ("bad", "c")
    ]
    found = extract_texts(texts, SecretsConfig())
    assert found.documents["path"].to_list() == ["docs/c.md"]
    assert "took longer" in found.diagnostics["message"][0]


@pytest.mark.parametrize("name", ["x.tsx", "x.js"])
def test_a_grammar_that_never_ends(project, name):
    root = project({f"knowledge/{name}": "('',`U<r-m>[n:'H r h' ", "docs/a.md": "# A\n"})
    build(root)
    assert "cannot be parsed" in problems(root)["unreadable-document", f"knowledge/{name}"]


def test_schemas_that_double_with_each_level_are_bounded():
    schemas = {"S0": {"type": "object", "properties": {"x": {"type": "string"}}}}
    for n in range(1, 40):
        schemas[f"S{n}"] = {"allOf": [{"allOf": [{"$ref": f"#/components/schemas/S{n - 1}"}]}] * 2}
    answer = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S39"}}}}
    text = json.dumps(
        {
            "openapi": "3.0.0",
            "paths": {"/a": {"get": {"responses": {"200": answer}}}},
            "components": {"schemas": schemas},
        }
    )
    (page,) = openapi.pages(text, "openapi.json").pages
    assert "GET /a" in page.text


def test_links_are_followed_inside_the_project_once(project, tmp_path):
    (tmp_path / "secret.md").write_text("# Secret\n")
    root = project({"docs/x.md": "# X\n\nparcels\n", "AGENTS.md": "- Never guess\n", "notes/n.md": "# N\n", ".gitignore": "private/\n",
                    "private/p.md": "# P\n"})  # fmt: skip
    for link, target in {".serena/memories/x.md": "../../docs/x.md", "CLAUDE.md": "AGENTS.md", "docs/out.md": str(tmp_path / "secret.md"),
                         "docs/self": ".", "docs/gone.md": "nowhere.md", "PRPs": "notes", "docs/p.md": "../private/p.md"}.items():  # fmt: skip
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(target)
    build(root)
    with open_knowledge(project=root) as knowledge:
        found = dict(knowledge.database.rows("SELECT path, kind FROM documents"))
        assert found == {
            "docs/x.md": "doc",
            "AGENTS.md": "rule",
            "notes/n.md": "doc",
            ".serena/memories/x.md": "memory",
            "PRPs/n.md": "prp",
        }
        told = {path for (path,) in knowledge.database.rows("SELECT path FROM diagnostics WHERE code = 'symlink'")}
    assert told == {"docs/out.md", "docs/self", "docs/gone.md"}
    (root / "docs/x.md").write_text("# X\n\nlabels\n")
    build(root)
    with open_knowledge(project=root) as knowledge:
        assert "labels" in knowledge.document(".serena/memories/x.md").text


def test_a_project_inside_of_another_is_left_to_itself(project):
    root = project({"docs/a.md": "# A\n", "inner/docs/b.md": "# B\n", "inner/syntropy.toml": ""})
    build(root)
    with open_knowledge(project=root) as knowledge:
        assert knowledge.database.rows("SELECT path FROM documents") == [("docs/a.md",)]
        assert ("inner/", "project-of-its-own") in knowledge.database.rows("SELECT path, reason FROM sources")


def test_a_broken_way_up_is_no_way_down(project):
    """`../../other/target.md` that does not exist is not any file whose path ends so."""
    root = project({"docs/deep/a.md": "# A\n\n[x](../../other/target.md)\n", "elsewhere/other/target.md": "# T\n"})
    build(root)
    assert ("dangling-reference", "docs/deep/a.md") in problems(root)


def test_problems_that_cost_a_file_come_first(project):
    root = project(
        {"docs/a.md": "# A\n\n[x](gone.md)\n", "docs/z.md": b"\0\0", "knowledge/x.tsx": "('',`U<r-m>[n:'H r h' "}
    )
    report = build(root)
    assert [problem.code for problem in report.problems] == ["unreadable-document", "binary", "dangling-reference"]
