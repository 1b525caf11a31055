"""Unique keys: two files that claim one id both stay findable, and the clash is a diagnostic."""

from __future__ import annotations

import polars as pl

from pipeline.extract.prp import normalized_id
from pipeline.ground.diagnostics import Diagnostic
from pipeline.ground.tables import from_rows
from syntropy.contract.identity import PROJECT_PACKAGE, place_of, split_uid
from syntropy.contract.schema import DIAGNOSTICS


def candidate_key(key: str, path: str, package: str = PROJECT_PACKAGE) -> str:
    """A key as the document claims it, without what made it unique."""
    return key.removesuffix(f"@{path}").removeprefix(place_of(package, ""))


def unique_keys(documents: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`documents` with keys unique within (scope, kind), and a diagnostic for each clash.

    A package's keys begin with its alias, so packages take nothing from the project. Within one package
    the first by path keeps the bare key (`executed` before `feature-requests`); the others get `key@path`.
    `PRP-9` and `PRP-009` are the same claim.
    """
    taken: dict[tuple[str, str, str, str], tuple[str, str]] = {}
    keys, diagnostics = [], []
    rows = documents.select("scope", "kind", "key", "path", "package", "content_hash").iter_rows()
    for scope, kind, key, path, package, content in rows:
        claimed = candidate_key(key, path, package)
        alias = place_of(package, "")
        slot = (package, scope, kind, normalized_id(claimed) if kind == "prp" else claimed)
        if slot not in taken:
            taken[slot] = (path, content)
            keys.append(f"{alias}{claimed}")
            continue
        first, first_content = taken[slot]
        keys.append(f"{alias}{claimed}@{path}")
        copy = content == first_content
        diagnostics.append(
            Diagnostic(
                "catalog",
                "info" if copy or alias else "warning",
                "duplicate-key",
                package,
                path,
                0,
                f"{kind} key {claimed!r} is taken by {first}" + (" (a copy of it)" if copy else ""),
                f"known as {alias}{claimed}@{path}; give it an id of its own",
            )
        )
    return documents.with_columns(pl.Series("key", keys, dtype=pl.String)), from_rows(DIAGNOSTICS, diagnostics)


def unique_labels(rules: pl.DataFrame) -> pl.DataFrame:
    """`rules` with unique labels: a package's begin with its alias, repeats get `label@path#Lline`."""
    taken: set[str] = set()
    labels = []
    for label, uid, line in rules.select("label", "document", "line").iter_rows():
        package, path = split_uid(uid)
        alias = place_of(package, "")
        claimed = f"{alias}{label.removeprefix(alias).partition('@')[0]}"
        unique = claimed if claimed not in taken else f"{claimed}@{path}#L{line}"
        taken.add(unique)
        labels.append(unique)
    return rules.with_columns(pl.Series("label", labels, dtype=pl.String))
