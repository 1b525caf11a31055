"""References a text makes: Markdown links, wikilinks, `mem:` names, PRP ids, paths, names in backticks.

They are recorded as written; `pipeline.link` resolves them against all documents. Scanners are linear
in the line's length and see nothing inside code fences.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from pipeline.formats.entries import GENERATED
from pipeline.sources.layout import SOURCE_CODE
from pipeline.text.markdown import Outline
from syntropy.contract.vocabulary import ENTITY_RELATIONS

EVIDENCE_LENGTH = 200
MAX_LINE = 4_000
"""Longer lines (minified or generated) are read up to here."""

_LINK = re.compile(
    r"(!?)\[[^\[\]]{0,300}\]\(<?([^()<>\s]{1,500}(?:\([^()\s]{0,100}\))?)>?(?:\s+[\"'][^\"']{0,200}[\"'])?\)"
)
_DEFINITION = re.compile(r"^ {0,3}\[[^\]]{1,200}\]:\s+<?(\S{1,500}?)>?(?:\s|$)")
_WIKILINK = re.compile(r"\[\[([^\[\]|#\n]{1,200})(?:[#|][^\[\]\n]{0,200})?\]\]")
_MEMORY = re.compile(r"\bmem:([\w][\w./-]{0,200})")
_PLACEHOLDER_ID = re.compile(r"PRP-(?:[NXYZ]|0*9{3,}|0{2,}|1234?5?)")
"""`PRP-X`, `PRP-999`: what documentation writes for any PRP."""

_PRP_ID = re.compile(r"\bPRP-(?:\d{1,6}(?:\.\d{1,4}){0,4}|[A-Z]\b)")
_INLINE_CODE = re.compile(r"`([^`\n]{1,200})`")
_BARE_PATH = re.compile(r"(?<![\w/:.])(?:[\w.@-]{1,60}/){1,12}[\w.@-]{0,80}\.[A-Za-z]{1,8}\b")
_SCHEME = re.compile(r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//|#|mailto:)")
_ENTITY_ID = re.compile(r"^(?:DP|RF|LAW|SMELL)-\d{1,4}(?:-[A-Z]{1,2})?$")
_KEY_IN_PROSE = re.compile(
    r"(?<![\w/.-])([a-z0-9]+(?:-[a-z0-9]+)+)\s+(?:pattern|example|memory)\b|"
    r"\b(?:pattern|example|memory):?\s+([a-z0-9]+(?:-[a-z0-9]+)+)(?![\w/.-])"
)
_BARE_FILE = re.compile(
    r"(?<![\w/.:@-])(?=[\w-]*[-_])[A-Za-z][\w-]{2,80}\.(?:md|mdx|py|ts|tsx|js|sh|sql|go|rs|java|rb)\b"
)
"""A file's name in prose; only with a hyphen or underscore, since `Node.js` is not one."""

_NAME = re.compile(r"^[a-z0-9]+(?:[-_][a-z0-9]+)+$")
_CODE_NAME = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*\(\)$|^[A-Z][a-z0-9]+[A-Z]\w*(?:\.\w+)?$")
_FIELD = re.compile(
    r"^\W{0,6}(source|implementation|implements|pattern|depends on|dependencies|related)\W{0,4}:\W{0,4}(.*)$",
    re.IGNORECASE,
)
_IMPLEMENTATION_HEADING = re.compile(
    r"\b(implement|files?|changes|deliverables?|created?|modif|what was built)", re.IGNORECASE
)

_SAMPLE = re.compile(
    r"[*?<>{}$]|\.\.\.|path/to|^/(?:absolute|path|home|Users|tmp|var|opt|etc|usr)/|^~|^\.git/|^(?:[a-zA-Z]:)?\\|"
    r"(?:^|/)(?:node_modules|dist|__pycache__|\.venv)/|(?:^|/)(?:example|foo|bar|my[_-]?file|file)\.\w+$"
)
"""Paths that stand for others, or for what a tool makes: globs, placeholders, absolute ones, outputs."""

