from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syntropy.contract.budget import cut, tokens


@given(st.text(), st.integers(0, 50))
def test_a_cut_text_is_a_beginning_within_the_limit(text, limit):
    piece = cut(text, limit)
    assert tokens(piece) <= max(limit, 0) or piece == text
    assert text.encode("utf-8", "replace").decode().startswith(piece.encode("utf-8", "replace").decode())


def test_a_cut_ends_at_a_line_or_a_word():
    assert cut("one two three four\nfive six seven", 6) == "one two three four\n"
    assert cut("one two three four five six seven", 6) == "one two three four five "
    assert cut("한국어 " * 100, 10).endswith(" ")
