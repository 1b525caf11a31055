"""Configuration: one frozen dataclass tree, read from four places in a fixed order.

Flags > environment (`SYNTROPY_<SECTION>_<KEY>`) > project (`syntropy.toml`, found by walking up) >
global (`config.toml` in the user's configuration folder) > the defaults below. An unknown key, or a
value of the wrong type, is a :class:`~syntropy.contract.errors.ConfigError` that names the nearest known key.
"""

from __future__ import annotations

import math
import os
import re
import typing
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from .errors import ConfigError, ProjectNotFoundError
from .folders import CACHE_HOME, CONFIG_HOME, config_folder
from .settings import (
    FEDERATION,
    FREE,
    LOOPBACK,
    PACKAGES,
    SYNONYMS,
    BuildConfig,
    ChatConfig,
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
from .vocabulary import SEARCH_FIELDS

CONFIG_NAME = "syntropy.toml"
ENV_PREFIX = "SYNTROPY_"
RESERVED_ENV = frozenset({"SYNTROPY_PROJECT", "SYNTROPY_OUT", "SYNTROPY_DB", CONFIG_HOME, CACHE_HOME})
"""Environment variables that choose a project or database and are not configuration keys."""


__all__ = [
    "BuildConfig",
    "ChatConfig",
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
    return {name: cls for name, cls in _hints(Config).items() if name not in FREE}


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
        checked = _checked(layer, where)
        if project and where == str(project / CONFIG_NAME):
            _refuse_what_is_the_users(checked, where)
        for section, values in checked.items():
            merged.setdefault(section, {}).update(values)
    sections = {name: cls(**merged.get(name, {})) for name, cls in _sections().items()}
    config = Config(
        **sections,
        synonyms=merged.get(SYNONYMS, {}),
        packages=merged.get(PACKAGES, {}),
        federation=merged.get(FEDERATION, {}),
    )
    _check_limits(config)
    return config


def _read_toml(path: Path) -> Overrides:
    import tomllib  # 4 ms, and a reader of artifacts has no file to read

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint="fix the TOML at that place") from error


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
        raise ConfigError(f"{name}={raw!r} is neither true nor false", hint="use true or false")
    if hint in (int, float):
        try:
            return hint(raw)
        except ValueError as error:
            raise ConfigError(f"{name}={raw!r} is not a number", hint=f"give {_TYPE_NAMES[hint]}") from error
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
                    raise ConfigError(f"{where}: synonyms: {word!r} is not a single word", hint="give single words")
            continue
        if section == FEDERATION and isinstance(values, Mapping):
            result[FEDERATION] = {
                name: _typed(str, value, f"{where}: federation.{name}") for name, value in values.items()
            }
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
        raise ConfigError(f"{where}: {value!r} is not a package", hint='write { source = "https://…", path = "docs" }')
    for key in table:
        if key not in ("source", "path", "version"):
            raise _unknown("key", key, {"source": 0, "path": 0, "version": 0}, where)
    if not table.get("source"):
        raise ConfigError(f"{where}: has no source", hint="name its git address")
    return dict(table)


def _unknown(what: str, name: str, known: Mapping[str, Any], where: str) -> ConfigError:
    import difflib

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


def _check_limits(config: Config) -> None:
    """What the fields' metadata demand, and relations between values that no field can state."""
    for section in _sections():
        for one in fields(values := getattr(config, section)):
            _check_limit(f"{section}.{one.name}", getattr(values, one.name), one.metadata)
    chunk, embed, search, copy = config.chunk, config.embed, config.search, config.paths.index_copy
    rules = (
        (
            chunk.overlap_tokens <= chunk.target_tokens // 2,
            "chunk.overlap_tokens must be at most half of target_tokens",
        ),
        (embed.window_overlap < embed.window_tokens, "embed.window_overlap must be less than embed.window_tokens"),
        (
            search.lexical_weight + search.semantic_weight > 0,
            "one of search.lexical_weight and search.semantic_weight must be above 0",
        ),
        (any(getattr(config.ranking, name) for name in SEARCH_FIELDS), "one weight of [ranking] must be above 0"),
        (
            embed.engine not in ("ollama", "openai") or embed.model != "bundled",
            f'embed.engine = "{embed.engine}" needs the name of a model in embed.model',
        ),
        (
            not copy or (copy.endswith(".json") and ".." not in Path(copy).parts and not Path(copy).is_absolute()),
            f"paths.index_copy = {copy!r} must be a .json file below the project",
        ),
    )
    for holds, message in rules:
        if not holds:
            raise ConfigError(message, hint=_CHANGE_IT)


def _check_limit(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    wrong = ""
    if isinstance(value, float) and not math.isfinite(value):
        wrong = "a finite number"
    elif "at_most" in limits and not limits["at_least"] <= value <= limits["at_most"]:
        wrong = f"between {limits['at_least']} and {limits['at_most']}"
    elif "at_least" in limits and value < limits["at_least"]:
        wrong = f"at least {limits['at_least']}"
    elif "above" in limits and value <= limits["above"]:
        wrong = f"above {limits['above']}"
    elif "pattern" in limits and not re.fullmatch(limits["pattern"], value):
        wrong = limits["like"]
    if wrong:
        raise ConfigError(f"{name} = {value!r} must be {wrong}", hint=_CHANGE_IT)


def _host(address: str) -> str:
    from urllib.parse import urlsplit  # 3 ms, and few files name an address

    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


_CHANGE_IT = "change it in syntropy.toml, the environment or the flag"


def _refuse_what_is_the_users(layer: Mapping[str, Mapping[str, Any]], where: str) -> None:
    """A project's file comes from others: it picks no secret to send, and sends nothing beyond this machine."""
    for section, values in layer.items():
        for one in fields(_sections()[section]) if section in _sections() else ():
            owner = one.metadata.get("only_user")
            if not owner or one.name not in values or values[one.name] == one.default:
                continue
            if owner == "loopback" and _host(values[one.name]) in LOOPBACK:
                continue
            variable = f"{ENV_PREFIX}{section}_{one.name}".upper()
            what = "names an address beyond this machine" if owner == "loopback" else "is for the user to set"
            raise ConfigError(
                f"{where}: {section}.{one.name} = {values[one.name]!r} {what}",
                hint=f"if you trust it, set {variable}, or write it into {global_config_path()}",
            )


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
                one.name: _key_schema(_hints(section)[one.name], one.default, one.metadata) for one in fields(section)
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
            FEDERATION: {
                "type": "object",
                "description": "name = project, output folder or database that is searched together with this one",
                "additionalProperties": {"type": "string"},
            },
            PACKAGES: {
                "type": "object",
                "description": "alias = address, or a table of source, path and version",
                "additionalProperties": {"anyOf": [{"type": "string"}, parts]},
            },
        },
    }


def _key_schema(hint: Any, default: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:
    origin = typing.get_origin(hint)
    shape: dict[str, Any]
    if origin is tuple:
        shape, default = {"type": "array", "items": {"type": "string"}}, list(default)
    elif origin is Literal:
        shape = {"enum": list(typing.get_args(hint))}
    else:
        shape = {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[hint]}
    names = {"at_least": "minimum", "at_most": "maximum", "above": "exclusiveMinimum"}
    limits = {names[key]: value for key, value in metadata.items() if key in names}
    return {**shape, **limits, "description": metadata["doc"], "default": default}


def sections() -> dict[str, type]:
    """Section name -> its dataclass, in the order of the file."""
    return dict(_sections())
