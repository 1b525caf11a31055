"""The tool-call loop (Helios seed, TASK-KB-011): calls are executed, results go back, until there is an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..contract.untrusted import sealed
from ..tools.desk import Desk
from ..tools.formats import definitions
from ..tools.knowledge_tools import get_overview
from ..tools.prompts import tools_first, without_tools
from ..tools.toolbox import Answer, Toolbox
from .endpoint import Call, Model, Reply, ToolsRefusedError

MAX_ITERATIONS = 3
"""Rounds of tool calls for one question (the seed's `maxIterations`); then the model answers with what it has."""

MAX_SOURCES = 8

_CITED = re.compile(r"[^\s\"'`<>()\[\]]+#L\d+(?:-L\d+)?")


class Text(NamedTuple):
    """A piece of the answer, as it comes."""

    text: str


class Used(NamedTuple):
    """A tool was called; `error` says that it did not succeed."""

    name: str
    arguments: str
    error: bool


@dataclass
class Turn:
    """A question answered. `ended`: answered; limit where all rounds were used up; empty where nothing was said."""

    question: str
    answer: str = ""
    sources: list[str] = field(default_factory=list)
    used: list[Used] = field(default_factory=list)
    ended: str = "answered"
    warning: str = ""

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return {**vars(self), "used": [used._asdict() for used in self.used]}


class Chat:
    """A conversation of several turns. Without `tools` the model is told the overview instead."""

    def __init__(
        self,
        model: Model,
        toolbox: Toolbox,
        *,
        tools: bool = True,
        page: str = "",
        max_iterations: int = MAX_ITERATIONS,
    ) -> None:
        self._model, self._box, self._page, self._limit = model, toolbox, page, max_iterations
        self._messages: list[dict[str, Any]] = []
        self._begin(tools=tools)

    def ask(self, question: str) -> Iterator[Text | Used | Turn]:
        """Stream the answer; the turn comes last. Raises ChatError, and forgets the question then."""
        before = len(self._messages)
        turn = Turn(question)
        self._messages.append({"role": "user", "content": question})
        try:
            yield from self._answered(turn)
        except BaseException:
            del self._messages[before:]
            raise
        yield turn

    def _answered(self, turn: Turn) -> Iterator[Text | Used]:
        read: list[str] = []
        for rounds in range(self._limit + 1):
            reply = Reply()
            last = rounds == self._limit
            for piece in self._completed(turn, tools=not last):
                if isinstance(piece, Reply):
                    reply = piece
                else:
                    yield Text(piece)
            if not reply.calls or last:
                break
            turn.answer += reply.text
            self._messages.append(reply.message())
            for call in reply.calls:
                answer = self._executed(call)
                read += _citations(answer)
                turn.used.append(Used(call.name, call.arguments, answer.error))
                yield turn.used[-1]
                self._messages.append({"role": "tool", "tool_call_id": call.id, "content": answer.text})
        if last:
            turn.ended = "limit"
            turn.warning = f"stopped after {self._limit} rounds of tool calls: answered with what was found by then"
        if reply.calls or not reply.text:
            turn.ended = turn.ended if last else "empty"
            said = "(no answer)"
            reply = Reply(f"{reply.text}\n{said}".strip())
            yield Text(said)
        turn.answer += reply.text
        self._messages.append(reply.message())
        turn.sources = _sources(turn.answer, read)

    def _completed(self, turn: Turn, *, tools: bool) -> Iterator[str | Reply]:
        """One completion; an endpoint that takes no tools is asked without them from then on."""
        try:
            yield from self._model.complete(self._messages, self._definitions if tools else ())
        except ToolsRefusedError as error:
            turn.warning = f"{error.message}: answered from the overview alone"
            self._begin(tools=False)
            yield from self._model.complete(self._messages, ())

    def _begin(self, *, tools: bool) -> None:
        """Set the system prompt, in front of what was said."""
        with self._box.publication.current() as edition:
            project = edition.knowledge.meta["project"]
            given = {k: v for k, v in get_overview(Desk(edition)).items() if k != "next"}
            overview = Answer(sealed(given)).text
        if tools:
            told = tools_first(project, list(self._box.tools), page=self._page)
            self._definitions = definitions(tuple(self._box.tools.values()), "openai")
        else:
            told = without_tools(project, overview, page=self._page)
            self._definitions = []
        self._messages = [{"role": "system", "content": told}, *self._messages[1:]]

    def _executed(self, call: Call) -> Answer:
        """The tool's answer; what is not a JSON object is answered with what to do."""
        try:
            arguments = json.loads(call.arguments or "{}")
        except ValueError as error:
            said = f"the arguments of {call.name} are not JSON: {error}"
            return Answer({"error": said, "next": "call it again with a JSON object"}, error=True)
        if not isinstance(arguments, dict):
            said = f"the arguments of {call.name} are not an object"
            return Answer({"error": said, "next": "call it again with a JSON object"}, error=True)
        return self._box.call(call.name, arguments)


def _citations(answer: Answer) -> list[str]:
    """Every citation that an answer names, in its order."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.extend(str(v).partition("~")[0] for k, v in value.items() if k == "citation")
            found.extend(str(c).partition("~")[0] for c in value.get("citations", ()))
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(answer.structured)
    return [citation for citation in dict.fromkeys(found) if "#L" in citation]


def _sources(answer: str, read: Sequence[str]) -> list[str]:
    """What was read: the citations that the answer names if it names some, else the first ones."""
    named = set(_CITED.findall(answer))
    distinct = list(dict.fromkeys(read))
    return [c for c in distinct if c in named or c.partition("#L")[0] in answer][:MAX_SOURCES] or distinct[:MAX_SOURCES]
