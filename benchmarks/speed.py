"""Speed of queries against peers in the same run: lexical at 1k, 10k and 100k chunks, vectors, one-shots, threads.

Peers index the same chunk texts and return the ids of the best ten: tantivy, SQLite FTS5, bm25s, LanceDB
and DuckDB's own `match_bm25`. Ours is measured twice: the ranking alone, as the peers do it, and the whole
answer with snippets, highlights and citations.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
import statistics
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np

import syntropy
from benchmarks.common import DATA, configured, run, save
from benchmarks.common import syntropy as command
from benchmarks.quality import WORK
from syntropy.contract.published import DATABASE, locate
from syntropy.search.query import analyse
from syntropy.store.extensions import load_extension

SIZES = (1_000, 10_000, 100_000)
LENGTHS = (1, 3, 8)
QUERIES = 60
SLOW_QUERIES = 5
ROUNDS = 7


def main() -> None:
    """A quarter of an hour; the projects are kept for the next run."""
    found: dict[str, object] = {"one_shot": one_shot()}  # first: a child's peak includes what its parent holds
    found |= {"lexical_ms_p50": {str(size): lexical(size) for size in SIZES}, "vectors": vectors(), "hnsw": hnsw()}
    save("speed", {**found, "queries_a_second_by_threads": threads()})


def lexical(size: int) -> dict[str, object]:
    """Median milliseconds by engine and number of words."""
    root = documentation(size)
    out = root / "build"
    copied = Path(tempfile.mkdtemp()) / DATABASE  # one process opens a file in one way only
    shutil.copyfile(locate(out, DATABASE), copied)
    connection = duckdb.connect(str(copied), read_only=True)
    load_extension(connection, "fts")
    chunks = connection.execute("SELECT chunk_id, title || ' ' || body FROM chunks ORDER BY chunk_id").fetchall()
    found: dict[str, object] = {"chunks": len(chunks)}
    with tempfile.TemporaryDirectory() as folder, syntropy.open(out) as knowledge:
        engines = {**_ours(knowledge), **_peers(chunks, Path(folder)), "match_bm25": _stock(connection)}
        for words in LENGTHS:
            queries = _queries([text for _, text in chunks], words)
            for engine in engines.values():
                engine(queries[0])
            times: dict[str, list[float]] = {name: [] for name in engines}
            for number, query in enumerate(queries):  # in alternation: what disturbs one disturbs all
                for name, engine in engines.items():
                    if name == "match_bm25" and number >= SLOW_QUERIES:
                        continue
                    started = time.perf_counter()
                    engine(query)
                    times[name].append((time.perf_counter() - started) * 1000)
            found[f"{words} words"] = {name: round(statistics.median(values), 3) for name, values in times.items()}
            print(size, words, found[f"{words} words"], flush=True)
    connection.close()
    shutil.rmtree(copied.parent)
    return found


def documentation(size: int) -> Path:
    """Pages of aws-documentation that make about that many chunks (7.4 a page), built without embeddings."""
    root = WORK / f"documentation-{size}"
    if not root.is_dir():
        with tarfile.open(DATA / "corpora/aws-documentation.tar.xz") as archive:
            pages = sorted((m for m in archive if m.isfile() and m.name.endswith(".md")), key=lambda m: m.name)
            step = max(1, len(pages) * 74 // (size * 10))
            chosen = pages[::step][: size * 10 // 74 + 1]
            for page in sorted(chosen, key=lambda m: m.offset):  # a compressed archive cannot go back
                target = root / "docs" / page.name
                target.parent.mkdir(parents=True, exist_ok=True)
                stream = archive.extractfile(page)
                target.write_bytes(stream.read() if stream else b"")
        configured(root)
    command("build", "--project", str(root), "--no-embeddings", "--quiet")
    return root


def _ours(knowledge: syntropy.Knowledge) -> dict[str, Callable[[str], object]]:
    from syntropy.search.memory_engine import MemoryEngine

    engine = MemoryEngine(knowledge.database)
    engine.load(vectors=False)
    knowledge.prewarm()

    def ranking(query: str) -> object:
        terms = analyse(engine, query, synonyms=False, correct=False)
        return engine.question(terms.weights, ()).top_lexical(where="true", parameters=(), limit=10)

    return {"ours, ranking": ranking, "ours, whole answer": lambda q: knowledge.search(q, mode="fast")}


def _peers(chunks: list[tuple[int, str]], folder: Path) -> dict[str, Callable[[str], object]]:
    import bm25s
    import lancedb
    import Stemmer
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", stored=True)
    builder.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(builder.build(), path=str(folder))
    writer = index.writer()
    for number, text in chunks:
        writer.add_document(tantivy.Document(id=number, text=text))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def by_tantivy(query: str) -> object:
        return searcher.search(index.parse_query(query, ["text"]), 10).hits

    lite = sqlite3.connect(folder / "fts5.sqlite")
    lite.execute("CREATE VIRTUAL TABLE t USING fts5(text, content='', tokenize='porter unicode61')")
    lite.executemany("INSERT INTO t(rowid, text) VALUES (?, ?)", chunks)
    lite.execute("INSERT INTO t(t) VALUES ('optimize')")
    lite.commit()

    def by_fts5(query: str) -> object:
        match = " OR ".join(f'"{word}"' for word in query.split())
        return lite.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10", [match]).fetchall()

    stemmer = Stemmer.Stemmer("english")
    scorer = bm25s.BM25()
    scorer.index(
        bm25s.tokenize([text for _, text in chunks], stopwords="en", stemmer=stemmer, show_progress=False),
        show_progress=False,
    )

    def by_bm25s(query: str) -> object:
        tokens = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
        return scorer.retrieve(tokens, k=10, show_progress=False)

    table = lancedb.connect(folder / "lance").create_table("t", [{"id": n, "text": text} for n, text in chunks])
    table.create_fts_index("text")

    def by_lancedb(query: str) -> object:
        return table.search(query, query_type="fts").select(["id"]).limit(10).to_list()

    return {"tantivy": by_tantivy, "fts5": by_fts5, "bm25s": by_bm25s, "lancedb": by_lancedb}


def _stock(connection: duckdb.DuckDBPyConnection) -> Callable[[str], object]:
    sql = (
        "SELECT chunk_id, fts_main_chunks.match_bm25(chunk_id, ?) AS score FROM chunks WHERE score IS NOT NULL "
        "ORDER BY score DESC LIMIT 10"
    )
    return lambda query: connection.execute(sql, [query]).fetchall()


def _queries(texts: list[str], words: int) -> list[str]:
    """Words that stand together in a random chunk, so that they mean something together."""
    chooser = random.Random(words)
    found: list[str] = []
    while len(found) < QUERIES:
        tokens = re.findall(r"[a-z]{4,}", chooser.choice(texts).lower())
        if len(tokens) > words:
            start = chooser.randrange(len(tokens) - words)
            found.append(" ".join(tokens[start : start + words]))
    return found


def vectors() -> dict[str, object]:
    """Exact scan at about 10k windows against numpy on a memory-mapped matrix, and hybrid end to end."""
    from syntropy.search.memory_engine import MemoryEngine
    from syntropy.store.encoder import load_encoder

    root = WORK / "scifact"
    command("build", "--project", str(root), "--quiet")
    texts = [path.read_text().splitlines()[0][2:] for path in sorted((root / "docs").glob("*.md"))[:QUERIES]]
    with syntropy.open(root) as knowledge, tempfile.TemporaryDirectory() as folder:
        engine = MemoryEngine(knowledge.database)
        encoder = load_encoder(knowledge.database, syntropy_config().embed)
        encoded = [encoder.encode(text) for text in texts]
        engine.load(vectors=True)
        matrix = engine._matrix().matrix
        np.save(Path(folder) / "m.npy", matrix)
        mapped = np.load(Path(folder) / "m.npy", mmap_mode="r")
        times: dict[str, list[float]] = {"ours": [], "numpy": [], "encoder": [], "hybrid": [], "hybrid cached": []}
        knowledge.prewarm()
        knowledge.search("warm up the tables")
        for text, vector in zip(texts, encoded, strict=True):
            for name, call in (
                ("ours", lambda v=vector: engine.question({}, v).top_semantic(where="true", parameters=(), limit=10)),
                ("numpy", lambda v=vector: np.argpartition(-(mapped @ np.asarray(v, np.float32)), 10)[:10]),
                ("encoder", lambda t=text: encoder.encode(t)),
                ("hybrid", lambda t=text: knowledge.search(t, mode="hybrid")),
                ("hybrid cached", lambda t=text: knowledge.search(t, mode="hybrid")),
            ):
                started = time.perf_counter()
                call()
                times[name].append((time.perf_counter() - started) * 1000)
    medians = {name: round(statistics.median(values), 2) for name, values in times.items()}
    return {
        "windows": len(matrix),
        "chunks": int(knowledge.meta["chunks"]),
        "ms_p50": medians,
        "exact_to_numpy": round(medians["ours"] / medians["numpy"], 2),
        "hybrid_beyond_encoder_ms": round(medians["hybrid"] - medians["encoder"], 2),
    }


def hnsw() -> dict[str, object]:
    """The index route, unfiltered, on the 70,000 windows of aws-docs-small: time and recall against the exact scan."""
    from syntropy.search.memory_engine import MemoryEngine
    from syntropy.search.sql_engine import SqlEngine
    from syntropy.store.encoder import load_encoder

    root, out = WORK / "aws-docs-small", WORK / "aws-docs-small-hnsw"
    command("build", "--project", str(root), "--hnsw", "always", "--out", str(out), "--quiet")
    queries = [json.loads(line)["text"] for line in (DATA / "retrieval/aws-docs-small/queries.jsonl").open()][:100]
    with syntropy.open(out=out) as knowledge:
        encoder = load_encoder(knowledge.database, syntropy_config().embed)
        ways = {"index": SqlEngine(knowledge.database), "in memory, exact": MemoryEngine(knowledge.database)}
        times: dict[str, list[float]] = {name: [] for name in ways}
        shared = 0
        for query in queries:
            vector = encoder.encode(query)
            tops = {}
            for name, engine in ways.items():
                started = time.perf_counter()
                tops[name] = engine.question({}, vector).top_semantic(where="true", parameters=(), limit=10)
                times[name].append((time.perf_counter() - started) * 1000)
            shared += len(set(dict(tops["index"])) & set(dict(tops["in memory, exact"])))
        return {
            "windows": int(knowledge.meta["windows"]),
            "ms_p50": {name: round(statistics.median(values), 2) for name, values in times.items()},
            "recall_at_10": round(shared / (10 * len(queries)), 4),
        }


def syntropy_config():
    """The defaults, as a reader without a project has them."""
    from syntropy.contract.config import load_config

    return load_config(None, env={})


def one_shot() -> dict[str, object]:
    """Whole processes: `syntropy search` against "import duckdb, open, select 1"; and peak memory."""
    command("build", "--project", str(WORK / "scifact"), "--quiet")
    out = str(WORK / "scifact" / "build")
    database = str(locate(Path(out), DATABASE))
    bare = f"import duckdb; print(duckdb.connect({database!r}, read_only=True).execute('SELECT 1').fetchone())"
    runs: dict[str, list] = {"baseline": [], "fast": [], "hybrid": []}
    for _ in range(ROUNDS):
        runs["baseline"].append(run([sys.executable, "-c", bare]))
        for mode in ("fast", "hybrid"):
            runs[mode].append(command("search", "gene expression in mice", "--mode", mode, "--out", out))
    seconds = {name: round(statistics.median(r.wall for r in done), 3) for name, done in runs.items()}
    return {
        "seconds": seconds,
        "fast_to_baseline": round(seconds["fast"] / seconds["baseline"], 2),
        "hybrid_to_baseline": round(seconds["hybrid"] / seconds["baseline"], 2),
        "hybrid_peak_mb": round(max(r.peak_mb for r in runs["hybrid"])),
    }


def threads() -> dict[str, float]:
    """Queries a second with 1, 2, 8 and 32 threads on one open database."""
    texts = [p.read_text().splitlines()[0][2:] for p in sorted((WORK / "scifact/docs").glob("*.md"))[:320]]
    rates = {}
    with syntropy.open(WORK / "scifact") as knowledge:
        for text in texts[:10]:
            knowledge.search(text, mode="fast")
        for count in (1, 2, 8, 32):
            shares = [texts[n::count] for n in range(count)]
            workers = [
                threading.Thread(target=lambda share=share: [knowledge.search(t, mode="fast") for t in share])
                for share in shares
            ]
            started = time.perf_counter()
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            rates[str(count)] = round(len(texts) / (time.perf_counter() - started), 1)
    return rates
