"""The sections of syntropy.toml: every key with its default and what it means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

SYNONYMS = "synonyms"
PACKAGES = "packages"
FEDERATION = "federation"
FREE = (SYNONYMS, PACKAGES, FEDERATION)
"""Sections whose keys are the user's own words."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine, for whom nobody else answers."""


def _doc(text: str, default: Any, **limits: Any) -> Any:
    """A field with its description, which `syntropy init` writes beside the value as a comment, and its limits.

    `at_least`, `at_most`, `above`: of a number; `pattern`: a regular expression for the whole text, with `like` as an
    example; `only_user`: True where a project's file may not set it, "loopback" where it may name this machine only.
    """
    if isinstance(default, list | dict):
        raise TypeError("defaults must be immutable")
    return field(default=default, metadata={"doc": text, **limits})


@dataclass(frozen=True)
class ProjectConfig:
    """What the project is called."""

    name: str = _doc("name shown in INDEX.md; default: the folder's name", "")
    framework_version: str = _doc("version of the framework whose documents lie in .ce/", "1.0")


@dataclass(frozen=True)
class PathsConfig:
    """Where outputs go, relative to the project."""

    out: str = _doc("folder of the published artifacts, relative to the project", "build")
    cache: str = _doc("folder of caches and build state; safe to delete", ".syntropy")
    index_copy: str = _doc("second place for syntropy-index.json, e.g. .ce/syntropy-index.json", "")


@dataclass(frozen=True)
class SourcesConfig:
    """Which files are taken, and as what: gitignore patterns, the first source that matches wins."""

    system_prps: tuple[str, ...] = _doc("framework PRPs", (".ce/PRPs/system/**", ".ce/PRPs/*/system/**"))
    system_examples: tuple[str, ...] = _doc("framework patterns", (".ce/examples/system/**",))
    system_rules: tuple[str, ...] = _doc("framework rules", (".ce/RULES.md",))
    system_docs: tuple[str, ...] = _doc("other framework documents", (".ce/**",))
    rules: tuple[str, ...] = _doc(
        "the project's rules, at any depth",
        (
            "**/CLAUDE.md",
            "**/CLAUDE.local.md",
            "**/AGENTS.md",
            "**/AGENTS.override.md",
            "**/GEMINI.md",
            "**/*RULES.md",
            "**/SKILL.md",
            "**/.claude/rules/**",
            "**/.cursor/rules/**",
            "**/*.mdc",
            "**/.cursorrules",
            "**/.github/copilot-instructions.md",
            "**/.github/instructions/**",
            "**/*.instructions.md",
            "**/.windsurf/rules/**",
            "**/.windsurfrules",
            "**/.clinerules",
            "**/.clinerules/**",
        ),
    )
    prps: tuple[str, ...] = _doc("PRPs; the folder below says executed or not", ("**/PRPs/**",))
    examples: tuple[str, ...] = _doc("patterns and examples", ("**/examples/**",))
    memories: tuple[str, ...] = _doc(
        "agent memories and logs; subfolders are topics",
        (".serena/memories/**", ".claude/memory/**", ".claude/memories/**", ".claude/logs/**", "memories/**"),
    )
    entries: tuple[str, ...] = _doc("entries: commands, guides, features, settings", ("knowledge/**",))
    consoles: tuple[str, ...] = _doc("TypeScript sources of command consoles", ())
    command_lines: tuple[str, ...] = _doc("Python and TypeScript sources of command lines", ())
    openapi: tuple[str, ...] = _doc(
        "OpenAPI 3 descriptions, and sources with @openapi comments",
        ("**/openapi.yaml", "**/openapi.yml", "**/openapi.json"),
    )
    canonical: tuple[str, ...] = _doc(
        "patterns, refactorings, laws, smells, beside a relations.json",
        tuple(f"raw/{name}/**" for name in ("design-patterns", "refactoring", "software-engineering", "code-smells")),
    )
    glossaries: tuple[str, ...] = _doc("tables of terms", ("**/glossary.csv", "**/glossary.tsv"))
    docs: tuple[str, ...] = _doc(
        "documentation", ("docs/**", "**/*.md", "**/*.mdx", "**/*.rst", "**/*.adoc", "**/*.ipynb", "**/llms*.txt")
    )
    include: tuple[str, ...] = _doc("only files that match one of these", ("**",))
    exclude: tuple[str, ...] = _doc(
        "never these",
        ("**/node_modules/**", "**/.venv/**", "**/venv/**", "**/__pycache__/**", "**/dist/**", "**/.DS_Store"),
    )
    respect_gitignore: bool = _doc("leave out what .gitignore files leave out", True)
    submodules: bool = _doc("read git submodules, too", False)
    max_file_bytes: int = _doc("larger files are listed, not indexed (bytes)", 2_000_000, at_least=1)
    max_files: int = _doc("stop the build above this many files", 200_000, at_least=1)


