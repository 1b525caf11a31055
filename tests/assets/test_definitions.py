"""What Dagster shows: assets, checks, job, schedule and sensor; it loads from anywhere."""

import json
import subprocess
import sys
import time

import dagster as dg
import pytest

from assets.definitions import definitions
from assets.resource import build_resource
from assets.run import build
from pipeline.engine.stages import STAGES
from syntropy.read.evaluation import evaluate, read_golden
from syntropy.read.knowledge import open_knowledge
from syntropy.store.last_build import last_build
from tests.conftest import ROOT

ASSETS = {
    "source_files", "documents", "tags", "chunks", "embeddings", "relations", "drift", "search_database", "index_json", "index_overview",
    "query_script", "query_encoder", "publication",
}  # fmt: skip
CHECKS = {
    "unique_ids", "referential_integrity", "spans_re_read", "vector_norms", "whole_agrees", "search_smoke", "full_text_parity", "golden_queries", "overview_budget",
}  # fmt: skip


@pytest.fixture
def small(project):
    return project({"docs/a.md": "# A\n\nabout parcels\n", "docs/b.md": "# B\n\n[x](gone.md)\n"})


def test_assets_and_checks(small):
    defs = definitions(small)
    graph = defs.resolve_asset_graph()
    assert {k.to_user_string() for k in graph.get_all_asset_keys()} == ASSETS
    assert {k.name for k in graph.asset_check_keys} == CHECKS
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.description
        assert node.owners
        assert node.kinds
        assert node.group_name != "default"


def test_edges_and_columns_are_those_of_the_stage_table(small):
    graph = definitions(small).resolve_asset_graph()
    for stage in STAGES:
        node = graph.get(dg.AssetKey(stage.name))
        assert {key.to_user_string() for key in node.parent_keys} == {name for name, _ in stage.inputs}
        if stage.makes:
            shown = node.metadata["dagster/column_schema"].value.columns
            assert [c.name for c in shown] == [c.name for c in stage.makes[0].stage_columns()]
            assert all(c.description for c in shown)
    assert {k.to_user_string() for k in graph.get(dg.AssetKey("relations")).parent_keys} == {
        "source_files", "documents", "chunks", "embeddings",
    }  # fmt: skip
    assert "source_files" in {k.to_user_string() for k in graph.get(dg.AssetKey("search_database")).parent_keys}


def test_an_asset_out_of_order_says_what_to_make_first(small):
    defs = definitions(small)
    with dg.DagsterInstance.ephemeral() as instance:
        alone = dg.materialize(defs.assets, selection=["chunks"], instance=instance, raise_on_error=False,
                               resources={"build": build_resource(small)})  # fmt: skip
        (failed,) = [e for e in alone.all_events if e.event_type_value == "STEP_FAILURE"]
    assert "reads what was never made: documents, tags" in failed.event_specific_data.user_failure_data.description


def test_schedule_and_sensor_are_off_until_switched_on(small):
    defs = definitions(small)
    assert defs.resolve_schedule_def("rebuild").default_status == dg.DefaultScheduleStatus.STOPPED
    assert defs.resolve_sensor_def("source_changes").default_status == dg.DefaultSensorStatus.STOPPED


class Daemon:
    """What Dagster's daemon does with a sensor: ticks, a run for each new run key, and its cursor."""

    def __init__(self, root, instance):
        self._root, self._instance, self._cursor, self._keys = root, instance, None, set()

    def tick(self):
        """True: built and published; False: a run that failed; None: no run."""
        defs = definitions(self._root)
        context = dg.build_sensor_context(instance=self._instance, cursor=self._cursor)
        found = defs.resolve_sensor_def("source_changes").evaluate_tick(context)
        self._cursor = found.cursor or self._cursor
        (request,) = found.run_requests or [None]
        if request is None or request.run_key in self._keys:
            return None
        self._keys.add(request.run_key)
        return defs.resolve_job_def("build").execute_in_process(
            instance=self._instance, raise_on_error=False, tags={"dagster/run_key": request.run_key}
        ).success  # fmt: skip


