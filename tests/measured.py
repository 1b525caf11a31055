"""docs/measured.md: the figures of the committed benchmark results, each with the command that takes it."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import ROOT

RESULTS = ROOT / "benchmarks" / "results"


def _read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def measured_markdown() -> str:
    """The page."""
    cli, speed, agents = _read("cli"), _read("speed"), _read("agents")
    parts = [
        "# Measured", "",
        "Generated from `benchmarks/results/`, which `make bench` writes (or `python -m benchmarks NAME`); each file describes its",
        "machine: 2 cores of an AMD EPYC with other work on the host. Ratios carry over, seconds do not. A figure is as old as its",
        "file; what missed its aim stands here, too.", "",
        "| what | measured | aim | command |", "|---|---|---|---|",
        _row("one-shot `syntropy search --mode fast`, against a process that imports duckdb and selects one row",
             f"{cli['search_to_baseline']} ×", "2 ×", "cli"),
    ]  # fmt: skip
    if "hybrid_to_baseline" in cli:
        parts += [
            _row("the same with `--mode hybrid`", f"{cli['hybrid_to_baseline']} ×", "4 ×", "cli"),
            _row("its peak memory", f"{cli['hybrid_peak_mb']} MB", "250 MB", "cli"),
        ]
    parts += [
        *_embedding(),
        *_build(),
        *_growth(),
        *_house(),
        *_speed(speed),
        *_agents(agents),
        *_answers(),
        *_notes(),
        "",
        *_quality(),
        *_encoder(),
    ]
    return "\n".join([*parts, ""])


def _row(what: str, value: str, aim: str, command: str) -> str:
    return f"| {what} | {value} | {aim} | `{command}` |"


def _embedding() -> list[str]:
    found = _read("embedding")
    equal, mixed = found["windows"]["ratio"], found["mixed_lengths"]["ratio"]
    what = "embedding, against sentence-transformers' defaults, same vectors (cosine > .99999)"
    return [_row(what, f"{equal} × (equal lengths) to {mixed} × (mixed) as fast", "1.8 ×", "embedding")]


def _answers() -> list[str]:
    corpora = _read("answers")["corpora"]
    rows = []
    for mode, aim in (("hybrid", "90 %, 3 %"), ("fast", "80 %, -")):
        said = [found["abstention"][mode] for found in corpora.values()]
        caught, absent = sum(one["caught"] for one in said), sum(one["absent"] for one in said)
        flagged, present = sum(one["flagged"] for one in said), sum(one["present"] for one in said)
        what = f"hard questions of our own on {len(said)} corpora, {mode}: absent ones caught, others flagged"
        rows.append(_row(what, f"{caught} of {absent}, {flagged} of {present}", aim, "answers"))
    tasks = [found["tasks"] for found in corpora.values() if "tasks" in found]
    answerable = sum(one["answerable"] for one in tasks)
    for name, aim in (
        ("search_knowledge", "46 at 800 tokens"),
        ("get_context", "-"),
        ("grep by words, then whole files", "-"),
    ):
        key = next(key for key in tasks[0][name] if key.startswith("solved in"))
        mean = round(sum(one[name]["mean tokens"] for one in tasks) / len(tasks))
        solved = f"{sum(one[name][key] for one in tasks)} of {answerable}, {mean} tokens"
        rows.append(_row(f"hard tasks of our own, `{name}`, {key}", solved, aim, "answers"))
    for kind in ("keyword", "natural"):
        found = [one["gold file"][kind] for one in corpora.values()]
        systems = [name for name in found[0] if name != "queries"]
        shares = ", ".join(f"{name} {sum(one[name]['first'] for one in found)}" for name in systems)
        what = f"gold file first, {sum(one['queries'] for one in found)} {kind} queries"
        rows.append(_row(what, shares, "above LanceDB FTS and tantivy", "answers"))
    return rows


def _build() -> list[str]:
    lexical, real = _read("build-aws-docs-small-lexical"), _read("build-dlt-docs")
    name, pages = "build-aws-docs-small-lexical", lexical["files"]["indexed"]
    return [
        _row(f"build of {pages:,} pages ({lexical['markdown_mb']:.0f} MB), all but the model, Dagster's start included",
             f"{lexical['all_else_mb_per_second']} MB/s", "1.5 MB/s", name),
        _row("rebuild of them after one changed page: CPU beyond Dagster's start",
             f"{lexical['cpu_seconds']['one_changed_beyond_start']} s", "6 s", name),
        _row(f"first build of {real['files']['indexed']} real pages: share of the time inside the model",
             f"{real['inside_model_share']:.0%}", "90 %", "build-dlt-docs"),
        _row("unchanged rebuild of them: CPU in all", f"{real['cpu_seconds']['unchanged']} s", "2 s", "build-dlt-docs"),
        *_scale(),
    ]  # fmt: skip


def _scale() -> list[str]:
    """What a large corpus costs, and a change of it, in shards."""
    largest, one = _read("scale")["curve"][-1], _read("incremental")["cpu_seconds_beyond"]
    shards, beside = _read("shards"), _read("federation")["beside"]
    killed, eight = shards["dask cluster, one worker killed"], shards["one-shot"]
    cases = [found for name, found in shards.items() if isinstance(found, dict) and "tables_that_differ" in found]
    differing = sum(found["tables_that_differ"] + found["answers_that_differ"] for found in cases)
    size = f"{largest['files']:,} pages ({largest['markdown_mb']:.0f} MB, words only)"
    moved = sum(found["first_hits_moved"] for found in beside.values())
    questions = len(beside) * _read("federation")["questions"]
    eighth = shards["processes, 8"]
    whole = [
        _row(f"{size}: memory of the driver, of a worker", f"{largest['driver_mb']}, {largest['worker_mb']} MB",
             "500, 600 MB", "scale"),
        _row("the driver's share of the CPU", f"{largest['driver_share']:.0%}", "5 %", "scale"),
        _row("speed", f"{largest['mb_per_second']} MB/s", "2.3 MB/s", "scale"),
        _row("bytes a chunk in the database", f"{largest['bytes_a_chunk']:,}", "1,500", "scale"),
    ] if "driver_mb" in largest else []  # fmt: skip
    return [
        *whole,
        _row(f"{shards['pages']:,} pages in eight shards by processes: memory of the driver, of a worker; the driver's "
             "share of the CPU", f"{eighth['driver_mb']}, {eighth['worker_mb']} MB; {eighth['driver_share']:.0%}",
             "500, 600 MB; 5 %", "shards"),
        *(_row(f"one changed page of {int(pages):,}: CPU beyond Dagster's start", f"{found['one']} s",
               {"29150": "4 s"}.get(pages, "1.5 s"), "incremental") for pages, found in one.items()),
        _row(f"{len(cases)} builds of {shards['pages']:,} pages in 1, 3 and 8 shards by this process, processes, dask, and a "
             f"dask cluster of which a worker was killed ({killed['wall_seconds']} s): tables and answers that differ",
             str(differing), "0", "shards"),
        _row("one-shot search over eight shards, against one", f"{eight['ratio']} ×", "1.35 ×", "shards"),
        _row(f"an unrelated database beside it ({questions} questions): first hits moved, of the best ten",
             f"{moved}; {max(found['share_of_top_10_moved'] for found in beside.values()):.1%}", "0; 5 %", "federation"),
    ]  # fmt: skip


def _house() -> list[str]:
    found = _read("house")
    missed = [
        name
        for name, goal in found["goals"].items()
        if (found["figures"][name] < goal if name.startswith("test lines") else found["figures"][name] > goal)
    ]
    shown = "; ".join(f"{name} {found['figures'][name]} ({found['goals'][name]})" for name in missed)
    held = len(found["goals"]) - len(missed)
    return [
        _row(f"the house: {held} of {len(found['goals'])} goals met; not: {shown}", "see there", "in brackets", "house")
    ]


def _growth() -> list[str]:
    if not (RESULTS / "growth.json").is_file():
        return []
    shapes = _read("growth")["shapes"]
    worst = max((max(found["growth_for_a_doubling"]), name) for name, found in shapes.items())
    return [_row(f"growth of a build's time when its input doubles, worst of {len(shapes)} shapes ({worst[1]})",
                 f"{worst[0]} ×", "2.5 ×", "growth")]  # fmt: skip


def _speed(speed: dict[str, Any]) -> list[str]:
    words = speed["lexical_ms_p50"]["100000"]["3 words"]
    names = {
        "ours, ranking": "ours",
        "tantivy": "tantivy",
        "bm25s": "bm25s",
        "lancedb": "LanceDB",
        "fts5": "FTS5",
        "match_bm25": "`match_bm25`",
    }
    shown = [(label, words[key]) for key, label in names.items() if key in words]
    return [
        _row(f"ranking 3 words among {speed['lexical_ms_p50']['100000']['chunks']:,} chunks, warm: {' / '.join(n for n, _ in shown)}",
             f"{' / '.join(f'{v:.2g}' for _, v in shown)} ms", "3 × tantivy", "speed"),
        _row(f"exact vector search in {speed['vectors']['windows']:,} windows, against numpy on a mapped matrix",
             f"{speed['vectors']['exact_to_numpy']} ×", "1.5 ×", "speed"),
        _row(f"`hybrid` answer, warm, beyond the encoder's own time ({speed['vectors']['chunks']:,} chunks)",
             f"{speed['vectors']['hybrid_beyond_encoder_ms']:.0f} ms", "15 ms", "speed"),
    ]  # fmt: skip


def _agents(agents: dict[str, Any]) -> list[str]:
    load, publications, overhead = agents["load"], agents["publications"], agents["overhead"]
    return [
        _row("server start to the first tool answer, against a bare server of the same SDK", f"{agents['start']['ratio']} ×", "2 ×", "agents"),
        _row(f"warm `search_knowledge` through the server, beyond the engine's own {overhead['engine_ms']:.1f} ms",
             f"{overhead['difference_ms']:.1f} ms", "2 ms", "agents"),
        _row(f"{load['calls']:,} mixed calls, ten at a time: errors / memory grown", f"{load['errors']} / {load['memory_mb_grown']:.0f} MB",
             "0 / 20 MB", "agents"),
        _row(f"20 publications while four clients ask: failed answers / from two editions, of {publications['answers']:,}",
             f"{publications['failed']} / {publications['from_two_editions']}", "0 / 0", "agents"),
        _row(f"the demo's {agents['questions']['questions']} questions by a scripted agent, within 3 calls and 4,000 tokens",
             f"{agents['questions']['share']:.0%}", "90 %", "agents"),
    ]  # fmt: skip


def _notes() -> list[str]:
    notes = _read("notes")
    insights = notes["insights"]
    shown = f"{insights['add_ms_p50_of_the_last_1000']:.0f} / {insights['search_ms_p50']:.0f} / {notes['graph']['path_ms_p50']:.1f} ms"
    return [
        _row("insights: add to / search in 10,000; a path among 100,000 relations", shown, "20 / 10 / 5 ms", "notes")
    ]


def _quality() -> list[str]:
    found = _read("quality")
    parts = ["## Retrieval", "", "nDCG@10 of documents on public sets, one default for all, tuned on scifact train only (`quality`).", "",
             "| set | strong BM25 | `fast` | `semantic` | **`hybrid`** | aim |", "|---|---|---|---|---|---|"]  # fmt: skip
    for name, aim in found["promised"].items():
        scores = found["sets"][name]["scores"]
        cells = [f"{scores[system]['ndcg@10']:.3f}" for system in ("bm25s", "fast", "semantic", "hybrid")]
        parts.append(f"| {name} | {' | '.join(cells)} | {aim:.3f} |")
    return [*parts, ""]


def _encoder() -> list[str]:
    if not (RESULTS / "encoder.json").is_file():
        return []
    found = _read("encoder")
    parts = ["## The published query encoder", "",
             f"int8 rows against fp32, documents' vectors the same; nDCG@10, allowed loss {found['allowed']} (`encoder`).", "",
             "| set | `semantic` fp32 | int8 | `hybrid` fp32 | int8 | difference | p |", "|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, modes in found["sets"].items():
        change = modes["hybrid"]["int8 - fp32"]
        cells = [f"{modes[mode][precision]:.4f}" for mode in ("semantic", "hybrid") for precision in ("fp32", "int8")]
        parts.append(f"| {name} | {' | '.join(cells)} | {change['difference']:+.4f} | {change['p']:.2f} |")
    parts += ["", "| precision | MB | load | a query | peak memory of the process |", "|---|---|---|---|---|"]
    for name, process in found["process"].items():
        parts.append(
            f"| {name} | {process['mb']} | {process['load_ms']:.0f} ms | {process['query_ms']:.1f} ms | {process['peak_mb']} MB |"
        )
    return parts
