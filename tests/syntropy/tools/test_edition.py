"""Long-lived readers: a new publication is taken, and no question is answered from two."""

from __future__ import annotations

import concurrent.futures
import re
import shutil
import time

import pytest

import syntropy
from syntropy.tools.edition import Publication
from syntropy.tools.toolbox import Toolbox
from tests.quick import build


def numbered(root, number: int) -> None:
    for name in "abc":
        (root / f"docs/{name}.md").write_text(f"# Page {name}\n\nEdition {number} of the lighthouse page.\n")


def wait_for(condition, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def root(project):
    root = project({"docs/a.md": "# A\n", "docs/b.md": "# B\n", "docs/c.md": "# C\n"})
    numbered(root, 0)
    build(root)
    return root


def texts(box: Toolbox) -> set[str]:
    answer = box.call("search_knowledge", {"query": "lighthouse", "limit": 10})
    assert not answer.error, answer.text
    editions = re.findall(r"Edition (\d+)", answer.structured["answer"])
    assert len(editions) == 3
    return set(editions)


def test_a_new_publication_is_taken_and_no_answer_mixes_two(root):
    with Publication(lambda: syntropy.open(project=root)) as publication:
        box = Toolbox(publication)
        seen: list[set[str]] = []
        stop = False

        def ask() -> None:
            while not stop:
                seen.append(texts(box))

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            asking = [pool.submit(ask) for _ in range(4)]
            for number in range(1, 4):
                numbered(root, number)
                build(root)
                wait_for(lambda number=number: texts(box) == {str(number)})
            stop = True
            for one in asking:
                one.result()
    assert all(len(editions) == 1 for editions in seen)
    assert set.union(*seen) >= {"3"}


def test_cursors_of_a_former_publication_are_refused(root):
    with Publication(lambda: syntropy.open(project=root)) as publication:
        box = Toolbox(publication)
        cursor = box.call("search_knowledge", {"query": "lighthouse", "limit": 1}).structured["next_cursor"]
        numbered(root, 7)
        build(root)
        wait_for(lambda: texts(box) == {"7"})
        answer = box.call("search_knowledge", {"query": "lighthouse", "limit": 1, "cursor": cursor})
        assert answer.error
        assert "published anew" in answer.text


def test_a_publication_that_cannot_be_opened_leaves_the_former_one(root):
    with Publication(lambda: syntropy.open(project=root)) as publication:
        box = Toolbox(publication)
        database = root / "build/syntropy.duckdb"
        whole = database.with_suffix(".whole")
        shutil.copy(database, whole)
        broken = database.with_suffix(".broken")
        broken.write_bytes(b"no database")
        broken.replace(database)
        assert texts(box) == {"0"}
        wait_for(lambda: publication.problem)
        answer = box.call("search_knowledge", {"query": "lighthouse"})
        assert "could not be opened" in answer.structured["warning"]
        assert answer.structured["answer"].count("Edition ") == 3


def test_a_folder_that_is_gone_leaves_the_former_one(root):
    with Publication(lambda: syntropy.open(project=root)) as publication:
        shutil.rmtree(root / "build")
        assert texts(Toolbox(publication)) == {"0"}


def test_the_database_alone_is_enough(root, tmp_path):
    alone = tmp_path / "alone.duckdb"
    shutil.copy(root / "build/syntropy.duckdb", alone)
    shutil.rmtree(root)
    with Publication(lambda: syntropy.open(db=alone)) as publication:
        box = Toolbox(publication, ("knowledge", "commands", "graph", "notes"))
        assert texts(box) == {"0"}
        assert box.call("get_document", {"path": "docs/a.md"}).structured["title"] == "Page a"
        refused = box.call("save_rule", {"label": "x", "content": "y"})
        assert refused.error
        assert "--project" in refused.text


def test_the_question_that_notices_a_publication_is_answered_from_it(root):
    with Publication(lambda: syntropy.open(project=root)) as publication:
        box = Toolbox(publication)
        numbered(root, 3)
        build(root)
        assert texts(box) == {"3"}


def test_a_replacement_while_it_is_being_opened_is_noticed(root):
    def opener():
        knowledge = syntropy.open(project=root)
        if not opened:
            opened.append(True)
            numbered(root, 4)
            build(root)
        return knowledge

    opened: list[bool] = []
    with Publication(opener) as publication:
        assert texts(Toolbox(publication)) == {"4"}


def test_a_problem_ends_when_the_former_file_is_back(root):
    with Publication(lambda: syntropy.open(project=root)) as publication:
        box = Toolbox(publication)
        database = root / "build/syntropy.duckdb"
        kept = database.with_suffix(".kept")
        database.rename(kept)
        database.write_bytes(b"no database")
        assert texts(box) == {"0"}
        wait_for(lambda: publication.problem)
        kept.replace(database)
        assert "could not be opened" not in box.call("search_knowledge", {"query": "lighthouse"}).text


def test_nothing_but_a_search_by_meaning_waits_for_the_encoder(demo, monkeypatch):
    import syntropy.store.encoder

    load, loading = syntropy.store.encoder.load_encoder, []

    def slow(*arguments):
        loading.append(True)
        time.sleep(1.5)
        return load(*arguments)

    monkeypatch.setattr(syntropy.store.encoder, "load_encoder", slow)
    with Publication(lambda: syntropy.open(project=demo), warms=True) as publication:
        box = Toolbox(publication)
        publication.warm()
        wait_for(lambda: loading)
        began = time.monotonic()
        assert box.call("search_knowledge", {"query": "how are webhooks retried?"}).structured["mode"] == "fast"
        for name, arguments in [("get_document", {"path": "docs/faq.md"}), ("get_context", {"task": "webhooks"})]:
            assert not box.call(name, arguments).error
        assert time.monotonic() - began < 1.2
        wait_for(
            lambda: box.call("search_knowledge", {"query": "how are webhooks retried?"}).structured["mode"] == "hybrid"
        )


def test_resources_are_those_of_the_open_edition(root):
    from syntropy.serve.resources import read

    with Publication(lambda: syntropy.open(project=root)) as publication, publication.current() as edition:
        assert "Page a" in read(edition, "syntropy://index")[0]
        (root / "build/INDEX.md").write_text("# NEWER\n")
        assert "NEWER" not in read(edition, "syntropy://index")[0]
        assert "Page a" in read(edition, "syntropy://index")[0]
