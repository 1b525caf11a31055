"""Stages over several shards: which of them are stale, a task for each, and what all of them add up to.

Only names, counts and digests come here; texts stay with the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from pipeline.chunk.cutting import prefix_budget
from pipeline.engine import shard_work
from pipeline.engine.context import Build, Inputs
from pipeline.engine.records import Part, Receipt, Record, Records
from pipeline.engine.stages import stage_named
from pipeline.engine.tasks import Task, Work, run_task
from pipeline.extract.merge import PER_DOCUMENT, Settled, Unchanged, files_to_read_again, settle, unchanged
from pipeline.formats.shared import KINDS
from pipeline.ground.digests import digest
from pipeline.ground.tables import conform
from pipeline.tag.tagging import tag_documents
from syntropy.contract.config import BuildConfig
from syntropy.contract.errors import BuildError
from syntropy.contract.identity import document_uid
from syntropy.contract.schema import TAGS
from syntropy.contract.shards import MOST_SHARDS, shard_of

ONE_SHARD, FEW_SHARDS, FILES_A_SHARD = 1_000, 8, 50_000
"""Up to so many files a build has one shard; above it so many, and never more files in one than that. A one-shot search
pays 4 ms for each further shard; a build rewrites the shard a change is in (benchmarks/incremental.py)."""

MADE_BY_DOCUMENTS = (*PER_DOCUMENT, "diagnostics")
OF_CHUNKS = ("chunks", "windows", "terms", "chunk_keys", "diagnostics")


def shard_count(config: BuildConfig, files: int) -> int:
    """In how many shards so many files lie: a function of the configuration and the corpus alone."""
    if config.shards:
        return config.shards
    return 1 if files <= ONE_SHARD else min(MOST_SHARDS, max(FEW_SHARDS, -(-files // FILES_A_SHARD)))


def extract_in_shards(build: Build, inputs: Inputs, read_together: Callable[[pl.DataFrame], Any]) -> dict[str, Any]:
    """`documents` and what goes with them: parts, tables and figures. `read_together` reads files of `KINDS`."""
    shards, records = build.shards, build.records
    before = inputs.former_record
    wanted = inputs["sources"].filter(pl.col("status") == "indexed")
    kept = _unchanged(wanted, before, records)
    changed = wanted.join(kept.files, on=["package", "path"], how="anti")
    gone = _files(before, records).join(kept.files, on=["package", "path"], how="anti")
    homes = [
        frame.select("package", "path").with_columns(_shard_of_file(frame, shards))
        for frame in (changed, kept.files, gone)
    ]
    touched = sorted({*homes[0]["shard"], *homes[2]["shard"], *(range(shards) if before is None else ())})
    together = changed.filter(pl.col("kind").is_in(sorted(KINDS)))
    shared = read_together(together) if together.height else {}
    arguments: dict[int, dict[str, Any]] = {}
    content = dict(zip(zip(changed["package"], changed["path"], strict=True), changed["content_hash"], strict=True))
    for shard in touched:
        own, same = (frame.filter(pl.col("shard") == shard).drop("shard") for frame in homes[:2])
        arguments[shard] = {
            "root": build.workspace.root,
            "config": build.config,
            "own": build.workspace.own_folders(),
            "paths": {
                package: list(paths)
                for package, paths in own.group_by("package", maintain_order=True).agg("path").iter_rows()
            },
            "shared": shared,
            "kept": same,
            "former": _parts(before, MADE_BY_DOCUMENTS, shard) if before else {},
        }
    keys = {
        shard: digest(
            build.method_of(stage_named("documents")),
            *(f"{row} {content[row]}" for row in sorted(own for own in _rows(given["paths"]))),
            *(part.sha256 for part in given["former"].values()),
            *map(str, given["kept"].rows()),
            str(sorted(map(str, shared.items()))),
        )
        for shard, given in arguments.items()
    }
    found = _mapped(build, "documents", shard_work.extract_shard, arguments, keys, unsettled=("rules",))
    parts = _all_parts(before, found, MADE_BY_DOCUMENTS, shards)
    names = settle(
        records.read(parts["documents"], only=_NAMED),
        records.scan(parts["documents"]).filter(pl.col("kind").is_in(["command", "api"])).select(_ENTRY).collect(),
        records.read(parts["rules"], only=["document", "line", "text", "label"]),
    )
    again = files_to_read_again(
        records.read(parts["documents"], only=["document", "package", "file"]),
        records.read(parts["diagnostics"]),
        names.hidden,
    )
    parts |= _settled(build, parts, names)
    # what needs all documents is found anew: the last part is nobody's shard
    parts["diagnostics"].append(records.write("documents", "diagnostics", names.diagnostics))
    files = wanted.join(again, on=["package", "path"], how="anti")
    figures = {"extracted": changed.height, "reused": len(kept.documents), "shards worked on": len(touched)}
    return {"parts": parts, "files": files, "figures": figures}


_NAMED = ["document", "package", "path", "scope", "kind", "key", "content_hash"]
_ENTRY = ["document", "package", "file", "kind", "key", "title", "path", "frontmatter", "aliases"]


def _settled(build: Build, parts: Mapping[str, list[Part]], names: Settled) -> dict[str, list[Part]]:
    """Parts of the shards in which a name differs from what is settled, written anew; and the others."""
    records, shards = build.records, build.shards
    arguments, keys = {}, {}
    for shard in range(shards):
        of_shard = {name: parts[name][shard] for name in PER_DOCUMENT}
        documents = records.read([of_shard["documents"]], only=["document", "key"])
        rules = records.read([of_shard["rules"]], only=["document", "line", "text", "label"])
        own = documents.select("document")
        mine = Settled(
            names.hidden.filter(names.hidden.is_in(documents["document"].implode())),
            names.keys.join(own, on="document", how="semi"),
            names.labels.join(own, on="document", how="semi", maintain_order="left"),
            names.diagnostics.clear(),
        )
        same = (
            not len(mine.hidden)
            and documents.join(mine.keys, on=["document", "key"], how="semi").height == documents.height
            and rules.sort(rules.columns).equals(mine.labels.sort(mine.labels.columns).select(rules.columns))
        )
        if not same:
            arguments[shard] = {"parts": of_shard, "names": mine}
            keys[shard] = digest(
                "settled", *(part.sha256 for part in of_shard.values()), *(str(frame.rows()) for frame in mine[1:3]),
                str(mine.hidden.to_list()),
            )  # fmt: skip
    found = _mapped(build, "documents", shard_work.settle_shard, arguments, keys)
    return {
        name: [found[shard].tables[name] if shard in found else parts[name][shard] for shard in range(shards)]
        for name in PER_DOCUMENT
    }


def chunk_in_shards(build: Build, inputs: Inputs) -> dict[str, Any]:
    """`chunks` and what goes with them: parts, facts and figures."""
    config, model = build.config, build.embedder.model
    arguments = {
        shard: {
            "parts": {name: inputs.parts(name)[shard] for name in ("documents", "tags", "headings", "outlines")},
            "former": _parts(inputs.former_record, OF_CHUNKS, shard),
            "tokenizer": model.tokenizer,
            "chunk": config.chunk,
            "embed": config.embed,
            "prefix_tokens": prefix_budget(config.embed, model.max_tokens),
        }
        for shard in range(build.shards)
    }
    done = stale_shards(build, "chunks", inputs.former_record)
    found = _mapped(build, "chunks", shard_work.chunk_shard, {s: arguments[s] for s in done}, done)
    former = inputs.former_record
    lengths = [
        found[s].facts["lengths"] if s in found else former.facts["lengths"][s]  # type: ignore[union-attr]
        for s in range(build.shards)
    ]
    return {
        "parts": _all_parts(former, found, OF_CHUNKS, build.shards),
        "facts": {"lengths": lengths, "made from": made_from(build, "chunks")},
        "figures": {name: sum(receipt.facts[name] for receipt in found.values()) for name in ("chunked", "reused")}
        | {"shards worked on": len(found)},
    }


def tag_in_shards(build: Build, inputs: Inputs) -> dict[str, Any]:
    """`parts` and `facts` of `tags`: anew for all shards where tags follow from other documents' tags."""
    records, config = build.records, build.config.tags
    former = inputs.former_record
    if config.infer:
        found = tag_documents(inputs["tag_marks"], inputs["headings"], config)
        home = pl.Series([shard_of(uid, build.shards) for uid in found["document"]], dtype=pl.Int32)
        frames = {shard: found.filter(home == shard) for shard in range(build.shards)}
    else:
        frames = {}
        for shard in stale_shards(build, "tags", former):
            marks, headings = (records.read([inputs.parts(name)[shard]]) for name in ("tag_marks", "headings"))
            frames[shard] = tag_documents(marks, headings, config)
    parts = [
        records.write("tags", "tags", conform(TAGS, frames[shard])) if shard in frames else former.tables["tags"][shard]  # type: ignore[union-attr]
        for shard in range(build.shards)
    ]
    return {"parts": {"tags": parts}, "facts": {"made from": made_from(build, "tags")}}


