"""The walk: every file accounted for, nothing outside read, nothing that hangs."""

import os
import subprocess

import pytest

from pipeline.sources.project import ProjectConnector, read_regular_file
from syntropy.contract.config import SourcesConfig
from syntropy.contract.errors import BuildError


def scan(root, own=("build", ".syntropy"), **sources):
    return ProjectConnector(root, SourcesConfig(**sources), own=own).scan()


def fates(found):
    return {f.path: (f.status, f.reason) for f in found.files}


def test_the_layout_of_the_seed(project):
    root = project(dict.fromkeys((".ce/PRPs/system/executed/PRP-1.md", ".ce/examples/system/patterns/a.py", ".ce/RULES.md", ".ce/notes.md", "PRPs/executed/PRP-2.md", "PRPs/odd/x.md", "examples/patterns/p.md", "examples/e.ts", ".serena/memories/auth/login.md", "CLAUDE.md", "sub/AGENTS.md", "docs/a.mdx", "README.md", "notes/other.md", "src/code.py", "docs/logo.png"), "# x\n"))  # fmt: skip
    files = {f.path: (f.reason, f.kind, f.scope) for f in scan(root).files}
    assert files == {
        ".ce/PRPs/system/executed/PRP-1.md": ("system_prps", "prp", "system"),
        ".ce/examples/system/patterns/a.py": ("system_examples", "pattern", "system"),
        ".ce/RULES.md": ("system_rules", "rule", "system"),
        ".ce/notes.md": ("system_docs", "doc", "system"),
        "PRPs/executed/PRP-2.md": ("prps", "prp", "user"),
        "PRPs/odd/x.md": ("prps", "prp", "user"),
        "examples/patterns/p.md": ("examples", "pattern", "user"),
        "examples/e.ts": ("examples", "example", "user"),
        ".serena/memories/auth/login.md": ("memories", "memory", "user"),
        "CLAUDE.md": ("rules", "rule", "user"),
        "sub/AGENTS.md": ("rules", "rule", "user"),
        "docs/a.mdx": ("docs", "doc", "user"),
        "README.md": ("docs", "doc", "user"),
        "notes/other.md": ("docs", "doc", "user"),
        "src/code.py": ("no-source", "", ""),
        "docs/logo.png": ("no-source", "", ""),
        "syntropy.toml": ("no-source", "", ""),
    }


def test_gitignore_with_nesting_and_negation(project):
    root = project({
        ".gitignore": "scratch/\n*.tmp.md\n", "scratch/a.md": "x", "docs/a.tmp.md": "x", "docs/.gitignore": "!keep.tmp.md\nsecret.md\n",
        "docs/keep.tmp.md": "x", "docs/secret.md": "x", "docs/b.md": "x"})  # fmt: skip
    found = fates(scan(root))
    assert found["scratch/"] == ("excluded", "gitignore")
    assert found["docs/a.tmp.md"] == found["docs/secret.md"] == ("excluded", "gitignore")
    assert found["docs/keep.tmp.md"][0] == found["docs/b.md"][0] == "indexed"
    assert fates(scan(root, respect_gitignore=False))["docs/secret.md"][0] == "indexed"


def test_gitignore_agrees_with_git(project):
    root = project({".gitignore": "/a/*\n!/a/b/\nc/**/d\n*.log.md\n", "a/x.md": "", "a/b/y.md": "1", "c/d/z.md": "1", "c/e/d/z.md": "1",
                    "k.log.md": "1", "ok.md": "1"})  # fmt: skip
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-o", "--exclude-standard"], capture_output=True, text=True, check=True
    )
    ours = {path for path, (status, reason) in fates(scan(root)).items() if reason not in ("gitignore", "git-folder")}
    assert ours == set(listed.stdout.split())


