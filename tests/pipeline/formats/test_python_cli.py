"""Commands of argparse, click and typer programs, by reading alone."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.formats import python_cli
from pipeline.formats.console import command_words
from tests.conftest import ROOT

EXPECTED = json.loads((ROOT / "tests/fixtures/formats/command-lines.json").read_text())


def titles(found):
    return [p.text.split("\n# ", 1)[1].splitlines()[0] for p in found.pages]


@pytest.mark.parametrize("path", sorted(EXPECTED))
def test_demo_tools(path):
    found = python_cli.pages((ROOT / "examples/acme" / path).read_text(), path)
    assert sorted(" ".join(command_words(t)) for t in titles(found)) == sorted(EXPECTED[path])
    assert found.problems == []


def test_parameters_are_told():
    text = (ROOT / "examples/acme/tools/parcelctl_argparse.py").read_text()
    page = next(p.text for p in python_cli.pages(text, "t.py").pages if p.id == "cmd-parcelctl-labels-print")
    assert "parcelctl labels print <parcel_id> [options]" in page
    assert "`-c, --copies`" in page
    assert "One of pdf, zpl." in page


def test_nothing_is_imported_or_run(tmp_path):
    marker = tmp_path / "ran"
    text = f"import click\nopen({str(marker)!r}, 'w')\n@click.command()\ndef go():\n    'Goes.'\n"
    assert titles(python_cli.pages(text, "tool.py")) == ["go"]
    assert not marker.exists()


def test_a_syntax_error_is_a_problem_with_its_line():
    found = python_cli.pages("x = 1\ndef (:\n", "t.py")
    assert [(p.code, p.line) for p in found.problems] == [("python-syntax", 2)]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_no_text_makes_it_fail(text):
    python_cli.pages(text, "t.py")


def words(text):
    return sorted(" ".join(command_words(t)) for t in titles(python_cli.pages(text, "tool.py")))


def test_argparse_across_functions():
    text = """
import argparse
def add_list(subparsers):
    p = subparsers.add_parser("list", help="Lists.")
    p.add_argument("--all")
def add_user(subs):
    user = subs.add_parser("user")
    inner = user.add_subparsers()
    inner.add_parser("add")
    inner.add_parser(name="drop")
def main():
    parser = argparse.ArgumentParser(prog="tool")
    sub = parser.add_subparsers()
    add_list(sub)
    add_user(subs=sub)
    for name, about in (("up", "Starts."), ("down", "Stops.")):
        sub.add_parser(name, help=about)
"""
    assert words(text) == ["tool down", "tool list", "tool up", "tool user add", "tool user drop"]


def test_argparse_in_a_class():
    text = """
import argparse
class Tool:
    def __init__(self):
        self.parser = argparse.ArgumentParser("tool", prog="tool")
        self.sub = self.parser.add_subparsers()
        self.sub.add_parser("run")
"""
    assert words(text) == ["tool run"]
