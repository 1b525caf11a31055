"""Terms by word are the terms of the text; counted tokens are the tokenizer's; occurrences come sorted."""

from collections import Counter

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.chunk.terms import TermCounter, Terms
from pipeline.chunk.tokens import TokenCounter, load_tokenizer
from pipeline.embed.weights import tokenizer
from pipeline.store.inverted_index import occurrences
from syntropy.contract.text import identifier_text, stems
from syntropy.contract.vocabulary import SEARCH_FIELDS

TEXTS = st.text(
    alphabet=st.sampled_from("abcABCéÉßΣς019_-./:(),`'\"*# \n\tñ追跡환ﬁ\u0301\u200b\x1c\u00a0"), max_size=120
)


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_terms_counted_by_word_are_those_of_the_text(text):
    short = [text if name == "title" else "" for name in SEARCH_FIELDS if name not in ("body", "identifiers")]
    counts, identifiers = TermCounter().count(short, text)
    expected = Counter(stems(text))
    assert counts[SEARCH_FIELDS.index("body")] == expected
    assert counts[SEARCH_FIELDS.index("title")] == expected
    assert Counter(identifiers.split()) == Counter(identifier_text(text).split())
    assert counts[SEARCH_FIELDS.index("identifiers")] == Counter(stems(identifier_text(text)))


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_words_have_the_tokens_that_the_tokenizer_gives_them(text):
    bert = load_tokenizer(tokenizer())
    expected = [len(bert.encode(word, add_special_tokens=False)) for word in text.split()]
    assert TokenCounter(bert).word_counts(text) == expected


def test_occurrences_are_sorted_and_complete():
    rows = Terms()
    empty = [{} for _ in SEARCH_FIELDS]
    rows.add("project:a", 0, [{"zeta": 2}, *empty[1:]])
    rows.add("project:a", 1, empty)
    rows.add("project:b", 0, [{"alpha": 1, "zeta": 1}, {"zeta": 3}, *empty[2:]])
    found = occurrences(pl.DataFrame(rows.table()))
    assert found.vocabulary.to_list() == ["alpha", "zeta"]
    assert found.term.tolist() == [0, 1, 1, 1]
    assert found.row.tolist() == [2, 0, 2, 2]
    assert found.field.tolist() == [0, 0, 0, 1]
    assert found.times.tolist() == [1, 2, 1, 3]
    assert found.chunks == 3
