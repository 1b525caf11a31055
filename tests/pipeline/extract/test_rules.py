"""Rules as agents' files state them: which lines are rules, how strong, and for which files."""

import pytest

import syntropy
from pipeline.extract.imperatives import is_imperative
from pipeline.extract.rule_scope import scope_of
from pipeline.extract.rules import extract_rules
from pipeline.text.markdown import outline
from tests.quick import build


def rules(text, *, dedicated=False):
    return [(r.severity, r.text) for r in extract_rules(text, outline(text), dedicated=dedicated)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Read on. Never ship on Fridays.\n", [("advisory", "Never ship on Fridays.")]),
        ("Don't create a new ledger.\n", [("advisory", "Don't create a new ledger.")]),
        ("**YOU MUST read the manual.**\n", [("mandatory", "YOU MUST read the manual.")]),
        ("- Clients MUST NOT retry twice\n", [("forbidden", "Clients MUST NOT retry twice")]),
        ("- Use the shared clock\n- Two ledgers\n", [("advisory", "Use the shared clock")]),
        ("- When a bin is lost, write a note\n", [("advisory", "When a bin is lost, write a note")]),
        ("- Errors: return them as values\n", [("advisory", "Errors: return them as values")]),
        ("## Never do\n\n- Global state\n", [("advisory", "Never do: Global state")]),
        ("- ❌ Skip the scale\n- ✅ Done last week\n", [("advisory", "❌ Skip the scale")]),
        (
            "```bash\n# ❌ FORBIDDEN: editing the lock by hand\nrun\n```\n",
            [("forbidden", "❌ FORBIDDEN: editing the lock by hand")],
        ),
        (
            "```py\nname = 'x'  # REQUIRED for the loader\n```\n",
            [("mandatory", "name = 'x' # REQUIRED for the loader")],
        ),
        (
            "| Rule | Why |\n| --- | --- |\n| MANDATORY: weigh twice | loss |\n",
            [("mandatory", "MANDATORY: weigh twice — loss")],
        ),
        ("| REQUIRED | Field |\n| --- | --- |\n| yes | id |\n", []),
        ("Use one clock\nNever use two\n", [("advisory", "Never use two")]),
        ("## ⚠️ REQUIRED READING: Rules\n\n- Table names\n", [("mandatory", "⚠️ REQUIRED READING: Rules")]),
        ("No code MUST reach main unread.\n", [("forbidden", "No code MUST reach main unread.")]),
        ("- Clients MUST never retry\n", [("forbidden", "Clients MUST never retry")]),
    ],
)
def test_what_is_a_rule(text, expected):
    assert rules(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The clock must have been slow when the ship left.\n",
        "- Test files\n- Build outputs: dist/\n- Exit codes 0 and 2\n",
        '- "Make an agent for me"\n- Find usages → search\n- find, grep, tree\n',
        "- `src/flow.ts` — holds tokens (never the key)\n",
        "## Status\n\n- Implement the scale\n",
        "1. Install the tools\n2. Run the build\n",
        "Why should we care?\n",
        "Two scales are NOT FORBIDDEN here.\n",
        "A second scale is no longer MANDATORY.\n",
        "The note isn't REQUIRED.\n",
        "You don't have to weigh twice.\n",
        "## FORBIDDEN\n",
    ],
)
def test_what_is_none(text):
    assert rules(text) == []


def test_a_file_of_rules_commands_in_plain_sentences():
    text = "You work on the port.\nUse the tide table for every plan.\nTag each ship with its berth.\n"
    assert rules(text) == []
    assert rules(text, dedicated=True) == [
        ("advisory", "Use the tide table for every plan."),
        ("advisory", "Tag each ship with its berth."),
    ]