def test_worktrees_and_submodules_are_other_trees(project, tmp_path):
    root = project({"README.md": "# A\n", "CLAUDE.md": "- Never push on Fridays.\n"})
    run = lambda *words, cwd=root: subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)  # noqa: E731
    name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    other = tmp_path / "other"
    (other / "docs").mkdir(parents=True)
    (other / "docs/x.md").write_text("# X\n")
    for place in (other, root):
        run("init", "-q", cwd=place)
        run("add", ".", cwd=place)
        run(*name, "commit", "-qm", "a", cwd=place)
    run("worktree", "add", "-q", ".claude/worktrees/feature")
    run("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "parts/other")
    found = {f.path: (f.status, f.reason) for f in ProjectConnector(root, SourcesConfig()).scan().files}
    assert found[".claude/worktrees/feature/"] == ("excluded", "worktree")
    assert found["parts/other/"] == ("excluded", "submodule")
    wanted = ProjectConnector(root, SourcesConfig(submodules=True)).scan().files
    assert "parts/other/docs/x.md" in {f.path for f in wanted if f.status == "indexed"}


def test_include_and_exclude(project):
    root = project({"docs/a.md": "x", "docs/old/b.md": "x", "README.md": "x"})
    found = fates(scan(root, include=("docs/**",), exclude=("**/old/**",)))
    assert found["docs/a.md"][0] == "indexed"
    assert found["docs/old/"] == ("excluded", "sources.exclude") or found["docs/old/b.md"] == (
        "excluded",
        "sources.exclude",
    )
    assert found["README.md"] == ("excluded", "sources.include")


def test_our_own_outputs_are_never_read(project):
    root = project({"build/INDEX.md": "x", ".syntropy/x.md": "x", "docs/a.md": "x"})
    found = fates(scan(root))
    assert set(found) == {"docs/a.md", "syntropy.toml"}


BAD = {
    "empty": b"",
    "binary": b"a\0b",
    "bad-encoding": b"caf\xe9\n",
}


@pytest.mark.parametrize("code", BAD)
def test_bad_content_is_rejected_with_a_diagnostic(project, code):
    found = scan(project({"docs/bad.md": BAD[code], "docs/good.md": "x"}))
    assert fates(found)["docs/bad.md"] == ("rejected", code)
    assert [(d.code, d.path) for d in found.diagnostics] == [(code, "docs/bad.md")]
    assert found.diagnostics[0].hint
    assert fates(found)["docs/good.md"][0] == "indexed"


def test_the_line_of_a_bad_byte_is_named(project):
    (diagnostic,) = scan(project({"docs/bad.md": b"one\ntwo\n\xff\n"})).diagnostics
    assert (diagnostic.line, "0xff" in diagnostic.message) == (3, True)


def test_too_large_and_too_many(project):
    root = project({"docs/a.md": "x" * 100, "docs/b.md": "y"})
    assert fates(scan(root, max_file_bytes=50))["docs/a.md"] == ("rejected", "too-large")
    with pytest.raises(BuildError, match="more than 1 files"):
        scan(root, max_files=1)


def test_links_fifos_and_hostile_names_are_not_opened(project, tmp_path):
    (tmp_path / "outside.md").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.md").write_text("secret")
    root = project({"docs/a.md": "x"})
    (root / "docs/link.md").symlink_to(tmp_path / "outside.md")
    (root / "docs/folder").symlink_to(tmp_path / "outside")
    (root / "docs/loop").symlink_to(root)
    os.mkfifo(root / "docs/pipe.md")
    (root / "docs" / "new\nline.md").write_text("x")
    (root / "docs" / "-rf.md").write_text("dash")
    os.close(os.open(os.fsencode(root / "docs") + b"/bad\xff.md", os.O_CREAT | os.O_WRONLY))
    found = scan(root)
    assert fates(found) == {
        "docs/a.md": ("indexed", "docs"),
        "docs/-rf.md": ("indexed", "docs"),
        "docs/link.md": ("excluded", "symlink"),
        "docs/folder": ("excluded", "symlink"),
        "docs/loop": ("excluded", "symlink"),
        "docs/pipe.md": ("rejected", "not-a-file"),
        "docs/new\\nline.md": ("rejected", "bad-name"),
        "docs/bad\\\\xff.md": ("rejected", "bad-name"),
        "syntropy.toml": ("excluded", "no-source"),
    }
    with pytest.raises(OSError, match="no regular file|Too many levels|ELOOP"):
        read_regular_file(root / "docs/link.md")


def test_an_unreadable_file_is_a_diagnostic(project):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    root = project({"docs/a.md": "x"})
    (root / "docs/a.md").chmod(0)
    assert fates(scan(root))["docs/a.md"] == ("rejected", "unreadable")


def test_a_file_that_goes_between_scan_and_read_is_a_diagnostic(project):
    root = project({"docs/a.md": "x"})
    connector = ProjectConnector(root, SourcesConfig())
    connector.scan()
    (root / "docs/a.md").unlink()
    (found,) = connector.read(["docs/a.md"])
    assert found.code == "changed-while-building"
