"""Token counts of the embedding model, without materialising tokens.

Word pieces never span white space, so counts of pieces that were cut at white space add up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

PIECE_CHARS = 160
"""Longer lines are cut into pieces of about this length, at white space."""

MAX_WORDS = 1_000_000
"""Words remembered with their counts (about 100 MB) before the memory is emptied."""

_ASCII_PIECE = re.compile(r"[0-9A-Za-z]+|[!-/:-@\[-`{-~]")
"""What BERT's pre-tokenizer makes of printable ASCII: runs of letters and digits, single marks."""

_CUT = re.compile(rf"\S.{{0,{PIECE_CHARS - 2}}}(?:\s+|$)|\S+\s*|\s+", re.DOTALL)


class Piece(NamedTuple):
    """A span of a text with its number of tokens; pieces are never cut further."""

    start: int
    end: int
    tokens: int


@lru_cache(maxsize=2)
def token_counter(path: Path) -> TokenCounter:
    """The counter of a tokenizer.json, one a process, so that its words stay learned."""
    return TokenCounter(load_tokenizer(path))


@lru_cache(maxsize=2)
def load_tokenizer(path: Path) -> Tokenizer:
    """A tokenizer that neither truncates nor pads. One instance a process and file."""
    tokenizer = Tokenizer.from_file(os.fspath(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class TokenCounter:
    """Counts by white-space separated words, each word tokenised once (ten times faster than lines)."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._counts: dict[str, int] = {}
        self._pieces: dict[str, int] = {}
        self._splits_ascii = type(tokenizer.pre_tokenizer).__name__ == "BertPreTokenizer"

    def word_counts(self, text: str) -> list[int]:
        """Tokens of each white-space separated word of a text, special ones not counted."""
        words = text.split()
        try:
            return [self._counts[word] for word in words]
        except KeyError:
            self.learn(text)
            return [self._counts[word] for word in words]

    def add_pieces(self, pieces: list[Piece], text: str, start: int, end: int, largest: int) -> int:
        """Append a line of a learned text as one piece, or as several if it is long; returns its tokens.

        A piece of more than `largest` tokens is cut between words' tokens.
        """
        if end - start <= PIECE_CHARS:
            tokens = sum(map(self._counts.__getitem__, text[start:end].split()))
            if tokens <= largest:
                pieces.append(Piece(start, end, tokens))
                return tokens
            spans: Sequence[tuple[int, int]] = [(start, end)]
        else:
            spans = [match.span() for match in _CUT.finditer(text, start, end)]
        total = 0
        for a, b in spans:
            tokens = sum(map(self._counts.__getitem__, text[a:b].split()))
            found = (
                [Piece(a, b, tokens)] if tokens <= largest else _cut_between_tokens(self.tokenizer, text, a, b, largest)
            )
            pieces += found
            total += sum(piece.tokens for piece in found)
        return total

    def learn(self, text: str) -> None:
        """Count the words of a text; `add_pieces` knows no others."""
        counts = self._counts
        if len(counts) > MAX_WORDS:
            counts.clear()
            self._pieces.clear()
        new = list(set(text.split()).difference(counts))
        if not self._splits_ascii:
            counts |= self._tokenised(new)
            return
        # Words are many ("(foo)", "foo,"), what they are made of is three times less.
        split = {word: _ASCII_PIECE.findall(word) for word in new if word.isascii() and word.isprintable()}
        unknown = set(chain.from_iterable(split.values())).difference(self._pieces)
        self._pieces |= self._tokenised(list(unknown))
        of_piece = self._pieces.__getitem__
        for word, pieces in split.items():
            counts[word] = sum(map(of_piece, pieces))
        counts |= self._tokenised([word for word in new if word not in split])

    def _tokenised(self, words: list[str]) -> dict[str, int]:
        encodings = self.tokenizer.encode_batch_fast(words, add_special_tokens=False)
        return {word: len(encoding) for word, encoding in zip(words, encodings, strict=True)}


def _cut_between_tokens(tokenizer: Tokenizer, text: str, start: int, end: int, largest: int) -> list[Piece]:
    """Text without white space (CJK, data): cut where a word begins by the tokenizer's own offsets.

    A cut inside a word would change its word pieces, so counts are taken again; a word of the
    model's longest kind (100 characters) has fewer pieces than any window.
    """
    offsets = tokenizer.encode(text[start:end], add_special_tokens=False)
    words = offsets.word_ids
    cuts, count, cursor = [], 0, 0
    for position, (offset, _) in enumerate(offsets.offsets):
        begins_word = position == 0 or words[position] != words[position - 1]
        if begins_word and count >= largest // 2 and offset > cursor:
            cuts.append(offset)
            count, cursor = 0, offset
        count += 1
    edges = [start, *[start + cut for cut in cuts], end]
    spans = list(pairwise(edges))
    counted = tokenizer.encode_batch_fast([text[a:b] for a, b in spans], add_special_tokens=False)
    return [Piece(a, b, len(c)) for (a, b), c in zip(spans, counted, strict=True)]
