"""YAML frontmatter of Markdown texts, through python-frontmatter and our guarded YAML."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

from pipeline.ground.diagnostics import Problem
from pipeline.text.safe_yaml import RefusedYamlError, load_yaml, plain

MAX_BYTES = 64 * 1024
MAX_DEPTH = 32
BLOCK_MARKS = ("|", ">", "|-", ">-")
"""What a YAML value is when its text follows on the next lines."""

_MAX_PLAIN = 500
_PLAIN_LINE = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(\S.*?)[ \t]*$")
_BOUNDARY = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


class Frontmatter(NamedTuple):
    """Metadata and where the body begins. `problem`: what is wrong with it, if anything.

    Where the YAML cannot be used, `body_start` is 0 (the block stays part of the body, so that its words
    are still found), `block_end` is where it ends, and `metadata` holds the plain `key: value` lines
    of a block that was merely written wrongly.
    """

    metadata: dict[str, Any]
    body_start: int
    problem: Problem | None = None
    block_end: int = 0


class _Handler(YAMLHandler):  # type: ignore[misc]
    def load(self, fm: str, **_: object) -> Any:
        return load_yaml(fm, max_depth=MAX_DEPTH)


_HANDLER = _Handler()


def read_frontmatter(text: str) -> Frontmatter:
    """Split metadata and body of a Markdown text; never raises for bad input."""
    if not text.startswith("---"):
        return Frontmatter({}, 0)
    opening = _BOUNDARY.match(text)
    if opening is None:
        return Frontmatter({}, 0)
    closing = _BOUNDARY.search(text, opening.end(), opening.end() + MAX_BYTES + 8)
    if closing is None:
        if len(text) > MAX_BYTES and _BOUNDARY.search(text, opening.end()):
            return _bad("frontmatter-too-large", f"is larger than {MAX_BYTES} characters", "shorten it")
        if _looks_like_metadata(text, opening.end()):
            return _bad("frontmatter-unclosed", "opens with --- and never closes", "add a line --- behind the metadata")
        return Frontmatter({}, 0)  # a thematic break
    body_start = closing.end()
    if text.startswith("\n", body_start):
        body_start += 1
    try:
        metadata, _ = frontmatter.parse(text[:body_start], handler=_HANDLER)
        raw: Any = metadata
        if not metadata:
            raw = _HANDLER.load(text[opening.end() : closing.start()])
    except RefusedYamlError as error:  # its lines begin below the opening ---
        return _bad("frontmatter-refused", str(error), "simplify the metadata", error.line + 1, block_end=body_start)
    except yaml.MarkedYAMLError as error:
        line = (error.problem_mark.line + 1) if error.problem_mark else 1
        found = _bad("frontmatter-invalid", f"is not YAML: {error.problem or error}", "fix the YAML at that line", line)
        return found._replace(metadata=_plain_lines(text[opening.end() : closing.start()]), block_end=body_start)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        return _bad("frontmatter-invalid", f"is not YAML: {error}", "fix the YAML", block_end=body_start)
    if raw is None:
        return Frontmatter({}, body_start)
    if not isinstance(raw, dict):
        if isinstance(raw, str) and not _looks_like_metadata(text, opening.end()):
            return Frontmatter({}, 0)  # prose between two thematic breaks
        return _bad(
            "frontmatter-not-a-mapping",
            f"is a {type(raw).__name__}, not `key: value` lines",
            "write it as `key: value` lines",
            block_end=body_start,
        )
    return Frontmatter(plain(raw), body_start)


def _bad(code: str, message: str, hint: str, line: int = 1, *, block_end: int = 0) -> Frontmatter:
    return Frontmatter({}, 0, Problem(code, line, f"frontmatter {message}", hint), block_end)


def _plain_lines(block: str) -> dict[str, Any]:
    """Top-level `key: value` lines with plain values: what a reader sees in YAML that does not parse."""
    found: dict[str, Any] = {}
    for line in block.splitlines():
        match = _PLAIN_LINE.match(line[:_MAX_PLAIN])
        if match and match.group(2) not in BLOCK_MARKS:
            found.setdefault(match.group(1), match.group(2).strip("'\""))
    return found


def _looks_like_metadata(text: str, start: int) -> bool:
    first = text[start : start + 400].lstrip("\r\n").split("\n", 1)[0]
    return re.match(r"[\w-]+\s*:", first) is not None
