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


BINDINGS = {
    "a default word": "const verb = args[0] || 'one'; switch (verb) { case 'one': a(); break; case 'two': b(); }",
    "a nullish default": "const verb = args[0] ?? 'one'; switch (verb) { case 'one': a(); break; case 'two': b(); }",
    "a conditional": "const verb = args.length ? args[0] : 'one'; switch (verb) { case 'one': a(); break; case 'two': b(); }",
    "a shifted list": "const verb = args.shift(); switch (verb) { case 'one': a(); break; case 'two': b(); }",
    "a case that falls into the default": "switch (args[0]) { case 'two': b(); break; case 'one': default: a(); }",
    "a test beside another": "if (args[0] === 'one' && args.length > 1) { a(); } else if (args[0] === 'two') { b(); }",
    "a map of handlers": "const m = new Map([['one', a], ['two', b]]); m.get(args[0])?.();",
    "rows that are searched": "const rows = [{ name: 'one', run: a }, { name: 'two', run: b }]; rows.find(r => r.name === args[0])?.run();",
    "an argument vector": "const v = process.argv.slice(2); switch (v[0]) { case 'one': a(); break; case 'two': b(); }",
}


@pytest.mark.parametrize("binding", BINDINGS)
def test_every_way_to_bind_a_word(binding):
    text = f"function run(args: string[]) {{ {BINDINGS[binding]} }}"
    assert sorted(c.words for c in read_commands(text, "a.ts")[0]) == [("one",), ("two",)]


def test_a_trimmed_line_is_compared_and_then_split():
    text = """
      const submit = (typed: string) => {
        const line = typed.trim();
        if (line === 'help') { show(); } else if (line.startsWith('depot ')) { depot(line); }
      };
      const depot = (line: string) => {
        const parts = line.split(' ');
        parts.shift();
        switch (parts[0]) { case 'open': open(parts.slice(1)); break; case 'shut': shut(); }
      };"""
    found = {c.words: c.aliases for c in read_commands(text, "a.ts")[0]}
    assert found == {("help",): [], ("open",): [("depot", "open")], ("shut",): [("depot", "shut")]}


def test_a_handler_is_given_a_word_under_another_name():
    text = """
      function run(args: string[]) {
        const what = args[0];
        const verb = args[1] || 'list';
        const rest = args.slice(2);
        switch (what) { case 'bins': bins(verb, rest); break; case 'racks': racks(verb, rest); }
      }
      const bins = async (action: string, given: string[]) => {
        switch (action) { case 'list': a(); break; case 'drop': b(); break; default: print('Unknown'); }
      };
      const racks = async (action: string, given: string[]) => { switch (action) { case 'list': default: a(); } };"""
    words = {c.words for c in read_commands(text, "a.ts")[0]}
    assert words == {("bins", "list"), ("bins", "drop"), ("racks", "list")}


def test_a_handler_called_with_a_spelled_out_word_does_only_that():
    text = """
      function run(args: string[]) { switch (args[0]) { case 'make': word(['new', ...args.slice(1)]); break; case 'word': word(args.slice(1)); } }
      function word(args: string[]) { switch (args[0]) { case 'new': a(); break; case 'old': b(); } }"""
    assert {c.words for c in read_commands(text, "a.ts")[0]} == {("make",), ("word", "new"), ("word", "old")}


def test_a_list_of_words_that_only_prepares_is_no_command():
    text = """
      function run(line: string) {
        const first = line.split(' ')[0];
        let whole = line;
        if (['bins', 'racks'].includes(first)) { whole = `depot ${line}`; }
        switch (first) { case 'bins': go(); break; case 'racks': stop(); }
      }"""
    found = {c.words: c.aliases for c in read_commands(text, "a.ts")[0]}
    assert found == {("bins",): [], ("racks",): []}


def test_what_is_split_within_a_case_is_a_parameter():
    text = """
      function run(args: string[]) {
        switch (args[0]) {
          case 'find': {
            const [field, ...values] = args[1].split(':');
            switch (field) { case 'name': a(); break; case 'size': b(); }
          }
        }
      }"""
    assert [c.words for c in read_commands(text, "a.ts")[0]] == [("find",)]


