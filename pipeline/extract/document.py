"""One text to one document: metadata, title, summary, tags, headings, references, rules."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pipeline.extract import agent_log, code, mentions, prp, rule_scope, rules
from pipeline.extract.tag_marks import INLINE_TAGS, tag_marks
from pipeline.formats.page import Page
from pipeline.ground.diagnostics import Diagnostic
from pipeline.sources.layout import MARKDOWN, TEXTS
from pipeline.sources.protocol import SourceText
from pipeline.text.frontmatter import Frontmatter, read_frontmatter
from pipeline.text.markdown import Heading, Outline, Unit, line_starts, outline, source_outline
from pipeline.text.plaintext import text_outline
from syntropy.contract.identity import document_uid, heading_anchor
from syntropy.contract.vocabulary import ENTITY_KINDS, ENTRY_KINDS

SUMMARY_LENGTH = 300
_LLMS = re.compile(r"^llms[\w-]*\.txt$")
"""Markdown by the llms.txt proposal, whatever its ending says."""

_TITLE_KEYS = ("title", "name", "feature_name", "feature")
_SUMMARY_KEYS = ("summary", "description", "excerpt")
_MARKUP = re.compile(r"!\[[^\]]*\]\([^)]*\)|</?[A-Za-z][^<>]{0,200}>|[*`]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
_LIST_ITEM = re.compile(r"^(?:[-*+]|\d+[.)])\s+|^\[?!\[")
_LINK_TEXT = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_NOT_PROSE = re.compile(
    r"^\s*(?:#{1,6}\s|>|\||<!--|-{3,}|={3,}|\*{3,}|import\s|export\s|:::|:[\w-]+:|</?[A-Za-z])|^\s*\*\*[^*]{1,40}(?::\*\*|\*\*\s*:)"
)
_FIELD_ONLY = re.compile(
    r"^\s*(?:pattern|pattern id|use case|source|implementation|status|date|type|category|version|owner|author)\s*:\s",
    re.IGNORECASE,
)


class Extracted(NamedTuple):
    """Rows of one document: its own by the names of columns, the others in the column order of their stage tables.

    The document's key and the rules' labels are candidates until `catalog` makes them unique.
    """

    document: dict[str, Any]
    tag_marks: list[tuple[Any, ...]]
    headings: list[tuple[Any, ...]]
    mentions: list[tuple[Any, ...]]
    rules: list[tuple[Any, ...]]
    diagnostics: list[Diagnostic]
    outline: tuple[str, str]


def extract(source: SourceText, page: Page) -> Extracted:
    """All rows of one page of a file. Never raises for bad input: what is wrong becomes a diagnostic."""
    suffix = "." + source.path.rpartition(".")[2].lower()
    path = f"{source.path}#{page.id}" if page.id else source.path
    about = "{}" if page.id else source.metadata  # what another file says is said of the whole
    part = source._replace(path=path, kind=page.kind, text=page.text, metadata=about)
    name = source.path.rpartition("/")[2].lower()
    if page.text is not source.text or suffix in MARKDOWN or _LLMS.match(name):
        found = _markdown(part)
    else:
        found = _plain_text(part) if suffix in TEXTS else _source_code(part)
    return found._replace(
        document={**found.document, "file": source.path},
        diagnostics=[d._replace(path=source.path) for d in found.diagnostics],
    )


def stored_outline(text: str, units: str, headings: list[Heading]) -> Outline:
    """The outline as extraction found it, from its stored units; without `code_lines`, which chunking needs not."""
    return Outline(line_starts(text), headings, [Unit(*unit) for unit in json.loads(units)], frozenset())


def _code_outline(text: str, members: list[Heading]) -> Outline:
    """A source file's outline: its members are its headings, and its blocks are cut where they begin."""
    found = source_outline(text)
    cuts = sorted({h.line for h in members} - {u.start for u in found.units})
    units = []
    for unit in found.units:
        edges = [unit.start, *[c for c in cuts if unit.start < c < unit.end], unit.end]
        units += [unit._replace(start=a, end=b) for a, b in pairwise(edges)]
    return found._replace(headings=members, units=units)


