"""Reading: search, documents, sections; a light import; a locked-down, checked database."""

import json
import shutil
import subprocess
import sys
import threading

import duckdb
import pytest

import syntropy
from syntropy.contract.errors import DatabaseError, DocumentNotFoundError, EncoderError, UsageError
from syntropy.contract.identity import Citation, heading_anchor, normalize_path, slugify
from syntropy.contract.published import DATABASE, ENCODER
from syntropy.contract.text import identifier_text, index_terms
from syntropy.search.passages import snippet
from syntropy.search.query import analyse
from syntropy.search.sql_engine import SqlEngine
from tests.conftest import DATA, ROOT
from tests.quick import build as quick_build

HEAVY = ("dagster", "torch", "polars", "pydantic", "numpy", "pyarrow", "onnxruntime", "jinja2", "yaml", "rich")


@pytest.fixture
def knowledge(demo):
    with syntropy.open(demo / "build") as opened:
        yield opened


def imported_by(code):
    found = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print([m for m in {HEAVY!r} if m in sys.modules])"],
        cwd=ROOT, capture_output=True, text=True, check=True)  # fmt: skip
    return found.stdout.strip().splitlines()[-1]


def test_importing_the_reader_is_light(demo):
    assert imported_by("import syntropy, syntropy.cli, syntropy.cli.reading, syntropy.read.knowledge") == "[]"
    assert imported_by("import syntropy.cli; assert 'duckdb' not in __import__('sys').modules") == "[]"
    search = f"from syntropy.cli.main import main; main(['search', 'retry', '--mode', 'fast', '--out', {str(demo / 'build')!r}])"
    assert imported_by(search) == "[]", "a lexical search needs none of it either"


def test_search_finds_and_cites(knowledge):
    (first, *_) = knowledge.search("retry failed carrier webhooks").hits
    assert first.citation.path == "docs/guides/retries.md"
    assert first.headings.endswith("How failed carrier webhooks are retried")  # the section, not what stands above it
    assert knowledge.lines(first.citation.path, first.citation.line_start, first.citation.line_end).text == first.text
    assert 0 < first.score <= 1


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("normalize_tracking_no", "PRPs/executed/PRP-30-tracking-number-normalization.md"),
        ("fetchStatus", "PRPs/executed/PRP-29.1-carrier-client.md"),
        ("CarrierClient.fetchStatus", "PRPs/executed/PRP-29.1-carrier-client.md"),
        ("1.0.21", "docs/operations/release-1.0.21.md"),
        ("PRP-29.3", "PRPs/executed/PRP-29.3-webhook-retries.md"),
        ("--dry-run", "docs/reference/cli.md"),
        ("RETRY_MAX_ELAPSED_S", "docs/reference/configuration.md"),
        ("cafe Zurich", "docs/café-integration.md"),
    ],
)
def test_identifiers_versions_flags_and_accents_are_findable(knowledge, query, path):
    assert path in [h.citation.path for h in knowledge.search(query, limit=10).hits]


@pytest.mark.usefixtures("meaning")
def test_semantic_search_with_the_encoder_beside_the_database(knowledge):
    hits = knowledge.search("how does a customer learn that the shipment is delayed", mode="semantic", limit=5).hits
    assert any("notification" in h.citation.path or "digest" in h.citation.path for h in hits)
    assert all(0 <= h.score <= 1 for h in hits)
    filtered = knowledge.search(
        "anything at all", mode="semantic", kinds=["memory"], limit=50, hits_per_document=0
    ).hits
    assert {h.kind for h in filtered} == {"memory"}
    total = knowledge._database.rows(
        "SELECT count(*) FROM chunks JOIN documents USING (document_id) WHERE kind = 'memory'"
    )[0][0]
    assert len(filtered) == total, "a filter must not starve the result"


def test_filters_and_caps(knowledge):
    assert {h.kind for h in knowledge.search("retry", sources=["prps", "rules"], limit=50).hits} <= {"prp", "rule"}
    assert {h.scope for h in knowledge.search("retry", scope="system", limit=50).hits} == {"system"}
    paths = [h.citation.path for h in knowledge.search("retry", limit=50, hits_per_document=1).hits]
    assert len(paths) == len(set(paths))
    many = knowledge.search("retry", limit=50, hits_per_document=0).hits
    assert [h.score for h in many] == sorted((h.score for h in many), reverse=True)
    assert all(h.score >= 0.5 for h in knowledge.search("retry", threshold=0.5).hits)


