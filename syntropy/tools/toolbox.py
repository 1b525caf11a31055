"""Tools by name over the newest publication: arguments checked, answers sealed and within their budget."""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from ..contract.budget import tokens
from ..contract.distribution import install_command
from ..contract.errors import MissingDependencyError, SyntropyError, UsageError
from ..contract.untrusted import Data, sealed
from ..contract.vocabulary import ENTITY_KINDS
from ..notes.notebook import now_utc
from ..read.knowledge import Knowledge
from .desk import Desk, fit
from .edition import Edition
from .lenient import meant
from .plain import plain
from .table import GROUPS, Tool, of_groups


@dataclass(frozen=True)
class Answer:
    """`structured` as plain data, `text` the same for reading. `error`: the call did not succeed.

    `read`: citations of what the answer quotes.
    """

    structured: dict[str, Any]
    error: bool = False
    read: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        """The whole answer as plain text: lines and fences as they are."""
        return plain(self.structured)


class Held(Protocol):
    """What holds the edition that questions are answered from; `problem`: why it is not the newest one."""

    @property
    def problem(self) -> str:
        """Why it is not the newest one; empty where it is."""

    def current(self) -> AbstractContextManager[Edition]:
        """The edition to answer one question from."""

    def warm(self) -> None:
        """Load in the background what questions will need."""

    def close(self) -> None:
        """No more questions come."""


class Toolbox:
    """The tools of some groups. Any thread may call them; a context manager, which closes the publication."""

    def __init__(
        self,
        publication: Held,
        groups: Sequence[str] = (),
        *,
        clock: Callable[[], str] = now_utc,
        name: str = "",
        beside: Mapping[str, Held] | None = None,
    ) -> None:
        """Without groups those that the knowledge has something for, but not `notes`, which writes.

        `beside`: other publications by name, searched together with this one (then called `name`), closed with it.

        Raises UsageError for unknown ones.
        """
        wanted = checked_groups(groups)
        self.publication, self._clock, self._name, self._beside = publication, clock, name, dict(beside or {})
        with publication.current() as edition:
            self.groups = wanted or default_groups(edition.knowledge)
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in of_groups(self.groups)}
        self._validators: dict[str, Any] = {}

    def __enter__(self) -> Toolbox:
        return self

    def __exit__(self, *_: object) -> None:
        for held in (self.publication, *self._beside.values()):
            held.close()

    def warm(self) -> None:
        """Load in the background what questions will need."""
        for held in (self.publication, *self._beside.values()):
            held.warm()

    def call(self, name: str, arguments: Any) -> Answer:
        """Run a tool. Never raises for what a caller can do wrong: the answer says what to do next."""
        tool = self.tools.get(name)
        try:
            if tool is None:
                raise UsageError(f"there is no tool {name[:80]!r}", hint=_did_you_mean(name, list(self.tools)))
            if not isinstance(arguments, Mapping):
                raise UsageError(f"the arguments of {name} are not a JSON object", hint="call it again with one")
            given = self._checked(tool, arguments)
            asked = json.dumps([name, {k: v for k, v in given.items() if k != "cursor"}], sort_keys=True)
            with ExitStack() as stack:
                edition = stack.enter_context(self.publication.current())
                others = {n: stack.enter_context(held.current()).knowledge for n, held in self._beside.items()}
                desk = Desk(edition, asked=asked, clock=self._clock, name=self._name, beside=others)
                answer = tool.run(desk, **given)
            warnings = [*desk.warnings, *filter(None, [self.publication.problem])]
            said = {"warning": fit("; ".join(warnings), HINT)} if warnings else {}
            whole = Answer(sealed({**answer, **said}), read=tuple(desk.read))
            if tokens(json.dumps(whole.structured, ensure_ascii=False)) > CEILING:
                raise UsageError(f"the answer of {name} is too large", hint="ask for less: a limit, lines, a section")
            return whole
        except SyntropyError as error:
            return _failure(error)
        except Exception:
            logging.getLogger(__name__).exception("%s failed", name)  # to standard error: a defect of ours
            return _failure(UsageError(f"{name} failed: an error inside syntropy", hint=_NEXT))

    def _checked(self, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the tool takes them. Raises UsageError for those that its schema refuses."""
        known = {parameter.name: parameter for parameter in tool.parameters}
        given = meant(arguments, {name: parameter.schema for name, parameter in known.items()})
        for name in given:
            if name not in known:
                raise UsageError(f"{tool.name} has no argument {name[:80]!r}", hint=_did_you_mean(name, list(known)))
        for parameter in tool.parameters:
            if parameter.required and parameter.name not in given:
                raise UsageError(f"{tool.name} needs {parameter.name!r}", hint=parameter.about or "give it")
        problems = sorted(self._validator(tool).iter_errors(given), key=lambda e: list(map(str, e.path)))
        if problems:
            where = ".".join(map(str, problems[0].path))
            raise UsageError(f"{where}: {problems[0].message[:200]}", hint=f"its arguments: {', '.join(known)}")
        return given

    def _validator(self, tool: Tool) -> Any:
        if tool.name not in self._validators:
            try:
                from jsonschema import Draft202012Validator
            except ImportError as error:
                raise MissingDependencyError(
                    "tools need jsonschema, which is not installed", hint=install_command("serve")
                ) from error
            self._validators[tool.name] = Draft202012Validator(tool.input_schema())
        return self._validators[tool.name]


_NEXT = "get_overview says what there is"

CEILING = 8_000
"""Tokens of any answer (design, section 6); the tools stay below it by their own budgets."""

IN_TOOLS = {
    'e.g. syntropy search "retry webhooks"': "e.g. retry webhooks",
    "`syntropy search WORDS --source entities`": "search_knowledge with types entities finds them",
    "paths are those of `syntropy search` and INDEX.md": "search_knowledge and get_overview name paths",
    "`syntropy insight list`": "search_insights finds them",
    "`syntropy notes list`": "list_notes names them",
}
"""Next steps of the command line, as an agent can take them."""

HINT = 250
"""Tokens of a message or a hint: they may repeat an argument, or name what there is."""


def _failure(error: SyntropyError) -> Answer:
    """An error as an answer. What documents say is quoted, apart from what to do next."""
    hint = error.hint
    for command, tool in IN_TOOLS.items():
        hint = hint.replace(command, tool)
    told: dict[str, Any] = {"error": fit(error.message, HINT), "next": fit(hint, HINT) or _NEXT}
    if error.names:
        told["names"] = Data(fit("; ".join(error.names), 2 * HINT))
    return Answer(sealed(told), error=True)


def checked_groups(groups: Sequence[str]) -> tuple[str, ...]:
    """Groups in the order of the table. Raises UsageError for unknown ones."""
    for name in groups:
        if name not in GROUPS:
            raise UsageError(f"unknown group of tools {name!r}", hint=f"choose from: {', '.join(GROUPS)}")
    return tuple(group for group in GROUPS if group in groups)


def default_groups(knowledge: Knowledge) -> tuple[str, ...]:
    """knowledge; commands and graph where there are commands and entities."""
    kinds = {kind for (kind,) in knowledge.database.rows("SELECT DISTINCT kind FROM documents")}
    return (
        "knowledge",
        *(["commands"] if "command" in kinds else []),
        *(["graph"] if kinds & set(ENTITY_KINDS) else []),
    )


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}? There are: {', '.join(known)}" if near else f"there are: {', '.join(known)}"
