"""Command lines of TypeScript projects, by the library that reads them."""

import pytest

from pipeline.formats import script_cli


def commands(text, path="src/cli.ts"):
    found = script_cli.pages(text, path)
    return [(_field(p.text, "title"), _field(p.text, "summary")) for p in found.pages]


def _field(text, name):
    return next((line.partition(": ")[2] for line in text.splitlines() if line.startswith(f"{name}: ")), "")


SOURCES = {
    "commander": """
      import { Command } from 'commander';
      const program = new Command();
      program.name('depot').description('Runs a depot');
      program.command('add <bin> [rack]').alias('a').description('Adds a bin').option('-f, --force', 'Even if full').action(run);
      const rack = program.command('rack').description('Racks');
      rack.command('drop <id>').description('Drops a rack').action(run);
    """,
    "commander, added": """
      const { Command } = require('commander');
      const add = new Command('add').argument('<bin>').argument('[rack]').description('Adds a bin').option('-f, --force', 'x');
      function makeRack() {
        const rack = new Command('rack');
        rack.command('drop <id>').description('Drops a rack');
        return rack;
      }
      const program = new Command().name('depot');
      program.addCommand(add);
      program.addCommand(makeRack());
    """,
    "yargs": """
      import yargs from 'yargs';
      yargs(process.argv).scriptName('depot')
        .command('add <bin> [rack]', 'Adds a bin', (y) => y.option('force', { alias: 'f', describe: 'Even if full' }), run)
        .command('rack', 'Racks', (y) => y.command({ command: 'drop <id>', describe: 'Drops a rack', handler: run }))
        .demandCommand().parse();
    """,
    "cac": """
      import { cac } from 'cac';
      const cli = cac('depot');
      cli.command('add <bin> [rack]', 'Adds a bin').option('--force', 'Even if full').action(run);
      cli.command('rack drop <id>', 'Drops a rack').action(run);
      cli.parse();
    """,
    "citty": """
      import { defineCommand } from 'citty';
      const drop = defineCommand({ meta: { name: 'drop', description: 'Drops a rack' }, args: { id: { type: 'positional', required: true } } });
      export default defineCommand({ meta: { name: 'depot' }, subCommands: {
        add: defineCommand({ meta: { description: 'Adds a bin' }, args: { bin: { type: 'positional', required: true }, rack: { type: 'positional' }, force: { type: 'boolean', alias: 'f' } } }),
        rack: defineCommand({ subCommands: { drop } }),
      } });
    """,
}


@pytest.mark.parametrize("library", SOURCES)
def test_the_same_commands_in_every_library(library):
    assert commands(SOURCES[library]) == [
        ("depot add <bin> [rack] [options]", "Adds a bin"),
        ("depot rack drop <id>", "Drops a rack"),
    ]


def test_options_and_aliases_are_told():
    page = script_cli.pages(SOURCES["commander"], "src/cli.ts").pages[0]
    assert "`-f, --force`" in page.text
    assert "Even if full" in page.text
    assert "- depot a\n" in page.text


def test_a_default_command_is_the_program():
    text = "import { cac } from 'cac'; const cli = cac('depot'); cli.command('[root]', 'Opens the depot').option('--port <n>', 'Port');"
    assert commands(text) == [("depot [root] [options]", "Opens the depot")]


def test_oclif_names_a_command_by_its_file():
    text = """
      import { Args, Command, Flags } from '@oclif/core';
      export default class Drop extends Command {
        static description = 'Drops a rack';
        static aliases = ['rack:rm'];
        static args = { id: Args.string({ description: 'Which one', required: true }) };
        static flags = { force: Flags.boolean({ char: 'f', description: 'Even if full' }) };
        async run() {}
      }"""
    assert commands(text, "src/commands/rack/drop.ts") == [("rack drop <id> [options]", "Drops a rack")]
    assert (
        commands(
            text.replace("static description", "static hidden = true; static description"), "src/commands/rack/drop.ts"
        )
        == []
    )


def test_clipanion_names_it_by_its_paths():
    text = """
      import { Command, Option } from 'clipanion';
      class Drop extends Command {
        static paths = [['rack', 'drop'], ['rd']];
        static usage = Command.Usage({ description: 'Drops a rack' });
        force = Option.Boolean('-f,--force', false, { description: 'Even if full' });
      }"""
    assert commands(text) == [("rack drop [options]", "Drops a rack"), ("rd [options]", "Drops a rack")]


def test_a_yargs_module_says_it_in_exports():
    text = "export const command = ['drop <id>', 'rm'];\nexport const describe = 'Drops a rack';\nexport const handler = run;"
    assert commands(text, "src/commands/rack/drop.ts") == [("rack drop <id>", "Drops a rack")]


@pytest.mark.parametrize(
    "text",
    [
        "import { Telegraf } from 'telegraf'; bot.command('start', run);",
        "import { Command } from 'commander'; redis.call('x');",
        "class A extends Component { static description = 'x'; }",
        "const x = (",
    ],
)
def test_what_is_no_command_line(text):
    assert commands(text) == []


def test_commands_that_hold_each_other_end():
    text = "import { Command } from 'commander'; const a = new Command('a'); const b = new Command('b'); a.addCommand(b); b.addCommand(a);"
    assert len(commands(text)) <= 2


@pytest.mark.parametrize(
    "text",
    [
        "import { Command } from 'commander';\nnew Command().command('x').alias().aliases().option().description();",
        "import { Command } from 'clipanion';\nclass A extends Command { static paths = PATHS; static usage = 5; }",
        "import yargs from 'yargs';\nyargs().command().command([]).command({}).options(5).usage();",
        "import { defineCommand } from 'citty';\ndefineCommand({ meta: 5, args: 5, subCommands: x });",
        "import { Command } from '@oclif/core';\nexport class A extends Command { static flags = 5; static args = []; static id = 5 }",
    ],
)
def test_what_a_program_computes_is_left_out(text):
    script_cli.pages(text, "src/commands/a.ts")


def test_a_long_chain_of_other_calls_is_followed_once():
    text = (
        "import { Command } from 'commander';\nload()" + ".then(() => go())" * 1200 + ";\nnew Command().command('add');"
    )
    calls = script_cli._chain
    followed = []
    script_cli._chain = lambda node: followed.append(1) or calls(node)
    try:
        assert [title for title, _ in commands(text)] == ["add"]
    finally:
        script_cli._chain = calls
    assert len(followed) < 5000


def test_aliases_do_not_multiply_without_bound():
    names = ["".join(f"|{w}{n}" for n in range(12)).strip("|") for w in "abcd"]
    text = "import { Command } from 'commander';\nconst program = new Command();\n"
    holder = "program"
    for n, name in enumerate(names):
        text += f"const c{n} = {holder}.command('{name.split('|')[0]}').aliases({name.split('|')[1:]});\n"
        holder = f"c{n}"
    (page,) = script_cli.pages(text, "a.ts").pages
    assert page.text.count("\n- ") < 100
