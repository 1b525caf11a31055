"""Tools by name over the newest publication: arguments checked, answers sealed and within their budget."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import MissingDependencyError, SyntropyError, UsageError
from ..knowledge import Knowledge
from ..memory import now_utc
from ..publication import Publication
from ..schema import ENTITY_KINDS
from ..untrusted import sealed, visible
from .desk import Desk
from .table import GROUPS, Tool, of_groups


@dataclass(frozen=True)
class Answer:
    """`structured` as plain data, `text` the same as compact JSON. `error`: the call did not succeed."""

    structured: dict[str, Any]
    error: bool = False

    @cached_property
    def text(self) -> str:
        return json.dumps(self.structured, ensure_ascii=False, separators=(",", ":"))


class Toolbox:
    """The tools of some groups. Any thread may call them; a context manager, which closes the publication."""

    def __init__(
        self, publication: Publication, groups: Sequence[str] = (), *, clock: Callable[[], str] = now_utc
    ) -> None:
        """Without groups those that the knowledge has something for, but not `memory`, which writes.

        Raises UsageError for unknown ones.
        """
        wanted = checked_groups(groups)
        self.publication, self._clock = publication, clock
        with publication.current() as edition:
            self.groups = wanted or default_groups(edition.knowledge)
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in of_groups(self.groups)}
        self._validators: dict[str, Any] = {}

    def __enter__(self) -> Toolbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.publication.close()

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Run a tool. Never raises for what a caller can do wrong: the answer says what to do next."""
        tool = self.tools.get(name)
        try:
            if tool is None:
                raise UsageError(f"there is no tool {name!r}", hint=_did_you_mean(name, list(self.tools)))
            self._check(tool, arguments)
            with self.publication.current() as edition:
                desk = Desk(edition, warming=self.publication.warming, clock=self._clock)
                answer = tool.run(desk, **arguments)
                warnings = [*desk.warnings, *filter(None, [self.publication.problem])]
                return Answer(sealed({**answer, **({"warning": "; ".join(warnings)} if warnings else {})}))
        except SyntropyError as error:
            return Answer({"error": visible(error.message), "next": visible(error.hint) or _NEXT}, error=True)

    def _check(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Raises UsageError for arguments that the tool's schema refuses."""
        known = {parameter.name: parameter for parameter in tool.parameters}
        for name in arguments:
            if name not in known:
                raise UsageError(f"{tool.name} has no argument {name!r}", hint=_did_you_mean(name, list(known)))
        for parameter in tool.parameters:
            if parameter.required and parameter.name not in arguments:
                raise UsageError(f"{tool.name} needs {parameter.name!r}", hint=parameter.about or "give it")
        problem = next(
            iter(sorted(self._validator(tool).iter_errors(arguments), key=lambda e: list(map(str, e.path)))), None
        )
        if problem is not None:
            where = ".".join(map(str, problem.path))
            raise UsageError(f"{where}: {problem.message[:200]}", hint=f"see the schema of {tool.name}")

    def _validator(self, tool: Tool) -> Any:
        if tool.name not in self._validators:
            try:
                from jsonschema import Draft202012Validator
            except ImportError as error:
                raise MissingDependencyError(
                    "tools need jsonschema, which is not installed", hint="pip install 'syntropy[serve]'"
                ) from error
            self._validators[tool.name] = Draft202012Validator(tool.input_schema())
        return self._validators[tool.name]


_NEXT = "get_overview says what there is"


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