@dataclass(frozen=True)
class ChunkConfig:
    """How documents are cut."""

    target_tokens: int = _doc("size of a chunk in tokens of the embedding model", 500, at_least=32)
    overlap_tokens: int = _doc("tokens repeated where a section had to be split", 50, at_least=0)
    min_tokens: int = _doc("a smaller section joins the next one of its parent", 40, at_least=0)
    whole_file_tokens: int = _doc("README/index files up to this size stay one chunk", 750, at_least=0)
    max_chunks_per_document: int = _doc("above it a document is listed, not indexed", 2_000, at_least=1)


@dataclass(frozen=True)
class EmbedConfig:
    """Which model makes the vectors, and how."""

    enabled: bool = _doc("without vectors only lexical search works", True)
    model: str = _doc("'bundled', a folder, or a sentence-transformers model name", "bundled")
    weights: str = _doc("folder with the bundled model's model.safetensors; empty: looked for, else fetched once", "")
    revision: str = _doc("revision of a model taken by name", "")
    engine: Literal["auto", "onnx", "sentence-transformers", "ollama", "openai"] = _doc(
        "auto: onnx for the bundled model on a CPU; ollama, openai: an endpoint (any that speaks its API)", "auto"
    )
    base_url: str = _doc("address of the endpoint; empty: Ollama on this machine", "", only_user="loopback")
    api_key_env: str = _doc(
        "environment variable that holds the endpoint's key; for the user to set", "OPENAI_API_KEY", only_user=True
    )
    timeout_seconds: float = _doc("how long an endpoint may take for one request", 60.0, above=0)
    device: str = _doc(
        "cpu, cuda, mps; for sentence-transformers",
        "cpu",
        pattern=r"(cpu|cuda|mps|xpu)(:\d+)?",
        like="cpu, cuda, mps or xpu",
    )
    window_tokens: int = _doc("tokens of a chunk that one vector covers", 128, at_least=16)
    window_overlap: int = _doc("tokens that neighbouring windows share", 32, at_least=0)
    threads: int = _doc("0: one for each core", 0, at_least=0)


@dataclass(frozen=True)
class LinkConfig:
    """When documents count as similar."""

    similar_threshold: float = _doc("cosine from which two documents are 'see also'", 0.6, at_least=0, at_most=1)
    similar_limit: int = _doc("see-also links a document gets at most", 5, at_least=0)
    similar_max_documents: int = _doc("above it no see-also (the comparison is quadratic)", 20_000, at_least=0)


@dataclass(frozen=True)
class BuildConfig:
    """In how many parts a build works, and who does it."""

    shards: int = _doc(
        "parts of the database, each a file of its own, so that a change rewrites one of them; 0: one up to 1,000 "
        "files, else 8, and more from 400,000 on",
        0,
        at_least=0,
        at_most=127,
    )
    engine: Literal["serial", "processes", "dask", "ray"] = _doc(
        "who works on shards; serial: this process; processes: those of this machine; dask, ray: a cluster that sees "
        "project, cache and output under the same paths",
        "processes",
    )
    workers: int = _doc(
        "processes side by side; 0: as many as cores may be used (each takes up to 0.6 GB)", 0, at_least=0
    )
    address: str = _doc(
        "dask, ray: the scheduler, from the user's own configuration unless it is here; empty: workers here",
        "",
        only_user="loopback",
    )


@dataclass(frozen=True)
class StoreConfig:
    """How the database is built."""

    hnsw: Literal["auto", "always", "never"] = _doc("vector index; auto: from hnsw_min_vectors on", "auto")
    hnsw_min_vectors: int = _doc("below it an exact scan is as fast", 100_000, at_least=0)
    memory_limit: str = _doc(
        "DuckDB's memory while building", "1GB", pattern=r"(?i)\d+(\.\d+)?\s*([KMGT]i?B|%)", like="a size such as 1GB"
    )


