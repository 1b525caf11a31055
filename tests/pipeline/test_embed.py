"""The bundled model's engine equals sentence-transformers; the cache keeps and prunes."""

import hashlib
import json

import numpy as np
import polars as pl
import pytest

from pipeline.embed.cache import EmbeddingCache
from pipeline.embed.engines import OnnxEngine, SentenceTransformersEngine, encode_in_parts, make_engine
from pipeline.embed.graph import build_graph
from pipeline.embed.model import resolve_model
from pipeline.embed.weights import SHA256, model_folder, verified
from syntropy.artifacts import file_sha256
from syntropy.config import EmbedConfig
from syntropy.errors import ConfigError, EncoderError
from tests.conftest import DEMO

pytestmark = pytest.mark.xdist_group("embed")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    path.write_bytes(build_graph(verified("model.safetensors")))
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
    for name, digest in SHA256.items():
        assert file_sha256(model_folder() / name) == digest


def test_the_graph_is_the_same_each_time():
    first, again = (hashlib.sha256(build_graph(verified("model.safetensors"))).hexdigest() for _ in range(2))
    assert first == again


def test_equal_to_sentence_transformers_on_a_thousand_paragraphs(engine):
    texts = paragraphs(1000)
    tokenizer = engine._tokenizer
    texts = [t for t in texts if len(tokenizer.encode(t)) <= 256]
    assert len(texts) > 950
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


def test_wrong_weights_are_refused(monkeypatch):
    monkeypatch.setitem(SHA256, "vocab.txt", "0" * 64)
    verified.cache_clear()
    with pytest.raises(EncoderError, match="SHA-256"):
        verified("vocab.txt")


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
        (tmp_path / name).symlink_to(model_folder() / name)
    (tmp_path / "1_Pooling").symlink_to(model_folder() / "1_Pooling")
    embed = EmbedConfig(model=str(tmp_path))
    model = resolve_model(embed)
    assert (model.dimension, model.max_tokens) == (384, 256)
    assert model.fingerprint() != resolve_model(EmbedConfig()).fingerprint()
    vectors = make_engine(embed, model, lambda: tmp_path).encode(["hello"])
    assert vectors.shape == (1, 384)


def test_an_unknown_model_is_a_clear_error(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EncoderError, match="no folder and cannot be fetched"):
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


def test_the_cache_is_pruned_when_most_is_unused(tmp_path):
    cache = EmbeddingCache(tmp_path, "f" * 64)
    for start in range(0, 3000, 500):
        fill(cache, 500, start=start)
    used = pl.Series([f"{n:064x}" for n in range(100)])
    assert cache.prune(used) == 2900
    assert cache.known(used).all()
    assert cache.prune(used) == 0


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


def test_a_full_build_computes_vectors_again_and_then_drops_the_old(tmp_path):
    cache = EmbeddingCache(tmp_path, "f" * 64)
    hashes = fill(cache, 3)
    emptied = cache.emptied()
    assert not emptied.known(pl.Series(hashes)).any()
    emptied.add(hashes, np.full((3, 4), 7, np.float32))
    assert cache.known(pl.Series(hashes)).all(), "a build killed here has lost nothing"
    emptied.drop_ignored()
    assert cache.vectors(pl.Series(hashes))["vector"].to_list() == [[7.0] * 4] * 3
