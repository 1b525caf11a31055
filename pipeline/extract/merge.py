"""What extraction found, put together with what it need not find again: keys made unique, precedence settled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from pipeline.extract.catalog import unique_keys, unique_labels
from pipeline.extract.extraction import UNREADABLE, Documents
from pipeline.extract.precedence import prefer_written
from pipeline.formats.shared import KINDS
from pipeline.ground.tables import empty, from_rows
from syntropy.contract.schema import DIAGNOSTICS, FILES

_PER_DOCUMENT = ("documents", "tag_marks", "headings", "mentions", "rules", "outlines")


class Unchanged(NamedTuple):
    """`files` (columns of `FILES`) that are as they were, and the uids of their `documents`."""

    files: pl.DataFrame
    documents: pl.Series


def unchanged(wanted: pl.DataFrame, former: Mapping[str, pl.DataFrame]) -> Unchanged:
    """What of `wanted` (rows of `sources`) was extracted before; `former` are the stage's tables, or empty.

    Files of a kind that is read together (`formats.shared`) are all unchanged, or none of them is.
    """
    if not former:
        return Unchanged(empty(FILES), pl.Series("document", [], pl.String))
    columns = [c.name for c in FILES.columns]
    same = wanted.select(columns).join(former["files"], on=columns, how="semi")
    together, group = pl.col("kind").is_in(sorted(KINDS)), ["package", "kind"]
    now, before = (frame.select(columns).filter(together) for frame in (wanted, former["files"]))
    touched = pl.concat([now.join(before, on=columns, how="anti"), before.join(now, on=columns, how="anti")])
    same = same.join(touched.select(group).unique(), on=group, how="anti")
    documents = former["documents"].join(same, left_on=["package", "file"], right_on=["package", "path"], how="semi")
    return Unchanged(same, documents["document"])


def merge_documents(
    found: Documents, kept: Unchanged, wanted: pl.DataFrame, former: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """The stage's tables: new rows and kept ones, generated documents hidden by written ones, keys unique."""
    keep = pl.col("document").is_in(kept.documents.implode())
    tables = {
        name: pl.concat([former[name].filter(keep), getattr(found, name)]) if former else getattr(found, name)
        for name in _PER_DOCUMENT
    }
    written = prefer_written(tables["documents"].sort("document"))
    hidden = pl.col("document").is_in(written.hidden.implode())
    # files with a hidden document are read again next time, when the entry that hides it may be gone
    again = tables["documents"].filter(hidden).select("package", pl.col("file").alias("path"))
    # so are those that could not be read: a deadline or a lack of memory may not come again
    lost = found.diagnostics.filter(pl.col("code") == UNREADABLE).select("package", "path")
    tables = {name: frame.filter(~hidden) for name, frame in tables.items()}
    tables["documents"], clashes = unique_keys(tables["documents"].sort("document"))
    tables["rules"] = unique_labels(tables["rules"].sort("document", "line"))
    tables["files"] = wanted.join(pl.concat([again, lost]), on=["package", "path"], how="anti")
    carried = _carried_diagnostics(former, kept.files)
    tables["diagnostics"] = pl.concat([carried, found.diagnostics, clashes, written.diagnostics]).unique()
    return tables


def _carried_diagnostics(former: Mapping[str, pl.DataFrame], kept: pl.DataFrame) -> pl.DataFrame:
    """Diagnostics of files that were not extracted again; what needs all documents is found anew."""
    if not former:
        return from_rows(DIAGNOSTICS, [])
    of_extraction = former["diagnostics"].filter(pl.col("stage") == "extract")
    return of_extraction.join(kept, on=["package", "path"], how="semi")