@pytest.mark.parametrize(
    ("path", "metadata", "expected"),
    [
        ("CLAUDE.md", {}, []),
        ("api/AGENTS.md", {}, ["/api/**"]),
        (".claude/rules/web.md", {}, []),
        (".claude/rules/web.md", {"paths": ["web/**/*.ts", "*.css"]}, ["web/**/*.ts", "*.css"]),
        ("port/.claude/rules/web.md", {"paths": "src/*.ts"}, ["/port/src/*.ts"]),
        (".cursor/rules/a.mdc", {"globs": "*.{ts,tsx}, docs/**", "alwaysApply": False}, ["*.ts", "*.tsx", "docs/**"]),
        (".cursor/rules/a.mdc", {"globs": "*.ts", "alwaysApply": True}, []),
        ("port/.cursor/rules/a.mdc", {"alwaysApply": True}, ["/port/**"]),
        (".github/instructions/py.instructions.md", {"applyTo": "**/*.py"}, ["**/*.py"]),
        (".github/copilot-instructions.md", {}, []),
        (".claude/skills/weigh/SKILL.md", {}, ["skill:weigh"]),
    ],
)
def test_scopes(path, metadata, expected):
    assert scope_of(path, metadata).applies_to == expected


def test_rules_of_every_agent_are_read_with_their_scope_and_those_that_never_apply_are_told(tmp_path):
    files = {
        "syntropy.toml": "[embed]\nenabled = false\n",
        "src/a.ts": "x",
        "GEMINI.md": "- Always weigh first.\n",
        ".claude/rules/ts.md": "---\npaths: ['src/**/*.ts']\n---\n- Prefer types.\n",
        ".cursor/rules/none.mdc": "---\nglobs: **/*.rs\nalwaysApply: false\n---\n\n- Never unwrap.\n",
        ".cursor/rules/ask.mdc": "---\nalwaysApply: false\n---\n\n- Never guess.\n",
        ".cursorrules": "Always ask first.\n",
        ".github/copilot-instructions.md": "- Keep it short.\n",
        ".github/instructions/ts.instructions.md": "---\napplyTo: 'src/*.ts'\n---\n- Avoid any.\n",
        "yard/AGENTS.md": "- Do not lift alone.\n",
        ".claude/skills/weigh/SKILL.md": "---\nname: weigh\ndescription: Weighs\n---\n- Never skip the scale.\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    build(tmp_path)
    with syntropy.open(tmp_path) as knowledge:
        found = {rule.text: rule.applies_to for rule in knowledge.rules()}
        problems = {(p, c) for p, c in knowledge.database.rows("SELECT path, code FROM diagnostics")}
    assert found == {
        "Always weigh first.": (),
        "Prefer types.": ("src/**/*.ts",),
        "Never unwrap.": ("**/*.rs",),
        "Never guess.": (),
        "Always ask first.": (),
        "Keep it short.": (),
        "Avoid any.": ("src/*.ts",),
        "Do not lift alone.": ("/yard/**",),
        "Never skip the scale.": ("skill:weigh",),
    }
    assert (".cursor/rules/none.mdc", "rule-never-applies") in problems
    assert (".cursor/rules/ask.mdc", "rule-on-request") in problems
    assert {path for path, code in problems if code in ("rule-never-applies", "frontmatter-invalid")} == {
        ".cursor/rules/none.mdc"
    }


def test_imperatives():
    assert is_imperative("Use one clock")
    assert is_imperative("Please keep it short")
    assert not is_imperative("Use is rare")
    assert not is_imperative("Users write")


def test_lines_that_could_be_anything_are_read_in_time():
    lines = ["| a |", " " * 8000 + "x", "- " + "." * 8000, "- " + "a." * 4000 + "!", "|" + " :-" * 4000 + "x"]
    assert rules("\n".join(lines * 20)) == []


def test_patterns_with_many_braces_are_bounded():
    assert len(scope_of(".cursor/rules/a.mdc", {"globs": "{a,b}" * 40}).applies_to) <= 64
    assert scope_of(".cursor/rules/a.mdc", {"globs": "*.{ts,{js,jsx}}"}).applies_to == ["*.ts", "*.js", "*.jsx"]
