"""The one table of commands: what each is called, what it takes, and which function does it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from syntropy.contract.budget import SESSION_TOKENS
from syntropy.contract.vocabulary import INSIGHT_RELATIONS

MODES = ("auto", "fast", "semantic", "hybrid")
_SOURCES = ("patterns", "prps", "memories", "rules", "docs", "entries", "entities", "terms")
_NOTE_TYPES = ("decision", "progress", "issue", "handoff", "insight", "reference", "checkpoint")
_TOOL_GROUPS = "knowledge, commands, graph, notes"
_CLIENTS = ("claude", "codex", "gemini", "cursor", "vscode", "zed", "windsurf", "opencode")
_FORMATS = ("openai", "anthropic", "json-schema")
_SEVERITIES = ("mandatory", "forbidden", "advisory")
_SCOPES = ("system", "user")
_NODE = "key, path or TK-001"

Where = Literal["", "project", "build", "reader", "notes"]
"""How a command says what it works on. project: --project; build: also --out; reader: also --out or --db; notes:
--project, --user or --notes."""


class Option(NamedTuple):
    """Arguments of one `add_argument`."""

    flags: tuple[str, ...]
    settings: dict[str, Any]


class Command(NamedTuple):
    """`name`: as typed; `run`: module.function below `syntropy.cli`; `example`: behind the program's name."""

    name: str
    run: str
    about: str
    example: str
    where: Where = ""
    options: tuple[Option, ...] = ()
    json: bool = False


def _option(*flags: str, **settings: Any) -> Option:
    return Option(flags, settings)


def _flag(*flags: str, **settings: Any) -> Option:
    return Option(flags, {"action": "store_true", **settings})


def _several(*flags: str, **settings: Any) -> Option:
    return Option(flags, {"action": "append", "default": [], **settings})


_LIMIT = _option("-n", "--limit", type=int, default=10, help="number of hits")
_BESIDE = _several(
    "--with",
    dest="beside",
    metavar="[NAME=]PLACE",
    help="also search this project, folder of artifacts or database; may be repeated",
)
_TOOLS = _option("--tools", default="", metavar="A,B", help=f"groups of tools: {_TOOL_GROUPS}")
_WORDS = _flag("--words", help="by words only")
_WAIT = _flag("--wait", help="publish once, when vectors are made")

