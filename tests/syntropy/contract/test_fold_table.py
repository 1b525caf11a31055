"""Words of every script are folded as DuckDB folds them, whichever Unicode this Python knows."""

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntropy.contract import fold_table
from syntropy.contract import text as analysis
from syntropy.contract.vocabulary import TOKEN_BREAK
from tests import generated_folds

SQL = f"SELECT list_filter(string_split(regexp_replace(lower(strip_accents(?)), '{TOKEN_BREAK}', ' ', 'g'), ' '), w -> w <> '')"


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as opened:
        yield opened


def test_every_character_is_folded_as_duckdb_folds_it():
    wanted = generated_folds.answers()
    differing = [
        hex(c)
        for c in range(1, generated_folds.LAST)
        if c not in range(0xD800, 0xE000) and fold_table.folded(c) != wanted[c]
    ]
    assert differing == []


def test_the_table_is_the_generated_one():
    assert generated_folds.TARGET.read_text() == generated_folds.module()


@pytest.mark.parametrize("text", ["हिंदी भाषा", "ΟΔΥΣΣΕΥΣ ὈΔΥΣΣΕΎΣ ς", "தமிழ்", "తెలుగు", "မြန်မာ", "İstanbul ı", "ß ẞ ﬁ", "ᄒ" + "ᅪ" + "ᆫ",
                                  "각" + "ᆨ", "Ǆ ǅ", "e\u0301te\u0301", "Å Å", "१२३ ٣٤", "m² ½ Ⅷ", "לָשׁוֹן", "عَرَبِيّ", "ไทย น้ำ"])  # fmt: skip
def test_words_of_scripts(connection, text):
    assert analysis.words(text) == connection.execute(SQL, [text]).fetchone()[0]
    assert len(analysis.shape(text)) == len(text)


WORDY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
INDIC_AND_JAMO = st.text(st.sampled_from([chr(c) for r in ((0x900, 0xE00), (0x1000, 0x1200), (0xAC00, 0xAC40), (0x300, 0x400)) for c in range(*r)]), max_size=12)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(WORDY | INDIC_AND_JAMO)
def test_any_text_gives_duckdbs_words(text):
    with duckdb.connect() as opened:
        assert analysis.words(text) == opened.execute(SQL, [text]).fetchone()[0]
