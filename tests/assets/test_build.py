"""Whole builds through Dagster: incremental, deterministic, safe."""

import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assets.run import build
from syntropy.contract.errors import BuildError, ConfigError, LockHeldError, UsageError
from syntropy.contract.published import (
    DATABASE,
    INDEX_JSON,
    INDEX_MD,
    MANIFEST,
    QUERY_SCRIPT,
    read_manifest,
    verify_files,
)
from syntropy.read.knowledge import open_knowledge
from syntropy.store.last_build import last_build
from tests import quick
from tests.conftest import ROOT, copy_demo

DOCS = {
    "docs/a.md": "# Alpha\n\nFirst text about retries.\n",
    "docs/b.md": "# Beta\n\nSee [alpha](a.md).\n",
    "CLAUDE.md": "- Never guess\n",
}


def stamps(out):
    return {
        p.name: (p.stat().st_mtime_ns, p.stat().st_ino)
        for p in out.iterdir()
        if p.is_file() and not p.name.startswith(".")
    }


def test_a_first_build_publishes_everything(project):
    report = build(project(DOCS))
    assert report.outcome == "published"
    assert verify_files(report.out) == []
    assert set(read_manifest(report.out).artifacts) == {DATABASE, INDEX_JSON, INDEX_MD, QUERY_SCRIPT}
    assert report.files == {"indexed": 3, "excluded": 1}


def test_an_unchanged_build_rewrites_nothing(project):
    root = project(DOCS)
    first = build(root)
    before = stamps(first.out)
    for path in root.rglob("*.md"):
        if "build" not in path.parts:
            os.utime(path)  # touched, not changed
    second = build(root)
    assert (second.outcome, second.steps, second.changed) == ("up-to-date", {}, [])
    assert stamps(second.out) == before


def test_an_unchanged_build_loads_neither_dagster_nor_a_model(project):
    root = project(DOCS, config="")
    build(root)
    code = (
        "import sys; from pathlib import Path; from assets.run import build; "
        f"assert build(Path({str(root)!r})).outcome == 'up-to-date'; "
        "print([m for m in ('dagster', 'torch', 'polars', 'onnxruntime', 'numpy', 'pyarrow', 'tokenizers') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_one_changed_file_redoes_that_file_only(project):
    root = project(DOCS)
    build(root)
    (root / "docs/a.md").write_text("# Alpha\n\nSecond text about breakers.\n")
    steps = _figures(root)
    assert steps["documents"] == {"extracted": 1, "reused": 2}
    assert steps["chunks"] == {"chunked": 1, "reused": 2}
    with open_knowledge(project=root) as knowledge:
        assert [h.citation.path for h in knowledge.search("breakers").hits] == ["docs/a.md"]
        assert knowledge.search("retries").hits == []


def _figures(root):
    """Run the steps themselves and tell what each redid; then publish."""
    from assets.clock import synced_at
    from pipeline.engine import gate
    from pipeline.engine.context import Build
    from pipeline.engine.publication import publish_build
    from pipeline.engine.runner import run_stage
    from pipeline.engine.stages import STAGES
    from pipeline.engine.workspace import make_workspace

    run = Build(make_workspace(root), synced_at=synced_at())
    figures = {stage.name: dict(run_stage(stage, run).figures) for stage in STAGES}
    for check in gate.CHECKS:
        gate.run_check(check, run)
    publish_build(run)
    return figures


@pytest.mark.parametrize("change", ["add", "remove", "rename", "edit", "kind", "clash"])
def test_an_incremental_build_equals_a_full_one(project, monkeypatch, change):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    files = {
        **DOCS,
        "PRPs/executed/PRP-1-x.md": "# X\n\n## Implementation\n- `src/x.py`\n",
        "examples/patterns/p.md": "# P\nPRP-1\n",
    }
    root = project(files)
    quick.build(root)
    if change == "add":
        (root / "docs/c.md").write_text("---\ntags: [new]\n---\n# Gamma\n\n[beta](b.md) PRP-2\n")
    elif change == "remove":
        (root / "docs/a.md").unlink()
    elif change == "rename":
        (root / "docs/a.md").rename(root / "docs/0.md")
    elif change == "edit":
        (root / "CLAUDE.md").write_text("- Always guess\n- Never guess\n")
    elif change == "kind":
        (root / "docs/PRPs").mkdir()
        (root / "docs/b.md").rename(root / "docs/PRPs/b.md")
    else:
        (root / "PRPs/executed/PRP-1-y.md").write_text("---\nprp_id: PRP-1\n---\n# Y\n")
    incremental = quick.build(root)
    full = quick.build(root, out=str(root / "other"), full=True)
    for name in (INDEX_JSON, INDEX_MD):
        assert (incremental.out / name).read_bytes() == (full.out / name).read_bytes(), name
    assert _hashes(incremental.out) == {**_hashes(full.out), "sources": _hashes(incremental.out)["sources"]}


def _hashes(out):
    return {name: facts["hash"] for name, facts in read_manifest(out).facts["tables"].items() if "hash" in facts}


def test_two_builds_in_two_places_are_equal(demo, tmp_path):
    """Other folder, locale, time zone and order of files: the same JSON, Markdown and logical hashes."""
    outs = []
    for number, env in enumerate(
        ({"LC_ALL": "C", "TZ": "UTC"}, {"LC_ALL": "C.UTF-8", "TZ": "Pacific/Chatham", "PYTHONHASHSEED": "7"})
    ):
        root = tmp_path / f"place{number}" / "acme"
        copy_demo(root)
        if number:  # written in another order: directory entries come back in another order
            files = sorted((p for p in root.rglob("*") if p.is_file() and not p.is_symlink()), reverse=True)
            for path in files:
                data = path.read_bytes()
                path.unlink()
                path.write_bytes(data)
        env = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **env}
        subprocess.run([sys.executable, "-m", "syntropy", "build", "--project", str(root), "--quiet"], cwd=ROOT, env=env,
                       check=True, capture_output=True)  # fmt: skip
        outs.append(root / "build")
    for name in (INDEX_JSON, INDEX_MD, QUERY_SCRIPT):
        assert (outs[0] / name).read_bytes() == (outs[1] / name).read_bytes(), name
    assert _hashes(outs[0]) == _hashes(outs[1])
    assert len(_hashes(outs[0])) >= 10


