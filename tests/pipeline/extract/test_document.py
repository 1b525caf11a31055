"""Extraction: titles, summaries, tags, rules, PRP dialects, references, code."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.extract.document import extract
from pipeline.formats.page import Page
from pipeline.sources.protocol import SourceText
from syntropy.contract.schema import DOCUMENTS
from tests.tagged import tags_of


def extracted(text, path="docs/a.md", kind="doc", scope="user"):
    return extract(SourceText("project", path, "", kind, scope, "0" * 64, text), Page("", kind, text))


def fields(found):
    assert list(found.document) == [column.name for column in DOCUMENTS.columns]
    return found.document


@pytest.mark.parametrize(
    ("text", "title", "origin"),
    [
        ("---\ntitle: From YAML\n---\n# H1\n", "From YAML", "frontmatter"),
        ("---\nname: From name\n---\n# H1\n", "From name", "frontmatter"),
        ("---\nfeature_name: Feature\n---\n# H1\n", "Feature", "frontmatter"),
        ("text\n\n# The *first* H1 with `code`\n\n# Second\n", "The first H1 with code", "heading"),
        ("## only H2\n", "a", "file-name"),
        ("# <Template Title>\n", "<Template Title>", "heading"),
        ("---\nname: Broken\nargument-hint: [a] (b)\n---\n\n# H1\n", "Broken", "frontmatter"),
        ("```\n# in a fence\n```\n", "a", "file-name"),
    ],
)
def test_title(text, title, origin):
    row = fields(extracted(text))
    assert (row["title"], row["title_origin"]) == (title, origin)


def test_a_readme_without_heading_is_called_as_its_folder():
    assert fields(extracted("text\n", path="packages/parcel-api/README.md"))["title"] == "parcel api"


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("---\nsummary: Given\n---\n# T\n\nText.\n", "Given"),
        (
            "# T\n\nFirst [paragraph](x.md) with `code`\nover two lines.\n\nSecond.\n",
            "First paragraph with code over two lines.",
        ),
        ("# T\n\n> quote\n\n**Status:** Ready\n\n| a |\n|---|\n\nReal text.\n", "Real text."),
        ("# T\n\n- only\n- bullets\n", "only"),
        ("# T\n\n1. An item\nthat goes on.\n\n> A quote\ngoes on.\n\nReal text.\n", "Real text."),
        (":::{admonition}\n:class: note\n:::\n\nReal text.\n", "Real text."),
        ("---\nname: x\nargument-hint: [a] (b)\n---\n\nReal text.\n", "Real text."),
        ("# T\n\n```\ncode\n```\n", ""),
    ],
)
def test_summary(text, summary):
    assert fields(extracted(text))["summary"] == summary


def test_a_long_summary_is_cut_at_a_word():
    found = fields(extracted("# T\n\n" + "word " * 200))["summary"]
    assert len(found) <= 301
    assert found.endswith("word…")


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        (
            "---\ntags: [API, 'error handling']\n---\nTags: inline\n## H\n",
            [("api", "frontmatter"), ("error handling", "frontmatter")],
        ),
        ("---\ntags:\n  - a\n  - b\n---\n", [("a", "frontmatter"), ("b", "frontmatter")]),
        ("---\ntags: a, b\n---\n", [("a", "frontmatter"), ("b", "frontmatter")]),
        (
            "# T\n\n**Tags**: api, error, fastapi\n\n## H2\n",
            [("api", "inline"), ("error", "inline"), ("fastapi", "inline")],
        ),
        ("Tag: one\n", [("one", "inline")]),
        (
            "# T\n\n## 1. First\n### Second\n## Third\n## Fourth\n",
            [("first", "header"), ("second", "header"), ("third", "header")],
        ),
        ("# T\n\n```\nTags: not, these\n## nor this\n```\n", []),
        ("---\ntags: []\n---\nTags: inline\n", [("inline", "inline")]),
    ],
)
def test_tags_by_three_strategies(text, tags):
    assert tags_of(extracted(text)) == tags


def test_tag_extraction_is_linear():
    import time

    started = time.perf_counter()
    extracted("---\ntitle: x\n---\n" + "tags: [" * 16_000 + "\nTags:" * 5_000)
    assert time.perf_counter() - started < 5  # the seed's expression took 8 s for a tenth of this


DIALECTS = {
    "A": (
        "---\nprp_id: PRP-29.3\nstatus: executed\ndependencies: [PRP-14, PRP-29.1]\n---\n# T\n",
        "PRP-29.3",
        "executed",
        2,
    ),
    "B": ("---\nfeature_name: F\nprp_id: PRP-32.1.1\ndependencies: None\n---\n", "PRP-32.1.1", "feature-requests", 0),
    "C": (
        "prp_id: 17\nfeature_name: Cache\nstatus: completed\ndependencies: [PRP-14]\n\n# T\n",
        "PRP-17",
        "completed",
        1,
    ),
    "D": ("# T\n\n> **Status:** Ready\n> **Dependencies:** PRP-4\n", "PRP-009", "ready", 1),
    "E": ('---\nname: "Pick-up"\ndescription: |\n  text\n---\n## Goal\n', "", "feature-requests", 0),
}
NAMES = {"D": "PRP-009-quotes.md"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_prp_dialects(dialect):
    text, prp_id, status, dependencies = DIALECTS[dialect]
    name = NAMES.get(dialect, "pickup-points.md")
    found = extracted(text, path=f"PRPs/feature-requests/{name}", kind="prp")
    row = fields(found)
    assert row["key"] == (prp_id or "pickup-points")
    assert row["status"] == status
    assert len({m[2] for m in found.mentions if m[3] == "depends_on"}) == dependencies


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("001--label.md", "PRP-001"),
        ("PRP-A-x.md", "PRP-A"),
        ("PRP-30.1.1.md", "PRP-30.1.1"),
        ("prp-7_x.md", "PRP-7"),
        ("notes.md", "notes"),
    ],
)
def test_prp_id_from_the_file_name(name, key):
    assert fields(extracted("# T\n", path=f"PRPs/executed/{name}", kind="prp"))["key"] == key


@pytest.mark.parametrize(
    ("text", "verified"),
    [
        ("---\nverified: true\n---\n", True),
        ("---\nverified: no\n---\n## Validation\n- [x] a\n", False),
        ("# T\n## Validation\n- [x] a\n- [X] b\n", True),
        ("# T\n## Validation\n- [x] a\n- [ ] b\n", False),
        ("# T\n## Tasks\n- [x] a\n", False),
        ("# T\n\n**Verified**: yes\n", True),
        ("# T\n", False),
    ],
)
def test_verified(text, verified):
    assert fields(extracted(text, path="PRPs/executed/PRP-1.md", kind="prp"))["verified"] is verified


def test_implementations_are_paths_where_there_are_any():
    text = "# T\n\nSee `docs/x.md`.\n\n## Implementation\n\n- `ce/validate.py`: `run_gates()`, `GateRunner.check()`\n- src/tools/init.ts\n"
    row = fields(extracted(text, path="PRPs/executed/PRP-1.md", kind="prp"))
    assert row["implementations"] == ["ce/validate.py", "src/tools/init.ts"]


def test_references_with_lines_and_none_from_fences():
    text = (
        "# T\n\nSee [guide](../guides/a.md#x), [[Retries|r]], `mem:auth/login`, PRP-14 and `docs/b.md`.\n"
        "![image](a.png) [web](https://example.org/x.md) [here](#t)\n\n```\n[no](no.md) PRP-99 mem:no\n```\n"
        "[ref]: target.md\n"
    )
    found = {(m[2], m[3], m[4], m[5]) for m in extracted(text).mentions}
    assert found == {
        ("../guides/a.md#x", "links_to", "markdown-link", 3),
        ("Retries", "links_to", "wikilink", 3),
        ("auth/login", "references", "memory", 3),
        ("PRP-14", "references", "id", 3),
        ("docs/b.md", "references", "path", 3),
        ("target.md", "links_to", "markdown-link", 9),
    }


def rules_of(text):
    return [(r[0], r[3], r[4], r[6]) for r in extracted(text, path="CLAUDE.md", kind="rule").rules]


def test_rules_with_severity_and_lines():
    text = (
        "# Rules\n\n### No Fishy Fallbacks - MANDATORY\n\n- Fast failure: let exceptions\n  bubble up\n- **Use `foo_bar`**\n\n"
        "## Style\n\n- **Never create a file longer than 500 lines**\n- Prefer short names\n\nFORBIDDEN: catching everything.\n\n"
        "You must run the tests.\n\nThe must-see story of this project.\n\n```\nMANDATORY: not a rule\n- never\n```\n"
    )
    assert rules_of(text) == [
        ("no-fishy-fallbacks", "mandatory", "No Fishy Fallbacks", 3),
        ("fast-failure-let-exceptions-bubble-up", "mandatory", "Fast failure: let exceptions bubble up", 5),
        ("use-foo-bar", "mandatory", "Use foo_bar", 7),
        ("never-create-a-file-longer-than-500-lines", "advisory", "Never create a file longer than 500 lines", 11),
        ("prefer-short-names", "advisory", "Prefer short names", 12),
        ("catching-everything", "forbidden", "FORBIDDEN: catching everything.", 14),
        ("you-must-run-the-tests", "advisory", "You must run the tests.", 16),
        ("not-a-rule", "mandatory", "MANDATORY: not a rule", 21),
    ]


def test_python_examples_by_docstring_and_public_names():
    text = (
        '"""Retry with backoff.\n\nTags: resilience, retry\nSource: PRP-14\nImplementation: src/retry.py\n\nUse it for flaky calls.\n"""\n\n'
        "import os\n\n\ndef retry():\n    pass\n\n\ndef _hidden():\n    pass\n\n\nclass Breaker:\n    def trip(self):\n        pass\n"
    )
    found = extracted(text, path="examples/patterns/retry.py", kind="pattern")
    row = fields(found)
    assert (row["title"], row["title_origin"], row["key"]) == ("Retry with backoff", "docstring", "retry")
    assert row["implementations"] == ["src/retry.py"]
    assert [tag for tag, _ in tags_of(found)] == ["resilience", "retry"]
    assert [(h[2], h[3], h[5]) for h in found.headings] == [
        (2, "retry", 13),
        (2, "Breaker", 21),
        (3, "Breaker.trip", 22),
    ]
    assert ("PRP-14", "derives_from") in {(m[2], m[3]) for m in found.mentions}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ts", "/**\n * Validates addresses.\n *\n * Tags: address\n */\nexport const x = 1\n"),
        ("a.sql", "-- Validates addresses.\n-- Tags: address\nSELECT 1;\n"),
        ("a.sh", "#!/bin/sh\n# Validates addresses.\n# Tags: address\necho\n"),
        ("a.go", "// Validates addresses.\n// Tags: address\npackage a\n"),
    ],
)
def test_other_languages_by_head_comment(name, text):
    found = extracted(text, path=f"examples/{name}", kind="example")
    assert fields(found)["title"] == "Validates addresses"
    assert [tag for tag, _ in tags_of(found)] == ["address"]


def test_broken_python_is_a_diagnostic_and_stays_indexed():
    found = extracted("# What it was\ndef f(:\n", path="examples/a.py", kind="example")
    assert [d.code for d in found.diagnostics] == ["python-syntax"]
    assert found.diagnostics[0].line == 2
    assert fields(found)["title"] == "What it was"


def test_memories_keep_their_topic():
    assert fields(extracted("# L\n", path=".serena/memories/auth/login.md", kind="memory"))["key"] == "auth/login"


def test_frontmatter_is_sorted_json():
    row = fields(extracted("---\nz: 2025-10-22\na: [1, no]\n---\n"))
    assert row["frontmatter"] == json.dumps({"a": [1, "no"], "z": "2025-10-22"})


@given(st.text(max_size=300), st.sampled_from(["doc", "prp", "rule", "memory"]))
def test_no_text_makes_it_fail(text, kind):
    clean = text.replace("\0", "").encode("utf-8", "ignore").decode()
    assert fields(extracted(clean, kind=kind))["text"] == clean


@given(st.text(max_size=300), st.sampled_from(["a.py", "a.ts", "a.sql"]))
def test_no_source_makes_it_fail(text, name):
    clean = text.replace("\0", "").encode("utf-8", "ignore").decode()
    assert fields(extracted(clean, path=f"examples/{name}", kind="example"))["text"] == clean


def test_paths_outside_of_implementation_sections_are_claims_where_there_are_no_others():
    found = extracted(
        "# T\n\nDone in `src/a.py`.\n\n| `src/old.py` | DELETE |\n", path="PRPs/executed/PRP-1.md", kind="prp"
    )
    assert fields(found)["implementations"] == ["src/a.py"]
    assert {(m[2], m[3]) for m in found.mentions} == {("src/a.py", "implements"), ("src/old.py", "references")}


def test_a_block_scalar_without_fences_is_the_summary():
    text = "name: X\ndescription: |\n  Builds a thing\n  in two lines.\n\n## Goal\n"
    assert fields(extracted(text, path="PRPs/templates/x.md", kind="prp"))["summary"] == "Builds a thing in two lines."


@pytest.mark.parametrize(
    ("written", "status"),
    [
        ("✅ Executed", "executed"),
        ("**In Progress** - 60% done", "in-progress"),
        ("Completed (2025-10-18)", "completed"),
        ("Ready for review", "ready-for-review"),
        ("executed", "executed"),
    ],
)
def test_a_status_keeps_all_its_words(written, status):
    text = f"> **Status:** {written}\n\n# P\n"
    assert fields(extracted(text, path="PRPs/PRP-7-x.md", kind="prp"))["status"] == status


def test_placeholders_are_no_references():
    found = extracted("# T\n\nSee PRP-X, PRP-999 and PRP-12.\n")
    assert [m[2] for m in found.mentions] == ["PRP-12"]


def test_paths_that_stand_for_others_are_no_implementations():
    text = "# P\n\n## Files changed\n\n- `dock/*.py`\n- `/absolute/path/to/x.py`\n- `dock/open.py`\n\nTo remove:\n- `dock/old.py`\n"
    found = extracted(text, path="PRPs/executed/PRP-7-x.md", kind="prp")
    assert fields(found)["implementations"] == ["dock/open.py"]


def test_bare_file_names_and_keys_in_prose_are_references():
    found = extracted("# T\n\nAs in error-recovery.py, and by the retry-later pattern; Node.js is none.\n")
    assert {(m[2], m[4]) for m in found.mentions} == {("error-recovery.py", "path"), ("retry-later", "id")}