@dataclass(frozen=True)
class RankingConfig:
    """BM25F weights; they go into the postings when the database is built."""

    k1: float = _doc("BM25 term saturation", 2.0, above=0)
    b: float = _doc("BM25 length normalisation, in each field", 0.75, at_least=0, at_most=1)
    title: float = _doc("BM25F weight of the title", 1.0, at_least=0)
    aliases: float = _doc("BM25F weight of aliases", 1.0, at_least=0)
    headings: float = _doc("BM25F weight of the heading path", 0.5, at_least=0)
    keywords: float = _doc("BM25F weight of keywords", 1.0, at_least=0)
    tags: float = _doc("BM25F weight of tags", 1.0, at_least=0)
    path: float = _doc("BM25F weight of the path", 0.75, at_least=0)
    summary: float = _doc("BM25F weight of the document's summary", 0.1, at_least=0)
    body: float = _doc("BM25F weight of the text", 1.0, at_least=0)
    identifiers: float = _doc("BM25F weight of identifiers' parts and joined forms", 0.5, at_least=0)


@dataclass(frozen=True)
class TagsConfig:
    """Tags of documents."""

    infer: bool = _doc("give documents the tags of others that their headings name (for filters; not searched)", False)


@dataclass(frozen=True)
class SearchConfig:
    """Defaults of `search`; a call's own arguments win."""

    mode: Literal["auto", "fast", "semantic", "hybrid"] = _doc(
        "fast: BM25; semantic: vectors; hybrid: both; auto: fast for up to 3 words without '?', else hybrid", "hybrid"
    )
    limit: int = _doc("hits returned", 10, at_least=1)
    threshold: float = _doc("hits below this score (0-1) are left out", 0.0, at_least=0, at_most=1)
    fold_copies: bool = _doc("show copies of a document as one hit", True)
    hits_per_document: int = _doc("hits one document may take; 0: no cap", 3, at_least=0)
    synonyms: bool = _doc("also look up synonyms; they never outrank the word itself", True)
    profile: Literal["", "measured", "nocaap"] = _doc(
        "a named set of the fusion keys below, which then do not count", ""
    )
    fusion: Literal["convex", "rrf"] = _doc("how both rankings become one: scores (convex) or ranks (rrf)", "convex")
    lexical_weight: float = _doc("weight of the lexical ranking", 0.5, at_least=0)
    semantic_weight: float = _doc("weight of the semantic ranking", 0.5, at_least=0)
    document_weight: float = _doc(
        "part of a passage's lexical score that its whole document gives", 0.15, at_least=0, at_most=1
    )
    second_look: bool = _doc("look at names, headings and texts of the best candidates again", True)
    semantic_floor: float = _doc(
        "without any word in common, a passage needs this cosine to be a hit", 0.3, at_least=0, at_most=1
    )
    rrf_k: int = _doc("constant of reciprocal rank fusion", 60, at_least=1)
    path_boost: float = _doc("share added for each word of the query in the path", 0.0, at_least=0)
    index_boost: float = _doc("share added for README and index files", 0.0, at_least=0)


@dataclass(frozen=True)
class EvalConfig:
    """The project's golden queries; where there are some, a build that answers them worse is not published."""

    queries: str = _doc("file of golden queries (JSONL) below the project; empty: none", "")
    baseline: str = _doc("file of the stored figures (`syntropy eval --save`)", "eval-baseline.json")
    tolerance: float = _doc("how much nDCG@10 of search.mode may fall below the baseline", 0.02, at_least=0, at_most=1)
    abstention_tolerance: float = _doc(
        "how much the share of absent questions caught may fall, and of others flagged rise",
        0.05,
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True)
class ReaderConfig:
    """How readers behave."""

    stale_after: int = _doc("seconds after which changed sources are reported; -1: never", 300, at_least=-1)
    memory_limit: str = _doc(
        "DuckDB's memory while reading; an index for vectors (1.7 GB a million) is used where it has room for it",
        "1GB",
        pattern=r"(?i)\d+(\.\d+)?\s*([KMGT]i?B|%)",
        like="a size such as 1GB",
    )


@dataclass(frozen=True)
class RenderConfig:
    """Limits of the overview."""

    index_max_tokens: int = _doc("budget of INDEX.md, at least 200", 8_000, at_least=200)


@dataclass(frozen=True)
class ProblemsConfig:
    """Which problems are known and not to be shown again."""

    ignore: tuple[str, ...] = _doc(
        "problems left out of lists, counts and --strict: CODE, CODE:PATH or *:PATH; * in a path stands for anything",
        (),
    )


