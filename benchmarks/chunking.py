"""Chunking on chroma-chunk-eval: recall, precision and IoU of words, beside fixed-size and recursive splitting.

For each question the five chunks nearest to it (best window of each, the bundled model) are taken; what
counts are the words of the marked excerpts that lie inside them (Smith & Troynikov 2024).
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import DATA, configured, save
from pipeline.chunk.cutting import Chunked, ChunkInput, chunk_document, prefix_budget
from pipeline.chunk.terms import Terms, term_counter
from pipeline.chunk.tokens import token_counter
from pipeline.embed import weights
from pipeline.embed.embedder import Embedder
from pipeline.embed.engines import Engine
from pipeline.engine.workspace import make_workspace
from pipeline.text.markdown import outline
from syntropy.contract.config import ChunkConfig, EmbedConfig

TAKEN = 5
TARGET = 500
OVERLAP = 50

Span = tuple[int, int]


def main() -> None:
    """Three ways to cut the same five texts."""
    source = DATA / "retrieval/chroma-chunk-eval"
    texts = {path.name: path.read_text() for path in sorted((source / "corpora").glob("*.md"))}
    questions = [json.loads(line) for line in (source / "questions.jsonl").open()]
    with tempfile.TemporaryDirectory() as folder:
        workspace = make_workspace(configured(Path(folder)))
        engine = Embedder(workspace.config.embed, workspace.shared).engine()
        asked = engine.encode([question["text"] for question in questions])
        ways: dict[str, Callable[[str], list[tuple[Span, list[str]]]]] = {
            "ours": ours,
            "fixed": fixed,
            "recursive": recursive,
        }
        save("chunking", {name: measure(cut, texts, questions, asked, engine) for name, cut in ways.items()})


def measure(
    cut: Callable[[str], list[tuple[Span, list[str]]]],
    texts: dict[str, str],
    questions: list[dict],
    asked: NDArray[np.float32],
    engine: Engine,
) -> dict[str, float]:
    """Means over the questions. A question is asked of its own text."""
    spans: dict[str, list[Span]] = {}
    vectors: dict[str, tuple[NDArray[np.float32], NDArray[np.int64]]] = {}
    for name, text in texts.items():
        pieces = cut(text)
        spans[name] = [span for span, _ in pieces]
        owners = np.array([number for number, (_, windows) in enumerate(pieces) for _ in windows])
        vectors[name] = (engine.encode([w for _, windows in pieces for w in windows]), owners)
    results = []
    for question, vector in zip(questions, asked, strict=True):
        name = question["corpus"]
        matrix, owners = vectors[name]
        best = np.full(len(spans[name]), -1.0)
        np.maximum.at(best, owners, matrix @ vector)
        taken = words_in(texts[name], [spans[name][n] for n in np.argsort(-best, kind="stable")[:TAKEN]])
        wanted = words_in(texts[name], [tuple(span) for span in question["spans"]])
        both = len(taken & wanted)
        results.append((both / len(wanted), both / len(taken), both / len(taken | wanted)))
    recall, precision, iou = (round(statistics.fmean(column), 4) for column in zip(*results, strict=True))
    sizes = [len(texts[name][a:b].split()) for name in texts for a, b in spans[name]]
    return {
        "chunks": len(sizes),
        "mean_words": round(statistics.fmean(sizes), 1),
        "recall": recall,
        "precision": precision,
        "iou": iou,
    }


def words_in(text: str, spans: list[Span]) -> set[int]:
    """Offsets of the words that begin inside the spans."""
    return {start + match.start() for start, end in spans for match in re.finditer(r"\S+", text[start:end])}


def ours(text: str) -> list[tuple[Span, list[str]]]:
    """The pipeline's chunks, each with its windows' texts."""
    rows = Chunked([], [], Terms())
    embed = EmbedConfig()
    document = ChunkInput("project:a.md", "a.md", "", "", "", "", "", text, outline(text))
    chunk_document(
        rows,
        document,
        token_counter(weights.tokenizer()),
        term_counter(),
        ChunkConfig(),
        embed,
        prefix_budget(embed, weights.MAX_TOKENS),
    )
    windows: dict[int, list[str]] = {}
    for _, chunk, _, start, end, _ in rows.windows:
        windows.setdefault(chunk, []).append(text[start:end])
    return [((row[13], row[14]), windows[row[1]]) for row in rows.chunks]


def fixed(text: str) -> list[tuple[Span, list[str]]]:
    """Every 500 tokens, 50 repeated, cut between words."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    counts = token_counter(weights.tokenizer()).word_counts(text)
    found, first = [], 0
    while first < len(words):
        last, size = first, 0
        while last < len(words) and (last == first or size + counts[last] <= TARGET):
            size += counts[last]
            last += 1
        found.append((words[first][0], words[last - 1][1]))
        if last == len(words):
            break
        back, shared = last, 0
        while back - 1 > first and shared + counts[back - 1] <= OVERLAP:
            back -= 1
            shared += counts[back]
        first = back
    return [(span, _windows(text, span)) for span in found]


def recursive(text: str) -> list[tuple[Span, list[str]]]:
    """By paragraphs, then lines, sentences and words, as long as a piece is larger than 500 tokens."""
    return [(span, _windows(text, span)) for span in _merged(text, _split(text, (0, len(text)), 0))]


_SEPARATORS = ("\n\n", "\n", ". ", " ")


def _split(text: str, span: Span, level: int) -> list[Span]:
    if _tokens(text, span) <= TARGET or level == len(_SEPARATORS):
        return [span]
    edges = [span[0]]
    edges += [m.end() for m in re.finditer(re.escape(_SEPARATORS[level]), text[span[0] : span[1]])]
    edges = [edges[0], *(span[0] + edge for edge in edges[1:]), span[1]]
    pieces = [(a, b) for a, b in pairwise(edges) if b > a]
    return [small for piece in pieces for small in _split(text, piece, level + 1)]


def _merged(text: str, pieces: list[Span]) -> list[Span]:
    found: list[Span] = []
    size = 0
    for piece in pieces:
        tokens = _tokens(text, piece)
        if found and size + tokens <= TARGET:
            found[-1] = (found[-1][0], piece[1])
            size += tokens
        else:
            found.append(piece)
            size = tokens
    return [span for span in found if text[span[0] : span[1]].strip()]


def _tokens(text: str, span: Span) -> int:
    return sum(token_counter(weights.tokenizer()).word_counts(text[span[0] : span[1]]))


def _windows(text: str, span: Span) -> list[str]:
    """128 tokens each, 32 repeated, as ours are."""
    words = [match.span() for match in re.finditer(r"\S+", text[span[0] : span[1]])]
    counts = token_counter(weights.tokenizer()).word_counts(text[span[0] : span[1]])
    found, first = [], 0
    while first < len(words):
        last, size = first, 0
        while last < len(words) and (last == first or size + counts[last] <= 128):
            size += counts[last]
            last += 1
        found.append(text[span[0] + words[first][0] : span[0] + words[last - 1][1]])
        if last == len(words):
            break
        back, shared = last, 0
        while back - 1 > first and shared + counts[back - 1] <= 32:
            back -= 1
            shared += counts[back]
        first = back
    return found
