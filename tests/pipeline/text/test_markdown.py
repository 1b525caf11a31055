from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.markdown import line_starts, outline, source_outline

PIECES = st.sampled_from(
    ["# H1\n", "## H2\n", "text\n", "\n", "- item\n", "  more\n", "```py\n", "```\n", "| a | b |\n", "|---|---|\n", "> q\n",
     "    code\n", "<div>\n", "Title\n", "===\n", "---\n", "\r\n", "\r", "1. one\n", "~~~\n", "\t- x\n"]
)  # fmt: skip


def test_headings_in_code_fences_are_none():
    shape = outline("# A\n\n```\n# not a heading\n```\n\nB\n=\n")
    assert [(h.level, h.text, h.line) for h in shape.headings] == [(1, "A", 0), (1, "B", 6)]
    assert shape.code_lines == {2, 3, 4}


def test_list_items_and_fences_are_units():
    shape = outline("intro\n\n- a\n  more\n- b\n\n```py\nx = 1\n```\n")
    assert [(u.start, u.end) for u in shape.units] == [(0, 2), (2, 4), (4, 6), (6, 9)]
    assert shape.units[-1].fence == "```py"


@given(st.lists(PIECES, max_size=40).map("".join), st.integers(0, 30))
def test_units_cover_every_line_once(text, body):
    body_start = line_starts(text)[min(body, len(line_starts(text)) - 1)]
    shape = outline(text, body_start)
    covered = [line for unit in shape.units for line in range(unit.start, unit.end)]
    first = text.count("\n", 0, body_start)
    assert covered == list(range(first, len(shape.lines) - 1)) or not text[body_start:]


@given(st.lists(PIECES, max_size=40).map("".join))
def test_source_units_cover_every_line_once(text):
    shape = source_outline(text)
    assert [line for unit in shape.units for line in range(unit.start, unit.end)] == list(range(len(shape.lines) - 1))


@given(st.text(alphabet="ab\n\r", max_size=60))
def test_line_starts_are_those_of_line_feeds(text):
    starts = line_starts(text)
    lines = [text[a:b] for a, b in zip(starts, starts[1:], strict=False)]
    assert "".join(lines) == text
    assert all("\n" not in line[:-1] for line in lines)


def test_anchors_in_headings_are_no_words_of_theirs():
    found = outline('# How `it` *works* & why<a name="how-it-works"></a>\n\nText.\n').headings
    assert [h.text for h in found] == ["How it works & why"]
