"""All that encoding needs of the machine: the model, its engine and graph, and the shared cache of vectors."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from pipeline.embed import weights
from pipeline.embed.cache import EmbeddingCache
from pipeline.embed.engines import Engine, EngineEncoder, make_engine
from pipeline.embed.model import Model, resolve_model
from pipeline.embed.onnx_graph import Precision, build_graph
from syntropy.contract.config import EmbedConfig
from syntropy.contract.files import write_atomically
from syntropy.store.encoder import GRAPH, TOKENIZER, QueryEncoder

GRAPH_VERSION = 4
"""Names the graph's form in the cache: raise it when `onnx_graph` writes other operators."""


class Embedder:
    """The configured model. `shared` is the user's cache; nothing is loaded before it is needed."""

    def __init__(self, config: EmbedConfig, shared: Path) -> None:
        self.config, self._shared = config, shared

    @cached_property
    def model(self) -> Model:
        """Raises EncoderError, ConfigError."""
        return resolve_model(self.config)

    @cached_property
    def cache(self) -> EmbeddingCache:
        """Vectors by the hash of their text."""
        return EmbeddingCache(self._shared, self.model.fingerprint())

    def engine(self) -> Engine:
        """The configured engine, loaded."""
        return make_engine(self.config, self.model, self.graph)

    def graph(self, precision: Precision = "fp32") -> Path:
        """The bundled model's ONNX file, made once and kept in the user's cache under its weights' digest."""
        name = f"{weights.SHA256[weights.WEIGHTS][:16]}-{precision}-{GRAPH_VERSION}.onnx"
        path = self._shared / "models" / name
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            data = build_graph(weights.weights(self.config.weights), precision)
            write_atomically(path, lambda temporary: temporary.write_bytes(data))
        return path

    def query_encoder(self) -> QueryEncoder | EngineEncoder:
        """What encodes queries as a reader of this build will."""
        if not self.model.is_bundled:
            return EngineEncoder(self.engine())
        files = {GRAPH: self.graph("int8"), TOKENIZER: weights.tokenizer()}
        return QueryEncoder({"max_tokens": self.model.max_tokens}, files.__getitem__)
