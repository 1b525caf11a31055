"""`syntropy package`: context packages from other repositories."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from syntropy.cli.output import print_json, printable, split, warn
from syntropy.cli.place import locate
from syntropy.contract.config import Config, load_config
from syntropy.contract.errors import UsageError
from syntropy.contract.times import iso, now
from syntropy.setup import launcher


def setup(given: argparse.Namespace) -> int:
    """Read a registry, check access, install what is chosen."""
    config, packages = _project(given)
    manage, registry = launcher.package_manager(), launcher.builder_module("pipeline.packages.registry")
    address = given.registry or packages.registry or registry.default_registry(Path.home(), config.git)
    if not address:
        raise UsageError("no registry is known", hint="name one: syntropy package setup REGISTRY")
    menu = registry.read_menu(address, config.git, clock=time.monotonic)
    for warning in menu.warnings:
        warn(printable(warning))
    contexts = menu.contexts
    if given.select:
        contexts = registry.check_selected(menu, split(given.select))
    if not contexts:
        raise UsageError(f"the registry {menu.name or address} lists nothing", hint="check its contexts")
    checked = manage.check_access(contexts, config)
    for access in checked:
        if access.problem:
            warn(printable(f"{access.context.name}: skipped: {access.problem}"))
    readable = [access.context for access in checked if not access.problem]
    chosen = readable if given.yes or given.select else _ask(checked)
    if not chosen:
        print("nothing was installed")
        return 1 if not readable else 0
    _, outcomes = manage.setup(packages, config, chosen, registry=address, now=iso(now()))
    return _report(outcomes)


def add(given: argparse.Namespace) -> int:
    """Install one package."""
    config, packages = _project(given)
    _, outcome = launcher.package_manager().add(
        packages, config, given.url, path=given.path, alias=given.alias, version=given.version, now=iso(now())
    )
    return _report([outcome])


def install(given: argparse.Namespace) -> int:
    """Install what the lock says."""
    config, packages = _project(given)
    return _report(launcher.package_manager().install(packages, config))


def update(given: argparse.Namespace) -> int:
    """Update all packages, or those named."""
    config, packages = _project(given)
    if not packages.wanted and not given.alias:
        print("no packages (`syntropy package add URL` installs one)")
        return 0
    manage = launcher.package_manager()
    _, outcomes = manage.update(packages, config, given.alias, force=given.force, now=iso(now()))
    return _report(outcomes)


def list(given: argparse.Namespace) -> int:  # noqa: A001 (the verb's name)
    """What is listed and what is installed."""
    config, packages = _project(given)
    manage = launcher.package_manager()
    rows = []
    for package in packages.wanted:
        locked = packages.locked.get(package.alias)
        state = manage.state_of(packages, config, package)
        rows.append(
            {
                **package._asdict(),
                "state": state,
                "commit": locked.commit if locked else "",
                "updated_at": locked.updated_at if locked else "",
            }
        )
    if given.json:
        print_json({"registry": packages.registry, "packages": rows})
        return 0
    for row in rows:
        where = f"{row['source']}{':' + row['path'] if row['path'] else ''}"
        at = f"{row['commit'][:12] or '-'}  {row['version'] or 'HEAD'}"
        print(printable(f"{row['alias']}  {at}  {row['state']}  {where}"))
    if not rows:
        print("no packages (`syntropy package add URL` installs one)")
    return 0


def remove(given: argparse.Namespace) -> int:
    """Delete a package and its entry."""
    config, packages = _project(given)
    launcher.package_manager().remove(packages, config, given.alias, force=given.force)
    print(f"removed {given.alias}; the next `syntropy build` forgets it")
    return 0


def push(given: argparse.Namespace) -> int:
    """Push local changes of a package as a branch."""
    config, packages = _project(given)
    today = now().date()
    branch, where = launcher.package_manager().push(packages, config, given.alias, given.message, today=today)
    print(f"pushed {branch}\n  {printable(where)}")
    return 0


def _project(given: argparse.Namespace) -> tuple[Config, Any]:
    root = locate(given).root
    config = load_config(root)
    return config, launcher.builder_module("pipeline.packages.manifest").load_packages(root, config)


def _report(outcomes: Any) -> int:
    """One line a package; 1 where one failed."""
    for outcome in outcomes:
        if outcome.state == "failed":
            warn(printable(f"{outcome.alias}: {outcome.note.removeprefix(outcome.alias + ': ')}"))
            if outcome.hint:
                print(f"  {printable(outcome.hint)}", file=sys.stderr)
        else:
            print(f"{outcome.state} {outcome.alias} at {outcome.commit[:12]}")
    if any(outcome.state in ("installed", "updated") for outcome in outcomes):
        print("`syntropy build` indexes them")
    return 1 if any(outcome.state == "failed" for outcome in outcomes) else 0


def _ask(checked: Any) -> Any:
    """Checkboxes on a terminal."""
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise UsageError("there is no terminal to ask on", hint="say --yes, or --select NAME,NAME")
    import questionary  # 0.2 s, and only the wizard asks

    choices = [
        questionary.Choice(
            title=f"{a.context.name}: {a.context.description}" if a.context.description else a.context.name,
            value=a.context,
            disabled="access denied" if a.problem else None,
        )
        for a in checked
    ]
    return questionary.checkbox("Which packages?", choices=choices).ask() or []
