"""The server by the official client, in both protocol eras: every tool, resource, prompt and completion."""

from __future__ import annotations

import json

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from syntropy.contract.budget import tokens
from syntropy.serve.resources import DOCUMENT
from syntropy.tools.table import TOOLS
from tests.seed_tools import ROWS

ERAS = ("legacy", "2026-07-28")
ALL = ("--tools", "knowledge,commands,graph,notes")


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_of_the_seeds_has_its_counterpart(connect, served, era):
    async def run() -> None:
        async with connect("--project", str(served), *ALL, era=era) as client:
            called = set()
            for row in ROWS:
                if isinstance(row.arguments, dict):
                    answer = await client.call_tool(row.ours, row.arguments)
                    assert not answer.is_error, (row, answer.content)
                    text = answer.content[0].text
                    assert answer.structured_content
                    called.add(row.ours)
                elif row.ours.startswith("syntropy://"):
                    text = (await client.read_resource(row.ours)).contents[0].text
                elif "answer_from_knowledge" in row.ours:
                    given = {"question": "how?", "page": "users page"}
                    text = (await client.get_prompt("answer_from_knowledge", given)).messages[0].content.text
                elif "session_start" in row.ours:
                    text = (await client.get_prompt("session_start")).messages[0].content.text
                else:
                    continue  # a command: tests/test_build.py builds
                assert row.answers in text, (row, text)
            extra = {"get_context": {"task": "retry webhooks"}}
            for name, arguments in extra.items():
                assert not (await client.call_tool(name, arguments)).is_error
            assert called | set(extra) == {tool.name for tool in TOOLS}

    anyio.run(run)


def test_every_row_names_tools_and_parameters_that_exist():
    tools = {tool.name: {p.name for p in tool.parameters} for tool in TOOLS}
    for row in ROWS:
        if isinstance(row.arguments, dict):
            assert set(row.arguments) <= tools[row.ours]


@pytest.mark.parametrize("era", ERAS)
def test_lists_resources_prompts_and_completions(connect, served, era):
    async def run() -> None:
        async with connect("--project", str(served), era=era) as client:
            tools = (await client.list_tools()).tools
            assert {t.name for t in tools} == {t.name for t in TOOLS if t.group != "notes"}
            for tool in tools:
                assert tool.input_schema["additionalProperties"] is False
                assert tool.output_schema
                assert tool.annotations.read_only_hint
                assert tool.annotations.open_world_hint is False
            whole = json.dumps([t.model_dump(by_alias=True, exclude_none=True) for t in tools], separators=(",", ":"))
            assert tokens(whole) <= 2_000

            resources = {r.uri for r in (await client.list_resources()).resources}
            assert resources == {"syntropy://index", "syntropy://manifest", "syntropy://stats"}
            stats = json.loads((await client.read_resource("syntropy://stats")).contents[0].text)
            assert stats["documents"] == 228  # each of the files of the demo that can be read
            templates = (await client.list_resource_templates()).resource_templates
            assert [t.uri_template for t in templates] == [DOCUMENT]
            page = await client.read_resource("syntropy://document/project/docs/faq.md")
            assert "Questions and answers" in page.contents[0].text
            korean = await client.read_resource("syntropy://document/project/docs/ko/%ED%99%98%EC%98%81.md")
            assert "data-" in korean.contents[0].text
            entry = "syntropy://document/project/knowledge/commands.json%23cmd-gw-users-list"
            assert "helios gw users list" in (await client.read_resource(entry)).contents[0].text
            for wrong in (
                "syntropy://nope",
                "syntropy://document/project/docs/nope.md",
                "syntropy://document/x",
                "a:b",
            ):
                with pytest.raises(MCPError):
                    await client.read_resource(wrong)

            prompts = {p.name: [a.name for a in p.arguments] for p in (await client.list_prompts()).prompts}
            assert prompts["answer_from_knowledge"] == ["question", "page", "tag", "command"]
            for name, given in (("nope", {}), ("answer_from_knowledge", {}), ("session_start", {"budget": "many"}),
                                ("session_start", {"x": "y"})):  # fmt: skip
                with pytest.raises(MCPError):
                    await client.get_prompt(name, given)

            async def completed(argument: str, value: str, ref=None) -> list[str]:
                ref = ref or PromptReference(type="ref/prompt", name="answer_from_knowledge")
                return (await client.complete(ref, {"name": argument, "value": value})).completion.values

            template = ResourceTemplateReference(type="ref/resource", uri=DOCUMENT)
            assert (await completed("path", "docs/f", template))[0] == "docs/faq.md"
            assert await completed("package", "", template) == ["project"]
            assert "webhooks" in await completed("tag", "web")
            assert (await completed("command", "helios gw users l"))[0] == "helios gw users list"
            assert len(await completed("path", "", template)) == 100
            assert await completed("question", "x") == []

    anyio.run(run)


