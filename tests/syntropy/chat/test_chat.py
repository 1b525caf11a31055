"""The chat against a real server on loopback that speaks the protocol, and misbehaves when told to."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import syntropy
from syntropy.chat.cited import Marker
from syntropy.chat.endpoint import ChatError, EndpointModel
from syntropy.chat.loop import Chat, Text, Turn, Used
from syntropy.cli.main import main
from syntropy.tools.edition import Publication
from syntropy.tools.toolbox import Toolbox


def text(*pieces: str) -> list[dict]:
    """Chunks of an answer."""
    deltas = [{"role": "assistant"}, *({"content": piece} for piece in pieces)]
    return [*(chunk(delta) for delta in deltas), chunk({}, "stop")]


def call(name: str, arguments: str, number: int = 0) -> list[dict]:
    """Chunks of a tool call, its arguments in three pieces."""
    third = len(arguments) // 3
    pieces = [arguments[:third], arguments[third : 2 * third], arguments[2 * third :]]
    first = {"index": number, "id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": ""}}
    rest = [{"index": number, "function": {"arguments": piece}} for piece in pieces]
    return [*(chunk({"tool_calls": [one]}) for one in (first, *rest)), chunk({}, "tool_calls")]


def chunk(delta: dict, finish: str | None = None) -> dict:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


class Endpoint:
    """Answers requests with the next step of a script; the last one is repeated."""

    def __init__(self) -> None:
        self.script: list = []
        self.requests: list[dict] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append(body)
                step = outer.script[min(len(outer.requests), len(outer.script)) - 1]
                step(self) if callable(step) else stream(self, step)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


def stream(handler, chunks: list[dict], *, ending: bytes = b"data: [DONE]\n\n") -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("connection", "close")
    handler.end_headers()
    for one in chunks:
        handler.wfile.write(f"data: {json.dumps(one)}\n\n".encode())
        handler.wfile.flush()
    handler.wfile.write(ending)
    handler.close_connection = True


def status(code: int, message: str = "no", **headers: str) -> Callable:
    def answer(handler) -> None:
        body = json.dumps({"error": {"message": message, "type": "error"}}).encode()
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def cut(chunks: list[dict]) -> Callable:
    """A stream that stops in the middle of a chunk, without a reason to finish."""
    return lambda handler: stream(handler, chunks, ending=b'data: {"id":')


def slow(seconds: float) -> Callable:
    return lambda handler: (time.sleep(seconds), stream(handler, text("late")))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def talk(endpoint, demo):
    with Publication(lambda: syntropy.open(project=demo)) as publication:
        box = Toolbox(publication)

        def begin(*script, timeout: float = 20, retries: int = 2, **options) -> Chat:
            endpoint.script = list(script)
            model = EndpointModel(endpoint.url, "m", api_key="k", timeout=timeout, retries=retries)
            return Chat(model, box, **options)

        yield begin


def asked(chat: Chat, question: str = "How do we retry webhooks?") -> tuple[str, Turn]:
    pieces = list(chat.ask(question))
    assert isinstance(pieces[-1], Turn)
    return "".join(piece.text for piece in pieces if isinstance(piece, Text)), pieces[-1]


SEARCH = json.dumps({"query": "retry failed webhooks"})


def test_search_then_document_then_answer_with_its_sources(talk, endpoint):
    chat = talk(
        call("search_knowledge", SEARCH),
        call("get_document", '{"path": "docs/guides/retries.md#L37-L42"}'),
        text("With jitter, ", "see docs/guides/retries.md#L37-L42."),
    )
    said, turn = asked(chat)
    assert said == turn.answer == "With jitter, see docs/guides/retries.md#L37-L42."
    assert [used.name for used in turn.used] == ["search_knowledge", "get_document"]
    assert turn.sources == ["docs/guides/retries.md#L37-L42"]
    last = endpoint.requests[2]["messages"]
    assert [m["role"] for m in last] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert "502, 503 and 504" in last[-1]["content"]
    assert {t["function"]["name"] for t in endpoint.requests[0]["tools"]} >= {"search_knowledge", "get_command"}


def test_several_turns_are_one_conversation(talk, endpoint):
    chat = talk(text("one"), text("two"))
    asked(chat, "first?")
    asked(chat, "second?")
    assert [m["content"] for m in endpoint.requests[1]["messages"][1:]] == ["first?", "one", "second?"]


def test_two_calls_at_once_are_both_answered(talk, endpoint):
    both = [*call("search_knowledge", SEARCH, 0)[:-1], *call("list_contexts", "{}", 1)]
    _, turn = asked(talk(both, text("done")))
    assert [used.name for used in turn.used] == ["search_knowledge", "list_contexts"]
    assert [m["tool_call_id"] for m in endpoint.requests[1]["messages"] if m["role"] == "tool"] == ["call_0", "call_1"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search_knowledge", '{"query": "retr', "not a JSON object"),
        ("search_knowledge", '["query"]', "not a JSON object"),
        ("search_knowledge", '{"question": "x"}', "no argument"),
        ("search_knowledge", '{"query": ""}', "query"),
        ("delete_everything", "{}", "there is no tool"),
        ("save_rule", '{"label": "a", "content": "b"}', "there is no tool"),
        ("list_contexts", "", "packages"),
    ],
)
def test_bad_calls_are_answered_with_what_to_do(talk, endpoint, name, arguments, said):
    _, turn = asked(talk(call(name, arguments), text("sorry")))
    told = endpoint.requests[1]["messages"][-1]["content"]
    assert said in told
    assert turn.used[0].error == ("packages" not in said)
    assert turn.answer == "sorry"


def test_endless_calls_end_clearly(talk, endpoint):
    said, turn = asked(talk(call("search_knowledge", SEARCH)))
    assert turn.ended == "limit"
    assert said == "(no answer)"
    assert "stopped after 3 rounds" in turn.warning
    assert len(turn.used) == 3
    assert len(endpoint.requests) == 4
    assert endpoint.requests[3]["tools"] == endpoint.requests[0]["tools"]  # strict endpoints want them in every round
    assert endpoint.requests[3]["tool_choice"] == "none"
    assert turn.sources == []  # nothing was cited


def test_the_limit_can_be_set_and_the_last_request_must_answer(talk, endpoint):
    _, turn = asked(talk(call("search_knowledge", SEARCH), text("that is all I know"), max_iterations=1))
    assert (turn.ended, turn.answer) == ("limit", "that is all I know")
    assert "stopped after 1 rounds" in turn.warning
    assert endpoint.requests[1]["tool_choice"] == "none"


def whole(message: dict) -> Callable:
    """One piece of JSON, as of an endpoint that ignores `stream`."""

    def answer(handler) -> None:
        choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": "stop"}
        body = json.dumps(
            {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        ).encode()
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def test_an_endpoint_that_ignores_stream_works(talk, endpoint):
    asks = {"id": "call_1", "type": "function", "function": {"name": "search_knowledge", "arguments": SEARCH}}
    said, turn = asked(talk(whole({"tool_calls": [asks]}), whole({"content": "Three times."})))
    assert said == "Three times."
    assert [used.name for used in turn.used] == ["search_knowledge"]
    assert len(endpoint.requests) == 2


def test_citations_that_were_not_read_are_marked(talk):
    said, turn = asked(
        talk(
            call("get_document", '{"path": "docs/guides/retries.md#L37-L42"}'),
            text("Thrice (docs/guides/re", "tries.md#L38-L40), see docs/nope.md#L1-", "L9 and docs/faq.md#L1."),
        )
    )
    assert said == (
        "Thrice (docs/guides/retries.md#L38-L40), see docs/nope.md#L1-L9 [not read] and docs/faq.md#L1 [not read]."
    )
    assert turn.sources == ["docs/guides/retries.md#L38-L40"]


def test_without_tools_the_prompt_carries_the_overview(talk, endpoint):
    _, turn = asked(talk(text("See docs/faq.md"), tools=False, page="the users page"))
    prompt = endpoint.requests[0]["messages"][0]["content"]
    assert "tools" not in endpoint.requests[0]
    assert "docs/guides/" in prompt
    assert "You cannot search" in prompt
    assert "search_knowledge" not in prompt
    assert "The user is on: the users page" in prompt
    assert turn.sources == []


def test_a_model_that_takes_no_tools_is_asked_without(talk, endpoint):
    _, turn = asked(talk(status(400, "this model does not support tools"), text("From the overview")))
    assert turn.answer == "From the overview"
    assert "takes no tools" in turn.warning
    assert "You cannot search" in endpoint.requests[1]["messages"][0]["content"]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_passing_failures_are_tried_again(talk, endpoint, code):
    said, _ = asked(talk(status(code, retry_after="0"), status(code, retry_after="0"), text("now")))
    assert said == "now"
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (status(429, retry_after="0"), "more requests"),
        (status(500, "boom", retry_after="0"), "boom"),
        (status(401, "bad key"), "api_key_env"),
        (status(404, "no such model"), "no such model"),
    ],
)
def test_lasting_failures_are_told(talk, endpoint, step, said):
    chat = talk(step)
    with pytest.raises(ChatError) as error:
        list(chat.ask("x"))
    assert said in str(error.value)


def test_a_failed_question_is_forgotten_and_the_next_one_works(talk, endpoint):
    chat = talk(status(404), text("fine"))
    with pytest.raises(ChatError):
        list(chat.ask("lost"))
    asked(chat, "kept")
    assert [m["content"] for m in endpoint.requests[1]["messages"][1:]] == ["kept"]


def test_a_slow_answer_is_not_waited_for_forever(talk, endpoint):
    chat = talk(slow(3), timeout=0.3, retries=1)
    began = time.monotonic()
    with pytest.raises(ChatError, match="in time"):
        list(chat.ask("x"))
    assert time.monotonic() - began < 3
    assert len(endpoint.requests) == 2


def test_a_stream_that_is_cut_before_the_first_word_is_asked_for_again(talk, endpoint):
    said, _ = asked(talk(cut([]), text("whole")))
    assert said == "whole"


@pytest.mark.parametrize("chunks", [text("half an ans")[:-1], call("search_knowledge", SEARCH)[:2]])
def test_a_stream_that_is_cut_in_the_middle_is_told(talk, endpoint, chunks):
    chat = talk(cut(chunks))
    with pytest.raises(ChatError, match="broke off"):
        list(chat.ask("x"))


def test_nobody_there(demo):
    with Publication(lambda: syntropy.open(project=demo)) as publication:
        model = EndpointModel("http://127.0.0.1:9/v1", "m", api_key="", timeout=2, retries=0)
        with pytest.raises(ChatError, match="cannot be reached"):
            list(Chat(model, Toolbox(publication)).ask("x"))


def test_pieces_come_as_they_are_said(talk):
    pieces = list(talk(call("search_knowledge", SEARCH), text("a ", "b ", "c ")).ask("x"))
    assert [type(piece) for piece in pieces] == [Used, Text, Text, Text, Turn]


def test_the_command(endpoint, demo, capsys, monkeypatch):
    read = '{"path": "docs/guides/retries.md#L37-L42"}'
    endpoint.script = [call("get_document", read), text("See ", "docs/guides/retries.md#L37-L42"), text("again")]
    where = ["--project", str(demo), "--base-url", endpoint.url, "--model", "m"]
    assert main(["chat", "How", "do we retry?", *where, "--page", "dashboard"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("See docs/guides/retries.md#L37-L42\nSources: docs/guides/retries.md#L37-L42")
    assert f"get_document {read}" in printed.err
    assert "The user is on: dashboard" in endpoint.requests[0]["messages"][0]["content"]

    monkeypatch.setattr("sys.stdin", __import__("io").StringIO("one?\n\ntwo?\n"))
    assert main(["chat", *where, "--json", "--tools", "none"]) == 0
    assert capsys.readouterr().out.count('"answer": "again"') == 2


def test_a_projects_file_sends_nothing_elsewhere(endpoint, demo, project, capsys, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "top secret")
    root = project({}, config='[chat]\nbase_url = "https://models.example.org/v1"\n')
    where = ["chat", "x", "--project", str(root), "--out", str(demo / "build"), "--model", "m"]
    assert main(where) == 2
    assert "SYNTROPY_CHAT_BASE_URL" in capsys.readouterr().err
    (root / "syntropy.toml").write_text(f'[chat]\nbase_url = "{endpoint.url}"\napi_key_env = "AWS_SECRET_ACCESS_KEY"\n')
    assert main(where) == 2
    assert "SYNTROPY_CHAT_API_KEY_ENV" in capsys.readouterr().err
    (root / "syntropy.toml").write_text(f'[chat]\nbase_url = "{endpoint.url}"\n')
    seen = []
    endpoint.script = [lambda handler: (seen.append(handler.headers["authorization"]), stream(handler, text("ok")))]
    assert main(where) == 0
    assert seen
    assert "top secret" not in str(seen)


def test_addresses_that_are_none(demo, capsys):
    assert main(["chat", "x", "--project", str(demo), "--model", "m", "--base-url", "127.0.0.1:1/v1"]) == 2
    assert "http://" in capsys.readouterr().err


def test_the_prompt_names_only_tools_that_are_there(endpoint, demo):
    with Publication(lambda: syntropy.open(project=demo)) as publication:
        endpoint.script = [text("ok")]
        model = EndpointModel(endpoint.url, "m", api_key="", timeout=5, retries=0)
        list(Chat(model, Toolbox(publication, ("commands",))).ask("x"))
        prompt = endpoint.requests[0]["messages"][0]["content"]
        assert "get_command" in prompt
        assert "search_knowledge" not in prompt
        list(Chat(model, Toolbox(publication, ("commands",)), tools=False).ask("x"))
        assert "docs/guides/" in endpoint.requests[1]["messages"][0]["content"]


def test_the_command_needs_a_model_and_tells_failures(endpoint, demo, capsys):
    assert main(["chat", "x", "--project", str(demo)]) == 2
    assert "--model" in capsys.readouterr().err
    endpoint.script = [status(404, "no such model")]
    assert main(["chat", "x", "--project", str(demo), "--base-url", endpoint.url, "--model", "m"]) == 12
    assert main(["chat", "x", "--project", str(demo), "--model", "m", "--max-iterations", "0"]) == 2


@given(st.lists(st.integers(0, 70), max_size=12))
def test_a_marked_answer_is_the_same_however_it_is_cut(cuts):
    text = "See docs/a.md#L1-L9. **README.md#L2**, （docs/a.md#L3-L4） but docs/b.md#L9-L1 x"
    whole = Marker(lambda _: True)
    split = Marker(lambda _: True)
    for marker in (whole, split):
        marker.read(["docs/a.md#L1-L9", "README.md#L1-L5", "docs/b.md#L1-L9"])
    expected = whole.put(text) + whole.end()
    ends = [0, *sorted(cuts), len(text)]
    assert "".join(split.put(text[a:b]) for a, b in zip(ends, ends[1:], strict=False)) + split.end() == expected
    assert expected.count("[not read]") == 1
    assert whole.cited == split.cited == ["docs/a.md#L1-L9", "README.md#L2", "docs/a.md#L3-L4"]
