"""What `syntropy init` recognises, by content, wherever it lies; what it proposes later; what it never changes."""

import tomllib
from pathlib import Path

import pytest

from pipeline.sources.detect import configured, detect
from syntropy.cli.main import main
from syntropy.contract.config import SourcesConfig, load_config
from syntropy.contract.errors import UsageError
from syntropy.setup.scaffold import updated_config

CONSOLE = """
  const run = (line: string) => {
    const [verb, what] = line.trim().split(/\\s+/);
    switch (verb) {
      case 'dock': switch (what) { case 'open': a(); break; case 'shut': b(); break; } break;
      case 'load': c(); break; case 'weigh': d(); break; case 'seal': e(); break;
    }
  };
"""
HELP = (
    "export const HELP = ["
    + ", ".join(
        f"{{ command: '{words}', description: 'It does {words}' }}"
        for words in ("dock open", "load <bin>", "weigh", "seal", "dock shut")
    )
    + "];"
)
FILES = {
    "README.md": "# Depot\n\nWhat it is.\n",
    "web/src/Console.tsx": CONSOLE,
    "web/src/help.ts": HELP,
    "web/src/util.ts": "export const words = (s: string) => { switch (s.split(' ')[0]) { case 'a': return 1; } };",
    "tools/depot.py": "import argparse\np = argparse.ArgumentParser(prog='depot')\ns = p.add_subparsers()\ns.add_parser('sweep')\n",
    "tools/test_depot.py": "import argparse\np = argparse.ArgumentParser(prog='x')\ns = p.add_subparsers()\ns.add_parser('y')\n",
    "cli/main.ts": "import { Command } from 'commander'; const p = new Command(); p.command('lift <bin>').description('Lifts');",
    "api/v1.yaml": "openapi: 3.0.0\npaths:\n  /bins: {$ref: 'parts/bins.yaml'}\n",
    "api/parts/bins.yaml": "get: {summary: Lists bins, responses: {}}\n",
    "api/old.json": '{"swagger": "2.0", "paths": {}}',
    "server/config.ts": "const o = { definition: { openapi: '3.0.0', servers: [{ url: '/api' }] } };",
    "server/routes.ts": "/**\n * @openapi\n * /racks:\n *   get: {responses: {}}\n */\nroute();",
    "shop/src/knowledge/content/commands.json": "[" + ", ".join(f'{{"id": "c{n}", "type": "command", "title": "C {n}", "content": "Does {n}"}}' for n in range(4)) + "]",
    "shop/package.json": '{"id": "shop", "title": "Shop"}',
    "shop/handbook/guide.md": "---\nid: g1\ntype: guide\ntitle: Guide\n---\n\nHow.\n",
    "lists/words.csv": "term,definition\nbin,A box\n",
    "lists/prices.csv": "item,price\nbin,3\n",
    "ground/meta/relations.json": '{"version": "1", "DP-1": {"type": "pattern", "file_path": "p/one.md"}, "DP-2": {"type": "pattern", "file_path": "p/two.md"}}',
    "ground/raw/p/one.md": "# One\n",
    "ground/raw/p/two.md": "# Two\n",
    "ground/raw/p/three.md": "# Three\n",
}  # fmt: skip


