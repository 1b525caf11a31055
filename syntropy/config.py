"""Configuration: one frozen dataclass tree, read from four places in a fixed order.

Flags > environment (`SYNTROPY_<SECTION>_<KEY>`) > project (`syntropy.toml`, found by walking up) >
global (`config.toml` in the user's configuration folder) > the defaults below. An unknown key, or a
value of the wrong type, is a :class:`~syntropy.errors.ConfigError` that names the nearest known key.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import re
import sys
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from .errors import ConfigError, ProjectNotFoundError
from .schema import SEARCH_FIELDS

CONFIG_NAME = "syntropy.toml"
ENV_PREFIX = "SYNTROPY_"
RESERVED_ENV = frozenset({"SYNTROPY_PROJECT", "SYNTROPY_OUT", "SYNTROPY_DB", "SYNTROPY_CONFIG_HOME"})
"""Environment variables that choose a project or database and are no configuration keys."""


def _doc(text: str, default: Any) -> Any:
    """A field with its description, which `syntropy init` writes beside the value as a comment."""
    if isinstance(default, list | dict):
        raise TypeError("defaults must be immutable")
    return field(default=default, metadata={"doc": text})


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

    system_prps: tuple[str, ...] = _doc("framework PRPs", (".ce/PRPs/system/**",))
    system_examples: tuple[str, ...] = _doc("framework patterns", (".ce/examples/system/**",))
    system_rules: tuple[str, ...] = _doc("framework rules", (".ce/RULES.md",))
    system_docs: tuple[str, ...] = _doc("other framework documents", (".ce/**",))
    rules: tuple[str, ...] = _doc(
        "the project's rules, at any depth",
        ("**/CLAUDE.md", "**/CLAUDE.local.md", "**/AGENTS.md", "**/RULES.md"),
    )
    prps: tuple[str, ...] = _doc("PRPs; the folder below says executed or not", ("**/PRPs/**",))
    examples: tuple[str, ...] = _doc("patterns and examples", ("**/examples/**",))
    memories: tuple[str, ...] = _doc("agent memories; subfolders are topics", (".serena/memories/**",))
    docs: tuple[str, ...] = _doc("documentation", ("docs/**", "README.md", "**/*.md", "**/*.mdx"))
    include: tuple[str, ...] = _doc("only files that match one of these", ("**",))
    exclude: tuple[str, ...] = _doc(
        "never these",
        ("**/node_modules/**", "**/.venv/**", "**/venv/**", "**/__pycache__/**", "**/dist/**", "**/.DS_Store"),
    )
    respect_gitignore: bool = _doc("leave out what .gitignore files leave out", True)
    max_file_bytes: int = _doc("larger files are listed, not indexed (bytes)", 2_000_000)
    max_files: int = _doc("stop the build above this many files", 200_000)


@dataclass(frozen=True)
class ChunkConfig:
    """How documents are cut."""

    target_tokens: int = _doc("size of a chunk in tokens of the embedding model", 500)
    overlap_tokens: int = _doc("tokens repeated where a section had to be split", 50)
    min_tokens: int = _doc("a smaller section joins the next one of its parent", 40)
    whole_file_tokens: int = _doc("README/index files up to this size stay one chunk", 750)
    max_chunks_per_document: int = _doc("above it a document is listed, not indexed", 2_000)


@dataclass(frozen=True)
class EmbedConfig:
    """Which model makes the vectors, and how."""

    enabled: bool = _doc("without vectors only lexical search works", True)
    model: str = _doc("'bundled', a folder, or a sentence-transformers model name", "bundled")
    revision: str = _doc("revision of a model taken by name", "")
    engine: Literal["auto", "onnx", "sentence-transformers", "ollama", "openai"] = _doc(
        "auto: onnx for the bundled model on a CPU; ollama, openai: an endpoint (any that speaks its API)", "auto"
    )
    base_url: str = _doc("address of the endpoint; empty: Ollama on this machine", "")
    api_key_env: str = _doc("environment variable that holds the endpoint's key", "OPENAI_API_KEY")
    timeout_seconds: float = _doc("how long an endpoint may take for one request", 60.0)
    device: str = _doc("cpu, cuda, mps; for sentence-transformers", "cpu")
    window_tokens: int = _doc("tokens of a chunk that one vector covers", 128)
    window_overlap: int = _doc("tokens that neighbouring windows share", 32)
    threads: int = _doc("0: one for each core", 0)


@dataclass(frozen=True)
class LinkConfig:
    """When documents count as similar."""

    similar_threshold: float = _doc("cosine from which two documents are 'see also'", 0.6)
    similar_limit: int = _doc("see-also links a document gets at most", 5)
    similar_max_documents: int = _doc("above it no see-also (the comparison is quadratic)", 20_000)


@dataclass(frozen=True)
class StoreConfig:
    """How the database is built."""

    hnsw: Literal["auto", "always", "never"] = _doc("vector index; auto: from hnsw_min_vectors on", "auto")
    hnsw_min_vectors: int = _doc("below it an exact scan is as fast", 100_000)
    memory_limit: str = _doc("DuckDB's memory while building", "1GB")


@dataclass(frozen=True)
class RankingConfig:
    """BM25F weights; they go into the postings when the database is built."""

    k1: float = _doc("BM25 term saturation", 2.0)
    b: float = _doc("BM25 length normalisation, in each field", 0.75)
    title: float = _doc("BM25F weight of the title", 1.0)
    aliases: float = _doc("BM25F weight of aliases", 1.0)
    headings: float = _doc("BM25F weight of the heading path", 0.5)
    keywords: float = _doc("BM25F weight of keywords", 1.0)
    tags: float = _doc("BM25F weight of tags", 1.0)
    path: float = _doc("BM25F weight of the path", 0.75)
    summary: float = _doc("BM25F weight of the document's summary", 0.1)
    body: float = _doc("BM25F weight of the text", 1.0)
    identifiers: float = _doc("BM25F weight of identifiers' parts and joined forms", 0.5)


@dataclass(frozen=True)
class SearchConfig:
    """Defaults of `search`; a call's own arguments win."""

    mode: Literal["auto", "fast", "semantic", "hybrid"] = _doc(
        "fast: BM25; semantic: vectors; hybrid: both; auto: fast for up to 3 words without '?', else hybrid", "hybrid"
    )
    limit: int = _doc("hits returned", 10)
    threshold: float = _doc("hits below this score (0-1) are left out", 0.0)
    hits_per_document: int = _doc("hits one document may take; 0: no cap", 3)
    synonyms: bool = _doc("also look up synonyms; they never outrank the word itself", True)
    profile: Literal["", "measured", "nocaap"] = _doc(
        "a named set of the fusion keys below, which then do not count", ""
    )
    fusion: Literal["convex", "rrf"] = _doc("how both rankings become one: scores (convex) or ranks (rrf)", "convex")
    lexical_weight: float = _doc("weight of the lexical ranking", 0.5)
    semantic_weight: float = _doc("weight of the semantic ranking", 0.5)
    semantic_floor: float = _doc("without any word in common, a passage needs this cosine to be a hit", 0.3)
    rrf_k: int = _doc("constant of reciprocal rank fusion", 60)
    path_boost: float = _doc("share added for each word of the query in the path", 0.0)
    index_boost: float = _doc("share added for README and index files", 0.0)


