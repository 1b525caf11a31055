"""Engines: texts to unit vectors.

`onnx` runs the bundled model on a CPU: one unpadded text a call on as many threads as cores, so a
text's vector never depends on its neighbours. It equals sentence-transformers to 1e-6 (tests) and is
about twice as fast (benchmarks/embedding.py). `sentence-transformers` runs every other model.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.chunk.tokens import load_tokenizer
from pipeline.embed import weights
from pipeline.embed.model import Model
from syntropy.contract.config import EmbedConfig
from syntropy.contract.distribution import install_command
from syntropy.contract.errors import EncoderError, MissingDependencyError
from syntropy.store.embedding_endpoint import PROVIDERS, Endpoint

Vectors = NDArray[np.float32]

REQUEST_TEXTS = 64
"""Texts in one request to an endpoint."""


class Engine(Protocol):
    """Encodes texts; `name` says which engine it is."""

    name: str

    def encode(self, texts: Sequence[str]) -> Vectors:
        """FLOAT32 [len(texts), dimension], rows of unit length, in the order of the texts."""
        ...


def make_engine(embed: EmbedConfig, model: Model, graph: Callable[[], Path]) -> Engine:
    """The configured engine. `graph` gives the ONNX file of the bundled model (made once, cached).

    Raises EncoderError.
    """
    engine = embed.engine
    if engine == "auto":
        engine = "onnx" if model.is_bundled and embed.device == "cpu" else "sentence-transformers"
    if engine == "onnx":
        if not model.is_bundled:
            raise EncoderError(
                f"the onnx engine knows the bundled model only, not {model.name}", hint='set embed.engine = "auto"'
            )
        return OnnxEngine(graph(), model, embed.threads or os.cpu_count() or 1)
    if engine in PROVIDERS:
        return RemoteEngine(Endpoint(embed, engine, model.name), engine)
    return SentenceTransformersEngine(model, embed.device, embed.weights)


class OnnxEngine:
    """all-MiniLM-L6-v2 by ONNX Runtime, full precision."""

    name = "onnx"

    def __init__(self, graph: Path, model: Model, threads: int) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingDependencyError("onnxruntime is not installed", hint=install_command("build-lite")) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(os.fspath(graph), options, providers=["CPUExecutionProvider"])
        self._tokenizer = load_tokenizer(model.tokenizer)
        self._max_tokens = model.max_tokens
        self._threads = threads

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Raises EncoderError for a text longer than the model's window: that would lose text."""
        ids = []
        for text, encoding in zip(texts, self._tokenizer.encode_batch_fast(list(texts)), strict=True):
            if len(encoding) > self._max_tokens:
                raise EncoderError(
                    f"a window of {len(encoding)} tokens does not fit the model's {self._max_tokens}: {text[:60]!r}…",
                    hint="lower embed.window_tokens",
                )
            ids.append(np.array([encoding.ids], np.int64))
        if not ids:
            return np.empty((0, weights.DIMENSION), np.float32)
        with ThreadPoolExecutor(self._threads) as pool:
            rows = list(pool.map(self._one, ids))
        return np.concatenate(rows)

    def _one(self, ids: NDArray[np.int64]) -> Vectors:
        (vector,) = self._session.run(["vector"], {"ids": ids})
        return np.asarray(vector, np.float32)


class SentenceTransformersEngine:
    """Any sentence-transformers model on a CPU or GPU."""

    name = "sentence-transformers"

    def __init__(self, model: Model, device: str, folder_of_weights: str = "") -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingDependencyError(
                f"sentence-transformers is not installed; {model.name} needs it",
                hint=f"{install_command('build')} (brings torch: several GB)",
            ) from error
        folder = weights.weights(folder_of_weights).parent if model.is_bundled else model.folder
        self._model = SentenceTransformer(os.fspath(folder), device=device)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See `Engine`."""
        vectors = self._model.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        )
        return np.asarray(vectors, np.float32)


class RemoteEngine:
    """A model behind an endpoint, some texts a request."""

    def __init__(self, endpoint: Endpoint, name: str) -> None:
        self.name = name
        self._endpoint = endpoint

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See `Engine`; texts go out some at a time."""
        rows = [
            vector
            for start in range(0, len(texts), REQUEST_TEXTS)
            for vector in self._endpoint.embed(texts[start : start + REQUEST_TEXTS])
        ]
        return np.asarray(rows, np.float32).reshape(len(rows), -1)


class EngineEncoder:
    """An engine that encodes one query at a time, as a reader's encoder does."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def encode(self, query: str) -> list[float]:
        """The unit vector of a query."""
        return [float(x) for x in self._engine.encode([query])[0]]


def encode_in_parts(engine: Engine, texts: Sequence[str], part: int) -> Iterator[tuple[list[int], Vectors]]:
    """(positions, vectors) of the texts, longest first (so that threads end together), `part` at a time."""
    order = sorted(range(len(texts)), key=lambda i: (-len(texts[i]), i))
    for start in range(0, len(order), part):
        positions = order[start : start + part]
        yield positions, engine.encode([texts[i] for i in positions])
