"""The project's golden queries as a check: a build that answers them worse is not published."""

from __future__ import annotations

from pipeline.checks.result import CheckResult, Subject
from syntropy.contract.errors import UsageError
from syntropy.read.evaluation import compare, evaluate, fallen, read_baseline, read_golden
from syntropy.read.knowledge import Knowledge
from syntropy.store.database import Database


def golden_queries(subject: Subject) -> CheckResult:
    """nDCG@10 of the configured mode on `eval.queries` has not fallen by more than `eval.tolerance`.

    Passes where no queries are configured, where no baseline was stored, and where the baseline was
    measured differently (it says so: store a new one). Likewise the shares of questions without an answer that are told
    apart, and of those with one that are taken for such, may not get worse by more than `eval.abstention_tolerance`.
    """
    config = subject.config
    if not config.eval.queries:
        return CheckResult(True, {"golden queries": "none configured (eval.queries)"})
    golden = read_golden(subject.root / config.eval.queries)
    mode = config.search.mode if config.embed.enabled else "fast"
    by_vectors = config.embed.enabled and mode != "fast"
    encoder = subject.query_encoder() if by_vectors and subject.query_encoder else None
    knowledge = Knowledge(Database(subject.path), config, None, encoder=encoder)
    try:
        found = evaluate(knowledge, golden, [mode])
    finally:
        knowledge.close()
    figures: dict[str, object] = {"queries": len(golden), "mode": mode, **found.scores[mode][""]}
    if "caught" in found.abstention[mode]:
        figures |= found.abstention[mode]
    if found.absent:
        figures["expected, but in no document"] = ", ".join(found.absent)
    baseline = subject.root / config.eval.baseline
    if not baseline.is_file():
        return CheckResult(True, {**figures, "baseline": "none stored (syntropy eval --save)"})
    try:
        stored = read_baseline(baseline)
        change = compare(found, stored)[mode]["ndcg@10"]
    except (KeyError, UsageError) as error:
        return CheckResult(True, {**figures, "baseline": f"not comparable: {error}"})
    before = stored.get("abstention", {}).get(mode, {})
    less = float(before.get("caught", 0.0)) - found.abstention[mode].get("caught", 0.0)
    more = found.abstention[mode].get("flagged", 0.0) - float(before.get("flagged", 1.0))
    passed = change >= -config.eval.tolerance and max(less, more) <= config.eval.abstention_tolerance
    figures |= {"change of ndcg@10": change, "tolerance": config.eval.tolerance, "baseline": config.eval.baseline}
    if not passed:
        figures["got worse"] = "; ".join(
            f"{query!r} {before:.2f} → {now:.2f}" for query, before, now in fallen(found, stored, mode)[:SHOWN]
        )
    return CheckResult(passed, figures)


SHOWN = 5
"""Questions named where the check fails; `syntropy eval --misses` shows all."""