@dataclass(frozen=True)
class EvalConfig:
    """The project's golden queries; where there are some, a build that answers them worse is not published."""

    queries: str = _doc("file of golden queries (JSONL) below the project; empty: none", "")
    baseline: str = _doc("file of the stored figures (`syntropy eval --save`)", "eval-baseline.json")
    tolerance: float = _doc("how much nDCG@10 of search.mode may fall below the baseline", 0.02)


@dataclass(frozen=True)
class ReaderConfig:
    """How readers behave."""

    stale_after: int = _doc("seconds after which changed sources are reported; -1: never", 300)


@dataclass(frozen=True)
class RenderConfig:
    """Limits of the overview."""

    index_max_tokens: int = _doc("budget of INDEX.md, at least 200", 8_000)


@dataclass(frozen=True)
class ScheduleConfig:
    """When Dagster rebuilds, once its schedule or sensor is switched on."""

    cron: str = _doc("schedule of the rebuild job (off until switched on in Dagster)", "0 5 * * *")
    sensor_seconds: int = _doc("how often the sensor looks for changed sources", 30)


@dataclass(frozen=True)
class Config:
    """The whole configuration; every section has defaults for every key."""

    project: ProjectConfig = ProjectConfig()
    paths: PathsConfig = PathsConfig()
    sources: SourcesConfig = SourcesConfig()
    chunk: ChunkConfig = ChunkConfig()
    embed: EmbedConfig = EmbedConfig()
    link: LinkConfig = LinkConfig()
    store: StoreConfig = StoreConfig()
    ranking: RankingConfig = RankingConfig()
    search: SearchConfig = SearchConfig()
    eval: EvalConfig = EvalConfig()
    reader: ReaderConfig = ReaderConfig()
    render: RenderConfig = RenderConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """`[synonyms]`: word = ["others", …], in addition to the built-in groups; they go into the database."""

    def canonical_json(self, *sections: str) -> str:
        """Sorted JSON of the named sections (all of them by default), for digests."""
        names = sections or tuple(f.name for f in fields(self))
        parts = {n: self.synonyms if n == SYNONYMS else vars(getattr(self, n)) for n in names}
        return json.dumps(parts, sort_keys=True)


