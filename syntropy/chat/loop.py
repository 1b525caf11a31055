"""The tool-call loop (Helios seed, TASK-KB-011): calls are executed, results go back, until there is an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..contract.errors import SyntropyError
from ..contract.untrusted import sealed
from ..read.citations import standing
from ..tools.desk import Desk
from ..tools.formats import definitions
from ..tools.knowledge_tools import get_overview
from ..tools.own_loop import parsed
from ..tools.prompts import tools_first, without_tools
from ..tools.toolbox import Answer, Toolbox
from .cited import Marker
from .endpoint import Call, Model, Reply, ToolsRefusedError

MAX_ITERATIONS = 3
"""Rounds of tool calls for one question (the seed's `maxIterations`); then the model answers with what it has."""


class Text(NamedTuple):
    """A piece of the answer, as it comes."""

    text: str


class Used(NamedTuple):
    """A tool was called; `error` says that it did not succeed, `not_here` what it did not find."""

    name: str
    arguments: str
    error: bool
    not_here: str = ""


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
        self._shown: list[str] = []
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
        marker = Marker(self._holds)
        marker.read(self._shown)
        for rounds in range(self._limit + 1):
            reply = Reply()
            last = rounds == self._limit
            said = ""
            for piece in self._completed(turn, last=last):
                if isinstance(piece, Reply):
                    reply = piece
                    rest = marker.end()
                else:
                    rest = marker.put(piece)
                if rest:
                    said += rest
                    yield Text(rest)
            reply.text = said
            if not reply.calls or last:
                break
            turn.answer += reply.text
            self._messages.append(reply.message())
            for call in reply.calls:
                answer = self._executed(call)
                marker.read(answer.read)
                self._shown += answer.read
                turn.used.append(
                    Used(call.name, call.arguments, answer.error, str(answer.structured.get("not_here", "")))
                )
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
        turn.sources = marker.cited

    def _holds(self, citation: str) -> bool:
        """Does it still say what it said, in the build and in the working tree?"""
        with self._box.publication.current() as edition:
            try:
                return standing(edition.knowledge, citation).current
            except SyntropyError:
                return False

    def _completed(self, turn: Turn, *, last: bool) -> Iterator[str | Reply]:
        """One completion; an endpoint that takes no tools is asked without them from then on.

        The last round names the tools as well: strict endpoints refuse tool results without their definitions.
        """
        try:
            yield from self._model.complete(self._messages, self._definitions, answer=last)
        except ToolsRefusedError as error:
            turn.warning = f"{error.message}: answered from the overview alone"
            self._begin(tools=False)
            yield from self._model.complete(self._messages, (), answer=True)

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
        return self._box.call(call.name, parsed(call.arguments))
