"""`syntropy init`: a commented syntropy.toml for a project, and additions to one that is there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..contract import config as settings
from ..contract.errors import UsageError
from ..contract.files import write_new
from ..contract.published import MANIFEST

Proposal = Mapping[str, Sequence[str]]
"""Keys of `[sources]` and their patterns."""

SCHEMA_FILE = ".syntropy/syntropy.schema.json"
"""Where a build leaves the JSON Schema of syntropy.toml, for editors that mind `#:schema`."""


def free_output(root: Path) -> str:
    """`paths.out` for a project: its default, or another folder where somebody else's files lie in that.

    Raises UsageError.
    """
    default = settings.PathsConfig().out
    for name in (default, f"knowledge-{default}", *(f"knowledge-{default}-{n}" for n in range(2, 100))):
        folder = root / name
        if not folder.exists() or (folder.is_dir() and ((folder / MANIFEST).is_file() or not any(folder.iterdir()))):
            return name
    raise UsageError(f"{root / default} is taken, and so are 99 others", hint="set paths.out in syntropy.toml")


def write_config(root: Path, found: Sequence[str], *, out: str = "", sources: Proposal | None = None) -> Path | None:
    """Write syntropy.toml, with `out` for artifacts; None where there is one already, which stays as it is."""
    target = root / settings.CONFIG_NAME
    return target if write_new(target, commented_config(found, out=out, sources=sources)) else None


def commented_config(found: Sequence[str], *, out: str = "", sources: Proposal | None = None) -> str:
    """Every key with its description and default, commented out but for `out` and the proposed `sources`.

    `found`: lines about what was detected, which stand on top.
    """
    lines = [
        f"#:schema {SCHEMA_FILE}",
        "# Syntropy: one search database over this project's knowledge.",
        "# Found here:",
    ]
    lines += [f"#   {line}" for line in found]
    lines += [
        "#",
        "# Every key below shows its default; take the # away to change it.",
        f"# Patterns are gitignore patterns. `syntropy build` writes {MANIFEST} and the rest to paths.out.",
        "",
    ]
    chosen = {("sources", key): value for key, value in (sources or {}).items()}
    if out and out != settings.PathsConfig().out:
        chosen["paths", "out"] = out
    for name, section in settings.sections().items():
        lines.append(f"[{name}]")
        for key, default, what in settings.describe(section):
            mark = "" if (name, key) in chosen else "# "
            lines.append(f"{mark}{key} = {_toml(chosen.get((name, key), default))}  # {what}")
        lines.append("")
    return "\n".join(lines)


def updated_config(text: str, sources: Proposal) -> str:
    """A syntropy.toml with these values in `[sources]`; every other line stays as it is.

    Raises UsageError where the file cannot be changed so, and nothing else: its text is parsed before and after.
    """
    before = tomllib.loads(text)
    lines = text.splitlines()
    head = next((n for n, line in enumerate(lines) if re.match(r"\s*\[sources\]\s*(?:#.*)?$", line)), None)
    if head is None:
        lines += ["", "[sources]"]
        head = len(lines) - 1
    for key, value in sources.items():
        end = next((n for n in range(head + 1, len(lines)) if re.match(r"\s*\[", lines[n])), len(lines))
        written = f"{key} = {_toml(tuple(value))}"
        place = next((n for n in range(head + 1, end) if re.match(rf"\s*{key}\s*=", lines[n])), None)
        place = place or next((n for n in range(head + 1, end) if re.match(rf"\s*#\s*{key}\s*=", lines[n])), None)
        if place is None:
            lines.insert(head + 1, written)
        else:
            comment = re.search(r"\s+# [^\"'\]]*$", lines[place])
            lines[place] = written + (comment.group(0) if comment else "")
    changed = "\n".join(lines) + "\n"
    added = {key: list(value) for key, value in sources.items()}
    wanted = {**before, "sources": {**before.get("sources", {}), **added}}
    try:
        fits = tomllib.loads(changed) == wanted
    except tomllib.TOMLDecodeError:
        fits = False
    if not fits:
        message = f"{settings.CONFIG_NAME} is written in a way that is not changed here"
        raise UsageError(message, hint="set the lines that `syntropy init --update` shows")
    return changed


def sources_lines(sources: Proposal) -> list[str]:
    """The proposal as lines of `[sources]`."""
    return [f"{key} = {_toml(tuple(value))}" for key, value in sources.items()]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return str(value)
