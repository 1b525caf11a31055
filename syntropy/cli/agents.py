"""Commands for agents: the MCP server, function definitions, the chat, context packs, citations."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from syntropy.cli.output import print_json, printable, split, warn
from syntropy.cli.place import federated, locate, opened, owner_of
from syntropy.contract.config import ChatConfig
from syntropy.contract.distribution import install_command
from syntropy.contract.errors import MissingDependencyError, SyntropyError, UsageError
from syntropy.contract.published import DATABASE
from syntropy.setup.clients import CLIENTS, address_of, client_config, remote_config, server_key
from syntropy.setup.launcher import program

if TYPE_CHECKING:
    from syntropy.chat.loop import Text, Turn, Used
    from syntropy.read.knowledge import Knowledge
    from syntropy.tools.toolbox import Toolbox


def serve(given: argparse.Namespace) -> int:
    """Serve until the client leaves or a signal comes."""
    from syntropy.tools.toolbox import checked_groups

    groups = checked_groups(tuple(split(given.tools)))
    if given.print_config:
        client = CLIENTS[given.print_config]
        form = "as TOML, " if client.file.endswith(".toml") else ""
        warn(f"for {client.title}: {form}{client.where()}")
        if given.http:
            config = remote_config(client.name, server_key(_served(given)), address_of(given.host, given.port))
        else:
            command = [*program(), "serve", *_arguments(given, groups)]
            config = client_config(client.name, server_key(_served(given)), command)
        print_json(config)
        return 0
    if importlib.util.find_spec("mcp") is None:
        raise MissingDependencyError("serving needs mcp, which is not installed", hint=install_command("serve"))
    import anyio

    from syntropy.serve.server import Adapter

    toolbox = _toolbox(given, groups, section="serve")
    adapter = functools.partial(Adapter, toolbox)
    if given.http:
        from syntropy.serve.http import serve_http

        def ready(address: str) -> None:
            warn(f"serving {address} ({', '.join(toolbox.groups)})")

        anyio.run(lambda: serve_http(adapter(), host=given.host, port=given.port, ready=ready))
    else:
        from syntropy.serve.stdio import serve_stdio

        if sys.stdin.isatty():
            warn("waiting for an MCP client on standard input; for its configuration: --print-config (Ctrl-C ends)")
        anyio.run(lambda: serve_stdio(adapter()))
    sys.stderr.flush()
    os._exit(0)  # calls nobody waits for any more are in native code: they must not meet an interpreter taken down


def _served(given: argparse.Namespace) -> Path:
    """What is served, for the name it gets in clients: the project, else the folder of artifacts."""
    place = locate(given)
    return place.root if place.project or not (place.out or place.db) else place.artifacts


def tools(given: argparse.Namespace) -> int:
    """Print function definitions; without a published knowledge those of all groups but `notes`."""
    from syntropy.tools.formats import definitions
    from syntropy.tools.table import GROUPS, of_groups
    from syntropy.tools.toolbox import checked_groups, default_groups

    groups = checked_groups(tuple(split(given.tools)))
    if not groups:
        try:
            with opened(given) as knowledge:
                groups = checked_groups(knowledge.config.serve.tools) or default_groups(knowledge)
        except SyntropyError:
            if given.project or given.out or given.db:
                raise
            groups = tuple(group for group in GROUPS if group != "notes")
    print_json(definitions(of_groups(groups), given.format, strict=given.strict))
    return 0


def chat(given: argparse.Namespace) -> int:
    """One question, or a conversation until the input ends."""
    from syntropy.chat.endpoint import ChatError, EndpointModel
    from syntropy.chat.loop import Chat

    without = given.tools.strip() == "none"
    with _toolbox(given, () if without else tuple(split(given.tools)), section="chat") as toolbox:
        with toolbox.publication.current() as edition:
            settings = edition.knowledge.config.chat
        base_url, api_key = _endpoint(given, settings)
        name = given.model or settings.model
        if not name:
            raise UsageError("no model is named", hint="give --model, or set chat.model in syntropy.toml")
        rounds = given.max_iterations if given.max_iterations is not None else settings.max_iterations
        if not 1 <= rounds <= 20:
            raise UsageError(f"{rounds} rounds are out of range", hint="give 1 to 20")
        model = EndpointModel(
            base_url,
            name,
            api_key=api_key,
            timeout=settings.timeout_seconds,
            retries=settings.retries,
        )
        talk = Chat(model, toolbox, tools=not without, page=given.page, max_iterations=rounds)
        asked = [" ".join(given.question)] if given.question else _typed()
        for question in asked:
            try:
                _show(talk.ask(question), as_json=given.json)
            except ChatError:
                print()
                raise
    return 0


def context(given: argparse.Namespace) -> int:
    """Print a context pack."""
    from syntropy.tools.desk import Desk
    from syntropy.tools.edition import Edition
    from syntropy.tools.packs import context_pack

    with opened(given) as knowledge:
        desk = Desk(Edition(knowledge))
        pack = context_pack(
            knowledge,
            desk.graph(),
            " ".join(given.task),
            budget=given.tokens,
            saved_rules=desk.saved_rules(),
            files=given.files,
        )
    warn("; ".join(filter(None, [pack.warning, *desk.warnings])))
    if given.json:
        print_json(pack.as_dict())
    else:
        sys.stdout.write(printable(pack.text()))
    return 0


def cite(given: argparse.Namespace) -> int:
    """0 if the citation holds in the build and in the working tree, 1 if not."""
    from syntropy.read.citations import standing

    with owner_of(given, given.citation) as (knowledge, citation):
        found = standing(knowledge, citation)
    if given.json:
        print_json(found.as_dict())
    else:
        print(printable(found.citation))
        for name, place in (("build", found.build), ("working tree", found.tree)):
            if place is not None:
                print(printable(f"  {name}: {place.verdict}{f' ({place.now})' if place.now else ''}"))
                for line in place.text.splitlines():
                    print(printable(f"    {line}"))
            elif name == "working tree":
                print("  working tree: not compared (no file of a project here, a part of one, or credentials in it)")
    return 0 if found.current else 1


def _toolbox(given: argparse.Namespace, groups: tuple[str, ...], *, section: str) -> Toolbox:
    """Tools over what the command line names; groups from the configuration where none are given."""
    from syntropy.tools.edition import Publication
    from syntropy.tools.toolbox import Toolbox

    publication = Publication(lambda: opened(given, "auto"), warms=section == "serve")
    try:
        with publication.current() as edition:
            configured = getattr(edition.knowledge.config, section).tools
            together = federated(given, edition.knowledge, "auto")
        name = next(iter(together), "")
        beside = {other: Publication(_opener(found)) for other, found in together.items() if other != name}
        return Toolbox(publication, groups or configured, name=name, beside=beside)
    except BaseException:
        publication.close()
        raise


def _opener(first: Knowledge) -> Callable[[], Knowledge]:
    """Gives what is open already, then what lies in its place."""
    from syntropy.read.knowledge import open_knowledge

    waiting, path = [first], first.database.path

    def opener() -> Knowledge:
        if waiting:
            return waiting.pop()
        named = path.name == DATABASE
        return open_knowledge(out=first.database.folder if named else None, db=None if named else path)

    return opener


def _endpoint(given: argparse.Namespace, settings: ChatConfig) -> tuple[str, str]:
    """(address, key); what a project's file may say of them is decided where it is read. Raises UsageError."""
    base_url = given.base_url or settings.base_url
    if urlsplit(base_url).scheme not in ("http", "https"):
        raise UsageError(f"{base_url!r} is not the address of an endpoint", hint="give one: http://127.0.0.1:11434/v1")
    return base_url, os.environ.get(settings.api_key_env, "")