Overrides = Mapping[str, Mapping[str, Any]]
"""Section -> key -> value, as a TOML file or a set of flags gives them."""

_TYPE_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}

SYNONYMS = "synonyms"
"""The one section whose keys are the user's own."""

_HINTS: dict[type, dict[str, Any]] = {}


def _hints(cls: type) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = typing.get_type_hints(cls)
    return _HINTS[cls]


def _sections() -> dict[str, Any]:
    """Section name -> dataclass of those with fixed keys."""
    return {name: cls for name, cls in _hints(Config).items() if name != SYNONYMS}


def find_project(start: Path) -> Path | None:
    """The nearest folder at or above `start` that holds `syntropy.toml`, or None."""
    here = start.absolute()
    for folder in (here, *here.parents):
        if (folder / CONFIG_NAME).is_file():
            return folder
    return None


def require_project(start: Path) -> Path:
    """Like :func:`find_project`; raises ProjectNotFoundError instead of returning None."""
    found = find_project(start)
    if found is None:
        raise ProjectNotFoundError(
            f"no {CONFIG_NAME} in {start} or any folder above it",
            hint=f"run `syntropy init {start}`, or name a project with --project",
        )
    return found


def global_config_path(env: Mapping[str, str] | None = None) -> Path:
    """`config.toml` in the user's configuration folder (`SYNTROPY_CONFIG_HOME` overrides it)."""
    env = os.environ if env is None else env
    if override := env.get("SYNTROPY_CONFIG_HOME"):
        return Path(override) / "config.toml"
    if sys.platform == "win32":
        base = Path(env.get("APPDATA") or Path.home() / "AppData/Roaming")
    elif sys.platform == "darwin":
        base = Path.home() / "Library/Application Support"
    else:
        base = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "syntropy" / "config.toml"


def load_config(
    project: Path | None,
    *,
    flags: Overrides | None = None,
    env: Mapping[str, str] | None = None,
) -> Config:
    """Read and merge the four layers over the defaults.

    `project` is the folder that holds `syntropy.toml` (None: no project layer). Raises ConfigError
    for unknown keys, wrong types and unreadable TOML.
    """
    env = os.environ if env is None else env
    merged: dict[str, dict[str, Any]] = {}
    files = (global_config_path(env), project / CONFIG_NAME if project else None)
    layers = [(_read_toml(path), str(path)) for path in files if path is not None and path.is_file()]
    for layer, where in (*layers, (_from_env(env), "environment"), (flags or {}, "flags")):
        for section, values in _checked(layer, where).items():
            merged.setdefault(section, {}).update(values)
    sections = {name: cls(**merged.get(name, {})) for name, cls in _sections().items()}
    config = Config(**sections, synonyms=merged.get(SYNONYMS, {}))
    _check_ranges(config)
    return config


