"""Hybrid search on the demo and on small projects: ranking rules, filters, names, phrases, typos, scripts."""

import math
import shutil
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import syntropy
from syntropy.contract.config import Config, SearchConfig, load_config
from syntropy.contract.errors import ConfigError, DatabaseError, EncoderError, UsageError
from syntropy.contract.published import DATABASE, locate
from syntropy.contract.synonyms import SYNONYMS
from syntropy.read.knowledge import open_knowledge
from syntropy.search.fusion import Candidate, boost, fuse
from syntropy.search.passages import snippet
from syntropy.search.profiles import resolved_profile
from tests.quick import build

MODES = ("fast", "semantic", "hybrid")

PAGES = {
    "docs/users.md": "---\naliases: [people page, staff list]\nkeywords: payroll\ntags: [hr, people]\ndate: 2026-03-01\n"
    "owner: Ana\nstatus: executed\n---\n# List users\n\nShows every account of the tenant, a row each.\n",
    "docs/retrieve.md": "---\ntags: [hr]\ndate: 2025-01-15\n---\n# Fetching accounts\n\nRetrieve people by their number.\n",
    "docs/parser.md": "# Parser\n\nCall `parseHTTPHeader` or `parse_http_header`; version 1.0.21 added --dry-run, see PRP-29.3 "
    "and src/net/http_parser.py.\n",
    "docs/cafe.md": "# Café in Zürich\n\nThe naïve waiter brings crème brûlée.\n",
    "docs/korean.md": "# 환영합니다\n\n배송추적번호를 입력하세요. 고객은 문자로 알림을 받습니다.\n",
    "docs/chinese.md": "# 追跡\n\n顧客は追跡番号を受け取ります。配送状況を確認できます。\n",
    "docs/circuit.md": "# Breakers\n\nThe circuit breaker opens after five failures.\n\n## Other\n\nA breaker box and a circuit.\n",
    "README.md": "# Overview\n\nStart here: users, parser and breakers.\n",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    root = tmp_path_factory.mktemp("small")
    for name, text in PAGES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / "syntropy.toml").write_text('[synonyms]\npayroll = ["salary", "wages"]\n')
    build(root)
    with syntropy.open(root) as opened:
        yield opened


def paths(found):
    return [hit.citation.path for hit in found.hits]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("parseHTTPHeader", "docs/parser.md"),
        ("http header", "docs/parser.md"),
        ("parse_http_header", "docs/parser.md"),
        ("1.0.21", "docs/parser.md"),
        ("--dry-run", "docs/parser.md"),
        ("PRP-29.3", "docs/parser.md"),
        ("http_parser.py", "docs/parser.md"),
        ("src/net/http_parser.py", "docs/parser.md"),
        ("naive creme brulee", "docs/cafe.md"),
        ("ZÜRICH", "docs/cafe.md"),
        ("추적번호", "docs/korean.md"),
        ("환영", "docs/korean.md"),
        ("追跡番号", "docs/chinese.md"),
        ("配送", "docs/chinese.md"),
        ("payroll", "docs/users.md"),
        ("wages", "docs/users.md"),
    ],
)
def test_words_identifiers_accents_and_scripts_are_found(small, query, path):
    assert paths(small.search(query, mode="fast"))[0] == path
    assert path in paths(small.search(query, mode="hybrid"))


def test_the_title_comes_first_then_an_alias(small):
    title = small.search("list users").hits[0]
    assert (title.citation.path, title.score, title.matched_on[0]) == ("docs/users.md", 1.0, "title-exact")
    alias = small.search("Staff  LIST").hits[0]
    assert (alias.citation.path, alias.matched_on[0]) == ("docs/users.md", "alias")
    assert alias.score == pytest.approx(0.99)


def test_synonyms_are_found_both_ways_and_never_outrank_the_word_itself(small):
    assert "get" in SYNONYMS[0]
    found = small.search("get users", mode="fast")
    assert paths(found)[0] == "docs/users.md"
    assert "list" in found.synonyms
    by_synonym = small.search("fetch", mode="fast")
    assert paths(by_synonym)[0] == "docs/retrieve.md", "the word itself first"
    assert "docs/users.md" in paths(by_synonym), "then `list`"
    assert paths(small.search("salary", mode="fast", synonyms=False)) == []


def test_phrases_stand_together(small):
    assert [h.citation.line_start for h in small.search('"circuit breaker"', mode="fast").hits] == [1]
    assert paths(small.search('"breaker circuit"')) == []
    quoted = 'what does the page say about the "breaker circuit" of the people in the house'
    assert paths(small.search(quoted)), "a long question that quotes is not a request for the phrase alone"