@pytest.fixture
def daemon(small, monkeypatch):
    (small / "syntropy.toml").write_text("[embed]\nenabled = false\n[schedule]\nsensor_seconds = 1\n")
    with dg.DagsterInstance.ephemeral() as instance:
        yield Daemon(small, instance)


def says(root, *words):
    from syntropy.read.knowledge import open_knowledge

    with open_knowledge(project=root) as knowledge:
        assert not knowledge.staleness(stale_after=0).stale
        return [bool(knowledge.search(word).hits) for word in words]


def test_the_sensor_publishes_changes_and_reverts_and_nothing_else(small, daemon):
    page, first = small / "docs/a.md", (small / "docs/a.md").read_text()
    assert daemon.tick() is True
    assert daemon.tick() is None
    page.touch()
    assert daemon.tick() is None, "touched, not changed"
    page.write_text("# A\n\nabout warehouses\n")
    assert daemon.tick() is True
    assert says(small, "warehouses", "parcels") == [True, False]
    page.write_text(first)
    assert daemon.tick() is True, "a revert is a change"
    assert says(small, "warehouses", "parcels") == [False, True]
    assert daemon.tick() is None


def test_the_sensor_sees_settings_and_golden_queries(small, daemon):
    assert daemon.tick() is True
    settings = (small / "syntropy.toml").read_text()
    (small / "syntropy.toml").write_text(settings + "[eval]\nqueries = 'golden.jsonl'\n")
    (small / "golden.jsonl").write_text('{"query": "parcels", "relevant": ["docs/a.md"]}\n')
    assert daemon.tick() is True
    assert daemon.tick() is None
    (small / "golden.jsonl").write_text('{"query": "parcels", "relevant": ["docs/b.md"]}\n')
    assert daemon.tick() is True


