"""The wheel, installed where nothing else is: base answers queries, the build extra builds."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.conftest import PUBLISHED, ROOT

SITE = Path(sysconfig.get_paths()["purelib"])
BASE = ("duckdb", "duckdb-*.dist-info", "pystemmer*.dist-info", "_duckdb*", "Stemmer*", "adbc_driver_duckdb")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def environment(folder, wheel):
    """A fresh environment with the wheel's files and nothing of ours or anybody's."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next((folder / "lib").glob("python*")) / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return folder / "bin" / "python", site


def run(python, *arguments, cwd):
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run([str(python), "-m", "syntropy", *arguments], cwd=cwd, capture_output=True, text=True, env=env)


def test_nothing_generic_lands_at_the_top(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {n.split("/")[0] for n in names} == {"syntropy", next(n for n in names if "dist-info" in n).split("/")[0]}
    assert "syntropy/_location/assets/run.py" in names
    assert "syntropy/_location/pipeline/render/templates/INDEX.md.jinja" in names
    assert "syntropy/py.typed" in names


def test_with_base_dependencies_it_answers_and_says_what_building_needs(wheel, demo, tmp_path):
    python, site = environment(tmp_path / "env", wheel)
    for pattern in BASE:  # what the base dependencies install, and nothing else
        for path in SITE.glob(pattern):
            (site / path.name).symlink_to(path)
    found = run(python, "search", "retry failed carrier webhooks", "--out", str(demo / "build"), cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "PRP-29.3-webhook-retries.md#L" in found.stdout
    semantic = run(python, "search", "late parcel", "--mode", "semantic", "--out", str(demo / "build"), cwd=tmp_path)
    assert semantic.returncode == 6
    assert "pip install 'syntropy-knowledge[semantic]'" in semantic.stderr
    building = run(python, "build", "--project", str(demo), cwd=tmp_path)
    assert building.returncode == 6
    assert "pip install 'syntropy-knowledge[build-lite]'" in building.stderr


READER_TESTS = (
    "read/test_knowledge.py",
    "search",
    "contract/test_config.py",
    "contract/test_untrusted.py",
    "read/test_graph.py",
)
TEST_TOOLS = (
    "py.py", "pytest", "pytest-*.dist-info", "_pytest", "pluggy*", "iniconfig*", "packaging*", "pygments*", "hypothesis*",
    "_hypothesis*", "sortedcontainers*", "attr", "attrs*", "filelock*",
)  # fmt: skip


def test_the_readers_tests_pass_with_the_readers_dependencies(wheel, demo, tmp_path):
    python, site = environment(tmp_path / "env", wheel)
    for pattern in (*BASE, *TEST_TOOLS):
        for path in SITE.glob(pattern):
            if not (site / path.name).exists():
                (site / path.name).symlink_to(path)
    for name in ("tests", "examples"):
        shutil.copytree(
            ROOT / name, tmp_path / name, symlinks=True, ignore=shutil.ignore_patterns("node_modules", "build")
        )
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"tests/syntropy/{name}" for name in READER_TESTS)],
        cwd=tmp_path, env={**os.environ, PUBLISHED: str(demo)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3_000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 80, done.stdout[-300:]


def test_with_the_build_extra_it_builds(wheel, project, tmp_path):
    python, site = environment(tmp_path / "env", wheel)
    for path in SITE.iterdir():  # all that [build] installs; our own editable install left out
        if "syntropy" not in path.name and not (site / path.name).exists():
            (site / path.name).symlink_to(path)
    root = project({"docs/a.md": "# Alpha\n\nAll about parcels.\n"})
    built = run(python, "build", "--project", str(root), cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert "published" in built.stdout
    assert "docs/a.md#L1-L3" in run(python, "search", "parcels", "--project", str(root), cwd=tmp_path).stdout
