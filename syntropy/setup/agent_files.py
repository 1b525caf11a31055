"""What makes agents use the knowledge untold: a skill, a block in AGENTS.md, clients' entries, hooks of Claude Code.

Nothing of anybody else's changes: entries and blocks are put in as text and taken out as text (`json_text`, `marked`).
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..contract.files import write_text
from ..contract.published import SKILL
from . import json_text, marked
from .clients import CLIENTS, Client, server_key
from .json_text import NotJsonError

AGENTS = "AGENTS.md"
HOOKS = ".claude/settings.local.json"
"""Claude Code's settings of this machine: the commands in it hold absolute paths."""

SESSION, BEFORE_TOOL = "SessionStart", "PreToolUse"


@dataclass
class Outcome:
    """Files by what became of them; `skipped` with why, and what to put there by hand."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """`root` of the project, `home` of the user, `program` that runs syntropy, `about`: what the knowledge holds."""

    root: Path
    home: Path
    program: Sequence[str]
    about: str

    @property
    def key(self) -> str:
        """Name of the server."""
        return server_key(self.root)

    @property
    def serve(self) -> list[str]:
        """The command line that serves the project."""
        return [*self.program, "serve", "--project", str(self.root)]


def install(plan: Plan, clients: Sequence[str]) -> Outcome:
    """Write or update everything; a second time changes nothing."""
    found = Outcome()
    for name in clients:
        client = CLIENTS[name]
        _edit(plan, found, _place(plan, client), partial(_with_entry, plan, client))
    _edit(plan, found, plan.root / AGENTS, lambda text: marked.put(text, block(plan), marked.MARKDOWN))
    _edit(plan, found, plan.root / SKILL, partial(_our_skill, plan))
    _edit(plan, found, plan.root / HOOKS, lambda text: _with_hooks(plan, text))
    return found


def remove(plan: Plan, clients: Sequence[str]) -> Outcome:
    """Take everything out again; files and folders that were made for it go."""
    found = Outcome()
    for name in clients:
        client = CLIENTS[name]
        _edit(plan, found, _place(plan, client), partial(_without_entry, plan, client))
    _edit(plan, found, plan.root / AGENTS, lambda text: marked.taken(text, marked.MARKDOWN))
    _edit(plan, found, plan.root / SKILL, lambda text: "" if _SKILL_MARK in text else text)
    _edit(plan, found, plan.root / HOOKS, _without_hooks)
    return found


def _our_skill(plan: Plan, text: str) -> str:
    if text and _SKILL_MARK not in text:
        raise NotJsonError("it is somebody else's")
    return skill(plan)


def detected(plan: Plan) -> list[str]:
    """Clients to write for: all that keep a file in the project; those of the home folder that are there."""
    return [name for name, client in CLIENTS.items() if not client.home or _place(plan, client).parent.is_dir()]


def _place(plan: Plan, client: Client) -> Path:
    place = (plan.home if client.home else plan.root) / client.file
    if client.name == "opencode" and not place.exists() and place.with_suffix(".jsonc").exists():
        return place.with_suffix(".jsonc")
    return place


def _edit(plan: Plan, found: Outcome, place: Path, change: Callable[[str], str]) -> None:
    """One file through a change of its text; links are followed, but not out of where the file belongs."""
    top = plan.home if place.is_relative_to(plan.home) and not place.is_relative_to(plan.root) else plan.root
    shown = f"~/{place.relative_to(plan.home)}" if top is plan.home else place.relative_to(plan.root).as_posix()
    try:
        target = place.resolve()
        if not target.is_relative_to(top.resolve()):
            found.skipped.append((shown, f"it is a link to {target}, which lies elsewhere"))
            return
        before = target.read_bytes().decode("utf-8") if target.exists() else ""
        after = change(before)
        _replace(found, shown, target, top.resolve(), before, after)
    except (ValueError, OSError, RuntimeError) as error:  # what it holds, or how it lies there
        found.skipped.append((shown, f"it cannot be edited ({error})"))


def _replace(found: Outcome, shown: str, target: Path, top: Path, before: str, after: str) -> None:
    if after == before:
        if before:
            found.same.append(shown)
    elif after:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode if target.exists() else None
        write_text(target, after)
        if mode is not None:
            target.chmod(mode)
        found.written.append(shown)
    else:
        target.unlink()
        folder = target.parent
        while folder != top and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
        found.removed.append(shown)


def _with_entry(plan: Plan, client: Client, text: str) -> str:
    entry = client.entry(plan.serve)
    if client.file.endswith(".toml"):
        lines = [
            f"[{'.'.join(client.servers)}.{plan.key}]",
            *(f"{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in entry.items()),
        ]
        made = marked.put(text, "\n".join(lines), marked.HASH)
        tomllib.loads(made)
        return made
    kept = json_text.taken(
        text, client.servers, lambda key, value: _is_ours(plan, client, key, value) and key != plan.key
    )
    return json_text.put(kept, client.servers, plan.key, entry)


def _without_entry(plan: Plan, client: Client, text: str) -> str:
    if client.file.endswith(".toml"):
        return marked.taken(text, marked.HASH)
    return json_text.taken(text, client.servers, lambda key, value: _is_ours(plan, client, key, value))


def _is_ours(plan: Plan, client: Client, key: str | None, value: Any) -> bool:
    """This project's key; in a file of the project also that of a place where its folder lay, and lies no more."""
    if client.home or key is None or key == plan.key:
        return key == plan.key
    place = _served(value)
    same_name = re.fullmatch(re.escape(plan.key.rpartition("-")[0]) + "-[0-9a-f]{6}", key)
    return bool(same_name) and bool(place) and not Path(place).is_dir()