def test_bad_arguments_name_the_choices(knowledge):
    for call, text in (
        (lambda: knowledge.search(" "), "empty"),
        (lambda: knowledge.search("x", mode="fuzzy"), "fast, semantic"),
        (lambda: knowledge.search("x", sources=["prp"]), "patterns, prps"),
        (lambda: knowledge.search("x", kinds=["prps"]), "prp"),
        (lambda: knowledge.search("x", limit=0), "1 to 1000"),
        (lambda: knowledge.lines("README.md", 5, 3), "not a range"),
    ):
        with pytest.raises(UsageError) as caught:
            call()
        assert text in str(caught.value)


def test_hostile_queries_are_only_words(knowledge):
    for query in (
        "'; DROP TABLE chunks; --",
        '"unbalanced',
        "(((",
        "\\",
        "%_%",
        "\0",
        "🦊" * 50,
        "a" * 10_000,
        "the of and",
        "NULL",
        "-",
    ):
        knowledge.search(query)
        knowledge.search(query, mode="fast")
    assert knowledge.search("the and of", mode="fast").hits == []


def test_documents_sections_and_lines(knowledge):
    document = knowledge.document("PRP-29.3")
    assert document.path == "PRPs/executed/PRP-29.3-webhook-retries.md"
    assert ("depends_on", ".ce/PRPs/system/executed/PRP-14-error-recovery.md", "metadata") in document.related
    assert knowledge.document("docs/faq").path == "docs/faq.md"
    assert knowledge.document("./docs//faq.md").path == "docs/faq.md"
    assert knowledge.document("project:docs/faq.md#L3-L9").path == "docs/faq.md"
    section = knowledge.section("docs/faq.md", "tracking")
    assert section.text.startswith("## Tracking")
    assert knowledge.lines("docs/faq.md", 1, 9999).citation.line_end == knowledge.document("docs/faq.md").line_count
    with pytest.raises(DocumentNotFoundError) as caught:
        knowledge.section("docs/faq.md", "No such thing")
    assert "Tracking" in caught.value.names
    assert "its headings: " in str(caught.value)
    with pytest.raises(DocumentNotFoundError) as caught:
        knowledge.document("docs/fak.md")
    assert "docs/faq.md" in caught.value.hint
    with pytest.raises(DocumentNotFoundError, match="none from"):
        knowledge.lines("docs/faq.md", 5000, 5001)


def test_rules_and_drift(knowledge):
    assert {r.severity for r in knowledge.rules()} == {"mandatory", "forbidden", "advisory"}
    assert {r.path for r in knowledge.rules(scope="system")} == {".ce/RULES.md"}
    report = knowledge.drift()
    assert report.score == round(len(report.violations) / report.claims, 4)
    assert {v.type for v in report.violations} == {
        "dangling-reference", "duplicate-key", "missing-implementation", "undocumented-command", "unverified-prp"}  # fmt: skip


def test_drift_tells_of_a_stale_index(demo_copy):
    from tests.quick import build

    build(demo_copy)
    with syntropy.open(demo_copy) as opened:
        calm = opened.drift()
        (demo_copy / "docs/new.md").write_text("# New\n")
        assert [v.type for v in opened.drift().violations].count("stale-index") == 1
        assert opened.drift().claims == calm.claims + 1


@pytest.fixture
def copied(demo, tmp_path):
    shutil.copytree(demo / "build", tmp_path / "out")
    return tmp_path / "out"


def test_a_database_that_is_not_whole_is_refused(copied):
    path = copied / DATABASE
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(DatabaseError, match="truncated"):
        syntropy.open(copied)
    (copied / "manifest.json").unlink()
    path.write_bytes(b"no database at all")
    with pytest.raises(DatabaseError, match="cannot be read"):
        syntropy.open(db=path)
    with pytest.raises(DatabaseError, match="does not exist"):
        syntropy.open(db=copied / "none.duckdb")


