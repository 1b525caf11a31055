"""Entries go into other people's JSON and out of it again, and no other byte changes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntropy.setup.json_text import NotJsonError, put, taken

ENTRY = {"command": "/usr/bin/syntropy", "args": ["serve", "--project", "/p"]}
FILES = [
    "",
    "{}",
    "{}\n",
    "{\n}\n",
    "{ }",
    '{"a": 1}',
    '{"mcpServers": {}}',
    '{"mcpServers":{}}',
    '{"mcpServers": {\n  }\n}\n',
    '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
    '{\n  // a comment with "quotes" and {\n  "mcpServers": {\n    "other": {"command": "x", /* , } */ },\n  },\n}\n',
    '{\r\n\t"theme": "dark",\r\n\t"list": [1, 2,],\r\n}\r\n',
    '{"mcpServers": {"other": {}}, "z": [1]}',
    '{"mcpServers": { /* none yet: see the wiki */ }}',
    '{"mcpServers": { }}',
    '\ufeff{"a": "b // no comment, \\" }"}',
]


@pytest.mark.parametrize("text", FILES)
def test_out_is_the_inverse_of_in(text):
    once = put(text, ["mcpServers"], "ours", ENTRY)
    assert put(once, ["mcpServers"], "ours", ENTRY) == once
    assert '"ours"' in once
    assert taken(once, ["mcpServers"], lambda key, _: key == "ours") == text


@pytest.mark.parametrize("text", FILES)
def test_elements_of_lists_too_and_two_of_them(text):
    start = {"hooks": [{"type": "command", "command": "syntropy a"}]}
    once = put(text, ["hooks", "SessionStart"], None, start)
    twice = put(once, ["hooks", "PreToolUse"], None, start)
    assert put(twice, ["hooks", "SessionStart"], None, start) == twice
    back = taken(twice, ["hooks", "PreToolUse"], lambda _, value: value == start)
    assert back == once
    assert taken(back, ["hooks", "SessionStart"], lambda _, value: value == start) == text


def test_another_value_is_replaced_where_it_stands():
    once = put('{"mcpServers": {"a": 1}}', ["mcpServers"], "ours", {"command": "old"})
    changed = put(once, ["mcpServers"], "ours", {"command": "new"})
    assert json.loads(changed)["mcpServers"] == {"ours": {"command": "new"}, "a": 1}
    assert list(json.loads(changed)["mcpServers"]) == ["ours", "a"]


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": [], "mcpServers": 1}',
        "[]",
        "not json",
        '{"mcpServers": []}',
        '{"mcpServers": 7}',
        '{"a": }',
        "{a: 1}",
        '{"a": 1',
    ],
)
def test_what_cannot_be_edited_is_refused(text):
    with pytest.raises(NotJsonError):
        put(text, ["mcpServers"], "ours", ENTRY)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=4), st.sampled_from([None, 1, 2, "\t"]))
def test_any_file_comes_back_byte_for_byte(whole, indent):
    whole.pop("mcpServers", None)
    text = json.dumps(whole, indent=indent)
    once = put(text, ["mcpServers"], "ours", ENTRY)
    assert json.loads(once) == {**whole, "mcpServers": {"ours": ENTRY}}
    back = taken(once, ["mcpServers"], lambda key, _: key == "ours")
    assert back == text or (back == "" and not whole)


def test_what_is_on_the_way_must_be_an_object_and_the_last_of_two_counts():
    with pytest.raises(NotJsonError):
        put('{"hooks": [1]}', ("hooks", "S"), None, ENTRY)
    once = put('{"mcpServers": {}, "mcpServers": {"x": 1}}', ["mcpServers"], "ours", ENTRY)
    assert json.loads(once)["mcpServers"] == {"ours": ENTRY, "x": 1}