def _markdown_outline(text: str, front: Frontmatter) -> Outline:
    """The body's outline; a block of broken metadata in front of it is a unit of its own, not Markdown."""
    if not front.block_end:
        return outline(text, front.body_start)
    found = outline(text, front.block_end)
    behind = text.count("\n", 0, front.block_end)
    return found._replace(units=[Unit(0, min(behind, len(found.lines) - 1) or 1), *found.units])


def _markdown(source: SourceText) -> Extracted:
    front = read_frontmatter(source.text)
    shape = _markdown_outline(source.text, front)
    lines = [source.text[a:b].rstrip("\r\n") for a, b in pairwise(shape.lines)]
    first = source.text.count("\n", 0, max(front.body_start, front.block_end))
    prose = [line for n, line in enumerate(lines) if n >= first and n not in shape.code_lines]
    metadata = {**json.loads(source.metadata), **front.metadata}
    is_prp = source.kind == "prp"
    if is_prp:
        metadata = {**prp.head_fields(prose), **metadata}
    title, origin = _title(metadata, shape.headings, source.path)
    if source.kind == "memory":
        metadata = {**agent_log.metadata(shape.headings), **metadata}
    found = mentions.from_metadata(metadata) + mentions.from_text(source.text, shape, is_prp=is_prp)
    if source.kind in (*ENTRY_KINDS, *ENTITY_KINDS):
        found += mentions.from_entry(metadata)
    diagnostics = []
    if front.problem and not (
        source.path.endswith(".mdc") and front.metadata
    ):  # `globs: **/*.ts` is Cursor's, not YAML
        diagnostics.append(front.problem.at("extract", source.package, source.path))
    if not source.text[front.body_start :].strip():
        diagnostics.append(_diagnostic(source, "info", "empty-body", 1, "has no text besides its metadata", "write it"))
    found_rules: list[rules.Rule] = []
    applies_to: list[str] = []
    if source.kind == "rule":
        found_rules = rules.extract_rules(source.text, shape, dedicated=rule_scope.is_dedicated(source.path))
        scope = rule_scope.scope_of(source.path, metadata)
        applies_to = scope.applies_to
        diagnostics += [problem.at("extract", source.package, source.path) for problem in scope.problems]
    facts = prp.facts(metadata, source.path, prose) if is_prp else None
    if is_prp:
        found = mentions.claims(found)
    implementations = _implementations(found, prose) if is_prp or source.kind in ("pattern", "example") else []
    key = (facts.prp_id if facts else "") or _key(source, metadata)
    return _rows(
        source,
        key=key,
        title=title,
        title_origin=origin,
        summary=_summary(metadata, prose),
        facts=facts,
        implementations=implementations,
        metadata=metadata,
        body_start=front.body_start,
        shape=shape,
        headings=shape.headings,
        marks=tag_marks(metadata, prose, shape.headings),
        found=found,
        found_rules=found_rules,
        applies_to=applies_to,
        diagnostics=diagnostics,
    )


def _plain_text(source: SourceText) -> Extracted:
    """A text with headings, as it is written."""
    shape = text_outline(source.text, source.path.lower())
    lines = [source.text[a:b].rstrip("\r\n") for a, b in pairwise(shape.lines)]
    titles = {h.line + n for h in shape.headings for n in range(3)}  # with the lines under and over them
    prose = [line for n, line in enumerate(lines) if n not in shape.code_lines and n not in titles]
    top = min((h.level for h in shape.headings), default=1)
    headings = [h._replace(level=h.level - top + 1) for h in shape.headings]
    title, origin = _title({}, headings, source.path)
    return _rows(
        source,
        key=_key(source, {}),
        title=title,
        title_origin=origin,
        summary=_summary({}, prose),
        facts=None,
        implementations=[],
        metadata={},
        body_start=0,
        shape=shape,
        headings=headings,
        marks=tag_marks({}, prose, headings),
        found=mentions.from_text(source.text, shape),
        found_rules=[],
        diagnostics=[],
    )


