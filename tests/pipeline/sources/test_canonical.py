"""Canonical entities: metadata from relations.json, inverses, the transitive rule; written entries and generated ones."""

import json

import polars as pl
import pytest

import syntropy
from pipeline.ground.tables import from_rows
from pipeline.link.duplicates import near_copies_within, near_duplicate_relations
from pipeline.sources.canonical import read_catalogue
from syntropy.contract.schema import RELATIONS
from syntropy.contract.vocabulary import ENTITY_KINDS
from tests.conftest import ROOT
from tests.quick import build


@pytest.fixture
def project(tmp_path):
    (tmp_path / "syntropy.toml").write_text("[embed]\nenabled = false\n")
    for folder, name, text in (
        ("refactoring", "extract", "# Extract Class\n\nTake out a class.\n"),
        ("code-smells", "large", "# Large Class\n\nToo much. See `RF-1`.\n"),
        ("software-engineering", "srp", "# Single Responsibility\n\nOne reason to change.\n"),
    ):
        (tmp_path / "raw" / folder).mkdir(parents=True)
        (tmp_path / "raw" / folder / f"{name}.md").write_text(text)
    entities = {
        "RF-1": {"type": "refactoring", "file_path": "refactoring/extract.md", "relations": {"solves": ["SMELL-01"]}},
        "SMELL-01": {
            "type": "code_smell",
            "file_path": "code-smells/large.md",
            "relations": {"violates": ["LAW-042-S"]},
        },
        "LAW-042-S": {
            "type": "law",
            "file_path": "software-engineering/srp.md",
            "tags": ["design"],
            "relations": {"enables": ["NO-1"]},
        },
    }
    (tmp_path / "raw/relations.json").write_text(json.dumps(entities))
    return tmp_path


def relations(root):
    with syntropy.open(root) as knowledge:
        return set(
            knowledge.database.rows(
                "SELECT f.key, r.type, t.key, r.origin FROM relations r JOIN documents f ON f.document_id = r.from_id "
                "JOIN documents t ON t.document_id = r.to_id"
            )
        )


def test_declared_inverse_and_inferred_relations(project):
    build(project)
    found = relations(project)
    assert ("RF-1", "solves", "SMELL-01", "entry") in found
    assert ("SMELL-01", "solved_by", "RF-1", "inverse") in found
    assert ("SMELL-01", "violates", "LAW-042-S", "entry") in found
    assert ("RF-1", "enforces", "LAW-042-S", "inferred") in found
    assert ("LAW-042-S", "enforced_by", "RF-1", "inverse") in found
    assert ("SMELL-01", "references", "RF-1", "id") in found


def test_kinds_keys_and_tags_come_from_the_catalogue(project):
    build(project)
    with syntropy.open(project) as knowledge:
        law = knowledge.document("LAW-042-S")
        assert (law.kind, law.title, law.tags) == ("law", "Single Responsibility", ("design",))
        assert knowledge.search("LAW-042-S").hits[0].matched_on[0] == "alias"
        assert knowledge.search("class", kinds=["smell"]).hits[0].key == "SMELL-01"
        messages = [m for (m,) in knowledge.database.rows("SELECT message FROM diagnostics")]
    assert any("NO-1" in m for m in messages)


def test_a_change_of_the_catalogue_touches_its_entities_only(project):
    build(project)
    place = project / "raw/relations.json"
    place.write_text(place.read_text().replace('"design"', '"structure"'))
    build(project)
    with syntropy.open(project) as knowledge:
        assert knowledge.document("LAW-042-S").tags == ("structure",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "not an object"),
        ("{", "cannot be read"),
        ("[" * 60_000, "cannot be read"),
        ('{"A": {}}', "names no file_path"),
        ('{"A": {"file_path": "../../etc/passwd"}}', "outside"),
        ('{"version": "2"}', "no entities"),
    ],
)
def test_bad_catalogues_are_reported(text, words):
    found = read_catalogue(text)
    assert any(words in p[2] for p in found.problems)


