"""Tools from one's own loop: arguments as models write them, one answer as text and as data, strict definitions."""

from __future__ import annotations

import json
import re

import pytest
from jsonschema import Draft202012Validator

import syntropy
import syntropy.tools
from syntropy.contract.budget import tokens
from syntropy.tools.formats import definitions as of_tools
from syntropy.tools.table import TOOLS


@pytest.fixture(scope="module")
def knowledge(demo):
    with syntropy.open(project=demo) as opened:
        yield opened


def asked(knowledge, name, arguments=None):
    return syntropy.tools.call(knowledge, name, arguments)


def test_an_answer_is_plain_text_with_its_lines_within_its_budget(knowledge):
    answer = asked(knowledge, "search_knowledge", {"query": "how do we retry failed carrier webhooks?"})
    lines = answer.text.splitlines()
    assert lines[0] == "mode: hybrid"
    assert lines[2].startswith("[1] docs/guides/retries.md#L6-L16 ")
    assert lines[3] == "## How failed carrier webhooks are retried"
    assert "[2] PRPs/executed/PRP-29.3-webhook-retries.md#L" in answer.text
    assert tokens(answer.structured["answer"]) <= 830
    assert "\n" in answer.structured["answer"]
    assert answer.read
    small = asked(knowledge, "search_knowledge", {"query": "how do we retry failed carrier webhooks?", "budget": 300})
    assert tokens(small.structured["answer"]) <= 330


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "retry webhooks", "limit": None, "tags": None, "cursor": None},
        {"query": "retry webhooks", "limit": "3", "detailed": "false"},
        {"query": "retry webhooks", "types": "doc"},
        {"query": "retry webhooks", "types": "docs, prps"},
        {"query": "retry webhooks", "types": '["docs"]', "mode": "HYBRID"},
        {"query": ["retry webhooks"], "types": ["Docs"]},
        {"query": "retry webhooks", "where": None, "path": "docs/"},
        '{"query": "retry webhooks", "limit": 3.0}',
    ],
)
def test_what_a_model_means_is_understood(knowledge, arguments):
    answer = asked(knowledge, "search_knowledge", arguments)
    assert not answer.error, answer.text
    assert "docs/guides/retries.md" in answer.text


@pytest.mark.parametrize(
    ("where", "found"),
    [('{"status": "executed"}', True), ("status=executed", True), ([{"key": "status", "value": "executed"}], True), ({"status": "nope"}, False)],
)  # fmt: skip
def test_pairs_are_understood_in_any_form(knowledge, where, found):
    answer = asked(knowledge, "search_knowledge", {"query": "webhook retries", "where": where})
    assert ("PRPs/executed" in answer.text) is found


@pytest.mark.parametrize(
    ("filters", "within"),
    [
        ({"path": "PRPs"}, "PRPs/"),
        ({"path": "docs/guides/*"}, "docs/guides/"),
        ({"category": "google-workspace"}, "knowledge/commands.json#"),
        ({"category": "developer-console/google-workspace"}, "knowledge/commands.json#"),
        ({"types": ["commands"]}, "knowledge/commands.json#"),
    ],
)
def test_filters(knowledge, filters, within):
    answer = asked(knowledge, "search_knowledge", {"query": "users webhooks", **filters})
    cited = [line.split()[1] for line in answer.text.splitlines() if re.match(r"\[\d+\] ", line)]
    assert cited
    assert all(place.startswith(within) for place in cited)


def test_all_tags_narrows(knowledge):
    one = asked(
        knowledge, "search_knowledge", {"query": "webhook", "all_tags": ["webhooks"], "limit": 50, "budget": 6000}
    )
    two = asked(
        knowledge,
        "search_knowledge",
        {"query": "webhook", "all_tags": ["webhooks", "no-such-tag"], "limit": 50, "budget": 6000},
    )
    assert "[1]" in one.text
    assert "no document passes the filters" in two.text


def test_several_documents_in_one_call(knowledge):
    answer = asked(
        knowledge, "get_document", {"path": ["docs/faq.md", "docs/guides/retries.md#L37-L42", "docs/nope.md"]}
    )
    assert not answer.error
    first, second, third = answer.structured["documents_read"]
    assert first["citation"].startswith("docs/faq.md#L1-")
    assert second["citation"].startswith("docs/guides/retries.md#L37-L42~")
    assert "no document" in third["error"]
    assert tokens(answer.text) <= 2_000
    assert asked(knowledge, "get_document", {"path": '["docs/faq.md"]'}).structured["documents_read"]
    assert asked(knowledge, "get_document", {"path": ["docs/faq.md"] * 2 + [f"x{n}" for n in range(9)]}).error


