"""Documents to chunks (read and cited) and windows (what one vector covers).

A chunk follows h1-h3 sections, aims at `target_tokens`, and keeps fences, tables and list items whole
where they fit. The model reads 256 word pieces and drops the rest in silence, so a chunk is embedded
as overlapping windows that together hold every token of it: nothing is truncated, by construction.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from pipeline.chunk.terms import TermCounter, Terms
from pipeline.chunk.tokens import Piece, TokenCounter
from pipeline.text.markdown import Outline
from syntropy.contract.config import ChunkConfig, EmbedConfig
from syntropy.contract.identity import is_overview

SECTION_LEVEL = 3
"""Headings up to this level begin a chunk (nocaap: h1-h3)."""

PREFIX_TOKENS = 48
"""Most tokens that title and headings may take in front of each window; less where the model's
window leaves less beside `window_tokens`."""


_MAX_SHARED = 1_000
"""Pieces repeated at most: blank lines have no tokens that a limit could count."""


class ChunkInput(NamedTuple):
    """What chunking needs to know of a document."""

    uid: str
    path: str
    title: str
    aliases: str
    keywords: str
    tags: str
    summary: str
    text: str
    outline: Outline


class _Block(NamedTuple):
    """A unit with its pieces; `heading` is its level where it is one."""

    pieces: list[Piece]
    tokens: int
    fence: str
    heading: int


class _Part(NamedTuple):
    """Pieces that become one chunk; `fence` if its beginning lies inside one."""

    pieces: list[Piece]
    fence: str


class Chunked(NamedTuple):
    """Rows of `chunks` and `windows` in stage form, and the chunks' terms."""

    chunks: list[tuple[Any, ...]]
    windows: list[tuple[Any, ...]]
    terms: Terms


def chunk_document(
    rows: Chunked,
    document: ChunkInput,
    counter: TokenCounter,
    terms: TermCounter,
    chunk: ChunkConfig,
    embed: EmbedConfig,
    prefix_tokens: int,
) -> None:
    """Append the rows of one document.

    An empty body gives no rows. Spans are offsets in `document.text`; together they cover all of the
    body but white space between chunks.
    """
    shape, text = document.outline, document.text
    blocks = _blocks(document, counter, max(16, embed.window_tokens - embed.window_overlap))
    total = sum(block.tokens for block in blocks)
    if is_overview(document.path) and total <= chunk.whole_file_tokens:
        parts = [_Part([p for block in blocks for p in block.pieces], "")]
    else:
        parts = [part for section in _sections(blocks, chunk) for part in _parts(section, chunk)]
    paths = _HeadingPaths(shape)
    for ordinal, (part, pieces) in enumerate(
        (part, pieces) for part in parts if (pieces := _trimmed(part.pieces, text))
    ):
        start, end = pieces[0].start, pieces[-1].end
        while end > start and text[end - 1] == "\n":
            end -= 1
        line_start, line_end = paths.line_of(start) + 1, paths.line_of(end - 1) + 1
        headings = " > ".join(paths.at(line_start - 1))
        body = text[start:end]
        short = (
            document.title,
            document.aliases,
            headings,
            document.keywords,
            document.tags,
            document.path,
            document.summary,
        )
        counts, identifiers = terms.count(short, body)
        rows.terms.add(document.uid, ordinal, counts)
        rows.chunks.append(
            (
                document.uid,
                ordinal,
                document.title,
                document.aliases,
                document.keywords,
                document.summary,
                headings,
                document.path,
                document.tags,
                body,
                identifiers,
                line_start,
                line_end,
                start,
                end,
                sum(p.tokens for p in pieces),
                part.fence,
            )
        )
        prefix = window_prefix(counter, document.title, headings, prefix_tokens)
        for number, (a, b) in enumerate(_windows(pieces, end, embed)):
            embedded = embedded_text(prefix, text[a:b])
            rows.windows.append((document.uid, ordinal, number, a, b, hashlib.sha256(embedded.encode()).hexdigest()))


