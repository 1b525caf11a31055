"""The contract: every table, its columns, types and units, and the schema version.

DDL, frame schemas, integrity checks and `docs/schema.md` derive from here. A table has two forms.
Between the stages (Parquet) a document is its uid `package:path` and a chunk is (document, ordinal);
in the database both are integers, numbered in the order of their names, so that equal inputs give
equal numbers.

Glossary
    source        a file that a connector met; `SourceText` is its decoded text
    document      what is read and cited as one: a file, or a part of one (an entry, a glossary's term)
    uid           `package:path` of a document; `document_id` its number in a database, `row` a line of a table
    key           short name of a document, unique within (scope, kind); `alias` another one
    chunk         a span of a document that is shown and cited; window: a span of a chunk that one vector covers
    mention       a reference as written; relation: a mention that was resolved, or what follows from the texts
    mark          what a text says of its tags; tag: what the tag stage made of the marks
    entry, entity a part of a command reference; a canonical pattern, refactoring, law or smell
    memory        an agent's memory file; notes: what is written between builds (insights, rules, notes)
    stage         a step of the build, a row of `pipeline/engine/stages.py`; artifact: a file that is published
    database      the DuckDB file; publication: all artifacts that one manifest names; edition: one as a server holds it
    pack          passages for a task within a budget; package: a folder of another repository
    diagnostic    what is wrong with the input, where, and what to do; drift: claims of the knowledge that do not hold
    scope         `system`: the framework's documents; `user`: the project's own
"""

from __future__ import annotations

from dataclasses import dataclass

from .vocabulary import (
    FORMATS,
    KINDS,
    RELATION_ORIGINS,
    RELATION_TYPES,
    RULE_SEVERITIES,
    SCOPES,
    SEVERITIES,
    TAG_ORIGINS,
)

SCHEMA_VERSION = 5
"""Raised with every change that an older reader cannot read."""

INDEX_VERSION = "1.0"
"""Version of the layout of syntropy-index.json (the knowledge-index seed's schema)."""

DOCUMENT_REF = "DOCUMENT"
CHUNK_REF = "CHUNK"


@dataclass(frozen=True)
class Column:
    """One column: a DuckDB type, or DOCUMENT/CHUNK for a reference; `null`: may be NULL; `stored`: in the database?"""

    name: str
    type: str
    description: str
    null: bool = False
    stored: bool = True


@dataclass(frozen=True)
class Table:
    """One table. `key` names the columns that are unique together (stage form)."""

    name: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    stage_only: bool = False
    whole: bool = False
    """Is it about all documents together? Then it lies beside the shards (`contract.shards`), where there are any."""

    def stage_columns(self) -> list[Column]:
        """Columns between stages: references spelled as uids and ordinals."""
        result: list[Column] = []
        for c in self.columns:
            if c.type == CHUNK_REF:
                result.append(Column("document", "VARCHAR", "uid of the document"))
                result.append(Column(c.name, "INTEGER", f"ordinal in its document: {c.description}"))
            elif c.type == DOCUMENT_REF:
                result.append(Column(c.name, "VARCHAR", f"uid: {c.description}", c.null))
            else:
                result.append(c)
        return result

    def database_columns(self) -> list[Column]:
        """Columns in DuckDB: references as `<name>_id INTEGER`; `chunks` names its document, too."""
        result: list[Column] = []
        for c in self.columns:
            if not c.stored:
                continue
            if c.type in (DOCUMENT_REF, CHUNK_REF):
                result.append(Column(f"{c.name}_id", "INTEGER", c.description, c.null))
            else:
                result.append(c)
            if c.type == CHUNK_REF and self.name == "chunks":
                result.append(Column("document_id", "INTEGER", "the document it belongs to"))
        return result


def _table(name: str, description: str, key: str, *columns: Column, **flags: bool) -> Table:
    return Table(name, description, columns, tuple(key.split()), **flags)


