"""Clients of others: the TypeScript client, the Inspector, the conformance suite (`tests/clients`, from npm)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from syntropy.serve.resources import DOCUMENT
from syntropy.tools.table import TOOLS
from tests.conftest import ROOT
from tests.seed_tools import ROWS
from tests.syntropy.serve.conftest import command

CLIENTS = ROOT / "tests" / "clients"
MODULES = CLIENTS / "node_modules" / "@modelcontextprotocol"
INSPECTOR = MODULES / "inspector/clients/launcher/build/index.js"

pytestmark = pytest.mark.skipif(
    not MODULES.is_dir() or shutil.which("node") is None, reason="npm is not on this machine: no clients from there"
)
ALL = ("--tools", "knowledge,commands,graph,notes")


def node(*arguments: object, given: str = "", home: os.PathLike | None = None) -> subprocess.CompletedProcess:
    env = {**os.environ, "NODE_NO_WARNINGS": "1", **({"HOME": str(home)} if home else {})}
    return subprocess.run(
        ["node", *map(str, arguments)], input=given, capture_output=True, text=True, timeout=120, env=env, cwd=CLIENTS,
        check=False,
    )  # fmt: skip


PLAN = [
    *({"method": "tool", "name": row.ours, "arguments": row.arguments} for row in ROWS if isinstance(row.arguments, dict)),
    {"method": "tool", "name": "get_context", "arguments": {"task": "retry webhooks"}},
    *({"method": "resource", "uri": f"syntropy://{name}"} for name in ("index", "manifest", "stats", "document/project/docs/faq.md")),
    {"method": "prompt", "name": "session_start"},
    {"method": "prompt", "name": "answer_from_knowledge", "arguments": {"question": "how?"}},
    {"method": "complete", "ref": {"type": "ref/resource", "uri": DOCUMENT}, "argument": {"name": "path", "value": "docs/f"}},
]  # fmt: skip


@pytest.mark.parametrize("era", ["legacy", "modern", "auto"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_typescript_client_calls_everything(served, http_server, era, transport):
    place = (
        ["--http", http_server(served, *ALL)]
        if transport == "http"
        else ["--", *command("--project", str(served), *ALL)]
    )
    done = node("client.mjs", "--era", era, *place, given=json.dumps(PLAN))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["era"] == ("legacy" if era == "legacy" else "modern")
    assert {tool["name"] for tool in found["tools"]} == {tool.name for tool in TOOLS}
    assert len(found["resources"]) == 3
    assert len(found["prompts"]) == 2
    assert not found["errors"]
    for step in found["results"]:
        assert "error" not in step, step
        assert not step["result"].get("isError"), step
    answers = {row.ours: row.answers for row in ROWS if isinstance(row.arguments, dict)}
    last = {step["step"].get("name"): step["result"] for step in found["results"]}
    for name, expected in answers.items():
        assert expected in last[name]["content"][0]["text"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_calls_everything(served, http_server, tmp_path, era):
    place = ["--server-url", http_server(served, *ALL), "--transport", "http"]

    def inspect(method: str, *more: str) -> dict:
        done = node(
            INSPECTOR, "--cli", *place, "--method", method, *more, "--protocol-era", era, "--format", "json", "-q",
            "--stored-auth-only", home=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, (method, more, done.stderr)
        return json.loads(done.stdout)["result"]

    assert {tool["name"] for tool in inspect("tools/list")["tools"]} == {tool.name for tool in TOOLS}
    called = set()
    groups = {tool.name: tool.group for tool in TOOLS}
    for row in ROWS:
        if isinstance(row.arguments, dict) and row.ours not in called:
            if era == "legacy" and groups[row.ours] in {groups[name] for name in called}:
                continue  # a call is a start of Node, and all tools go the same way: one of each group will do
            answer = inspect("tools/call", "--tool-name", row.ours, "--tool-args-json", json.dumps(row.arguments))
            assert row.answers in answer["content"][0]["text"]
            called.add(row.ours)
    assert "Context for" in str(
        inspect("tools/call", "--tool-name", "get_context", "--tool-args-json", '{"task":"x y"}')
    )
    assert len(inspect("resources/list")["resources"]) == 3
    assert inspect("resources/templates/list")["resourceTemplates"][0]["uriTemplate"] == DOCUMENT
    for name in ("index", "manifest", "stats"):
        assert inspect("resources/read", "--uri", f"syntropy://{name}")["contents"][0]["text"]
    assert len(inspect("prompts/list")["prompts"]) == 2
    asked = inspect("prompts/get", "--prompt-name", "answer_from_knowledge", "--prompt-args", "question=how")
    assert "Question: how" in asked["messages"][0]["content"]["text"]
    assert inspect("prompts/get", "--prompt-name", "session_start")["messages"]


def test_the_inspector_over_standard_input(served, tmp_path):
    program = command("--project", str(served))
    done = node(INSPECTOR, "--cli", "--method", "tools/list", "--format", "json", "-q", "--", *program, home=tmp_path)
    assert len(json.loads(done.stdout)["result"]["tools"]) == 11


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_the_conformance_suite_but_for_what_needs_its_fixtures(served, http_server, version):
    done = node(
        "--import", "./old-node.mjs", MODULES / "conformance/dist/index.js", "server", "--url", http_server(served),
        "--suite", "all", "--spec-version", version, "--expected-failures", f"expected-failures-{version}.yml",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert "passed" in done.stdout