def prefix_budget(embed: EmbedConfig, model_tokens: int) -> int:
    """Tokens a window's prefix may take in a model that reads `model_tokens`, special ones included."""
    return min(PREFIX_TOKENS, model_tokens - 2 - embed.window_tokens)


def window_prefix(counter: TokenCounter, title: str, headings: str, budget: int) -> str:
    """Title and heading path as the model reads them in front of a window, at most `budget` tokens."""
    names = [title, *[h for h in headings.split(" > ") if h]]
    prefix = " > ".join(dict.fromkeys(n for n in names if n))
    counts = counter.word_counts(prefix)
    if sum(counts) <= budget:
        return prefix
    room = [total for total in accumulate(counts) if total <= budget]
    return " ".join(prefix.split()[: len(room)]).rstrip(" >")


def embedded_text(prefix: str, text: str) -> str:
    """The text of one vector: prefix, line feed, window."""
    return f"{prefix}\n{text}" if prefix else text


def _blocks(document: ChunkInput, counter: TokenCounter, largest: int) -> list[_Block]:
    """Units with their pieces: lines, or parts of long lines."""
    shape, text = document.outline, document.text
    levels = {h.line: h.level for h in shape.headings}
    counter.learn(text)
    blocks = []
    for unit in shape.units:
        pieces: list[Piece] = []
        tokens = 0
        for line in range(unit.start, unit.end):
            tokens += counter.add_pieces(pieces, text, shape.lines[line], shape.lines[line + 1], largest)
        blocks.append(_Block(pieces, tokens, unit.fence, levels.get(unit.start, 0)))
    return blocks


def _sections(blocks: list[_Block], chunk: ChunkConfig) -> list[list[_Block]]:
    """Blocks between h1-h3 headings; a section that is too small joins its neighbour."""
    sections: list[list[_Block]] = []
    for block in blocks:
        if not sections or 0 < block.heading <= SECTION_LEVEL:
            sections.append([])
        sections[-1].append(block)
    merged: list[list[_Block]] = []
    small = 0  # tokens of the last of them
    for section in sections:
        size = _tokens(section)
        if merged and _joins(merged[-1][0], small, section[0], size, chunk):
            merged[-1] += section
            small += size
        else:
            merged.append(section)
            small = size
    return merged


def _joins(first: _Block, small: int, after: _Block, size: int, chunk: ChunkConfig) -> bool:
    """A small section takes in its child or sibling; a small last one joins what stands before it."""
    if small + size > chunk.target_tokens:
        return False
    return (small < chunk.min_tokens and after.heading >= (first.heading or 1)) or size == 0


def _tokens(blocks: Sequence[_Block]) -> int:
    return sum(block.tokens for block in blocks)