def _read_toml(path: Path) -> Overrides:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint="mend the TOML at that place") from error


def _from_env(env: Mapping[str, str]) -> Overrides:
    found: dict[str, dict[str, Any]] = {}
    known = {
        f"{ENV_PREFIX}{section}_{f.name}".upper(): (section, f.name)
        for section, cls in _sections().items()
        for f in fields(cls)
    }
    for name, raw in sorted(env.items()):
        if not name.startswith(ENV_PREFIX) or name in RESERVED_ENV:
            continue
        if name not in known:
            raise _unknown("environment variable", name, known, "environment")
        section, key = known[name]
        hint = _hints(_sections()[section])[key]
        found.setdefault(section, {})[key] = _parse_text(hint, raw, name)
    return found


def _parse_text(hint: Any, raw: str, name: str) -> Any:
    """An environment variable's text as the type of its key; lists are comma separated."""
    if hint is bool:
        lowered = raw.strip().lower()
        if lowered in ("1", "true", "yes", "on"):
            return True
        if lowered in ("0", "false", "no", "off"):
            return False
        raise ConfigError(f"{name}={raw!r} is no yes or no", hint="use true or false")
    if hint in (int, float):
        try:
            return hint(raw)
        except ValueError as error:
            raise ConfigError(f"{name}={raw!r} is no number", hint=f"give {_TYPE_NAMES[hint]}") from error
    if typing.get_origin(hint) is tuple:
        return [part.strip() for part in raw.split(",") if part.strip()]
    return raw


def _checked(layer: Overrides, where: str) -> dict[str, dict[str, Any]]:
    sections = _sections()
    result: dict[str, dict[str, Any]] = {}
    for section, values in layer.items():
        if section == SYNONYMS and isinstance(values, Mapping):
            result[SYNONYMS] = {
                key: _typed(tuple[str, ...], value, f"{where}: synonyms.{key}") for key, value in values.items()
            }
            for word in (w for group in result[SYNONYMS].items() for w in (group[0], *group[1])):
                if len(word.split()) != 1:
                    raise ConfigError(f"{where}: synonyms: {word!r} is no single word", hint="give single words")
            continue
        if section not in sections:
            raise _unknown("section", section, sections, where)
        if not isinstance(values, Mapping):
            raise ConfigError(
                f"{where}: [{section}] must be a table, not {values!r}", hint=f"write [{section}] on a line of its own"
            )
        hints = _hints(sections[section])
        for key, value in values.items():
            if key not in hints:
                raise _unknown(f"key in [{section}]", key, hints, where)
            result.setdefault(section, {})[key] = _typed(hints[key], value, f"{where}: {section}.{key}")
    return result


def _unknown(what: str, name: str, known: Mapping[str, Any], where: str) -> ConfigError:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return ConfigError(f"{where}: unknown {what}: {name!r}", hint=hint)


