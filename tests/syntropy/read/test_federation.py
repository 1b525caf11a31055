"""Several databases as one: one order, comparable scores, every hit says whose it is."""

import functools
import json
import subprocess
import sys

import pytest

import syntropy
from syntropy.contract.errors import ConfigError, UsageError
from syntropy.read.federation import Federation, open_member
from syntropy.tools.edition import Publication
from syntropy.tools.toolbox import Toolbox
from tests.conftest import ROOT
from tests.quick import build

WORDS = "[embed]\nenabled = false\n"
FRUIT = {
    "docs/apples.md": "# Apples\n\nApples keep best in a cold cellar.\n",
    "docs/pears.md": "# Pears\n\nEat pears soon.\n",
}
TOOLS = {
    "docs/saw.md": "# Saws\n\nSharpen a saw before apples are pruned.\n",
    "docs/axe.md": "# Axes\n\nA cold axe chips.\n",
}


@pytest.fixture
def both(project):
    fruit, tools = project(FRUIT, WORDS, name="fruit"), project(TOOLS, WORDS, name="tools")
    build(fruit)
    build(tools)
    return fruit, tools


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "syntropy", *arguments], cwd=ROOT, capture_output=True, text=True)


def federation(fruit, tools, **more):
    return Federation({"fruit": syntropy.open(fruit, **more), "tools": syntropy.open(tools, **more)})


@pytest.mark.parametrize("engine", ["sql", "memory"])
def test_hits_of_all_are_in_one_order_and_say_whose_they_are(both, engine):
    with federation(*both, engine=engine) as united:
        found = united.search("cold apples cellar")
        assert (found.hits[0].database, found.hits[0].citation.path) == ("fruit", "docs/apples.md")
        assert {hit.database for hit in found.hits} == {"fruit", "tools"}
        scores = [hit.score for hit in found.hits]
        assert scores == sorted(scores, reverse=True)
        assert found.hits[0].place == "fruit:docs/apples.md#L1-L3"
        assert found.hits[0].as_dict()["database"] == "fruit"
        named = united.search("axes")
        assert (named.hits[0].database, named.hits[0].matched_on[0]) == ("tools", "title-exact")
        assert united.search("saw", path="lost/*").not_here == "no document passes the filters"
    with pytest.raises(UsageError):
        Federation({})


def test_the_scores_are_those_of_one_database_with_all_documents(both, project):
    """Frequencies are added up; only the average lengths, on their grid, are each database's own."""
    all_in_one = project({**FRUIT, **TOOLS}, WORDS, name="whole")
    build(all_in_one)
    with federation(*both) as united, syntropy.open(all_in_one) as whole:
        for query in ("cold apples cellar", "sharpen pears", "axe"):
            one, several = whole.search(query, limit=20), united.search(query, limit=20)
            assert [hit.citation.path for hit in one.hits] == [hit.citation.path for hit in several.hits]
            assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in several.hits], abs=0.08)


def test_a_database_without_an_answer_says_why(demo, both):
    fruit = both[0]
    with Federation({"fruit": syntropy.open(fruit), "parcels": syntropy.open(demo / "build")}) as united:
        found = united.search("how do we retry failed carrier webhooks", mode="fast", limit=10)
        assert "parcels" not in found.without
        assert "none of its passages" in found.without["fruit"]
        assert {hit.database for hit in found.hits} == {"parcels"}


def test_a_database_without_vectors_answers_by_words_and_says_so(demo, both, meaning):
    with Federation({"fruit": syntropy.open(both[0]), "parcels": syntropy.open(demo / "build")}) as united:
        found = united.search("keep apples in a cellar", mode="hybrid", limit=10)
    assert found.mode == "hybrid"
    assert found.warnings["fruit"] == "answered by words only: it has no vectors"
    assert found.hits[0].database == "fruit"