SOURCES = _table(
    "sources",
    "every file (or pruned folder) the walk met, and what became of it",
    "package path",
    Column("package", "VARCHAR", "`project`, or the alias of a context package"),
    Column("path", "VARCHAR", "POSIX path below the package's root"),
    Column("status", "VARCHAR", "indexed, excluded or rejected (rejected ones have a diagnostic)"),
    Column("reason", "VARCHAR", "rule that excluded or rejected it; for indexed files the source that took it"),
    Column(
        "kind",
        "VARCHAR",
        f"of its documents, or where each has its own: {', '.join(FORMATS)}; empty unless indexed",
    ),
    Column("scope", "VARCHAR", f"one of {', '.join(SCOPES)}; empty unless indexed"),
    Column("bytes", "BIGINT", "size of an indexed or rejected file in bytes; 0 for excluded ones"),
    Column("content_hash", "VARCHAR", "SHA-256 of the file's bytes; empty unless read"),
    whole=True,
)

DOCUMENTS = _table(
    "documents",
    "one row a document, with its full text",
    "document",
    Column("document", DOCUMENT_REF, "the document"),
    Column("package", "VARCHAR", "see sources"),
    Column("path", "VARCHAR", "see sources"),
    Column("file", "VARCHAR", "path of the file it was read from; for a part of a file, `path` is `file#id`"),
    Column("commit", "VARCHAR", "commit the text was read at; empty for the project's own files"),
    Column("scope", "VARCHAR", "system or user"),
    Column("kind", "VARCHAR", f"one of {', '.join(KINDS)}"),
    Column(
        "key",
        "VARCHAR",
        "short name, unique within (scope, kind): PRP id, file stem, topic/name, id of an entry or entity",
    ),
    Column("title", "VARCHAR", "title"),
    Column("title_origin", "VARCHAR", "frontmatter, heading, docstring, comment or file-name"),
    Column("summary", "VARCHAR", "frontmatter summary/description, or the first paragraph (at most 300 characters)"),
    Column(
        "status",
        "VARCHAR",
        "PRP status in lower case; empty for other kinds",
    ),
    Column("verified", "BOOLEAN", "PRPs: does the text say it was verified", True),
    Column("aliases", "VARCHAR[]", "other names, from the metadata"),
    Column("keywords", "VARCHAR[]", "search words, from the metadata"),
    Column("implementations", "VARCHAR[]", "PRPs and patterns: files the text claims; code names where it claims none"),
    Column("frontmatter", "VARCHAR", "metadata as JSON, keys sorted"),
    Column("text", "VARCHAR", "the file's decoded text, or its part as Markdown; offsets count its characters"),
    Column("body_start", "INTEGER", "character offset at which the body begins, after the frontmatter"),
    Column("line_count", "INTEGER", "lines of the text"),
    Column("content_hash", "VARCHAR", "SHA-256 of the file's bytes (for an entity, with its part of relations.json)"),
)

FILES = _table(
    "files",
    "files that were extracted, as they were then",
    "package path",
    Column("package", "VARCHAR", "see sources"),
    Column("path", "VARCHAR", "see sources"),
    Column("kind", "VARCHAR", "see sources"),
    Column("scope", "VARCHAR", "see sources"),
    Column("content_hash", "VARCHAR", "see sources"),
    stage_only=True,
)

TAGS = _table(
    "tags",
    "tags with the strategy that found them",
    "document tag",
    Column("document", DOCUMENT_REF, "the document"),
    Column("tag", "VARCHAR", "tag, lower case"),
    Column("origin", "VARCHAR", f"one of {', '.join(TAG_ORIGINS)}"),
    Column("position", "INTEGER", "order in the document, from 0"),
)

TAG_MARKS = _table(
    "tag_marks",
    "what texts say of their tags, as written",
    "document position",
    Column("document", DOCUMENT_REF, "the document"),
    Column("position", "INTEGER", "order in the document, from 0"),
    Column("origin", "VARCHAR", f"one of {', '.join(TAG_ORIGINS[:3])}"),
    Column("text", "VARCHAR", "the mark as written"),
    stage_only=True,
)

