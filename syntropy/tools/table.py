"""Every tool: its name, what it is for, what it takes and gives, and the function that does it.

MCP, function definitions, the chat and the documentation derive from this table. It never holds indexed
text: a hostile document cannot reach a description.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..notes.rules_and_notes import TYPES
from ..read.graph import DIRECTIONS
from ..search.ranking import MODES
from . import command_tools as commands
from . import graph_tools as graph
from . import knowledge_tools as knowledge
from . import note_tools as memory
from . import search_tool

GROUPS = ("knowledge", "commands", "graph", "notes")


@dataclass(frozen=True)
class Parameter:
    """An argument. `schema` is its JSON schema without the description."""

    name: str
    schema: dict[str, Any]
    about: str = ""
    required: bool = False

    def json_schema(self) -> dict[str, Any]:
        """With its description, where it has one."""
        return {**self.schema, **({"description": self.about} if self.about else {})}


@dataclass(frozen=True)
class Tool:
    """A tool. `gives` are the keys every answer has, with their JSON types; `writes`: it changes the notes."""

    group: str
    name: str
    about: str
    run: Callable[..., dict[str, Any]]
    parameters: tuple[Parameter, ...]
    gives: dict[str, str]
    writes: bool = False
    destroys: bool = False

    def input_schema(self) -> dict[str, Any]:
        """JSON schema of its arguments; unknown ones are refused."""
        required = [p.name for p in self.parameters if p.required]
        return {
            "type": "object",
            "properties": {p.name: p.json_schema() for p in self.parameters},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def output_schema(self) -> dict[str, Any]:
        """JSON schema of its answers."""
        return {
            "type": "object",
            "properties": {name: {"type": kind} for name, kind in self.gives.items()},
            "required": list(self.gives),
        }


_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_TEXT_OR_TEXTS: dict[str, Any] = {"anyOf": [{"type": "string", "minLength": 1}, _TEXTS]}
_YES: dict[str, Any] = {"type": "boolean"}


def _must(name: str, about: str = "", schema: dict[str, Any] = _TEXT) -> Parameter:
    return Parameter(name, {**schema, "minLength": 1} if schema is _TEXT else schema, about, required=True)


def _may(name: str, about: str = "", schema: dict[str, Any] = _TEXT) -> Parameter:
    return Parameter(name, schema, about)


def _number(default: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "maximum": most, "default": default}


_DETAILED = _may("detailed", "more of it: up to 6000 tokens", _YES)
_CURSOR = _may("cursor", "next_cursor of the last answer")
_PATH = _must("path", "path, package:path, key or citation")

TOOLS = (
    Tool(
        "knowledge", "get_overview", "A map of this knowledge base: folders, kinds, counts, what is not held.",
        knowledge.get_overview, (_may("detailed", "list all documents", _YES), _CURSOR),
        {"project": "string", "counts": "object", "documents": "string"},
    ),
    Tool(
        "knowledge", "search_knowledge",
        "Find passages in docs, PRPs, examples, memories, rules, commands, APIs: use it instead of grep, before "
        "answering how something is done here. It says what is not here.",
        search_tool.search_knowledge,
        (
            _must("query", "words, an identifier or a question; \"quoted words\" stand together"),
            _may("mode", "default hybrid", {"type": "string", "enum": list(MODES)}),
            _may("types", "e.g. prps, patterns, memories, rules, docs, entries, entities, command, api, guide", _TEXTS),
            _may("packages", "", _TEXTS),
            _may("tags", "any of them", _TEXTS),
            _may("all_tags", "each of them", _TEXTS),
            _may("path", "folder or glob, e.g. docs/*"),
            _may("category", "of commands and other entries"),
            _may("since", "dated YYYY-MM-DD or later"),
            _may("where", "frontmatter, e.g. {\"status\": \"executed\"}",
                 {"type": "object", "additionalProperties": {"type": "string"}}),
            _may("limit", "", _number(8, 50)),
            _may("budget", "tokens of the answer, default 800", {"type": "integer", "minimum": 200, "maximum": 6000}),
            _may("detailed", "up to 6000 tokens, with keys, tags and what matched", _YES), _CURSOR,
        ),
        {"mode": "string", "answer": "string"},
    ),
    Tool(
        "knowledge", "get_document", "Read a document, or the lines of a citation; several at once.",
        knowledge.get_document,
        (
            _must("path", "path or its end, package:path, key or citation; or a list of them", _TEXT_OR_TEXTS),
            _may("scope", "system: below .ce/", {"type": "string", "enum": ["system", "user"]}),
            _may("lines", "e.g. 10-20"), _DETAILED, _CURSOR,
        ),
        {},
    ),
    Tool(
        "knowledge", "get_section", "Read one section; an unknown heading is answered with the list of headings.",
        knowledge.get_section, (_PATH, _must("heading"), _DETAILED, _CURSOR),
        {"citation": "string", "text": "string"},
    ),
    Tool(
        "knowledge", "list_contexts", "Installed packages and their sources.",
        knowledge.list_contexts, (_DETAILED,), {"packages": "array"},
    ),
    Tool(
        "knowledge", "get_context", "What to know before a task: passages, what they rest on, rules; with citations.",
        knowledge.get_context,
        (
            _must("task"),
            _may("files", "paths it is about: brings the rules for them", _TEXTS),
            _may("budget", "tokens", {"type": "integer", "minimum": 200, "maximum": 8000, "default": 2000}),
        ),
        {"context": "string", "citations": "array"},
    ),
    Tool(
        "commands", "get_command",
        "Exact syntax of a command, by title or alias, with or without <placeholders>; says where there is no such "
        "command.",
        commands.get_command, (_must("name"), _DETAILED),
        {"match": "string", "command": "string", "text": "string"},
    ),
    Tool(
        "commands", "list_commands", "All commands, or those of a category.",
        commands.list_commands, (_may("category"), _DETAILED, _CURSOR),
        {"count": "integer", "commands": "string"},
    ),
    Tool(
        "graph", "get_entity", "A pattern, law, smell, PRP, document or insight, with its relations.",
        graph.get_entity, (_must("name", "key or path"), _DETAILED),
        {"entity": "object", "relations": "array"},
    ),
    Tool(
        "graph", "get_neighbors", "What is related to it, nearest first.",
        graph.get_neighbors,
        (
            _must("name"), _may("types", "e.g. solves, requires, depends_on", _TEXTS),
            _may("direction", "", {"type": "string", "enum": list(DIRECTIONS)}),
            _may("depth", "", _number(1, 10)), _may("limit", "", _number(20, 50)), _CURSOR,
        ),
        {"count": "integer", "neighbors": "array"},
    ),
    Tool(
        "graph", "find_path", "The shortest way between two of them.",
        graph.find_path, (_must("start"), _must("end"), _may("max_depth", "", _number(5, 10))),
        {"length": "integer", "nodes": "array", "relations": "array"},
    ),
    Tool(
        "notes", "add_insight", "Keep what was learned; it is linked to known entities.",
        memory.add_insight,
        (_must("text"), _may("project"), _may("tags", "", _TEXTS), _may("linked_entities", "ids, e.g. DP-005", _TEXTS)),
        {"id": "string", "confidence": "number", "linked": "array", "suggested": "array"}, writes=True,
    ),
    Tool(
        "notes", "search_insights", "Find insights.",
        memory.search_insights, (_must("query"), _may("limit", "", _number(10, 20)), _CURSOR),
        {"insights": "array"},
    ),
    Tool(
        "notes", "confirm_links", "Say which links of an insight hold, or which insight replaces it.",
        memory.confirm_links,
        (
            _must("insight_id", "e.g. TK-001"), _must("accepted", "entity ids", _TEXTS),
            _may("rejected", "", _TEXTS), _may("merged_with", "insight that replaces it"),
        ),
        {"id": "string", "confidence": "number", "relations": "object"}, writes=True,
    ),
    Tool(
        "notes", "save_rule", "Save a rule that every session is told; the same label replaces it.",
        memory.save_rule, (_must("label", "short key"), _must("content")),
        {"label": "string", "content": "string"}, writes=True, destroys=True,
    ),
    Tool(
        "notes", "delete_rule", "Delete a saved rule for good.",
        memory.delete_rule, (_must("label"),), {"deleted": "string"}, writes=True, destroys=True,
    ),
    Tool(
        "notes", "list_rules", "Saved rules; detailed: also those of the project's files.",
        memory.list_rules, (_DETAILED, _CURSOR), {"rules": "array"},
    ),
    Tool(
        "notes", "save_note", "Write a note for later sessions.",
        memory.save_note,
        (
            _must("type", "", {"type": "string", "enum": list(TYPES)}), _must("content"),
            _may("project"), _may("tags", "", _TEXTS),
        ),
        {"id": "integer", "type": "string"}, writes=True,
    ),
    Tool(
        "notes", "list_notes", "Notes, the newest first.",
        memory.list_notes,
        (
            _may("type", "", {"type": "string", "enum": list(TYPES)}), _may("since", "date"), _may("project"),
            _may("limit", "", _number(20, 200)), _DETAILED, _CURSOR,
        ),
        {"count": "integer", "notes": "array"},
    ),
)  # fmt: skip


def of_groups(groups: tuple[str, ...]) -> tuple[Tool, ...]:
    """The tools of some groups, in the order of the table."""
    return tuple(tool for tool in TOOLS if tool.group in groups)
