"""The table of tools, the resources and the prompts as handlers of the official SDK. No logic of its own."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from .. import __version__
from ..contract.budget import SESSION_TOKENS
from ..contract.errors import SyntropyError
from ..contract.times import now
from ..contract.untrusted import visible
from ..notes.notebook import now_utc
from ..tools.desk import Desk
from ..tools.prompts import instructions, tools_first
from ..tools.table import Tool
from ..tools.toolbox import Toolbox
from .resources import DOCUMENT, MAX_COMPLETIONS, RESOURCES, complete, read

WORKERS = min(8, 2 * (os.cpu_count() or 1))
"""Calls answered side by side; searches take turns by themselves (see `Knowledge`)."""

WARM_AFTER_SECONDS = 1.0
"""The encoder is loaded after the first answer, or after this long without one: it takes the processor from both."""


_Result = TypeVar("_Result")

_PROMPTS = (
    types.Prompt(
        name="session_start",
        description="Saved rules and recent context, for the beginning of a session.",
        arguments=[types.PromptArgument(name="budget", description="tokens; rules are never cut")],
    ),
    types.Prompt(
        name="answer_from_knowledge",
        description="Answer a question from the knowledge base: look it up first, cite, invent nothing.",
        arguments=[
            types.PromptArgument(name="question", description="the question", required=True),
            types.PromptArgument(name="page", description="what the user is looking at"),
            types.PromptArgument(name="tag", description="look in documents with this tag first"),
            types.PromptArgument(name="command", description="a command the question is about"),
        ],
    ),
)


class Adapter:
    """The SDK's handlers over a toolbox."""

    def __init__(self, toolbox: Toolbox, *, clock: Callable[[], str] = now_utc) -> None:
        self._box, self._publication, self._clock = toolbox, toolbox.publication, clock
        self._limiter = anyio.CapacityLimiter(WORKERS)
        self._answered = anyio.Event()
        with self._publication.current() as edition:
            self._instructions = visible(instructions(edition.knowledge.database))
        self._tools = types.ListToolsResult(tools=[_definition(tool) for tool in toolbox.tools.values()])

    def server(self) -> Server[Any]:
        """The SDK's server; both protocol eras."""
        return Server(
            "syntropy",
            version=__version__,
            instructions=self._instructions,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )

    async def warm(self) -> None:
        """Load the encoder in the background, once it is in nobody's way."""
        with anyio.move_on_after(WARM_AFTER_SECONDS):
            await self._answered.wait()
        self._box.warm()

    async def _list_tools(self, _: object, __: object) -> types.ListToolsResult:
        return self._tools

    async def _call_tool(self, _: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in self._box.tools:
            raise MCPError(types.INVALID_PARAMS, self._box.call(params.name, {}).text)
        answer = await self._run(self._box.call, params.name, params.arguments or {})
        self._answered.set()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=None if answer.error else answer.structured,
            is_error=answer.error,
        )

    async def _list_resources(self, _: object, __: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=r.uri, name=r.name, description=r.about, mime_type=r.mime_type) for r in RESOURCES
            ]
        )

    async def _list_templates(self, _: object, __: object) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=DOCUMENT, name="document", description="a document's text", mime_type="text/markdown"
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(self, _: object, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        text, kind = await self._run(self._read, str(params.uri))
        contents = types.TextResourceContents(uri=str(params.uri), text=text, mime_type=kind)
        return types.ReadResourceResult(contents=[contents])

    def _read(self, uri: str) -> tuple[str, str]:
        with self._publication.current() as edition:
            try:
                return read(edition, uri)
            except SyntropyError as error:
                raise MCPError(types.INVALID_PARAMS, visible(str(error)), data={"uri": uri}) from error

    async def _list_prompts(self, _: object, __: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(_PROMPTS))

    async def _get_prompt(self, _: object, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        text = await self._run(self._prompt, params.name, dict(params.arguments or {}))
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(messages=[message])

    def _prompt(self, name: str, given: dict[str, str]) -> str:
        known = {prompt.name: {a.name: bool(a.required) for a in prompt.arguments or []} for prompt in _PROMPTS}
        if name not in known:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {name!r}; there are: {', '.join(known)}")
        wrong = sorted(set(given) - set(known[name]))
        missing = [a for a, required in known[name].items() if required and not given.get(a)]
        if wrong or missing:
            said = f"{name} has no argument {', '.join(wrong)}" if wrong else f"{name} needs {', '.join(missing)}"
            raise MCPError(types.INVALID_PARAMS, f"{said}; its arguments: {', '.join(known[name])}")
        with self._publication.current() as edition:
            if name == "session_start":
                return self._session(Desk(edition, clock=self._clock), given.get("budget", ""))
            question = given.pop("question")
            told = tools_first(edition.knowledge.meta["project"], list(self._box.tools), **given)
            return visible(f"{told}\n\nQuestion: {question}")

    def _session(self, desk: Desk, budget: str) -> str:
        if budget and not re.fullmatch(r"\d{1,6}", budget):
            raise MCPError(types.INVALID_PARAMS, f"budget {budget[:40]!r} is not a number of tokens")
        if desk.notes_file is None:
            return "There is no project here, so there are no saved rules."
        with desk.memory() as memory:
            told = memory.session(budget=int(budget or SESSION_TOKENS), now=now(), maintain="notes" in self._box.groups)
        return visible(told.text()) or "No rules are saved, and nothing happened lately."

    async def _complete(self, _: object, params: types.CompleteRequestParams) -> types.CompleteResult:
        known = dict(params.context.arguments or {}) if params.context else {}

        def names() -> list[str]:
            with self._publication.current() as edition:
                package = known.get("package", "")
                return complete(edition, params.argument.name, params.argument.value, package=package)

        found = await self._run(names)
        shown = found[:MAX_COMPLETIONS]
        completion = types.Completion(values=shown, total=len(found), has_more=len(found) > len(shown))
        return types.CompleteResult(completion=completion)

    async def _run(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """In a thread: a call does not stop others. A cancelled one keeps its place until it ends."""
        call = functools.partial(function, *arguments)
        return await anyio.to_thread.run_sync(call, limiter=self._limiter)


def _definition(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=not tool.writes, open_world_hint=False)
    if tool.writes:
        hints.destructive_hint, hints.idempotent_hint = tool.destroys, tool.destroys
    return types.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        annotations=hints,
    )
