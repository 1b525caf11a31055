"""The documents tell the truth: examples run, links resolve, generated pages are current."""

import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.generated_docs import GENERATED

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(language):
    for page in PAGES:
        for number, (kind, text) in enumerate(FENCE.findall(page.read_text())):
            if kind == language:
                yield pytest.param(text, id=f"{page.relative_to(ROOT)}-{number}")


@pytest.fixture
def place(demo, tmp_path):
    """A folder in which `build` and `examples/acme` are the demo's."""
    (tmp_path / "build").symlink_to(demo / "build")
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "acme").symlink_to(demo)
    return tmp_path


@pytest.mark.parametrize("text", examples("python"))
def test_python_examples_run(place, text):
    done = subprocess.run([sys.executable, "-c", text], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("text", examples("bash"))
def test_shell_examples_run(place, text):
    for line in text.strip().splitlines():
        if line.startswith("make "):
            assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
            continue
        command = re.sub(r"^(?:\.venv/bin/)?syntropy ", f"{sys.executable} -m syntropy ", line)
        command = re.sub(r"^python ", f"{sys.executable} ", command)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=place,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert done.stdout.strip(), line


def test_the_sql_example_runs(demo):
    import duckdb

    from syntropy.store.extensions import load_extension

    (sql,) = [p.values[0] for p in examples("sql")]
    connection = duckdb.connect(str(demo / "build" / "syntropy.duckdb"), read_only=True)
    load_extension(connection, "fts")
    assert connection.execute(sql).fetchall()
    connection.close()


@pytest.mark.parametrize("path", GENERATED)
def test_generated_pages_are_current(path):
    assert (ROOT / path).read_text() == GENERATED[path](), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_resolve(page):
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_decision_is_listed():
    listed = (ROOT / "docs/decisions/README.md").read_text()
    for page in (ROOT / "docs/decisions").glob("0*.md"):
        assert f"({page.name})" in listed


def test_public_names_have_docstrings():
    import ast

    missing = []
    for package in ("syntropy", "pipeline", "assets"):
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text())
            nodes = [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef | ast.FunctionDef))]
            public = [n for n in nodes if isinstance(n, ast.Module) or not n.name.startswith("_")]
            top = {id(n) for n in tree.body}
            missing += [f"{path.relative_to(ROOT)}: {getattr(n, 'name', 'module')}" for n in public
                        if not ast.get_docstring(n) and (isinstance(n, ast.Module) or id(n) in top) and path.stat().st_size]  # fmt: skip
    allowed = {"function", "class"}
    assert len([m for m in missing if m.split(": ")[1] not in allowed]) == 0, missing


def test_no_module_is_too_long():
    for package in ("syntropy", "pipeline", "assets", "tests", "benchmarks"):
        for path in (ROOT / package).rglob("*.py"):
            assert len(path.read_text().splitlines()) <= 500, path


def test_workflows_are_valid():
    done = subprocess.run(
        [f"{sys.prefix}/bin/actionlint", *map(str, (ROOT / ".github/workflows").glob("*.yml"))],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_no_registry_host_is_named():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    hosts = re.compile(
        "|".join(("py" + "pi.org", "pythonhosted" + ".org", "registry.npm" + "js.org", "download.py" + "torch.org"))
    )
    for name in tracked:
        path = ROOT / name
        if path.is_file() and path.suffix != ".png":
            assert not hosts.search(path.read_text(errors="ignore")), name
