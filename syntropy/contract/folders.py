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
    return _folder(env, CONFIG_HOME, "APPDATA", "AppData/Roaming", "Application Support", "XDG_CONFIG_HOME", ".config")


def cache_folder(env: Mapping[str, str] | None = None) -> Path:
    """Where models and vectors lie that all projects share; `SYNTROPY_CACHE_HOME` overrides it. Safe to delete."""
    return _folder(env, CACHE_HOME, "LOCALAPPDATA", "AppData/Local", "Caches", "XDG_CACHE_HOME", ".cache", "cache")


def data_folder(env: Mapping[str, str] | None = None) -> Path:
    """Where the notes lie that follow a person."""
    return _folder(env, "", "LOCALAPPDATA", "AppData/Local", "Application Support", "XDG_DATA_HOME", ".local/share")


def _folder(
    env: Mapping[str, str] | None,
    override: str,
    windows: str,
    windows_default: str,
    mac: str,
    xdg: str,
    xdg_default: str,
    below_on_windows: str = "",
) -> Path:
    """One of the user's folders, by the rules of the system; `windows` and `xdg` name variables."""
    env = os.environ if env is None else env
    if given := env.get(override):
        return Path(given)
    if sys.platform == "win32":
        return Path(env.get(windows) or Path.home() / windows_default) / "syntropy" / below_on_windows
    if sys.platform == "darwin":
        return Path.home() / "Library" / mac / "syntropy"
    return Path(env.get(xdg) or Path.home() / xdg_default) / "syntropy"
