"""All connectors together: the project's own files, its installed packages, its notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.ground.diagnostics import Diagnostic
from pipeline.ground.digests import digest, digest_rows
from pipeline.packages.manifest import CHECKOUTS, FOLDER, Packages, load_packages
from pipeline.sources.notes import NotesConnector
from pipeline.sources.package import PackageConnector
from pipeline.sources.project import ProjectConnector
from pipeline.sources.protocol import Connector, Scan, SourceText
from syntropy.contract.config import Config
from syntropy.contract.identity import PROJECT_PACKAGE


def scan_all(root: Path, config: Config, own: Sequence[str]) -> Scan:
    """What all connectors met; a listed package that is not installed is a diagnostic.

    `own` are our outputs below the root, which no connector may read. Raises ConfigError.
    """
    packages = load_packages(root, config)
    readers = _connectors(root, config, own, packages)
    scans = [connector.scan() for connector in readers]
    installed = {connector.package for connector in readers}
    missing = [
        Diagnostic(
            "sources",
            "warning",
            "package",
            package.alias,
            ".",
            0,
            f"package {package.alias} is listed and not installed",
            "`syntropy package install`",
        )
        for package in packages.wanted
        if package.alias not in installed
    ]
    return Scan([f for scan in scans for f in scan.files], [*(d for scan in scans for d in scan.diagnostics), *missing])


def read_all(
    root: Path, config: Config, own: Sequence[str], wanted: Mapping[str, Sequence[str]]
) -> Iterator[SourceText | Diagnostic]:
    """What the connectors read of the wanted paths of each package; a file gone since the scan is a diagnostic."""
    for connector in _connectors(root, config, own, load_packages(root, config)):
        if paths := wanted.get(connector.package):
            yield from connector.read(paths)


def packages_of(scan: Scan) -> dict[str, str]:
    """Alias -> digest of what was met of a package."""
    rows: dict[str, list[Any]] = {}
    for file in scan.files:
        if file.package != PROJECT_PACKAGE:
            rows.setdefault(file.package, []).append(file)
    return {alias: digest_rows(files) for alias, files in rows.items()}


def scan_digest(scan: Scan) -> str:
    """Digest of a scan's rows, cheap enough to be taken before anything is loaded."""
    return digest(digest_rows(scan.files), digest_rows(scan.diagnostics))


def _connectors(root: Path, config: Config, own: Sequence[str], packages: Packages) -> list[Connector]:
    own = [*own, f"{FOLDER}/{CHECKOUTS}"]
    found: list[Connector] = [ProjectConnector(root, config.sources, own=own)]
    for package in packages.wanted:
        locked, checkout = packages.locked.get(package.alias), packages.checkout(package.alias)
        if locked is not None and (checkout / ".git").is_dir():
            found.append(
                PackageConnector(package.alias, checkout, locked.commit, locked.path, config.sources, config.git)
            )
    notes = root / config.notes.path
    if config.notes.in_build and notes.is_file():
        found.append(NotesConnector(notes))
    return found