def test_the_sensor_tries_again_what_failed(small, daemon, monkeypatch):
    assert daemon.tick() is True
    import pipeline.engine.steps as module

    def failing(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    (small / "docs/a.md").write_text("# A\n\nabout warehouses\n")
    with monkeypatch.context() as patched:
        patched.setattr(module, "chunked", failing)
        assert daemon.tick() is False
        assert "No space left" in last_build(small / ".syntropy").error
        assert daemon.tick() is None, "it waits"
        time.sleep(1.1)
        assert daemon.tick() is False
        time.sleep(1.1)
        assert daemon.tick() is None, "the pause has doubled"
    time.sleep(1)
    assert daemon.tick() is True
    assert says(small, "warehouses") == [True]
    assert last_build(small / ".syntropy").outcome == "published"


def test_newer_code_than_the_sensors_is_no_reason_to_run_for_ever(small, daemon, monkeypatch):
    assert daemon.tick() is True
    monkeypatch.setattr("pipeline.engine.history.code_digest", lambda: "older")  # as the sensor's process knows it
    (small / "docs/a.md").write_text("# A\n\nabout warehouses\n")
    with monkeypatch.context() as runs:
        runs.setattr("pipeline.engine.publication.record_published", published_by_newer_code)
        assert daemon.tick() is True
    time.sleep(1.1)
    assert daemon.tick() is None
    time.sleep(1.1)
    assert daemon.tick() is None


def published_by_newer_code(workspace, files, **facts):
    from pipeline.engine import history

    original, history.code_digest = history.code_digest, lambda: "newer"
    try:
        history.record_published(workspace, files, **facts)
    finally:
        history.code_digest = original


def test_a_tick_on_an_untouched_project_reads_no_file(small, daemon, monkeypatch):
    assert daemon.tick() is True
    assert daemon.tick() is None  # the build made folders in the project: it is looked through once more
    monkeypatch.setattr("assets.automation.scan_all", lambda *_: pytest.fail("scanned"))
    assert daemon.tick() is None


def test_publication_alone_publishes_nothing_after_a_failed_check(small):
    (small / "golden.jsonl").write_text('{"query": "parcels", "relevant": ["docs/a.md"]}\n')
    (small / "syntropy.toml").write_text("[embed]\nenabled = false\n[eval]\nqueries = 'golden.jsonl'\n")
    out = build(small).out
    with open_knowledge(project=small) as knowledge:
        found = evaluate(knowledge, read_golden(small / "golden.jsonl"), ["fast"])
    (small / "eval-baseline.json").write_text(json.dumps(found.as_dict()))
    before = (out / "manifest.json").read_bytes()
    (small / "docs/a.md").write_text("# Other\n\nnothing of it\n")
    (small / "docs/c.md").write_text("# C\n\nparcels\n")
    defs = definitions(small)
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("build").execute_in_process(instance=instance, raise_on_error=False)
        assert not result.success
        (failed,) = [e for e in result.get_asset_check_evaluations() if not e.passed]
        assert failed.check_name == "golden_queries"
        assert "'parcels' 1.00 → 0.00" in failed.description
        alone = dg.materialize(defs.assets, selection=["publication"], instance=instance, raise_on_error=False,
                               resources={"build": build_resource(small)})  # fmt: skip
        assert not alone.success
    assert (out / "manifest.json").read_bytes() == before
    assert "golden_queries" in last_build(small / ".syntropy").error
    (small / "docs/a.md").write_text("# A\n\nabout parcels\n")
    (small / "docs/c.md").unlink()
    assert build(small).outcome == "published"


def test_a_run_shows_counts_diagnostics_and_data_versions(small):
    defs = definitions(small)
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("build").execute_in_process(instance=instance)
        assert result.success
        found = {e.asset_key.to_user_string(): e.materialization for e in result.get_asset_materialization_events()}
        assert set(found) == ASSETS
        shown = str(found["drift"].metadata["first diagnostics"].value)
        assert "gone.md" in shown
        assert "docs/a.md" not in shown, "nothing is wrong with it"
        assert found["documents"].metadata["dagster/row_count"].value == 2
        assert found["documents"].metadata["rows/documents"].value == 2
        assert found["search_database"].metadata["rows/chunks"].value == 2
        version = found["documents"].tags["dagster/data_version"]
        again = defs.resolve_job_def("build").execute_in_process(instance=instance)
        events = {e.asset_key.to_user_string(): e.materialization for e in again.get_asset_materialization_events()}
        assert events["documents"].tags["dagster/data_version"] == version
        assert events["documents"].metadata["up to date"].value is True
        assert events["publication"].metadata["published anew"].value is False


def test_a_run_that_cannot_have_the_lock_fails_clearly(small):
    from pipeline.store.lock import build_lock

    with build_lock(small / ".syntropy"), dg.DagsterInstance.ephemeral() as instance:
        result = definitions(small).resolve_job_def("build").execute_in_process(instance=instance, raise_on_error=False)
    assert not result.success


def test_a_run_reads_the_projects_configuration_and_may_use_no_cache(small):
    (small / "syntropy.toml").write_text("[embed]\nenabled = false\n[chunk]\ntarget_tokens = 123\n")
    build(small)
    job = definitions(small).resolve_job_def("build")
    with dg.DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(
            instance=instance, run_config={"resources": {"build": {"config": {"full": True}}}}
        )
        events = {e.asset_key.to_user_string(): e.materialization for e in done.get_asset_materialization_events()}
        assert events["chunks"].metadata["up to date"].value is False
    with open_knowledge(project=small) as knowledge:
        assert '"target_tokens": 123' in knowledge.database.meta["ranking"]


def test_the_workspace_file_loads_from_anywhere(tmp_path):
    done = subprocess.run(
        [str(sys.executable), "-m", "dagster", "definitions", "validate", "-w", str(ROOT / "workspace.yaml")], cwd=tmp_path,
        capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "successful" in (done.stdout + done.stderr)
