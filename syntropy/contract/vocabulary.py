"""Closed vocabularies: kinds, origins, relation types, severities, and how text becomes terms."""

from __future__ import annotations

KINDS = (
    "pattern", "example", "prp", "memory", "rule", "doc",
    "command", "api", "guide", "feature", "setting", "troubleshooting", "term",
    "design-pattern", "refactoring", "law", "smell",
)  # fmt: skip
ENTRY_KINDS = ("command", "api", "guide", "feature", "setting", "troubleshooting")
"""Kinds of a command reference's entries; their key is the entry's id."""

ENTITY_KINDS = ("design-pattern", "refactoring", "law", "smell")
"""Kinds of canonical entities; their key is the entity's id."""

FORMATS = ("entries", "console", "cli", "openapi", "glossary")
"""Sources whose files hold several documents, each with a kind of its own."""

REDACTED = "[REDACTED:"
"""What stands where a credential was; the name of the rule that found it follows."""

SCOPES = ("system", "user")
TAG_ORIGINS = ("frontmatter", "inline", "header", "inferred")
RELATION_TYPES = {
    "references": "the text mentions the other document (id, path or name)",
    "links_to": "a Markdown link or wikilink",
    "depends_on": "named as a dependency in the metadata",
    "derives_from": "named as the source it was taken from",
    "implements": "the text claims that this file implements it",
    "see_also": "similar by the mean of the documents' vectors",
    "duplicate_of": "the same text, white space aside",
    "near_duplicate_of": "nearly the same text",
    "related_to": "named as related: entries, canonical entities",
    "solves": "a pattern or refactoring removes the smell",
    "solved_by": "inverse of solves",
    "enforces": "it makes code obey the law",
    "enforced_by": "inverse of enforces",
    "violates": "the smell breaks the law",
    "violated_by": "inverse of violates",
    "requires": "it needs the other one first",
    "required_by": "inverse of requires",
    "enables": "it makes the other one possible",
    "enabled_by": "inverse of enables",
}
ENTITY_RELATIONS = ("solves", "enforces", "violates", "related_to", "requires", "enables")
"""Relations that canonical entities declare."""

INSIGHT_RELATIONS = ("related_to", "derives_from", "applies_to", "contradicts", "supports", "requires")
"""How an insight may be related to another one, an entity or a document, by hand."""

INVERSE_RELATIONS = {
    "solves": "solved_by",
    "enforces": "enforced_by",
    "violates": "violated_by",
    "requires": "required_by",
    "enables": "enabled_by",
    "related_to": "related_to",
}
RELATION_ORIGINS = (
    "metadata", "id", "path", "markdown-link", "wikilink", "memory", "similarity", "content",
    "entry", "inverse", "inferred",
)  # fmt: skip
"""Where a relation comes from. entry: an id in an entry's or entity's metadata; inverse: the other direction
of a declared relation; inferred: a refactoring that solves a smell enforces the law the smell violates."""

SEVERITIES = ("error", "warning", "info")
RULE_SEVERITIES = ("mandatory", "forbidden", "advisory")
SEARCH_FIELDS = ("title", "aliases", "headings", "keywords", "tags", "path", "summary", "body", "identifiers")
"""Fields of the full-text index, columns of `chunks`, and weights of `[ranking]`."""

STOP_WORDS: tuple[str, ...] = (
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
)  # fmt: skip
"""Lucene's English stop words (org.apache.lucene.analysis.en.EnglishAnalyzer)."""

QUERY_STOP_WORDS: tuple[str, ...] = (
    "what", "which", "who", "whom", "whose", "when", "where", "why", "how",
    "do", "does", "did", "can", "could", "should", "would", "shall", "may", "might", "must",
    "am", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "there",
    "i", "me", "my", "we", "us", "our", "you", "your",
)  # fmt: skip
"""Question words, auxiliaries and pronouns: how something is asked, not what. The index holds them (`what` may stand in
quotes); a query of other words leaves them out (+.007 nDCG@10 over nine sets, decision 24)."""

STEMMER = "porter"
"""Snowball's `porter`: frozen since 1980, so DuckDB's copy and any PyStemmer agree word for word."""

TOKEN_BREAK = r"[^\p{L}\p{N}_]+"  # noqa: S105 (no password)
"""What the full-text index splits on (RE2): everything but letters, digits and `_` of any script."""