HELP = """
  export const Help = () => (
    <table><tbody>
      <tr><td className="name">bins drop &lt;id&gt;</td><td>Takes a bin off the floor</td></tr>
      <tr><td className="name">bins paint &lt;id&gt;</td><td>Gives it a colour</td></tr>
    </tbody></table>);
"""


def test_help_in_jsx_describes_and_reports_what_is_gone():
    body = "function run(args: string[]) { switch (args[0]) { case 'bins': switch (args[1]) { case 'drop': a(); } } }"
    commands, gone = read_commands(body + HELP, "a.tsx")
    assert [(c.words, c.description, c.usage) for c in commands] == [
        (("bins", "drop"), "Takes a bin off the floor", "bins drop <id>")
    ]
    assert [words for words, _ in gone] == ["bins paint"]


def test_help_of_another_file_describes_the_commands():
    body = "function run(args: string[]) { switch (args[0]) { case 'bins': switch (args[1]) { case 'drop': a(); } } }"
    shared = console.gather([(body, "run.ts"), (HELP, "help.tsx")])
    page = console.pages(body, "run.ts", shared).pages[0]
    assert "summary: Takes a bin off the floor" in page.text
    told = console.pages(HELP, "help.tsx", shared)
    assert [p.code for p in told.problems] == ["gone-command"]


def test_printed_help_and_comments_describe_what_no_table_does():
    text = """
      function run(args: string[]) { switch (args[0]) { case 'scan': scan(args); break; case 'load': load(args); break; case 'wipe': wipe(args); } }
      const show = () => print(`Commands:\\n  scan <dock>    Looks at a dock\\n`);
      // ===== LOAD A TRUCK =====
      const load = (args: string[]) => { print(args[1]); };
      const wipe = (args: string[]) => { print('Usage: wipe <dock>'); print('Cleans the dock for the next truck'); };"""
    found = {c.words[0]: c.description for c in read_commands(text, "a.ts")[0]}
    assert found == {
        "scan": "Looks at a dock",
        "load": "Load a truck",
        "wipe": "Cleans the dock for the next truck",
    }


def test_the_work_is_bounded():
    calls = "".join(
        f"function f{n}(a: string[]) {{ switch (a[0]) {{ case 'x': f{n + 1}(a.slice(1)); break; case 'y': f{n + 1}(a.slice(1)); }} }}\n"
        for n in range(40)
    )
    assert len(read_commands(calls, "a.ts")[0]) < 10_000


def test_tests_that_must_all_hold_fix_a_word_each():
    found = commands_of("""
        if ((args[0] === 'rack' || args[0] === 'r') && args[1] === 'drop' && args.length > 2) { drop(args[2]); }
        else if (args[0] === 'scan' && ready()) { scan(); }
    """)
    assert set(found) == {"rack drop", "scan"}
    assert found["rack drop"].aliases == [("r", "drop")]


def test_spellings_of_a_command_are_bounded():
    labels = " || ".join(f"args[{{}}] === 'w{n}'" for n in range(20))
    body = "go();"
    for place in reversed(range(5)):
        body = f"if ({labels.replace('{}', str(place))}) {{ {body} }}"
    (command,) = commands_of(body).values()
    assert command.words == ("w0",) * 5
    assert len(command.aliases) <= 64


def test_a_long_chain_of_functions_ends_soon():
    chain = "".join(f"function f{n}(line) {{ f{n + 1}(line); }}\n" for n in range(3000))
    text = chain + "function f3000(line) { const a = line.split(' '); if (a[0] === 'go') { go(); } }\n"
    assert [c.words for c in read_commands(text, "a.ts")[0]] == [("go",)]


def test_a_file_that_cannot_be_gathered_takes_no_other_with_it(monkeypatch):
    def broken(text, path):
        if path == "bad.ts":
            raise TypeError("anything")
        return parse(text, path)

    monkeypatch.setattr(console, "parse", broken)
    good = "function run(args: string[]) { if (args[0] === 'go') { go(); } }"
    assert console.gather([("", "bad.ts"), (good, "good.ts")]).known == {("go",)}
