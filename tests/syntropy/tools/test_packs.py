"""Context packs on the demo."""

from __future__ import annotations

import json

import pytest

import syntropy
from syntropy.cli.main import main
from syntropy.contract.budget import tokens
from syntropy.contract.errors import UsageError
from syntropy.read.graph import Graph
from syntropy.tools.packs import context_pack
from tests.quick import build

TASK = "retry failed carrier webhooks with a time budget"


@pytest.fixture(scope="module")
def knowledge(demo):
    with syntropy.open(project=demo) as knowledge:
        yield knowledge


@pytest.fixture(scope="module")
def graph(knowledge):
    return Graph(knowledge.database)


@pytest.mark.parametrize("budget", [200, 400, 1_000, 2_000, 8_000])
@pytest.mark.parametrize("task", [TASK, "who may delete a user", "zzzz", "한국어 환영"])
def test_the_budget_holds_and_the_last_line_says_what_was_left_out(knowledge, graph, budget, task):
    text = context_pack(knowledge, graph, task, budget=budget, saved_rules=["Never commit on Fridays"] * 3).text()
    assert tokens(text) <= budget
    assert text.rstrip().splitlines()[-1].startswith("Left out: ")


def test_passages_prerequisites_and_rules_with_citations(knowledge, graph):
    pack = context_pack(knowledge, graph, TASK, budget=3_000, saved_rules=["Never commit on Fridays"])
    roles = {role: [part for part in pack.parts if part.role == role] for role in ("rule", "passage", "prerequisite")}
    assert roles["rule"][0].text == "Never commit on Fridays"
    assert any("RETRY_MAX_ELAPSED_S" in part.text for part in roles["rule"])
    assert any(part.citation.startswith("PRPs/executed/PRP-29.3") for part in roles["passage"])
    assert any("PRP-14" in part.citation for part in roles["prerequisite"])
    for part in pack.parts[1:]:
        path, _, lines = part.citation.partition("~")[0].partition("#L")
        start, end = (int(n.lstrip("L")) for n in lines.split("-"))
        cited = knowledge.lines(path, start, end).text
        said = part.text if part.role != "rule" else part.text.split()[-1]
        assert said.split()[-1].strip("…*`") in cited


def test_passages_do_not_repeat_each_other(knowledge, graph):
    pack = context_pack(knowledge, graph, "tracking and questions of customers", budget=6_000)
    texts = [" ".join(part.text.split()) for part in pack.parts if part.role == "passage"]
    assert len(texts) == len(set(texts)) > 3


def test_the_same_task_gives_the_same_pack(knowledge, graph):
    assert context_pack(knowledge, graph, TASK, budget=900) == context_pack(knowledge, graph, TASK, budget=900)


@pytest.mark.parametrize(("task", "budget"), [("", 500), ("x", 100), ("x", 200_000)])
def test_wrong_arguments(knowledge, graph, task, budget):
    with pytest.raises(UsageError):
        context_pack(knowledge, graph, task, budget=budget)


def test_the_command(demo, capsys):
    assert main(["context", TASK, "--tokens", "600", "--project", str(demo)]) == 0
    text = capsys.readouterr().out
    assert "## Rules that apply" in text
    assert tokens(text) <= 600
    assert main(["context", TASK, "--json", "--project", str(demo)]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] <= 2_000


def test_what_is_not_here_is_said_first_with_at_most_one_passage(knowledge, graph):
    pack = context_pack(knowledge, graph, "deploy the Terraform module to Kubernetes", budget=2_000)
    assert pack.text().startswith("Not here: ")
    assert sum(part.role == "passage" for part in pack.parts) <= 1


def test_relevance_ends_before_the_budget_does(knowledge, graph):
    small = context_pack(knowledge, graph, TASK, budget=20_000)
    assert tokens(small.text()) < 12_000


def test_an_entry_written_for_the_task_is_first(knowledge, graph):
    pack = context_pack(knowledge, graph, "suspend a google workspace user", budget=1_500)
    first = next(part for part in pack.parts if part.role == "passage")
    assert "cmd-gw-users-suspend" in first.citation


def test_files_bring_the_rules_whose_scope_they_lie_in(project):
    root = project(
        {
            "docs/a.md": "# Forms\n\nA form has fields and a button to send it.\n",
            ".cursor/rules/tsx.mdc": "---\nglobs: src/**/*.tsx\n---\n\n- Never use inline styles\n",
            ".cursor/rules/py.mdc": "---\nglobs: **/*.py\n---\n\n- Always type functions\n",
        }
    )
    build(root)
    with syntropy.open(project=root) as opened:
        graph = Graph(opened.database)

        def rules(*files):
            pack = context_pack(opened, graph, "send the form", budget=1_000, files=files)
            return [part.text for part in pack.parts if part.role == "rule"]

        assert rules("src/ui/Form.tsx") == ["Never use inline styles"]
        assert rules("./lib/send.py", "README.md") == ["Always type functions"]
        assert rules("README.md") == []
