"""Shards: in however many parts and by whomever they are built, knowledge is the same; a change rewrites one of them."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import duckdb
import pytest

from pipeline.engine import shard_work, sharded, steps
from pipeline.engine.context import Build
from pipeline.engine.publication import run_build
from pipeline.engine.sharded import FEW_SHARDS, ONE_SHARD, shard_count
from pipeline.engine.workspace import make_workspace
from pipeline.ground import parallel
from pipeline.workers.workers import ProcessWorkers, SerialWorkers, make_workers
from syntropy.contract.config import BuildConfig
from syntropy.contract.errors import BuildError, DatabaseError
from syntropy.contract.published import read_manifest, verify_files
from syntropy.contract.shards import shard_file, shard_of
from syntropy.read.knowledge import open_knowledge
from tests.conftest import copy_demo

WORDS = [
    "parcel",
    "label",
    "courier",
    "depot",
    "pallet",
    "manifest",
    "customs",
    "invoice",
    "weight",
    "volume",
    "route",
    "driver",
    "van",
    "dock",
]
QUERIES = ["courier manifest", "how do I weigh a pallet", "dock 7", "customs invoice route", "palet", "nowhere zebra"]


def pages(count):
    """Pages that link to each other, share keys, and repeat texts."""
    found = {}
    for n in range(count):
        words = " ".join(WORDS[(n * k + k) % len(WORDS)] for k in range(1, 30))
        found[f"docs/{n % 7}/page-{n}.md"] = (
            f"---\ntags: [{WORDS[n % 5]}]\n---\n# {WORDS[n % 11]} {n}\n\n{words}\n\nSee [next](../{(n + 1) % 7}/page-{n + 1}.md)."
            f"\n\n## Dock {n}\n\n{words[::-1]}\n"
        )
    found["docs/copy.md"] = found["docs/3/page-3.md"]
    found["PRPs/one/PRP-7.md"] = found["PRPs/two/PRP-7.md"] = (
        "# PRP-7: A plan\n\nThe plan of the [pages](../../docs/copy.md).\n"
    )
    found["CLAUDE.md"] = "# Rules\n\n- Always weigh the parcel.\n- Always weigh the parcel.\n"
    found["docs/CLAUDE.md"] = "# Rules\n\n- Always weigh the parcel.\n"
    return found


def config(shards, engine="serial", **more):
    lines = [f"{key} = {value!r}" for key, value in more.items()]
    return (
        "\n".join(["[embed]", "enabled = false", "[build]", f"shards = {shards}", f'engine = "{engine}"', *lines])
        + "\n"
    )


def made(root):
    """Build it; the manifest."""
    build = Build(make_workspace(root), synced_at="2026-01-01T00:00:00Z", source_date="0")
    try:
        run_build(build)
    finally:
        build.close()
    assert verify_files(root / "build") == []
    return read_manifest(root / "build")


def hashes(manifest):
    return {name: facts["hash"] for name, facts in manifest.facts["tables"].items()}


def answers(root, engine, queries=QUERIES, **options):
    with open_knowledge(out=root / "build", engine=engine) as knowledge:
        found = [knowledge.search(query, limit=100, **options) for query in queries]
    return [
        [(hit.score, str(hit.citation), hit.snippet, hit.copies) for hit in result.hits]
        + [result.unknown_terms, dict(result.corrections), result.not_here]
        for result in found
    ]


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """The pages in one shard."""
    root = tmp_path_factory.mktemp("one") / "project"
    for path, text in pages(60).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "syntropy.toml").write_text(config(1))
    made(root)
    return root


def copied(one, tmp_path, text):
    root = tmp_path / "project"
    shutil.copytree(one, root, ignore=shutil.ignore_patterns("build", ".syntropy"))
    (root / "syntropy.toml").write_text(text)
    return root


def test_the_number_of_shards_follows_from_the_corpus_alone():
    assert shard_count(BuildConfig(), 50) == shard_count(BuildConfig(), ONE_SHARD) == 1
    assert shard_count(BuildConfig(), ONE_SHARD + 1) == shard_count(BuildConfig(), 300_000) == FEW_SHARDS
    assert shard_count(BuildConfig(), 1_000_000) == 20
    assert shard_count(BuildConfig(), 100_000_000) == 127
    assert shard_count(BuildConfig(shards=3), 50) == 3


def test_nothing_of_shards_is_seen_in_one(one):
    assert not (one / "build/shards").exists()
    assert not list((one / ".syntropy/stages").glob("*.receipt"))
    with open_knowledge(out=one / "build") as knowledge:
        assert "shards" not in knowledge.meta


@pytest.mark.parametrize(("shards", "engine"), [(3, "serial"), (8, "processes"), (3, "dask"), (8, "dask")])
def test_knowledge_is_the_same_in_however_many_shards_and_by_whomever_it_was_built(one, tmp_path, shards, engine):
    root = copied(one, tmp_path, config(shards, engine, workers=2))
    found = made(root)
    assert len(list((root / "build/shards").iterdir())) == shards
    assert hashes(found) == hashes(read_manifest(one / "build"))
    for name in ("INDEX.md", "syntropy-index.json"):
        assert (root / "build" / name).read_bytes() == (one / "build" / name).read_bytes()
    for mode in ("sql", "memory"):
        assert answers(root, mode) == answers(one, mode)
        assert answers(root, mode, tags=["label"], path="docs/*") == answers(one, mode, tags=["label"], path="docs/*")


def test_the_demo_with_vectors_is_the_same_in_three_shards(demo, tmp_path):
    root = tmp_path / "acme"
    copy_demo(root)
    with (root / "syntropy.toml").open("a") as settings:
        settings.write("\n[build]\nshards = 3\n")
    found = made(root)
    assert hashes(found) == hashes(read_manifest(demo / "build"))
    queries = [json.loads(line)["query"] for line in (root / "questions.jsonl").read_text().splitlines()][::4]
    for engine in ("sql", "memory"):
        for mode in ("hybrid", "semantic"):
            assert answers(root, engine, queries, mode=mode) == answers(demo, engine, queries, mode=mode)


def test_a_change_rewrites_the_shard_it_is_in_and_is_what_a_fresh_build_makes(one, tmp_path):
    root = copied(one, tmp_path, config(8))
    made(root)
    before = {path.name: path.stat().st_ino for path in (root / "build/shards").iterdir()}
    page = root / "docs/4/page-4.md"
    page.write_text(page.read_text() + "\nA comma, a word.\n")
    after = made(root)
    now = {path.name: path.stat().st_ino for path in (root / "build/shards").iterdir()}
    changed = {name for name in now if now[name] != before[name]}
    assert changed == {Path(shard_file(shard_of("project:docs/4/page-4.md", 8))).name}
    fresh = copied(root, tmp_path / "fresh", config(1))
    assert hashes(after) == hashes(made(fresh))
    assert answers(root, "sql") == answers(fresh, "sql")


def test_what_needs_all_documents_is_settled_again_whatever_shard_a_change_is_in(one, tmp_path):
    root = copied(one, tmp_path, config(8))
    made(root)
    (root / "PRPs/one/PRP-7.md").unlink()  # the other one gets the bare key
    (root / "CLAUDE.md").unlink()
    (root / "docs/3/page-3.md").unlink()  # the copy becomes an original
    (root / "docs/new.md").write_text("# New\n\nA courier.\n")
    after = made(root)
    fresh = copied(root, tmp_path / "fresh", config(1))
    assert hashes(after) == hashes(made(fresh))
    assert (root / "build/syntropy-index.json").read_bytes() == (fresh / "build/syntropy-index.json").read_bytes()


def test_fewer_shards_leave_none_behind(one, tmp_path):
    root = copied(one, tmp_path, config(8))
    made(root)
    (root / "syntropy.toml").write_text(config(2))
    assert hashes(made(root)) == hashes(read_manifest(one / "build"))
    assert sorted(path.name for path in (root / "build/shards").iterdir()) == ["000.duckdb", "001.duckdb"]
    (root / "syntropy.toml").write_text(config(1))
    assert hashes(made(root)) == hashes(read_manifest(one / "build"))
    assert not (root / "build/shards").exists()


def test_empty_shards_are_shards(project):
    root = project({"docs/a.md": "# A\n\ncourier\n"}, config(8))
    made(root)
    assert len(list((root / "build/shards").iterdir())) == 8
    assert [hit[1] for hit in answers(root, "memory", ["courier"])[0][:-3]] == ["docs/a.md#L1-L3"]


def _dies_once(records, *, mark, **arguments):
    """Ends its process the first time."""
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return _chunk(records, **arguments)


_chunk = shard_work.chunk_shard


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_worker_that_is_killed_costs_nothing_but_time(one, tmp_path, monkeypatch, engine):
    root = copied(one, tmp_path, config(4, engine, workers=2))
    mark = tmp_path / "died"
    mapped = sharded._mapped

    def deadly(build, stage, work, arguments, keys, **how):
        if stage == "chunks":
            work, arguments = _dies_once, {n: {**given, "mark": str(mark)} for n, given in arguments.items()}
        return mapped(build, stage, work, arguments, keys, **how)

    monkeypatch.setattr(sharded, "_mapped", deadly)
    found = made(root)
    assert mark.exists()
    assert hashes(found) == hashes(read_manifest(one / "build"))


def test_a_worker_that_dies_every_time_ends_the_build_with_the_shard(tmp_path):
    workers = ProcessWorkers()
    with pytest.raises(BuildError, match="was lost 3 times"):
        list(workers.map(_killed, [1, 2]))


def _killed(task):
    os.kill(os.getpid(), signal.SIGKILL)


class _StoppedError(BaseException):
    pass


def test_a_build_that_was_killed_goes_on_where_it_was(one, tmp_path, monkeypatch):
    root = copied(one, tmp_path, config(4))
    done = []

    def stopped(records, **arguments):
        if len(done) == 2:
            raise _StoppedError
        done.append(1)
        return _chunk(records, **arguments)

    monkeypatch.setattr(shard_work, "chunk_shard", stopped)
    with pytest.raises(_StoppedError):
        made(root)
    assert len(list((root / ".syntropy/stages").glob("chunks.*.receipt"))) == 2
    again = []
    monkeypatch.setattr(shard_work, "chunk_shard", lambda records, **how: again.append(1) or _chunk(records, **how))
    found = made(root)
    assert len(again) == 2, "what was signed for is not done twice"
    assert hashes(found) == hashes(read_manifest(one / "build"))
    assert not list((root / ".syntropy/stages").glob("*.receipt"))


def test_an_error_of_a_task_is_the_builds(one, tmp_path, monkeypatch):
    def full(records, **arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shard_work, "chunk_shard", full)
    root = copied(one, tmp_path, config(4))
    with pytest.raises(BuildError, match="shard 0 of chunks failed: OSError: .*No space left"):
        made(root)
    assert not (root / "build/manifest.json").exists()


def test_workers_by_name(tmp_path):
    assert make_workers(BuildConfig(engine="serial")).name == "serial"
    assert isinstance(make_workers(BuildConfig(engine="processes", workers=1)), SerialWorkers)
    assert make_workers(BuildConfig(engine="processes", workers=2)).name == "processes"
    with pytest.raises(BuildError, match="no dask scheduler answers at tcp://127.0.0.1:1"):
        make_workers(BuildConfig(engine="dask", address="tcp://127.0.0.1:1"))


def test_a_damaged_shard_is_written_anew_and_not_published_again(one, tmp_path):
    root = copied(one, tmp_path, config(4))
    made(root)
    shard = root / "build/shards/002.duckdb"
    data = bytearray(shard.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 16] = b"\0damaged, by us\0"
    shard.write_bytes(data)
    assert any("shards/002.duckdb" in problem for problem in verify_files(root / "build"))
    assert hashes(made(root)) == hashes(read_manifest(one / "build"))


def test_one_shard_asks_no_cluster(project):
    root = project({"docs/a.md": "# A\n\ncourier\n"}, config(1, "ray"))
    made(root)
    assert answers(root, "sql", ["courier"])


def test_a_shard_alone_says_what_to_open(one, tmp_path):
    root = copied(one, tmp_path, config(2))
    made(root)
    with pytest.raises(DatabaseError, match="is one shard of 2") as refused:
        open_knowledge(db=root / "build/shards/000.duckdb")
    assert str(root / "build/syntropy.duckdb") in refused.value.hint


def test_what_only_the_catalogue_says_rewrites_no_shard(one, tmp_path):
    root = copied(one, tmp_path, config(4))
    made(root)
    before = {path.name: path.stat().st_ino for path in (root / "build/shards").iterdir()}
    (root / "syntropy.toml").write_text(config(4) + '[project]\nname = "another"\n[synonyms]\nparcel = ["box"]\n')
    made(root)
    assert {path.name: path.stat().st_ino for path in (root / "build/shards").iterdir()} == before
    with open_knowledge(out=root / "build") as knowledge:
        assert knowledge.meta["project"] == "another"
        assert knowledge.search("box").hits


def test_a_log_beside_a_shard_is_refused_noticed_and_replaced(one, tmp_path):
    root = copied(one, tmp_path, config(2))
    made(root)
    connection = duckdb.connect(str(root / "build/shards/001.duckdb"))
    connection.execute("SET wal_autocheckpoint = '1TB'; PRAGMA disable_checkpoint_on_shutdown; DELETE FROM names")
    connection.close()
    assert (root / "build/shards/001.duckdb.wal").exists()
    with pytest.raises(DatabaseError, match=r"001\.duckdb\.wal lies beside"):
        open_knowledge(out=root / "build")
    assert any("shards/001.duckdb.wal" in problem for problem in verify_files(root / "build"))
    assert hashes(made(root)) == hashes(read_manifest(one / "build"))


@pytest.mark.parametrize("shards", [1, 3])
def test_what_changed_while_it_was_read_is_read_again_even_if_it_is_as_it_was(one, tmp_path, monkeypatch, shards):
    root = copied(one, tmp_path, config(shards))
    page = root / "docs/5/page-5.md"
    text = page.read_text()
    other = root / "docs/6/page-6.md"
    texts = other.read_text()

    def meanwhile(*arguments):
        page.write_text("# Transient\n\nzebra\n")
        other.unlink(missing_ok=True)
        return read(*arguments)

    read = steps.read_all
    for module in (steps, shard_work):
        monkeypatch.setattr(module, "read_all", meanwhile)
    made(root)
    monkeypatch.undo()
    page.write_text(text)
    other.write_text(texts)
    assert hashes(made(root)) == hashes(read_manifest(one / "build"))


def test_a_process_that_died_while_it_waited_is_replaced():
    assert sorted(ProcessWorkers().map(abs, [-1, -2, -3])) == [1, 2, 3]
    for worker in list(parallel._pool()._processes.values()):
        worker.kill()
    time.sleep(0.5)
    assert sorted(ProcessWorkers().map(abs, [-4, -5, -6])) == [4, 5, 6]
    found = parallel.map_batches(len, ["x" * 2_500_000] * 4, len, total=10_000_000)
    first = next(found)
    for worker in list(parallel._pool()._processes.values()):
        worker.kill()
    assert sum([first, *found]) == 4
    parallel.shutdown()


def test_three_hundred_real_pages_on_a_cluster_of_this_machine(corpora, tmp_path):
    pages = [path for name in ("dlt-docs", "prps-agentic-eng") for path in sorted((corpora / name).rglob("*.md"))]
    chosen = [path for path in pages if path.is_file()][:300]
    assert len(chosen) == 300
    questions = [
        "load data incrementally",
        "how do I set credentials for snowflake",
        "shcema evolution",
        "merge disposition",
    ]
    found = {}
    for shards, engine in ((1, "serial"), (3, "dask"), (8, "dask")):
        root = tmp_path / str(shards)
        for path in chosen:
            target = root / "docs" / path.relative_to(corpora)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        (root / "syntropy.toml").write_text(config(shards, engine, workers=2))
        found[shards] = hashes(made(root)), answers(root, "memory", questions), answers(root, "sql", questions[:2])
    assert found[1] == found[3] == found[8]