def _source_code(source: SourceText) -> Extracted:
    stem = source.path.rpartition("/")[2].rpartition(".")[0]
    about = (
        code.describe_python(source.text, stem)
        if source.path.endswith(".py")
        else code.describe_by_comment(source.text)
    )
    diagnostics = []
    if about.problem:
        diagnostics.append(about.problem.at("extract", source.package, source.path))
    shape = _code_outline(source.text, about.members)
    described = about.description.splitlines()
    metadata = _docstring_fields(described)
    first = next((line.strip() for line in described if line.strip()), "")
    first = first.partition(": ")[2] if first.lower().startswith("pattern: ") else first
    title, origin = (
        (first.rstrip("."), about.origin) if 0 < len(first) <= 120 else (_from_file_name(source.path), "file-name")
    )
    prose = [line for line in described if line.strip() != first.strip()] or described
    found = mentions.from_text(source.text, shape, only=about.lines)
    return _rows(
        source,
        key=_key(source, metadata),
        title=title,
        title_origin=origin,
        summary=_summary({}, prose or [title]),
        facts=None,
        implementations=_implementations(found, []),
        metadata=metadata,
        body_start=0,
        shape=shape,
        headings=about.members,
        marks=tag_marks({}, described, []),
        found=found,
        found_rules=[],
        diagnostics=diagnostics,
    )


def _rows(
    source: SourceText,
    *,
    key: str,
    title: str,
    title_origin: str,
    summary: str,
    facts: prp.PrpFacts | None,
    implementations: list[str],
    metadata: dict[str, Any],
    body_start: int,
    shape: Outline,
    headings: list[Heading],
    marks: list[tuple[str, str]],
    found: list[mentions.Mention],
    found_rules: list[rules.Rule],
    applies_to: Sequence[str] = (),
    diagnostics: list[Diagnostic],
) -> Extracted:
    uid = document_uid(source.package, source.path)
    count = len(shape.lines) - 1
    document = {
        "document": uid,
        "package": source.package,
        "path": source.path,
        "file": source.path,
        "commit": source.commit,
        "scope": source.scope,
        "kind": source.kind,
        "key": key,
        "title": title,
        "title_origin": title_origin,
        "summary": summary,
        "status": facts.status if facts else "",
        "verified": facts.verified if facts else None,
        "aliases": _names(metadata, "aliases", "alias"),
        "keywords": _names(metadata, "keywords", "keyword"),
        "implementations": implementations,
        "frontmatter": json.dumps(metadata, sort_keys=True, ensure_ascii=False),
        "text": source.text,
        "body_start": body_start,
        "line_count": count,
        "content_hash": source.content_hash,
    }
    return Extracted(
        document,
        [(uid, n, origin, text) for n, (origin, text) in enumerate(marks)],
        [
            (uid, n, h.level, h.text, heading_anchor(h.text), h.line + 1, end, shape.lines[h.line], shape.lines[end])
            for n, (h, end) in enumerate(_sections(headings, count))
        ],
        [(uid, n, *mention) for n, mention in enumerate(found)],
        [
            (rule.label, uid, source.scope, rule.severity, rule.text, rule.heading, rule.line, list(applies_to))
            for rule in found_rules
        ],
        diagnostics,
        (uid, json.dumps(shape.units, ensure_ascii=False, separators=(",", ":"))),
    )


def _names(metadata: dict[str, Any], *keys: str) -> list[str]:
    """Names of a list, or of a text with commas between them; distinct, in order."""
    found: list[str] = []
    for key in keys:
        value = metadata.get(key)
        items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
        found += [" ".join(str(item).split())[:200] for item in items if isinstance(item, str | int | float)]
    return list(dict.fromkeys(name for name in found if name))


def _sections(headings: list[Heading], count: int) -> list[tuple[Heading, int]]:
    """Each heading with the line behind its section (0-based, so also the last line 1-based)."""
    ends = [count] * len(headings)
    open_: list[int] = []
    for position, heading in enumerate(headings):
        while open_ and headings[open_[-1]].level >= heading.level:
            ends[open_.pop()] = heading.line
        open_.append(position)
    return list(zip(headings, ends, strict=True))


def _title(metadata: dict[str, Any], headings: list[Heading], path: str) -> tuple[str, str]:
    for key in _TITLE_KEYS:
        value = metadata.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return " ".join(str(value).split())[:300], "frontmatter"
    for heading in headings:
        if heading.level == 1 and heading.text:
            return (inline_text(heading.text) or heading.text)[:300], "heading"
    return _from_file_name(path), "file-name"


