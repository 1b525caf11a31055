"""What the tag stage makes of what extraction found in one document."""

from __future__ import annotations

from pipeline.extract.document import Extracted
from pipeline.ground.tables import empty, from_rows
from pipeline.tag.tagging import tag_documents
from syntropy.contract.config import TagsConfig
from syntropy.contract.schema import HEADINGS, TAG_MARKS


def tags_of(found: Extracted) -> list[tuple[str, str]]:
    """(tag, origin) in the order of the document."""
    tags = tag_documents(from_rows(TAG_MARKS, found.tag_marks), empty(HEADINGS), TagsConfig())
    return list(tags.sort("position").select("tag", "origin").iter_rows())
