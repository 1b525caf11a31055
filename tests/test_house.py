"""The house as ARCHITECTURE.md says it is: rooms, arrows, names, and the one table of stages."""

import re

from benchmarks.house import GOALS, structure
from pipeline.engine import steps
from pipeline.engine.gate import CHECKS
from pipeline.engine.stages import STAGES, picture
from syntropy.cli.command_table import COMMANDS
from syntropy.contract.schema import TABLES
from tests.conftest import ROOT

HELD = (
    "flat modules at the top of syntropy", "floors of syntropy", "arrows between its rooms", "arrows that run back up",
    "modules named by hand in the import contract", "file names that occur twice",
)  # fmt: skip


def test_rooms_arrows_and_names_are_within_their_bounds():
    found = structure()
    assert {name: found[name] for name in HELD if found[name] > GOALS[name]} == {}


def test_the_shell_is_thin():
    for name, lines in (("assets.py", 90), ("definitions.py", 40), ("checks.py", 60)):
        assert len((ROOT / "assets" / name).read_text().splitlines()) <= lines, name


def test_the_picture_in_the_architecture_is_the_stage_table():
    assert picture() in (ROOT / "ARCHITECTURE.md").read_text()


def test_every_path_that_documents_name_is_there():
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text()
        for path in re.findall(r"`((?:syntropy|pipeline|assets|tests|docs|benchmarks)/[\w./-]*)`", text):
            assert (ROOT / path).exists(), f"{name}: {path}"
    rooms = {path.name for top in ("syntropy", "pipeline") for path in (ROOT / top).iterdir() if path.is_dir()}
    named = set(re.findall(r"`(\w+)/`", (ROOT / "ARCHITECTURE.md").read_text()))
    assert rooms - {"__pycache__", "_location"} <= named


def test_every_stage_has_a_function_and_its_reads_are_made_before():
    made = set()
    for stage in STAGES:
        assert callable(getattr(steps, stage.name))
        assert set(stage.inputs) <= made, stage.name
        made |= {(stage.name, table.name) for table in stage.makes} | {(stage.name, name) for name in stage.names}
    stored = {table.name for table in TABLES.values() if table.name not in ("postings", "names", "meta")}
    assert stored <= {name for _, name in made}, "every table of the contract is made by a stage"


def test_every_check_and_command_has_a_function():
    from importlib import import_module

    assert all(check.run.__doc__ for check in CHECKS)
    for command in COMMANDS:
        module, _, function = command.run.rpartition(".")
        assert callable(getattr(import_module(f"syntropy.cli.{module}"), function)), command.name
    assert len({command.name for command in COMMANDS}) == len(COMMANDS)
