"""Answers: what an agent gets in one call, whether absent things are said to be absent, gold files against peers.

Questions of our own on three public corpora (`benchmarks/questions`): 100 with an answer and 60 without on each, and 30
tasks on two of them, whose evidence (regular expressions) has to stand in what the agent was shown. They were written
from the corpora alone, before any result was seen, and made hard: paraphrases, and absent questions about the corpora's
own subjects. Nothing was tuned on the tasks; the constants of `search.absence` were chosen on the questions.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import syntropy
import syntropy.tools
from benchmarks.common import ROOT, corpus, save
from benchmarks.common import syntropy as command
from syntropy.contract.budget import tokens
from syntropy.contract.text import words
from syntropy.search.query import told

QUESTIONS = ROOT / "benchmarks" / "questions"
CORPORA = ("dlt-docs", "context-engineering-intro", "serena")
TASKS = CORPORA[:2]
MODES = ("hybrid", "fast")
GREP_CALLS = 2
"""Whole files that the baseline reads after its search."""

WARM = 200


def main() -> None:
    """Ten minutes where nothing is embedded yet."""
    with tempfile.TemporaryDirectory() as folder:
        roots = {name: corpus(name, Path(folder) / name) for name in CORPORA}
        for root in roots.values():
            command("build", "--project", str(root), "--quiet")
        found = {name: measure(name, root) for name, root in roots.items()}
    save("answers", {"corpora": found})


def measure(name: str, root: Path) -> dict[str, Any]:
    """All of it on one corpus."""
    questions = lines(name)
    with syntropy.open(root) as knowledge:
        knowledge.prewarm()
        found: dict[str, Any] = {
            "chunks": knowledge.database.chunk_count,
            "abstention": {mode: abstention(knowledge, questions, mode) for mode in MODES},
            "gold file": gold(knowledge, [one for one in questions if one["relevant"]]),
            "warm hybrid": warm(knowledge, [one["query"] for one in questions]),
        }
        if name in TASKS:
            found["tasks"] = tasks(knowledge, lines(f"{name}-tasks"))
    print(name, json.dumps(found), flush=True)
    return found


def lines(name: str) -> list[dict[str, Any]]:
    """A file of questions."""
    return [json.loads(line) for line in (QUESTIONS / f"{name}.jsonl").read_text().splitlines()]


def abstention(knowledge: syntropy.Knowledge, questions: Sequence[Mapping[str, Any]], mode: str) -> dict[str, Any]:
    """Absent questions that are caught, present ones that are flagged."""
    said = [
        (bool(one["relevant"]), bool(knowledge.search(one["query"], mode=mode, limit=1).not_here)) for one in questions
    ]
    absent = [flagged for present, flagged in said if not present]
    present = [flagged for here, flagged in said if here]
    return {"absent": len(absent), "caught": sum(absent), "present": len(present), "flagged": sum(present)}


def tasks(knowledge: syntropy.Knowledge, given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Answerable tasks solved by one call, the absent ones said to be absent, and tokens; a grep baseline beside."""
    answerable = [one for one in given if one["evidence"]]
    absent = [one for one in given if not one["evidence"]]

    def search(query: str, **more: Any) -> str:
        return syntropy.tools.call(knowledge, "search_knowledge", {"query": query, **more}).text

    def context(query: str) -> str:
        return syntropy.tools.call(knowledge, "get_context", {"task": query}).text

    ways: dict[str, Callable[[str], str]] = {
        "search_knowledge": search,
        "search_knowledge, fast": lambda query: search(query, mode="fast"),
        "search_knowledge, detailed": lambda query: search(query, detailed=True),
        "get_context": context,
        "grep by words, then whole files": lambda query: grep(texts, query),
    }
    texts = knowledge.database.rows("SELECT path, text FROM documents ORDER BY document_id")
    found: dict[str, Any] = {"answerable": len(answerable), "absent": len(absent)}
    for name, ask in ways.items():
        shown = {one["id"]: ask(one["query"]) for one in given}
        solved = [
            one["id"]
            for one in answerable
            if all(re.search(e, shown[one["id"]], re.IGNORECASE | re.DOTALL) for e in one["evidence"])
        ]
        found[name] = {
            "solved in one call" if "grep" not in name else f"solved in {1 + GREP_CALLS} calls": len(solved),
            "mean tokens": round(statistics.fmean(tokens(text) for text in shown.values())),
            "not solved": [one["id"] for one in answerable if one["id"] not in solved],
            **(
                {}
                if "grep" in name
                else {
                    "absent said": sum(
                        "ot here:" in shown[o["id"]][:40] or "not_here:" in shown[o["id"]][:40] for o in absent
                    )
                }
            ),
        }
    return found


