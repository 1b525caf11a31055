"""Which context packages a build used, as readers may be told."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.packages.manifest import load_packages
from syntropy.contract.config import Config


def package_sources(root: Path, config: Config) -> str:
    """JSON of what is installed: {alias: {source, path, version}}, addresses without credentials."""
    packages = load_packages(root, config)
    installed = {
        package.alias: {
            "source": _without_credentials(package.source),
            "path": package.path,
            "version": package.version,
        }
        for package in packages.wanted
        if package.alias in packages.locked
    }
    return json.dumps(installed, sort_keys=True, ensure_ascii=False)


def _without_credentials(address: str) -> str:
    """An address as it may be published: `git@host:path` stays; of a URL neither user nor query."""
    scheme, found, rest = address.partition("://")
    if not found:
        return address
    place = rest.partition("?")[0].partition("#")[0]
    return f"{scheme}://{place.rpartition('@')[2]}"