def _arguments(given: argparse.Namespace, groups: tuple[str, ...]) -> list[str]:
    """The arguments of `serve` again, with absolute paths: a client starts it from another folder."""
    place = locate(given)
    with opened(given) as knowledge:  # what cannot be opened now would not start there
        root, file = knowledge.project, knowledge.database.path
    found = ["--project", str(root.resolve())] if root else []
    for name in ("out", "db"):
        if value := getattr(place, name):
            called = f"{place.name}=" if name == "db" and place.name else ""
            found += [f"--{name}", f"{called}{Path(value).resolve()}"]
    if not found:
        found = ["--db", str(file.resolve())]
    for name, value in place.beside:
        found += ["--with", f"{name}={Path(value).resolve()}"]
    if "notes" in groups and root is None:
        warn("the tools of the group notes need a project: add --project")
    return found + (["--tools", ",".join(groups)] if groups else [])


def _typed() -> Iterable[str]:
    """Questions from the terminal, or a line each from a pipe."""
    while True:
        if sys.stdin.isatty():
            sys.stderr.write("> ")
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _show(pieces: Iterable[Text | Used | Turn], *, as_json: bool) -> None:
    from syntropy.chat.loop import Text, Turn, Used

    for piece in pieces:
        if isinstance(piece, Turn) and as_json:
            print_json(piece.as_dict())
        elif isinstance(piece, Turn):
            warn(piece.warning)
            print()
            for number, source in enumerate(piece.sources, 1):
                print(printable(f"{'Sources:' if number == 1 else '        '} {source}"))
        elif isinstance(piece, Used):
            warn(printable(f"{piece.name} {_short(piece.arguments)}{' (failed)' if piece.error else ''}"))
            if piece.not_here:
                warn(printable(f"not here: {piece.not_here}"))
        elif isinstance(piece, Text) and not as_json:
            sys.stdout.write(printable(piece.text))
            sys.stdout.flush()


def _short(arguments: str) -> str:
    try:
        arguments = json.dumps(json.loads(arguments or "{}"), ensure_ascii=False)
    except ValueError:
        arguments = repr(arguments)
    return arguments if len(arguments) <= 100 else arguments[:99] + "…"