COMMANDS: tuple[Command, ...] = (
    Command("init", "building.init", "Write syntropy.toml for a project and build it.", "init ~/work/parcel", options=(
        _option("path", nargs="?", default=".", metavar="PATH", help="the project's folder (default: here)"),
        _flag("--no-build", help="only write the configuration"),
        _flag("--update", help="say what has appeared that the configuration does not take; changes nothing"),
        _flag("--yes", help="with --update: write it into syntropy.toml"),
        _WAIT,
        _flag("--hooks", help="also rebuild after each commit (git hooks)"),
        _flag("--agent", help="make agents use it: a skill, a block in AGENTS.md, clients' entries, hooks; "
              "again: bring them up to date"),
        _several("--client", choices=_CLIENTS, dest="clients", help="with --agent: only this client; may be repeated"),
        _flag("--remove", help="with --agent: take all of it out again"),
    )),
    Command("build", "building.build", "Build and publish what changed.", "build --dry-run", "build", (
        _flag("--full", help="ignore all caches: extract, chunk and embed everything again"),
        _flag("--dry-run", help="say what would be done, and do nothing"),
        _option("--hnsw", choices=("auto", "always", "never"), help="overrides store.hnsw"),
        _flag("--no-embeddings", help="lexical search only (embed.enabled = false)"),
        _flag("--strict", help="exit with 1 if there are warnings"),
        _flag("--allow-missing", help="build without packages that are not there as locked"),
        _flag("--wait", help="publish once, when vectors are made (the default in CI and without a terminal)"),
        _flag("-v", "--verbose", help="show how long each step took"),
        _flag("--quiet", help="print problems only"),
    ), json=True),
    Command("status", "building.status", "Show the last build, staleness and problems.", "status", "build", json=True),
    Command(
        "problems", "reporting.problems", "List what the build found wrong, worst first.",
        "problems --code dangling-reference", "reader", (
            _several("--code", dest="codes", help="only this code; may be repeated"),
            _option("--path", metavar="GLOB", default="", help="only below this folder, or paths that match"),
            _flag("--info", help="also mere information"),
            _flag("--ignored", help="also what problems.ignore leaves out"),
            _flag("--sarif", help="a SARIF 2.1.0 log, for code scanning"),
            _flag("--github", help="annotations for a GitHub workflow"),
        ), json=True,
    ),
    Command("dev", "building.dev", "Open the Dagster UI on the project.", "dev --port 3001", "build", (
        _option("--host", default="127.0.0.1", help="address to listen at"),
        _option("--port", type=int, default=3000, help="port to listen at"),
    )),
    Command("doctor", "examining.doctor", "Check the installation, the project and its readers.", "doctor", "project",
            json=True),
    Command("completion", "shell.completion", "Print completions for a shell.", "completion bash", options=(
        _option("shell", choices=("bash", "zsh", "tcsh"), help="which shell"),
    )),
    Command("schema", "shell.schema", "Print the JSON Schema of syntropy.toml.", "schema"),
    Command("search", "searching.search", "Find passages.", 'search "retry failed webhooks" --source prps', "reader", (
        _option("query", metavar="QUERY", nargs="+",
                help='words, an identifier, a question; "quoted words" stand together'),
        _option("--mode", choices=MODES, default="", help="fast: BM25; semantic: vectors; hybrid: both; auto: by the "
                "query (default: search.mode, which is hybrid)"),
        _several("--source", choices=_SOURCES, dest="sources", help="only this source; may be repeated"),
        _several("--kind", dest="kinds", help="only this kind (prp, pattern, rule, …); may be repeated"),
        _option("--scope", choices=_SCOPES, default="", help="only framework or only project documents"),
        _several("--package", dest="packages", help="only this package; may be repeated"),
        _several("--tag", dest="tags", help="with this tag (or another one given)"),
        _several("--all-tags", metavar="TAG", help="with this tag and all others given so"),
        _option("--path", metavar="GLOB", default="", help="only paths that match, e.g. 'docs/*'"),
        _several("--where", metavar="KEY=VALUE",
                 help="only where the frontmatter says so, e.g. status=executed; may be repeated"),
        _BESIDE,
        _flag("--all-hits", help="show all hits of a question that has no answer here, not only the nearest"),
        _option("--category", default="", help="only entries of this category, or category/subcategory"),
        _option("--since", metavar="DATE", default="", help="only documents dated then or later (YYYY-MM-DD)"),
        _option("--until", metavar="DATE", default="", help="only documents dated then or earlier"),
        _option("--per-document", type=int, metavar="N", help="hits one document may take; 0: no cap"),
        _option("--neighbors", type=int, default=0, metavar="N", help="also show N chunks around each hit"),
        _flag("--no-synonyms", help="look up the words themselves only"),
        _option("--profile", choices=("measured", "nocaap"), default="", help="how rankings are fused"),
        _flag("--no-notes", help="leave out fresh insights and notes"),
        _option("--format", choices=("text", "md", "json"), default="",
                help="text (default), Markdown, or JSON (as --json)"),
        _flag("--explain", help="show each signal's rank, score and contribution"),
        _option("-n", "--limit", type=int, help="number of hits (default: search.limit)"),
        _option("--threshold", type=float, help="leave out hits with a lower score (0-1)"),
    ), json=True),
    Command("doc", "reading.doc", "Print a document, or some of its lines.", "doc PRP-29.3 --lines 10-20", "reader", (
        _option("path", metavar="PATH", help="path, citation (path#L3-L9) or unique key"),
        _option("--lines", metavar="A-B", help="only these lines, from 1"),
        _option("--scope", choices=_SCOPES, default="", help="system: the path starts below .ce/"),
        _BESIDE,
    ), json=True),
    Command("section", "reading.section", "Print the section under a heading.", 'section docs/faq.md "Tracking"',
            "reader", (
                _option("path", metavar="PATH", help="path or unique key"),
                _option("heading", metavar="HEADING", help="its text, anchor or a part of it"),
                _BESIDE,
            ), json=True),
    Command("eval", "evaluating.run", "Measure retrieval quality on golden queries.", "eval questions.jsonl --misses",
            "reader", (
                _option("queries", nargs="?", metavar="QUERIES.jsonl",
                        help="golden queries (default: those of eval.queries)"),
                Option(("--mode",), {"action": "append", "choices": MODES, "dest": "modes", "help": "only this mode"}),
                _option("--baseline", metavar="FILE", help="stored figures to compare with"),
                _flag("--save", help="store the figures as the baseline"),
                _flag("--misses", help="show what was expected and what came, and why"),
            ), json=True),
    Command("rules", "reading.rules", "List rules.", "rules --severity forbidden", "reader", (
        _option("--scope", choices=_SCOPES, default="", help="only framework or only project rules"),
        _option("--severity", choices=_SEVERITIES, default="", help="only these"),
    ), json=True),
    Command("rules save", "noting.rules_save", "Save a rule.",
            'rules save commits "Never use emoji in commit messages"', "notes", (
                _option("label", metavar="LABEL", help="short key; a rule of the same label is replaced"),
                _option("text", metavar="TEXT", help="the rule"),
            ), json=True),
    Command("rules delete", "noting.rules_delete", "Delete a saved rule.", "rules delete commits", "notes", (
        _option("label", metavar="LABEL", help="its key"),
    ), json=True),
    Command("rules list", "noting.rules_list", "Saved rules and those of the project's files.", "rules list", "notes",
            json=True),
    Command("package setup", "packaging.setup", "Choose packages from a registry.",
            "package setup registry.json --yes", "project", (
                _option("registry", nargs="?", metavar="REGISTRY", help="file, https address or git repository"),
                _flag("--yes", help="install all that can be read, without asking"),
                _option("--select", metavar="NAMES", default="", help="install these, separated by commas"),
            )),
    Command("package add", "packaging.add", "Install a package.",
            "package add git@github.com:acme/hub.git --path docs/api", "project", (
                _option("url", metavar="URL", help="git address: https or ssh"),
                _option("--path", default="", metavar="FOLDER", help="only this folder of the repository"),
                _option("--alias", default="", help="its name here (default: from the address)"),
                _option("--version", default="", metavar="REF", help="branch, tag or commit (default: HEAD)"),
            )),
    Command("package install", "packaging.install", "Put packages into place as they are locked (in a fresh clone).",
            "package install", "project"),
    Command("package update", "packaging.update", "Bring packages up to date.", "package update engineering", "project",
            (
                _option("alias", nargs="*", metavar="ALIAS", help="only these (default: all)"),
                _flag("--force", help="fetch again even what has not moved"),
            )),
    Command("package list", "packaging.list", "List packages.", "package list --json", "project", json=True),
    Command("package remove", "packaging.remove", "Delete a package.", "package remove engineering", "project", (
        _option("alias", metavar="ALIAS", help="its name here"),
        _flag("--force", help="even if it holds local changes"),
    )),
    Command("package push", "packaging.push", "Publish local changes as a branch.",
            'package push engineering -m "Fix the setup guide"', "project", (
                _option("alias", metavar="ALIAS", help="its name here"),
                _option("-m", "--message", required=True, help="what changed"),
            )),
    Command("insight add", "noting.insight_add", "Store an insight.",
            'insight add "Facade beats Extract Class here"', "notes", (
                _option("text", metavar="TEXT", help="what was learned"),
                _option("--for-project", default="", metavar="NAME", help="name of a project it belongs to"),
                _option("--tags", default="", metavar="A,B", help="tags, separated by commas"),
                _several("--link", metavar="IDS", help="entities it applies to; may be repeated"),
            ), json=True),
    Command("insight search", "noting.insight_search", "Find insights.", 'insight search "god class"', "notes", (
        _option("query", metavar="QUERY", help="any text"),
        _option("-n", "--limit", type=int, default=10, help="number of hits, at most 20"),
        _flag("--semantic", help="fail where there is no encoder (by default meaning counts where there is one)"),
        _WORDS,
        _flag("--superseded", help="also those that were replaced"),
    ), json=True),
    Command("insight confirm", "noting.insight_confirm", "Accept or reject links.",
            "insight confirm TK-001 --accept LAW-1", "notes", (
                _option("id", metavar="ID", help="e.g. TK-001"),
                _option("--accept", default="", metavar="IDS", help="links that hold"),
                _option("--reject", default="", metavar="IDS", help="links that do not"),
                _option("--merge", default="", metavar="ID", help="the insight that replaces this one"),
            ), json=True),
    Command("insight relate", "noting.insight_relate", "Relate an insight to another one, an entity or a document.",
            "insight relate TK-002 supports TK-001", "notes", (
                _option("id", metavar="ID", help="e.g. TK-002"),
                _option("type", choices=INSIGHT_RELATIONS, help="how"),
                _option("target", metavar="TARGET", help="an insight, entity or document"),
            ), json=True),
    Command("insight list", "noting.insight_list", "List insights.", "insight list", "notes", (
        _flag("--superseded", help="also those that were replaced"),
    ), json=True),
    Command("insight show", "noting.insight_show", "Show one insight.", "insight show TK-001", "notes", (
        _option("id", metavar="ID", help="e.g. TK-001"),
    ), json=True),
    Command("insight edit", "noting.insight_edit", "Change an insight.", 'insight edit TK-001 --text "…"', "notes", (
        _option("id", metavar="ID", help="e.g. TK-001"),
        _option("--text", default="", help="the new text"),
        _option("--tags", metavar="A,B", help="the new tags"),
    ), json=True),
    Command("insight delete", "noting.insight_delete", "Delete an insight.", "insight delete TK-001", "notes", (
        _option("id", metavar="ID", help="e.g. TK-001"),
    ), json=True),
    Command("notes save", "noting.notes_save", "Write a note.", 'notes save decision "We bound retries by time"',
            "notes", (
                _option("type", choices=_NOTE_TYPES, help="what it is"),
                _option("text", metavar="TEXT", help="the note"),
                _option("--for-project", default="", metavar="NAME", help="name of a project it belongs to"),
                _option("--tags", default="", metavar="A,B", help="tags, separated by commas"),
            ), json=True),
    Command("notes list", "noting.notes_list", "List notes.", "notes list --days 7 --type decision", "notes", (
        _option("--days", type=int, default=0, help="only of the last days"),
        _option("--type", choices=_NOTE_TYPES, default="", help="only this type"),
        _option("--for-project", default="", metavar="NAME", help="only of this project"),
        _flag("--archived", help="also archived ones"),
    ), json=True),
    Command("notes search", "noting.notes_search", "Find notes.", 'notes search "retries"', "notes", (
        _option("query", metavar="QUERY", help="any text"),
        _LIMIT,
        _WORDS,
    ), json=True),
    Command("notes edit", "noting.notes_edit", "Change or pin a note.", 'notes edit 12 --text "…" --pin', "notes", (
        _option("id", type=int, metavar="NUMBER", help="its number"),
        _option("--text", default="", help="the new text"),
        _option("--tags", metavar="A,B", help="the new tags"),
        _flag("--pin", help="keep it from ageing"),
        _flag("--unpin", help="let it age again"),
    ), json=True),
    Command("notes unarchive", "noting.notes_unarchive", "Show an archived note again.", "notes unarchive 12",
            "notes", (_option("id", type=int, metavar="NUMBER", help="its number"),), json=True),
    Command("notes archive", "noting.notes_archive", "Hide a note.", "notes archive 12", "notes", (
        _option("id", type=int, metavar="NUMBER", help="its number"),
    ), json=True),
    Command("notes export", "noting.notes_export", "All of it as JSON lines.", "notes export notes.jsonl", "notes", (
        _option("file", nargs="?", default="", metavar="FILE", help="default: standard output"),
    ), json=True),
    Command("notes import", "noting.notes_import", "Merge an export.", "notes import notes.jsonl", "notes", (
        _option("file", metavar="FILE", help="a file of `syntropy notes export`"),
    ), json=True),
    Command("graph entity", "walking.entity", "Show a node and its relations.", "graph entity RF-004", "notes", (
        _option("name", metavar="NAME", help=_NODE),
    ), json=True),
    Command("graph neighbors", "walking.neighbors", "What is near a node.", "graph neighbors SMELL-002 --depth 2",
            "notes", (
                _option("name", metavar="NAME", help=_NODE),
                _option("--type", default="", metavar="A,B", help="only these relations"),
                _option("--direction", choices=("out", "in", "both"), default="both", help="of the relations"),
                _option("--depth", type=int, default=1, help="steps, 1 to 10"),
            ), json=True),
    Command("graph path", "walking.path", "The shortest way between two nodes.", "graph path TK-001 SMELL-002", "notes",
            (
                _option("start", metavar="A", help=_NODE),
                _option("end", metavar="B", help=_NODE),
                _option("--max-depth", type=int, default=5, help="steps, 1 to 10"),
                _flag("--weighted", help="prefer sure relations"),
            ), json=True),
    Command("graph related", "walking.related", "Nodes with neighbours in common.", "graph related RF-004", "notes", (
        _option("name", metavar="NAME", help=_NODE),
        _option("-n", "--limit", type=int, default=10, help="number of nodes"),
    ), json=True),
    Command("session-start", "noting.session_start", "What an agent should know first.", "session-start", "notes", (
        _option("--budget", type=int, default=SESSION_TOKENS, metavar="TOKENS",
                help="size of it all; rules are never cut"),
        _flag("--map", help="also what the knowledge holds, how to ask it, and what it does not hold"),
    ), json=True),
    Command("grep-hint", "agent_setup.grep_hint", "Answer a broad grep with the better question (a hook).",
            "grep-hint < event.json", "project"),
    Command("serve", "agents.serve", "Serve the knowledge to agents (MCP).", "serve --project .", "reader", (
        _option("--tools", default="", metavar="A,B", help=f"groups of tools: {_TOOL_GROUPS} (default: serve.tools; "
                "without it, those there is something for)"),
        _BESIDE,
        _flag("--http", help="streamable HTTP on loopback instead of standard input"),
        _option("--host", default="127.0.0.1", help="loopback address for --http"),
        _option("--port", type=int, default=8365, help="port for --http"),
        _option("--print-config", choices=_CLIENTS, help="print the configuration for a client, and end"),
    ), json=True),
    Command("tools", "agents.tools", "Print the tools as function definitions.", "tools --format openai", "reader", (
        _option("--format", choices=_FORMATS, default="json-schema", help="whose function definitions"),
        _flag("--strict", help="schemas that constrained decoding takes: every argument required, or null"),
        _TOOLS,
    ), json=True),
    Command("chat", "agents.chat", "Ask a model that looks things up here.", 'chat "How do we retry?"', "reader", (
        _option("question", nargs="*", metavar="QUESTION", help="one question; without it, a conversation"),
        _option("--base-url", default="", metavar="URL", help="OpenAI-compatible endpoint (default: chat.base_url)"),
        _option("--model", default="", help="the model's name there (default: chat.model)"),
        _option("--tools", default="", metavar="A,B", help=f"groups of tools ({_TOOL_GROUPS}), or none"),
        _option("--page", default="", help="what you are looking at, for the model to know"),
        _option("--max-iterations", type=int, help="rounds of tool calls for one question"),
    ), json=True),
    Command("context", "agents.context", "Pack what to know for a task.", 'context "add a webhook"', "reader", (
        _option("task", nargs="+", metavar="TASK", help="what is to be done"),
        _option("--tokens", type=int, default=2_000, help="size of the pack, 200 to 100000"),
        _several("--file", dest="files", metavar="PATH", help="a file it is about: brings the rules for it"),
    ), json=True),
    Command("cite", "agents.cite", "Say whether a citation still holds.", "cite 'docs/faq.md#L3-L9'", "reader", (
        _option("citation", metavar="CITATION", help="path#L12-L17, with ~digest or without"),
        _BESIDE,
    ), json=True),
    Command("drift", "reading.drift", "Show drift: claims that do not hold.", "drift", "reader", json=True),
    Command("verify", "reading.verify", "Check every artifact against the manifest.", "verify --out build", "reader",
            json=True),
)  # fmt: skip
"""In the order in which help lists them."""

GROUPS = {
    "package": "Install, update and publish context packages (folders of other repositories).",
    "insight": "Insights: what was learned between builds.",
    "notes": "Notes: decisions, progress, issues, handoffs.",
    "graph": "Walk the relations of documents, entities and insights.",
}
"""Names that only stand before a verb; `rules` is a command, too."""