def test_a_repository_with_its_catalogue_beside_the_texts(tmp_path):
    (tmp_path / "syntropy.toml").write_text("[embed]\nenabled = false\n[sources]\ncanonical = ['raw/**']\n")
    (tmp_path / "raw/laws").mkdir(parents=True)
    (tmp_path / "meta").mkdir()
    (tmp_path / "raw/laws/ports.md").write_text(
        "# Rules of the Port\n\nTwo of them.\n\n## Implications\n\nThe Rule of the Tide says: sail late.\n\n"
        "## Rule of the Wind\n\nReef early.\n"
    )
    (tmp_path / "raw/laws/anchor.md").write_text("# Anchor First\n\nBefore all else.\n")
    about = {"type": "law", "file_path": "laws/ports.md"}
    entities = {
        "version": "2.0",
        "description": "laws",
        "LAW-1-W": {**about, "title": "Rule of the Wind", "relations": {"requires": ["LAW-2"]}},
        "LAW-1": {**about, "title": "Rules of the Port", "relations": {"enables": ["LAW-2"]}},
        "LAW-1-T": {**about, "title": "Rule of the Tide"},
        "LAW-1-X": {**about, "title": "Rule of the Reef and Rope"},
        "LAW-2": {"type": "law", "title": "Anchor First", "file_path": "laws/anchor.md"},
        "LAW-3": {"type": "law", "title": "Lost", "file_path": "laws/lost.md"},
    }
    (tmp_path / "meta/relations.json").write_text(json.dumps(entities))
    build(tmp_path)
    with syntropy.open(tmp_path) as knowledge:
        assert knowledge.document("LAW-1").path == "raw/laws/ports.md"
        assert "Reef early." in knowledge.document("LAW-1-W").text
        assert "sail late" not in knowledge.document("LAW-1-W").text
        assert "sail late" in knowledge.document("LAW-1-T").text
        problems = {(c, p): m for c, p, m in knowledge.database.rows("SELECT code, path, message FROM diagnostics")}
    found = relations(tmp_path)
    assert ("LAW-1-W", "requires", "LAW-2", "entry") in found
    assert ("LAW-1", "enables", "LAW-2", "entry") in found
    assert ("LAW-1", "requires", "LAW-2", "entry") not in found
    assert "LAW-3" in problems["bad-entity", "meta/relations.json"]
    assert "LAW-1-X" in problems["bad-entity", "raw/laws/ports.md"]
    assert len([p for p in problems if p[0] == "bad-entity"]) == 2


def test_the_demo_set_is_rich_enough(demo):
    with syntropy.open(demo / "build") as knowledge:
        counts = dict(knowledge.database.rows("SELECT kind, count(*) FROM documents GROUP BY kind"))
        assert counts["design-pattern"] >= 12
        assert counts["refactoring"] >= 16
        assert counts["law"] >= 10
        assert counts["smell"] >= 10
        lone = knowledge.database.rows(
            f"SELECT key FROM documents WHERE kind IN {ENTITY_KINDS!r} AND document_id NOT IN "
            "(SELECT from_id FROM relations WHERE origin = 'entry')"
        )
        assert lone == []
        assert knowledge.database.rows("SELECT 1 FROM relations WHERE origin = 'inferred' LIMIT 1")


def test_written_entries_win_and_both_lacks_are_drift(tmp_path):
    (tmp_path / "syntropy.toml").write_text('[embed]\nenabled = false\n[sources]\ncommand_lines = ["tool.py"]\n')
    (tmp_path / "tool.py").write_text(
        "import click\n@click.group(name='tool')\ndef cli(): pass\n"
        "@cli.command()\ndef go():\n    'Generated go.'\n@cli.command()\ndef stop():\n    'Generated stop.'\n"
    )
    folder = tmp_path / "knowledge"
    folder.mkdir()
    entries = [
        {"id": "cmd-go", "type": "command", "title": "tool go <where>", "summary": "Written go."},
        {"id": "cmd-old", "type": "command", "title": "tool old"},
    ]
    (folder / "commands.json").write_text(json.dumps(entries))
    build(tmp_path)
    with syntropy.open(tmp_path) as knowledge:
        rows = knowledge.database.rows("SELECT key, summary FROM documents ORDER BY key")
        violations = {(v.type, v.message.split("'")[1]) for v in knowledge.drift().violations}
    assert rows == [("cmd-go", "Written go."), ("cmd-old", ""), ("cmd-tool-stop", "Generated stop.")]
    assert {("undocumented-command", "tool stop"), ("gone-command", "tool old")} <= violations
    (folder / "commands.json").write_text(json.dumps(entries[1:]))
    build(tmp_path)  # the generated entry comes back although its source did not change
    with syntropy.open(tmp_path) as knowledge:
        assert ("Generated go.",) in knowledge.database.rows("SELECT summary FROM documents")


def documents(*rows):
    return pl.DataFrame(rows, schema=["document", "package", "path", "text"], orient="row")


def test_near_duplicates_are_linked_across_packages_only():
    words = [f"word{n}" for n in range(200)]
    text, changed = " ".join(words), " ".join([*words[:190], *["other"] * 5])
    exact = pl.DataFrame(schema={"from": pl.String, "to": pl.String})
    table = documents(
        ("project:a.md", "project", "a.md", text),
        ("project:b.md", "project", "b.md", changed),
        ("hub:a.md", "hub", "a.md", changed),
        ("hub:c.md", "hub", "c.md", " ".join(f"else{n}" for n in range(200))),
    )
    found = near_duplicate_relations(table, exact)
    assert [(r["from"], r["to"]) for r in found.iter_rows(named=True)] == [("hub:a.md", "project:b.md")]
    alone = near_duplicate_relations(table.filter(pl.col("package") == "project"), exact)
    assert alone.height == 0


def test_near_copies_within_a_package_are_those_whose_words_agree():
    words = [f"word{n}" for n in range(200)]
    table = documents(
        ("project:a.md", "project", "a.md", " ".join(words)),
        ("project:b.md", "project", "b.md", " ".join([*words[:198], "other", "end"])),
        ("project:c.md", "project", "c.md", " ".join([*words[:100], *(f"else{n}" for n in range(100))])),
    )
    pairs = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")]
    similar = from_rows(
        RELATIONS,
        [(f"project:{x}.md", "see_also", f"project:{y}.md", f"{y}.md", "similarity", 0.99, 0, "") for x, y in pairs],
    )
    found = near_copies_within(table, similar)
    assert [(r["from"], r["to"]) for r in found.iter_rows(named=True)] == [("project:b.md", "project:a.md")]