HEADINGS = _table(
    "headings",
    "sections of documents",
    "document ordinal",
    Column("document", DOCUMENT_REF, "the document"),
    Column("ordinal", "INTEGER", "position in the document, from 0"),
    Column("level", "INTEGER", "1 to 6"),
    Column("text", "VARCHAR", "heading without its marks"),
    Column("anchor", "VARCHAR", "GitHub anchor"),
    Column("line_start", "INTEGER", "line of the heading, from 1"),
    Column("line_end", "INTEGER", "last line of the section, subsections included"),
    Column("char_start", "INTEGER", "offset of the heading line"),
    Column("char_end", "INTEGER", "offset behind the section"),
)

MENTIONS = _table(
    "mentions",
    "raw references found in the text, before they are resolved",
    "document ordinal",
    Column("document", DOCUMENT_REF, "the document that mentions"),
    Column("ordinal", "INTEGER", "position in the document, from 0"),
    Column("target", "VARCHAR", "what is mentioned, as written"),
    Column("type", "VARCHAR", "relation it becomes when it resolves"),
    Column("origin", "VARCHAR", f"one of {', '.join(RELATION_ORIGINS)}"),
    Column("line", "INTEGER", "line, from 1"),
    Column("evidence", "VARCHAR", "the line's text, at most 200 characters"),
    stage_only=True,
)

OUTLINES = _table(
    "outlines",
    "block structure of documents, so that chunking need not parse again",
    "document",
    Column("document", DOCUMENT_REF, "the document"),
    Column("units", "VARCHAR", "JSON: [[first line, line behind, opening line of a fence or ''], …], lines from 0"),
    Column("words", "VARCHAR", "SHA-256 of the text's words, one space between: equal in copies"),
    stage_only=True,
)

RULES = _table(
    "rules",
    "directives of the rule files",
    "label",
    Column("label", "VARCHAR", "unique key"),
    Column("document", DOCUMENT_REF, "the file it stands in"),
    Column("scope", "VARCHAR", "system or user"),
    Column("severity", "VARCHAR", f"one of {', '.join(RULE_SEVERITIES)}"),
    Column("text", "VARCHAR", "the directive without Markdown marks"),
    Column("heading", "VARCHAR", "nearest heading above; may be empty"),
    Column("line", "INTEGER", "line, from 1"),
    Column(
        "applies_to",
        "VARCHAR[]",
        "gitignore patterns of the files it is about, from the project's root; skill:NAME while a skill is used; "
        "empty: all",
    ),
)

CHUNKS = _table(
    "chunks",
    "what is read and cited",
    "document chunk",
    Column("chunk", CHUNK_REF, "the chunk"),
    Column("title", "VARCHAR", "the document's title (search field)"),
    Column("aliases", "VARCHAR", "the document's aliases, a line each (search field)"),
    Column("keywords", "VARCHAR", "the document's keywords, a line each (search field)"),
    Column("summary", "VARCHAR", "the document's summary (search field)"),
    Column("headings", "VARCHAR", "heading path, joined by ' > ' (search field)"),
    Column("path", "VARCHAR", "the document's path (search field)"),
    Column("tags", "VARCHAR", "the document's tags (search field)"),
    Column("body", "VARCHAR", "the chunk's text, exactly as in the source"),
    Column("identifiers", "VARCHAR", "parts and joined forms of identifiers (search field)"),
    Column("line_start", "INTEGER", "first line, from 1"),
    Column("line_end", "INTEGER", "last line"),
    Column("char_start", "INTEGER", "offset in the document's text"),
    Column("char_end", "INTEGER", "offset behind the chunk"),
    Column("token_count", "INTEGER", "tokens of the embedding model"),
    Column("cut_fence", "VARCHAR", "opening line of the code fence in which the chunk begins; else empty"),
)