def test_the_end_of_a_path_opens_it_where_it_is_one(knowledge):
    assert (
        asked(knowledge, "get_document", {"path": "retries.md"})
        .structured["citation"]
        .startswith("docs/guides/retries")
    )
    assert asked(knowledge, "get_document", {"path": "guides/retries"}).structured["title"]
    several = asked(knowledge, "get_document", {"path": "README.md#x", "scope": "system"})
    assert several.error or several.structured["citation"]


def test_a_citation_whose_digest_does_not_hold_is_said(knowledge):
    whole = asked(knowledge, "get_document", {"path": "docs/guides/retries.md#L37-L42"}).structured["citation"]
    assert "citation_check" not in asked(knowledge, "get_document", {"path": whole}).structured
    moved = whole.replace("#L37-L42", "#L36-L41")
    assert "#L37-L42" in asked(knowledge, "get_document", {"path": moved}).structured["citation_check"]
    wrong = whole.partition("~")[0] + "~deadbeef"
    assert asked(knowledge, "get_document", {"path": wrong}).text.startswith("citation_check: ")


@pytest.mark.parametrize(
    "name", ["sync", "helios gw users frobnicate", "helios gw", "helios gw users list everything", "frobnicate"]
)
def test_an_unknown_command_is_said_to_be_none(knowledge, name):
    answer = asked(knowledge, "get_command", {"name": name})
    assert answer.error
    assert answer.text.startswith(f"error: no such command: {name!r}")


def test_a_slip_is_answered_with_the_nearest_and_said_first(knowledge):
    answer = asked(knowledge, "get_command", {"name": "helios gw users lst"})
    assert answer.text.startswith("no_such_command: 'helios gw users lst': this is the nearest one")


def test_the_map_names_folders_and_what_is_not_held(knowledge):
    text = asked(knowledge, "get_overview").structured["documents"]
    assert "docs/guides/ " in text
    assert "Not held:" in text
    assert len(text.splitlines()) < 40


def test_long_words_do_not_break_the_budget(knowledge):
    for query in ("retry " + "x" * 200_000, "retry " + "zq" * 8_000, '"' + "retry " * 3_000 + '"'):
        answer = asked(knowledge, "search_knowledge", {"query": query, "budget": 200})
        assert not answer.error, answer.text[:300]
        assert tokens(answer.text) < 450
    assert asked(knowledge, "search_knowledge", "[" * 100_000).error
    assert asked(knowledge, "search_knowledge", {"query": "retry", "limit": "9" * 5_000}).error
    assert not asked(knowledge, "search_knowledge", {"query": "retry", "mode": ""}).error


def test_bad_calls_are_answers(knowledge):
    for name, arguments in [
        ("nope", {}),
        ("search_knowledge", "{"),
        ("search_knowledge", "[1]"),
        ("search_knowledge", {}),
    ]:
        answer = asked(knowledge, name, arguments)
        assert answer.error
        assert "next: " in answer.text
    assert asked(knowledge, "save_note", {"type": "issue", "content": "x"}).error  # notes are a group one asks for


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_strict_definitions_are_closed(tool):
    (found,) = of_tools([tool], "openai", strict=True)
    schema = found["function"]["parameters"]
    assert found["function"]["strict"] is True
    Draft202012Validator.check_schema(schema)

    def closed(node):
        if isinstance(node, dict):
            if node.get("type") == "object":
                assert node["additionalProperties"] is False
                assert set(node["required"]) == set(node["properties"])
            assert not {"default", "minLength"} & set(node)
            for item in node.values():
                closed(item)
        elif isinstance(node, list):
            for item in node:
                closed(item)

    closed(schema)


def test_what_a_strict_schema_allows_is_understood(knowledge):
    (found,) = (
        d["function"] for d in syntropy.tools.definitions(knowledge, "openai", strict=True)
        if d["function"]["name"] == "search_knowledge"
    )  # fmt: skip
    given = dict.fromkeys(found["parameters"]["properties"])
    given |= {"query": "webhook retries", "where": [{"key": "status", "value": "executed"}]}
    Draft202012Validator(found["parameters"]).validate(given)
    answer = asked(knowledge, "search_knowledge", json.dumps(given))
    assert not answer.error, answer.text
    assert "PRPs/executed" in answer.text
