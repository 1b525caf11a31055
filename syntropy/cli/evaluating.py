"""`syntropy eval`: golden queries against the published knowledge."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from syntropy.cli.output import print_json, printable, warn
from syntropy.cli.place import locate, opened
from syntropy.contract.config import load_config
from syntropy.contract.errors import UsageError
from syntropy.contract.files import write_text
from syntropy.read.evaluation import METRICS, Evaluation, compare, evaluate, read_baseline, read_golden
from syntropy.read.evaluation import fallen as worse

_SAID = {"caught": "of questions without an answer caught", "flagged": "of the others flagged"}
_MODES = ("fast", "semantic", "hybrid")


def run(given: argparse.Namespace) -> int:
    """0; 1 where a mode's nDCG@10 fell by more than the tolerance."""
    queries, baseline, tolerance = _places(given)
    golden = read_golden(queries)
    with opened(given, "auto") as knowledge:
        modes = given.modes or (_MODES if knowledge.meta["model_fingerprint"] else _MODES[:1])
        found = evaluate(knowledge, golden, modes)
    if found.absent:
        warn(f"expected, but in no document: {', '.join(found.absent)}")
    changes: dict[str, dict[str, float]] = {}
    if given.save:
        stored = found.as_dict()
        former = read_baseline(baseline) if baseline.is_file() else {}
        if former.get("facts") == found.facts and isinstance(former.get("scores"), dict):
            stored["scores"] = {**former["scores"], **found.scores}  # modes that were not asked now stay
            stored["by_query"] = {**former.get("by_query", {}), **found.by_query}
        write_text(baseline, json.dumps(stored, indent=2, sort_keys=True) + "\n")
    elif baseline.is_file():
        changes = compare(found, read_baseline(baseline))
    elif given.baseline:
        raise UsageError(f"{baseline} does not exist", hint="store one with --save")
    fallen = [mode for mode, change in changes.items() if change["ndcg@10"] < -tolerance]
    if given.json:
        missed = {"misses": [miss._asdict() for miss in found.misses]} if given.misses else {}
        print_json({**found.as_dict(), "changes": changes, "fallen": fallen, **missed})
        return 1 if fallen else 0
    _print_table(found, changes)
    if given.save:
        print(f"stored as baseline: {baseline}")
    if given.misses:
        _print_misses(found)
    for mode in fallen:
        print(f"{mode} fell by more than {tolerance}")
        for query, before, now in worse(found, read_baseline(baseline), mode):
            print(f"  {before:.2f} → {now:.2f}  {printable(query)}")
    return 1 if fallen else 0


def _places(given: argparse.Namespace) -> tuple[Path, Path, float]:
    """Queries, baseline and tolerance: arguments first, then the project's `[eval]`."""
    place = locate(given)
    if place.out or place.db:
        root, settings = Path(), load_config(None).eval
    else:
        root = place.root
        settings = load_config(root).eval
    if not (given.queries or settings.queries):
        raise UsageError("no golden queries are named", hint="syntropy eval QUERIES.jsonl, or set eval.queries")
    queries = Path(given.queries) if given.queries else root / settings.queries
    if given.baseline:
        return queries, Path(given.baseline), settings.tolerance
    beside = queries.with_suffix(".baseline.json") if given.queries else root / settings.baseline
    return queries, beside, settings.tolerance


def _print_table(found: Evaluation, changes: dict[str, dict[str, float]]) -> None:
    print(f"{'mode':<10}{'intent':<16}{'queries':>8}" + "".join(f"{name:>12}" for name in METRICS))
    for mode, by_intent in found.scores.items():
        for intent, values in by_intent.items():
            count = found.queries[intent]
            cells = "".join(f"{values[name]:>12.4f}" for name in METRICS)
            print(f"{mode:<10}{printable(intent) or 'all':<16}{count:>8}{cells}")
    for mode, shares in found.abstention.items():
        if "caught" in shares:
            print(f"{mode}: " + ", ".join(f"{share:.0%} {_SAID[name]}" for name, share in shares.items()))
    for mode, change in changes.items():
        print(f"{mode} against the baseline: " + ", ".join(f"{name} {change[name]:+.4f}" for name in METRICS))


def _print_misses(found: Evaluation) -> None:
    for miss in found.misses:
        print(f"{miss.mode}: {printable(miss.query)}")
        for path, rank in miss.expected.items():
            print(f"  expected  {printable(path)} ({f'came at {rank}' if rank else 'did not come'})")
        for path in miss.came[:3]:
            print(f"  came      {printable(path)}")
        for path, why in miss.explanation.items():
            print(f"  why       {printable(path)}: {json.dumps(why)}")
