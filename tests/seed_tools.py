"""The tools of the five seeds and their counterparts: rendered into docs/tools.md, and each row is a test."""

from __future__ import annotations

from typing import Any, NamedTuple


class Row(NamedTuple):
    """A seed's tool or resource, ours, the parameters that carry its own, and a call on the demo with its answer."""

    seed: str
    theirs: str
    ours: str
    parameters: str
    arguments: dict[str, Any] | str
    answers: str


ROWS = (
    Row("knowledge index", "knowledge_search(query, sources, limit)", "search_knowledge",
        "query; sources → types; limit", {"query": "webhook retries", "types": ["prps"], "limit": 20}, "PRP-29.3"),
    Row("knowledge index", "get_framework_doc, get_system_doc(path)", "get_document", "path, scope=system",
        {"path": "RULES.md", "scope": "system"}, ".ce/RULES.md#L1-"),
    Row("knowledge index", "get_user_doc(path)", "get_document", "path, scope=user",
        {"path": "docs/faq.md", "scope": "user"}, "docs/faq.md#L1-"),
    Row("knowledge index", "knowledge_list_docs()", "get_overview", "detailed=true", {"detailed": True}, "docs/faq.md"),
    Row("knowledge index", "syntropy_init_project, syntropy_sync_context", "`syntropy init`, `syntropy build`",
        "PATH; --project", "status", "published"),
    Row("Helios", "search_knowledge(query, type, category, limit)", "search_knowledge",
        "query; type → types; category; limit",
        {"query": "list users", "types": ["command"], "category": "developer-console", "limit": 5},
        "helios gw users list"),
    Row("Helios", "get_command(command)", "get_command", "command → name",
        {"name": "helios gw users list"}, "match: exact"),
    Row("Helios", "list_commands(category)", "list_commands", "category",
        {"category": "google-workspace"}, "helios gw users list"),
    Row("Helios", "system prompt with page context", "prompt answer_from_knowledge; `syntropy chat --page`",
        "question, page", "prompt", "The user is on: users page"),
    Row("nocaap", "get_overview()", "get_overview", "", {}, "Acme Parcel"),
    Row("nocaap", "search(query, packages, tags, mode, limit)", "search_knowledge",
        "query, mode, packages, tags, limit", {"query": "retries", "mode": "fast", "packages": ["project"]}, "retries.md"),
    Row("nocaap", "get_document(path)", "get_document", "path, lines, cursor", {"path": "docs/faq.md"}, "docs/faq.md"),
    Row("nocaap", "get_section(path, heading)", "get_section", "path, heading",
        {"path": "docs/guides/retries.md", "heading": "What is retried"}, "502, 503"),
    Row("nocaap", "list_contexts()", "list_contexts", "", {}, "package: project"),
    Row("nocaap", "nocaap://index", "syntropy://index", "", "syntropy://index", "# Acme Parcel: knowledge index"),
    Row("nocaap", "nocaap://manifest", "syntropy://manifest", "", "syntropy://manifest", "syntropy.duckdb"),
    Row("Episteme", "get_entity(id)", "get_entity", "id → name; detailed", {"name": "RF-004"}, "Extract Class"),
    Row("Episteme", "get_neighbors(id, type)", "get_neighbors", "id → name; types, direction, depth, limit",
        {"name": "RF-004", "types": ["solves"]}, "SMELL-002"),
    Row("Episteme", "find_path(from, to)", "find_path", "start, end, max_depth",
        {"start": "RF-004", "end": "SMELL-002"}, "length: 1"),
    Row("Episteme", "add_insight(text, project, tags, linked_entities)", "add_insight", "the same",
        {"text": "Extract Class helped with the Large Class in billing", "tags": ["billing"],
         "linked_entities": ["RF-004"]}, "TK-001"),
    Row("Episteme", "search_insights(query, limit)", "search_insights", "the same; limit at most 20",
        {"query": "large class billing", "limit": 10}, "TK-001"),
    Row("Episteme", "confirm_links(insight_id, accepted, rejected, merged_with)", "confirm_links", "the same",
        {"insight_id": "TK-001", "accepted": ["RF-004"]}, "confidence: 0.55"),
    Row("Synaptic", "context_search(query, mode)", "search_knowledge", "query, mode",
        {"query": "synonyms", "mode": "fast"}, "mode: fast"),
    Row("Synaptic", "context_save(type, content, project, tags)", "save_note", "the same",
        {"type": "decision", "content": "We bound retries by time"}, "type: decision"),
    Row("Synaptic", "context_list(days, type)", "list_notes", "type, since, project, limit",
        {"type": "decision"}, "We bound retries by time"),
    Row("Synaptic", "context_save_rule(content, label)", "save_rule", "label, content",
        {"label": "commits", "content": "Never include emoji in commit messages"}, "label: commits"),
    Row("Synaptic", "context_list_rules()", "list_rules", "", {}, "Never include emoji"),
    Row("Synaptic", "session-start hook", "prompt session_start; `syntropy session-start`", "budget", "prompt",
        "# Rules (ALWAYS follow, NO exceptions)"),
    Row("Synaptic", "context_delete_rule(label)", "delete_rule", "label", {"label": "commits"}, "deleted: commits"),
)  # fmt: skip
"""In an order in which the calls work one after the other: what is searched was added before."""
