"""Text to terms, the same on both sides: what the full-text index holds and what a query asks for.

DuckDB's full-text index strips accents, lower-cases, splits on everything but letters, digits and `_`,
and stems (`vocabulary.TOKEN_BREAK`, `vocabulary.STEMMER`). `index_terms` does exactly that in Python, for every
script (`fold_table`); a blocking check compares both on every build. Identifiers get a field
of their own: parts of joined ones (`fooBar` → foo bar, `foo_bar` → foo bar) and one joined form of
spelled ones (`1.0.21` → 1_0_21, `PRP-29.3` → prp_29_3, `--dry-run` → dry_run, `src/a.py` → src_a_py a_py).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from .vocabulary import STEMMER, STOP_WORDS

_ASCII_WORD = re.compile(r"[0-9a-z_]+")
_CANDIDATE = re.compile(r"[\w./:\-]{2,}")
_SEPARATOR = re.compile(r"[./:\-]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_JAMO = re.compile("[\u1100-\u1112\uac00-\ud7a3][\u1161-\u1175\u11a8-\u11c2]+")
"""Hangul written as single letters: DuckDB composes them to syllables when it strips accents."""

UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
"""Ranges of Han, kana and hangul syllables."""

_UNSPACED = re.compile(f"[{UNSPACED}]+")

_STOP = frozenset(STOP_WORDS)
MAX_JOINED = 120
"""Longer joined forms are URLs or data, and nobody types them."""


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 (PyStemmer's name)


@lru_cache(maxsize=1)
def _stemmer() -> _Stemmer:
    import Stemmer  # 2 ms, and importing the CLI must not need it

    return Stemmer.Stemmer(STEMMER)  # type: ignore[no-any-return]


class _Folds(dict[int, str]):
    """`str.translate`'s table, filled with the characters that are met."""

    def __missing__(self, code_point: int) -> str:
        from .fold_table import folded  # 2 ms, and most texts are ASCII

        found = self[code_point] = folded(code_point)
        return found


class _Shapes(dict[int, str]):
    """Each character as a letter where it belongs to a word, for regular expressions that know no marks."""

    def __missing__(self, code_point: int) -> str:
        found = self[code_point] = chr(code_point) if code_point < 128 else " " if _FOLDS[code_point] == " " else "x"
        return found


_FOLDS = _Folds()
_SHAPES = _Shapes()


def words(text: str) -> list[str]:
    """Folded words in order (lower case, no accents), stop words included, not stemmed."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    folded = text.translate(_FOLDS)
    if _JAMO.search(folded):
        folded = _JAMO.sub(lambda match: unicodedata.normalize("NFC", match.group()), folded)
    return [word for word in folded.split(" ") if word]


def shape(text: str) -> str:
    """A text of the same length in which all that can be part of a word is a letter: accents and vowel signs, too."""
    return text if text.isascii() else text.translate(_SHAPES)


def name_of(text: str) -> str:
    """A title, alias or query as names are compared: folded words, one space between."""
    return " ".join(words(text))


def stems(text: str) -> list[str]:
    """Stemmed words in order, stop words left out: what the full-text index holds of a text.

    Scripts without spaces between words also give each pair of neighbouring characters. Porter stems a
    lone `s` (of `it's`) to nothing, which the index keeps as an empty term.
    """
    stem = _stemmer().stemWord
    found = [stem(word) for word in words(text) if word not in _STOP]
    if not text.isascii() and _UNSPACED.search(text):
        found += [pair for word in words(text) for run in _UNSPACED.findall(word) for pair in _pairs(run, word)]
    return found


def is_unspaced(text: str) -> bool:
    """Is all of it of a script that writes no spaces between words?"""
    return _UNSPACED.fullmatch(text) is not None


def _pairs(run: str, word: str) -> list[str]:
    """Bigrams of a run of CJK characters (Lucene's CJKBigramFilter); those that are the word itself left out."""
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return [pair for pair in pairs if pair != word]


def index_terms(text: str) -> list[str]:
    """The terms of a text in order: its stems without the empty one, which is not a term."""
    return [term for term in stems(text) if term]


def identifier_text(text: str) -> str:
    """Parts and joined forms of the identifiers in a text, separated by spaces, repeats kept."""
    return " ".join(filter(None, map(expanded_word, text.split())))


@lru_cache(maxsize=200_000)
def expanded_word(word: str) -> str:
    """Parts and joined forms of what stands between two spaces; empty for most words."""
    if word.isalpha() and (word.islower() or word[1:].islower() or word.isupper()):
        return ""
    return " ".join(filter(None, map(_expanded, _CANDIDATE.findall(word))))


def _expanded(token: str) -> str:
    """Parts and joined forms of one token; empty for a plain word."""
    token = token.strip("./:-")
    if len(token) > MAX_JOINED or (token.isalpha() and (token.islower() or token[1:].islower() or token.isupper())):
        return ""
    pieces = [piece for piece in _SEPARATOR.split(token) if piece]
    found: list[str] = []
    if len(pieces) > 1:
        found.append("_".join(pieces))
        name = token.rpartition("/")[2]
        if "/" in token and len(_SEPARATOR.split(name)) > 1:
            found.append(_SEPARATOR.sub("_", name))
    for piece in pieces:
        parts = [part for bit in piece.split("_") if bit for part in _parts(bit)]
        if len(parts) > 1:
            found.extend(parts)
    return " ".join(found)


def _parts(word: str) -> list[str]:
    """`fooBar2` -> foo, Bar, 2; words of other scripts stay whole."""
    return _CAMEL.findall(word) if word.isascii() else [word]


def idf(chunks: int, frequency: int) -> float:
    """Lucene's non-negative inverse document frequency."""
    return math.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))


def jaccard(left: Iterable[str], right: Iterable[str]) -> float:
    """Common share of two sets; 0 where both are empty."""
    a, b = set(left), set(right)
    return len(a & b) / len(a | b) if a | b else 0.0


def shortened(text: str, length: int) -> str:
    """A text of at most `length` characters, cut between words; where nothing separates words, anywhere."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    words = cut.rpartition(" ")[0].rstrip(",;: ")
    return (words if len(words) > length // 2 else cut) + "…"


_PLACEHOLDER = re.compile(r"<[^>]*>|\[[^\]]*\]|\{[^}]*\}|(?<!\S)--?[A-Za-z]\S*")
"""`<email>`, `[options]`, `{id}` and options: what stands for something else, or may be left out."""


def bare(name: str) -> str:
    """A command's name without placeholders and options."""
    return " ".join(_PLACEHOLDER.sub(" ", name).split())
