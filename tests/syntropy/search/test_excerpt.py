"""Excerpts fit, begin and end where blocks do, and never leave a fence open."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from syntropy.contract.budget import tokens
from syntropy.search.excerpt import excerpt

TEXT = """Before all of it stands a paragraph that nobody asked for, with some words in it. And more of them.

## Set the port

The port is 8080. It can be changed:

```toml
[server]
port = 9090
```

- first item
- second item, which goes on
  on another line

## Something else

Other words that have nothing to do with it, and go on for a while so that there is something to leave out.
"""


def shown(text, limit, focus=0):
    piece = excerpt(text, limit, focus=focus)
    return text[piece.start : piece.end] + piece.closing


def test_what_fits_is_whole():
    assert shown(TEXT, 1_000) == TEXT.rstrip()


def test_it_begins_at_the_heading_above_the_focus_and_ends_with_a_block():
    found = shown(TEXT, 45, focus=TEXT.index("port = 9090"))
    assert found.startswith("## Set the port\n")
    assert found.endswith(("```", "another line", "item"))


def test_a_heading_is_not_the_end():
    for limit in range(10, 120):
        found = shown(TEXT, limit, focus=TEXT.index("## Set"))
        assert not found.rstrip().endswith("## Something else")


def test_a_long_fence_is_closed():
    text = "```python\n" + "call(1, 2, 3)\n" * 200 + "```\n"
    found = shown(text, 50)
    assert found.startswith("```python\ncall")
    assert found.endswith("\n```")


def test_a_long_paragraph_ends_with_a_sentence():
    text = "One sentence stands here. " * 100
    found = shown(text, 40)
    assert found.endswith("here.")


def test_the_focus_of_a_long_paragraph_is_shown():
    text = "Filler sentence number one. " * 100 + "The needle is here. " + "More filler follows. " * 100
    assert "needle" in shown(text, 40, focus=text.index("needle"))


@settings(max_examples=200)
@given(st.text(alphabet="ab .\n#-`", max_size=600), st.integers(5, 80), st.integers(0, 600))
def test_any_text_fits_its_limit(text, limit, focus):
    piece = excerpt(text, limit, focus=focus)
    assert 0 <= piece.start <= piece.end <= len(text)
    assert tokens(text[piece.start : piece.end]) <= limit


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(["para one.", "# Head", "- item", "```\ncode\n```"]), min_size=1, max_size=12),
    st.integers(8, 60),
)
def test_fences_are_balanced(parts, limit):
    text = "\n\n".join(parts)
    assert len(re.findall("^```", shown(text, limit), re.MULTILINE)) % 2 == 0
