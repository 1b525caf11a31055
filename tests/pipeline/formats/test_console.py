"""Every command of a console's source is found, and nothing else is taken for one."""

import json

import pytest

from pipeline.formats import console
from pipeline.formats.console import command_words
from pipeline.formats.console import read_commands as read_parsed
from pipeline.formats.typescript import parse
from tests.conftest import DATA, ROOT


def read_commands(text, path):
    return read_parsed(parse(text, path))


FIXTURES = ROOT / "tests" / "fixtures" / "formats"
SOURCE = "helios/DeveloperConsole.tsx"


def test_the_demo_console_equals_the_hand_made_list():
    expected = json.loads((FIXTURES / "console-commands.json").read_text())["commands"]
    found, orphans = read_commands((ROOT / "examples/acme" / SOURCE).read_text(), SOURCE)
    commands = {" ".join(c.words): c for c in found}
    assert sorted(commands) == sorted(e["command"] for e in expected)
    for entry in expected:
        command = commands[entry["command"]]
        assert sorted(" ".join(a) for a in command.aliases) == sorted(entry["aliases"])
        if entry["usage"]:
            assert command.usage == entry["usage"].removeprefix("Usage: ")
    assert orphans == []
    assert commands["helios gw users list"].description == "List all users from the synced directory"


def commands_of(body, before=""):
    text = before + "function run(args: string[]) {\n" + body + "\n}\n"
    return {" ".join(c.words): c for c in read_commands(text, "a.ts")[0]}


def test_nested_switches_and_default_cases():
    found = commands_of("""
      switch (args[0]) {
        case 'a': switch (args[1]) { case 'b': x(); break; case 'c': y(); break; default: z(); }
          break;
        default: print('Unknown');
      }""")
    assert list(found) == ["a b", "a c"]


def test_aliases_multiply_along_the_path():
    found = commands_of("""
      switch (args[0]) {
        case 'sig': case 'signature':
          switch (args[1]) { case 'rm': case 'delete': go(); }
      }""")
    assert sorted(" ".join(a) for a in found["sig rm"].aliases) == ["sig delete", "signature delete", "signature rm"]


def test_if_chains_with_alternatives():
    found = commands_of("if (args[0] === 'up' || args[0] === 'u') { a(); } else if (args[0] === 'down') { b(); }")
    assert sorted(found) == ["down", "up"]
    assert found["up"].aliases == [("u",)]


def test_folded_and_destructured_words():
    text = """
      const run = async (line: string) => {
        const parts = line.trim().split(/\\s+/);
        const [verb, ...rest] = parts;
        switch (verb.toLowerCase()) { case 'go': move(rest); break; case 'stop': halt(); }
      };"""
    assert [c.words for c in read_commands(text, "a.ts")[0]] == [("go",), ("stop",)]


@pytest.mark.parametrize(
    "text",
    [
        "function f(event: KeyboardEvent) { switch (event.key) { case 'Enter': go(); } }",
        "function r(state, action) { switch (action.type) { case 'add': return 1; } }",
        "const [state, setState] = useState('x'); switch (state) { case 'x': go(); }",
        "function f(args: string[]) { if (args[1] === '--all') { go(); } }",
        "",
        "function (((",
    ],
)
def test_what_is_no_command(text):
    assert read_commands(text, "a.tsx")[0] == []


def test_handlers_that_call_each_other_end():
    text = """
      function a(args: string[]) { switch (args[0]) { case 'x': b(args.slice(1)); } }
      function b(args: string[]) { switch (args[0]) { case 'y': a(args.slice(1)); break; case 'z': go(); } }"""
    assert ("x", "z") in {c.words for c in read_commands(text, "a.ts")[0]}


def test_a_help_table_that_names_no_handler_is_reported():
    text = """
      const HELP = { 'app run': 'Runs it', 'app gone now': 'Was here once' };
      function f(args: string[]) { switch (args[0]) { case 'app': switch (args[1]) { case 'run': go(); } } }"""
    found = console.pages(text, "a.ts")
    assert [p.id for p in found.pages] == ["cmd-app-run"]
    assert [(p.code, "app gone now" in p.message) for p in found.problems] == [("gone-command", True)]


def test_pages_say_where_they_come_from():
    found = console.pages((ROOT / "examples/acme" / SOURCE).read_text(), SOURCE)
    page = next(p for p in found.pages if p.id.startswith("cmd-helios-gw-users-delete"))
    assert f"source: auto:{SOURCE}" in page.text
    assert "helios gw users rm" in page.text


def test_command_words():
    assert command_words("helios gw users get <email> --x") == ("helios", "gw", "users", "get")
    assert command_words("help") == ("help",)


@pytest.mark.corpora
def test_nothing_breaks_on_real_sources():
    if not DATA.is_dir():
        pytest.skip("no ../shared/data")
    for path in list(DATA.glob("corpora/**/*.ts*"))[:200]:
        if path.suffix in (".ts", ".tsx"):
            console.pages(path.read_text(errors="replace"), path.name)


STYLES = {
    "first word of a line": "const cmd = input.trim().split(' ')[0]; if (cmd === 'one' || cmd === 'uno') { a(); } else if (cmd === 'two') { b(); }",
    "split in the switch": "switch (line.split(' ')[0]) { case 'one': a(); break; case 'two': b(); }",
    "at": "const t = line.split(' '); const head = t.at(0); switch (head?.toLowerCase()) { case 'one': a(); break; case 'two': b(); }",
    "reversed": "const [cmd] = line.split(' '); if ('one' === cmd) { a(); } else if (['two', 'zwei'].includes(cmd)) { b(); }",
    "an object of handlers": "const handlers = { one: (a) => go(a), two() { stop(); } }; function run(args: string[]) { handlers[args[0]]?.(args); }",
}


@pytest.mark.parametrize("style", STYLES)
def test_styles(style):
    text = STYLES[style] if style.startswith("an object") else f"function run(line: string) {{ {STYLES[style]} }}"
    assert [c.words for c in read_commands(text, "a.ts")[0]] == [("one",), ("two",)]


def test_handlers_in_class_fields():
    text = """
      class Shell {
        run(args: string[]) { switch (args[0]) { case 'group': return this.handle(args.slice(1)); } }
        handle = async (args: string[]) => { const [verb] = args; switch (verb) { case 'add': go(); break; case 'drop': stop(); } }
      }"""
    assert [c.words for c in read_commands(text, "a.ts")[0]] == [("group", "add"), ("group", "drop")]


def test_a_syntax_error_is_reported():
    found = console.pages("function f(args: string[]) { switch (args[0]) { case 'a': go(); } }\nconst = ;\n", "a.ts")
    assert "typescript-syntax" in [p.code for p in found.problems]
    assert [p.id for p in found.pages] == ["cmd-a"]
