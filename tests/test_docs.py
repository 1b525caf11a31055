"""The documents tell the truth: examples run, links resolve, generated pages are current."""

import ast
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


def public_members(tree):
    """(name, node) of the module, its public functions and classes, and the public methods of those."""
    yield "module", tree
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and not member.name.startswith("_"):
                    yield f"{node.name}.{member.name}", member


def test_public_names_have_docstrings():
    looked_at, missing = 0, []
    for package in ("syntropy", "pipeline", "assets"):
        for path in (ROOT / package).rglob("*.py"):
            for name, node in public_members(ast.parse(path.read_text())):
                looked_at += 1
                if not ast.get_docstring(node):
                    missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert missing == []
    assert looked_at > 1000, "methods are looked at, too"


def test_what_raises_our_errors_says_so():
    """A public function that raises an error of ours by name names one in its docstring, or its class's."""
    silent = []
    for package in ("syntropy", "pipeline"):
        for path in (ROOT / package).rglob("*.py"):
            if "cli" in path.parts:
                continue  # a command's errors are for people, and all of them
            tree = ast.parse(path.read_text())
            for name, node in public_members(tree):
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    continue
                raised = {
                    n.exc.func.id
                    for n in ast.walk(node)
                    if isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call) and isinstance(n.exc.func, ast.Name)
                    and n.exc.func.id.endswith("Error")
                }  # fmt: skip
                caught = {
                    name.id
                    for n in ast.walk(node)
                    if isinstance(n, ast.ExceptHandler) and n.type is not None
                    for name in ast.walk(n.type)
                    if isinstance(name, ast.Name)
                }
                raised = set() if "SyntropyError" in caught else raised - caught
                owner = next((n for n in tree.body if isinstance(n, ast.ClassDef) and node in n.body), None)
                told = f"{ast.get_docstring(node)} {ast.get_docstring(owner) if owner else ''}"
                if raised and not raised & set(re.findall(r"\w+Error", told)):
                    silent.append(f"{path.relative_to(ROOT)}: {name} raises {', '.join(sorted(raised))}")
    assert silent == []


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