def test_a_misspelt_word_is_searched_as_the_nearest_one_and_said(small):
    found = small.search("circiut", mode="fast")
    assert paths(found)[0] == "docs/circuit.md"
    assert found.corrections == {"circiut": "circuit"}
    assert small.search("circuit", mode="fast").corrections == {}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"tags": ["hr"]}, {"docs/users.md", "docs/retrieve.md"}),
        ({"all_tags": ["hr", "people"]}, {"docs/users.md"}),
        ({"path": "docs/c*"}, {"docs/cafe.md", "docs/chinese.md", "docs/circuit.md"}),
        ({"where": {"owner": "ana"}}, {"docs/users.md"}),
        ({"where": [("tags", "people")]}, {"docs/users.md"}),
        ({"where": {"status": "executed"}}, {"docs/users.md"}),
        ({"since": "2026"}, {"docs/users.md"}),
        ({"until": "2025-01"}, {"docs/retrieve.md"}),
        ({"kinds": ["rule"]}, set()),
        ({"packages": ["elsewhere"]}, set()),
    ],
)
def test_filters_come_before_ranking(small, filters, expected):
    found = small.search("anything at all", mode="semantic", limit=50, **filters)
    assert set(paths(found)) == expected


@pytest.mark.parametrize(
    "wrong", [{"since": "soon"}, {"kinds": ["nope"]}, {"where": [('a"b', "c")]}, {"mode": "magic"}, {"neighbors": 99}]
)
def test_wrong_options_are_errors_that_help(small, wrong):
    with pytest.raises(UsageError) as raised:
        small.search("users", **wrong)
    assert raised.value.hint


@pytest.mark.usefixtures("meaning")
@pytest.mark.parametrize("mode", MODES)
def test_memory_and_file_answer_alike(demo, mode):
    """Both engines give the same hits, scores and passages."""
    for query, options in (
        ("how do we retry failed carrier webhooks", {}),
        ("quiet hours", {"kinds": ["doc"]}),
        ("normalize_tracking_no", {"hits_per_document": 1, "limit": 20}),
        ('"circuit breaker" open', {}),
    ):
        with open_knowledge(demo / "build", engine="sql") as by_sql:
            first = by_sql.search(query, mode=mode, **options)
            assert by_sql.engine.name == "sql"
        with open_knowledge(demo / "build", engine="memory") as in_memory:
            second = in_memory.search(query, mode=mode, **options)
            assert in_memory.engine.name == "memory"
        assert [(h.chunk_id, round(h.score, 4), h.snippet) for h in first.hits] == [
            (h.chunk_id, round(h.score, 4), h.snippet) for h in second.hits
        ]


@pytest.mark.usefixtures("meaning")
def test_auto_chooses_by_the_query(demo):
    with syntropy.open(demo / "build") as knowledge:
        assert knowledge.search("quiet hours", mode="auto").mode == "fast"
        assert knowledge.search("quiet hours?", mode="auto").mode == "hybrid"
        assert knowledge.search("when do quiet hours begin", mode="auto").mode == "hybrid"


def test_without_an_encoder_hybrid_says_so_and_semantic_is_an_error(demo, tmp_path):
    shutil.copy(locate(demo / "build", DATABASE), tmp_path / "alone.duckdb")
    with syntropy.open(tmp_path / "alone.duckdb") as knowledge:
        found = knowledge.search("quiet hours of notifications")
        assert found.hits
        assert found.mode == "fast"
        assert "lexically" in found.warning
        with pytest.raises(EncoderError) as raised:
            knowledge.search("quiet hours", mode="semantic")
        assert "encoder" in raised.value.hint


@pytest.mark.usefixtures("meaning")
def test_explanations_add_up(demo):
    with syntropy.open(demo / "build") as knowledge:
        for hit in knowledge.search("how are failed webhooks retried", limit=5).hits:
            parts = [hit.explanation[name]["contribution"] for name in ("lexical", "semantic")]
            factors = [value for name, value in hit.explanation.items() if name.endswith(" boost")]
            assert sum(parts) * math.prod(factors) == pytest.approx(hit.score, abs=3e-4)
            assert "semantic" in hit.matched_on


def test_neighbors_are_the_chunks_around_a_hit(demo):
    with syntropy.open(demo / "build") as knowledge:
        hit = knowledge.search("quiet hours", neighbors=1, limit=1).hits[0]
        assert hit.neighbors
        assert {n.citation.path for n in hit.neighbors} == {hit.citation.path}
        assert hit.citation not in [n.citation for n in hit.neighbors]


def test_nonsense_finds_nothing_and_suggests(demo):
    with syntropy.open(demo / "build") as knowledge:
        assert knowledge.search("zzzznothing qqqqwhatever").hits == []
        found = knowledge.search("webhookological", mode="fast")
        assert not found.hits
        assert any("webhook" in name for name in found.suggestions)


def test_search_many(demo):
    with syntropy.open(demo / "build") as knowledge:
        both = knowledge.search_many(["quiet hours", "label printing"], limit=3)
        assert [paths(f) for f in both] == [
            paths(knowledge.search(q, limit=3)) for q in ("quiet hours", "label printing")
        ]


SCORES = st.dictionaries(st.integers(1, 30), st.floats(0, 1), max_size=20)


