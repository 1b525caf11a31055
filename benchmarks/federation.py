"""A database beside which an unrelated one is searched: does its first hit stay, do its best ten?"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.common import DATA, aws_docs_small, corpus, save, syntropy
from syntropy.read.federation import Federation
from syntropy.read.knowledge import open_knowledge

OTHERS = ("dlt-docs", "serena", "context-engineering-intro")
QUESTIONS = 150


def main() -> None:
    """Three minutes, words only: scores of words are what a second database could spoil."""
    lines = (DATA / "retrieval/aws-docs-small/queries.jsonl").read_text().splitlines()
    questions = [json.loads(line)["text"] for line in lines][:QUESTIONS]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        main_root = aws_docs_small(Path(folder) / "aws")
        roots = {name: corpus(name, Path(folder) / name) for name in OTHERS}
        for root in (main_root, *roots.values()):
            syntropy("build", "--project", str(root), "--quiet", "--no-embeddings")
        with open_knowledge(out=main_root / "build") as alone:
            before = [[str(hit.citation) for hit in alone.search(q, mode="fast", limit=10).hits] for q in questions]
        for name, root in roots.items():
            members = {"aws": open_knowledge(out=main_root / "build"), name: open_knowledge(out=root / "build")}
            with Federation(members) as united:
                after = [united.search(q, mode="fast", limit=10).hits for q in questions]
            own = [[str(hit.citation) for hit in hits if hit.database == "aws"] for hits in after]
            foreign = [sum(hit.database == name for hit in hits) for hits in after]
            firsts = sum(
                bool(a) and (not hits or hits[0].database != "aws" or str(hits[0].citation) != a[0])
                for a, hits in zip(before, after, strict=True)
            )
            lost = sum(len(set(a) - set(b)) for a, b in zip(before, own, strict=True))
            found[name] = {
                "first_hits_moved": firsts,
                "share_of_top_10_moved": round(lost / sum(map(len, before)), 4),
                "foreign_hits_in_top_10": sum(foreign),
            }
            print(name, found[name], flush=True)
    save("federation", {"questions": len(questions), "beside": found, "promises": {"first": 0, "share": 0.05}})
