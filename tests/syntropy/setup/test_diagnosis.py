"""The installation looked at, completions, the schema of the configuration, the UI on any project."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from assets.run import build
from syntropy.cli.main import main
from syntropy.contract.config import json_schema
from syntropy.setup.diagnosis import examine
from syntropy.setup.scaffold import commented_config, free_output
from tests.conftest import DEMO, ROOT

DOCS = {"docs/a.md": "# A\n\nparcels\n"}


def verdicts(root):
    return {finding.subject: finding for finding in examine(root)}


def test_all_is_well_after_a_build(project):
    root = project(DOCS)
    assert verdicts(root)["published"].verdict == "note"
    build(root)
    found = verdicts(root)
    assert [f.subject for f in found.values() if f.verdict == "wrong"] == []
    assert found["published"].text.endswith("4 artifacts, all digests hold")
    assert found["sources"].text == "as they were published"


def test_what_is_wrong_is_said_with_what_to_do(project, tmp_path):
    root = project(DOCS)
    out = build(root).out
    (out / "INDEX.md").write_text("other")
    (root / "docs/a.md").write_text("# Changed\n")
    (root / ".syntropy/last-build.json").write_text(
        json.dumps({"outcome": "failed", "started": 1.0, "seconds": 1.0, "out": str(out), "error": "no disk"})
    )
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": {
        "syntropy": {"command": "/nowhere/syntropy", "args": []},
        "syntropy-2": {"command": sys.executable, "args": ["-m", "syntropy", "serve", "--project", str(tmp_path / "gone")]},
        "other": {"command": "/nowhere/other"},
    }}))  # fmt: skip
    found = [f for f in examine(root) if f.verdict != "ok"]
    texts = " | ".join(f.text for f in found)
    assert "INDEX.md: 5 bytes instead of" in texts
    assert "failed: no disk" in texts
    assert "docs/a.md" in texts
    assert "/nowhere/syntropy does not exist" in texts
    assert "gone does not exist" in texts
    assert "/nowhere/other" not in texts
    assert all(f.hint for f in found)
    assert main(["doctor", "--project", str(root)]) == 1


def test_a_package_that_is_not_there(project):
    root = project(DOCS, config="[embed]\nenabled = false\n[packages]\nhub = 'https://example.org/hub.git'\n")
    assert verdicts(root)["package"].verdict == "wrong"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completions_know_the_commands(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "problems" in script
    assert "session-start" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_the_schema_takes_what_the_configuration_takes_and_nothing_else(capsys):
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema == json.loads(json.dumps(json_schema()))
    check = jsonschema.Draft202012Validator(schema)
    check.check_schema(schema)
    check.validate(tomllib.loads((DEMO / "syntropy.toml").read_text()))
    commented = "\n".join(line.removeprefix("# ").rpartition("  #")[0] if " = " in line else line
                          for line in commented_config(["docs"]).splitlines())  # fmt: skip
    check.validate(tomllib.loads(commented))
    for wrong in (
        {"chunk": {"target_tokens": "many"}},
        {"chunks": {}},
        {"search": {"mode": "slow"}},
        {"chunk": {"x": 1}},
    ):
        assert not check.is_valid(wrong)


def test_a_build_leaves_the_schema_where_the_file_points(project, monkeypatch):
    root = project(DOCS)
    (root / "syntropy.toml").unlink()
    monkeypatch.setenv("SYNTROPY_EMBED_ENABLED", "false")
    assert main(["init", str(root)]) == 0
    pointed = (root / "syntropy.toml").read_text().splitlines()[0].removeprefix("#:schema ")
    assert json.loads((root / pointed).read_text()) == json.loads(json.dumps(json_schema()))


def test_init_chooses_another_folder_where_build_is_taken(project, monkeypatch, capsys):
    monkeypatch.setenv("SYNTROPY_EMBED_ENABLED", "false")
    root = project({**DOCS, "build/lib/x.py": "x = 1\n"})
    (root / "syntropy.toml").unlink()
    assert main(["init", str(root)]) == 0
    assert "artifacts go to knowledge-build/" in capsys.readouterr().out
    assert (root / "knowledge-build/manifest.json").is_file()
    assert 'out = "knowledge-build"' in (root / "syntropy.toml").read_text()
    assert free_output(root) == "knowledge-build", "it is ours"
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    shown = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=all"], capture_output=True, text=True, check=True
    ).stdout
    assert "knowledge-build/" not in shown
    assert ".syntropy" not in shown


def test_the_ui_is_told_the_project(project, monkeypatch):
    root = project(DOCS)
    seen = {}

    def run(command, *, env, cwd, **_):
        seen.update(command=command, env=env, cwd=cwd)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr("syntropy.cli.building.subprocess.run", run)
    assert main(["dev", "--project", str(root), "--port", "3999"]) == 0
    assert seen["env"]["SYNTROPY_PROJECT"] == str(root)
    assert seen["command"][1:4] == ["-m", "dagster", "dev"]
    assert Path(seen["command"][seen["command"].index("-w") + 1]).samefile(ROOT / "workspace.yaml")
    assert "nux" in (root / ".syntropy/dagster/dagster.yaml").read_text()
    assert build(root).outcome == "published", "a project that was never built can be built from there"


def test_the_nearest_command_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["serch", "x"])
    assert "did you mean 'search'?" in capsys.readouterr().err
    assert main(["insight"]) == 2
    assert "search" in capsys.readouterr().out, "the verbs are listed"