TERMS = _table(
    "terms",
    "terms of each chunk, so that the index need not read unchanged texts again",
    "document chunk",
    Column("chunk", CHUNK_REF, "the chunk"),
    Column("terms", "VARCHAR[]", "stemmed terms, field by field"),
    Column("fields", "INTEGER[]", "number of each term's field in the full-text index"),
    Column("counts", "INTEGER[]", "occurrences of each term in that field"),
    stage_only=True,
)

CHUNK_KEYS = _table(
    "chunk_keys",
    "what each document's chunks were made from, so that unchanged ones are kept",
    "document",
    Column("document", DOCUMENT_REF, "the document"),
    Column("input", "VARCHAR", "its content hash, kind, names, summary and tags, joined"),
    stage_only=True,
)

WINDOWS = _table(
    "windows",
    "what one vector covers: a span of a chunk",
    "document chunk window",
    Column("chunk", CHUNK_REF, "the chunk"),
    Column("window", "INTEGER", "position in the chunk, from 0"),
    Column("char_start", "INTEGER", "offset in the document's text"),
    Column("char_end", "INTEGER", "offset behind the window"),
    Column("text_hash", "VARCHAR", "SHA-256 of the embedded text; key of the embedding cache", stored=False),
)

RELATIONS = _table(
    "relations",
    "links between documents, and from documents to files",
    "from type to to_path origin",
    Column("from", DOCUMENT_REF, "the document the relation starts at"),
    Column("type", "VARCHAR", f"one of {', '.join(RELATION_TYPES)}"),
    Column("to", DOCUMENT_REF, "the document it points to; NULL where the target is a plain file", True),
    Column("to_path", "VARCHAR", "path of the target"),
    Column("origin", "VARCHAR", f"one of {', '.join(RELATION_ORIGINS)}"),
    Column(
        "score",
        "DOUBLE",
        "1 for explicit links; cosine for see_also",
    ),
    Column("line", "INTEGER", "line of the evidence, from 1; 0 where no line says it"),
    Column("evidence", "VARCHAR", "text of that line, at most 200 characters"),
    whole=True,
)

LINKS = _table(
    "links",
    "mentions that were resolved, as relations",
    "from type to to_path origin",
    *RELATIONS.columns,
    stage_only=True,
)

UNRESOLVED = _table(
    "unresolved",
    "mentions that promise something and lead nowhere",
    "document target code line message",
    Column("document", DOCUMENT_REF, "the document that mentions"),
    Column("target", "VARCHAR", "what is mentioned, as written"),
    Column("code", "VARCHAR", "see diagnostics"),
    Column("line", "INTEGER", "line, from 1"),
    Column("message", "VARCHAR", "see diagnostics"),
    Column("hint", "VARCHAR", "see diagnostics"),
    Column("severity", "VARCHAR", "see diagnostics"),
    stage_only=True,
)

DIAGNOSTICS = _table(
    "diagnostics",
    "what was wrong with the input and what to do",
    "stage code package path line message",
    Column("stage", "VARCHAR", "stage that found it"),
    Column("severity", "VARCHAR", f"one of {', '.join(SEVERITIES)}"),
    Column("code", "VARCHAR", "short name of the kind of problem"),
    Column("package", "VARCHAR", "see sources"),
    Column("path", "VARCHAR", "file"),
    Column("line", "INTEGER", "line, from 1; 0 where the whole file is meant"),
    Column("message", "VARCHAR", "what was found"),
    Column("hint", "VARCHAR", "what to do"),
    whole=True,
)

VIOLATIONS = _table(
    "violations",
    "drift: claims of the knowledge that do not hold",
    "type package path line message",
    Column("type", "VARCHAR", "missing-implementation, dangling-reference, unverified-prp or duplicate-key"),
    Column("package", "VARCHAR", "see sources"),
    Column("path", "VARCHAR", "file that makes the claim"),
    Column("line", "INTEGER", "line, from 1; 0 where the whole file is meant"),
    Column("message", "VARCHAR", "the claim and why it fails"),
    whole=True,
)