def _from_file_name(path: str) -> str:
    stem = path.rpartition("/")[2].rpartition(".")[0] or path
    if stem.lower() in ("readme", "index") and "/" in path:
        stem = path.rsplit("/", 2)[-2]
    return stem.replace("_", " ").replace("-", " ").strip() or stem


def _key(source: SourceText, metadata: dict[str, Any]) -> str:
    """Short name: a memory keeps its topic folders, others are called as their file."""
    stem = source.path.rpartition(".")[0]
    if source.kind in (*ENTRY_KINDS, *ENTITY_KINDS):
        declared = metadata.get("id")
        return str(declared) if isinstance(declared, str | int) and str(declared).strip() else stem.rpartition("/")[2]
    if source.kind == "term":
        return source.path.rpartition("#")[2]
    if source.kind == "memory":
        _, found, topic = stem.rpartition("memories/")
        return topic if found else stem.rpartition("/")[2]
    if source.kind in ("pattern", "example"):
        declared = metadata.get("pattern_id")
        if isinstance(declared, str) and declared.strip():
            return declared.strip().strip("`")
        return stem.rpartition("/")[2]
    return stem.rpartition("/")[2] if source.kind == "prp" else stem


def _summary(metadata: dict[str, Any], prose: list[str]) -> str:
    for key in _SUMMARY_KEYS:
        value = metadata.get(key)
        if isinstance(value, str) and value.strip():
            return _cut(inline_text(value))
    paragraph: list[str] = []
    fallback = ""
    skipping = False
    for line in prose:
        stripped = line.strip()
        if not stripped:
            if paragraph:
                break
            skipping = False
            continue
        if _NOT_PROSE.match(line) or INLINE_TAGS.match(line[:200]) or _is_bare_field(stripped):
            if paragraph:
                break
            skipping = stripped.startswith((">", "|"))
            continue
        if skipping:
            continue  # a list item or quote goes on
        if not paragraph and _LIST_ITEM.match(stripped):
            fallback = fallback or _LIST_ITEM.sub("", inline_text(stripped))
            skipping = True
            continue
        paragraph.append(stripped)
    text = inline_text(" ".join(paragraph))
    return _cut(text or fallback)


def _is_bare_field(line: str) -> bool:
    return prp.KEY_LINE.match(line) is not None or (len(line) < 120 and _FIELD_ONLY.match(line) is not None)


def inline_text(text: str) -> str:
    """Text without links, images, HTML and emphasis marks."""
    return " ".join(_MARKUP.sub("", _LINK_TEXT.sub(r"\1", text)).split())


def _cut(text: str) -> str:
    if len(text) <= SUMMARY_LENGTH:
        return text
    return text[:SUMMARY_LENGTH].rpartition(" ")[0].rstrip(",;: ") + "…"


def _implementations(found: list[mentions.Mention], prose: list[str]) -> list[str]:
    """Files the text claims to be implemented in; where it names none, code names of its implementation lines."""
    claimed = [m for m in found if m.type == "implements"]
    names = [name for m in claimed for name in mentions.code_names(m.evidence)]
    names += [name for line in prose if "implement" in line.lower()[:60] for name in mentions.code_names(line)]
    paths = [m.target for m in claimed if not mentions.is_sample(m.target)]
    return list(dict.fromkeys(paths or names))


def _docstring_fields(lines: list[str]) -> dict[str, Any]:
    """`Pattern:`, `Use Case:`, `Source:`, `Implementation:`, `Pattern ID:` lines of a docstring."""
    fields: dict[str, Any] = {}
    for line in lines:
        match = re.match(
            r"^\s*\**(Pattern ID|Pattern|Use Case|Source|Implementation|Status)\**\s*:\**\s*(.+?)\s*$",
            line,
            re.IGNORECASE,
        )
        if match:
            fields.setdefault(match.group(1).lower().replace(" ", "_"), match.group(2))
    return fields


def _diagnostic(source: SourceText, severity: str, problem: str, line: int, message: str, hint: str) -> Diagnostic:
    return Diagnostic("extract", severity, problem, source.package, source.path, line, message, hint)