@given(SCORES, SCORES, st.sampled_from(["convex", "rrf"]))
def test_fused_scores_lie_in_range_and_grow_with_each_signal(left, right, fusion):
    settings = replace(SearchConfig(), fusion=fusion)
    ranks = [{c: n for n, c in enumerate(sorted(s, key=lambda c: (-s[c], c)), 1)} for s in (left, right)]
    found = fuse(left, right, settings, lexical_ranks=ranks[0], semantic_ranks=ranks[1])
    assert {c.chunk for c in found} == set(left) | set(right)
    assert all(0 <= c.score <= 1 for c in found)
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)
    score = {c.chunk: c.score for c in found}
    for a in score:
        for b in score:
            if left.get(a, 0) >= left.get(b, 0) and right.get(a, 0) >= right.get(b, 0) and fusion == "convex":
                assert score[a] >= score[b] - 1e-12


def test_the_nocaap_profile_has_its_constants_and_boosts():
    settings = resolved_profile(SearchConfig(profile="nocaap"))
    assert (settings.fusion, settings.rrf_k, settings.lexical_weight, settings.semantic_weight) == ("rrf", 60, 0.4, 0.6)
    first = fuse({1: 0.5}, {1: 0.5}, settings, lexical_ranks={1: 1}, semantic_ranks={1: 1})
    assert first[0].score == pytest.approx(1.0)
    found = [Candidate(1, 0.5), Candidate(2, 0.5), Candidate(3, 0.55)]
    boost(found, {1: "docs/retry/webhook.md", 2: "docs/README.md", 3: "docs/x.md"}, {"retry", "webhook"}, settings)
    assert [(c.chunk, round(c.score, 4)) for c in found] == [(1, 0.65), (2, 0.625), (3, 0.55)]


def test_snippets_highlight_what_matched():
    found = snippet("Intro line.\n\nThe  circuit breaker\nopens (late).", {"breaker", "open"})
    assert [found.text[a:b] for a, b in found.highlights] == ["breaker", "opens"]


@given(st.text(max_size=600), st.integers(0, 700))
def test_snippets_never_fail_and_highlights_lie_inside(body, start):
    found = snippet(body, {"a", "the"}, start=min(start, len(body)))
    assert all(0 <= a < b <= len(found.text) for a, b in found.highlights)
    assert "\n" not in found.text


def test_synonyms_of_the_configuration_are_checked(tmp_path):
    (tmp_path / "syntropy.toml").write_text("[synonyms]\nship = 3\n")
    with pytest.raises(ConfigError):
        load_config(tmp_path, env={})
    (tmp_path / "syntropy.toml").write_text('[synonyms]\nship = ["deploy", "release"]\n')
    assert load_config(tmp_path, env={}).synonyms == {"ship": ("deploy", "release")}
    assert Config().synonyms == {}


def test_phrases_know_scripts_without_spaces_and_do_not_cross_fields(small):
    assert paths(small.search('"追跡番号"', mode="fast")) == ["docs/chinese.md"]
    assert small.search("追跡番号", mode="fast").unknown_terms == []
    assert paths(small.search('"users list"', mode="fast")) == [], "title, headings and text are not one phrase"


def test_a_key_is_a_name(demo):
    with syntropy.open(demo / "build") as knowledge:
        assert paths(knowledge.search("PRP-29.3"))[0] == "PRPs/executed/PRP-29.3-webhook-retries.md"


def test_explanations_of_one_ranking_are_its_scores(demo):
    with syntropy.open(demo / "build") as knowledge:
        hit = knowledge.search("webhook retries budget", mode="fast").hits[0]
        assert hit.explanation["lexical"]["contribution"] == pytest.approx(hit.score, abs=1e-4)


def test_filters_that_nothing_passes_are_said(small):
    assert "no document passes" in small.search("users", packages=["nosuch"]).warning
    assert "no document passes" not in small.search("zzzzqqqq", mode="fast").warning


@pytest.mark.parametrize(
    "wrong", [{"profile": "x"}, {"tags": "hr"}, {"kinds": "doc"}, {"hits_per_document": -1}, {"since": "2026-13"}]
)
def test_more_wrong_options(small, wrong):
    with pytest.raises(UsageError):
        small.search("users", **wrong)


def test_asking_a_closed_database_is_an_error_of_ours(demo):
    knowledge = syntropy.open(demo / "build")
    knowledge.close()
    with pytest.raises(DatabaseError):
        knowledge.search("users", mode="fast")


def test_numbers_in_the_frontmatter_and_other_dates(project):
    root = project(
        {
            "docs/a.md": "---\nports: [80, 443]\nowner: {name: Ann}\ndate: 15.01.2026\n---\n# Ports\n\nOpen ports.\n",
            "docs/b.md": "---\nports: [22]\ndate: 2026-02-03T10:00\n---\n# Ports too\n\nOther ports.\n",
        }
    )
    build(root)
    with syntropy.open(root) as knowledge:
        ask = lambda **filters: set(paths(knowledge.search("ports", mode="fast", **filters)))  # noqa: E731
        assert ask(where={"ports": 80}) == {"docs/a.md"}
        assert ask(where={"owner": "Ann"}) == set()
        assert ask(since="2026") == {"docs/b.md"}
        assert ask(until="2000") == set()
