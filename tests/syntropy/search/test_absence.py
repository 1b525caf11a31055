"""What is not here is said to be not here, and names are never taken for misspelt words."""

from __future__ import annotations

import pytest

import syntropy
from syntropy.search.absence import null_questions, threshold, why_absent
from syntropy.search.query import analyse, told
from tests.quick import build


@pytest.fixture(scope="module")
def knowledge(demo):
    with syntropy.open(demo / "build") as opened:
        yield opened


@pytest.mark.parametrize("mode", ["hybrid", "fast"])
@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("how do I stream events to Apache Flink?", "Flink"),
        ("terraform module for kubernetes", "terraform, kubernetes"),
        ("configure SAML login with Okta", "SAML"),
        ("xk7q2", "xk7q2"),
    ],
)
def test_what_is_absent_is_named_as_typed(knowledge, mode, query, named):
    found = knowledge.search(query, mode=mode)
    assert named in found.not_here
    assert set(named.split(", ")) <= set(found.unknown_terms)
    assert found.corrections == {}


@pytest.mark.parametrize("mode", ["hybrid", "fast"])
@pytest.mark.parametrize(
    "query", ["how do we retry failed carrier webhooks?", "helios gw users list", "circuit breaker"]
)
def test_what_is_here_is_not_flagged(knowledge, mode, query):
    assert knowledge.search(query, mode=mode).not_here == ""


def test_digits_of_an_unknown_word_find_nothing(knowledge):
    assert knowledge.search("xk7q2", mode="fast").hits == []


@pytest.mark.parametrize(
    ("word", "corrected"),
    [("webhoks", True), ("trackign", True), ("configuraton", True), ("refund", False), ("maternity", False), ("Webhoks", False), ("argo", False), ("ebhooks", False), ("retry_webhoks", False)],
)  # fmt: skip
def test_only_plain_long_words_are_corrected(knowledge, word, corrected):
    found = knowledge.search(word, mode="fast")
    assert bool(found.corrections) is corrected
    assert not (corrected and found.not_here)
    assert knowledge.search(word, mode="fast").unknown_terms == [word]


def test_words_of_asking_are_left_out_but_not_where_nothing_else_remains(knowledge):
    assert told("How do I retry webhooks?") == "retry webhooks?"
    assert told("what is it") == "what is it"
    assert told('is "what is retried" told') == '"what is retried" told'
    assert analyse(knowledge.engine, "how can we retry", synonyms=False, correct=False).terms == ["retri"]


def test_a_corpus_draws_the_same_questions_again_and_a_small_one_none():
    texts = [" ".join(f"word{chr(97 + a)}{chr(97 + b)}" for a in range(10) for b in range(10))] * 2
    assert null_questions(texts) == null_questions(texts)
    assert len(set(null_questions(texts))) > 100
    assert null_questions(["a few words"] * 5) == []
    assert threshold([], "hybrid") == 0.0
    assert threshold([0.1, 0.2, 0.3, 0.4, 0.5], "hybrid") == 0.3


def test_reasons():
    assert why_absent(0.5, 0.3, [], 0.0) == ""
    assert why_absent(0.5, 0.0, [], 0.0) == ""
    assert why_absent(0.0, 0.0, [], 0.0) == "nothing was found"
    assert why_absent(0.35, 0.3, ["Flink"], 0.5) == "Flink occurs nowhere"
    assert "0.20" in why_absent(0.2, 0.3, [], 0.0)
    assert why_absent(0.4, 0.0, ["a", "b"], 0.6) == "a, b occur nowhere"


def test_the_thresholds_travel_with_the_database(knowledge):
    assert set(knowledge.meta["absence"]) and '"hybrid"' in knowledge.meta["absence"]


def test_sentences_without_spaces_are_not_one_unknown_word(project):
    subjects = ("請求書", "再試行", "配送", "認証", "在庫")
    pages = {
        f"docs/{n}.md": f"# {s}の手引き\n\n{s}の回数を変更する方法。{s}を再送する設定は五回までです。\n"
        for n, s in enumerate(subjects)
    }
    root = project(pages)
    build(root)
    with syntropy.open(root) as opened:
        assert opened.search("請求書を再送するにはどうすればいいですか", mode="fast").not_here == ""
        assert opened.search("再試行の回数を変更する方法は?", mode="fast").not_here == ""
        assert opened.search("量子コンピュータ", mode="fast").not_here
