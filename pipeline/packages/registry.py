"""Registries (`nocaap-registry.json`): the menu of packages, with imports of other registries.

`{name, contexts: [{name, description, repo, path?, tags?}], imports?: [address]}`, from a file, a git
repository or https. Imports are followed with a visited set and limits of depth, number, size and time.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from pipeline.packages.git import check_address, git
from pipeline.packages.manifest import posix_path
from syntropy.contract.config import GitConfig
from syntropy.contract.errors import SyntropyError, UsageError

FILE = "nocaap-registry.json"
MAX_DEPTH = 5
MAX_REGISTRIES = 100
MAX_CONTEXTS = 10_000
MAX_BYTES = 5_000_000
MAX_SECONDS = 60.0
MAX_REDIRECTS = 5


class RegistryError(SyntropyError):
    """A registry cannot be read."""

    exit_code = 9


class Context(NamedTuple):
    """One entry of a menu, and the registry that has it."""

    name: str
    description: str
    repo: str
    path: str
    tags: tuple[str, ...]
    registry: str


@dataclass
class Menu:
    """All entries, in order and without repeats of (repo, path), and what could not be read."""

    name: str = ""
    contexts: list[Context] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_menu(address: str, settings: GitConfig, *, clock: Callable[[], float]) -> Menu:
    """A registry with its imports. Raises RegistryError where the first one itself cannot be read."""
    menu = Menu()
    visited: set[str] = set()
    ends = clock() + MAX_SECONDS
    waiting = [(address, 0)]
    while waiting:
        current, depth = waiting.pop(0)
        key = _normalised(current)
        if key in visited:
            continue
        if len(visited) >= MAX_REGISTRIES or clock() > ends:
            limit = f"{MAX_REGISTRIES} registries" if len(visited) >= MAX_REGISTRIES else f"{MAX_SECONDS:g} s"
            menu.warnings.append(f"stopped after {limit}: {len(waiting) + 1} imports were not read")
            break
        visited.add(key)
        try:
            data = _parsed(_text(current, settings), current)
        except SyntropyError as error:
            if depth == 0:
                raise RegistryError(error.message, hint=error.hint) from error
            menu.warnings.append(f"import {current}: {error.message}")
            continue
        menu.name = menu.name or str(data.get("name") or "")
        _add(menu, data, current)
        imports = [str(i) for i in data.get("imports") or [] if isinstance(i, str)]
        if depth >= MAX_DEPTH and imports:
            menu.warnings.append(f"{current}: its {len(imports)} imports are deeper than {MAX_DEPTH} levels")
            continue
        waiting += [(_joined(current, i), depth + 1) for i in imports[: MAX_REGISTRIES * 100]]
    return menu


def _add(menu: Menu, data: dict[str, Any], address: str) -> None:
    known = {(c.repo, c.path) for c in menu.contexts}
    listed = data.get("contexts")
    for number, entry in enumerate(listed if isinstance(listed, list) else [], 1):
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("repo"), str)
            or not isinstance(entry.get("name"), str)
        ):
            menu.warnings.append(f"{address}: context {number} has no name and repo")
            continue
        if len(menu.contexts) >= MAX_CONTEXTS:
            menu.warnings.append(f"{address}: more than {MAX_CONTEXTS} contexts")
            return
        tags = entry.get("tags")
        context = Context(
            " ".join(entry["name"].split()),
            " ".join(str(entry.get("description") or "").split()),
            entry["repo"].strip(),
            str(entry.get("path") or ""),
            tuple(str(t) for t in tags) if isinstance(tags, list) else (),
            address,
        )
        if (context.repo, context.path) not in known:
            known.add((context.repo, context.path))
            menu.contexts.append(context)


def _parsed(text: str, address: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RegistryError(f"{address} is not JSON: {error}", hint="fix the registry") from error
    if not isinstance(data, dict) or not isinstance(data.get("contexts", []), list):
        raise RegistryError(f"{address} is not a registry", hint='write {"name": …, "contexts": […]}')
    return data


def _text(address: str, settings: GitConfig) -> str:
    if address.startswith("https://") and address.endswith(".json"):
        return _download(address, settings)
    path = Path(address).expanduser()
    if "://" not in address and path.is_file():
        if path.stat().st_size > MAX_BYTES:
            raise RegistryError(f"{address} is larger than {MAX_BYTES} bytes", hint="split it by imports")
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RegistryError(f"{address} cannot be read: {error}", hint="check the file") from error
    if "://" not in address and "@" not in address:
        what = "is not a regular file" if path.exists() else "does not exist"
        raise RegistryError(f"{address} {what}", hint=f"name a file, an https address or a repository with {FILE}")
    return _from_git(address, settings)


def _from_git(address: str, settings: GitConfig) -> str:
    address, _, file = address.partition("#")
    file = posix_path(file) or FILE
    source = check_address(address, allow_file=settings.allow_file)

    def run(*arguments: str) -> bytes:
        return git(*arguments, cwd=Path(folder), timeout=settings.timeout_seconds, allow_file=settings.allow_file)

    with tempfile.TemporaryDirectory() as folder:
        run("init", "--quiet", "--bare")
        run("fetch", "--quiet", "--depth", "1", "--no-tags", f"--filter=blob:limit={MAX_BYTES}", "--", source, "HEAD")
        listed = run("ls-tree", "-l", "FETCH_HEAD", "--", file).split()
        if len(listed) < 4 or listed[1] != b"blob":
            hint = f"name the repository that has it, or the file: {address}#path/to/{FILE}"
            raise RegistryError(f"{address} holds no {file}", hint=hint)
        if int(listed[3]) > MAX_BYTES:
            raise RegistryError(f"{address}: {file} is larger than {MAX_BYTES} bytes", hint="split it by imports")
        return run("cat-file", "blob", f"FETCH_HEAD:{file}").decode("utf-8", "replace")


def _download(address: str, settings: GitConfig) -> str:
    """Over https, each redirect checked; never to an address that is not public."""
    import httpx  # 0.1 s, and only registries on the web need it

    try:
        with httpx.Client(timeout=min(30.0, settings.timeout_seconds), follow_redirects=False) as client:
            for _ in range(MAX_REDIRECTS + 1):
                check_public(address, private=settings.private_registries)
                with client.stream("GET", address) as response:
                    if response.is_redirect:
                        address = urljoin(address, response.headers.get("location", ""))
                        continue
                    if response.status_code != 200:
                        raise RegistryError(f"{address} answered {response.status_code}", hint="check the address")
                    body = b""
                    for part in response.iter_bytes():
                        body += part
                        if len(body) > MAX_BYTES:
                            raise RegistryError(
                                f"{address} is larger than {MAX_BYTES} bytes", hint="split it by imports"
                            )
                    return body.decode("utf-8", "replace")
    except httpx.HTTPError as error:
        raise RegistryError(f"{address} cannot be reached: {error}", hint="check the address, or try later") from error
    raise RegistryError(f"{address} redirects more than {MAX_REDIRECTS} times", hint="give its final address")


def check_public(address: str, *, private: bool = False) -> None:
    """Raises RegistryError for anything but https to public addresses; `private` where the user allows others."""
    parts = urlsplit(address)
    if parts.scheme != "https" or not parts.hostname:
        raise RegistryError(f"{address} is not https", hint="registries are read over https, from git, or from a file")
    try:
        found = {info[4][0] for info in socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise RegistryError(f"{parts.hostname} is not known: {error}", hint="check the address") from error
    for host in found:
        if not private and not ipaddress.ip_address(str(host).partition("%")[0]).is_global:
            hint = "give a public one or a file, or set git.private_registries in your own configuration"
            raise RegistryError(f"{address} leads to the private address {host}", hint=hint)


def _normalised(address: str) -> str:
    text = address.strip().rstrip("/").removesuffix(".git")
    parts = urlsplit(text)
    return text.replace(parts.netloc, parts.netloc.lower(), 1) if parts.netloc else str(Path(text).expanduser())


def _joined(base: str, address: str) -> str:
    """An import as its registry means it: relative ones lie beside it."""
    if "://" in address or address.startswith(("/", "~")) or "@" in address:
        return address
    if "://" in base:
        return urljoin(base, address)
    return str(Path(base).expanduser().parent / address)


def default_registry(home: Path, settings: GitConfig) -> str:
    """The registry of the configuration, else the default of nocaap's own (`~/.nocaap/config.json`); may be empty."""
    if settings.registry:
        return settings.registry
    try:
        data = json.loads((home / ".nocaap" / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    return str(data.get("defaultRegistry") or "") if isinstance(data, dict) else ""


def check_selected(menu: Menu, names: list[str]) -> list[Context]:
    """Contexts by name, as typed. Raises UsageError for one that is not on the menu."""
    exact = {c.name: c for c in reversed(menu.contexts)}
    folded = {c.name.casefold(): c for c in reversed(menu.contexts)}
    for name in names:
        if name not in exact and name.casefold() not in folded:
            raise UsageError(
                f"{name!r} is not in the registry", hint=f"it has: {', '.join(c.name for c in menu.contexts)}"
            )
    return [exact.get(name) or folded[name.casefold()] for name in names]