def written(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def by_source(detection):
    return {f.source: set(f.files) for f in detection.found}


def test_every_kind_is_recognised_wherever_it_lies(tmp_path):
    found = detect(written(tmp_path, FILES), SourcesConfig(), [])
    files = by_source(found)
    assert files["consoles"] == {"web/src/Console.tsx", "web/src/help.ts"}
    assert files["command_lines"] == {"tools/depot.py", "cli/main.ts"}
    assert files["openapi"] == {"api/v1.yaml", "api/parts/bins.yaml", "server/config.ts", "server/routes.ts"}
    assert files["entries"] == {"shop/src/knowledge/content/commands.json", "shop/handbook/guide.md"}
    assert files["glossaries"] == {"lists/words.csv"}
    assert files["canonical"] == {"ground/raw/p/one.md", "ground/raw/p/two.md"}
    assert files["docs"] == {"README.md", "ground/raw/p/three.md"}
    told = {f.source: f.yields for f in found.found}
    assert told["consoles"] == "5 commands"
    assert told["command_lines"] == "2 commands"
    assert told["openapi"] == "2 API operations"
    assert told["canonical"] == "2 entities with their relations"
    assert ("api/old.json", "is Swagger 2; convert it to OpenAPI 3") in found.left_out
    assert any("no source takes them" in why for _, why in found.left_out)


def test_what_was_proposed_takes_the_files_and_proposes_nothing_more(tmp_path):
    root = written(tmp_path, FILES)
    first = detect(root, SourcesConfig(), [])
    again = detect(root, configured(SourcesConfig(), first), [])
    assert again.proposed(configured(SourcesConfig(), first)) == {}
    assert by_source(again) == by_source(first)


def test_many_files_are_named_by_their_folder(tmp_path):
    routes = {f"server/r{n}.ts": f"/**\n * @openapi\n * /r{n}:\n *   get: {{responses: {{}}}}\n */" for n in range(20)}
    found = detect(written(tmp_path, routes), SourcesConfig(), [])
    assert [f.patterns for f in found.found] == [("/server/*.ts",)]


def test_names_with_marks_of_patterns_are_taken_as_they_are(tmp_path):
    name = "odd [1]/a b#!.py"
    root = written(tmp_path, {name: FILES["tools/depot.py"], "README.md": "# A\n"})
    found = detect(root, SourcesConfig(), [])
    assert detect(root, configured(SourcesConfig(), found), []).proposed(configured(SourcesConfig(), found)) == {}


def test_init_writes_it_down_and_prints_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SYNTROPY_EMBED_ENABLED", "false")
    root = written(tmp_path, FILES)
    assert main(["init", str(root)]) == 0
    out = capsys.readouterr().out
    assert "consoles           2 files → 5 commands (web/src/Console.tsx, web/src/help.ts)" in out
    assert "left out:" in out
    assert main(["search", "seal", "--project", str(root), "--mode", "fast"]) == 0
    assert "It does seal" in capsys.readouterr().out


def test_update_proposes_and_changes_nothing_unasked(tmp_path, capsys):
    root = written(tmp_path, {"README.md": "# Depot\n"})
    assert main(["init", "--no-build", str(root)]) == 0
    before = (root / "syntropy.toml").read_text()
    written(root, {"tools/depot.py": FILES["tools/depot.py"]})
    capsys.readouterr()
    assert main(["init", "--update", str(root)]) == 0
    assert 'command_lines = ["/tools/depot.py"]' in capsys.readouterr().out
    assert (root / "syntropy.toml").read_text() == before
    assert main(["init", "--update", "--yes", str(root)]) == 0
    assert load_config(root).sources.command_lines == ("/tools/depot.py",)
    assert len((root / "syntropy.toml").read_text().splitlines()) == len(before.splitlines())
    capsys.readouterr()
    assert main(["init", "--update", str(root)]) == 0
    assert "takes everything" in capsys.readouterr().out


def test_update_keeps_what_a_user_wrote(tmp_path):
    text = "# mine\n[project]\nname = 'x'\n\n[sources] # here\nrules = ['a']\n# consoles = []  # none\n[embed]\nenabled = false\n"
    changed = updated_config(text, {"consoles": ("/a.ts",), "openapi": ("/b.yaml",)})
    assert tomllib.loads(changed) == {
        "project": {"name": "x"},
        "sources": {"rules": ["a"], "consoles": ["/a.ts"], "openapi": ["/b.yaml"]},
        "embed": {"enabled": False},
    }
    assert changed.startswith("# mine\n")
    assert tomllib.loads(updated_config("", {"consoles": ("/a.ts",)})) == {"sources": {"consoles": ["/a.ts"]}}
    with pytest.raises(UsageError, match="not changed"):
        updated_config("[sources]\nconsoles = [\n 'a',\n]\n", {"consoles": ("/a.ts",)})


def test_a_project_without_a_configuration_cannot_be_updated(tmp_path):
    assert main(["init", "--update", str(tmp_path)]) == 2
    assert not Path(tmp_path / "syntropy.toml").exists()


def test_a_description_may_refer_to_files_above_its_folder(tmp_path):
    (tmp_path / "api").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "api/v1.yaml").write_text("openapi: 3.0.0\npaths:\n  /racks: {$ref: '../shared/racks.yaml'}\n")
    (tmp_path / "shared/racks.yaml").write_text("get: {summary: Lists racks, responses: {}}\n")
    found = {f.source: f.files for f in detect(tmp_path, SourcesConfig(), []).found}
    assert set(found["openapi"]) == {"api/v1.yaml", "shared/racks.yaml"}