_LISTS_GONE = re.compile(
    r"^\W*(?:files?\s+)?(?:to\s+(?:be\s+)?)?(?:remov|delet|deprecat)(?:e|ed|ing|al)\b[^.]{0,80}:?\W*$", re.IGNORECASE
)
"""A heading or lead of a list of what goes away: `To remove:`."""

_DELETES = re.compile(
    r"(?-i:\b(?:DELETED?|REMOVED?|[Dd]uplicate|[Oo]bsolete)\b)|^\W*(?:deleted?|removed?)\b|\|\s*(?:deleted?|removed?)\s*\|",
    re.IGNORECASE,
)

_METADATA_TYPES = {
    "dependencies": "depends_on",
    "depends_on": "depends_on",
    "requires": "depends_on",
    "source": "derives_from",
    "derived_from": "derives_from",
    "parent": "derives_from",
    "references": "references",
    "related": "references",
    "related_to": "references",
    "patterns": "references",
    "implementations": "implements",
    "implementation": "implements",
    "files": "implements",
}
_FIELD_TYPES = {
    "source": "derives_from",
    "implementation": "implements",
    "implements": "implements",
    "depends on": "depends_on",
    "dependencies": "depends_on",
}


class Mention(NamedTuple):
    """One reference as written; `line` counts from 1."""

    target: str
    type: str
    origin: str
    line: int
    evidence: str


def from_metadata(metadata: dict[str, Any], line: int = 1) -> list[Mention]:
    """References in frontmatter keys such as `dependencies` (list, string or null)."""
    found = []
    for key, relation in _METADATA_TYPES.items():
        value = metadata.get(key)
        values = value if isinstance(value, list) else re.split(r"[,;]", str(value)) if value is not None else []
        for item in values:
            target = _metadata_target(item)
            if target.startswith(GENERATED):
                path = target.removeprefix(GENERATED)
                found.append(Mention(path, relation, "path", line, f"{key}: {target}"))
            elif target:
                found.append(Mention(target, relation, "metadata", line, f"{key}: {target}"))
    return found


def from_entry(metadata: dict[str, Any]) -> list[Mention]:
    """An entry's `relatedIds` and an entity's `relations`, each target by its id."""
    related = metadata.get("relatedIds")
    found = [
        Mention(str(target), "related_to", "entry", 1, f"relatedIds: {target}")
        for target in (related if isinstance(related, list) else [])
    ]
    relations = metadata.get("relations")
    for kind in ENTITY_RELATIONS:
        targets = relations.get(kind) if isinstance(relations, dict) else None
        names = map(str, targets) if isinstance(targets, list) else ()
        found += [Mention(name, kind, "entry", 0, f"{kind}: {name}") for name in names]
    return found


def from_text(
    text: str, outline: Outline, *, is_prp: bool = False, only: frozenset[int] | None = None
) -> list[Mention]:
    """References in the lines of a text; `only` restricts them (head comments of source files)."""
    found: list[Mention] = []
    headings = {h.line: h for h in outline.headings}
    implementing = going = False
    first = outline.units[0].start if outline.units else 0
    for number in range(first, len(outline.lines) - 1):
        if heading := headings.get(number):
            going = _LISTS_GONE.match(heading.text) is not None
            implementing = _IMPLEMENTATION_HEADING.search(heading.text) is not None or (
                implementing and heading.level > 3
            )
        if (only is not None and number not in only) or (only is None and number in outline.code_lines):
            continue
        start = outline.lines[number]
        line = text[start : min(outline.lines[number + 1], start + MAX_LINE)]
        if line.isspace():
            continue
        if not line.startswith((" ", "\t", "-", "*", "+", "|")) and not line[:1].isdigit():
            going = (number not in headings and _LISTS_GONE.match(line.strip("*_ \r\n")) is not None) or (
                number in headings and going
            )
        mentions = _from_line(line.rstrip("\r\n"), number + 1, is_prp and implementing and not going)
        found.extend(m._replace(type="references") if going and m.type == "implements" else m for m in mentions)
    return list(dict.fromkeys(found))


