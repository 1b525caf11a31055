"""The query encoder: the same weights as the builder, from beside the database, without torch.

Its fingerprint must be the database's: another model, or another way to pool, gives vectors that
cannot be compared, and the search would be wrong in silence.
"""

from __future__ import annotations

import importlib.util
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..contract.config import EmbedConfig
from ..contract.distribution import install_command
from ..contract.errors import EncoderError, MissingDependencyError
from ..contract.published import ENCODER, locate
from .embedding_endpoint import PROVIDERS, Endpoint, RemoteEncoder
from .last_build import builder_of

if TYPE_CHECKING:
    from .database import Database

FACTS = "encoder.json"
GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"


CACHED_QUERIES = 100
"""Queries whose vectors are kept (the seed's figure)."""


class Encoder(Protocol):
    """Turns a query into a unit vector."""

    def encode(self, query: str) -> list[float]:
        """The unit vector of a query."""


class QueryEncoder:
    """Encodes one query at a time; made by :func:`load_encoder`."""

    def __init__(self, facts: dict[str, Any], locate_file: Callable[[str], Path]) -> None:
        for module in ("onnxruntime", "tokenizers"):
            if importlib.util.find_spec(module) is None:
                raise MissingDependencyError(f"semantic search needs {module}", hint=install_command("semantic"))
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(locate_file(GRAPH)), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(locate_file(TOKENIZER)))
        self._tokenizer.enable_truncation(int(facts["max_tokens"]))
        self._tokenizer.no_padding()

    def encode(self, query: str) -> list[float]:
        """The unit vector of a query; what exceeds the model's window does not count."""
        import numpy

        ids = numpy.array([self._tokenizer.encode(query).ids], dtype=numpy.int64)
        (vector,) = self._session.run(["vector"], {"ids": ids})
        return [float(x) for x in vector[0]]


class CachedEncoder:
    """An encoder that remembers the vectors of the last queries. Thread-safe."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, query: str) -> list[float]:
        """The unit vector of a query; white space around and between words makes no other query."""
        text = " ".join(query.split())
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
                return self._known[text]
        vector = self._encoder.encode(text)
        with self._lock:
            self._known[text] = vector
            if len(self._known) > CACHED_QUERIES:
                self._known.popitem(last=False)
        return vector


class SentenceTransformersEncoder:
    """Queries for a database whose model is not the bundled one."""

    def __init__(self, name: str, revision: str) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingDependencyError(
                f"queries for {name} need sentence-transformers",
                hint=f"{install_command('build')} (brings torch: several GB)",
            )
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(name, revision=revision or None)

    def encode(self, query: str) -> list[float]:
        """The unit vector of a query."""
        return [float(x) for x in self._model.encode(query, normalize_embeddings=True)]


def load_encoder(database: Database, embed: EmbedConfig) -> Encoder:
    """The encoder beside the database; `embed` is the reader's own, for the address of an endpoint.

    Raises EncoderError where there is none or it does not match.
    """
    wanted = database.meta.get("model_fingerprint", "")
    if database.meta.get("vectors") == "follow":
        if builder_of(database.folder):
            raise EncoderError("vectors are on their way", hint="ask again when the build has ended")
        raise EncoderError("the build was cut short before vectors were made", hint="run `syntropy build`")
    if not wanted:
        raise EncoderError(
            f"{database.path} was built without embeddings",
            hint="search with --mode fast, or build with embed.enabled = true",
        )

    def find(name: str) -> Path:
        return locate(database.folder, f"{ENCODER}/{name}")

    try:
        facts = json.loads(find(FACTS).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EncoderError(
            f"no query encoder beside {database.path} ({ENCODER}/{FACTS} is missing)",
            hint="keep the encoder/ folder with the database, or search with --mode fast",
        ) from error
    except ValueError as error:
        raise EncoderError(f"{find(FACTS)} is damaged: {error}", hint="run `syntropy build --full`") from error
    if facts.get("fingerprint") != wanted:
        raise EncoderError(
            f"the encoder ({facts.get('model')}, {str(facts.get('fingerprint'))[:12]}) is not the one that made the "
            f"vectors ({database.meta.get('model')}, {wanted[:12]})",
            hint="use the encoder/ folder published with this database, or build again",
        )
    if facts["engine"] in PROVIDERS:
        return RemoteEncoder(Endpoint(embed, facts["engine"], facts["source"]))
    if facts["engine"] == "sentence-transformers":
        return SentenceTransformersEncoder(facts["source"], facts.get("revision", ""))
    for name in (GRAPH, TOKENIZER):
        if not find(name).is_file():
            raise EncoderError(f"{find(name)} is missing", hint="copy the whole encoder/ folder, or build again")
    return QueryEncoder(facts, find)
