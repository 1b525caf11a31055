"""Shared fixtures: small projects written on the spot, and the demo built once a session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "examples" / "acme"
DATA = ROOT.parent / "shared" / "data"

USER_CACHE = Path(os.environ.get("SYNTROPY_TEST_CACHE") or ROOT / ".test-cache")
"""The user's cache as tests see it: models and vectors, of which only speed depends, are kept between runs."""

PUBLISHED = "TEST_PUBLISHED_DEMO"
"""Variable that names a demo built already: a reader is tested without a builder."""

os.environ["SYNTROPY_CACHE_HOME"] = str(USER_CACHE)
os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "yes")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees the configuration or variables of whoever runs it."""
    for name in list(os.environ):
        if name.startswith("SYNTROPY_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setenv("SYNTROPY_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))
    monkeypatch.setenv("SYNTROPY_CACHE_HOME", str(USER_CACHE))


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Path]:
    """`project({"docs/a.md": "…"}, config="[embed]\\nenabled = false")` writes a project."""

    def write(files: dict[str, str | bytes], config: str = "[embed]\nenabled = false\n", name: str = "project") -> Path:
        root = tmp_path / name
        for path, content in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        root.mkdir(exist_ok=True)
        (root / "syntropy.toml").write_text(config)
        return root

    return write


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo project, copied and built with embeddings; shared by all processes, so read only."""
    if given := os.environ.get(PUBLISHED):
        return Path(given)
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "demo"
    with FileLock(f"{shared}.lock"):
        if not (shared / "done").exists():
            from tests.quick import build

            shutil.rmtree(shared, ignore_errors=True)
            copy_demo(shared / "acme")
            build(shared / "acme")
            (shared / "done").touch()
    return shared / "acme"


@pytest.fixture
def demo_copy(demo: Path, tmp_path: Path) -> Path:
    """A private copy of the demo with its caches: builds need not embed again."""
    target = tmp_path / "acme"
    copy_demo(target)
    return target


@pytest.fixture
def meaning() -> None:
    """For tests that search by vectors: skipped where only a reader of words is installed."""
    pytest.importorskip("onnxruntime", reason="needs [semantic]")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Real corpora; tests that need them skip where they are not."""
    folder = DATA / "corpora"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here: the real corpora are kept outside of the project")
    return folder


def copy_demo(target: Path) -> None:
    """The demo's sources, without what a build made of them."""
    shutil.copytree(DEMO, target, symlinks=True, ignore=shutil.ignore_patterns(".syntropy", "build", "__pycache__"))
