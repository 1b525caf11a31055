"""What a build says of itself is true: words first, damage, staleness, interruption."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time

import duckdb
import pytest

from assets.run import build
from syntropy.cli.main import main
from syntropy.contract.errors import BuildError, DatabaseError
from syntropy.contract.published import DATABASE, read_manifest, verify_files
from syntropy.read.knowledge import open_knowledge
from syntropy.store.freshness import check_staleness
from syntropy.store.last_build import last_build
from tests.conftest import ROOT

DOCS = {"docs/a.md": "# Alpha\n\nFirst text about retries.\n", "docs/b.md": "# Beta\n\nOther text.\n"}


class Heard:
    """A reporter that remembers, and looks at what is published when it is told something."""

    def __init__(self, root):
        self.root, self.said, self.stages, self.answers = root, [], [], []

    def stage(self, name):
        self.stages.append(name)

    def advance(self, done, total):
        assert 0 <= done <= total

    def say(self, text):
        self.said.append(text)
        with open_knowledge(project=self.root) as knowledge:
            self.answers.append(knowledge.search("retries"))


def test_words_are_published_before_vectors(project):
    root = project(DOCS, config="")
    heard = Heard(root)
    report = build(root, reporter=heard, words_first=True)
    assert report.outcome == "published"
    first = heard.answers[0]
    assert [hit.citation.path for hit in first.hits] == ["docs/a.md"]
    assert first.mode == "fast"
    assert "vectors are on their way" in first.warning
    assert heard.stages.count("search_database") == 2
    assert "finds words now" in heard.said[0]
    with open_knowledge(project=root) as knowledge:
        found = knowledge.search("another attempt after a failure", mode="semantic")
        assert found.hits
        assert not found.warning
    assert build(root, words_first=True).outcome == "up-to-date"
    (root / "docs/a.md").write_text("# Alpha\n\nChanged text about retries.\n")
    again = Heard(root)
    build(root, reporter=again, words_first=True)
    assert again.stages.count("search_database") == 1, "what has vectors is never replaced by what has none"


def test_both_publications_have_the_same_words(project):
    root = project(DOCS, config="")
    tables = []

    class Keeping(Heard):
        def say(self, text):
            tables.append(read_manifest(root / "build").facts["tables"])

    build(root, reporter=Keeping(root), words_first=True)
    whole = read_manifest(root / "build").facts["tables"]
    for name in ("documents", "chunks", "postings", "names", "rules"):
        assert tables[0][name] == whole[name]


def test_damage_is_seen_and_healed_by_a_build(project):
    root = project(DOCS)
    out = build(root).out
    data = bytearray((out / DATABASE).read_bytes())
    data[len(data) // 2] ^= 1
    (out / DATABASE).write_bytes(data)
    assert verify_files(out)
    assert build(root).outcome == "published"
    assert verify_files(out) == []
    assert build(root).outcome == "up-to-date"


def test_a_log_beside_the_database_is_refused_and_replaced(project, tmp_path):
    root = project(DOCS)
    out = build(root).out
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes((out / DATABASE).read_bytes())
    code = (f"import duckdb, os; c = duckdb.connect({str(copy)!r}); c.execute('SET wal_autocheckpoint = \\'1TB\\''); "
            "c.execute(\"UPDATE documents SET title = 'Planted'\"); os._exit(0)")  # fmt: skip
    subprocess.run([sys.executable, "-c", code], check=True)
    (tmp_path / "copy.duckdb.wal").rename(out / f"{DATABASE}.wal")
    with pytest.raises(DatabaseError, match="opened it for writing"):
        open_knowledge(project=root)
    assert "write-ahead log" in verify_files(out)[0]
    assert build(root).outcome == "published"
    assert not (out / f"{DATABASE}.wal").exists()
    with open_knowledge(project=root) as knowledge:
        assert knowledge.document("docs/a.md").title == "Alpha"
    assert duckdb.connect(str(out / DATABASE), read_only=True).execute("SELECT count(*) FROM documents").fetchone() == (
        2,
    )


def test_a_damaged_manifest_is_replaced(project):
    root = project(DOCS)
    out = build(root).out
    (out / "manifest.json").write_text("{bad")
    assert build(root, words_first=True).outcome == "published"
    assert verify_files(out) == []


def golden(root):
    (root / "golden.jsonl").write_text('{"query": "retries", "relevant": ["docs/a.md"]}\n')
    (root / "syntropy.toml").write_text("[embed]\nenabled = false\n[eval]\nqueries = 'golden.jsonl'\n")
    build(root)
    assert main(["eval", "--project", str(root), "--mode", "fast", "--save"]) == 0
    build(root)


def test_what_was_refused_stands_in_nobodys_way(project):
    """A, then B which fails its check, then A again: A is published, and nothing of B is looked at."""
    root = project(DOCS)
    golden(root)
    first = (root / "docs/a.md").read_text()
    (root / "docs/a.md").write_text("# Alpha\n\nNothing of it.\n")
    with pytest.raises(BuildError, match="golden_queries failed"):
        build(root)
    (root / "docs/a.md").write_text(first)
    assert build(root).outcome in ("published", "up-to-date")
    assert last_build(root / ".syntropy").outcome in ("published", "up-to-date")
    assert stale(root) == []


def test_what_was_staged_elsewhere_is_not_published_here(project, tmp_path):
    from pipeline.engine import gate
    from pipeline.engine.context import Build
    from pipeline.engine.publication import publish_build
    from pipeline.engine.workspace import make_workspace

    root = project(DOCS)
    out = build(root).out
    before = (out / "manifest.json").read_bytes()
    (root / "docs/a.md").write_text("# Alpha\n\nOther.\n")
    build(root, out=str(tmp_path / "elsewhere"))
    here = Build(make_workspace(root), synced_at="2026-01-01T00:00:00Z")
    (out / ".staging").mkdir()
    (out / ".staging/INDEX.md").write_text("of another attempt")
    for check in gate.CHECKS:
        with contextlib.suppress(BuildError):
            gate.run_check(check, here)
    with pytest.raises(BuildError, match="not staged"):
        publish_build(here)
    assert (out / "manifest.json").read_bytes() == before


def test_a_folder_that_the_last_build_did_not_write_is_not_compared(project, tmp_path, capsys):
    root = project(DOCS)
    out = build(root).out
    (root / "docs/a.md").write_text("# Alpha\n\nwombats\n")
    build(root, out=str(tmp_path / "elsewhere"))
    assert main(["status", "--project", str(root), "--out", str(out)]) == 0
    assert "not compared" in capsys.readouterr().out


def test_what_could_not_be_read_is_tried_again(project, monkeypatch):
    root = project(DOCS)
    import pipeline.extract.extraction as module

    original = module.expand

    def failing(text, path, *more):
        if path == "docs/a.md":
            raise MemoryError
        return original(text, path, *more)

    with monkeypatch.context() as patched:
        patched.setattr(module, "expand", failing)
        assert [p.code for p in build(root).problems] == ["unreadable-document"]
    (root / "docs/b.md").write_text("# Beta\n\nChanged.\n")
    assert build(root).problems == []
    with open_knowledge(project=root) as knowledge:
        assert knowledge.search("retries").hits


def test_a_project_of_which_nothing_can_be_read_is_published_empty(project, monkeypatch):
    root = project({"README.md": "# A\n"})
    import pipeline.extract.extraction as module

    def failing(*_):
        raise MemoryError

    monkeypatch.setattr(module, "expand", failing)
    assert [p.code for p in build(root).problems] == ["unreadable-document"]


def test_files_that_decide_without_being_documents(project):
    root = project({**DOCS, "docs/empty.md": "", ".gitignore": "private/\n"})
    build(root)
    build(root)
    with (root / "docs/empty.md").open("a") as handle:  # in place: the folder's time stays
        handle.write("# Real\n")
    with (root / ".gitignore").open("a") as handle:
        handle.write("docs/b.md\n")
    assert stale(root) == [".gitignore", "docs/empty.md"]
    build(root)
    assert stale(root) == []


def stale(root):
    found = check_staleness(root, root / ".syntropy", now=time.time() + 10, stale_after=0)
    return list(found.changed)


def test_what_counts_as_changed(project):
    root = project(
        {**DOCS, "raw/relations.json": "[]", "raw/design-patterns/facade.md": "---\nid: DP-1\n---\n# Facade\n"}
    )
    build(root)
    assert stale(root) == []
    for path in root.rglob("*.md"):
        os.utime(path)
    assert stale(root) == [], "touched, not changed"
    (root / "docs/new/deep").mkdir(parents=True)
    (root / "docs/new/deep/n.md").write_text("# n\n")
    (root / ".pytest_cache").mkdir()
    (root / ".pytest_cache/README.md").write_text("# not ours\n")
    assert stale(root) == ["docs/new/deep/n.md"]
    build(root)
    assert stale(root) == []
    (root / "syntropy.toml").write_text("[embed]\nenabled = false\n[chunk]\ntarget_tokens = 300\n")
    (root / ".context").mkdir()
    (root / ".context/context.lock").write_text("{}")
    assert stale(root) == [".context/context.lock", "syntropy.toml"]
    build(root)
    assert stale(root) == []


def test_a_file_changed_while_the_build_ran_is_stale(project, monkeypatch):
    root = project(DOCS)
    import pipeline.engine.linked as module

    original = module.link_mentions

    def meanwhile(*arguments):
        (root / "docs/b.md").write_text("# Beta\n\nLater text.\n")
        return original(*arguments)

    monkeypatch.setattr(module, "link_mentions", meanwhile)
    build(root)
    monkeypatch.undo()
    assert stale(root) == ["docs/b.md"]


def test_a_change_is_named_and_a_package_is_one_line(project):
    root = project(
        {**DOCS, "raw/relations.json": "[]", "raw/design-patterns/facade.md": "---\nid: DP-1\n---\n# Facade\n"}
    )
    build(root)
    (root / "docs/a.md").write_text("# Alpha\n\nMore.\n")
    assert build(root, dry_run=True).changed == ["docs/a.md"]


def test_interrupting_says_so_once(project):
    root = project({f"docs/{n}.md": f"# Page {n}\n\n" + "Some words about parcels. " * 4_000 for n in range(60)})
    process = subprocess.Popen([sys.executable, "-m", "syntropy", "build", "--project", str(root), "--json"], cwd=ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)  # fmt: skip
    deadline = time.monotonic() + 30
    while not (root / ".syntropy/stages/source_files.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.7)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the group
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(output) == {"outcome": "interrupted"}
    assert errors.strip().splitlines()[-1] == "syntropy: interrupted"
    assert "Traceback" not in errors
    assert main(["status", "--project", str(root)]) == 1


def in_terminal(*arguments, cwd):
    """What a command writes to a terminal of its own."""
    leader, follower = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    for name in ("CI", "NO_COLOR"):
        env.pop(name, None)
    process = subprocess.Popen([sys.executable, "-m", "syntropy", *arguments], cwd=cwd, stdin=follower, stdout=follower,
                               stderr=follower, env={**env, "PYTHONPATH": str(ROOT)})  # fmt: skip
    os.close(follower)
    found = b""
    while True:
        try:
            part = os.read(leader, 65_536)
        except OSError:
            break
        if not part:
            break
        found += part
    os.close(leader)
    assert process.wait() == 0
    return found.decode()


def test_a_terminal_gets_colours_lines_and_links(project):
    root = project({"docs/a.md": "# Alpha\n\n## Retries\n\n```sh\nretry --all\n  deeper\n```\n"})
    shown = (
        in_terminal("init", ".", cwd=root) if not (root / "syntropy.toml").exists() else in_terminal("build", cwd=root)
    )
    assert "published" in shown
    hit = in_terminal("search", "retry deeper", cwd=root)
    assert "docs/a.md:" in hit
    assert f"file://{root.resolve()}/docs/a.md" in hit
    assert "\x1b[1" in hit
    assert "      deeper" in hit.replace("\x1b[1;33m", "").replace("\x1b[0m", ""), "lines are kept as they are"
    plain = subprocess.run([sys.executable, "-m", "syntropy", "search", "retry", "--project", str(root)], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert "\x1b" not in plain
    markdown = subprocess.run([sys.executable, "-m", "syntropy", "search", "retry", "--format", "md", "--project", str(root)], cwd=ROOT,
                              capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert "```sh\nretry --all\n  deeper\n```" in markdown
