"""Citations against the build and the working tree."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import syntropy
from syntropy.cli.main import main
from syntropy.contract.errors import UsageError
from syntropy.read.citations import proof_of, standing
from tests.quick import build

TEXT = "# Lamps\n\nThe lamp turns once a minute.\nIt is lit at dusk.\n\n## Oil\n\nOne barrel a week.\n"


@pytest.fixture
def root(project):
    root = project({"docs/lamp.md": TEXT, "docs/other.md": "# Other\n\nNothing here.\n"})
    build(root)
    return root


def verdicts(root, citation):
    with syntropy.open(project=root) as knowledge:
        found = standing(knowledge, citation)
    return (found.build.verdict, found.tree.verdict if found.tree else None), found


def proven_by_search(root):
    with syntropy.open(project=root) as knowledge:
        return standing(knowledge, "docs/lamp.md#L3-L4").citation


def test_a_citation_is_current_and_gets_its_proof(root):
    kinds, found = verdicts(root, "docs/lamp.md#L3-L4")
    assert kinds == ("current", "current")
    assert found.citation == f"docs/lamp.md#L3-L4~{proof_of('The lamp turns once a minute. It is lit at dusk.')}"
    assert found.current


def test_the_tree_has_moved_on_and_then_the_build_has(root):
    citation = proven_by_search(root)
    (root / "docs/lamp.md").write_text("# Lamps\n\nNew first words.\n\n" + TEXT.partition("\n\n")[2])
    kinds, found = verdicts(root, citation)
    assert kinds == ("current", "moved")
    assert found.tree.now == "docs/lamp.md#L5-L6"
    build(root)
    kinds, found = verdicts(root, citation)
    assert kinds == ("moved", "moved")
    assert found.build.now == "docs/lamp.md#L5-L6"


def test_moved_to_another_file(root):
    citation = proven_by_search(root)
    (root / "docs/lamp.md").rename(root / "docs/renamed.md")
    build(root)
    kinds, found = verdicts(root, citation)
    assert kinds == ("moved", "moved")
    assert found.build.now == "docs/renamed.md#L3-L4"


def test_changed_and_gone(root):
    citation = proven_by_search(root)
    (root / "docs/lamp.md").write_text(TEXT.replace("once a minute", "twice a minute"))
    kinds, found = verdicts(root, citation)
    assert kinds == ("current", "changed")
    assert found.tree.now == "docs/lamp.md#L3-L4"
    assert found.tree.text == ""
    build(root)
    assert "twice a minute" in verdicts(root, citation)[1].build.text
    (root / "docs/lamp.md").unlink()
    build(root)
    assert verdicts(root, citation)[0] == ("gone", "gone")


def test_without_a_proof_and_without_the_document_it_is_gone(root):
    kinds, found = verdicts(root, "docs/never.md#L1-L2")
    assert kinds == ("gone", None)
    assert not found.current


def test_deleted_from_a_file_that_stays_is_gone(root):
    citation = proven_by_search(root)
    (root / "docs/lamp.md").write_text("# Lamps\n\n## Oil\n\nOne barrel a week, from the south shore.\n")
    assert verdicts(root, citation)[0] == ("current", "gone")


def test_moved_to_a_file_that_is_not_built_yet(root):
    citation = proven_by_search(root)
    (root / "docs/lamp.md").rename(root / "docs/new.md")
    kinds, found = verdicts(root, citation)
    assert kinds == ("current", "moved")
    assert found.tree.now == "docs/new.md#L3-L4"


def test_a_few_words_that_stand_everywhere_are_not_taken_for_the_passage(root):
    (root / "docs/a.md").write_text("# A\n\n## Usage\n\nTurn the key.\n")
    (root / "docs/b.md").write_text("# B\n\n## Usage\n\nPull the lever.\n")
    build(root)
    citation = verdicts(root, "docs/a.md#L3-L3")[1].citation
    (root / "docs/a.md").write_text("# A\n\n## Handling\n\nTurn the key.\n")
    build(root)
    assert verdicts(root, citation)[0][0] == "changed"


def test_lines_beyond_the_end_are_cut_and_blank_ones_refused(root):
    assert verdicts(root, "docs/lamp.md#L8-L600")[1].citation.startswith("docs/lamp.md#L8-L9~")
    with pytest.raises(UsageError, match="no words"):
        verdicts(root, "docs/lamp.md#L2-L2")
    assert verdicts(root, f"docs/lamp.md#L900-L901~{proof_of('x')}")[0] == ("gone", "gone")


def test_paths_are_normalised_and_keys_understood(root):
    (root / "PRPs").mkdir()
    (root / "PRPs/PRP-7-oil.md").write_text("---\nprp_id: PRP-7\n---\n\n# Oil\n\nBuy oil.\n")
    build(root)
    assert verdicts(root, "./docs//lamp.md#L3-L4")[0] == ("current", "current")
    found = verdicts(root, "PRP-7#L5-L7")[1]
    assert found.current


def test_form_feeds_do_not_shift_lines(root):
    (root / "docs/feed.md").write_bytes(b"# Feed\x0c\n\nThe keeper feeds the cat at noon.\n")
    build(root)
    assert verdicts(root, "docs/feed.md#L3-L3")[0] == ("current", "current")


def test_only_files_of_the_build_are_read_and_none_is_shown(root, capsys):
    (root / ".env").write_text("SECRET_TOKEN=abcdef123456\n")
    (root / "docs/link.md").symlink_to(root / ".env")
    for path in (".env", "docs/link.md", ".git/config"):
        assert main(["cite", f"{path}#L1-L1~00000000", "--project", str(root)]) == 1
    assert "abcdef" not in capsys.readouterr().out
    assert verdicts(root, f".env#L1-L1~{proof_of('SECRET_TOKEN=abcdef123456')}")[0] == ("gone", "gone")


def test_lines_without_their_credentials_are_not_compared(root):
    (root / "docs/key.md").write_text("# Key\n\nThe key is AKIAQ3EGRZ7WMUTX5KPN, keep it.\n")
    build(root)
    kinds, found = verdicts(root, "docs/key.md#L3-L3")
    assert kinds == ("current", None)
    assert "AKIA" not in str(found)


def test_a_long_passage_in_a_long_document_ends_in_time(root):
    (root / "docs/long.md").write_text("# Long\n\n" + "".join(f"Line {n} of the log.\n" for n in range(20_000)))
    build(root)
    assert verdicts(root, "docs/long.md#L10-L5000~00000000")[0][0] == "changed"


def test_other_white_space_is_no_change(root):
    citation = proven_by_search(root)
    (root / "docs/lamp.md").write_text(TEXT.replace("minute.\n", "minute. \r\n"))
    assert verdicts(root, citation)[0] == ("current", "current")


@pytest.mark.parametrize("wrong", ["docs/lamp.md", "docs/lamp.md#L0-L2", "docs/lamp.md#L5-L2", "", "#L1-L2", "x#L1~zz"])
def test_what_is_no_citation(root, wrong):
    with syntropy.open(project=root) as knowledge, pytest.raises(UsageError):
        standing(knowledge, wrong)


def test_a_path_out_of_the_project_is_not_read(root):
    (root.parent / "secret.md").write_text(TEXT)
    assert verdicts(root, f"../secret.md#L3-L4~{proof_of('x')}")[0] == ("gone", "gone")


def test_the_command_says_it_with_its_exit_code(root, capsys):
    assert main(["cite", "docs/lamp.md#L3-L4", "--project", str(root)]) == 0
    assert "working tree: current" in capsys.readouterr().out
    assert main(["cite", "docs/lamp.md#L3-L4~00000000", "--project", str(root), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["build"]["verdict"] == "changed"


def test_the_lines_of_a_proven_citation_are_printed(root, capsys):
    assert main(["doc", proven_by_search(root), "--project", str(root)]) == 0
    assert capsys.readouterr().out == "The lamp turns once a minute.\nIt is lit at dusk.\n"


def test_documents_are_found_by_proven_citations(root):
    with syntropy.open(project=root) as knowledge:
        assert knowledge.document("docs/lamp.md#L3-L4~12345678").path == "docs/lamp.md"


@given(st.text())
def test_proofs_do_not_depend_on_white_space(text):
    assert proof_of(text) == proof_of("  " + "\n".join(text.split(" ")) + "\n")
