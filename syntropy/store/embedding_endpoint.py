"""Embeddings over HTTP: Ollama and any OpenAI-compatible endpoint, for builder and reader alike.

The address comes from the reader's own configuration and the key from its environment, never from an
artifact: a database from elsewhere cannot send anybody's key anywhere.
"""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Sequence
from typing import Any

from ..contract.config import EmbedConfig
from ..contract.distribution import install_command
from ..contract.errors import ConfigError, EncoderError, MissingDependencyError

PROVIDERS = ("ollama", "openai")

OLLAMA_URL = "http://localhost:11434"
"""Where Ollama listens unless told otherwise."""

ATTEMPTS = 4
FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0
"""Seconds between attempts: doubled each time."""

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class _PassingError(Exception):
    """A failure that may pass: worth another attempt."""


class Endpoint:
    """One embedding endpoint. Made by builder and reader from their own `[embed]`."""

    def __init__(self, embed: EmbedConfig, provider: str, model: str) -> None:
        """Raises ConfigError without an address, MissingDependencyError without the HTTP client."""
        for module in ("httpx", "tenacity"):
            if importlib.util.find_spec(module) is None:
                raise MissingDependencyError(f"{provider} needs {module}", hint=install_command("providers"))
        import httpx

        base = embed.base_url or (OLLAMA_URL if provider == "ollama" else "")
        if not base:
            raise ConfigError(
                "embed.base_url is empty", hint="set the endpoint's address, the part in front of /embeddings"
            )
        self._url = base.rstrip("/") + ("/api/embed" if provider == "ollama" else "/embeddings")
        self._provider, self._model = provider, model
        key = os.environ.get(embed.api_key_env, "") if provider == "openai" else ""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(timeout=embed.timeout_seconds, headers=headers)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of the texts, in their order. Raises EncoderError where the endpoint fails for good."""
        import tenacity

        attempts = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=tenacity.wait_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT),
            retry=tenacity.retry_if_exception_type(_PassingError),
            reraise=True,
        )
        try:
            data = attempts(self._ask, list(texts))
        except _PassingError as error:
            raise EncoderError(
                f"{self._url} did not answer ({error}; {ATTEMPTS} attempts)",
                hint="start it, or check embed.base_url; what was embedded so far is kept",
            ) from error
        return [_unit(vector, self._url) for vector in self._vectors(data, len(texts))]

    def _ask(self, texts: list[str]) -> Any:
        import httpx

        try:
            answer = self._client.post(self._url, json={"model": self._model, "input": texts})
        except httpx.TransportError as error:
            raise _PassingError(f"{type(error).__name__}: {error}") from error
        if answer.status_code in _RETRIED:
            raise _PassingError(f"status {answer.status_code}")
        if answer.status_code >= 400:
            raise EncoderError(
                f"{self._url} refused model {self._model!r}: status {answer.status_code}: {answer.text[:200]}",
                hint="check embed.model, embed.base_url and the key in the environment",
            )
        try:
            return answer.json()
        except ValueError as error:
            raise EncoderError(f"{self._url} answered no JSON", hint="check embed.base_url") from error

    def _vectors(self, data: Any, count: int) -> list[list[float]]:
        try:
            if self._provider == "ollama":
                found = data["embeddings"]
            else:
                found = [row["embedding"] for row in sorted(data["data"], key=lambda row: row["index"])]
        except (KeyError, TypeError) as error:
            raise EncoderError(
                f"{self._url} answered something else than embeddings ({error})", hint="check embed.engine and base_url"
            ) from error
        if len(found) != count:
            raise EncoderError(f"{self._url} gave {len(found)} vectors for {count} texts", hint="check the endpoint")
        return list(found)


class RemoteEncoder:
    """Queries through an endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def encode(self, query: str) -> list[float]:
        """The unit vector of a query."""
        return self._endpoint.embed([query])[0]


def _unit(vector: Sequence[float], url: str) -> list[float]:
    length = math.sqrt(sum(x * x for x in vector)) if vector else 0.0
    if not length or not math.isfinite(length):
        raise EncoderError(f"{url} gave an empty or broken vector", hint="check the model behind the endpoint")
    return [x / length for x in vector]
