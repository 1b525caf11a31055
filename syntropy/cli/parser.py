"""The commands, their options and their help, in one table of argparse calls."""

from __future__ import annotations

import argparse
import difflib
from typing import Any

from syntropy.cli.agent_parser import add_agent_commands
from syntropy.cli.memory_parser import add_memory_commands

_MODES = ("auto", "fast", "semantic", "hybrid")
_SOURCES = ("patterns", "prps", "memories", "rules", "docs", "entries", "entities", "terms")


class Parser(argparse.ArgumentParser):
    """Errors name the nearest choice, and a group of verbs lists them."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(str(value), names, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(names)}"
            raise argparse.ArgumentError(action, f"unknown: {value!r}; {hint}")


_READING = frozenset(
    {
        "search",
        "doc",
        "section",
        "drift",
        "verify",
        "eval",
        "build",
        "status",
        "init",
        "problems",
        "dev",
        "doctor",
        "schema",
    }
)


def build_parser(version: str, command: str = "") -> argparse.ArgumentParser:
    """The whole parser. `run` names module.function of `syntropy.cli` that does the work.

    For a `command` that needs none of them the 35 verbs of packages, notes and agents are left out (10 ms).
    """
    parser = Parser(
        prog="syntropy",
        description="One prebuilt search database over everything a team knows.",
        epilog='Start with `syntropy init` in a project, then `syntropy search "…"`.',
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"syntropy {version}")
    commands = parser.add_subparsers(metavar="COMMAND")

    init = _command(
        commands,
        "init",
        "building.init",
        "Write syntropy.toml for a project and build it.",
        "syntropy init ~/work/parcel",
    )
    init.add_argument("path", nargs="?", default=".", metavar="PATH", help="the project's folder (default: here)")
    init.add_argument("--no-build", action="store_true", help="only write the configuration")
    init.add_argument("--wait", action="store_true", help="publish once, when vectors are made")
    init.add_argument("--hooks", action="store_true", help="also rebuild after each commit (git hooks)")

    build = _command(commands, "build", "building.build", "Build and publish what changed.", "syntropy build --dry-run")
    build.add_argument("--project", metavar="PATH", help="project to build (default: the one around this folder)")
    build.add_argument("--out", metavar="DIR", default="", help="folder of the artifacts (default: paths.out)")
    build.add_argument(
        "--full", action="store_true", help="ignore all caches: extract, chunk and embed everything again"
    )
    build.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    build.add_argument("--hnsw", choices=("auto", "always", "never"), help="overrides store.hnsw")
    build.add_argument("--no-embeddings", action="store_true", help="lexical search only (embed.enabled = false)")
    build.add_argument("--strict", action="store_true", help="exit with 1 if there are warnings")
    build.add_argument(
        "--wait",
        action="store_true",
        help="publish once, when vectors are made (the default in CI and without a terminal)",
    )
    build.add_argument("-v", "--verbose", action="store_true", help="show how long each step took")
    build.add_argument("--quiet", action="store_true", help="print problems only")
    _json(build)

    status = _command(
        commands, "status", "building.status", "Show the last build, staleness and problems.", "syntropy status"
    )
    status.add_argument("--project", metavar="PATH", help="project (default: the one around this folder)")
    status.add_argument("--out", metavar="DIR", default="", help="folder of the artifacts (default: paths.out)")
    _json(status)

    problems = _reader(
        commands,
        "problems",
        "reporting.problems",
        "List what the build found wrong, worst first.",
        "syntropy problems --code dangling-reference",
    )
    problems.add_argument("--code", action="append", default=[], dest="codes", help="only this code; may be repeated")
    problems.add_argument("--path", metavar="GLOB", default="", help="only below this folder, or paths that match")
    problems.add_argument("--info", action="store_true", help="also mere information")
    problems.add_argument("--ignored", action="store_true", help="also what problems.ignore leaves out")
    problems.add_argument("--sarif", action="store_true", help="a SARIF 2.1.0 log, for code scanning")
    problems.add_argument("--github", action="store_true", help="annotations for a GitHub workflow")

    dev = _command(commands, "dev", "building.dev", "Open the Dagster UI on the project.", "syntropy dev --port 3001")
    dev.add_argument("--project", metavar="PATH", help="project (default: the one around this folder)")
    dev.add_argument("--out", metavar="DIR", default="", help="folder of the artifacts (default: paths.out)")
    dev.add_argument("--host", default="127.0.0.1", help="address to listen at")
    dev.add_argument("--port", type=int, default=3000, help="port to listen at")

    doctor = _command(
        commands,
        "doctor",
        "examining.doctor",
        "Check the installation, the project and its readers.",
        "syntropy doctor",
    )
    doctor.add_argument("--project", metavar="PATH", help="project (default: the one around this folder)")
    _json(doctor)

    completion = _command(
        commands, "completion", "shell.completion", "Print completions for a shell.", "syntropy completion bash"
    )
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")
    _command(commands, "schema", "shell.schema", "Print the JSON Schema of syntropy.toml.", "syntropy schema")

    search = _reader(
        commands, "search", "reading.search", "Find passages.", 'syntropy search "retry failed webhooks" --source prps'
    )
    search.add_argument(
        "query", metavar="QUERY", nargs="+", help='words, an identifier, a question; "quoted words" stand together'
    )
    search.add_argument(
        "--mode",
        choices=_MODES,
        default="",
        help="fast: BM25; semantic: vectors; hybrid: both; auto: by the query (default: search.mode, which is hybrid)",
    )
    search.add_argument(
        "--source",
        action="append",
        choices=_SOURCES,
        default=[],
        dest="sources",
        help="only this source; may be repeated",
    )
    search.add_argument(
        "--kind",
        action="append",
        default=[],
        dest="kinds",
        help="only this kind (prp, pattern, rule, …); may be repeated",
    )
    search.add_argument(
        "--scope", choices=("system", "user"), default="", help="only framework or only project documents"
    )
    search.add_argument(
        "--package", action="append", default=[], dest="packages", help="only this package; may be repeated"
    )
    search.add_argument("--tag", action="append", default=[], dest="tags", help="with this tag (or another one given)")
    search.add_argument(
        "--all-tags", action="append", default=[], metavar="TAG", help="with this tag and all others given so"
    )
    search.add_argument("--path", metavar="GLOB", default="", help="only paths that match, e.g. 'docs/*'")
    search.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="only where the frontmatter says so, e.g. status=executed; may be repeated",
    )
    search.add_argument("--since", metavar="DATE", default="", help="only documents dated then or later (YYYY-MM-DD)")
    search.add_argument("--until", metavar="DATE", default="", help="only documents dated then or earlier")
    search.add_argument("--per-document", type=int, metavar="N", help="hits one document may take; 0: no cap")
    search.add_argument("--neighbors", type=int, default=0, metavar="N", help="also show N chunks around each hit")
    search.add_argument("--no-synonyms", action="store_true", help="look up the words themselves only")
    search.add_argument("--profile", choices=("measured", "nocaap"), default="", help="how rankings are fused")
    search.add_argument("--no-notes", action="store_true", help="leave out fresh insights and notes")
    search.add_argument(
        "--format", choices=("text", "md", "json"), default="", help="text (default), Markdown, or JSON (as --json)"
    )
    search.add_argument("--explain", action="store_true", help="show each signal's rank, score and contribution")
    search.add_argument("-n", "--limit", type=int, help="number of hits (default: search.limit)")
    search.add_argument("--threshold", type=float, help="leave out hits with a lower score (0-1)")

    doc = _reader(
        commands, "doc", "reading.doc", "Print a document, or some of its lines.", "syntropy doc PRP-29.3 --lines 10-20"
    )
    doc.add_argument("path", metavar="PATH", help="path, citation (path#L3-L9) or unique key")
    doc.add_argument("--lines", metavar="A-B", help="only these lines, from 1")
    doc.add_argument("--scope", choices=("system", "user"), default="", help="system: the path starts below .ce/")

    section = _reader(
        commands,
        "section",
        "reading.section",
        "Print the section under a heading.",
        'syntropy section docs/faq.md "Tracking"',
    )
    section.add_argument("path", metavar="PATH", help="path or unique key")
    section.add_argument("heading", metavar="HEADING", help="its text, anchor or a part of it")

    evaluation = _reader(
        commands,
        "eval",
        "evaluating.run",
        "Measure retrieval quality on golden queries.",
        "syntropy eval questions.jsonl --misses",
    )
    evaluation.add_argument(
        "queries", nargs="?", metavar="QUERIES.jsonl", help="golden queries (default: those of eval.queries)"
    )
    evaluation.add_argument("--mode", action="append", choices=_MODES, dest="modes", help="only this mode")
    evaluation.add_argument("--baseline", metavar="FILE", help="stored figures to compare with")
    evaluation.add_argument("--save", action="store_true", help="store the figures as the baseline")
    evaluation.add_argument("--misses", action="store_true", help="show what was expected and what came, and why")

    rules = _reader(commands, "rules", "reading.rules", "List rules.", "syntropy rules --severity forbidden")
    rules.add_argument("--scope", choices=("system", "user"), default="", help="only framework or only project rules")
    rules.add_argument("--severity", choices=("mandatory", "forbidden", "advisory"), default="", help="only these")

    if command not in _READING:
        _package_commands(commands)
        add_memory_commands(commands, rules)
        add_agent_commands(commands, _reader)
    _reader(commands, "drift", "reading.drift", "Show drift: claims that do not hold.", "syntropy drift")
    _reader(
        commands,
        "verify",
        "reading.verify",
        "Check every artifact against the manifest.",
        "syntropy verify --out build",
    )
    return parser


def _package_commands(commands: argparse._SubParsersAction[Any]) -> None:
    text = "Install, update and publish context packages (folders of other repositories)."
    package = _command(commands, "package", "", text, "syntropy package list")
    package.set_defaults(group=package)
    verbs = package.add_subparsers(metavar="VERB")

    def verb(name: str, about: str, example: str) -> argparse.ArgumentParser:
        parser = _command(verbs, name, f"packaging.{name}", about, f"syntropy package {example}")
        parser.add_argument("--project", metavar="PATH", help="project (default: the one around this folder)")
        return parser

    setup = verb("setup", "Choose packages from a registry.", "setup registry.json --yes")
    setup.add_argument("registry", nargs="?", metavar="REGISTRY", help="file, https address or git repository")
    setup.add_argument("--yes", action="store_true", help="install all that can be read, without asking")
    setup.add_argument("--select", metavar="NAMES", default="", help="install these, separated by commas")
    add = verb("add", "Install a package.", "add git@github.com:acme/hub.git --path docs/api")
    add.add_argument("url", metavar="URL", help="git address: https or ssh")
    add.add_argument("--path", default="", metavar="FOLDER", help="only this folder of the repository")
    add.add_argument("--alias", default="", help="its name here (default: from the address)")
    add.add_argument("--version", default="", metavar="REF", help="branch, tag or commit (default: HEAD)")
    verb("install", "Put packages into place as they are locked (in a fresh clone).", "install")
    update = verb("update", "Bring packages up to date.", "update engineering")
    update.add_argument("alias", nargs="*", metavar="ALIAS", help="only these (default: all)")
    update.add_argument("--force", action="store_true", help="fetch again even what has not moved")
    _json(verb("list", "List packages.", "list --json"))
    remove = verb("remove", "Delete a package.", "remove engineering")
    remove.add_argument("alias", metavar="ALIAS", help="its name here")
    remove.add_argument("--force", action="store_true", help="even if it holds local changes")
    push = verb("push", "Publish local changes as a branch.", 'push engineering -m "Mend the setup guide"')
    push.add_argument("alias", metavar="ALIAS", help="its name here")
    push.add_argument("-m", "--message", required=True, help="what changed")


def _command(
    commands: argparse._SubParsersAction[Any],
    name: str,
    run: str,
    text: str,  # type: ignore[type-arg,unused-ignore]
    example: str,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, epilog=f"example: {example}", allow_abbrev=False
    )
    parser.set_defaults(run=run)
    return parser


def _reader(
    commands: argparse._SubParsersAction[Any],
    name: str,
    run: str,
    text: str,  # type: ignore[type-arg,unused-ignore]
    example: str,
) -> argparse.ArgumentParser:
    """A command that reads published knowledge: all of them say in the same way from where."""
    parser = _command(commands, name, run, text, example)
    parser.add_argument("--project", metavar="PATH", help="project (default: the one around this folder)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", metavar="DIR", help="a folder of artifacts (default: the project's)")
    where.add_argument("--db", metavar="FILE", help="a database file")
    _json(parser)
    return parser


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="machine-readable output")
