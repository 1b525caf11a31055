"""`syntropy init`: look at a folder and write a commented syntropy.toml for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..contract import config as settings
from ..contract.errors import UsageError
from ..contract.files import write_new
from ..contract.published import MANIFEST

SCHEMA_FILE = ".syntropy/syntropy.schema.json"
"""Where a build leaves the JSON Schema of syntropy.toml, for editors that mind `#:schema`."""

_LANDMARKS = (
    (".ce", "framework documents, PRPs and examples"),
    ("PRPs", "PRPs"),
    ("examples", "examples and patterns"),
    (".serena/memories", "agent memories"),
    ("CLAUDE.md", "rules"),
    ("AGENTS.md", "rules"),
    ("docs", "documentation"),
    ("README.md", "documentation"),
)


def detect_layout(root: Path) -> list[tuple[str, str]]:
    """(path, what it is) of the landmarks that exist, or any Markdown file where none does.

    Raises UsageError where there is nothing to index.
    """
    found = [(path, what) for path, what in _LANDMARKS if (root / path).exists()]
    if found:
        return found
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if not n.startswith(".") and n not in ("node_modules", "venv"))
        for name in sorted(files):
            if name.lower().endswith((".md", ".mdx")):
                return [(os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/"), "documentation")]
    raise UsageError(f"{root} holds no Markdown and no known layout", hint="write a README.md, or name another folder")


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


def write_config(root: Path, landmarks: list[tuple[str, str]], *, out: str = "") -> Path | None:
    """Write syntropy.toml, with `out` for artifacts; None where there is one already, which stays as it is."""
    target = root / settings.CONFIG_NAME
    return target if write_new(target, commented_config(landmarks, out=out)) else None


def commented_config(landmarks: list[tuple[str, str]], *, out: str = "") -> str:
    """Every key with its description and default, commented out; what was detected stands on top."""
    lines = [
        f"#:schema {SCHEMA_FILE}",
        "# Syntropy: one search database over this project's knowledge.",
        "# Found here:",
    ]
    lines += [f"#   {path}: {what}" for path, what in landmarks]
    lines += [
        "#",
        "# Every key below shows its default; take the # away to change it.",
        f"# Patterns are gitignore patterns. `syntropy build` writes {MANIFEST} and the rest to paths.out.",
        "",
    ]
    for name, section in settings.sections().items():
        lines.append(f"[{name}]")
        for key, default, what in settings.describe(section):
            if (name, key) == ("paths", "out") and out and out != default:
                lines.append(f"{key} = {_toml(out)}  # {what}")
            else:
                lines.append(f"# {key} = {_toml(default)}  # {what}")
        lines.append("")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return str(value)