def test_another_schema_version_is_refused(copied):
    connection = duckdb.connect(str(copied / DATABASE))
    connection.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    connection.close()
    (copied / "manifest.json").unlink()  # it would notice the changed size first
    with pytest.raises(DatabaseError, match="schema version 999"):
        syntropy.open(db=copied / DATABASE)


def test_the_connection_is_locked_down(knowledge):
    rows = knowledge._database.rows
    for sql in (
        "SELECT * FROM read_text('/etc/passwd')",
        "ATTACH '/tmp/x.db'",
        "SET enable_external_access = true",
        "CREATE TABLE x (a INT)",
    ):
        with pytest.raises(duckdb.Error):
            rows(sql)


def test_an_encoder_that_does_not_match_is_refused_with_the_fix(copied):
    facts = json.loads((copied / ENCODER / "encoder.json").read_text())
    (copied / ENCODER / "encoder.json").write_text(json.dumps({**facts, "fingerprint": "0" * 64}))
    with syntropy.open(copied) as opened:
        assert opened.search("retry").hits
        with pytest.raises(EncoderError, match="is not the one that made the vectors") as caught:
            opened.search("retry", mode="semantic")
        assert "build again" in caught.value.hint
    shutil.rmtree(copied / ENCODER)
    with syntropy.open(copied) as opened, pytest.raises(EncoderError, match="no query encoder"):
        opened.search("retry", mode="semantic")


def test_a_database_without_vectors_says_so(project):
    from tests.quick import build

    root = project({"docs/a.md": "# A\n\ntext\n"})
    build(root)
    with syntropy.open(root) as opened, pytest.raises(EncoderError, match="without embeddings"):
        opened.search("text", mode="semantic")


def test_a_replaced_database_is_opened_beside_the_former_one(project):
    from tests.quick import build

    root = project({"docs/a.md": "# A\n\nfirst\n"})
    build(root)
    with syntropy.open(root) as old:
        (root / "docs/a.md").write_text("# A\n\nsecond\n")
        build(root)
        with syntropy.open(root) as new:
            assert not new.search("first").hits
            assert new.search("second").hits
            assert old.search("first").hits
            assert not old.search("second").hits


def test_many_threads_may_ask_one_object(knowledge):
    expected = [h.citation for h in knowledge.search("retry webhooks").hits]
    wrong = []

    def ask():
        for _ in range(10):
            if [h.citation for h in knowledge.search("retry webhooks").hits] != expected:
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


QUESTIONS = [
    "how do we retry failed carrier webhooks",
    "webhoks",  # a typo
    '"quiet hours"',
    "Notifications",  # a title
    "café",  # letters that are folded by the table
    "nothing_of_the_kind_xyz",
]


@pytest.mark.parametrize("query", QUESTIONS)
def test_the_standalone_script_finds_the_same(demo, knowledge, query):
    found = subprocess.run([sys.executable, "-I", str(demo / "build" / "query.py"), query, "--json", "--limit", "6"],
                           capture_output=True, text=True, cwd="/")  # fmt: skip
    hits = knowledge.search(query, mode="fast", limit=6).hits
    assert found.returncode == (0 if hits else 1), found.stderr
    assert [(h["citation"], h["score"]) for h in json.loads(found.stdout)] == [
        (str(h.citation), round(h.score, 4)) for h in hits
    ]


