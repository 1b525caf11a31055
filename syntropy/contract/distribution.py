"""What this is called in the package index, and how more of it is installed.

The import name and the command are `syntropy`; that name in the index belongs to somebody else's package.
Every hint, page and workflow takes the name from here (a test reads them all).
"""

from __future__ import annotations

import json
import os
from importlib import metadata
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "syntropy-knowledge"


def install_command(extra: str) -> str:
    """The `pip` command that adds an extra to this installation, from where it came: index, folder, file or git."""
    return f"pip install {_quoted(_requirement(extra))}"


def _requirement(extra: str) -> str:
    """What pip is to be told; see the "direct URL data structure" of the Python Packaging User Guide."""
    try:
        found = json.loads(metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
        address = str(found.get("url") or "")
    except (metadata.PackageNotFoundError, ValueError, OSError, AttributeError):
        found, address = {}, ""
    if "vcs_info" in found:
        vcs = found["vcs_info"]
        return f"{DISTRIBUTION}[{extra}] @ {vcs.get('vcs', 'git')}+{address}@{vcs.get('commit_id', 'HEAD')}"
    place = unquote(urlsplit(address).path) if address.startswith("file:") else ""
    return f"{place}[{extra}]" if place and os.path.exists(place) else f"{DISTRIBUTION}[{extra}]"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"' if "'" in text else f"'{text}'"