def claims(found: list[Mention]) -> list[Mention]:
    """A PRP's mentions with its implementations marked.

    Where nothing stands in an implementation section or field, every source path counts. A line that
    deletes a file claims nothing.
    """
    kept = [
        m._replace(type="references") if m.type == "implements" and _DELETES.search(m.evidence) else m for m in found
    ]
    if any(m.type == "implements" for m in kept):
        return kept
    return [
        m._replace(type="implements")
        if m.origin == "path" and "/" in m.target and is_code_path(m.target) and not _DELETES.search(m.evidence)
        else m
        for m in kept
    ]


def code_names(mentions_text: str) -> list[str]:
    """Function and class names a line puts in backticks: `name()`, `CamelCase`, `Class.method()`."""
    return [m.strip() for m in _INLINE_CODE.findall(mentions_text) if _CODE_NAME.match(m.strip())]


def is_sample(target: str) -> bool:
    """Does a path stand for others (`ce/*.py`, `path/to/x.py`), or for what a tool makes?"""
    return _SAMPLE.search(target) is not None


def is_code_path(target: str) -> bool:
    """Does the target name a source file (by its ending)?"""
    dot = target.rfind(".")
    return dot > 0 and target[dot:].lower() in SOURCE_CODE and _SCHEME.match(target) is None


def _metadata_target(item: Any) -> str:
    text = str(item).strip().strip("`'\"[]")
    if not text or text.lower() in ("none", "null", "n/a", "-", "tbd"):
        return ""
    if match := _PRP_ID.search(text):
        return "" if _PLACEHOLDER_ID.fullmatch(match.group(0)) else match.group(0)
    return text if len(text) <= 200 and " " not in text else ""


def _from_line(line: str, number: int, implementing: bool) -> list[Mention]:
    evidence = line.strip()[:EVIDENCE_LENGTH]
    found: list[Mention] = []

    def add(target: str, relation: str, origin: str) -> None:
        found.append(Mention(target, relation, origin, number, evidence))

    if "](" in line:
        for image, target in _LINK.findall(line):
            if not image and not _SCHEME.match(target):
                add(target, "links_to", "markdown-link")
    if "]:" in line and (match := _DEFINITION.match(line)) and not _SCHEME.match(match.group(1)):
        add(match.group(1), "links_to", "markdown-link")
    if "[[" in line:
        for target in _WIKILINK.findall(line):
            add(target.strip(), "links_to", "wikilink")
    if "mem:" in line:
        for target in _MEMORY.findall(line):
            add(target.rstrip("./"), "references", "memory")
    field = _FIELD.match(line)
    relation = _FIELD_TYPES.get(field.group(1).lower(), "references") if field else "references"
    if "PRP-" in line:
        for target in _PRP_ID.findall(line):
            if not _PLACEHOLDER_ID.fullmatch(target):
                add(target, relation, "id")
    code_relation = "implements" if implementing or relation == "implements" else "references"
    if "`" in line:
        for code in _INLINE_CODE.findall(line):
            token = code.strip()
            if token.startswith("mem:") or _SCHEME.match(token):
                continue
            if ("/" in token and " " not in token and _BARE_PATH.fullmatch(token)) or (
                is_code_path(token) and " " not in token
            ):
                add(token, code_relation if is_code_path(token) else "references", "path")
            elif _NAME.match(token) or _ENTITY_ID.match(token):
                add(token, "references", "id")
    if "/" in line and "." in line:
        for target in _BARE_PATH.findall(_blank_links(line)):
            add(target, code_relation if is_code_path(target) else relation, "path")
    if "." in line:
        for target in _BARE_FILE.findall(_blank_links(line)):
            add(target, "references", "path")
    if "-" in line:
        for before, behind in _KEY_IN_PROSE.findall(line):
            add(before or behind, "references", "id")
    if field and field.group(1).lower() == "pattern" and _NAME.match(field.group(2).strip("`* ")):
        add(field.group(2).strip("`* "), "references", "id")
    return found


def _blank_links(line: str) -> str:
    """The line without links, code and URLs, which were read already."""
    line = _INLINE_CODE.sub(" ", _LINK.sub(" ", line))
    return re.sub(r"\b[a-zA-Z][a-zA-Z0-9+.-]*://\S+", " ", line)