def _parts(section: list[_Block], chunk: ChunkConfig) -> list[_Part]:
    """A section as chunks of at most `target_tokens`, with overlap where it had to be cut."""
    if _tokens(section) <= chunk.target_tokens:
        return [_Part([p for block in section for p in block.pieces], "")]
    parts: list[_Part] = []
    current: list[_Block] = []
    overlap: list[Piece] = []
    size = shared = 0  # tokens of `current` and of `overlap`

    def flush() -> None:
        nonlocal current, overlap, size, shared
        pending: list[_Block] = []
        while len(current) > 1 and current[-1].heading:
            pending.insert(0, current.pop())  # a heading goes with what follows it
        if current:
            parts.append(_Part(overlap + [p for block in current for p in block.pieces], ""))
            last = current[-1]
            overlap = _overlap(last.pieces, len(last.pieces), last.fence, chunk.overlap_tokens)
        current, size, shared = pending, _tokens(pending), sum(p.tokens for p in overlap)

    for block in section:
        begun = any(not b.heading for b in current)  # a heading alone waits for what it is about
        room = chunk.target_tokens - shared
        if begun and (size + block.tokens > room or (block.heading and size >= room * 6 // 10)):
            flush()
        while overlap and size + block.tokens > chunk.target_tokens - shared:
            shared -= overlap.pop(0).tokens  # what comes next matters more than what was
        if size + block.tokens > chunk.target_tokens:
            parts.extend(_split([p for b in current for p in b.pieces], block, chunk))
            current, overlap, size, shared = [], [], 0, 0
        else:
            current.append(block)
            size += block.tokens
    flush()
    if current:
        parts.append(_Part([p for block in current for p in block.pieces], ""))
    return parts


def _overlap(pieces: list[Piece], behind: int, fence: str, limit: int) -> list[Piece]:
    """The last of the first `behind` pieces of a block, up to `limit` tokens; a fence is not repeated in parts."""
    first, tokens = behind, 0
    while limit and not fence and first and behind - first < _MAX_SHARED:
        tokens += pieces[first - 1].tokens
        if tokens > limit:
            break
        first -= 1
    return pieces[first:behind]


def _split(lead: list[Piece], block: _Block, chunk: ChunkConfig) -> list[_Part]:
    """A block larger than a chunk, cut between pieces; a cut fence is marked with its opening line."""
    limit = chunk.target_tokens
    parts: list[_Part] = []
    current, size = list(lead), sum(p.tokens for p in lead)
    if block.pieces and size + block.pieces[0].tokens > limit:
        parts.append(_Part(current, ""))
        current, size = [], 0
    inside = ""
    for number, piece in enumerate(block.pieces):
        if current and size + piece.tokens > limit:
            parts.append(_Part(current, inside))
            inside = block.fence
            current = _overlap(block.pieces, number, "", min(chunk.overlap_tokens, limit - piece.tokens))
            size = sum(p.tokens for p in current)
        current.append(piece)
        size += piece.tokens
    parts.append(_Part(current, inside))
    return parts


def _trimmed(pieces: list[Piece], text: str) -> list[Piece]:
    """Pieces without blank ones at either end."""
    first, last = 0, len(pieces)
    while first < last and text[pieces[first].start : pieces[first].end].isspace():
        first += 1
    while last > first and text[pieces[last - 1].start : pieces[last - 1].end].isspace():
        last -= 1
    return pieces[first:last]


def _windows(pieces: list[Piece], end: int, embed: EmbedConfig) -> list[tuple[int, int]]:
    """Spans of at most `window_tokens` tokens that cover the pieces, of about equal size."""
    total = sum(p.tokens for p in pieces)
    limit = embed.window_tokens
    if total <= limit:
        return [(pieces[0].start, end)]
    step = limit - embed.window_overlap
    count = -(-(total - embed.window_overlap) // step)
    aim = min(limit, -(-total // count) + embed.window_overlap)
    spans: list[tuple[int, int]] = []
    first = 0
    while True:
        last, size = first, 0
        while last < len(pieces) and (last == first or size + pieces[last].tokens <= aim):
            size += pieces[last].tokens
            last += 1
        spans.append((pieces[first].start, min(pieces[last - 1].end, end)))
        if last == len(pieces):
            return spans
        back, shared = last, 0
        while back - 1 > first and shared + pieces[back - 1].tokens <= embed.window_overlap:
            back -= 1
            shared += pieces[back].tokens
        first = back


class _HeadingPaths:
    """Line numbers and heading paths of offsets."""

    def __init__(self, shape: Outline) -> None:
        self._lines = shape.lines
        self._headings = shape.headings
        self._starts = [heading.line for heading in shape.headings]
        self._parents: list[int] = []
        stack: list[int] = []
        for position, heading in enumerate(shape.headings):
            while stack and shape.headings[stack[-1]].level >= heading.level:
                stack.pop()
            self._parents.append(stack[-1] if stack else -1)
            stack.append(position)

    def line_of(self, offset: int) -> int:
        """0-based line that holds an offset."""
        return bisect.bisect_right(self._lines, offset, 0, len(self._lines) - 1) - 1

    def at(self, line: int) -> list[str]:
        """Headings that enclose a line, outermost first, one that begins on it included."""
        found = []
        position = bisect.bisect_right(self._starts, line) - 1
        while position >= 0:
            found.append(self._headings[position].text)
            position = self._parents[position]
        return found[::-1]
