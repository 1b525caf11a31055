"""Docs that are rendered from the code: `make docs` writes them, a test keeps them true."""

from __future__ import annotations

import argparse
import contextlib
import io
import os

from syntropy import __version__
from syntropy.cli.parser import build_parser
from syntropy.contract import schema
from syntropy.contract.config import describe, json_schema, sections
from syntropy.contract.settings import FREE
from syntropy.serve.resources import DOCUMENT, RESOURCES
from syntropy.tools.table import GROUPS, of_groups
from tests.conftest import ROOT
from tests.measured import measured_markdown
from tests.seed_tools import ROWS


def cli_markdown() -> str:
    """docs/cli.md: `--help` of every command."""
    parser = build_parser(__version__)
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices
    parts = ["# Command line", "", "Generated from the parser; a test keeps it true. Exit codes: 0 all is well, 1 nothing found or a",
             "check failed, 2 bad configuration or arguments, 3 no usable database, 4 no usable encoder, 5 no such document,",
             "6 something is not installed, 7 the build failed, 8 another build is running,",
             "9 git or a registry failed, 10 local changes of a package would be lost,",
             "11 the notes cannot be read or written, 12 the chat's endpoint failed.", ""]  # fmt: skip
    with _width(100):
        for name, command in commands.items():
            for spelled, one in [(name, command), *((f"{name} {verb}", v) for verb, v in _verbs(command))]:
                parts += [f"## syntropy {spelled}", "", "```text", one.format_help().rstrip(), "```", ""]
    return "\n".join(parts)


def _verbs(command: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    nested = next((a for a in command._actions if isinstance(a, argparse._SubParsersAction)), None)
    return list(nested.choices.items()) if nested else []


def config_markdown() -> str:
    """docs/configuration.md: every key of every section."""
    parts = ["# Configuration", "", "`syntropy.toml` in the project (found by walking up). Order: flags > environment",
             "(`SYNTROPY_<SECTION>_<KEY>`) > project > global (`config.toml` in the user's configuration folder) > defaults. An",
             "unknown key is an error that names the nearest known one. Patterns are gitignore patterns. Generated from",
             "`syntropy/contract/config.py`; a test keeps it true.", ""]  # fmt: skip
    for name, section in sections().items():
        parts += [f"## [{name}]", "", "| key | default | what |", "|---|---|---|"]
        parts += [f"| {key} | `{_shown(default)}` | {what} |" for key, default, what in describe(section)]
        parts.append("")
    parts += ["## Sections with names of your own", "", "| section | what |", "|---|---|"]
    properties = json_schema()["properties"]
    parts += [f"| [{name}] | {properties[name]['description']} |" for name in FREE]
    return "\n".join([*parts, ""])


def tools_markdown() -> str:
    """docs/tools.md: the table of tools, and where each tool of the seeds went."""
    parts = ["# Tools", "", "Generated from `syntropy/tools/table.py` and `tests/seed_tools.py`; a test calls every row. How to connect:",
             "[for agents](guides/agents.md).", ""]  # fmt: skip
    for group in GROUPS:
        parts += [f"## {group}", "", "| tool | what for | parameters (required ones first) |", "|---|---|---|"]
        for tool in of_groups((group,)):
            given = sorted(tool.parameters, key=lambda p: not p.required)
            names = ", ".join(f"**{p.name}**" if p.required else p.name for p in given)
            parts.append(f"| `{tool.name}` | {_cell(tool.about)} | {names} |")
        parts.append("")
    parts += ["## Resources and prompts", "", "| name | what |", "|---|---|"]
    parts += [f"| `{resource.uri}` | {resource.about} |" for resource in RESOURCES]
    parts += [f"| `{DOCUMENT}` | a document's text (paths and packages are completed) |"]
    parts += ["| prompt `session_start` | saved rules and recent context |",
              "| prompt `answer_from_knowledge` | look it up first, cite, invent nothing; question, page, tag, command |", ""]  # fmt: skip
    parts += ["## Where the seeds' tools went", "", "| seed | its tool | ours | parameters |", "|---|---|---|---|"]
    parts += [f"| {r.seed} | {_cell(r.theirs)} | {_code(r.ours)} | {_cell(r.parameters)} |" for r in ROWS]
    return "\n".join([*parts, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


def _code(name: str) -> str:
    return f"`{name}`" if " " not in name else name


GENERATED = {"docs/schema.md": schema.markdown, "docs/cli.md": cli_markdown, "docs/configuration.md": config_markdown,
             "docs/tools.md": tools_markdown, "docs/measured.md": measured_markdown}  # fmt: skip


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{v}"' for v in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


@contextlib.contextmanager
def _width(columns: int):
    former = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(columns)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        os.environ.pop("COLUMNS") if former is None else os.environ.update(COLUMNS=former)


if __name__ == "__main__":
    for path, render in GENERATED.items():
        (ROOT / path).write_text(render())
        print(path)
