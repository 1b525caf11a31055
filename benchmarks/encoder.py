"""The query encoder that is published (int8 rows) against the exact one: quality on all sets, size, start, memory."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import syntropy
from benchmarks.common import run, save
from benchmarks.common import syntropy as command
from benchmarks.quality import SYSTEMS, judgements, paired, project
from pipeline.embed import weights
from pipeline.embed.onnx_graph import build_graph
from syntropy.contract.config import Config
from syntropy.read.evaluation import DEPTH, metrics
from syntropy.search.ranking import Results
from syntropy.store.encoder import GRAPH, TOKENIZER, QueryEncoder

SETS = (
    ("scifact", "test"),
    ("cranfield", "test"),
    ("cisi", "test"),
    ("anthropic-docs", "test"),
    ("aws-docs-small", "dev"),
)
MODES = ("semantic", "hybrid")
ALLOWED = 0.003
"""Loss of nDCG@10 that a quarter of the size may cost."""

ROUNDS = 9

_START = """
import sys, time, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
started = time.perf_counter()
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
loaded = time.perf_counter()
ids = numpy.array([[101, *range(2000, 2010), 102]])
session.run(["vector"], {"ids": ids})
once = time.perf_counter()
for _ in range(50): session.run(["vector"], {"ids": ids})
print(loaded - started, (time.perf_counter() - once) / 50)
"""


def main() -> None:
    """A minute a set once its passages are embedded; half an hour for those of aws-docs-small before."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.onnx" for name in ("fp32", "int8")}
        for name, path in files.items():
            path.write_bytes(build_graph(weights.weights(), name))  # type: ignore[arg-type]
        found = {f"{name}/{split}": _quality(name, split, files) for name, split in SETS}
        save("encoder", {"sets": found, "allowed": ALLOWED, "process": {n: _process(p) for n, p in files.items()}})


def _encoder(path: Path) -> QueryEncoder:
    places = {GRAPH: path, TOKENIZER: weights.tokenizer()}
    return QueryEncoder({"max_tokens": weights.MAX_TOKENS}, places.__getitem__)


def _quality(name: str, split: str, files: dict[str, Path]) -> dict[str, object]:
    root, ids = project(name)
    command("build", "--project", str(root), "--quiet", "--wait")
    queries, relevant = judgements(name, split)
    result: dict[str, object] = {}
    with syntropy.open(root) as opened:
        for mode in MODES:
            runs = {}
            for precision, path in files.items():
                settings = Config(search=replace(SYSTEMS["hybrid"], mode=mode))
                knowledge = syntropy.Knowledge(opened.database, settings, None, encoder=_encoder(path))
                runs[precision] = [
                    _judged(knowledge.search, ids, query, text, relevant) for query, text in queries.items()
                ]
            means = {p: round(statistics.fmean(r["ndcg@10"] for r in judged), 4) for p, judged in runs.items()}
            result[mode] = {**means, "int8 - fp32": paired(runs["int8"], runs["fp32"])}
    print(name, result, flush=True)
    return result


def _judged(
    search: Callable[..., Results],
    ids: dict[str, str],
    query: str,
    text: str,
    relevant: dict[str, dict[str, int]],
) -> dict[str, float]:
    found = search(text, limit=DEPTH, hits_per_document=1)
    ranked = [ids[hit.citation.path] for hit in found.hits if ids[hit.citation.path] != query]
    return metrics(ranked, relevant[query])


def _process(path: Path) -> dict[str, float]:
    runs = [run([sys.executable, "-c", _START, str(path)]) for _ in range(ROUNDS)]
    times = [tuple(map(float, done.output.split())) for done in runs]
    return {
        "mb": round(path.stat().st_size / 1e6, 1),
        "load_ms": round(statistics.median(load for load, _ in times) * 1000, 1),
        "query_ms": round(statistics.median(once for _, once in times) * 1000, 2),
        "peak_mb": round(statistics.median(done.peak_mb for done in runs)),
    }
