"""What `serve --print-config` and `tools` print."""

from __future__ import annotations

import json
import subprocess

import pytest

from syntropy.cli.main import main
from syntropy.setup.clients import CLIENTS, server_key
from syntropy.tools.table import TOOLS
from tests.syntropy.serve.test_process import HELLO


@pytest.mark.parametrize("client", CLIENTS)
def test_a_printed_configuration_starts_a_server(demo, tmp_path, client, capsys):
    assert main(["serve", "--project", str(demo), "--tools", "knowledge,notes", "--print-config", client]) == 0
    printed = capsys.readouterr()
    config = json.loads(printed.out)
    assert CLIENTS[client].file in printed.err
    launch = config[CLIENTS[client].servers[0]][server_key(demo)]
    if isinstance(launch["command"], list):
        launch = {"command": launch["command"][0], "args": launch["command"][1:]}
    done = subprocess.run(
        [launch["command"], *launch["args"]],
        input=json.dumps(HELLO) + "\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=30,
        check=True,
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "syntropy"


def test_a_configuration_that_would_not_start_is_refused(demo, project, tmp_path, capsys):
    for wrong in (["--out", str(tmp_path)], ["--project", str(project({"a.md": "# A"}))], ["--tools", "magic"]):
        assert main(["serve", *wrong, "--print-config", "claude"]) != 0
        assert capsys.readouterr().out == ""
    assert main(["serve", "--out", str(demo / "build"), "--tools", "notes", "--print-config", "claude"]) == 0
    assert "add --project" in capsys.readouterr().err
    both = ["--project", str(demo), "--out", str(demo / "build"), "--tools", "notes"]
    assert main(["serve", *both, "--print-config", "claude"]) == 0
    args = json.loads(capsys.readouterr().out)["mcpServers"][server_key(demo)]["args"]
    assert args[args.index("--project") + 1] == str(demo)
    assert args[args.index("--out") + 1] == str(demo / "build")


@pytest.mark.parametrize(
    ("client", "key"), [("claude", "mcpServers"), ("vscode", "servers"), ("zed", "context_servers")]
)
def test_a_running_server_is_named_by_its_address(demo, capsys, client, key):
    assert main(["serve", "--project", str(demo), "--http", "--port", "9", "--print-config", client]) == 0
    assert json.loads(capsys.readouterr().out)[key][server_key(demo)]["url"] == "http://127.0.0.1:9/mcp"


@pytest.mark.parametrize("form", ["openai", "anthropic", "json-schema"])
def test_definitions_for_models_come_from_the_table(demo, capsys, form):
    assert main(["tools", "--format", form, "--tools", "knowledge,commands,graph,notes", "--project", str(demo)]) == 0
    defined = json.loads(capsys.readouterr().out)
    found = {}
    for one in defined:
        one = one.get("function", one)
        found[one["name"]] = one.get("parameters") or one.get("input_schema") or one.get("inputSchema")
    assert found == {tool.name: tool.input_schema() for tool in TOOLS}


def test_definitions_follow_what_the_knowledge_holds(project, demo, capsys):
    from tests.quick import build

    root = project({"docs/a.md": "# A\n\ntext\n"})
    build(root)
    main(["tools", "--project", str(root)])
    assert {one["name"] for one in json.loads(capsys.readouterr().out)} == {
        tool.name for tool in TOOLS if tool.group == "knowledge"
    }
    (root / "syntropy.toml").write_text('[embed]\nenabled = false\n[serve]\ntools = ["notes"]\n')
    main(["tools", "--project", str(root)])
    assert "save_rule" in {one["name"] for one in json.loads(capsys.readouterr().out)}
    main(["tools", "--project", str(demo)])
    assert "get_command" in {one["name"] for one in json.loads(capsys.readouterr().out)}


def test_unknown_groups_are_refused(demo, capsys):
    assert main(["tools", "--tools", "magic", "--project", str(demo)]) == 2
    assert main(["serve", "--tools", "magic", "--project", str(demo)]) == 2
    assert "knowledge, commands, graph, notes" in capsys.readouterr().err