def _served(entry: Any) -> str:
    """The project that an entry of ours serves."""
    words = [*entry.get("args", []), *_words(entry.get("command"))] if isinstance(entry, dict) else []
    return str(words[words.index("--project") + 1]) if "--project" in words[:-1] else ""


def _words(command: Any) -> list[Any]:
    return command if isinstance(command, list) else []


def _with_hooks(plan: Plan, text: str) -> str:
    for event, entry in hooks(plan).items():
        way = ("hooks", event)
        kept = json_text.taken(text, way, partial(_is_former, entry))
        text = kept if entry["hooks"][0]["command"] in _commands(kept, event) else json_text.put(kept, way, None, entry)
    return text


def _commands(text: str, event: str) -> list[str]:
    """Commands of the hooks of an event, in whichever group."""
    groups = json_text.value_at(text, ("hooks", event))
    inner = [one for group in groups or [] if isinstance(group, dict) for one in group.get("hooks") or []]
    return [str(one.get("command", "")) for one in inner if isinstance(one, dict)]


def _is_former(entry: Any, _: str | None, value: Any) -> bool:
    return _is_hook(value) and value != entry


def _without_hooks(text: str) -> str:
    for event in (BEFORE_TOOL, SESSION):
        text = json_text.taken(text, ("hooks", event), lambda _, value: _is_hook(value))
    return text


def hooks(plan: Plan) -> dict[str, Any]:
    """Hook entries of Claude Code by event: the map at the start, the better question at a broad grep."""

    def entry(matcher: str, *words: str) -> dict[str, Any]:
        command = shlex.join([*plan.program, *words, "--project", str(plan.root)])
        return {"matcher": matcher, "hooks": [{"type": "command", "command": command, "timeout": 10}]}

    return {
        SESSION: entry("startup|resume|clear|compact", "session-start", "--map"),
        BEFORE_TOOL: entry("Grep|Bash", "grep-hint"),
    }


def _is_hook(value: Any) -> bool:
    """A group of hooks that are all ours; one to which somebody added a hook of theirs is theirs."""
    inner = value.get("hooks") if isinstance(value, dict) else None
    commands = [str(one.get("command", "")) if isinstance(one, dict) else "" for one in inner or []]
    return bool(commands) and all(_HOOK.search(command) for command in commands)


_HOOK = re.compile(r"syntropy\S*'? (?:-m syntropy )?(?:session-start --map|grep-hint) --project ")


def block(plan: Plan) -> str:
    """The block in AGENTS.md."""
    return f"""## Knowledge base

What this project knows is indexed: {plan.about}.
Ask it before you grep or guess how something is done here: the MCP server `{plan.key}` (tool `search_knowledge`), or
`syntropy search "WORDS OR A QUESTION"`. It says so where something is not here. `get_context` brings what to know for
a task, with the rules for its files. Cite what you use as path#L1-L9."""


_SKILL_MARK = "written by `syntropy init --agent`"


def skill(plan: Plan) -> str:
    """The skill, whole: the file is ours."""
    return f"""---
name: syntropy
description: Find out how something is done in this project. Use before grepping for a topic, before answering questions
  about docs, commands, APIs, rules or past decisions, and before beginning a task.
---

# Ask the knowledge base

It holds: {plan.about}.

- A question or words: tool `search_knowledge` of the server `{plan.key}`, or `syntropy search "…"`.
- Before a task: `get_context` with the task and the files it is about (`syntropy context "…" --file PATH`).
- The exact syntax of a command: `get_command`. A document, its section, a citation: `get_document`, `get_section`.
- What there is: `get_overview`.

An answer holds the best passages whole, with citations (path#L1-L9): cite them. `not_here` means that the project says
nothing on it: say that, and do not guess. Grep for exact strings in source code, which the index does not hold.

<!-- {_SKILL_MARK}; `syntropy init --agent --remove` removes it -->
"""
