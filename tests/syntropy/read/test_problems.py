"""What a build found wrong, read from what it published; and what is ignored."""

import json
import subprocess
import sys

import pytest

from assets.run import build
from syntropy.cli.main import main
from syntropy.read.problems import Ignored, Problem, as_annotation, as_sarif

FILES = {
    "docs/a.md": "# A\n\n[x](gone.md)\n\n[y](also-gone.md)\n",
    "docs/old/b.md": "# B\n\n[x](gone.md)\n",
    "docs/z.md": b"\0\0",
}


@pytest.fixture
def built(project, capsys):
    root = project(FILES)
    build(root)
    return root


def lines(capsys):
    return capsys.readouterr().out.splitlines()


def test_they_are_listed_by_code_worst_first_without_building(built, capsys):
    assert main(["problems", "--project", str(built)]) == 1
    shown = lines(capsys)
    heads = [line.split()[0] for line in shown if not line.startswith(" ")]
    assert heads == ["binary", "dangling-reference"]
    assert "  docs/a.md:3: links to gone.md, which does not exist" in shown
    assert main(["problems", "--project", str(built), "--path", "docs/old"]) == 1
    assert sum("docs/" in line for line in lines(capsys)) == 1
    for same in ("./docs/old", "docs/old/", "docs/old/*"):
        assert main(["problems", "--project", str(built), "--path", same]) == 1
    assert main(["problems", "--project", str(built), "--path", "."]) == 1
    capsys.readouterr()
    assert main(["problems", "--project", str(built), "--code", "no-such"]) == 0
    assert lines(capsys) == ["no problems of these codes or paths"]


def test_what_is_ignored_is_in_no_list_and_no_count(project, capsys):
    root = project(
        FILES, config="[embed]\nenabled = false\n[problems]\nignore = ['dangling-reference:docs/old/*', 'binary']\n"
    )
    report = build(root)
    assert [p.path for p in report.problems] == ["docs/a.md", "docs/a.md"]
    assert report.diagnostics["warning"] == 2
    assert main(["problems", "--project", str(root), "--json"]) == 1
    assert {p["path"] for p in json.loads(capsys.readouterr().out)} == {"docs/a.md"}
    assert main(["problems", "--project", str(root), "--json", "--ignored"]) == 1
    assert len(json.loads(capsys.readouterr().out)) == 4


def test_sarif_has_a_place_for_each(built, capsys):
    assert main(["problems", "--project", str(built), "--sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {r["ruleId"] for r in run["results"]}
    first = run["results"][-1]["locations"][0]["physicalLocation"]
    assert first == {"artifactLocation": {"uri": "docs/old/b.md"}, "region": {"startLine": 3}}


def test_places_are_those_of_the_repository(project, capsys):
    root = project(FILES)
    subprocess.run(["git", "init", "--quiet", str(root.parent)], check=True)
    build(root)
    capsys.readouterr()
    main(["problems", "--project", str(root), "--github", "--code", "binary"])
    assert "file=project/docs/z.md," in capsys.readouterr().out


def test_annotations_cannot_be_broken_out_of():
    problem = Problem("warning", "c", "a,b:c.md", 0, "50% of\nlines", "fix it")
    assert as_annotation(problem) == "::warning file=a%2Cb%3Ac.md,line=1,title=c::50%25 of%0Alines (fix it)"
    assert (
        as_sarif([problem])["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        == "a%2Cb%3Ac.md"
    )


@pytest.mark.parametrize(
    ("pattern", "held"),
    [("a", True), ("a:docs/*", True), ("*:docs/*", True), ("b", False), ("a:x/*", False), ("*", True)],
)
def test_patterns_of_what_is_ignored(pattern, held):
    assert Ignored([pattern]).holds("a", "docs/x/y.md") is held


def test_a_build_names_the_command_that_lists_all(project):
    root = project({f"docs/{n}.md": f"# {n}\n\n[x](gone{n}.md)\n" for n in range(30)})
    done = subprocess.run(
        [sys.executable, "-m", "syntropy", "build", "--project", str(root)], capture_output=True, text=True
    )
    assert "10 more problems; `syntropy problems` lists all" in done.stderr
