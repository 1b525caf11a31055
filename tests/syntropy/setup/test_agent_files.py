"""`init --agent` in projects with files of their own: nothing of theirs changes, and nothing stays behind."""

from __future__ import annotations

import json
import subprocess
import tomllib

import pytest

from syntropy.cli.main import main
from syntropy.setup import marked
from syntropy.setup.clients import CLIENTS, server_key
from syntropy.setup.grep_hint import question_of

THEIRS = {
    "docs/a.md": "# Retries\n\nFailed webhooks are retried with a budget of time.\n",
    "AGENTS.md": "# Rules\n\n- Never push on Fridays",  # no line end
    ".mcp.json": '{"mcpServers": {"theirs": {"command": "x"}}}',
    ".codex/config.toml": '# mine\nmodel = "m"\n\n[mcp_servers.theirs]\ncommand = "x"\n',
    ".gemini/settings.json": "{}",
    ".cursor/mcp.json": '{\r\n\t"mcpServers": {\r\n\t\t"theirs": {"url": "http://x"}\r\n\t}\r\n}\r\n',
    ".vscode/mcp.json": '{\n  // servers of the team\n  "servers": {\n    "theirs": {"command": "x"},\n  },\n}\n',
    ".zed/settings.json": '{ "theme": "One", "context_servers": {} }\n',
    ".claude/settings.local.json": json.dumps(
        {"permissions": {"allow": ["Bash"]}, "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}}, indent=2
    ),
    ".claude/skills/theirs/SKILL.md": "---\nname: theirs\ndescription: x\n---\n",
}


@pytest.fixture
def root(project, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir(exist_ok=True)
    return project(THEIRS)


def files(root):
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_in_twice_and_out_leaves_no_trace(root, capsys):
    before = files(root)
    assert main(["init", "--agent", str(root)]) == 0
    once = files(root)
    assert main(["init", "--agent", str(root)]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert files(root) == once
    key = server_key(root)
    for client in CLIENTS.values():
        if client.home:
            continue
        text = once[client.file].decode()
        assert key in text
        assert ("theirs" in text) is ("theirs" in THEIRS.get(client.file, ""))
    assert key in tomllib.loads(once[".codex/config.toml"].decode())["mcp_servers"]
    hooks = json.loads(once[".claude/settings.local.json"])["hooks"]
    assert [len(hooks[event]) for event in ("SessionStart", "PreToolUse")] == [1, 2]
    assert once["AGENTS.md"].startswith(before["AGENTS.md"])
    for name in (".vscode/mcp.json", ".cursor/mcp.json", ".codex/config.toml"):
        left = [line for line in before[name].splitlines() if line not in once[name].splitlines()]
        assert left == [], name
    assert main(["init", "--agent", "--remove", str(root)]) == 0
    assert files(root) == before
    assert not (root / ".claude/skills/syntropy").exists()
    assert not (root / "opencode.json").exists()


def test_what_changed_meanwhile_stays(root):
    main(["init", "--agent", str(root)])
    agents = root / "AGENTS.md"
    agents.write_text(agents.read_text() + "\n- A rule that came later\n")
    mcp = json.loads((root / ".mcp.json").read_text())
    mcp["mcpServers"]["later"] = {"command": "y"}
    (root / ".mcp.json").write_text(json.dumps(mcp, indent=4))
    main(["init", "--agent", "--remove", str(root)])
    assert "- A rule that came later" in agents.read_text()
    assert "syntropy" not in agents.read_text()
    assert list(json.loads((root / ".mcp.json").read_text())["mcpServers"]) == ["theirs", "later"]


def test_a_folder_that_moved_is_brought_up_to_date(root, tmp_path):
    main(["init", "--agent", str(root)])
    moved = tmp_path / "elsewhere" / root.name
    moved.parent.mkdir()
    root.rename(moved)
    assert main(["init", "--agent", str(moved)]) == 0
    servers = json.loads((moved / ".mcp.json").read_text())["mcpServers"]
    assert set(servers) == {"theirs", server_key(moved)}
    assert str(moved) in str(servers[server_key(moved)])
    assert len(json.loads((moved / ".claude/settings.local.json").read_text())["hooks"]["SessionStart"]) == 1


def test_files_that_cannot_be_edited_are_left_alone_and_named(root, tmp_path, capsys):
    (root / ".mcp.json").write_text("not json")
    outside = tmp_path / "shared.json"
    outside.write_text("{}")
    (root / ".cursor/mcp.json").unlink()
    (root / ".cursor/mcp.json").symlink_to(outside)
    assert main(["init", "--agent", str(root)]) == 1
    printed = capsys.readouterr().out
    assert "left alone .mcp.json" in printed
    assert "left alone .cursor/mcp.json" in printed
    assert (root / ".mcp.json").read_text() == "not json"
    assert outside.read_text() == "{}"


def test_keys_of_two_projects_do_not_collide_in_one_file_of_the_user(root, tmp_path, project, capsys):
    shared = tmp_path / "home/.codeium/windsurf/mcp_config.json"
    shared.parent.mkdir(parents=True)
    shared.write_text('{"mcpServers": {}}')
    other = tmp_path / "other" / root.name
    (other / "docs").mkdir(parents=True)
    (other / "syntropy.toml").write_text("")
    assert main(["init", "--agent", "--client", "windsurf", str(root)]) == 0
    assert main(["init", "--agent", "--client", "windsurf", str(other)]) == 0
    assert len({server_key(root), server_key(other)}) == 2
    assert set(json.loads(shared.read_text())["mcpServers"]) == {server_key(root), server_key(other)}
    for place in (other, root):
        assert main(["init", "--agent", "--remove", "--client", "windsurf", str(place)]) == 0
    assert shared.read_text() == '{"mcpServers": {}}'


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\n\n", "a\r\nb\r\n", "\n"])
def test_a_block_comes_out_as_it_went_in(text):
    once = marked.put(text, "one\ntwo", marked.MARKDOWN)
    assert marked.put(once, "one\ntwo", marked.MARKDOWN) == once
    other = marked.put(once, "three", marked.MARKDOWN)
    assert "three" in other
    assert "one" not in other
    assert marked.taken(other, marked.MARKDOWN) == text


@pytest.mark.parametrize(
    ("tool", "given", "question"),
    [
        ("Grep", {"pattern": "retry.*webhook"}, "retry webhook"),
        ("Grep", {"pattern": "failed webhooks", "path": "docs"}, "failed webhooks"),
        ("Grep", {"pattern": "failed webhooks", "path": "docs/a.md"}, ""),
        ("Grep", {"pattern": "RetryBudget"}, ""),
        ("Grep", {"pattern": r"def retry\(self, budget\)"}, ""),
        ("Bash", {"command": "grep -rn 'session timeout' ."}, "session timeout"),
        ("Bash", {"command": "cd x && rg -i 'retry|backoff policy'"}, "retry backoff policy"),
        ("Bash", {"command": "git grep 'rate limit headers'"}, "rate limit headers"),
        ("Bash", {"command": "cat a.txt | grep 'two words'"}, ""),
        ("Bash", {"command": "ls -la; echo 'two words'"}, ""),
        ("Bash", {"command": "grep 'unclosed"}, ""),
        ("Edit", {"pattern": "two words"}, ""),
        ("Grep", None, ""),
    ],
)
def test_only_broad_searches_are_questions(tool, given, question):
    assert question_of({"tool_name": tool, "tool_input": given}) == question


def test_the_hooks_as_they_are_installed_work(demo, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    from syntropy.setup.agent_files import Plan, hooks
    from syntropy.setup.launcher import program

    installed = hooks(Plan(demo, tmp_path, program(), ""))

    def run(event, given):
        command = installed[event]["hooks"][0]["command"]
        return subprocess.run(
            command, shell=True, input=json.dumps(given), capture_output=True, text=True, timeout=30, check=True
        ).stdout

    told = run("SessionStart", {})
    assert "# Knowledge of this project" in told
    assert "- docs/guides/" in told or "- docs/ " in told
    assert "Not held" in told
    hint = json.loads(run("PreToolUse", {"tool_name": "Grep", "tool_input": {"pattern": "retry.*webhook"}}))
    assert "search_knowledge" in hint["hookSpecificOutput"]["additionalContext"]
    assert run("PreToolUse", {"tool_name": "Grep", "tool_input": {"pattern": "kubernetes terraform"}}) == ""
    assert run("PreToolUse", {"tool_name": "Read"}) == ""


def test_nothing_of_theirs_is_taken_for_ours(root, capsys):
    skill = root / ".claude/skills/syntropy/SKILL.md"
    skill.parent.mkdir()
    skill.write_text("my own skill")
    agents = "Keep out of <!-- syntropy:begin --> ... <!-- syntropy:end -->.\nimportant\nmore\n"
    (root / "AGENTS.md").write_text(agents)
    staging = {"mcpServers": {f"syntropy-{root.name}-staging": {"url": "http://10.0.0.5/mcp"}}}
    (root / ".mcp.json").write_text(json.dumps(staging))
    assert main(["init", "--agent", str(root)]) == 1
    assert "left alone .claude/skills/syntropy/SKILL.md" in capsys.readouterr().out
    assert set(json.loads((root / ".mcp.json").read_text())["mcpServers"]) == {server_key(root), *staging["mcpServers"]}
    settings = root / ".claude/settings.local.json"
    whole = json.loads(settings.read_text())
    whole["hooks"]["PreToolUse"][0]["hooks"].append({"type": "command", "command": "my-linter"})
    settings.write_text(json.dumps(whole))
    assert main(["init", "--agent", str(root)]) == 1
    assert json.loads(settings.read_text())["hooks"]["PreToolUse"] == whole["hooks"]["PreToolUse"]
    main(["init", "--agent", "--remove", str(root)])
    assert "my-linter" in settings.read_text()
    assert (root / "AGENTS.md").read_text() == agents
    assert skill.read_text() == "my own skill"
    assert json.loads((root / ".mcp.json").read_text()) == staging


def test_odd_files_stop_nothing(root, capsys):
    (root / ".mcp.json").unlink()
    (root / ".mcp.json").mkdir()
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").symlink_to("AGENTS.md")
    assert main(["init", "--agent", str(root)]) == 1
    printed = capsys.readouterr().out
    assert "left alone .mcp.json" in printed
    assert "left alone AGENTS.md" in printed
    assert "wrote .cursor/mcp.json" in printed
    assert main(["init", "--agent", "--remove", str(root)]) == 1


def test_what_was_added_behind_a_block_stays_on_its_own_line():
    once = marked.put("model = 1", '[a]\nb = "c"', marked.HASH) + "[other]\nb = 2\n"
    assert tomllib.loads(marked.taken(once, marked.HASH)) == {"model": 1, "other": {"b": 2}}
    tight = marked.put("a\n", "x", marked.MARKDOWN).replace("a\n\n", "a\n") + "# mine\n"
    assert marked.taken(tight, marked.MARKDOWN) == "a\n# mine\n"
