"""CSV and TSV glossaries: one page a row.

The first row names the columns; the term stands in the column `term` (or `name`, `word`, `title`, `key`),
else in the first one. `aliases`/`synonyms`/`abbreviation` become aliases, `tags`/`category` tags.
"""

from __future__ import annotations

import csv
import io

from pipeline.formats.page import Page, Pages, markdown, one_line
from syntropy.contract.identity import slugify

MAX_ROWS = 20_000

_TERM = ("term", "name", "word", "title", "key")
_TEXT = ("definition", "meaning", "description", "text")
_ALIASES = ("aliases", "alias", "synonyms", "synonym", "abbreviation", "acronym", "also")
_TAGS = ("tags", "tag", "category", "domain")


def pages(text: str, path: str) -> Pages:
    """One page of kind `term` a row; rows without a term and of another width are reported."""
    found = Pages()
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text, path), strict=True))
    except csv.Error as error:
        found.problem("bad-table", 0, f"cannot be read: {error}", "fix its quotes")
        return found
    while rows and not any(cell.strip() for cell in rows[0]):
        rows.pop(0)
    if not rows:
        return found
    columns = [one_line(name).lower() for name in rows[0]]
    if not {*_TERM, *_TEXT} & set(columns):
        found.problem("bad-table", 1, "its first row names no column that is known", "begin with: term,definition")
        rows.insert(0, [])
        columns = ["term", "definition", *(f"column {n}" for n in range(3, len(columns) + 1))][: len(columns)]
    place = next((columns.index(name) for name in _TERM if name in columns), 0)
    if len(rows) - 1 > MAX_ROWS:
        found.problem("bad-table", 0, f"holds {len(rows) - 1} rows, more than {MAX_ROWS}", "split the file")
    for number, row in enumerate(rows[1 : MAX_ROWS + 1], 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(columns):
            found.problem(
                "bad-row",
                0,
                f"row {number} has {len(row)} cells, the head has {len(columns)}",
                "quote cells with commas",
            )
        cells = dict(zip(columns, row, strict=False))
        term = one_line(row[place]) if place < len(row) else ""
        if not term:
            found.problem("bad-row", 0, f"row {number} has no {columns[place] or 'term'}", "write the term")
            continue
        found.add(_page(term, columns[place], cells))
    return found


def _delimiter(text: str, path: str) -> str:
    """A tab by the file's name; else what the first line has most of."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return "\t" if path.endswith(".tsv") else max((",", ";", "\t"), key=first.count)


def _page(term: str, column: str, cells: dict[str, str]) -> Page:
    def values(names: tuple[str, ...]) -> list[str]:
        texts = [cells.get(name, "") for name in names]
        return [one_line(part) for text in texts for part in text.replace(";", ",").split(",") if part.strip()]

    definition = next((cells[name] for name in _TEXT if cells.get(name, "").strip()), "")
    rest = [
        f"- {name}: {one_line(value)}"
        for name, value in cells.items()
        if value.strip() and name not in (column, *_ALIASES, *_TAGS) and value != definition
    ]
    metadata = {"title": term, "aliases": values(_ALIASES), "tags": values(_TAGS)}
    return Page(slugify(term) or term, "term", markdown(metadata, term, definition.strip(), "\n".join(rest)))