POSTINGS = _table(
    "postings",
    "inverted index with BM25F saturations, read by the fast reader; idf is applied when a query is asked",
    "term",
    Column("term", "VARCHAR", "stemmed term"),
    Column("df", "INTEGER", "chunks that hold the term"),
    Column("low", "FLOAT", "smallest of the saturations"),
    Column("high", "FLOAT", "largest of the saturations"),
    Column("chunk_ids", "INTEGER[]", "those chunks, ascending"),
    Column("saturations", "FLOAT[]", "of the term in each of them, 0-1: times its idf it is the BM25F score"),
)

NAMES = _table(
    "names",
    "titles, aliases, keys and file names as they are compared with a query: folded words, one space between",
    "name document_id origin",
    Column("name", "VARCHAR", "folded title, alias, key or file name"),
    Column("document_id", "INTEGER", "the document"),
    Column("origin", "VARCHAR", "title, alias (also for keys), or file (path and base name)"),
)

META = _table(
    "meta",
    "facts about this database",
    "key",
    Column("key", "VARCHAR", "name"),
    Column("value", "VARCHAR", "value"),
)

TABLES: dict[str, Table] = {
    t.name: t
    for t in (
        SOURCES,
        DOCUMENTS,
        FILES,
        TAG_MARKS,
        TAGS,
        HEADINGS,
        MENTIONS,
        OUTLINES,
        RULES,
        CHUNKS,
        TERMS,
        CHUNK_KEYS,
        WINDOWS,
        RELATIONS,
        LINKS,
        UNRESOLVED,
        DIAGNOSTICS,
        VIOLATIONS,
        POSTINGS,
        NAMES,
        META,
    )
}

PRIMARY_KEYS = {"documents": "document_id", "chunks": "chunk_id", "postings": "term", "meta": "key"}
"""Keys with an index in the database: what the reader looks up by (10 rows: 2 ms, without 76)."""


def database_tables() -> list[Table]:
    """The tables a reader of the database finds, in the order they are written."""
    return [t for t in TABLES.values() if not t.stage_only]


def create_table_sql(table: Table, *, vector_dimension: int = 0) -> str:
    """DDL of a table; `windows` gets its `vector FLOAT[dimension]` where there are vectors."""
    lines = []
    for c in table.database_columns():
        null = "" if c.null else " NOT NULL"
        lines.append(f'  "{c.name}" {c.type}{null}')
    if table is WINDOWS and vector_dimension:
        lines.append(f'  "vector" FLOAT[{vector_dimension}] NOT NULL')
    if primary := PRIMARY_KEYS.get(table.name):
        lines.append(f'  PRIMARY KEY ("{primary}")')
    return f'CREATE TABLE "{table.name}" (\n' + ",\n".join(lines) + "\n)"


def markdown() -> str:
    """`docs/schema.md`: the tables as a reader of the database sees them."""
    parts = [
        "# Database schema",
        "",
        f"Schema version {SCHEMA_VERSION}. Generated from `syntropy/contract/schema.py`; a test keeps it true.",
        "",
    ]
    for table in database_tables():
        parts += [
            f"## {table.name}",
            "",
            table.description[0].upper() + table.description[1:] + ".",
            "",
            "| column | type | what |",
            "|---|---|---|",
        ]
        rows = [
            (c.name, c.type + (" (may be NULL)" if c.null else ""), c.description) for c in table.database_columns()
        ]
        if table is WINDOWS:
            rows.append(("vector", "FLOAT[384]", "unit vector; the dimension is the model's"))
        parts += [f"| {name} | {kind} | {what} |" for name, kind, what in rows] + [""]
    parts += ["## Relation types", "", "| type | meaning |", "|---|---|"]
    parts += [f"| {name} | {what} |" for name, what in RELATION_TYPES.items()]
    return "\n".join(parts) + "\n"
