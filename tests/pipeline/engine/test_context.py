"""One build: what it reads, what it keeps at hand and what it lets go."""

import pytest

from pipeline.engine import context
from pipeline.engine.context import Build, Inputs
from pipeline.engine.publication import run_build
from pipeline.engine.runner import run_stage
from pipeline.engine.stages import STAGES, source_of, stage_named
from pipeline.engine.workspace import make_workspace

DOCS = {"docs/a.md": "# Alpha\n\nSee [beta](b.md).\n", "docs/b.md": "# Beta\n"}


def begun(root, **options):
    return Build(make_workspace(root, **options), synced_at="2026-01-01T00:00:00Z")


def test_a_stage_gets_what_it_declared_and_nothing_else(project):
    build = begun(project(DOCS))
    for stage in STAGES[:5]:
        run_stage(stage, build)
    inputs = Inputs(build, stage_named("relations"), "digest")
    assert set(inputs) == set(stage_named("relations").reads)
    assert inputs["documents"].height == 2
    assert "text" not in inputs.without("documents", "text").columns
    with pytest.raises(KeyError, match="reads 0 tables called headings"):
        inputs["headings"]


def test_a_bare_name_stands_for_the_one_table_of_that_name(project):
    build = begun(project(DOCS))
    for stage in STAGES[:7]:
        run_stage(stage, build)
    assert Inputs(build, stage_named("search_database"), "d")["diagnostics"].columns[0] == "stage"
    with pytest.raises(KeyError, match="reads 4 tables called diagnostics"):
        Inputs(build, stage_named("drift"), "d")["diagnostics"]
    with pytest.raises(KeyError, match="made by 5 stages"):
        source_of("diagnostics")


def test_tables_are_kept_while_somebody_reads_them_and_not_beyond(project):
    build = begun(project(DOCS))
    for stage in STAGES:
        run_stage(stage, build)
        assert set(build._kept) <= build.needed()
    assert build._kept == {}


def test_what_is_too_much_is_read_again_from_its_file(project, monkeypatch):
    monkeypatch.setattr(context, "MAX_KEPT_BYTES", 0)
    root = project(DOCS)
    assert run_build(begun(root)) is True
    monkeypatch.undo()
    assert run_build(begun(root)) is False, "the same tables, the same publication"


def test_inputs_follow_what_upstream_made(project):
    root = project(DOCS)
    run_build(begun(root))
    build = begun(root)
    documents = stage_named("documents")
    before = build.inputs_of(documents)
    run_stage(STAGES[0], build)
    assert build.inputs_of(documents) == before
    (root / "docs/a.md").write_text("# Other\n")
    changed = begun(root)
    run_stage(STAGES[0], changed)
    assert changed.inputs_of(documents) != before
    assert changed.method_of(documents) == build.method_of(documents)
    assert begun(root, full=True).up_to_date(documents, before) is None