def test_copies_are_one_hit_that_names_the_others(tmp_path):
    (tmp_path / "syntropy.toml").write_text("[embed]\nenabled = false\n")
    (tmp_path / "docs").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"docs/{name}.md").write_text("# Tariffs\n\nWhat a parcel costs by weight.\n")
    build(tmp_path)
    with syntropy.open(tmp_path) as knowledge:
        hits = knowledge.search("tariffs", mode="fast").hits
        assert [(h.citation.path, h.copies) for h in hits] == [("docs/a.md", ("docs/b.md",))]
        assert knowledge.document("docs/b.md").title == "Tariffs"
        assert knowledge.search("tariffs", mode="fast", path="docs/b.md").hits[0].citation.path == "docs/b.md"


def test_secrets_never_reach_the_artifacts(tmp_path):
    value = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC3"
    (tmp_path / "syntropy.toml").write_text("")
    (tmp_path / "notes.md").write_text(f"# Notes\n\nThe key is {value} for now.\n")
    build(tmp_path)
    for path in (tmp_path / "build").rglob("*"):
        if path.is_file():
            assert value.encode() not in path.read_bytes()
    for path in (tmp_path / ".syntropy").rglob("*"):
        if path.is_file():
            assert value.encode() not in path.read_bytes()
    with syntropy.open(tmp_path) as knowledge:
        assert knowledge.database.rows("SELECT path, line, code FROM diagnostics") == [("notes.md", 3, "secret")]
        assert "[REDACTED:github-token]" in knowledge.document("notes.md").text


def test_texts_with_headings(tmp_path):
    (tmp_path / "syntropy.toml").write_text("[embed]\nenabled = false\n")
    (tmp_path / "a.rst").write_text("Guide\n=====\n\nIntro.\n\nParking\n-------\n\nVans stand here::\n\n   code\n\n")
    (tmp_path / "b.adoc").write_text("= Manual\n\n== Loading\n\nLift with care.\n\n----\n== no heading\n----\n")
    (tmp_path / "llms.txt").write_text("# Site\n\n> For models\n")
    (tmp_path / "c.ipynb").write_text(
        json.dumps({"cells": [{"cell_type": "markdown", "source": "# Notebook"}], "nbformat": 4})
    )
    (tmp_path / "glossary.csv").write_text("term,definition\nManifest,List of parcels\n")
    build(tmp_path)
    with syntropy.open(tmp_path) as knowledge:
        assert "Vans stand here" in knowledge.section("a.rst", "Parking").text
        assert "Lift with care" in knowledge.section("b.adoc", "Loading").text
        titles = dict(knowledge.database.rows("SELECT path, title FROM documents"))
        assert str(knowledge.search("vans stand", mode="fast").hits[0].citation).startswith("a.rst#L1")
    assert titles == {
        "a.rst": "Guide", "b.adoc": "Manual", "llms.txt": "Site", "c.ipynb": "Notebook", "glossary.csv#manifest": "Manifest",
    }  # fmt: skip


def test_agent_logs_have_their_tags(tmp_path):
    (tmp_path / "syntropy.toml").write_text("[embed]\nenabled = false\n")
    folder = tmp_path / ".claude/logs"
    folder.mkdir(parents=True)
    (folder / "2026-02-15.md").write_text("# 2026-02-15\n\n## 22:36 | decision | queue, retries\n\nWe bound retries.\n")
    build(tmp_path)
    with syntropy.open(tmp_path) as knowledge:
        found = knowledge.search("bound retries", tags=["decision"], mode="fast").hits[0]
        assert (found.kind, found.tags) == ("memory", ("decision", "queue", "retries"))


def test_the_demo_source_is_where_the_tests_expect_it():
    assert (ROOT / "examples/acme/helios/DeveloperConsole.tsx").is_file()


def test_another_spelling_of_a_command_is_in_the_source(tmp_path):
    files = {
        "syntropy.toml": "[embed]\nenabled = false\n[sources]\nconsoles = ['console.ts']\n",
        "console.ts": "function run(args: string[]) { switch (args[0]) { case 'list': switch (args[1]) { case 'rooms': "
        "case 'spaces': a(); break; case 'bins': b(); } } }",
        "knowledge/a.json": json.dumps(
            [{"id": "cmd-spaces", "type": "command", "title": "list spaces <floor>", "content": "c"}]
        ),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    build(tmp_path)
    with syntropy.open(tmp_path) as knowledge:
        codes = [
            (c, m) for c, m in knowledge.database.rows("SELECT code, message FROM diagnostics WHERE severity <> 'info'")
        ]
        assert [c for c, _ in codes] == ["undocumented-command"]
        assert "list bins" in codes[0][1]
        assert knowledge.document("List  Bins".replace("  ", " ")).kind == "command"
