"""YAML frontmatter through python-frontmatter, guarded against what breaks parsers.

PyYAML's C composer recurses and dies at deep nesting, and anchors allow exponential documents; both
are refused from the event stream, which is flat, before anything is composed. Scalars that YAML 1.1
would bend (`no`, `2025-10-22`, `30.10`) stay the strings the author wrote.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

try:
    from yaml import CSafeLoader as _BaseLoader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]

MAX_BYTES = 64 * 1024
MAX_DEPTH = 32
BLOCK_MARKS = ("|", ">", "|-", ">-")
"""What a YAML value is when its text follows on the next lines."""

_MAX_PLAIN = 500
_PLAIN_LINE = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(\S.*?)[ \t]*$")
_BOUNDARY = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


class Frontmatter(NamedTuple):
    """Metadata and where the body begins. `problem` = (code, message, hint, line) or None.

    Where the YAML cannot be used, `body_start` is 0 (the block stays part of the body, so that its words
    are still found), `block_end` is where it ends, and `metadata` holds the plain `key: value` lines
    of a block that was merely written wrongly.
    """

    metadata: dict[str, Any]
    body_start: int
    problem: tuple[str, str, str, int] | None = None
    block_end: int = 0


class _RefusedError(ValueError):
    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Loader(_BaseLoader):
    """Safe loader that keeps numbers with points, dates and yes/no words as text."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF"),
    ("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9][0-9]{0,17})$"), "-0123456789"),
):
    _Loader.add_implicit_resolver(_tag, _pattern, list(_first))


class _Handler(YAMLHandler):  # type: ignore[misc]
    def load(self, fm: str, **_: object) -> Any:
        _refuse_dangerous(fm)
        return yaml.load(fm, Loader=_Loader)  # noqa: S506 (a SafeLoader)


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
    except _RefusedError as error:
        return _bad("frontmatter-refused", str(error), "simplify the metadata", error.line, block_end=body_start)
    except yaml.MarkedYAMLError as error:
        line = (error.problem_mark.line + 1) if error.problem_mark else 1
        found = _bad("frontmatter-invalid", f"is no YAML: {error.problem or error}", "mend the YAML at that line", line)
        return found._replace(metadata=_plain_lines(text[opening.end() : closing.start()]), block_end=body_start)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        return _bad("frontmatter-invalid", f"is no YAML: {error}", "mend the YAML", block_end=body_start)
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


def plain(value: Any) -> Any:
    """The value as JSON knows it: string keys, lists, numbers, booleans, strings."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def _bad(code: str, message: str, hint: str, line: int = 1, *, block_end: int = 0) -> Frontmatter:
    return Frontmatter({}, 0, (code, f"frontmatter {message}", hint, line), block_end)


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


def _refuse_dangerous(block: str) -> None:
    """Depth, anchors, aliases and merge keys, from the flat event stream (line numbers 1-based)."""
    depth = 0
    for event in yaml.parse(block, Loader=_BaseLoader):
        line = event.start_mark.line + 2 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _RefusedError("uses anchors or aliases", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _RefusedError(f"nests deeper than {MAX_DEPTH} levels", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
            raise _RefusedError("uses a merge key (<<)", line)
