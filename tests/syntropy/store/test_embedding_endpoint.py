"""Embedding endpoints, against real HTTP servers on loopback: batches, retries, lost endpoints, queries."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import syntropy
import syntropy.store.embedding_endpoint as module
from syntropy.contract.config import EmbedConfig, load_config
from syntropy.contract.errors import ConfigError, EncoderError
from syntropy.store.embedding_endpoint import Endpoint
from tests.quick import build

DIMENSION = 24


def vector_of(text):
    """Words hashed into a few dimensions: texts with common words are near each other."""
    values = [0.01] * DIMENSION
    for word in text.lower().split():
        values[int(hashlib.sha256(word.encode()).hexdigest(), 16) % DIMENSION] += 1.0
    return values


class Server:
    """Both APIs. `failures`: statuses to answer first; `requests`: (path, texts, key) as they came."""

    def __init__(self):
        self.failures, self.requests = [], []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.requests.append((self.path, body["input"], self.headers.get("Authorization", "")))
                status = owner.failures.pop(0) if owner.failures else 200
                vectors = [vector_of(text) for text in body["input"]]
                rows = [{"index": n, "embedding": v} for n, v in enumerate(vectors)]
                answer = {"embeddings": vectors} if self.path == "/api/embed" else {"data": rows[::-1]}
                data = json.dumps(answer if status == 200 else {"error": "no"}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(module, "FIRST_WAIT", 0.001)
    opened = Server()
    yield opened
    opened.close()


def embed(server, **more):
    return EmbedConfig(base_url=server.url, model="tiny", **more)


@pytest.mark.parametrize(("provider", "path"), [("ollama", "/api/embed"), ("openai", "/embeddings")])
def test_unit_vectors_in_the_order_of_the_texts(server, provider, path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    monkeypatch.setenv("SYNTROPY_EMBED_API_KEY_ENV", "MY_KEY")
    endpoint = Endpoint(embed(server, api_key_env="MY_KEY"), provider, "tiny")
    texts = ["alpha beta", "gamma"]
    found = endpoint.embed(texts)
    assert [round(sum(x * x for x in v), 6) for v in found] == [1.0, 1.0]
    assert found[1] == endpoint.embed(["gamma"])[0]
    assert server.requests[0] == (path, texts, "Bearer secret" if provider == "openai" else "")


def test_passing_failures_are_tried_again(server):
    server.failures = [503, 429]
    assert len(Endpoint(embed(server), "openai", "tiny").embed(["x"])) == 1
    assert len(server.requests) == 3


def test_refusals_are_not_tried_again_and_say_what_to_check(server):
    server.failures = [401]
    with pytest.raises(EncoderError, match="401") as raised:
        Endpoint(embed(server), "openai", "tiny").embed(["x"])
    assert "key" in raised.value.hint
    assert len(server.requests) == 1


def test_a_dead_endpoint_is_a_clear_error(server):
    server.close()
    with pytest.raises(EncoderError, match="did not answer"):
        Endpoint(embed(server, timeout_seconds=1.0), "ollama", "tiny").embed(["x"])


def test_an_address_and_a_model_are_needed(tmp_path):
    with pytest.raises(ConfigError, match="base_url"):
        Endpoint(EmbedConfig(model="tiny"), "openai", "tiny")
    with pytest.raises(ConfigError, match=r"embed\.model"):
        load_config(None, flags={"embed": {"engine": "ollama"}}, env={})


def test_build_and_query_through_an_endpoint(server, project):
    config = f'[embed]\nengine = "ollama"\nmodel = "tiny"\nbase_url = "{server.url}"\n'
    root = project({f"docs/{n}.md": f"# Page {n}\n\nWord{n} and others.\n" for n in range(5)}, config)
    build(root)
    asked = len(server.requests)
    with syntropy.open(root) as knowledge:
        assert knowledge.meta["vector_dimension"] == str(DIMENSION)
        assert knowledge.search("Page 3 Word3", mode="semantic").hits[0].citation.path == "docs/3.md"
        knowledge.search(" Page 3  Word3 ", mode="hybrid")
    assert len(server.requests) == asked + 1, "the second query was remembered"
    (root / "docs/3.md").write_text("# Page 3\n\nQuite another text.\n")
    build(root)
    assert len(server.requests[-1][1]) == 1, "only the changed page was embedded"


def test_nothing_embedded_is_lost_when_the_endpoint_dies(server, project, monkeypatch, tmp_path):
    import pipeline.embed.embedding as stage

    monkeypatch.setenv("SYNTROPY_CACHE_HOME", str(tmp_path / "cache"))  # vectors of former runs are of no help here
    monkeypatch.setattr(stage, "PART", 4)
    config = f'[embed]\nengine = "openai"\nmodel = "tiny"\nbase_url = "{server.url}"\n'
    root = project({f"docs/{n:02}.md": f"# Page {n}\n\nText {n}.\n" for n in range(12)}, config)
    server.failures = [200, 200, *[500] * 10]
    with pytest.raises(EncoderError, match="did not answer"):
        build(root)
    server.failures, server.requests = [], []
    build(root)
    assert sum(len(texts) for _, texts, _ in server.requests) == 4, "eight of twelve were kept"


def test_a_projects_file_picks_no_secret_and_no_far_address(project, monkeypatch):
    root = project({})
    for line, told in (
        ('api_key_env = "AWS_SECRET_ACCESS_KEY"', "is for the user to set"),
        ('base_url = "https://models.example.org/v1"', "names an address beyond this machine"),
        ('base_url = "http://localhost@models.example.org/v1"', "names an address beyond this machine"),
    ):
        (root / "syntropy.toml").write_text(f"[embed]\n{line}\n")
        with pytest.raises(ConfigError, match=told) as refused:
            load_config(root)
        assert "SYNTROPY_EMBED_" in refused.value.advice()
    (root / "syntropy.toml").write_text('[embed]\nbase_url = "http://127.0.0.1:11434"\n')
    assert load_config(root).embed.base_url == "http://127.0.0.1:11434"
    monkeypatch.setenv("SYNTROPY_EMBED_BASE_URL", "https://models.example.org/v1")
    monkeypatch.setenv("SYNTROPY_EMBED_API_KEY_ENV", "MY_KEY")
    assert load_config(root).embed.api_key_env == "MY_KEY"
