"""The command line as a user meets it: real processes, real files."""

import contextlib
import io
import json
import os
import subprocess
import sys

import pytest

from syntropy import __version__
from syntropy.cli.main import main
from syntropy.cli.parser import build_parser
from tests.conftest import ROOT

READERS = ("search", "doc", "section", "rules", "drift", "verify")


def process(*arguments, cwd=ROOT, check=None, env=None):
    """A command in a process of its own, where that is what is looked at."""
    done = subprocess.run([sys.executable, "-m", "syntropy", *arguments], cwd=cwd, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})})  # fmt: skip
    if check is not None:
        assert done.returncode == check, done.stderr + done.stdout
    return done


def run(*arguments, check=None, env=None):
    """A command in this process, which has loaded Dagster already."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        for name, value in (env or {}).items():
            patched.setenv(name, value)
        try:
            code = main(arguments)
        except SystemExit as ended:  # argparse
            code = ended.code
    if check is not None:
        assert code == check, err.getvalue() + out.getvalue()
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def test_version_and_help():
    assert process("--version", check=0).stdout.strip() == f"syntropy {__version__}"
    assert process(check=2).stdout.startswith("usage: syntropy")
    for name in ("init", "build", "status", *READERS):
        text = process(name, "--help", check=0).stdout
        assert "example: syntropy " + name in text
        assert "--json" in text or name == "init"


def test_every_reading_command_takes_project_out_and_db():
    parser = build_parser("0")
    for name in READERS:
        needed = {"search": ["x"], "doc": ["x"], "section": ["x", "y"]}.get(name, [])
        for flag in ("--project", "--out", "--db"):
            assert getattr(parser.parse_args([name, *needed, flag, "p"]), flag[2:]) in ("p", ["p"])


def test_init_configures_builds_and_is_repeatable(project):
    root = project({"README.md": "# Small\n\nAll about parcels.\n"})
    (root / "syntropy.toml").unlink()
    env = {"SYNTROPY_EMBED_ENABLED": "false"}
    first = run("init", str(root), check=0, env=env)
    assert "wrote" in first.stdout
    assert "published" in first.stdout
    before = {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file()}
    again = run("init", str(root), check=0, env=env)
    assert "nothing to do" in again.stdout
    assert {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file()} == before
    found = process("search", "parcels", cwd=root, check=0)
    assert "README.md#L1-L3" in found.stdout
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    listed = subprocess.run(
        ["git", "-C", str(root), "status", "--porcelain"], capture_output=True, text=True, check=True
    ).stdout
    assert ".syntropy" not in listed, "the cache ignores itself"


def test_init_in_an_empty_folder_says_what_is_missing(tmp_path):
    done = run("init", str(tmp_path), check=2)
    assert "nothing that can be indexed" in done.stderr
    assert not (tmp_path / "syntropy.toml").exists()


def test_build_reports_problems_with_file_and_fix(project):
    root = project({"docs/a.md": "# A\n\n[x](gone.md)\n", "docs/bad.md": b"\xff"})
    done = run("build", "--project", str(root), check=0)
    assert "docs/a.md:3: links to gone.md, which does not exist" in done.stderr
    assert "docs/bad.md:1: byte 0xff" in done.stderr
    assert "published" in done.stdout
    assert run("build", "--project", str(root), "--strict", check=1).stdout
    data = json.loads(run("build", "--project", str(root), "--json", check=0).stdout)
    assert data["outcome"] == "up-to-date"
    assert {p["code"] for p in data["problems"]} == {"dangling-reference", "bad-encoding"}


def test_status_before_and_after(project):
    root = project({"docs/a.md": "# A\n"})
    assert "run `syntropy build`" in run("status", "--project", str(root), check=1).stdout
    run("build", "--project", str(root), check=0)
    assert "unchanged since the build" in run("status", "--project", str(root), check=0).stdout
    (root / "docs/a.md").write_text("# B\n")
    assert "1 changed since: docs/a.md" in run("status", "--project", str(root), check=0).stdout
    (root / "syntropy.toml").write_text(
        '[embed]\nenabled = false\nengine = "onnx"\n[chunk]\ntarget_tokens = 33\noverlap_tokens = 30\n'
    )
    run("build", "--project", str(root), check=2)
    (root / "syntropy.toml").write_text('[embed]\nmodel = "/no/such/model"\n')
    assert run("build", "--project", str(root), env={"HF_HUB_OFFLINE": "1"}).returncode != 0
    (root / "syntropy.toml").write_text("[embed]\nenabled = false\n")
    facts = json.loads(run("status", "--project", str(root), "--json", check=1).stdout)
    assert facts["last_build"]["outcome"] == "failed"
    assert "no/such/model" in facts["last_build"]["error"]
    assert facts["published"] is True


def test_search_output_for_people_and_programs(demo):
    out = str(demo / "build")
    text = run("search", "retry", "failed", "webhooks", "--out", out, "-n", "2", check=0).stdout
    assert "PRPs/executed/PRP-29.3-webhook-retries.md#L" in text
    data = json.loads(
        run("search", "retry failed webhooks", "--db", f"{out}/syntropy.duckdb", "--json", check=0).stdout
    )
    assert data["count"] == len(data["hits"]) == 10
    assert {"score", "citation", "path", "line_start", "kind", "snippet", "tags"} <= set(data["hits"][0])
    none = run("search", "zzzznothing", "--out", out, check=1)
    assert "no hits (hybrid; looked up: zzzznoth)" in none.stderr
    assert run("search", "quiet hours", "--mode", "semantic", "--out", out, check=0).stdout


def test_doc_section_rules_drift_verify(demo):
    out = str(demo / "build")
    assert run("doc", "docs/faq.md", "--out", out, check=0).stdout == (demo / "docs/faq.md").read_text()
    assert len(run("doc", "docs/faq.md#L3-L5", "--out", out, check=0).stdout.splitlines()) == 3
    assert run("doc", "RULES", "--scope", "system", "--out", out, check=0).stdout
    assert run("section", "docs/faq.md", "Tracking", "--out", out, check=0).stdout.startswith("## Tracking")
    assert ".ce/RULES.md#L" in run("rules", "--scope", "system", "--out", out, check=0).stdout
    assert run("drift", "--out", out, check=0).stdout.startswith("drift 0.0")
    assert "whole" in run("verify", "--out", out, check=0).stdout
    assert "headings" in run("section", "docs/faq.md", "nope", "--out", out, check=5).stderr


def test_verify_finds_a_flipped_bit(demo, tmp_path):
    import shutil

    shutil.copytree(demo / "build", tmp_path / "out")
    path = tmp_path / "out" / "INDEX.md"
    path.write_bytes(path.read_bytes()[:-2] + b"!\n")
    done = run("verify", "--out", str(tmp_path / "out"), check=1)
    assert "INDEX.md: SHA-256 differs" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["search", "x", "--project", "/nonexistent"], 2, "syntropy init"),
        (["search", "x", "--out", "/nonexistent"], 3, "syntropy build"),
        (["search", "", "--out", "OUT"], 2, "query is empty"),
        (["doc", "nope.md", "--out", "OUT"], 5, "no document"),
        (["doc", "docs/faq.md", "--lines", "x", "--out", "OUT"], 2, "is not a range"),
        (["search", "x", "--kind", "prps", "--out", "OUT"], 2, "choose from"),
        (["build", "--project", "/nonexistent"], 2, "not a folder"),
    ],
)
def test_errors_say_what_happened_and_what_to_do(demo, capsys, arguments, code, text):
    assert main([str(demo / "build") if a == "OUT" else a for a in arguments]) == code
    printed = capsys.readouterr()
    assert text in printed.err
    assert "Traceback" not in printed.err
    assert not printed.out


def test_no_progress_bar_outside_of_a_terminal(project):
    root = project({"docs/new.md": "# New page\n\nwith a new text to embed\n"}, config="")
    done = process("build", "--project", str(root), "--quiet", check=0)
    assert "embedding" not in done.stdout + done.stderr
    assert "\r" not in done.stderr
    assert "\x1b" not in done.stderr


def test_indexed_text_cannot_steer_the_terminal(project):
    root = project({"docs/a.md": "# Evil \x1b[2J title\n\nwords \x1b]0;x\x07 here \u202e end\n"})
    run("build", "--project", str(root), check=0)
    for command in (["search", "words"], ["doc", "docs/a.md"]):
        text = run(*command, "--project", str(root), check=0).stdout
        assert "\x1b" not in text
        assert "\x07" not in text


def test_a_closed_pipe_is_no_error(demo):
    command = f"{sys.executable} -m syntropy rules --out {demo / 'build'} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_environment_names_the_database(demo):
    assert process("search", "retry", check=0, env={"SYNTROPY_OUT": str(demo / "build")}).stdout
    assert process("search", "retry", check=0, env={"SYNTROPY_DB": str(demo / "build" / "syntropy.duckdb")}).stdout


def test_which_project_and_where_to_are_two_questions(project, tmp_path, monkeypatch):
    one = project({"docs/a.md": "# Apples\n"}, name="one")
    two = project({"docs/b.md": "# Pears\n"}, name="two")
    monkeypatch.chdir(two)
    named = {"SYNTROPY_PROJECT": str(one)}
    run("build", "--out", str(tmp_path / "x"), "--quiet", check=0, env=named)
    assert "Apples" in (tmp_path / "x/INDEX.md").read_text()
    run("build", "--project", str(two), "--quiet", check=0, env={"SYNTROPY_OUT": str(tmp_path / "y")})
    assert "Pears" in (tmp_path / "y/INDEX.md").read_text()
    assert not (two / "build").exists()
    assert str(one) in run("status", "--out", str(tmp_path / "x"), check=0, env=named).stdout
    found = run("search", "pears", "--out", str(tmp_path / "y"), check=0, env={**named, "SYNTROPY_DB": "/nowhere"})
    assert "docs/b.md" in found.stdout, "an argument says what is read, and no variable counts beside it"


def test_nobodys_files_are_overwritten(project):
    files = {"docs/a.md": "# A\n", "build/query.py": "mine\n", "CLAUDE.md": "- Never\n", ".ce/index.json": "{}"}
    root = project(files)
    done = run("build", "--project", str(root), check=2)
    assert "build holds files that Syntropy did not write (query.py)" in done.stderr
    assert (root / "build/query.py").read_text() == "mine\n"
    run("build", "--project", str(root), "--out", str(root / "docs" / "a.md"), check=2)
    run("build", "--project", str(root), "--out", str(root / "docs"), check=2)
    (root / "syntropy.toml").write_text(
        '[embed]\nenabled = false\n[paths]\nout = "out"\nindex_copy = ".ce/index.json"\n'
    )
    assert "is not a syntropy-index.json" in run("build", "--project", str(root), check=7).stderr
    assert (root / ".ce/index.json").read_text() == "{}"


def test_an_empty_result_does_not_replace_a_good_build(project):
    root = project({"docs/a.md": "# A\n\nparcels\n"})
    run("build", "--project", str(root), check=0)
    (root / "syntropy.toml").write_text('[embed]\nenabled = false\n[sources]\nexclude = ["**"]\n')
    assert "no file below" in run("build", "--project", str(root), check=7).stderr
    assert run("search", "parcels", "--out", str(root / "build"), check=0).stdout


def test_former_outputs_are_no_sources(project):
    root = project({"docs/a.md": "# A\n"})
    for out in ("one", "two", "three"):
        data = json.loads(run("build", "--project", str(root), "--out", str(root / out), "--json", check=0).stdout)
        assert data["files"]["indexed"] == 1


def test_surrogates_in_arguments_are_no_crash(demo):
    done = subprocess.run([sys.executable, "-m", "syntropy", "doc", b"\xff.md", "--out", str(demo / "build")], cwd=ROOT,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 5
    assert "Traceback" not in done.stderr


def test_an_interrupted_build_says_so(demo_copy):
    """Ctrl-C while the model works: one line, exit code 130, and the status knows."""
    import signal
    import time

    build = subprocess.Popen(
        [sys.executable, "-m", "syntropy", "build", "--project", str(demo_copy), "--full", "--quiet"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 90
    while not (demo_copy / ".syntropy/stages/chunks.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    build.send_signal(signal.SIGINT)
    _, errors = build.communicate(timeout=90)
    assert build.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert not (demo_copy / "build" / "manifest.json").exists()
    facts = json.loads(process("status", "--project", str(demo_copy), "--json", check=1).stdout)
    assert facts["last_build"]["error"] == "interrupted"
