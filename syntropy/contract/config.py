"""Configuration: one frozen dataclass tree, read from four places in a fixed order.

Flags > environment (`SYNTROPY_<SECTION>_<KEY>`) > project (`syntropy.toml`, found by walking up) >
global (`config.toml` in the user's configuration folder) > the defaults below. An unknown key, or a
value of the wrong type, is a :class:`~syntropy.contract.errors.ConfigError` that names the nearest known key.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from .errors import ConfigError, ProjectNotFoundError
from .folders import CACHE_HOME, CONFIG_HOME, config_folder
from .schema import SEARCH_FIELDS
from .settings import (
    PACKAGES,
    SYNONYMS,
    ChunkConfig,
    Config,
    EmbedConfig,
    EvalConfig,
    GitConfig,
    LinkConfig,
    NotesConfig,
    PathsConfig,
    ProjectConfig,
    RankingConfig,
    ReaderConfig,
    RenderConfig,
    ScheduleConfig,
    SearchConfig,
    SecretsConfig,
    SourcesConfig,
    StoreConfig,
    TagsConfig,
)

CONFIG_NAME = "syntropy.toml"
ENV_PREFIX = "SYNTROPY_"
RESERVED_ENV = frozenset({"SYNTROPY_PROJECT", "SYNTROPY_OUT", "SYNTROPY_DB", CONFIG_HOME, CACHE_HOME})
"""Environment variables that choose a project or database and are no configuration keys."""


__all__ = [
    "ChunkConfig",
    "Config",
    "EmbedConfig",
    "EvalConfig",
    "GitConfig",
    "LinkConfig",
    "NotesConfig",
    "PathsConfig",
    "ProjectConfig",
    "RankingConfig",
    "ReaderConfig",
    "RenderConfig",
    "ScheduleConfig",
    "SearchConfig",
    "SecretsConfig",
    "SourcesConfig",
    "StoreConfig",
    "TagsConfig",
]


Overrides = Mapping[str, Mapping[str, Any]]
"""Section -> key -> value, as a TOML file or a set of flags gives them."""

_TYPE_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


_HINTS: dict[type, dict[str, Any]] = {}


def _hints(cls: type) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = typing.get_type_hints(cls)
    return _HINTS[cls]


def _sections() -> dict[str, Any]:
    """Section name -> dataclass of those with fixed keys."""
    return {name: cls for name, cls in _hints(Config).items() if name not in (SYNONYMS, PACKAGES)}


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
    return config_folder(env) / "config.toml"


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
    config = Config(**sections, synonyms=merged.get(SYNONYMS, {}), packages=merged.get(PACKAGES, {}))
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
        if section == PACKAGES and isinstance(values, Mapping):
            result[PACKAGES] = {alias: _package(value, f"{where}: packages.{alias}") for alias, value in values.items()}
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


def _package(value: Any, where: str) -> dict[str, str]:
    """A package as its address alone, or a table of source, path and version."""
    table = {"source": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping) or not all(isinstance(text, str) for text in table.values()):
        raise ConfigError(f"{where}: {value!r} is no package", hint='write { source = "https://…", path = "docs" }')
    for key in table:
        if key not in ("source", "path", "version"):
            raise _unknown("key", key, {"source": 0, "path": 0, "version": 0}, where)
    if not table.get("source"):
        raise ConfigError(f"{where}: has no source", hint="name its git address")
    return dict(table)


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


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of syntropy.toml, for editors."""
    tables = {
        name: {
            "type": "object",
            "description": (section.__doc__ or "").strip(),
            "additionalProperties": False,
            "properties": {
                key: _key_schema(_hints(section)[key], default, what) for key, default, what in describe(section)
            },
        }
        for name, section in _sections().items()
    }
    texts = {"type": "array", "items": {"type": "string"}}
    parts = {"type": "object", "additionalProperties": False, "required": ["source"],
             "properties": {key: {"type": "string"} for key in ("source", "path", "version")}}  # fmt: skip
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": CONFIG_NAME,
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **tables,
            SYNONYMS: {"type": "object", "description": "word = [others]", "additionalProperties": texts},
            PACKAGES: {
                "type": "object",
                "description": "alias = address, or a table of source, path and version",
                "additionalProperties": {"anyOf": [{"type": "string"}, parts]},
            },
        },
    }


def _key_schema(hint: Any, default: Any, what: str) -> dict[str, Any]:
    origin = typing.get_origin(hint)
    shape: dict[str, Any]
    if origin is tuple:
        shape, default = {"type": "array", "items": {"type": "string"}}, list(default)
    elif origin is Literal:
        shape = {"enum": list(typing.get_args(hint))}
    else:
        shape = {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[hint]}
    return {**shape, "description": what, "default": default}


def sections() -> dict[str, type]:
    """Section name -> its dataclass, in the order of the file."""
    return dict(_sections())
