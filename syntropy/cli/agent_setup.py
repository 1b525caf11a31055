"""`syntropy init --agent` and the hook it installs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from syntropy.cli.output import printable
from syntropy.cli.place import opened
from syntropy.contract.config import CONFIG_NAME
from syntropy.contract.errors import SyntropyError, UsageError
from syntropy.setup.agent_files import Plan, detected, install
from syntropy.setup.agent_files import remove as uninstall
from syntropy.setup.clients import server_key
from syntropy.setup.grep_hint import hint, question_of
from syntropy.setup.launcher import program

MOST_KINDS = 6


def agent(root: Path, clients: Sequence[str], *, remove: bool) -> int:
    """Write or update what makes agents use the knowledge, or take it out. 1 where a file could not be edited."""
    if not remove and not (root / CONFIG_NAME).is_file():
        raise UsageError(f"{root} is not a project yet", hint=f"run `syntropy init {root}` first")
    plan = Plan(root, Path.home(), program(), "" if remove else _about(root))
    wanted = list(clients) or detected(plan)
    done = uninstall(plan, wanted) if remove else install(plan, wanted)
    for verb, names in (("wrote", done.written), ("removed", done.removed), ("unchanged", done.same)):
        for name in names:
            print(f"{verb} {printable(name)}")
    for name, why in done.skipped:
        print(f"left alone {printable(name)}: {printable(why)}")
    if done.skipped and not remove:
        print("`syntropy serve --print-config CLIENT` prints what to put there by hand")
    if not (done.written or done.removed or done.skipped):
        print("nothing to do")
    return 1 if done.skipped else 0


def grep_hint(given: argparse.Namespace) -> int:
    """Read a hook's event; print the better question where the knowledge answers it. Never fails: it is advice."""
    try:
        event = json.loads(sys.stdin.read() or "{}")
        question = question_of(event) if isinstance(event, dict) else ""
        if not question:
            return 0
        with opened(given) as knowledge:
            found = knowledge.search(question, mode="fast", limit=1)
        if found.hits and not found.not_here and knowledge.project is not None:
            best = found.hits[0]
            print(hint(question, str(best.citation), best.title, server_key(knowledge.project)))
    except (SyntropyError, ValueError, OSError, RecursionError):
        return 0
    return 0


def _about(root: Path) -> str:
    """Kinds and counts of the published knowledge; in general words where nothing is published yet."""
    try:
        from syntropy.read.folder_map import kind_counts
        from syntropy.read.knowledge import open_knowledge

        with open_knowledge(project=root, engine="sql") as knowledge:
            kinds = list(kind_counts(knowledge.database))
    except SyntropyError:
        return "docs, rules, examples, commands and decisions"
    more = " and others" if len(kinds) > MOST_KINDS else ""
    return f"documents of the kinds {', '.join(kinds[:MOST_KINDS])}{more}"
