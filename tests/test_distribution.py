"""Every hint, page and workflow names the right package: `syntropy` in the index is somebody else's."""

import json
import re
import tomllib
from importlib import metadata

import pytest

from syntropy.contract import distribution
from tests.conftest import ROOT

INSTALL = re.compile(r"pip\s+(?:--\S+\s+)*install\s+([^\n`]*)")
TEXTS = [
    p for pattern in ("*.md", "*.yml", "*.toml", "Makefile", "docs/**/*.md", ".github/**/*.yml", "syntropy/**/*.py", "pipeline/**/*.py",
                      "assets/**/*.py", "pipeline/**/*.jinja", "examples/**/*.md")
    for p in ROOT.glob(pattern) if p.is_file()
]  # fmt: skip


def test_the_constant_is_the_packages_name():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == distribution.DISTRIBUTION == metadata.metadata("syntropy-knowledge")["Name"]
    extras = project["optional-dependencies"]
    assert not [d for members in extras.values() for d in members if re.match(r"syntropy(?!-knowledge)\b", d)]


def test_no_line_installs_somebody_elses_package():
    wrong = []
    for path in TEXTS:
        for match in INSTALL.finditer(path.read_text(encoding="utf-8", errors="replace")):
            if re.search(r"(?<![\w/.-])syntropy(?!-knowledge|/|_)(?=[\[\s'\"]|$)", match.group(1)):
                wrong.append(f"{path.relative_to(ROOT)}: {match.group(0)}")
    assert len(TEXTS) > 150
    assert wrong == []


def test_every_named_extra_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {
        extra for path in TEXTS
        for extra in re.findall(r"install_command\(\"([\w-]+)\"\)|syntropy-knowledge\[([\w-]+)\]", path.read_text(encoding="utf-8", errors="replace"))
        for extra in extra if extra
    }  # fmt: skip
    assert named <= set(extras)
    assert {"build-lite", "semantic", "serve", "chat", "providers"} <= named


class Installed:
    def __init__(self, **direct):
        self._text = json.dumps(direct) if direct else None

    def read_text(self, name):
        assert name == "direct_url.json"
        return self._text


@pytest.mark.parametrize(
    ("installed", "wanted"),
    [
        (Installed(), "pip install 'syntropy-knowledge[serve]'"),
        (Installed(url="file:///usr/", dir_info={"editable": True}), "pip install '/usr/[serve]'"),
        (Installed(url="file:///nowhere/x.whl", archive_info={}), "pip install 'syntropy-knowledge[serve]'"),
        (
            Installed(url="https://example.org/a.git", vcs_info={"vcs": "git", "commit_id": "abc"}),
            "pip install 'syntropy-knowledge[serve] @ git+https://example.org/a.git@abc'",
        ),
    ],
)
def test_hints_add_to_the_installation_that_is_there(monkeypatch, installed, wanted):
    monkeypatch.setattr(distribution.metadata, "distribution", lambda _: installed)
    assert distribution.install_command("serve") == wanted


def test_building_needs_no_torch():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lite = [d for name in ("build-lite", "semantic", "providers", "ui", "serve", "chat") for d in extras[name]]
    assert not [d for d in lite if re.match(r"(torch|sentence|gt-all|transformers)", d)]
