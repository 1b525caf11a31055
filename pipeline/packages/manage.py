"""The use cases of `syntropy package`: each takes the project's packages and gives a report of what it did."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

from pipeline.packages.checkout import Checkout
from pipeline.packages.git import GitError, check_address
from pipeline.packages.manifest import Locked, Package, Packages, alias_of, check_alias, posix_path
from pipeline.packages.registry import Context
from syntropy.contract.config import Config
from syntropy.contract.errors import SyntropyError, UsageError

MAX_NAMED = 58
"""Characters of an alias made from a name: room for a number behind it (`check_alias` allows 64)."""


class Outcome(NamedTuple):
    """What became of one package: installed, updated, unchanged or failed; the commit, and a remark."""

    alias: str
    state: str
    commit: str
    note: str = ""
    hint: str = ""


class Access(NamedTuple):
    """Whether a registry's context can be read, and why not."""

    context: Context
    problem: str = ""


def add(
    packages: Packages, config: Config, address: str, *, path: str = "", alias: str = "", version: str = "", now: str
) -> tuple[Packages, Outcome]:
    """Install a package and list it. Raises UsageError, GitError; nothing is listed that was not installed."""
    source = check_address(address, allow_file=config.git.allow_file)
    folder = posix_path(path)
    name = check_alias(alias or alias_of(source, folder))
    if any(p.alias == name for p in packages.wanted):
        raise UsageError(f"a package {name!r} exists", hint=f"`syntropy package update {name}`, or choose --alias")
    if packages.in_toml:
        packages.save_wanted()  # says where packages are listed
    package = Package(name, source, folder, version)
    outcome, locked = _update(packages, config, package, now=now, force=False)
    if locked is None:
        raise GitError(outcome.note, hint=outcome.hint)
    changed = replace(packages.with_package(package), locked={**packages.locked, name: locked})
    changed.save_lock()
    changed.save_wanted()
    return changed, outcome


def update(
    packages: Packages, config: Config, aliases: Sequence[str], *, force: bool, now: str
) -> tuple[Packages, list[Outcome]]:
    """Bring packages up to date, several side by side.

    Each is asked once (`ls-remote`); what has not moved is not fetched, unless `force`. One that fails
    keeps its last good version, and the others go on.
    """
    chosen = [packages.package(alias) for alias in aliases] if aliases else list(packages.wanted)
    with ThreadPoolExecutor(max(1, config.git.workers)) as pool:
        done = list(pool.map(lambda p: _update(packages, config, p, now=now, force=force), chosen))
    locked = {**packages.locked, **{o.alias: lock for o, lock in done if lock is not None}}
    changed = replace(packages, locked=locked)
    if locked != packages.locked:
        changed.save_lock()
    return changed, [outcome for outcome, _ in done]


def install(packages: Packages, config: Config) -> list[Outcome]:
    """Put every package into place as it is locked, in a fresh clone; those that are there stay as they are."""

    def one(package: Package) -> Outcome:
        locked = packages.locked.get(package.alias)
        checkout = Checkout(packages.checkout(package.alias), package, config.git)
        if locked is None:
            return Outcome(package.alias, "failed", "", "is not locked", f"`syntropy package update {package.alias}`")
        state = "installed"
        try:
            if checkout.folder.is_dir():
                if not (checkout.folder / ".git").is_dir():
                    return Outcome(package.alias, "unchanged", locked.commit, "vendored: used as it is")
                if checkout.head() == locked.commit:
                    return Outcome(package.alias, "unchanged", locked.commit)
                checkout.refuse_local_work(locked)
                state = "updated"
            checkout.install(locked.commit)
        except SyntropyError as error:
            return Outcome(package.alias, "failed", locked.commit, error.message, error.hint)
        return Outcome(package.alias, state, locked.commit)

    with ThreadPoolExecutor(max(1, config.git.workers)) as pool:
        return list(pool.map(one, packages.wanted))


def state_of(packages: Packages, config: Config, package: Package) -> str:
    """Installed, vendored or not installed; what differs from the list or the lock; what was changed by hand."""
    locked = packages.locked.get(package.alias)
    checkout = Checkout(packages.checkout(package.alias), package, config.git)
    if not checkout.folder.is_dir():
        return "not installed"
    if not (checkout.folder / ".git").exists():
        return "vendored"
    if locked is None:
        return "not locked"
    if locked.path != package.path:
        return "path changed"
    try:
        work = checkout.local_work(locked)
    except SyntropyError as error:
        return f"damaged: {error.message}"
    if work:
        return f"local changes: {work}"
    return "installed" if checkout.has(locked.commit) else "not as locked"


def remove(packages: Packages, config: Config, alias: str, *, force: bool) -> Packages:
    """Unlist and delete a package. Raises LocalChangesError where work would be lost, unless `force`."""
    package = packages.package(alias)
    if packages.in_toml:
        packages.save_wanted()
    checkout = Checkout(packages.checkout(alias), package, config.git)
    if not force:
        checkout.refuse_local_work(packages.locked.get(alias))
    changed = packages.without(alias)
    changed.save_wanted()
    changed.save_lock()
    shutil.rmtree(checkout.folder, ignore_errors=True)
    return changed