def test_a_dry_run_changes_nothing(project):
    root = project(DOCS)
    report = build(root, dry_run=True)
    assert (report.outcome, len(report.changed)) == ("planned", 3)
    assert not (root / "build").exists()
    assert not (root / ".syntropy").exists()
    build(root)
    (root / "docs/a.md").write_text("# Changed\n")
    report = build(root, dry_run=True)
    assert (report.outcome, report.changed) == ("planned", ["docs/a.md"])
    assert "documents" in report.steps


def test_full_ignores_former_results(project):
    root = project(DOCS)
    build(root)
    assert build(root, full=True).outcome == "published"


def test_a_configuration_change_redoes_what_depends_on_it(project, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    root = project(DOCS)
    first = build(root)
    database = stamps(first.out)[DATABASE]
    (root / "syntropy.toml").write_text("[embed]\nenabled = false\n[render]\nindex_max_tokens = 5000\n")
    assert build(root).outcome == "published"
    assert stamps(first.out)[DATABASE] == database, "the database does not depend on the overview's budget"
    (root / "syntropy.toml").write_text("[embed]\nenabled = false\n[ranking]\nk1 = 0.9\n")
    build(root)
    assert stamps(first.out)[DATABASE] != database


def test_a_lost_artifact_is_made_again(project):
    root = project(DOCS)
    out = build(root).out
    (out / INDEX_MD).unlink()
    assert build(root).outcome == "published"
    assert verify_files(out) == []
    (out / DATABASE).write_bytes(b"short")
    build(root)
    assert verify_files(out) == []


def test_lost_vectors_are_made_again(project, monkeypatch, tmp_path):
    models = Path(os.environ["SYNTROPY_CACHE_HOME"]) / "models"
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "models").symlink_to(models)
    monkeypatch.setenv("SYNTROPY_CACHE_HOME", str(tmp_path / "cache"))  # vectors of its own
    root = project(DOCS, config="")
    (root / "docs/tiny.md").write_text("# Tiny\n\nOne more.\n")
    build(root)
    parts = list((tmp_path / "cache" / "embeddings").rglob("*.parquet"))
    assert parts
    for part in parts:
        part.unlink()
    (root / "docs/tiny.md").write_text("# Tiny\n\nOne more thing.\n")
    build(root)
    with open_knowledge(project=root) as knowledge:
        assert knowledge.search("one more tiny thing", mode="semantic").hits
        assert knowledge.search("alpha", mode="semantic").hits


