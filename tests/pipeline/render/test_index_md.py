"""INDEX.md within its budget, at every size and shape of a project."""

import re

import polars as pl
import pytest

from pipeline.ground.tables import empty
from pipeline.render.index_md import estimate_tokens, render_index_md
from syntropy.contract.config import Config
from syntropy.contract.schema import DIAGNOSTICS, RULES

SUMMARY = "What this page is about, in a sentence of about a hundred and forty characters, as people write them when they write any at all."


def tables(paths, summary=SUMMARY):
    documents = pl.DataFrame({
        "package": ["project"] * len(paths), "path": paths, "scope": ["user"] * len(paths), "kind": ["doc"] * len(paths),
        "key": paths, "title": [f"Page {n} and what it tells" for n in range(len(paths))], "summary": [summary] * len(paths),
    })  # fmt: skip
    return {"documents": documents, "rules": empty(RULES), "diagnostics": empty(DIAGNOSTICS)}


def render(paths, **more):
    return render_index_md(tables(paths, **more), Config(), project="p", chunks=1, drift_score=0.0)


SHAPES = {
    "flat": lambda n: f"docs/page-{n:05d}.md",
    "wide": lambda n: f"docs/{n % 97:02d}/page-{n:05d}.md",
    "deep": lambda n: f"src/main/docs/{n % 7}/{n % 31}/{n % 113}/page-{n:05d}.md",
    "one each": lambda n: f"docs/{n:05d}/README.md",
    "at the top": lambda n: f"page-{n:05d}.md",
    "folders at the top": lambda n: f"topic{n:05d}/README.md",
}


@pytest.mark.parametrize("count", [280, 2_757, 7_288, 29_150])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_budget_is_used_and_kept(count, shape):
    text = render([SHAPES[shape](n) for n in range(count)])
    assert 0.8 * 8_000 <= estimate_tokens(text) <= 8_000
    assert f"({count})" in text
    assert "Left out to stay within the token budget" in text


def test_more_groups_than_the_budget_has_room_for():
    found = tables([f"docs/{n}.md" for n in range(3_000)])
    found["documents"] = found["documents"].with_columns(package=pl.Series([f"package-{n}" for n in range(3_000)]))
    text = render_index_md(found, Config(), project="p", chunks=1, drift_score=0.0)
    assert 0.8 * 8_000 <= estimate_tokens(text) <= 8_000
    assert re.search(r"\d+ groups \(\d+ documents\)", text)


def test_what_fits_is_shown_whole():
    text = render(["docs/a.md", "docs/b/c.md"])
    assert f"- [Page 0 and what it tells](<docs/a.md>): {SUMMARY}" in text
    assert "Left out" not in text


def test_every_document_is_listed_or_counted_once():
    paths = [SHAPES["deep"](n) for n in range(3_000)]
    lines = render(paths).splitlines()
    listed = sum(line.startswith("- [Page") for line in lines)
    counted = sum(int(line.rpartition(": ")[2].split()[0]) for line in lines if line.startswith("- `"))
    assert listed + counted == 3_000