def grep(texts: Sequence[tuple[str, str]], query: str) -> str:
    """What `grep -l` for the query's words and reading the best files shows: paths, then whole files."""
    wanted = set(words(told(query)))
    counted = []
    for path, text in texts:
        lower = text.lower()
        held = [word for word in wanted if word in lower]
        if held:
            counted.append((-len(held), -sum(lower.count(word) for word in held), path, text))
    counted.sort()
    listed = "\n".join(path for _, _, path, _ in counted[:20])
    return "\n".join([listed, *(text for *_, text in counted[:GREP_CALLS])])


def gold(knowledge: syntropy.Knowledge, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Gold file first and among five, for keyword and natural queries, ours and peers' full text on the same chunks."""
    systems: dict[str, Callable[[str], list[str]]] = {
        mode: lambda query, mode=mode: [
            hit.citation.path for hit in knowledge.search(query, mode=mode, limit=5, hits_per_document=1).hits
        ]
        for mode in MODES
    }
    systems |= peers(knowledge)
    found: dict[str, Any] = {}
    for kind in ("keyword", "natural"):
        asked = [one for one in questions if one["kind"] == kind]
        found[kind] = {"queries": len(asked)}
        for name, ask in systems.items():
            ranks = [ask(one["query"])[:5] for one in asked]
            pairs = list(zip(ranks, asked, strict=True))
            found[kind][name] = {
                "first": sum(bool(ranked) and ranked[0] in one["relevant"] for ranked, one in pairs),
                "in five": sum(any(path in one["relevant"] for path in ranked) for ranked, one in pairs),
            }
    return found


def peers(knowledge: syntropy.Knowledge) -> dict[str, Callable[[str], list[str]]]:
    """LanceDB's and tantivy's full text over our chunks (title, headings, text in one field); those installed."""
    rows = knowledge.database.rows(
        "SELECT d.path, c.title || '\n' || c.headings || '\n' || c.body "
        "FROM chunks c JOIN documents d USING (document_id)"
    )
    found: dict[str, Callable[[str], list[str]]] = {}
    try:
        import tantivy

        schema = tantivy.SchemaBuilder().add_text_field("path", stored=True, tokenizer_name="raw")
        schema = schema.add_text_field("text", tokenizer_name="en_stem").build()
        index = tantivy.Index(schema)
        writer = index.writer()
        for path, text in rows:
            writer.add_document(tantivy.Document(path=path, text=text))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        searcher = index.searcher()

        def by_tantivy(query: str) -> list[str]:
            parsed, _ = index.parse_query_lenient(" ".join(words(query)), ["text"])
            places = [searcher.doc(address)["path"][0] for _, address in searcher.search(parsed, 40).hits]
            return list(dict.fromkeys(places))

        found["tantivy"] = by_tantivy
    except ImportError:
        print("tantivy is not installed: left out (pip install .[bench])")
    try:
        import lancedb
        from lancedb.index import FTS

        folder = tempfile.mkdtemp()
        table = lancedb.connect(folder).create_table("chunks", [{"path": path, "text": text} for path, text in rows])
        try:
            table.create_index("text", config=FTS(stem=True, remove_stop_words=True))
        except (TypeError, ValueError, AttributeError):
            table.create_fts_index("text", stem=True, remove_stop_words=True)

        def by_lancedb(query: str) -> list[str]:
            hits = table.search(" ".join(words(query)), query_type="fts").limit(40).to_list()
            return list(dict.fromkeys(hit["path"] for hit in hits))

        found["LanceDB FTS"] = by_lancedb
    except ImportError:
        print("lancedb is not installed: left out (pip install .[bench])")
    return found


def warm(knowledge: syntropy.Knowledge, queries: Sequence[str]) -> dict[str, float]:
    """Median milliseconds of a warm hybrid search, and of the encoder alone."""
    encoder, whole = [], []
    for query in queries[:WARM]:
        began = time.perf_counter()
        knowledge.encode(query)
        middle = time.perf_counter()
        knowledge.search(query, limit=6)  # the vector is remembered: what is left is ours
        whole.append(time.perf_counter() - middle)
        encoder.append(middle - began)
    return {
        "encoder_ms": round(statistics.median(encoder) * 1000, 2),
        "beyond_the_encoder_ms": round(statistics.median(whole) * 1000, 2),
    }
