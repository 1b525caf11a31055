"""One completion of an OpenAI-compatible endpoint, streamed, through the official client library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, cast

from ..contract.distribution import install_command
from ..contract.errors import MissingDependencyError, SyntropyError


class ChatError(SyntropyError):
    """The endpoint did not answer, or its answer broke off."""

    exit_code = 12


class ToolsRefusedError(ChatError):
    """The endpoint does not take tools."""


class Call(NamedTuple):
    """A tool call as the model wrote it; `arguments` should be JSON."""

    id: str
    name: str
    arguments: str


@dataclass
class Reply:
    """A whole completion: text, or tool calls, or both."""

    text: str = ""
    calls: list[Call] = field(default_factory=list)

    def message(self) -> dict[str, Any]:
        """As it goes back into the conversation."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in self.calls
            ]
        return message


class Model(Protocol):
    """What completes a conversation: pieces of text as they come, the whole reply last."""

    def complete(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, answer: bool = False
    ) -> Iterator[str | Reply]:
        """`answer`: no more calls are wanted. Raises ChatError; ToolsRefusedError."""
        ...


class EndpointModel:
    """A model behind an address such as `http://127.0.0.1:11434/v1`."""

    def __init__(self, base_url: str, model: str, *, api_key: str, timeout: float, retries: int) -> None:
        """`timeout` in seconds; `retries` after 408, 409, 429, 5xx and lost connections, by the library.

        Raises MissingDependencyError without the `chat` extra.
        """
        try:
            import openai
        except ImportError as error:
            raise MissingDependencyError(
                "the chat needs openai, which is not installed", hint=install_command("chat")
            ) from error
        self._base_url, self._model = base_url, model
        self._client = openai.OpenAI(base_url=base_url, api_key=api_key or "none", timeout=timeout, max_retries=retries)

    def complete(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, answer: bool = False
    ) -> Iterator[str | Reply]:
        """Stream one completion; one that breaks off before its first word is asked for once more. Raises ChatError."""
        for attempt in (1, 2):
            begun = False
            try:
                for piece in self._stream(messages, tools, answer=answer):
                    begun = True
                    yield piece
            except _BrokenOffError as error:
                if begun or attempt == 2:
                    raise ChatError(f"the answer of {self._base_url} broke off: {error}", hint="ask again") from error
            else:
                return

    def _stream(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, answer: bool
    ) -> Iterator[str | Reply]:
        import httpx2
        import openai

        options: dict[str, Any] = {"tools": list(tools)} if tools else {}
        if tools and answer:
            options["tool_choice"] = "none"
        try:
            stream: Any = self._client.chat.completions.create(
                model=self._model, messages=cast("Any", messages), stream=True, **options
            )
        except openai.APIError as error:
            raise self._explained(error, tools) from error
        if "application/json" in stream.response.headers.get("content-type", ""):  # it does not stream
            yield from self._whole(stream.response.read())
            return
        reply, calls, finished = Reply(), dict[int, list[str]](), False
        try:
            for chunk in stream:
                if not chunk.choices:
                    continue
                choice = chunk.choices[0]
                finished = finished or choice.finish_reason is not None
                if choice.delta.content:
                    reply.text += choice.delta.content
                    yield choice.delta.content
                for delta in choice.delta.tool_calls or ():
                    _collect(calls, delta)
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
            raise _BrokenOffError(str(error) or type(error).__name__) from error
        if not finished:
            raise _BrokenOffError("the stream ended without a reason to finish")
        reply.calls = [Call(parts[0] or f"call-{place}", parts[1], parts[2]) for place, parts in sorted(calls.items())]
        yield reply

    def _whole(self, body: bytes) -> Iterator[str | Reply]:
        """The reply of an endpoint that answers in one piece, whatever was asked."""
        from openai.types.chat import ChatCompletion

        try:
            message = ChatCompletion.model_validate_json(body).choices[0].message
        except (ValueError, IndexError) as error:
            raise ChatError(
                f"{self._base_url} answered with what is not a completion", hint="is it the right address?"
            ) from error
        calls = [
            Call(call.id or f"call-{place}", call.function.name, call.function.arguments)
            for place, call in enumerate(message.tool_calls or ())
            if call.type == "function"
        ]
        if message.content:
            yield message.content
        yield Reply(message.content or "", calls)

    def _explained(self, error: Any, tools: Sequence[dict[str, Any]]) -> ChatError:
        import openai

        where = f"{self._base_url} (model {self._model})"
        if tools and isinstance(error, openai.BadRequestError) and "tool" in str(error).lower():
            return ToolsRefusedError(f"{where} takes no tools", hint="choose another model, or --tools none")
        if isinstance(error, openai.APITimeoutError):
            return ChatError(f"{where} did not answer in time", hint="raise chat.timeout_seconds")
        if isinstance(error, openai.APIConnectionError):
            return ChatError(f"{where} cannot be reached: {error}", hint="is the server running? set chat.base_url")
        if isinstance(error, openai.AuthenticationError):
            return ChatError(f"{where} refused the key", hint="set the environment variable named by chat.api_key_env")
        if isinstance(error, openai.RateLimitError):
            return ChatError(f"{where} refuses more requests for now", hint="ask again later")
        return ChatError(f"{where} answered with an error: {str(error)[:300]}", hint="see the server's log")


class _BrokenOffError(Exception):
    """A stream that did not come to its end."""


def _collect(calls: dict[int, list[str]], delta: Any) -> None:
    """Add a piece of a tool call: id, name and arguments come in any number of pieces."""
    parts = calls.setdefault(delta.index, ["", "", ""])
    parts[0] = parts[0] or delta.id or ""
    if delta.function:
        parts[1] += delta.function.name or ""
        parts[2] += delta.function.arguments or ""