def _typed(hint: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is tuple:
        if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
            return tuple(value)
        raise ConfigError(f"{where} = {value!r} must be a list of strings", hint='write ["a", "b"]')
    if origin is Literal:
        choices = typing.get_args(hint)
        if value in choices:
            return value
        raise ConfigError(f"{where} = {value!r}", hint=f"choose one of: {', '.join(map(str, choices))}")
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    raise ConfigError(f"{where} = {value!r} must be {_TYPE_NAMES[hint]}", hint="see `syntropy init`'s comments")


def _check_ranges(config: Config) -> None:
    """Relations between values that no type expresses."""
    chunk, embed, search, ranking = config.chunk, config.embed, config.search, config.ranking
    weights = [getattr(ranking, name) for name in SEARCH_FIELDS]
    rules = (
        (chunk.target_tokens >= 32, "chunk.target_tokens must be at least 32"),
        (
            0 <= chunk.overlap_tokens <= chunk.target_tokens // 2,
            "chunk.overlap_tokens must lie between 0 and half of chunk.target_tokens",
        ),
        (chunk.min_tokens >= 0, "chunk.min_tokens must not be negative"),
        (chunk.max_chunks_per_document >= 1, "chunk.max_chunks_per_document must be at least 1"),
        (embed.window_tokens >= 16, "embed.window_tokens must be at least 16"),
        (
            0 <= embed.window_overlap < embed.window_tokens,
            "embed.window_overlap must lie between 0 and embed.window_tokens",
        ),
        (search.limit >= 1, "search.limit must be at least 1"),
        (0.0 <= search.threshold <= 1.0, "search.threshold must lie between 0 and 1"),
        (
            search.lexical_weight >= 0
            and search.semantic_weight >= 0
            and 0 < search.lexical_weight + search.semantic_weight < math.inf,
            "search.lexical_weight and search.semantic_weight must not be negative, and one must be above 0",
        ),
        (0 <= config.eval.tolerance <= 1, "eval.tolerance must lie between 0 and 1"),
        (0 <= search.semantic_floor <= 1, "search.semantic_floor must lie between 0 and 1"),
        (search.rrf_k >= 1, "search.rrf_k must be at least 1"),
        (
            0 <= search.path_boost < math.inf and 0 <= search.index_boost < math.inf,
            "search.path_boost and search.index_boost must not be negative",
        ),
        (search.hits_per_document >= 0, "search.hits_per_document must not be negative"),
        (0 < ranking.k1 < math.inf, "ranking.k1 must be above 0"),
        (0 <= ranking.b <= 1, "ranking.b must lie between 0 and 1"),
        (
            all(0 <= weight < math.inf for weight in weights) and any(weights),
            "the weights of [ranking] must not be negative, and one must be above 0",
        ),
        (
            re.fullmatch(r"\d+(\.\d+)?\s*([KMGT]i?B|%)", config.store.memory_limit, re.IGNORECASE) is not None,
            f"store.memory_limit = {config.store.memory_limit!r} must be a size such as 1GB",
        ),
        (
            re.fullmatch(r"(cpu|cuda|mps|xpu)(:\d+)?", embed.device) is not None,
            f"embed.device = {embed.device!r} must be cpu, cuda, mps or xpu",
        ),
        (0 <= config.link.similar_threshold <= 1, "link.similar_threshold must lie between 0 and 1"),
        (config.link.similar_limit >= 0, "link.similar_limit must not be negative"),
        (len(config.schedule.cron.split()) == 5, f"schedule.cron = {config.schedule.cron!r} must have five fields"),
        (config.schedule.sensor_seconds >= 1, "schedule.sensor_seconds must be at least 1"),
        (
            embed.engine not in ("ollama", "openai") or embed.model != "bundled",
            f'embed.engine = "{embed.engine}" needs the name of a model in embed.model',
        ),
        (embed.timeout_seconds > 0, "embed.timeout_seconds must be above 0"),
        (embed.threads >= 0, "embed.threads must not be negative"),
        (
            not config.paths.index_copy
            or (
                config.paths.index_copy.endswith(".json")
                and ".." not in Path(config.paths.index_copy).parts
                and not Path(config.paths.index_copy).is_absolute()
            ),
            f"paths.index_copy = {config.paths.index_copy!r} must be a .json file below the project",
        ),
        (config.render.index_max_tokens >= 200, "render.index_max_tokens must be at least 200"),
        (config.sources.max_file_bytes >= 1, "sources.max_file_bytes must be at least 1"),
    )
    for holds, message in rules:
        if not holds:
            raise ConfigError(message, hint="change it in syntropy.toml, the environment or the flag")


def describe(section: type) -> list[tuple[str, Any, str]]:
    """(key, default, description) of every key of a section, in order."""
    return [(f.name, f.default, f.metadata.get("doc", "")) for f in fields(section)]


def sections() -> dict[str, type]:
    """Section name -> its dataclass, in the order of the file."""
    return dict(_sections())
