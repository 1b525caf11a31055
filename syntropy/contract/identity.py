"""Names of things: packages, document uids, keys, anchors and citations.

A document's identity is (package, path or entry id), never its content, so that two files of equal
text stay two documents and an edit does not change who a document is.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

PROJECT_PACKAGE = "project"
"""Package of the files of the project itself; context packages carry their alias instead."""

_NOT_SLUG = re.compile(r"[^\w]+", re.UNICODE)
_ANCHOR_DROP = re.compile(r"[^\w\- ]+", re.UNICODE)


class Citation(NamedTuple):
    """`package@commit:path#Lstart-Lend`, the way every hit says where it comes from."""

    package: str
    commit: str
    path: str
    line_start: int
    line_end: int

    def __str__(self) -> str:
        lines = f"#L{self.line_start}-L{self.line_end}"
        if self.package == PROJECT_PACKAGE and not self.commit:
            return f"{self.path}{lines}"
        version = f"@{self.commit}" if self.commit else ""
        return f"{self.package}{version}:{self.path}{lines}"

    def __contains__(self, item: object) -> bool:
        """A text is looked for in the citation as it is written; anything else among its parts."""
        return item in str(self) if isinstance(item, str) else tuple.__contains__(self, item)


CITED_LINES = re.compile(r"#L(?P<start>\d{1,9})(?:-L?(?P<end>\d{1,9}))?(?:~(?P<proof>[0-9a-f]{8}))?$")
"""How a citation ends: its lines, and perhaps the digest of what they say (see `syntropy.read.citations`)."""

OVERVIEW_FILES = ("readme.", "index.")
"""How the names of files begin (in lower case) that tell what a folder is about."""


def is_overview(path: str) -> bool:
    """Is it a README or index file?"""
    return path.rpartition("/")[2].lower().startswith(OVERVIEW_FILES)


def place_of(package: str, path: str) -> str:
    """A document's place as people read and type it: `path`, or `package:path`."""
    return path if package == PROJECT_PACKAGE else f"{package}:{path}"


def document_uid(package: str, path: str) -> str:
    """The key that stage tables use for a document: `package:path`."""
    return f"{package}:{path}"


def split_uid(uid: str) -> tuple[str, str]:
    """Inverse of :func:`document_uid` (a package name never holds a colon)."""
    package, _, path = uid.partition(":")
    return package, path


def slugify(text: str, *, max_length: int = 60) -> str:
    """Lower-case key of letters and digits of any script, joined by `-`, cut at a word."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    slug = _NOT_SLUG.sub("-", folded).replace("_", "-").strip("-")
    slug = re.sub(r"-{2,}", "-", slug)
    if len(slug) <= max_length:
        return slug
    head = slug[: max_length + 1].rpartition("-")[0]
    return head or slug[:max_length]


def heading_anchor(text: str) -> str:
    """GitHub's anchor of a heading: lower case, punctuation dropped, spaces to hyphens."""
    return _ANCHOR_DROP.sub("", text.strip().lower()).replace(" ", "-")


def well_formed(text: str) -> str:
    """The text without lone surrogates (bytes of an argument that were not UTF-8), which no library below takes."""
    return text.encode("utf-8", "replace").decode()


def normalize_path(path: str) -> str:
    """POSIX form of a document path as a user may type it (`\\`, `./` and doubled slashes folded).

    It never touches the file system: `..` stays and simply matches no document.
    """
    posix = well_formed(path).strip().replace("\\", "/")
    posix = re.sub(r"/{2,}", "/", posix)
    while posix.startswith("./"):
        posix = posix[2:]
    return posix