def test_the_command_line_searches_beside(both):
    fruit, tools = both
    found = run("search", "cold apples", "--project", str(fruit), "--with", f"shed={tools}", "--json")
    data = json.loads(found.stdout)
    assert [hit["database"] for hit in data["hits"]][:2] == ["fruit", "shed"]
    text = run("search", "cold apples", "--project", str(fruit), "--with", str(tools))
    assert "tools:docs/saw.md#L1-L3" in text.stdout
    several = run(
        "search", "apples", "--json",
        "--db", f"a={fruit / 'build/syntropy.duckdb'}", "--db", f"b={tools / 'build/syntropy.duckdb'}",
    )  # fmt: skip
    assert "b" in {hit["database"] for hit in json.loads(several.stdout)["hits"]}
    lost = run("search", "apples", "--project", str(fruit), "--with", "x=/nowhere")
    assert lost.returncode == 2
    assert "x: /nowhere does not exist" in lost.stderr


def test_the_configuration_names_what_is_searched_together(both):
    fruit, tools = both
    (fruit / "syntropy.toml").write_text(f'{WORDS}[federation]\nshed = "../{tools.name}"\n')
    found = run("search", "saw", "--project", str(fruit), "--json")
    assert json.loads(found.stdout)["hits"][0]["database"] == "shed"
    (fruit / "syntropy.toml").write_text(f"{WORDS}[federation]\nshed = 7\n")
    assert "federation.shed" in run("search", "saw", "--project", str(fruit)).stderr


def test_places_that_are_nothing_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="does not exist"):
        open_member("a", "nowhere", tmp_path)


def test_two_databases_of_one_name_are_refused(both, tmp_path):
    fruit, tools = both
    found = run("search", "apples", "--project", str(fruit), "--with", f"fruit={tools}")
    assert found.returncode == 2
    assert "two databases are called fruit" in found.stderr
    mine = f"mine={fruit / 'build/syntropy.duckdb'}"
    named = run("search", "cold", "--db", mine, "--with", f"yours={tools}", "--json")
    assert {hit["database"] for hit in json.loads(named.stdout)["hits"]} == {"mine", "yours"}


def test_a_citation_of_another_database_is_opened_there(both):
    fruit, tools = both
    beside = ("--project", str(fruit), "--with", f"shed={tools}")
    assert "chips" in run("doc", "shed:docs/axe.md", *beside).stdout
    assert "chips" in run("section", "shed:docs/axe.md", "Axes", *beside).stdout
    held = run("cite", "shed:docs/axe.md#L1-L3", *beside)
    assert held.returncode == 0, held.stdout
    assert "cellar" in run("doc", "fruit:docs/apples.md", *beside).stdout


def test_what_the_configuration_names_and_is_not_there_is_left_out_with_a_word(both):
    fruit, _ = both
    (fruit / "syntropy.toml").write_text(f'{WORDS}[federation]\nshed = "../gone"\n')
    found = run("search", "apples", "--project", str(fruit))
    assert found.returncode == 0
    assert "[federation] shed is left out" in found.stderr


def test_several_databases_where_one_is_read_are_refused(both):
    files = [f"--db={root / 'build/syntropy.duckdb'}" for root in both]
    found = run("drift", *files)
    assert found.returncode == 2
    assert "--db is given 2 times" in found.stderr


def test_agents_search_all_and_are_told_who_knows(both):
    fruit, tools = both
    mine, theirs = (Publication(functools.partial(syntropy.open, root)) for root in (fruit, tools))
    with Toolbox(mine, name="fruit", beside={"tools": theirs}) as toolbox:
        answer = toolbox.call("search_knowledge", {"query": "axe chips", "mode": "fast"})
        assert "tools:docs/axe.md" in answer.text
        assert answer.structured["known_by"] == ["tools"]
        page = toolbox.call("get_document", {"path": "tools:docs/axe.md"})
        assert page.structured["citation"].startswith("tools:docs/axe.md#L1-L3")
        assert not toolbox.call("get_section", {"path": "tools:docs/axe.md", "heading": "Axes"}).error
        assert toolbox.call("get_overview", {}).structured["beside"] == {"tools": 2}
        (tools / "docs/new.md").write_text("# Chisels\n\nA chisel is honed.\n")
        build(tools)
        assert "tools:docs/new.md" in toolbox.call("search_knowledge", {"query": "chisel", "mode": "fast"}).text
