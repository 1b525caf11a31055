"""No text is dropped and none is truncated: the properties that issue and design ask to be proven."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.chunk.cutting import Chunked, ChunkInput, chunk_document, embedded_text, prefix_budget, window_prefix
from pipeline.chunk.terms import Terms, term_counter
from pipeline.chunk.tokens import load_tokenizer, token_counter
from pipeline.embed.weights import MAX_TOKENS, tokenizer
from pipeline.text.frontmatter import read_frontmatter
from pipeline.text.markdown import outline
from syntropy.contract.config import ChunkConfig, EmbedConfig
from syntropy.contract.schema import CHUNKS

LONGEST_WORD = 100
"""Word pieces of the longest word the model spells out; a word is never cut."""

WORDS = st.sampled_from(
    ["retry", "webhook", "normalize_tracking_no", "fooBar", "naïve", "Zürich", "환영합니다", "追跡番号", "x" * 90, "y" * 400, "1.0.21",
     "https://example.org/a/b?c=d", "ﬁ", "e\u0301", "👩‍💻", "\u200b", "...", "()", "A" * 101, "가나다라마바사아자차카타파하" * 12]
)  # fmt: skip
LINES = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)
BLOCKS = st.one_of(
    LINES.map(lambda t: f"{t}\n\n"),
    LINES.map(lambda t: f"# {t[:60]}\n\n"),
    LINES.map(lambda t: f"### {t[:40]}\n"),
    st.lists(LINES, min_size=1, max_size=12).map(lambda ls: "```py\n" + "\n".join(ls) + "\n```\n"),
    st.lists(LINES, min_size=1, max_size=8).map(lambda ls: "".join(f"- {x}\n" for x in ls) + "\n"),
    st.lists(LINES, min_size=1, max_size=8).map(
        lambda ls: "| a | b |\n|---|---|\n" + "".join(f"| {x} | 1 |\n" for x in ls)
    ),
)
TEXTS = st.lists(BLOCKS, min_size=1, max_size=12).map("".join)
CHUNKING = st.builds(
    ChunkConfig,
    target_tokens=st.sampled_from([64, 120, 500]),
    overlap_tokens=st.sampled_from([0, 20, 32]),
    min_tokens=st.sampled_from([0, 40]),
)
EMBEDDING = st.builds(
    EmbedConfig, window_tokens=st.sampled_from([48, 128, 200]), window_overlap=st.sampled_from([0, 16, 32])
)


def chunked(text, chunk=ChunkConfig(), embed=EmbedConfig(), path="docs/a.md", title="Title"):
    front = read_frontmatter(text)
    counter = token_counter(tokenizer())
    document = ChunkInput("project:" + path, path, title, "", "", "tag", "", text, outline(text, front.body_start))
    rows = Chunked([], [], Terms())
    chunk_document(rows, document, counter, term_counter(), chunk, embed, prefix_budget(embed, MAX_TOKENS))
    names = [c.name for c in CHUNKS.stage_columns()]
    return [dict(zip(names, row, strict=True)) for row in rows.chunks], rows.windows


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(TEXTS, CHUNKING, EMBEDDING)
def test_spans_cover_the_body_and_every_token_is_in_a_window(text, chunk, embed):
    chunks, windows = chunked(text, chunk, embed)
    bert = load_tokenizer(tokenizer())
    covered = bytearray(len(text))
    for row in chunks:
        body, line_start, line_end, start, end = (
            row["body"],
            row["line_start"],
            row["line_end"],
            row["char_start"],
            row["char_end"],
        )
        assert text[start:end] == body
        covered[start:end] = b"\1" * (end - start)
        assert body in "\n".join(text.split("\n")[line_start - 1 : line_end])
        smallest_piece = LONGEST_WORD + embed.window_tokens // 2  # text without spaces is cut between words only
        assert row["token_count"] <= max(chunk.target_tokens, smallest_piece), "a chunk is larger than its target"
    assert all(flag or ch.isspace() for flag, ch in zip(covered, text, strict=True)), "text was dropped"
    counter = token_counter(tokenizer())
    for row in chunks:
        spans = [(w[3], w[4]) for w in windows if w[1] == row["chunk"]]
        inside = bytearray(len(row["body"]))
        for start, end in spans:
            assert row["char_start"] <= start < end <= row["char_end"]
            inside[start - row["char_start"] : end - row["char_start"]] = b"\1" * (end - start)
            prefix = window_prefix(counter, row["title"], row["headings"], prefix_budget(embed, MAX_TOKENS))
            embedded = bert.encode(embedded_text(prefix, text[start:end]))
            assert len(embedded) <= MAX_TOKENS, "the model would drop the end of a window"
        assert all(flag or ch.isspace() for flag, ch in zip(inside, row["body"], strict=True)), (
            "a token is in no window"
        )


def test_sections_begin_chunks_and_small_ones_join():
    body = "word " * 60
    text = f"# Top\n\nshort\n\n## A\n\n{body}\n\n## B\n\n{body}\n\n### C\n\n{body}\n"
    chunks, _ = chunked(text)
    assert [c["headings"] for c in chunks] == ["Top", "Top > B", "Top > B > C"]
    assert chunks[0]["body"].startswith("# Top")
    assert "## A" in chunks[0]["body"]


def test_a_fence_that_fits_is_not_cut_and_a_cut_one_is_marked():
    fence = "```python\n" + "x = compute(1)\n" * 30 + "```\n"
    chunks, _ = chunked(f"# T\n\n{'words ' * 350}\n\n{fence}")
    assert any(c["body"].count("```") == 2 for c in chunks)
    long = "```python\n" + "value = compute(1, 2, 3)\n" * 200 + "```\n"
    chunks, _ = chunked(f"# T\n\n{long}")
    assert len(chunks) > 2
    assert [c["cut_fence"] for c in chunks] == ["", *["```python"] * (len(chunks) - 1)]


def test_overlap_repeats_the_end_of_the_chunk_before():
    text = "# T\n\n" + "".join(f"Sentence number {n} is here.\n\n" for n in range(200))
    chunks, _ = chunked(text)
    assert len(chunks) > 1
    for before, after in zip(chunks, chunks[1:], strict=False):
        assert before["char_end"] > after["char_start"]
    chunks, _ = chunked(text, ChunkConfig(overlap_tokens=0))
    assert all(a["char_end"] <= b["char_start"] for a, b in zip(chunks, chunks[1:], strict=False))


@pytest.mark.parametrize(("path", "count"), [("README.md", 1), ("docs/index.md", 1), ("docs/other.md", 2)])
def test_small_readme_and_index_files_stay_whole(path, count):
    body = "word " * 60
    chunks, _ = chunked(f"# A\n\n{body}\n\n## B\n\n{body}\n", path=path)
    assert len(chunks) == count


def test_crlf_offsets_and_lines_are_those_of_the_file():
    text = "# A\r\n\r\nfirst\r\n\r\n## B\r\n\r\n" + "second " * 80 + "\r\n"
    for row in chunked(text)[0]:
        assert text[row["char_start"] : row["char_end"]] == row["body"]
        assert "\n".join(text.split("\n")[row["line_start"] - 1 : row["line_end"]]) == row["body"]


def test_an_empty_body_has_no_chunks():
    assert chunked("---\ntitle: x\n---\n\n \n") == ([], [])
