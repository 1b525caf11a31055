"""Hooks in real repositories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

import syntropy
from assets.run import build
from syntropy.cli.main import main
from syntropy.setup.hooks import EVENTS, MARK


def git(root, *arguments: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=root, env=env, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def root(project):
    root = project({"docs/a.md": "# Lighthouse\n\nIt has one lamp.\n", ".gitignore": "build/\n.syntropy/\n"})
    git(root, "init")
    git(root, "add", "-A")
    git(root, "commit", "-m", "first")
    build(root)
    return root


def titles(root) -> set[str]:
    with syntropy.open(project=root) as knowledge:
        return {title for (title,) in knowledge.database.rows("SELECT title FROM documents")}


def test_a_commit_is_rebuilt_in_the_background(root, capsys):
    assert main(["init", str(root), "--hooks", "--no-build"]) == 0
    assert "post-commit" in capsys.readouterr().out
    (root / "docs/b.md").write_text("# Foghorn\n\nIt sounds twice.\n")
    git(root, "add", "-A")
    began = time.monotonic()
    git(root, "commit", "-m", "second")
    assert time.monotonic() - began < 3
    for _ in range(150):
        if "Foghorn" in titles(root):
            break
        time.sleep(0.2)
    log = root / ".syntropy/hook.log"
    for _ in range(50):
        if "published" in log.read_text():
            break
        time.sleep(0.1)
    assert "published" in log.read_text()
    assert "Foghorn" in titles(root), (root / ".syntropy/hook.log").read_text()


def test_the_log_lies_below_the_configured_cache(root, capsys):
    (root / "syntropy.toml").write_text('[paths]\ncache = "var/knowledge"\n')
    main(["init", str(root), "--hooks", "--no-build"])
    hook = (root / ".git/hooks/post-commit").read_text()
    assert str(root / "var/knowledge/hook.log") in hook
    assert "var/knowledge/hook.log" in capsys.readouterr().out
    assert ".syntropy" not in hook.replace(MARK, "")


def test_hooks_that_exist_stay(root, capsys):
    folder = root / ".git/hooks"
    folder.mkdir(exist_ok=True)
    (folder / "post-merge").write_text("#!/bin/sh\necho mine\n")
    assert main(["init", str(root), "--hooks", "--no-build"]) == 1
    said = capsys.readouterr().err
    assert "not ours" in said
    assert "build --project" in said
    assert (folder / "post-merge").read_text() == "#!/bin/sh\necho mine\n"
    assert MARK in (folder / "post-commit").read_text()


def test_a_link_to_nowhere_is_a_hook_that_exists(root):
    (root / ".git/hooks").mkdir(exist_ok=True)
    (root / ".git/hooks/post-commit").symlink_to("nowhere")
    assert main(["init", str(root), "--hooks", "--no-build"]) == 1
    assert (root / ".git/hooks/post-commit").is_symlink()


def test_a_project_that_was_moved_gets_its_hooks_anew(root):
    main(["init", str(root), "--hooks", "--no-build"])
    moved = root.rename(root.parent / "moved")
    assert main(["init", str(moved), "--hooks", "--no-build"]) == 0
    assert str(moved) in (moved / ".git/hooks/post-commit").read_text()


def test_a_folder_of_hooks_for_all_repositories_is_left_alone(root, tmp_path, capsys):
    git(root, "config", "core.hooksPath", str(tmp_path / "shared"))
    assert main(["init", str(root), "--hooks", "--no-build"]) == 2
    assert "other repositories" in capsys.readouterr().err
    assert not (tmp_path / "shared").exists()


def test_a_second_time_changes_nothing(root, capsys):
    main(["init", str(root), "--hooks", "--no-build"])
    before = {event: (root / ".git/hooks" / event).read_text() for event in EVENTS}
    assert all(MARK in text for text in before.values())
    assert main(["init", str(root), "--hooks", "--no-build"]) == 0
    assert "already there" in capsys.readouterr().out
    assert before == {event: (root / ".git/hooks" / event).read_text() for event in EVENTS}


def test_the_configured_folder_of_hooks_is_used(root):
    git(root, "config", "core.hooksPath", "my-hooks")
    assert main(["init", str(root), "--hooks", "--no-build"]) == 0
    assert (root / "my-hooks/post-commit").stat().st_mode & 0o111


def test_outside_of_a_repository_it_is_refused(project, capsys, monkeypatch):
    root = project({"a.md": "# A"})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(root.parent))
    assert main(["init", str(root), "--hooks"]) == 2
    assert "git init" in capsys.readouterr().err


def test_the_printed_session_hook_tells_rules_and_recent_context(root, capsys):
    main(["init", str(root), "--hooks", "--no-build"])
    printed = capsys.readouterr().out
    hook, _ = json.JSONDecoder().raw_decode(printed[printed.index("{") :])
    command = hook["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    main(["rules", "save", "tone", "Answer in English", "--project", str(root)])
    main(["notes", "save", "decision", "One lamp is enough", "--project", str(root)])
    said = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=True, cwd=root.parent,
        input='{"hook_event_name": "SessionStart"}', env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ).stdout  # fmt: skip
    assert said.startswith("# Rules (ALWAYS follow, NO exceptions)\n- Answer in English")
    assert "One lamp is enough" in said
