"""Which model makes the vectors, what it reads, and its fingerprint. Loads neither torch nor weights."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.embed import weights
from syntropy.contract.config import EmbedConfig
from syntropy.contract.errors import ConfigError, EncoderError
from syntropy.contract.published import file_sha256
from syntropy.store.embedding_endpoint import PROVIDERS

ENCODER_VERSION = 1
"""Raised when the way from text to vector changes (prefix form, pooling): it empties the cache."""

REMOTE_MAX_TOKENS = 512
"""What a model behind an endpoint is taken to read; its windows are counted by the bundled tokenizer."""


@dataclass(frozen=True)
class Model:
    """A model on disk. `max_tokens` counts special tokens; `dimension` 0 until a first encoding."""

    name: str
    folder: Path
    tokenizer: Path
    weights_sha256: str
    dimension: int
    max_tokens: int
    provider: str = ""
    """Kind of endpoint it stands behind; empty for a model on disk."""

    @property
    def is_bundled(self) -> bool:
        """Is it the model whose weights are known by digest?"""
        return self.name == weights.MODEL_NAME and not self.provider

    def fingerprint(self) -> str:
        """SHA-256 of all that decides a vector: equal fingerprints, equal vectors."""
        facts = {
            "weights": self.weights_sha256,
            "tokenizer": file_sha256(self.tokenizer),
            "dimension": self.dimension,
            "pooling": "mean" if self.is_bundled else "model",
            "normalization": "l2",
            "max_tokens": self.max_tokens,
            "query_prefix": "",
            "document_prefix": "title > headings\n",
            "precision": "fp32",
            "encoder_version": ENCODER_VERSION,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def resolve_model(embed: EmbedConfig) -> Model:
    """The configured model, found on disk (or fetched by name through huggingface_hub).

    Raises MissingDependencyError, EncoderError (hash) or ConfigError with what to change.
    """
    if embed.engine in PROVIDERS:
        identity = hashlib.sha256(f"{embed.engine}\n{embed.model}".encode()).hexdigest()
        tokenizer = weights.tokenizer()
        model = Model(embed.model, tokenizer.parent, tokenizer, identity, 0, REMOTE_MAX_TOKENS, embed.engine)
    elif embed.model == weights.BUNDLED:
        tokenizer = weights.tokenizer()
        model = Model(
            weights.MODEL_NAME,
            tokenizer.parent,
            tokenizer,
            weights.SHA256[weights.WEIGHTS],
            weights.DIMENSION,
            weights.MAX_TOKENS,
        )
    else:
        model = _from_folder(embed.model, _folder(embed))
    if embed.window_tokens > model.max_tokens - 2:
        raise ConfigError(
            f"embed.window_tokens = {embed.window_tokens}, but {model.name} reads {model.max_tokens} tokens "
            "with its two special ones",
            hint=f"set it to {model.max_tokens - 2} or less",
        )
    return model


def _folder(embed: EmbedConfig) -> Path:
    folder = Path(embed.model).expanduser()
    if folder.is_dir():
        return folder
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(embed.model, revision=embed.revision or None))
    except Exception as error:  # huggingface_hub raises a dozen unrelated kinds
        raise EncoderError(
            f"model {embed.model!r} is not a folder and cannot be fetched: {type(error).__name__}: {error}",
            hint='give a local folder, check the name and the network, or use model = "bundled"',
        ) from error


def _from_folder(name: str, folder: Path) -> Model:
    tokenizer = folder / "tokenizer.json"
    files = sorted([*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")])
    if not tokenizer.is_file() or not files:
        raise EncoderError(
            f"{folder} holds no tokenizer.json or no weights",
            hint="use a sentence-transformers model folder with a fast tokenizer",
        )
    digest = hashlib.sha256("".join(file_sha256(f) for f in files).encode()).hexdigest()
    config = _json(folder / "config.json")
    limits = _json(folder / "sentence_bert_config.json")
    max_tokens = int(limits.get("max_seq_length") or config.get("max_position_embeddings") or 512)
    return Model(name, folder, tokenizer, digest, int(config.get("hidden_size") or 0), max_tokens)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
