"""`syntropy-index.json`: the knowledge-index seed's schema 1.0, every section and field."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from pipeline.link.drift import Drift
from syntropy.contract.config import Config
from syntropy.contract.identity import place_of, split_uid
from syntropy.contract.schema import INDEX_VERSION
from syntropy.contract.vocabulary import ENTITY_KINDS, ENTRY_KINDS

EXCERPT_LENGTH = 200
RULE_EXCERPT_LENGTH = 100
"""Lengths of the seed's `extractExcerpt(content, 200)` and `line.substring(0, 100)`."""

_REFERRING = ("references", "links_to", "depends_on", "derives_from", "implements")


def index_document(tables: dict[str, pl.DataFrame], drift: Drift, config: Config, *, synced_at: str) -> dict[str, Any]:
    """The index as plain data. `synced_at` is an ISO 8601 time; all else follows from the tables."""
    documents = tables["documents"]
    tags = _tag_lists(tables["tags"])
    referenced = _referenced_by(documents, tables["relations"])

    def entries(kinds: tuple[str, ...], scope: str) -> dict[str, Any]:
        rows = documents.filter(pl.col("kind").is_in(list(kinds)) & (pl.col("scope") == scope)).sort("key", "path")
        return {row["key"]: _entry(row, tags, referenced) for row in rows.iter_rows(named=True)}

    examples = _with_example_keys(entries(("pattern",), "user"), entries(("example",), "user"))
    system_examples = _with_example_keys(entries(("pattern",), "system"), entries(("example",), "system"))
    sources = config.sources
    return {
        "version": INDEX_VERSION,
        "project_root": ".",
        "synced_at": synced_at,
        "framework_version": config.project.framework_version,
        "paths": {
            "system_prps": _folder(sources.system_prps),
            "system_examples": _folder(sources.system_examples),
            "user_prps": _folder(sources.prps),
            "user_examples": _folder(sources.examples),
            "memories": _folder(sources.memories),
            "claude_md": _folder(sources.rules),
            "system_rules": _folder(sources.system_rules),
        },
        "knowledge": {
            "system_patterns": system_examples,
            "user_patterns": examples,
            "system_prps": entries(("prp",), "system"),
            "user_prps": entries(("prp",), "user"),
            "memories": entries(("memory",), "user"),
            "commands": entries(("command",), "user"),
            "references": entries(tuple(k for k in ENTRY_KINDS if k != "command"), "user"),
            "entities": entries(ENTITY_KINDS, "user"),
            "terms": entries(("term",), "user"),
            "system_rules": _rules(tables["rules"], "system"),
            "user_rules": _rules(tables["rules"], "user"),
        },
        "drift": {
            "score": drift.score,
            "violations": [
                {"type": kind, "source": path, "line": line, "message": message}
                for kind, path, line, message in drift.violations.sort("path", "line", "type", "message")
                .select("type", "path", "line", "message")
                .iter_rows()
            ],
        },
    }


def render_json(document: dict[str, Any]) -> str:
    """Two-space indented JSON, UTF-8, with a final line feed; order as built, which is sorted."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _entry(row: dict[str, Any], tags: dict[str, list[str]], referenced: dict[str, list[str]]) -> dict[str, Any]:
    entry: dict[str, Any] = {"source": place_of(row["package"], row["path"])}
    if row["kind"] == "prp":
        entry |= {
            "title": row["title"],
            "implementations": row["implementations"],
            "verified": bool(row["verified"]),
            "status": row["status"],
        }
    entry["tags"] = tags.get(row["document"], [])
    if row["kind"] in (*ENTRY_KINDS, *ENTITY_KINDS, "term"):
        entry |= {"title": row["title"], "kind": row["kind"], "aliases": row["aliases"]}
    if row["kind"] in ("pattern", "example"):
        entry |= {"kind": row["kind"], "referenced_by": referenced.get(row["document"], [])}
    entry["excerpt"] = _excerpt(row["summary"] or row["title"], EXCERPT_LENGTH)
    return entry


def _with_example_keys(patterns: dict[str, Any], examples: dict[str, Any]) -> dict[str, Any]:
    """Patterns and other examples in one section; an example whose key is taken keeps its path in it."""
    merged = dict(patterns)
    for key, entry in examples.items():
        merged[key if key not in merged else f"{key}@{entry['source']}"] = entry
    return dict(sorted(merged.items()))


def _rules(rules: pl.DataFrame, scope: str) -> dict[str, Any]:
    rows = rules.filter(pl.col("scope") == scope).sort("label")
    return {
        label: {
            "source": place_of(*split_uid(uid)),
            "line": line,
            "severity": severity,
            "excerpt": _excerpt(text, RULE_EXCERPT_LENGTH),
        }
        for label, uid, line, severity, text in rows.select("label", "document", "line", "severity", "text").iter_rows()
    }


def _tag_lists(tags: pl.DataFrame) -> dict[str, list[str]]:
    grouped = tags.sort("document", "position").group_by("document", maintain_order=True).agg("tag")
    return dict(grouped.iter_rows())


def _referenced_by(documents: pl.DataFrame, relations: pl.DataFrame) -> dict[str, list[str]]:
    """Uid -> sorted keys (PRP ids, memory names, paths of documents) that refer to it."""
    keys = documents.select(pl.col("document").alias("from"), "key", "kind", "path")
    # `Source: PRP-14` in a pattern says that PRP-14 brought it about: the seed has it in `referenced_by`
    origins = relations.filter((pl.col("type") == "derives_from") & pl.col("to").is_not_null())
    turned = origins.select(pl.col("to").alias("from"), pl.lit("references").alias("type"), pl.col("from").alias("to"))
    prps = documents.filter(pl.col("kind") == "prp").select(pl.col("document").alias("from"))
    found = (
        pl.concat([relations.select("from", "type", "to"), turned.join(prps, on="from", how="semi")])
        .filter(pl.col("type").is_in(list(_REFERRING)))
        .join(keys, on="from", how="inner")
        .select(
            "to",
            pl.when(pl.col("kind").is_in(["prp", "pattern", "example", "memory"]))
            .then("key")
            .otherwise("path")
            .alias("by"),
        )
    )
    grouped = found.drop_nulls("to").unique().sort("to", "by").group_by("to", maintain_order=True).agg("by")
    return dict(grouped.iter_rows())


def _folder(patterns: tuple[str, ...]) -> str:
    """The folder or file a source's first pattern means: `.ce/PRPs/system/**` -> `.ce/PRPs/system`."""
    return patterns[0].removeprefix("**/").removesuffix("/**") if patterns else ""


def _excerpt(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return text[: length - 1].rpartition(" ")[0].rstrip(",;: ") + "…"
