"""Retrieval quality on golden queries: nDCG@10, MRR@10, Recall@k and Hit@1, by mode and intent.

A golden query is a line of JSON: `{"query": …, "relevant": ["path", …] or {"path": grade}, "intent": …}`.
nDCG uses linear gains, as trec_eval does. A document counts by its best passage. `"relevant": []` is a question that
has no answer here: of those counts how many are said to have none (`caught`), of the others how many are (`flagged`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..contract.distribution import install_command
from ..contract.errors import UsageError
from ..contract.text import words

if TYPE_CHECKING:
    from .knowledge import Knowledge

CUT = 10
"""Rank to which nDCG and MRR look."""

DEPTH = 100
"""Rank to which recall looks."""

GREP = "grep"
"""Name of the baseline: documents by how many of the query's words they contain."""

ABSTENTION = ("caught", "flagged")
"""Shares: questions without an answer that are told apart, and those with one that are taken for such."""

METRICS = ("ndcg@10", "mrr@10", "recall@10", "recall@100", "hit@1")


@dataclass(frozen=True)
class Golden:
    """One golden query; `relevant` maps a path to its grade (above 0), and is empty where there is no answer."""

    query: str
    relevant: Mapping[str, int]
    intent: str = ""


class Miss(NamedTuple):
    """A query whose best expected document is not first: what was expected, what came, and why."""

    query: str
    mode: str
    expected: dict[str, int | None]
    """Relevant path -> rank at which it came, None if not at all."""
    came: list[str]
    explanation: dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """`scores`: mode -> intent ('' for all) -> metric -> mean; `queries`: intent -> how many."""

    scores: dict[str, dict[str, dict[str, float]]]
    queries: dict[str, int]
    facts: dict[str, str]
    """What the figures depend on: two evaluations are alike only if these are."""
    misses: list[Miss]
    absent: list[str]
    """Paths that are expected and are in no document: their queries count as missed."""
    by_query: dict[str, dict[str, float]]
    """Mode -> query -> nDCG@10."""
    abstention: dict[str, dict[str, float]]
    """Mode -> caught, flagged (see `ABSTENTION`); caught only where the set has questions without an answer."""

    def as_dict(self) -> dict[str, Any]:
        """Its fields as plain data, for JSON."""
        return {
            "scores": self.scores,
            "queries": self.queries,
            "abstention": self.abstention,
            "facts": self.facts,
            "absent": self.absent,
            "by_query": self.by_query,
        }


def read_golden(path: Path) -> list[Golden]:
    """Raises UsageError for a file that is missing or empty, and for a line that is not a golden query."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="name a file of golden queries (JSONL)") from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(_golden(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(
                f"{path}:{number} is not a golden query ({error})",
                hint='a line is {"query": "…", "relevant": ["path", …], "intent": "…"}',
            ) from error
    if not found:
        raise UsageError(f"{path} holds no golden query", hint="write some, a line of JSON each")
    return found


def read_baseline(path: Path) -> dict[str, Any]:
    """A stored evaluation. Raises UsageError for a file that cannot be read or holds none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is not a stored evaluation: {error}", hint="store one with --save") from error
    return found if isinstance(found, dict) else {}


def evaluate(knowledge: Knowledge, golden: Sequence[Golden], modes: Sequence[str]) -> Evaluation:
    """Ask every query in every mode, and the grep baseline. Raises UsageError where a mode cannot be measured."""
    texts = knowledge.texts()
    absent = sorted({path for item in golden for path in item.relevant} - {path for path, _ in texts})
    answerable = [item for item in golden if item.relevant]
    absent_of: dict[str, list[tuple[bool, bool]]] = {mode: [] for mode in modes}
    runs: dict[str, list[dict[str, float]]] = {}
    misses: list[Miss] = []
    for mode in modes:
        runs[mode] = []
        for item in golden:
            found = knowledge.search(item.query, mode=mode, limit=DEPTH, hits_per_document=1)
            if found.mode != mode and mode != "auto":
                raise UsageError(f"mode {mode} cannot be measured: {found.warning}", hint=install_command("semantic"))
            absent_of[mode].append((not item.relevant, bool(found.not_here)))
            if not item.relevant:
                continue
            # a copy that was folded into a hit was found, too
            paths = [
                next((copy for copy in hit.copies if copy in item.relevant), hit.citation.path)
                if hit.citation.path not in item.relevant
                else hit.citation.path
                for hit in found.hits
            ]
            runs[mode].append(metrics(paths, item.relevant))
            if not paths or paths[0] not in item.relevant:
                places = {path: paths.index(path) + 1 if path in paths else None for path in sorted(item.relevant)}
                first = {hit.citation.path: dict(hit.explanation) for hit in found.hits[:1]}
                expected = {h.citation.path: dict(h.explanation) for h in found.hits if h.citation.path in places}
                misses.append(Miss(item.query, mode, places, paths[:5], first | expected))
    runs[GREP] = [metrics(_grep(texts, item.query), item.relevant) for item in answerable]
    intents = ["", *sorted({item.intent for item in answerable if item.intent})]
    scores = {
        mode: {
            intent: _means([r for r, item in zip(results, answerable, strict=True) if intent in ("", item.intent)])
            for intent in intents
        }
        for mode, results in runs.items()
    }
    counts = {intent: sum(intent in ("", item.intent) for item in answerable) for intent in intents}
    by_query = {
        mode: {item.query: round(result["ndcg@10"], 4) for item, result in zip(answerable, runs[mode], strict=True)}
        for mode in modes
    }
    abstention = {mode: _abstention(told) for mode, told in absent_of.items()}
    return Evaluation(scores, counts, _facts(knowledge, golden), misses, absent, by_query, abstention)