def test_an_index_copy_is_kept_in_its_second_place(project):
    root = project(DOCS, config='[embed]\nenabled = false\n[paths]\nindex_copy = ".ce/syntropy-index.json"\n')
    out = build(root).out
    copy = root / ".ce" / "syntropy-index.json"
    assert copy.read_bytes() == (out / INDEX_JSON).read_bytes()
    assert build(root).outcome == "up-to-date"
    copy.unlink()
    build(root)
    assert copy.read_bytes() == (out / INDEX_JSON).read_bytes()


def test_a_failed_check_publishes_nothing(project, monkeypatch):
    root = project(DOCS)
    out = build(root).out
    before = stamps(out)
    (root / "docs/a.md").write_text("# Other\n\nText.\n")
    import pipeline.store.writer as module

    original = module.create_postings

    def broken(connection, *arguments, **how):
        original(connection, *arguments, **how)
        connection.execute("UPDATE postings SET saturations = list_transform(saturations, x -> x * 2)")

    monkeypatch.setattr(module, "create_postings", broken)
    with pytest.raises(BuildError, match="full_text_parity failed"):
        build(root)
    assert stamps(out) == before
    assert verify_files(out) == []
    assert last_build(root / ".syntropy").outcome == "failed"
    monkeypatch.undo()
    assert build(root).outcome == "published"


def test_a_step_that_fails_says_which_and_keeps_the_artifacts(project, monkeypatch):
    root = project(DOCS)
    out = build(root).out
    (root / "docs/a.md").write_text("# Other\n")
    import pipeline.engine.steps as module

    def failing(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "chunked", failing)
    with pytest.raises(BuildError, match=r"step chunks failed: .*No space left"):
        build(root)
    assert verify_files(out) == []


def test_bad_configuration_stops_the_build(project):
    with pytest.raises(ConfigError, match="chunks"):
        build(project(DOCS, config="[chunks]\ntarget_tokens = 10\n"))
    with pytest.raises(ConfigError, match="folders of their own"):
        build(project(DOCS, config='[paths]\nout = "."\n'))


def test_two_builds_at_once(project):
    from pipeline.store.lock import build_lock

    root = project(DOCS)
    with build_lock(root / ".syntropy"), pytest.raises(LockHeldError):
        build(root)


def test_every_kind_of_bad_input_of_the_demo(demo):
    manifest = read_manifest(demo / "build")
    record = json.loads((demo / ".syntropy" / "stages" / "drift.json").read_text())
    found = {(code, path) for _, _, code, _, path, *_ in record["facts"]["diagnostics"]}
    broken = "docs/broken/"
    assert {
        ("frontmatter-unclosed", f"{broken}unclosed-frontmatter.md"),
        ("frontmatter-not-a-mapping", f"{broken}list-frontmatter.md"),
        ("frontmatter-invalid", f"{broken}bad-yaml.md"),
        ("frontmatter-refused", f"{broken}alias-bomb.md"),
        ("frontmatter-refused", f"{broken}deep-nesting.md"),
        ("bad-encoding", f"{broken}not-utf8.md"),
        ("binary", f"{broken}binary.md"),
        ("python-syntax", "examples/broken_syntax.py"),
        ("duplicate-key", "PRPs/feature-requests/PRP-30-delivery-digest.md"),
        ("missing-implementation", "PRPs/executed/17-status-cache.md"),
        ("dangling-reference", ".serena/memories/tool-usage-guide.md"),
    } <= found
    assert manifest.facts["diagnostics"]["info"] >= 1
    with open_knowledge(project=demo) as knowledge:
        for name in ("bom", "crlf", "utf16", "unclosed-frontmatter", "alias-bomb"):
            assert knowledge.document(f"{broken}{name}.md").text


