"""What Dagster shows: assets, checks, job, schedule and sensor; it loads from anywhere."""

import subprocess
import sys

import dagster as dg
import pytest

from assets.definitions import definitions
from assets.resources import WorkspaceResource
from tests.conftest import ROOT

ASSETS = {
    "source_files", "documents", "chunks", "embeddings", "relations", "drift", "search_database", "index_json", "index_overview",
    "query_script", "query_encoder", "publication",
}  # fmt: skip
CHECKS = {
    "unique_ids", "referential_integrity", "spans_re_read", "vector_norms", "search_smoke", "full_text_parity", "golden_queries", "overview_budget",
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


def test_schedule_and_sensor_are_off_until_switched_on(small):
    defs = definitions(small)
    assert defs.resolve_schedule_def("rebuild").default_status == dg.DefaultScheduleStatus.STOPPED
    assert defs.resolve_sensor_def("source_changes").default_status == dg.DefaultSensorStatus.STOPPED


def test_the_sensor_fires_on_change_only(small):
    defs = definitions(small)
    sensor = defs.resolve_sensor_def("source_changes")

    def look(cursor):
        with dg.DagsterInstance.ephemeral() as instance:
            context = dg.build_sensor_context(instance=instance, cursor=cursor)
            return sensor.evaluate_tick(context)

    first = look(None)
    assert len(first.run_requests) == 1
    again = look(first.cursor)
    assert not again.run_requests
    (small / "docs/a.md").touch()
    assert not look(first.cursor).run_requests, "touched, not changed"
    (small / "docs/a.md").write_text("# A\n\nchanged\n")
    changed = look(first.cursor)
    assert len(changed.run_requests) == 1
    assert changed.cursor != first.cursor


def test_a_run_shows_counts_diagnostics_and_data_versions(small):
    defs = definitions(small)
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("build").execute_in_process(instance=instance)
        assert result.success
        found = {e.asset_key.to_user_string(): e.materialization for e in result.get_asset_materialization_events()}
        assert set(found) == ASSETS
        assert "sms" not in str(found["drift"].metadata["first diagnostics"].value)
        assert "gone.md" in str(found["drift"].metadata["first diagnostics"].value)
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


def test_the_resource_reads_the_projects_configuration(small):
    (small / "syntropy.toml").write_text("[chunk]\ntarget_tokens = 123\n")
    assert WorkspaceResource(project=str(small)).workspace().config.chunk.target_tokens == 123


def test_the_workspace_file_loads_from_anywhere(tmp_path):
    done = subprocess.run(
        [str(sys.executable), "-m", "dagster", "definitions", "validate", "-w", str(ROOT / "workspace.yaml")], cwd=tmp_path,
        capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "successful" in (done.stdout + done.stderr)
