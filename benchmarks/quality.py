"""Retrieval quality on public sets with relevance judgements: from files through our pipeline to hits.

A document of a set becomes a Markdown file (`# title`, text); it scores by its best passage. bm25s (Lucene's
formula, k1 1.5, b .75, English stop words and stemmer, title and text in one field) is the strong lexical
baseline, in the same run. Pairs of systems are compared by a paired randomisation test over queries.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

import syntropy
from benchmarks.common import DATA, aws_docs_small, configured, save
from benchmarks.common import syntropy as command
from syntropy.contract.config import Config, SearchConfig
from syntropy.read.evaluation import DEPTH, metrics

SETS = (
    ("scifact", "train"),
    ("scifact", "test"),
    ("aws-docs-small", "dev"),
    ("cranfield", "test"),
    ("cisi", "test"),
    ("anthropic-docs", "test"),
)
"""Only scifact train was tuned on; one default for all."""

WORK = Path(__file__).resolve().parent / ".work"
"""Projects written from the sets are kept, so that a second run need not embed again (half an hour)."""

_ALL = SearchConfig(fold_copies=False)
"""The sets judge every document on its own, copies too."""

SYSTEMS = {
    "fast": replace(_ALL, mode="fast"),
    "semantic": replace(_ALL, mode="semantic"),
    "hybrid": replace(_ALL, mode="hybrid"),
    "hybrid, nocaap profile": replace(_ALL, mode="hybrid", profile="nocaap"),
    "hybrid, no synonyms": replace(_ALL, mode="hybrid", synonyms=False),
}
PROMISED = {
    "scifact/test": 0.745,
    "aws-docs-small/dev": 0.885,
    "cranfield/test": 0.575,
    "cisi/test": 0.455,
    "anthropic-docs/test": 0.825,
}
SHUFFLES = 10_000


def main() -> None:
    """All sets; the first run takes half an hour for the embeddings of aws-docs-small."""
    _run("quality", SETS)


def small() -> None:
    """The small test sets: five minutes."""
    _run("quality-small", tuple(s for s in SETS if s[0] != "aws-docs-small" and s[1] == "test"))


def _run(result: str, sets: tuple[tuple[str, str], ...]) -> None:
    measured = {f"{name}/{split}": measure(name, split) for name, split in sets}
    save(result, {"sets": measured, "promised": {name: PROMISED[name] for name in measured if name in PROMISED}})


def measure(name: str, split: str) -> dict[str, object]:
    """nDCG@10 and the rest for every system on one set."""
    root, ids = project(name)
    command("build", "--project", str(root), "--quiet")
    queries, relevant = judgements(name, split)
    results: dict[str, list[dict[str, float]]] = {"bm25s": bm25s_run(name, queries, relevant)}
    for system, settings in SYSTEMS.items():
        with syntropy.open(root) as knowledge:
            knowledge = configured_as(knowledge, settings)
            results[system] = []
            for query_id, text in queries.items():
                found = knowledge.search(text, limit=DEPTH, hits_per_document=1)
                ranked = [ids[hit.citation.path] for hit in found.hits if ids[hit.citation.path] != query_id]
                results[system].append(metrics(ranked, relevant[query_id]))
    scores = {
        system: {key: round(statistics.fmean(r[key] for r in runs), 4) for key in runs[0]}
        for system, runs in results.items()
    }
    pairs = {
        f"hybrid against {other}": paired(results["hybrid"], results[other])
        for other in ("bm25s", "fast", "semantic", "hybrid, nocaap profile")
    }
    print(name, split, {s: v["ndcg@10"] for s, v in scores.items()}, flush=True)
    return {"queries": len(queries), "documents": len(ids), "scores": scores, "paired": pairs}


def configured_as(knowledge: syntropy.Knowledge, settings: SearchConfig) -> syntropy.Knowledge:
    """The same database with other settings of search."""
    return syntropy.Knowledge(knowledge.database, Config(search=settings), None)


def project(name: str) -> tuple[Path, dict[str, str]]:
    """A set's corpus as a project, and path -> id."""
    root = WORK / name
    ids = {}
    for number, line in enumerate((DATA / "retrieval" / name / "corpus.jsonl").open()):
        page = json.loads(line)
        if name == "aws-docs-small":
            path = page["_id"] if page["_id"].endswith(".md") else page["_id"] + ".md"
        else:
            path = f"{number:05d}.md"
        ids[f"docs/{path}"] = page["_id"]
        target = root / "docs" / path
        if name != "aws-docs-small" and not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"# {page['title']}\n\n{page['text']}\n" if page["title"] else page["text"])
    if name == "aws-docs-small" and not root.is_dir():
        aws_docs_small(root)
    return configured(root), ids


def judgements(name: str, split: str) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """Queries that have something relevant, and their judgements."""
    folder = DATA / "retrieval" / name
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels" / f"{split}.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            grades[query][document] = int(grade)
    texts = {q["_id"]: q["text"] for q in map(json.loads, (folder / "queries.jsonl").open())}
    return {query: texts[query] for query in grades}, grades


def bm25s_run(name: str, queries: dict[str, str], relevant: dict[str, dict[str, int]]) -> list[dict[str, float]]:
    """The strong lexical baseline."""
    import bm25s
    import Stemmer

    pages = [json.loads(line) for line in (DATA / "retrieval" / name / "corpus.jsonl").open()]
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    texts = [f"{page['title']} {page['text']}" for page in pages]
    index.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    asked = bm25s.tokenize(list(queries.values()), stopwords="en", stemmer=stemmer, show_progress=False)
    found, scores = index.retrieve(asked, k=min(DEPTH + 1, len(pages)), show_progress=False)
    runs = []
    for query, row, values in zip(queries, found, scores, strict=True):
        ranked = [pages[i]["_id"] for i, value in zip(row, values, strict=True) if value > 0]
        runs.append(metrics([d for d in ranked if d != query], relevant[query]))
    return runs


def paired(ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> dict[str, float]:
    """Mean difference of nDCG@10 and its two-sided p by random exchange within pairs."""
    difference = np.array([a["ndcg@10"] - b["ndcg@10"] for a, b in zip(ours, theirs, strict=True)])
    signs = np.random.default_rng(0).choice((-1.0, 1.0), size=(SHUFFLES, len(difference)))
    extreme = np.abs((signs * difference).mean(axis=1)) >= abs(difference.mean()) - 1e-12
    return {"difference": round(float(difference.mean()), 4), "p": round(float(extreme.mean()), 4)}
