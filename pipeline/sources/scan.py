"""All connectors together: the project's own files, its installed packages, its notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.ground.diagnostics import Diagnostic
from pipeline.ground.digests import code_digest, digest, digest_rows
from pipeline.packages.manifest import CHECKOUTS, CONFIG, FOLDER, Packages, load_packages
from pipeline.sources.notes import NotesConnector
from pipeline.sources.package import PackageConnector
from pipeline.sources.project import ProjectConnector
from pipeline.sources.protocol import Connector, Scan, SourceText
from pipeline.sources.seen import SeenFiles
from syntropy.contract.config import Config
from syntropy.contract.errors import BuildError
from syntropy.contract.identity import PROJECT_PACKAGE

_INSTALL = "`syntropy package install`"
_NOCAAP = tuple(f"{FOLDER}/{name}" for name in ("INDEX.md", "index.orama.json", "index.json"))
"""What nocaap makes of the packages: nobody's source."""


def scan_all(root: Path, config: Config, own: Sequence[str], *, seen: SeenFiles | None = None) -> Scan:
    """What all connectors met. `own` are our outputs below the root, which no connector may read; what was `seen`
    before and is the same file is not read again.

    Raises BuildError where a package is not there as it is locked, unless `git.allow_missing`; then it is left out
    with a diagnostic. Raises ConfigError.
    """
    packages = load_packages(root, config)
    readers = _connectors(root, config, own, packages, seen or SeenFiles())
    scans = [connector.scan() for connector in readers]
    if seen is not None:
        seen.save()
    installed = {connector.package for connector in readers}
    lacking = [(p.alias, _lack(packages, p.alias)) for p in packages.wanted if p.alias not in installed]
    if lacking and not config.git.allow_missing:
        raise BuildError(
            "; ".join(f"package {alias} {why}" for alias, why in lacking),
            hint=f"{_INSTALL}, or build without (`--allow-missing`); what is published stays",
        )
    missing = [
        Diagnostic("sources", "warning", "package", alias, ".", 0, f"package {alias} {why}", _INSTALL)
        for alias, why in lacking
    ]
    return Scan([f for scan in scans for f in scan.files], [*(d for scan in scans for d in scan.diagnostics), *missing])


def read_all(
    root: Path, config: Config, own: Sequence[str], wanted: Mapping[str, Sequence[str]]
) -> Iterator[SourceText | Diagnostic]:
    """What the connectors read of the wanted paths of each package; a file gone since the scan is a diagnostic."""
    for connector in _connectors(root, config, own, load_packages(root, config), SeenFiles()):
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


def _lack(packages: Packages, alias: str) -> str:
    locked = packages.locked.get(alias)
    if not packages.checkout(alias).is_dir():
        return "is listed and not installed"
    return f"is not there as it is locked (at {locked.commit[:12]})" if locked else "is installed and not locked"


def seen_files(cache: Path, config: Config) -> SeenFiles:
    """What former scans with the same code and settings saw."""
    return SeenFiles(cache, digest(code_digest(), config.canonical_json("sources", "git", "notes")))


def _connectors(root: Path, config: Config, own: Sequence[str], packages: Packages, seen: SeenFiles) -> list[Connector]:
    own = [*own, f"{FOLDER}/{CHECKOUTS}", *(_NOCAAP if (root / FOLDER / CONFIG).is_file() else ())]
    found: list[Connector] = [ProjectConnector(root, config.sources, own=own, seen=seen)]
    for package in packages.wanted:
        locked, checkout = packages.locked.get(package.alias), packages.checkout(package.alias)
        if (checkout / ".git").exists():
            if locked is None:
                continue
            connector = PackageConnector(
                package.alias, checkout, locked.commit, locked.path, config.sources, config.git
            )
            if connector.has_commit():
                found.append(connector)
        elif checkout.is_dir() and any(checkout.iterdir()):  # vendored: committed with the project
            found.append(ProjectConnector(checkout, config.sources, package=package.alias, seen=seen))
    notes = root / config.notes.path
    if config.notes.in_build and notes.is_file():
        found.append(NotesConnector(notes))
    return found