def test_wrong_calls_say_what_to_do_next(connect, served):
    async def run() -> None:
        async with connect("--project", str(served), *ALL) as client:
            for name, arguments, said in [
                ("search_knowledge", {"querry": "x"}, "did you mean query"),
                ("search_knowledge", {}, "needs 'query'"),
                ("search_knowledge", {"query": ""}, "query"),
                ("search_knowledge", {"query": "x", "limit": 0}, "limit"),
                ("search_knowledge", {"query": "x", "limit": "many"}, "limit"),
                ("search_knowledge", {"query": "x", "types": ["nope"]}, "choose from"),
                ("search_knowledge", {"query": "x", "mode": "magic"}, "mode"),
                ("search_knowledge", {"query": "x", "cursor": "abc"}, "next_cursor"),
                ("get_document", {"path": "docs/fak.md"}, "did you mean docs/faq.md"),
                ("get_document", {"path": "../../etc/passwd"}, "no document"),
                ("get_document", {"path": "docs/faq.md", "lines": "9-3"}, "range"),
                ("get_document", {"path": "docs/faq.md", "lines": "9000"}, "lines"),
                ("get_section", {"path": "docs/faq.md", "heading": "nope"}, "its headings"),
                ("get_command", {"name": "zzzz qqqq"}, "list_commands"),
                ("list_commands", {"category": "nope"}, "categories"),
                ("get_entity", {"name": "RF-999"}, "names are keys"),
                ("get_neighbors", {"name": "RF-004", "types": ["nope"]}, "choose from"),
                ("find_path", {"start": "RF-004", "end": "nope nope"}, "nothing in the graph"),
                ("confirm_links", {"insight_id": "TK-999", "accepted": []}, "TK-999"),
                ("delete_rule", {"label": "nope"}, "saved rules"),
                ("save_note", {"type": "gossip", "content": "x"}, "type"),
                ("list_notes", {"since": "yesterday"}, "2026-11-22"),
                ("search_knowledge", {"query": "x", "packages": ["nope"]}, "there are: project"),
                ("add_insight", {"text": "x", "linked_entities": ["RF-999"]}, "search_knowledge"),
            ]:
                answer = await client.call_tool(name, arguments)
                assert answer.is_error, (name, arguments)
                assert said in answer.content[0].text, (said, answer.content[0].text)
                lines = answer.content[0].text.splitlines()
                assert lines[0].startswith("error: ")
                assert lines[1].startswith("next: ")
                assert "`syntropy" not in answer.content[0].text
            with pytest.raises(MCPError, match="get_overview"):
                await client.call_tool("nope", {})

    anyio.run(run)


def test_saved_in_one_session_and_told_in_the_next(connect, served, capsys):
    async def run() -> None:
        async with connect("--project", str(served), *ALL) as client:
            await client.call_tool("save_rule", {"label": "tone", "content": "Answer in English"})
            await client.call_tool("save_note", {"type": "decision", "content": "Budgets are counted per event"})
            await client.call_tool("add_insight", {"text": "Facade beats Extract Class in the billing module"})
        async with connect("--project", str(served)) as client:
            found = await client.call_tool("search_knowledge", {"query": "facade billing"})
            assert found.structured_content["fresh"][0]["id"] == "TK-001"
            told = (await client.get_prompt("session_start")).messages[0].content.text
            assert "- Answer in English" in told
            assert "Budgets are counted per event" in told
            assert "[insight TK-001] Facade beats Extract Class" in told
            path = await client.call_tool("get_entity", {"name": "TK-001"})
            assert "Facade beats" in path.structured_content["text"]

    anyio.run(run)
    from syntropy.cli.main import main

    assert main(["session-start", "--project", str(served)]) == 0
    printed = capsys.readouterr().out
    assert "Answer in English" in printed
    assert "Facade beats" in printed


def test_pages_put_together_are_the_whole_document(connect, served):
    longest = max((served / "docs/operations").glob("*.md"), key=lambda file: file.stat().st_size)

    async def run() -> None:
        async with connect("--project", str(served)) as client:
            text, cursor, pages = "", "", 0
            while cursor or not pages:
                path = longest.relative_to(served).as_posix()
                answer = (await client.call_tool("get_document", {"path": path, "cursor": cursor})).structured_content
                mark = answer["text"][1 : answer["text"].index(">")]
                text += answer["text"].removeprefix(f"<{mark}>\n").removesuffix(f"\n</{mark}>")
                cursor, pages = answer.get("next_cursor", ""), pages + 1
                cited = await client.call_tool("get_document", {"path": answer["citation"]})
                assert cited.structured_content["citation"] == answer["citation"]
            assert pages > 1
            assert text == longest.read_text()

    anyio.run(run)


def test_without_a_project_there_is_no_memory_to_write_to(connect, served):
    async def run() -> None:
        async with connect("--db", str(served / "build/syntropy.duckdb"), *ALL) as client:
            answer = await client.call_tool("add_insight", {"text": "x"})
            assert answer.is_error
            found = await client.call_tool("search_knowledge", {"query": "retry webhooks"})
            assert "#L" in found.structured_content["answer"]
            assert (await client.get_prompt("session_start")).messages[0].content.text.startswith("There is no project")

    anyio.run(run)


def test_the_first_answer_does_not_wait_for_the_encoder(connect, served):
    async def run() -> None:
        async with connect("--project", str(served)) as client:
            first = (await client.call_tool("search_knowledge", {"query": "retry failed webhooks"})).structured_content
            assert first["mode"] == "fast"
            assert "by words only" in first["warning"]
            for _ in range(100):
                await anyio.sleep(0.1)
                later = (
                    await client.call_tool("search_knowledge", {"query": "retry failed webhooks"})
                ).structured_content
                if later["mode"] == "hybrid":
                    break
            assert later["mode"] == "hybrid"
            assert "warning" not in later

    anyio.run(run)


def test_damaged_notes_leave_the_knowledge_in_use(connect, served):
    notes = served / ".context/notes.sqlite"
    notes.parent.mkdir(exist_ok=True)
    notes.write_bytes(b"SQLite format 3\0 and then nothing that is one" * 100)

    async def run() -> None:
        async with connect("--project", str(served), *ALL) as client:
            near = await client.call_tool("get_neighbors", {"name": "RF-004"})
            assert near.structured_content["count"] > 5
            assert "insights were left out" in near.structured_content["warning"]
            assert (await client.call_tool("get_context", {"task": "webhooks"})).structured_content["warning"]
            assert not (await client.call_tool("search_knowledge", {"query": "webhooks"})).is_error
            assert (await client.call_tool("search_insights", {"query": "webhooks"})).is_error

    anyio.run(run)
