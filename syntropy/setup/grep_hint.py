"""The better question for a broad grep: what a hook tells an agent that greps for a topic. It never stops it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

_GREPS = frozenset(("grep", "egrep", "rg", "ag", "ack"))
_WORD = re.compile(r"[A-Za-z][A-Za-z]{2,}")
_SYNTAX = re.compile(r"\\[bBsSdDwW]|\[[^\]]*\]|\{\d+,?\d*\}|\(\?[:=!<imsx]*")
_CODE = re.compile(r"[(){};=<>]|::|->|\bdef\b|\bclass\b|\bimport\b|\bfunction\b|\bconst\b")
_RECURSIVE = re.compile(r"-\w*[rR]|--recursive")
_FILE = re.compile(r"\.[A-Za-z0-9]{1,5}$")

FEWEST_WORDS = 2
"""Words of a pattern that make it a topic: one is mostly an identifier."""


def question_of(event: Mapping[str, Any]) -> str:
    """The words a broad search of a tool call is about; empty for anything else.

    `event`: what Claude Code gives a PreToolUse hook. Broad is a pattern of several plain words that is not looked for
    in one file.
    """
    given = event.get("tool_input")
    if not isinstance(given, Mapping):
        return ""
    if event.get("tool_name") == "Grep":
        return "" if _FILE.search(str(given.get("path") or "")) else _topic(str(given.get("pattern") or ""))
    return _of_command(str(given.get("command") or "")) if event.get("tool_name") == "Bash" else ""


def hint(question: str, citation: str, title: str, key: str) -> str:
    """What the agent is told, as the hook's output."""
    said = (
        f"The knowledge base answers this: search_knowledge (server {key}) with {json.dumps(question)}. "
        f"Best passage: {citation} ({title})."
    )
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": said}})


def _of_command(command: str) -> str:
    """The topic of a command line's first search of a whole folder."""
    for words in _commands(command):
        in_git = words[:2] == ["git", "grep"]
        words = words[1:] if in_git else words
        if not words or words[0].rpartition("/")[2] not in _GREPS:
            continue
        plain = [word for word in words[1:] if not word.startswith("-")]
        recursive = in_git or words[0] not in ("grep", "egrep") or any(_RECURSIVE.match(word) for word in words[1:])
        if plain and recursive and not any(_FILE.search(place) for place in plain[1:]):
            return _topic(plain[0])
        return ""
    return ""


def _commands(line: str) -> list[list[str]]:
    """The words of each command of a line; none where quotes do not end."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    try:
        for word in lexer:
            if set(word) <= set("|&;"):
                found.append([])
            else:
                found[-1].append(word)
    except ValueError:
        return []
    return found


def _topic(pattern: str) -> str:
    plain = _SYNTAX.sub(" ", pattern)
    if _CODE.search(plain):
        return ""
    words = list(dict.fromkeys(_WORD.findall(re.sub(r"[._|*+?^$\\/-]", " ", plain))))
    return " ".join(words) if len(words) >= FEWEST_WORDS else ""