def push(packages: Packages, config: Config, alias: str, message: str, *, today: date) -> tuple[str, str]:
    """(branch, how to open a pull request) after pushing a package's changes as a new branch. Raises UsageError."""
    package = packages.package(alias)
    locked = packages.locked.get(alias)
    if locked is None:
        raise UsageError(f"{alias} is not installed", hint=f"`syntropy package update {alias}`")
    if not message.strip():
        raise UsageError("the message is empty", hint="say what changed with -m")
    checkout = Checkout(packages.checkout(alias), package, config.git)
    branch = checkout.push(message, f"syntropy/{alias}-{today.isoformat()}", locked)
    return branch, pull_request_hint(package.source, branch, base=packages.base_branch())


def pull_request_hint(source: str, branch: str, *, base: str = "") -> str:
    """Where a pull request of a branch is opened; for hosts without a known page, in words."""
    address = source.removesuffix(".git")
    if "://" not in address and "@" in address:
        address = "https://" + address.partition("@")[2].replace(":", "/", 1)
    address = address.replace("ssh://git@", "https://")
    host = address.partition("://")[2].partition("/")[0]
    if "github" in host:
        return f"{address}/compare/{base + '...' if base else ''}{branch}?expand=1"
    if "gitlab" in host:
        target = f"&merge_request%5Btarget_branch%5D={base}" if base else ""
        return f"{address}/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}{target}"
    if "bitbucket" in host:
        return f"{address}/pull-requests/new?source={branch}{f'&dest={base}' if base else ''}"
    return f"open a pull request for the branch {branch} of {source}{f' against {base}' if base else ''}"


def check_access(contexts: Iterable[Context], config: Config) -> list[Access]:
    """Which contexts can be read, by one `ls-remote` a repository, side by side."""
    listed = list(contexts)
    repositories = list(dict.fromkeys(context.repo for context in listed))

    def ask(repository: str) -> str:
        try:
            Checkout(Path(), Package("access", repository), config.git).upstream()
        except SyntropyError as error:
            return error.message
        return ""

    with ThreadPoolExecutor(max(1, config.git.workers)) as pool:
        problems = dict(zip(repositories, pool.map(ask, repositories), strict=True))
    return [Access(context, problems[context.repo]) for context in listed]


def setup(
    packages: Packages, config: Config, contexts: Sequence[Context], *, registry: str, now: str
) -> tuple[Packages, list[Outcome]]:
    """List and install contexts of a registry, and remember its address. Those that fail are not listed."""
    packages = replace(packages, registry=registry)
    if packages.in_toml:
        packages.save_wanted()
    known = {(p.source, p.path) for p in packages.wanted}
    taken = {p.alias for p in packages.wanted}
    new: list[Package] = []
    refused: list[Outcome] = []
    for context in contexts:
        try:
            path = posix_path(context.path)
            source = check_address(context.repo, allow_file=config.git.allow_file)
        except UsageError as error:
            refused.append(Outcome(context.name, "failed", "", error.message, error.hint))
            continue
        if (source, path) in known:
            continue
        name = alias_of(context.name.replace(" ", "-"), "")[:MAX_NAMED].rstrip("-._")
        name = f"{name.removesuffix('.lock')}-lock" if name.endswith(".lock") else name
        alias = check_alias(next(a for a in (name, *(f"{name}-{n}" for n in range(2, 10_000))) if a not in taken))
        taken.add(alias)
        new.append(Package(alias, source, path))
    with ThreadPoolExecutor(max(1, config.git.workers)) as pool:
        done = list(pool.map(lambda p: (p, *_update(packages, config, p, now=now, force=False)), new))
    for package, _, locked in done:
        if locked is not None:
            packages = replace(packages.with_package(package), locked={**packages.locked, package.alias: locked})
    packages.save_lock()
    packages.save_wanted()
    return packages, [*refused, *(outcome for _, outcome, _ in done)]


def _update(
    packages: Packages, config: Config, package: Package, *, now: str, force: bool
) -> tuple[Outcome, Locked | None]:
    """Never raises for what concerns one package only: that is its outcome."""
    former = packages.locked.get(package.alias)
    checkout = Checkout(packages.checkout(package.alias), package, config.git)
    try:
        commit = checkout.upstream()
        same = former is not None and former.commit == commit and former.path == package.path
        if former is not None and same and not force and checkout.folder.is_dir():
            return Outcome(package.alias, "unchanged", commit), former
        checkout.refuse_local_work(former)
        checkout.install(commit)
    except OSError as error:
        return Outcome(package.alias, "failed", "", f"{checkout.folder} cannot be written: {error.strerror}", ""), None
    except SyntropyError as error:
        kept = f"; kept at {former.commit[:12]}" if former is not None and checkout.folder.exists() else ""
        return Outcome(package.alias, "failed", former.commit if former else "", error.message + kept, error.hint), None
    state = "updated" if former is not None else "installed"
    return Outcome(package.alias, state, commit), Locked(commit, package.path, now)
