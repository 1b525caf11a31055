"""The living layer: insights, rules, notes, session start, export, search beside the canonical layer."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import syntropy
from syntropy.cli.main import main
from syntropy.contract.errors import UsageError
from syntropy.notes.notebook import Notebook, merged
from syntropy.notes.rules_and_notes import Maintenance, Note, contradictions
from syntropy.notes.session import HEADING, session
from tests.quick import build
from tests.syntropy.notes.conftest import KOREAN


def test_the_seeds_lifecycle_in_korean(memory):
    added = memory.add_insight(KOREAN)
    assert added.insight.id == "TK-001"
    assert added.insight.relations == {"derives_from": ["DP-026", "LAW-017"]}
    assert added.insight.confidence == 0.5
    confirmed = memory.confirm_links("TK-001", accepted=["LAW-017"])
    assert confirmed.confidence == 0.55
    assert memory.confirm_links("TK-001", accepted=["LAW-017"]).confidence == 0.55  # once
    assert confirmed.provenance["LAW-017"]["state"] == "accepted"
    assert [f.insight.id for f in memory.insights().search("마이크로서비스 분리")] == ["TK-001"]


def test_links_by_score_and_explicit_ones(memory):
    added = memory.add_insight("God Class is best treated by Extract Class", linked_entities=["LAW-017"])
    assert added.insight.relations["applies_to"] == ["LAW-017"]
    assert set(added.insight.relations["derives_from"]) == {"RF-004", "SMELL-03"}
    assert memory.add_insight("completely unrelated lunch plans").insight.relations == {}
    with pytest.raises(UsageError, match="NO-1"):
        memory.add_insight("x", linked_entities=["NO-1"])
    with pytest.raises(UsageError, match="empty"):
        memory.add_insight("  ")


def test_duplicates_have_a_threshold_and_correlations_follow_links(memory):
    memory.add_insight("Extract Class before moving label printing")
    near = memory.add_insight("Extract Class before moving the label printing")
    assert [name for name, _ in near.duplicates] == ["TK-001"]
    far = memory.add_insight("Extract Class helped in the tariff module with its many rules")
    assert far.duplicates == []
    assert {name for name, _ in far.correlations} == {"TK-001", "TK-002"}


def test_a_rejected_link_is_removed_and_remembered(memory):
    memory.add_insight("Strangler Fig it is")
    rejected = memory.confirm_links("TK-001", rejected=["DP-026"])
    assert rejected.links() == []
    assert rejected.provenance["DP-026"]["state"] == "rejected"
    with pytest.raises(UsageError, match="no link"):
        memory.confirm_links("TK-001", rejected=["RF-004"])
    with pytest.raises(UsageError, match="NO-9"):
        memory.confirm_links("TK-001", accepted=["NO-9"])


def test_confidence_ends_at_one(memory):
    memory.add_insight("x y z")
    memory.known = lambda name: True
    insight = memory.confirm_links("TK-001", accepted=[f"E-{n}" for n in range(15)])
    assert insight.confidence == 1.0
    assert insight.evidence_count == 15


def test_what_was_replaced_is_hidden_unless_asked_for(memory):
    memory.add_insight("Retries are bounded by count")
    memory.add_insight("Retries are bounded by elapsed time")
    memory.confirm_links("TK-001", merged_with="TK-002")
    insights = memory.insights()
    assert [f.insight.id for f in insights.search("retries bounded")] == ["TK-002"]
    assert [f.insight.id for f in insights.search("retries bounded count", superseded=True)] == ["TK-002", "TK-001"]
    assert insights.get("TK-001").superseded_by == "TK-002"
    assert [i.id for i in insights.all()] == ["TK-002"]
    assert [h.name for h in memory.recall("bounded by count").hits] == ["TK-002"]
    for target in ("TK-001", "TK-002"):
        with pytest.raises(UsageError):
            memory.confirm_links("TK-002", merged_with=target)


def test_edit_and_delete(memory):
    memory.add_insight("first text")
    insights = memory.insights(write=True)
    insights.edit("TK-001", now="2026-11-23T00:00:00Z", text="second words", tags=["A"])
    assert insights.search("second")[0].insight.tags == ("a",)
    assert insights.search("first") == []
    insights.delete("TK-001", now="2026-11-22T00:00:00Z")
    assert insights.all() == []
    assert memory.add_insight("again").insight.id == "TK-002"


@pytest.mark.usefixtures("meaning")
def test_meaning_finds_what_words_do_not(demo, tmp_path):
    with syntropy.open(demo) as knowledge, Notebook(tmp_path / "n.sqlite", knowledge) as memory:
        memory.add_insight("Parcels that are late need a message to the customer")
        memory.add_insight("The printer likes short labels")
        query = "delayed shipment notification"
        assert memory.search_insights(query, semantic=False) == []
        assert [f.insight.id for f in memory.search_insights(query)][:1] == ["TK-001"], "where an encoder is at hand"
        assert memory.search_insights(query, semantic=True)[0].insight.id == "TK-001"
        assert memory.reader.rows("SELECT count(*) FROM user_embeddings")[0][0] == 2


HOSTILE = ['"', "'", "*", "a*", "(", ")", "NEAR(", "a AND", "OR", "NOT x", "^a", "a:b", "-a", "\0", "😀", "%", "a\nb", '"a" "b', "{", ";DROP TABLE entries;--"]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
def test_hostile_searches(memory, query):
    memory.add_insight("a b x")
    memory.insights().search(query)
    memory.recall(query)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
def test_any_text_is_a_safe_search(memory, query):
    memory.recall(query)


def test_rules_are_upserted_and_deleted_for_good(memory):
    rules = memory.rules(write=True)
    rules.save("commit-messages", "Never use emoji", now="2026-01-01T00:00:00Z")
    rules.save("Commit Messages", "Never use emoji in commit messages", now="2026-01-02T00:00:00Z")
    assert [(r.label, r.content, r.tier, r.pinned) for r in rules.all()] == [
        ("commit-messages", "Never use emoji in commit messages", "longterm", True)
    ]
    rules.delete("commit-messages", now="2026-11-22T00:00:00Z")
    with pytest.raises(UsageError, match="rule not found"):
        rules.delete("commit-messages", now="2026-11-22T00:00:00Z")


def test_contradictions():
    found = contradictions(
        [
            ("a", "Never use emoji in commits"),
            ("b", "Always use emoji in commits"),
            ("a", "other"),
            ("c", "Write tests"),
        ]
    )
    assert {(c.label, c.other) for c in found} == {("b", "a"), ("a", "a")}


def test_notes_by_type_days_and_project(memory):
    notes = memory.notes(write=True)
    notes.save("decision", "Bound retries by time", now="2026-11-20T00:00:00Z", project="p", tags=["Retry"])
    notes.save("progress", "Printer works", now="2026-11-22T00:00:00Z")
    assert [n.type for n in notes.all()] == ["progress", "decision"]
    assert [n.type for n in notes.all(since="2026-11-21T00:00:00Z")] == ["progress"]
    assert [n.content for n in notes.all(project="p")] == ["Bound retries by time"]
    assert [n.id for n, _ in notes.search("retry")] == [1]
    notes.archive(1, now="2026-11-22T00:00:00Z")
    assert notes.search("retry") == []
    assert [n.id for n in notes.all(archived=True)] == [2, 1]
    with pytest.raises(UsageError, match="unknown type"):
        notes.save("poem", "x", now="")


def test_maintenance_once_a_day(memory):
    notes = memory.notes(write=True)
    now = datetime(2026, 11, 22, tzinfo=UTC)
    old = (now - timedelta(days=60)).strftime("%Y-%m-%dT%H:%M:%SZ")
    notes.save("progress", "old and ephemeral", now=old)
    notes.save("issue", "old and working", now=old)
    used = notes.save("issue", "used", now=old)
    notes.save("decision", "kept", now=old)
    for _ in range(5):
        notes.used([used.id], now="2026-11-21T00:00:00Z")
    assert notes.maintain(now=now) == Maintenance(1, 1, 1)
    assert notes.maintain(now=now) == Maintenance(0, 0, 0)
    tiers = {n.content: (n.tier, n.archived) for n in notes.all(archived=True)}
    assert tiers == {
        "old and ephemeral": ("ephemeral", True),
        "old and working": ("ephemeral", False),
        "used": ("longterm", False),
        "kept": ("longterm", False),
    }


def note(number, kind, text, day="2026-02-15T20:07:00Z"):
    return Note(number, kind, text, "", (), "working", False, 0, "", False, day, "", "")


def test_session_start_has_the_seeds_form():
    zone = timezone(timedelta(hours=1))
    told = session(
        ["Never include emoji in commit messages"],
        [note(1, "issue", "Fixed JWT refresh")],
        note(2, "handoff", "Go on with x"),
        Maintenance(1, 0, 0),
        zone=zone,
    )
    assert told.text() == (
        "# Rules (ALWAYS follow, NO exceptions)\n- Never include emoji in commit messages\n\n"
        "# Recent context\n- 02-15 21:07 [issue] Fixed JWT refresh\n\n"
        "# Last handoff\n- 02-15 21:07 [handoff] Go on with x\n\n"
        "# Maintenance\n- archived 1, moved down 0, moved up 0 notes"
    )
    assert session([], [], None, Maintenance(0, 0, 0)).text() == ""


def test_session_start_is_cut_from_the_bottom_and_never_the_rules():
    rules = [f"Rule {n} " + "x" * 100 for n in range(40)]
    told = session(
        rules, [note(n, "issue", "y" * 150) for n in range(20)], note(99, "handoff", "z"), Maintenance(1, 1, 1)
    )
    assert told.rules == rules
    assert (told.recent, told.handoff, told.maintenance) == ([], "", "")
    half = session(["r"], [note(n, "issue", "y" * 150) for n in range(30)], None, Maintenance(0, 0, 0))
    assert len(half.text()) <= 3200
    assert 0 < len(half.recent) < 30


def test_a_handoff_that_repeats_recent_context_is_left_out():
    told = session(
        [],
        [note(1, "progress", "we finished the label printer")],
        note(2, "handoff", "we finished the label printer"),
        Maintenance(0, 0, 0),
    )
    assert told.handoff == ""


def test_fresh_and_canonical_hits_are_merged(demo, tmp_path):
    with Notebook(tmp_path / "n.sqlite", None) as memory, syntropy.open(demo) as knowledge:
        memory.add_insight("zebra crossings confuse the tracking page")
        fresh = memory.recall("zebra crossings").hits
        both = merged(knowledge.search("tracking page").hits, fresh)
        assert both[0].name == "TK-001"


def test_the_command_line(demo, tmp_path, capsys):
    at = ["--notes", str(tmp_path / "n.sqlite")]
    assert main(["insight", "add", "Extract Class made the god class small", "--tags", "a,b", *at]) == 0
    assert main(["insight", "search", "god class", "--json", *at]) == 0
    assert json.loads(capsys.readouterr().out.split("\n", 1)[1])[0]["id"] == "TK-001"
    for command in (
        ["insight", "list"],
        ["insight", "show", "TK-001"],
        ["insight", "edit", "TK-001", "--tags", "c"],
        ["rules", "save", "x", "Never x"],
        ["rules", "list"],
        ["notes", "save", "decision", "We chose y"],
        ["notes", "list", "--days", "3"],
        ["notes", "search", "chose"],
        ["notes", "export", str(tmp_path / "e.jsonl")],
        ["notes", "import", str(tmp_path / "e.jsonl")],
        ["notes", "archive", "2"],
        ["session-start"],
        ["rules", "delete", "x"],
        ["insight", "delete", "TK-001"],
    ):
        assert main([*command, *at]) == 0, command
    assert main(["insight", "show", "TK-001", *at]) == 2
    assert main(["notes", *[]]) == 2
    assert HEADING in capsys.readouterr().out


def test_a_build_may_take_the_notes_in(tmp_path):
    (tmp_path / "syntropy.toml").write_text("[embed]\nenabled = false\n[notes]\nin_build = true\n")
    (tmp_path / "README.md").write_text("# Project\n\nOurs.\n")
    with syntropy.open_notes(tmp_path) as memory:
        memory.add_insight("Zebra crossings confuse the tracking page", tags=["maps"])
        memory.notes(write=True).save("decision", "We bound retries by time", now="2026-01-01T00:00:00Z")
    build(tmp_path)
    with syntropy.open(tmp_path) as knowledge:
        hit = knowledge.search("zebra crossings", mode="fast").hits[0]
        assert (hit.citation.package, hit.citation.path, hit.kind, hit.tags) == (
            "notes",
            "TK-001.md",
            "memory",
            ("maps",),
        )
        assert knowledge.search("bound retries", mode="fast", tags=["decision"]).hits
    with syntropy.open_notes(tmp_path) as memory:
        memory.insights(write=True).delete("TK-001", now="2026-11-22T00:00:00Z")
    build(tmp_path)
    with syntropy.open(tmp_path) as knowledge:
        assert not knowledge.search("zebra crossings", mode="fast").hits


def test_search_shows_fresh_insights_and_can_leave_them_out(demo, capsys):
    with syntropy.open_notes(demo) as memory:
        memory.add_insight("Zebra crossings confuse the tracking page")
        path = memory.path
    try:
        assert main(["search", "zebra crossings", "--project", str(demo), "--mode", "fast"]) == 0
        assert "TK-001  [insight, tacit]" in capsys.readouterr().out
        main(["search", "zebra crossings", "--project", str(demo), "--mode", "fast", "--no-notes"])
        assert "TK-001" not in capsys.readouterr().out
    finally:
        for file in path.parent.glob("notes.sqlite*"):
            file.unlink()


def test_edits_that_change_nothing_move_no_score(memory):
    for number in range(5):
        memory.add_insight(f"lighthouse number {number} keeps the harbour")
    memory.add_insight("a buoy marks the fairway")
    before = {hit.insight.id: hit.score for hit in memory.search_insights("buoy lighthouse")}
    for _ in range(60):
        memory.edit_insight("TK-001", text="lighthouse number 0 keeps the harbour")
    after = {hit.insight.id: hit.score for hit in memory.search_insights("buoy lighthouse")}
    assert before == after
