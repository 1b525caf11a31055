"""The user's own folders: configuration, and caches that all projects share."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

CONFIG_HOME = "SYNTROPY_CONFIG_HOME"
CACHE_HOME = "SYNTROPY_CACHE_HOME"


def config_folder(env: Mapping[str, str] | None = None) -> Path:
    """Where `config.toml` lies; `SYNTROPY_CONFIG_HOME` overrides it."""
    env = os.environ if env is None else env
    if override := env.get(CONFIG_HOME):
        return Path(override)
    if sys.platform == "win32":
        return Path(env.get("APPDATA") or Path.home() / "AppData/Roaming") / "syntropy"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/syntropy"
    return Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "syntropy"


def cache_folder(env: Mapping[str, str] | None = None) -> Path:
    """Where models and vectors lie that all projects share; `SYNTROPY_CACHE_HOME` overrides it. Safe to delete."""
    env = os.environ if env is None else env
    if override := env.get(CACHE_HOME):
        return Path(override)
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "syntropy/cache"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/syntropy"
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "syntropy"
