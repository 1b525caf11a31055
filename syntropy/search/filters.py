"""Filters: what documents may be hits at all. They come before ranking, so a filtered query loses nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..contract.errors import UsageError
from ..contract.vocabulary import ENTITY_KINDS, ENTRY_KINDS, KINDS, SCOPES

SOURCES = {
    "patterns": ("pattern", "example"),
    "prps": ("prp",),
    "memories": ("memory",),
    "rules": ("rule",),
    "docs": ("doc",),
    "entries": ENTRY_KINDS,
    "entities": ENTITY_KINDS,
    "terms": ("term",),
}
"""The knowledge-index seed's source names, and ours; each means some kinds."""

DATE_KEYS = ("updated", "last_updated", "lastUpdated", "modified", "date", "created")
"""Frontmatter keys that date a document; the first one present counts."""

_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")


@dataclass(frozen=True)
class Filters:
    """What hits must be; empty fields allow all.

    `sources` are names of SOURCES; `any_tags`/`all_tags` tags; `path` a glob (`*` also crosses `/`);
    `where` (key, value) pairs of the frontmatter; `category` that of an entry, its subcategory, or
    `category/subcategory`; `since`/`until` dates (YYYY[-MM[-DD]], both included).
    """

    sources: Sequence[str] = ()
    kinds: Sequence[str] = ()
    scope: str = ""
    packages: Sequence[str] = ()
    any_tags: Sequence[str] = ()
    all_tags: Sequence[str] = ()
    path: str = ""
    where: Sequence[tuple[str, str]] = ()
    since: str = ""
    until: str = ""
    category: str = ""

    def sql(self) -> tuple[str, list[object]]:
        """(condition over `d`, parameters); ("true", []) where nothing is filtered.

        Raises UsageError for names that do not exist and texts that are not dates.
        """
        for name in ("sources", "kinds", "packages", "any_tags", "all_tags"):
            if isinstance(getattr(self, name), str):
                raise UsageError(f"{name} is a text, not a list", hint=f"give [{getattr(self, name)!r}]")
        _known("source", self.sources, SOURCES)
        _known("kind", self.kinds, KINDS)
        _known("scope", [self.scope] if self.scope else [], SCOPES)
        parts: list[str] = []
        parameters: list[object] = []

        def add(condition: str, *values: object) -> None:
            parts.append(condition)
            parameters.extend(values)

        for column, allowed in (
            ("kind", [k for s in self.sources for k in SOURCES[s]]),
            ("kind", self.kinds),
            ("scope", [self.scope] if self.scope else []),
            ("package", self.packages),
        ):
            if allowed:
                add(f"d.{column} IN ({', '.join('?' * len(allowed))})", *allowed)
        tagged = "d.document_id IN (SELECT document_id FROM tags WHERE tag IN ({}))"
        if self.any_tags:
            add(tagged.format(", ".join("?" * len(self.any_tags))), *(tag.lower() for tag in self.any_tags))
        for tag in self.all_tags:
            add(tagged.format("?"), tag.lower())
        if self.path:  # a folder without a pattern stands for all below it
            place = self.path.removeprefix("./").rstrip("/")
            add("(d.path GLOB ? OR d.path GLOB ? || '/*')", self.path, place)
        if self.category:
            add(f"lower(?) IN ({', '.join(_CATEGORIES)})", self.category.strip().strip("/"))
        for key, value in self.where:
            _add_where(add, key, value)
        dates = "'^[0-9]{4}(-[0-9]{2}){0,2}'"
        texts = [f"regexp_extract(json_extract_string(d.frontmatter, '$.{key}'), {dates})" for key in DATE_KEYS]
        dated = "coalesce(" + ", ".join(f"nullif({text}, '')" for text in texts) + ")"  # other forms are not dates
        if self.since:
            add(f"{dated} >= ?", _date("since", self.since))
        if self.until:
            # `~` sorts after every digit and dash: a month includes its days
            add(f"{dated} <= ?", _date("until", self.until) + "~")
        return " AND ".join(parts) or "true", parameters


_CATEGORY, _SUBCATEGORY = (
    f"lower(coalesce(json_extract_string(d.frontmatter, '$.{key}'), ''))" for key in ("category", "subcategory")
)
_CATEGORIES = (_CATEGORY, _SUBCATEGORY, f"{_CATEGORY} || '/' || {_SUBCATEGORY}")

NO_FILTERS = Filters()


def _add_where(add: Callable[..., None], key: str, value: str) -> None:
    """A frontmatter key has the value, or a list that holds it; `status` also as it was normalised."""
    if not key or '"' in key or "\\" in key:
        raise UsageError(f"--where {key!r}: no such key can exist", hint="give KEY=VALUE, e.g. status=executed")
    pointer, items, value = f'$."{key}"', f'$."{key}"[*]', str(value)
    equal = (
        "(lower(json_extract_string(d.frontmatter, ?)) = lower(?) OR "
        "list_contains(list_transform(json_extract_string(d.frontmatter, ?), x -> lower(x)), lower(?)))"
    )
    if key == "status":
        add(f"({equal} OR d.status = lower(?))", pointer, value, items, value, value)
    else:
        add(equal, pointer, value, items, value)


def _date(name: str, text: str) -> str:
    if not _DATE.fullmatch(text):
        raise UsageError(f"{name} {text!r} is not a date", hint="give YYYY, YYYY-MM or YYYY-MM-DD")
    return text


def _known(what: str, given: Sequence[str], known: object) -> None:
    names = list(known)  # type: ignore[call-overload]
    for name in given:
        if name not in names:
            raise UsageError(f"unknown {what} {name!r}", hint=f"choose from: {', '.join(names)}")