def stale_shards(build: Build, stage: str, former: Record | None) -> dict[int, str]:
    """Shard -> digest of what decides its part, of those that have to be done (again)."""
    now = made_from(build, stage)
    before = former.facts.get("made from", []) if former else []
    return {shard: key for shard, key in enumerate(now) if shard >= len(before) or before[shard] != key}


def made_from(build: Build, stage: str) -> list[str]:
    """The digest of what decides each shard's part of a stage."""
    return [build.part_inputs(stage_named(stage), shard) for shard in range(build.shards)]


def _mapped(
    build: Build,
    stage: str,
    work: Work,
    arguments: Mapping[int, Mapping[str, Any]],
    keys: Mapping[int, str],
    *,
    unsettled: Sequence[str] = (),
) -> dict[int, Receipt]:
    """Shard -> receipt of its task."""
    tasks = [
        Task(build.records.folder, stage, shard, keys[shard], work, given, tuple(unsettled))
        for shard, given in arguments.items()
    ]
    found: dict[int, Receipt] = {}
    for receipt in build.workers.map(run_task, tasks):
        found[receipt.shard] = receipt
        build.reporter.advance(len(found), len(tasks))
    return found


def _all_parts(
    former: Record | None, found: Mapping[int, Receipt], names: Sequence[str], shards: int
) -> dict[str, list[Part]]:
    """Table -> its part of each shard: the one that was made now, or the former one."""
    if former is None and len(found) < shards:
        raise BuildError("shards are missing", hint="run `syntropy build --full`")
    return {
        name: [found[s].tables[name] if s in found else former.tables[name][s] for s in range(shards)]  # type: ignore[union-attr]
        for name in names
    }


def _parts(record: Record | None, names: Sequence[str], shard: int) -> dict[str, Part]:
    return {name: record.tables[name][shard] for name in names} if record else {}


def _files(record: Record | None, records: Records) -> pl.DataFrame:
    if record is None:
        return pl.DataFrame(schema={"package": pl.String, "path": pl.String})
    return records.read(record.tables["files"], only=["package", "path"])


def _unchanged(wanted: pl.DataFrame, record: Record | None, records: Records) -> Unchanged:
    if record is None:
        return unchanged(wanted, {})
    documents = records.read(record.tables["documents"], only=["document", "package", "file"])
    return unchanged(wanted, {"files": records.read(record.tables["files"]), "documents": documents})


def _shard_of_file(files: pl.DataFrame, shards: int) -> pl.Series:
    rows = files.select("package", "path").iter_rows()
    return pl.Series("shard", [shard_of(document_uid(*row), shards) for row in rows], dtype=pl.Int32)


def _rows(paths: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(package, path) for package, members in paths.items() for path in members]
