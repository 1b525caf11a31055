"""Long-lived readers: a new publication is taken, and no question is answered from two."""

from __future__ import annotations

import concurrent.futures
import json
import shutil
import time

import pytest

import syntropy
from assets.run import build
from syntropy.publication import Publication
from syntropy.tools.toolbox import Toolbox


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
    assert len(answer.structured["hits"]) == 3
    return {hit["text"].partition("Edition ")[2].split()[0] for hit in answer.structured["hits"]}


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
            for number in range(1, 6):
                numbered(root, number)
                build(root)
                wait_for(lambda number=number: texts(box) == {str(number)})
            stop = True
            for one in asking:
                one.result()
    assert all(len(editions) == 1 for editions in seen)
    assert set.union(*seen) >= {"5"}


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
        assert len(answer.structured["hits"]) == 3


def test_a_folder_that_is_gone_leaves_the_former_one(root):
    with Publication(lambda: syntropy.open(project=root)) as publication:
        shutil.rmtree(root / "build")
        assert texts(Toolbox(publication)) == {"0"}


def test_the_database_alone_is_enough(root, tmp_path):
    alone = tmp_path / "alone.duckdb"
    shutil.copy(root / "build/syntropy.duckdb", alone)
    shutil.rmtree(root)
    with Publication(lambda: syntropy.open(db=alone)) as publication:
        box = Toolbox(publication, ("knowledge", "commands", "graph", "memory"))
        assert texts(box) == {"0"}
        assert json.loads(box.call("get_document", {"path": "docs/a.md"}).text)["title"] == "Page a"
        refused = box.call("save_rule", {"label": "x", "content": "y"})
        assert refused.error
        assert "--project" in refused.text
