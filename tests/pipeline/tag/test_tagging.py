"""Which marks become tags, and which tags follow from others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.ground.tables import conform, from_rows
from pipeline.tag.tagging import MAX_INFERRED, tag_documents
from syntropy.contract.config import TagsConfig
from syntropy.contract.schema import HEADINGS, TAG_MARKS, TAGS

ON, OFF = TagsConfig(infer=True), TagsConfig(infer=False)


def marks(*rows):
    """(document, origin, text) in their order."""
    return from_rows(TAG_MARKS, [(document, n, origin, text) for n, (document, origin, text) in enumerate(rows)])


def headings(**texts):
    return from_rows(HEADINGS, [(f"p:{name}", 0, 1, text, "", 1, 1, 0, 1) for name, text in texts.items()])


def tags(found):
    return [(d.removeprefix("p:"), tag, origin) for d, tag, origin, _ in found.sort("document", "position").iter_rows()]


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ([("inline", "a"), ("frontmatter", "B"), ("header", "c")], [("x", "b", "frontmatter")]),
        ([("frontmatter", " "), ("inline", "`a b`"), ("inline", "a  B")], [("x", "a b", "inline")]),
        ([("header", "First"), ("header", "Second")], [("x", "first", "header"), ("x", "second", "header")]),
        ([("inline", "***")], []),
    ],
)
def test_the_first_strategy_that_finds_any_wins(written, wanted):
    assert tags(tag_documents(marks(*(("p:x", *row) for row in written)), headings(), OFF)) == wanted


CARRIED = [
    (f"p:{name}", "frontmatter", tag) for name in "ab" for tag in ("circuit breaker", "c++", ".net", "c", "retry")
]


def test_a_heading_that_names_a_tag_of_others_gives_it():
    found = tag_documents(marks(*CARRIED), headings(x="How the Circuit Breakers open", y="A breaker circuit"), ON)
    assert [row for row in tags(found) if row[0] in "xy"] == [("x", "circuit breaker", "inferred")]
    assert not [
        row for row in tags(tag_documents(marks(*CARRIED), headings(x="Circuit breaker"), OFF)) if row[0] == "x"
    ]


def test_tags_that_are_more_than_letters_follow_from_nothing():
    found = tag_documents(marks(*CARRIED), headings(x="Appendix C", y="Net income"), ON)
    assert [row for row in tags(found) if row[0] in "xy"] == []


def test_one_document_alone_gives_nothing_and_nobody_gets_many():
    alone = marks(("p:a", "inline", "solo"))
    assert [row[0] for row in tags(tag_documents(alone, headings(x="solo"), ON))] == ["a"]
    names = [f"word{n}" for n in range(9)]
    many = marks(*((f"p:{d}", "inline", name) for d in "ab" for name in names))
    found = tags(tag_documents(many, headings(x=" ".join(names)), ON))
    assert len([row for row in found if row[0] == "x"]) == MAX_INFERRED


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["frontmatter", "inline", "header"]), st.text(max_size=20))
    ),
    st.dictionaries(st.sampled_from("abcd"), st.text(max_size=30)),
)
def test_any_marks_keep_the_contract(rows, texts):
    found = tag_documents(marks(*((f"p:{d}", o, t) for d, o, t in rows)), headings(**texts), ON)
    assert conform(TAGS, found).equals(
        conform(TAGS, tag_documents(marks(*((f"p:{d}", o, t) for d, o, t in rows)), headings(**texts), ON))
    )
