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
from pipeline.sources.protocol import CHANGED
from syntropy.contract.schema import DIAGNOSTICS, FILES

PER_DOCUMENT = ("documents", "tag_marks", "headings", "mentions", "rules", "outlines")

_OF_RULE = ["document", "line", "text", "label"]
_RULE_ORDER = ["document", "line", "text"]


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


class Settled(NamedTuple):
    """What follows from all documents: which are `hidden`, the others' `keys`, the rules' `labels`, diagnostics."""

    hidden: pl.Series
    keys: pl.DataFrame
    labels: pl.DataFrame
    diagnostics: pl.DataFrame


def merge_documents(
    found: Documents, kept: Unchanged, wanted: pl.DataFrame, former: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """The stage's tables: new rows and kept ones, generated documents hidden by written ones, keys unique."""
    tables = gathered(found, kept, former)
    names = settle(tables["documents"], tables["documents"], tables["rules"])
    again = files_to_read_again(tables["documents"], tables["diagnostics"], names.hidden)
    tables = settled(tables, names)
    tables["files"] = wanted.join(again, on=["package", "path"], how="anti")
    tables["diagnostics"] = pl.concat([tables["diagnostics"], names.diagnostics]).unique()
    return tables


def gathered(found: Documents, kept: Unchanged, former: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """New rows and kept ones; names are as texts claim them, or as they were settled before."""
    keep = pl.col("document").is_in(kept.documents.implode())
    tables = {
        name: pl.concat([former[name].filter(keep), getattr(found, name)]) if former else getattr(found, name)
        for name in PER_DOCUMENT
    }
    carried = _carried_diagnostics(former, kept.files)
    return {**tables, "diagnostics": pl.concat([carried, found.diagnostics]).unique()}


def settle(documents: pl.DataFrame, entries: pl.DataFrame, rules: pl.DataFrame) -> Settled:
    """Unique keys and labels, and generated documents that give way to written ones.

    `documents` and `rules` need not have their texts; `entries` are those of a kind that is generated or written.
    """
    written = prefer_written(entries.sort("document"))
    shown = ~pl.col("document").is_in(written.hidden.implode())
    keys, clashes = unique_keys(documents.filter(shown).sort("document"))
    labels = unique_labels(rules.filter(shown).select(_OF_RULE).sort(_RULE_ORDER))
    return Settled(written.hidden, keys.select("document", "key"), labels, pl.concat([clashes, written.diagnostics]))


def settled(tables: Mapping[str, pl.DataFrame], names: Settled) -> dict[str, pl.DataFrame]:
    """The tables of some documents or all, with their settled names, without what is hidden."""
    shown = ~pl.col("document").is_in(names.hidden.implode())
    tables = {name: frame.filter(shown) if name in PER_DOCUMENT else frame for name, frame in tables.items()}
    documents, rules = tables["documents"], tables["rules"].sort(_RULE_ORDER)
    labels = names.labels.join(rules.select("document").unique(), on="document", how="semi", maintain_order="left")
    return {
        **tables,
        "documents": documents.drop("key")
        .join(names.keys, on="document", how="left", maintain_order="left")
        .select(documents.columns),
        "rules": rules.with_columns(labels["label"]),
    }


def files_to_read_again(documents: pl.DataFrame, diagnostics: pl.DataFrame, hidden: pl.Series) -> pl.DataFrame:
    """`package`, `path` of files with a hidden document, when the entry that hides it may be gone next time.

    And of those that could not be read: a deadline or a lack of memory may not come again.
    """
    of_hidden = documents.filter(pl.col("document").is_in(hidden.implode()))
    lost = diagnostics.filter(pl.col("code") == UNREADABLE).select("package", "path")
    return pl.concat([of_hidden.select("package", pl.col("file").alias("path")), lost])


def files_read_otherwise(documents: pl.DataFrame, diagnostics: pl.DataFrame, wanted: pl.DataFrame) -> pl.DataFrame:
    """`package`, `path` of files that were not read as the scan had seen them: they may be as they were by now."""
    read = documents.select("package", pl.col("file").alias("path"), "content_hash")
    seen = wanted.select("package", "path", pl.col("content_hash").alias("seen"))
    other = read.join(seen, on=["package", "path"]).filter(pl.col("content_hash") != pl.col("seen"))
    gone = diagnostics.filter(pl.col("code") == CHANGED)
    return pl.concat([frame.select("package", "path") for frame in (other, gone)]).unique()


def _carried_diagnostics(former: Mapping[str, pl.DataFrame], kept: pl.DataFrame) -> pl.DataFrame:
    """Diagnostics of files that were not extracted again; what needs all documents is found anew."""
    if not former:
        return from_rows(DIAGNOSTICS, [])
    of_extraction = former["diagnostics"].filter(pl.col("stage") == "extract")
    return of_extraction.join(kept, on=["package", "path"], how="semi")
