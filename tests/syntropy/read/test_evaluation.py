"""Golden queries: metrics by hand, the command, baselines, and the check that stops a worse build."""

import json
import math
import subprocess
import sys

import pytest

import syntropy
from syntropy.contract.errors import BuildError, UsageError
from syntropy.read.evaluation import GREP, Golden, compare, evaluate, metrics, read_golden
from tests.conftest import ROOT
from tests.quick import build

QUESTIONS = ROOT / "examples/acme/questions.jsonl"
DOCS = {
    "docs/a.md": "# Apples\n\nApples grow on trees.\n",
    "docs/b.md": "# Bread\n\nBread is baked from flour.\n",
    "docs/c.md": "# Cheese\n\nCheese is made of milk.\n",
}
GOLDEN = (
    '{"query": "trees with apples", "relevant": ["docs/a.md"], "intent": "fruit"}\n'
    '{"query": "baked flour", "relevant": {"docs/b.md": 2, "docs/c.md": 0}}\n'
)
CONFIG = '[embed]\nenabled = false\n[search]\nmode = "fast"\n[eval]\nqueries = "golden.jsonl"\n'


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "syntropy", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_metrics_by_hand():
    found = metrics(["x", "b", "a"], {"a": 2, "b": 1})
    gained, best = 1 / math.log2(3) + 2 / math.log2(4), 2 + 1 / math.log2(3)
    assert found["ndcg@10"] == pytest.approx(gained / best)
    assert found["mrr@10"] == 0.5
    assert (found["recall@10"], found["hit@1"]) == (1.0, 0.0)
    assert metrics([], {"a": 1})["ndcg@10"] == 0


@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"query": "x"}',
        '{"query": "", "relevant": ["a"]}',
        '{"query": "x", "relevant": {"docs/a.md": 0}}',
        '{"query": "x", "relevant": [1]}',
        '{"query": "x", "relevant": "docs/a.md"}',
    ],
)
def test_a_bad_line_is_named(tmp_path, line):
    path = tmp_path / "q.jsonl"
    path.write_text(GOLDEN + line + "\n")
    with pytest.raises(UsageError, match="q.jsonl:3"):
        read_golden(path)


def test_questions_without_an_answer_count_apart(demo):
    golden = [
        Golden("how do we retry failed carrier webhooks?", {"docs/guides/retries.md": 1}),
        Golden("how do I deploy the Terraform module to Kubernetes", {}),
        Golden("configure SAML single sign-on with Okta", {}),
    ]
    with syntropy.open(demo / "build") as knowledge:
        found = evaluate(knowledge, golden, ["hybrid", "fast"])
    assert found.queries[""] == 1
    assert found.abstention["hybrid"] == {"caught": 1.0, "flagged": 0.0}
    assert found.abstention["fast"]["flagged"] == 0.0


def test_every_mode_beats_grep_on_the_demo(demo):
    golden = read_golden(QUESTIONS)
    assert len(golden) >= 40
    assert len({g.intent for g in golden}) >= 5
    with syntropy.open(demo / "build") as knowledge:
        found = evaluate(knowledge, golden, ["fast", "semantic", "hybrid"])
    score = {mode: values[""]["ndcg@10"] for mode, values in found.scores.items()}
    assert all(score[mode] > score[GREP] for mode in ("fast", "semantic", "hybrid"))
    assert score["hybrid"] > 0.85
    assert all(miss.expected for miss in found.misses)


def test_the_command_stores_compares_and_refuses_what_is_unlike(project):
    root = project({**DOCS, "golden.jsonl": GOLDEN}, CONFIG)
    build(root)
    first = run("eval", "--project", str(root), "--save")
    assert first.returncode == 0
    assert "stored as baseline" in first.stdout
    again = run("eval", "--project", str(root), "--json", "--misses")
    data = json.loads(again.stdout)
    assert data["changes"]["fast"]["ndcg@10"] == 0
    assert data["scores"]["fast"]["fruit"]["hit@1"] == 1
    (root / "golden.jsonl").write_text(GOLDEN.splitlines()[0] + "\n")
    unlike = run("eval", "--project", str(root))
    assert unlike.returncode == 2
    assert "another set of queries" in unlike.stderr


def test_comparing_needs_a_stored_evaluation(demo):
    with syntropy.open(demo / "build") as knowledge:
        found = evaluate(knowledge, read_golden(QUESTIONS)[:2], ["fast"])
    with pytest.raises(UsageError, match="not a stored evaluation"):
        compare(found, {"nothing": 1})
    assert compare(found, found.as_dict())["fast"]["ndcg@10"] == 0


def test_a_build_that_answers_worse_is_not_published(project):
    root = project({**DOCS, "golden.jsonl": GOLDEN}, CONFIG)
    build(root)
    assert run("eval", "--project", str(root), "--save").returncode == 0
    before = (root / "build/manifest.json").read_bytes()
    (root / "docs/a.md").write_text("# Pears\n\nNothing to see.\n")
    (root / "docs/d.md").write_text("# Trees with apples\n\nTrees with apples.\n")
    with pytest.raises(BuildError, match="golden_queries failed"):
        build(root)
    assert (root / "build/manifest.json").read_bytes() == before
    (root / "docs/a.md").write_text(DOCS["docs/a.md"])
    (root / "docs/d.md").unlink()
    build(root)


def test_an_expected_document_that_is_gone_is_named_and_counts_as_missed(project):
    root = project(DOCS, CONFIG.replace('"golden.jsonl"', '""'))
    build(root)
    (root / "q.jsonl").write_text('{"query": "apples", "relevant": ["docs/gone.md"]}\n')
    found = run("eval", str(root / "q.jsonl"), "--project", str(root), "--json")
    assert "docs/gone.md" in found.stderr
    assert json.loads(found.stdout)["scores"]["fast"][""]["ndcg@10"] == 0