@dataclass(frozen=True)
class ScheduleConfig:
    """When Dagster rebuilds, once its schedule or sensor is switched on."""

    cron: str = _doc(
        "schedule of the rebuild job (off until switched on in Dagster)",
        "0 5 * * *",
        pattern=r"\s*\S+(\s+\S+){4}\s*",
        like="five fields",
    )
    sensor_seconds: int = _doc("how often the sensor looks for changed sources", 30, at_least=1)


@dataclass(frozen=True)
class SecretsConfig:
    """Credentials in indexed texts."""

    redact: bool = _doc("replace credentials before a text is stored or embedded", True)
    allow: tuple[str, ...] = _doc("values that are not credentials, such as examples; * stands for anything", ())


@dataclass(frozen=True)
class NotesConfig:
    """The living layer: insights, rules and notes."""

    path: str = _doc("SQLite file below the project", ".context/notes.sqlite")
    in_build: bool = _doc("take insights and notes into the built knowledge, too", False)
    in_search: bool = _doc("show fresh insights and notes beside the built knowledge", True)


@dataclass(frozen=True)
class ServeConfig:
    """What agents are offered (`syntropy serve`, `syntropy tools`)."""

    tools: tuple[str, ...] = _doc(
        "groups: knowledge, commands, graph, notes (which writes); empty: those there is something for", ()
    )


@dataclass(frozen=True)
class ChatConfig:
    """The model behind `syntropy chat`."""

    base_url: str = _doc(
        "an OpenAI-compatible endpoint; in a project's file only on this machine",
        "http://127.0.0.1:11434/v1",
        only_user="loopback",
    )
    model: str = _doc("the model's name there", "")
    api_key_env: str = _doc(
        "environment variable that holds the endpoint's key; for the user to set", "OPENAI_API_KEY", only_user=True
    )
    tools: tuple[str, ...] = _doc("groups of tools the model may call; empty: those there is something for", ())
    max_iterations: int = _doc("rounds of tool calls for one question", 3, at_least=1, at_most=20)
    timeout_seconds: float = _doc("how long the endpoint may be silent", 60.0, above=0)
    retries: int = _doc("attempts after a failed request", 2, at_least=0)


@dataclass(frozen=True)
class GitConfig:
    """How context packages are fetched (`syntropy package`)."""

    allow_file: bool = _doc("also file:// addresses and paths of this machine", False)
    timeout_seconds: int = _doc("how long one git command or download may take", 120, at_least=1)
    workers: int = _doc("packages fetched side by side", 8, at_least=1)
    allow_missing: bool = _doc("build without packages that are not there as they are locked", False)
    registry: str = _doc("what `syntropy package setup` reads where none is named (else nocaap's default)", "")
    private_registries: bool = _doc(
        "read registries at private addresses, too; for the user to set", False, only_user=True
    )


@dataclass(frozen=True)
class Config:
    """The whole configuration; every section has defaults for every key."""

    project: ProjectConfig = ProjectConfig()
    paths: PathsConfig = PathsConfig()
    sources: SourcesConfig = SourcesConfig()
    tags: TagsConfig = TagsConfig()
    chunk: ChunkConfig = ChunkConfig()
    embed: EmbedConfig = EmbedConfig()
    link: LinkConfig = LinkConfig()
    build: BuildConfig = BuildConfig()
    store: StoreConfig = StoreConfig()
    ranking: RankingConfig = RankingConfig()
    search: SearchConfig = SearchConfig()
    eval: EvalConfig = EvalConfig()
    reader: ReaderConfig = ReaderConfig()
    render: RenderConfig = RenderConfig()
    problems: ProblemsConfig = ProblemsConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    secrets: SecretsConfig = SecretsConfig()
    git: GitConfig = GitConfig()
    notes: NotesConfig = NotesConfig()
    serve: ServeConfig = ServeConfig()
    chat: ChatConfig = ChatConfig()
    packages: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """`[packages]`: alias = { source = "…", path = "…", version = "…" }, instead of .context/context.config.json."""
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """`[synonyms]`: word = ["others", …], in addition to the built-in groups; they go into the database."""
    federation: Mapping[str, str] = field(default_factory=dict)
    """`[federation]`: name = "../other/project", its output folder or database: searched together with this one."""

    def canonical_json(self, *names: str) -> str:
        """Sorted JSON of the named sections or single keys (`embed.model`), of everything by default; for digests."""
        parts: dict[str, Any] = {}
        for name in names or tuple(f.name for f in fields(self)):
            section, _, key = name.partition(".")
            value = getattr(self, section)
            parts[name] = getattr(value, key) if key else value if section in FREE else vars(value)
        return json.dumps(parts, sort_keys=True)