@pytest.mark.parametrize("name", ["context-engineering-intro", "prps-agentic-eng", "serena", "dlt-docs"])
def test_real_corpora_build_and_every_file_is_accounted_for(corpora, tmp_path, name):
    root = tmp_path / name
    shutil.copytree(corpora / name, root)
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (root / "syntropy.toml").write_text("[embed]\nenabled = false\n")
    report = quick.build(root)
    with open_knowledge(project=root) as knowledge:
        rows = knowledge._database.rows("SELECT path, status, reason FROM sources")
        documents = {p for (p,) in knowledge._database.rows("SELECT path FROM documents")}
    pruned = tuple(p for p, _, _ in rows if p.endswith("/"))
    on_disk = {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}
    assert {p for p in on_disk if not p.startswith(("build/", ".syntropy/", *pruned))} == {
        p for p, _, _ in rows if not p.endswith("/")
    }
    assert documents == {p for p, status, _ in rows if status == "indexed"}
    assert all(reason for _, _, reason in rows)
    assert len(documents) > 40
    assert verify_files(report.out) == []


KILLS = 12


def test_the_first_of_two_failing_branches_is_told_with_its_own_step(project, monkeypatch):
    root = project(DOCS)
    import pipeline.engine.steps as module

    def failing(message):
        def raising(*_args, **_kwargs):
            raise RuntimeError(message)

        return raising

    monkeypatch.setattr(module, "render_json", failing("JSON broke"))
    monkeypatch.setattr(module, "render_index_md", failing("MD broke"))
    with pytest.raises(BuildError) as caught:
        build(root)
    assert caught.value.message in (
        "step index_json failed: RuntimeError: JSON broke",
        "step index_overview failed: RuntimeError: MD broke",
    )
    assert caught.value.message in last_build(root / ".syntropy").error


def test_what_goes_wrong_in_a_check_is_told(project, monkeypatch):
    root = project(DOCS)
    (root / "syntropy.toml").write_text("[embed]\nenabled = false\n[eval]\nqueries = 'gone.jsonl'\n")
    with pytest.raises(UsageError, match=r"gone.jsonl cannot be read"):
        build(root)
    assert "gone.jsonl" in last_build(root / ".syntropy").error
    (root / "syntropy.toml").write_text("[embed]\nenabled = false\n")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.engine.gate.run_check", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(root)
    assert last_build(root / ".syntropy").error == "interrupted"


@pytest.mark.xdist_group("kills")
def test_killing_the_build_anywhere_never_damages_what_is_published(project):
    """SIGKILL at random moments; after each the former artifacts are whole and answer."""
    root = project({f"docs/{n}.md": f"# Page {n}\n\nAbout parcels and retries, number {n}.\n" for n in range(40)})
    build(root)
    chooser = random.Random(20)
    context = multiprocessing.get_context("forkserver")  # its children need not load everything again
    context.set_forkserver_preload(["assets.run", "assets.assets", "assets.checks", "pipeline.engine.steps"])

    def started(**options):
        process = context.Process(target=build, args=(root,), kwargs=options)
        process.start()
        return process, time.monotonic()

    for _ in range(2):  # the first one starts the server, too
        process, begun = started(full=True)
        process.join(timeout=60)
        whole = time.monotonic() - begun
    outcomes = {"killed": 0, "finished": 0}
    for number in range(KILLS):
        (root / "docs/0.md").write_text(f"# Page 0\n\nRevision {number}.\n")
        # half of the kills aim at the last quarter, where files are staged and published
        share = chooser.random() if number % 2 else chooser.uniform(0.7, 1.05)
        process, begun = started()
        process.join(timeout=whole * share)
        if process.is_alive():
            process.kill()
            outcomes["killed"] += 1
        else:
            outcomes["finished"] += 1
            whole = min(whole, time.monotonic() - begun)  # the machine may have been busier before
        process.join()
        assert verify_files(root / "build") == []
        with open_knowledge(out=root / "build") as knowledge:
            assert knowledge.search("parcels retries").hits
    assert outcomes["killed"] >= KILLS // 2, outcomes
    assert build(root).outcome in ("published", "up-to-date")
    with open_knowledge(project=root) as knowledge:
        assert f"Revision {KILLS - 1}." in knowledge.document("docs/0.md").text
    assert not (root / "build" / ".publish").exists()
    assert MANIFEST in {p.name for p in (root / "build").iterdir()}