def _abstention(told: Sequence[tuple[bool, bool]]) -> dict[str, float]:
    """Shares out of (has no answer, was said to have none)."""
    found = {}
    for name, wanted in zip(ABSTENTION, (True, False), strict=True):
        said = [flagged for missing, flagged in told if missing is wanted]
        if said:
            found[name] = round(sum(said) / len(said), 4)
    return found


def metrics(ranked: Sequence[str], relevant: Mapping[str, int]) -> dict[str, float]:
    """The metrics of one ranking."""
    ideal = sorted(relevant.values(), reverse=True)[:CUT]
    best = sum(grade / math.log2(place + 2) for place, grade in enumerate(ideal))
    gained = sum(relevant.get(path, 0) / math.log2(place + 2) for place, path in enumerate(ranked[:CUT]))
    first = next((place for place, path in enumerate(ranked[:CUT], 1) if path in relevant), 0)
    return {
        "ndcg@10": gained / best,
        "mrr@10": 1 / first if first else 0.0,
        "recall@10": len(set(ranked[:CUT]) & set(relevant)) / len(relevant),
        "recall@100": len(set(ranked[:DEPTH]) & set(relevant)) / len(relevant),
        "hit@1": float(first == 1),
    }


def compare(now: Evaluation, baseline: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Differences from a stored baseline: mode -> metric -> change.

    Raises UsageError where the two were measured differently (other queries, model or ranking).
    """
    try:
        facts, scores = dict(baseline["facts"]), dict(baseline["scores"])
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError("the baseline is not a stored evaluation", hint="store one with --save") from error
    unlike = sorted(name for name, value in now.facts.items() if facts.get(name) != value)
    if unlike:
        raise UsageError(
            f"the baseline was measured with another {' and '.join(unlike)}: the figures cannot be compared",
            hint="store a new baseline with --save",
        )
    try:
        return {
            mode: {metric: round(value - scores[mode][""][metric], 4) for metric, value in found[""].items()}
            for mode, found in now.scores.items()
            if mode in scores
        }
    except (KeyError, TypeError) as error:
        raise UsageError(f"the baseline lacks {error}", hint="store a new one with --save") from error


def fallen(now: Evaluation, baseline: Mapping[str, Any], mode: str) -> list[tuple[str, float, float]]:
    """(query, nDCG@10 then, now) of queries that are answered worse, the largest fall first.

    Where the baseline does not know single queries: those whose best document is not first, without a figure then.
    """
    stored = baseline.get("by_query", {}).get(mode, {})
    found = [
        (query, float(stored.get(query, 1.0)), value)
        for query, value in now.by_query[mode].items()
        if value < stored.get(query, 1.0)
    ]
    return sorted(found, key=lambda item: (item[2] - item[1], item[0]))


def _golden(data: Any) -> Golden:
    relevant = data["relevant"]
    if not isinstance(relevant, list | dict) or not all(isinstance(path, str) for path in relevant):
        raise ValueError("`relevant` is neither a list of paths nor paths with grades")
    grades = {p: int(g) for p, g in relevant.items()} if isinstance(relevant, dict) else dict.fromkeys(relevant, 1)
    grades = {path: grade for path, grade in grades.items() if grade > 0}
    if not isinstance(data["query"], str) or not data["query"].strip():
        raise ValueError("the query is empty")
    if not grades and relevant:
        raise ValueError("nothing is relevant: give [] for a question that has no answer here")
    return Golden(data["query"], grades, str(data.get("intent") or ""))


def _grep(texts: Sequence[tuple[str, str]], query: str) -> list[str]:
    """Paths by how many of the query's words their text contains, then how often; as one would with grep."""
    wanted = set(words(query))
    counted = []
    for path, text in texts:
        times = [text.count(word) for word in wanted]
        if any(times):
            counted.append((-sum(map(bool, times)), -sum(times), path))
    return [path for _, _, path in sorted(counted)][:DEPTH]


def _means(results: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: round(sum(r[name] for r in results) / len(results), 4) for name in METRICS} if results else {}


def _facts(knowledge: Knowledge, golden: Sequence[Golden]) -> dict[str, str]:
    queries = json.dumps([[g.query, dict(g.relevant), g.intent] for g in golden], sort_keys=True)
    return {
        "set of queries": hashlib.sha256(queries.encode()).hexdigest()[:16],
        "model": knowledge.meta["model_fingerprint"][:16],
        "ranking": knowledge.ranking_digest(),
    }