def test_the_standalone_script_carries_all_it_needs(demo, tmp_path):
    """Alone in a folder, by a Python that has no Syntropy: what it lacks it would not find elsewhere."""
    alone = tmp_path / "query.py"
    alone.write_bytes((demo / "build/query.py").read_bytes())
    done = subprocess.run([sys.executable, "-I", str(alone), "x"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "there is no" in done.stderr or "not found" in done.stderr or "does not exist" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    carried = pytest.importorskip("pipeline.render.query_script").reader_modules()
    assert {"syntropy", "syntropy.contract.fold_table", "syntropy.search.ranking"} <= carried.keys()


def test_the_standalone_script_says_what_it_lacks(demo):
    """Without site-packages there is no duckdb."""
    script = str(demo / "build/query.py")
    done = subprocess.run([sys.executable, "-I", "-S", script, "x"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("the Python package duckdb is not there\n  run `uv run query.py")


def test_golden_questions_of_the_demo(knowledge):
    """Two thirds of our own questions are answered by the first ten hits of plain BM25, or ranking broke."""
    questions = [json.loads(line) for line in (ROOT / "examples/acme/questions.jsonl").read_text().splitlines()]
    assert len(questions) >= 40
    found = sum(
        bool({h.citation.path for h in knowledge.search(q["query"], limit=10).hits} & set(q["relevant"]))
        for q in questions
    )
    assert found / len(questions) > 0.66


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Retrying the webhooks", ["retri", "webhook"]),
        ("foo_bar", ["foo_bar", "foo", "bar"]),
        ("fooBar", ["foobar", "foo", "bar"]),
        ("--dry-run", ["dry", "run", "dry_run"]),
        ("1.0.21", ["1", "0", "21", "1_0_21"]),
        ("naïve CAFÉ", ["naiv", "cafe"]),
        ("it's", []),
    ],
)
def test_query_terms(knowledge, text, terms):
    assert analyse(SqlEngine(knowledge.database), text, synonyms=False, correct=False).terms == terms


def test_identifier_text_keeps_repeats_and_skips_data():
    assert identifier_text("a.b a.b plain " + "x." * 200) == "a_b a_b"
    assert index_terms("") == []


def test_names():
    assert str(Citation("project", "", "a.md", 1, 2)) == "a.md#L1-L2"
    assert str(Citation("pkg", "abc", "a.md", 1, 2)) == "pkg@abc:a.md#L1-L2"
    assert slugify("No Fishy  Fallbacks!") == "no-fishy-fallbacks"
    assert slugify("Ünïcode 환영 _x_") == "ünïcode-환영-x"
    assert len(slugify("word " * 50)) <= 60
    assert heading_anchor("Why `this`, now?") == "why-this-now"
    assert normalize_path(".\\docs\\\\a.md") == "docs/a.md"


def test_snippets_show_the_matching_lines():
    body = "\n".join(
        ["filler line about nothing"] * 20 + ["the breaker opens after five failures"] + ["more filler"] * 20
    )
    assert "breaker opens" in snippet(body, set(index_terms("breaker failures"))).text
    assert len(snippet("word " * 500, {"zzz"}).text) <= 242


def test_the_data_folder_is_only_for_tests():
    assert not any(str(DATA) in p.read_text(errors="ignore") for p in (ROOT / "syntropy").rglob("*.py"))


def test_the_sources_are_not_looked_at_on_every_query(demo, monkeypatch):
    import syntropy.read.knowledge as module

    looks = []
    monkeypatch.setattr(module, "check_staleness", lambda *_args, **_kwargs: looks.append(1))
    with syntropy.open(demo) as opened:
        for _ in range(5):
            opened.search("retry")
    assert len(looks) == 1


def test_keys_open_in_any_case_and_name_those_that_share_them(project):
    root = project(
        {
            "syntropy.toml": "[embed]\nenabled = false\n",
            "PRPs/executed/PRP-9-a.md": "# PRP-9: One\n\nThe first.\n",
            ".ce/PRPs/system/executed/PRP-9-a.md": "# PRP-9: One\n\nThe first.\n",
            "PRPs/executed/PRP-30-a.md": "# PRP-30: Apples\n\nRed.\n",
            "PRPs/executed/PRP-30-b.md": "# PRP-30: Pears\n\nGreen.\n",
            "examples/patterns/retry-later.md": "# Retry later\n\nWait.\n",
        }
    )
    quick_build(root)
    with syntropy.open(root) as knowledge:
        for spelled in ("PRP-9", "prp-9", "PRP-009", "prp 9"):
            found = knowledge.document(spelled)
            assert found.path == "PRPs/executed/PRP-9-a.md"
            assert found.copies == (".ce/PRPs/system/executed/PRP-9-a.md",)
            assert found.namesakes == ()
        clash = knowledge.document("PRP-30")
        assert (clash.path, clash.namesakes) == ("PRPs/executed/PRP-30-a.md", ("PRPs/executed/PRP-30-b.md",))
        other = knowledge.document("PRP-30@PRPs/executed/PRP-30-b.md")
        assert other.path == "PRPs/executed/PRP-30-b.md"
        assert knowledge.document("Retry-Later").path == "examples/patterns/retry-later.md"
        with pytest.raises(DocumentNotFoundError):
            knowledge.document("PRP-90")
