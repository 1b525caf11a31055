"""Notes of two files: whatever was written, changed and deleted on either side, both come to hold the same."""

import itertools
import json
import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import syntropy
from syntropy.cli.main import main
from syntropy.contract.text import shortened
from syntropy.notes.insights import Insights
from syntropy.notes.note_links import AUTO_LINK, Entity, Linker
from syntropy.notes.rules_and_notes import Notes, Rules
from syntropy.notes.session import note_line, session
from syntropy.notes.store import NotesStore
from syntropy.notes.transfer import export_lines, import_lines

NOBODY = Linker([])


def stamp(n):
    return f"2026-01-01T00:{n // 60:02d}:{n % 60:02d}Z"


def content_of(store):
    """What a file holds, without numbers that are local to it."""
    uids = {(r["kind"], r["key"]): r["uid"] for r in store.rows("SELECT * FROM syntropy_identity")}
    found = set()
    for row in store.rows("SELECT * FROM user_entities"):
        named = {k: sorted(uids.get(("insight", t), t) for t in ts) for k, ts in json.loads(row["relations"]).items()}
        values = {k: row[k] for k in row.keys() if k not in ("id", "relations", "link_provenance")}  # noqa: SIM118
        found.add((uids["insight", row["id"]], json.dumps({**values, "relations": named}, sort_keys=True)))
    for row in store.rows("SELECT * FROM entries"):
        kind = "rule" if row["type"] == "rule" else "note"
        values = {k: row[k] for k in row.keys() if k != "id"}  # noqa: SIM118
        found.add((uids[kind, str(row["id"])], json.dumps(values, sort_keys=True)))
    return found, {r["uid"] for r in store.rows("SELECT uid FROM syntropy_gone")}


WORK = st.lists(
    st.tuples(
        st.sampled_from(["insight", "note", "rule", "edit", "edit note", "delete", "delete rule", "archive", "relate", "pin"]),
        st.integers(0, 4),
        st.sampled_from(["tide", "wind", "rope"]),
        st.integers(0, 3),
    ),
    max_size=8,
)  # fmt: skip


def do(store, work, clock):
    for what, which, text, pause in work:
        now = stamp(clock[0])
        clock[0] += pause
        insights, notes, rules = Insights(store), Notes(store), Rules(store)
        ids = [i.id for i in insights.all(superseded=True)]
        numbers = [n.id for n in notes.all(archived=True)]
        known = lambda name: False  # noqa: E731
        if what == "insight":
            insights.add(f"about {text}", now=now, linker=NOBODY, known=known)
        elif what == "note":
            notes.save("decision", f"about {text}", now=now)
        elif what == "rule":
            rules.save(text, f"never {text} {which}", now=now)
        elif what == "edit" and ids:
            insights.edit(ids[which % len(ids)], now=now, text=f"changed {text} {which}")
        elif what == "edit note" and numbers:
            notes.edit(numbers[which % len(numbers)], now=now, text=f"changed {text} {which}")
        elif what == "pin" and numbers:
            notes.edit(numbers[which % len(numbers)], now=now, pinned=bool(which % 2))
        elif what == "archive" and numbers:
            notes.archive(numbers[which % len(numbers)], now=now, archived=bool(which % 2))
        elif what == "delete" and ids:
            insights.delete(ids[which % len(ids)], now=now)
        elif what == "delete rule" and (known_rules := rules.all()):
            rules.delete(known_rules[which % len(known_rules)].label, now=now)
        elif what == "relate" and len(ids) > 1:
            insights.relate(ids[which % len(ids)], "supports", ids[(which + 1) % len(ids)], now=now, known=known)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder, number = tmp_path_factory.mktemp("exchange"), itertools.count()
    return lambda: folder / f"{next(number)}.sqlite"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORK, WORK, WORK)
def test_two_files_come_to_hold_the_same(place, before, here, there):
    with NotesStore(place(), write=True) as a, NotesStore(place(), write=True) as b:
        clock = [0]
        do(a, before, clock)
        import_lines(b, export_lines(a))
        assert content_of(a) == content_of(b)
        start = clock[0]
        do(a, here, clock)
        do(b, there, [start])
        ours, theirs = list(export_lines(a)), list(export_lines(b))
        import_lines(a, theirs)
        import_lines(b, ours)
        assert content_of(a) == content_of(b)
        again = content_of(a)
        assert import_lines(a, export_lines(b)).added == 0
        assert content_of(a) == again


def test_same_number_and_second_are_two_insights(place):
    with NotesStore(place(), write=True) as a, NotesStore(place(), write=True) as b:
        for store, text in ((a, "Tides turn at noon"), (b, "Ropes rot in salt")):
            Insights(store).add(text, now=stamp(0), linker=NOBODY, known=lambda name: False)
        import_lines(a, export_lines(b))
        assert {i.content for i in Insights(a).all()} == {"Tides turn at noon", "Ropes rot in salt"}


def test_what_was_deleted_does_not_come_back(place):
    with NotesStore(place(), write=True) as a, NotesStore(place(), write=True) as b:
        Insights(a).add("Tides turn at noon", now=stamp(0), linker=NOBODY, known=lambda name: False)
        Rules(a).save("tide", "never at noon", now=stamp(0))
        import_lines(b, export_lines(a))
        Insights(a).delete("TK-001", now=stamp(5))
        Rules(a).delete("tide", now=stamp(5))
        import_lines(a, export_lines(b))
        assert Insights(a).all() == []
        assert Rules(a).all() == []
        done = import_lines(b, export_lines(a))
        assert Insights(b).all() == []
        assert any("deleted there" in remark for remark in done.conflicts)
        Rules(b).save("tide", "only at noon", now=stamp(9))
        import_lines(a, export_lines(b))
        assert [r.content for r in Rules(a).all()] == ["only at noon"]


def test_an_export_of_the_first_version_is_read(place):
    lines = [
        {"format": "syntropy-notes", "version": 1},
        {
            "table": "entries",
            "id": 1,
            "type": "decision",
            "content": "old",
            "created_at": stamp(0),
            "updated_at": stamp(0),
        },
    ]
    with NotesStore(place(), write=True) as store:
        assert import_lines(store, map(json.dumps, lines)).added == 1
        assert import_lines(store, map(json.dumps, lines)).added == 0


def test_archived_notes_hide_no_others(place):
    with NotesStore(place(), write=True) as store:
        notes = Notes(store)
        for number in range(60):
            notes.save("decision", f"tide tide {number}", now=stamp(number))
        last = notes.save(
            "decision", "the tide of the far north turns late in the year, as every pilot knows", now=stamp(61)
        )
        for number in range(1, 61):
            notes.archive(number, now=stamp(62))
        assert [n.id for n, _ in notes.search("tide", limit=1)] == [last.id]
        notes.archive(5, now=stamp(63), archived=False)
        assert {n.id for n, _ in notes.search("tide", limit=5)} == {last.id, 5}


def test_a_note_that_was_moved_down_has_its_days_before_it(place):
    from datetime import UTC, datetime, timedelta

    day = datetime(2026, 3, 1, tzinfo=UTC)
    with NotesStore(place(), write=True) as store:
        notes = Notes(store)
        note = notes.save("issue", "the crane squeaks", now="2026-01-01T00:00:00Z")
        assert notes.maintain(now=day).demoted == 1
        assert notes.maintain(now=day + timedelta(days=1)).decayed == 0
        assert notes.maintain(now=day + timedelta(days=8)).decayed == 1
        pinned = notes.save("issue", "keep me", now="2026-01-01T00:00:00Z")
        notes.edit(pinned.id, now="2026-01-02T00:00:00Z", pinned=True)
        notes.maintain(now=day + timedelta(days=300))
        assert not notes.get(pinned.id).archived
        assert notes.get(note.id).archived


def test_credentials_are_not_kept(place):
    with NotesStore(place(), write=True) as store:
        note = Notes(store).save("reference", "the key is ghp_" + "aB3dE5fG7h" * 4, now=stamp(0))
        assert "[REDACTED:github-token]" in note.content
        assert "aB3dE5fG7h" not in "".join(export_lines(store))


def test_titles_of_texts_without_spaces():
    assert shortened("潮" * 300, 80) == "潮" * 79 + "…"
    assert shortened("https://x.example/" + "a" * 300, 80).startswith("https://x.example/aaa")
    assert shortened("one two three", 9) == "one two…"


def test_a_name_of_one_common_word_is_suggested_only():
    linker = Linker(
        [Entity("DP-012", "Proxy", ()), Entity("DP-018", "Observer Pattern", ()), Entity("LAW-9", "순환 복잡도", ())]
    )
    scores = lambda text: {link.entity: link.score for link in linker.links(text)}  # noqa: E731
    assert scores("use a proxy server for npm").get("DP-012", 0) < AUTO_LINK
    assert scores("we hid it behind a Proxy here")["DP-012"] == 1.0
    assert scores("the proxy pattern fits")["DP-012"] == 1.0
    assert scores("an observer pattern fits")["DP-018"] == 1.0
    assert scores("이 모듈의 순환 복잡도 가 높다")["LAW-9"] == 1.0


def test_a_handoff_that_repeats_is_left_out(place):
    with NotesStore(place(), write=True) as store:
        notes = Notes(store)
        recent = notes.save("progress", "Weighed all bins, shut the gate.", now=stamp(0))
        handoff = notes.save("handoff", "weighed all bins; SHUT THE GATE!", now=stamp(1))
        from syntropy.notes.rules_and_notes import Maintenance

        told = session([], [recent], handoff, Maintenance(0, 0, 0), budget=500)
        assert told.handoff == ""
        assert "潮" in note_line(recent.__class__(**{**vars(recent), "content": "潮" * 400}))


def test_meaning_is_had_by_default_where_there_is_an_encoder(demo_copy_with_notes):
    with syntropy.open_notes(demo_copy_with_notes) as notebook:
        notebook.add_insight("Retrying a webhook without a pause overloads the carrier")
        notebook.notes(write=True).save("issue", "The label printer stops when paper is damp", now=stamp(0))
        assert (
            notebook.search_insights("sending the webhook again and again at once is too much for the carrier")[
                0
            ].insight.id
            == "TK-001"
        )
        found = notebook.search_notes("moist sheets jam our stickers device")
        assert [note.type for note, _ in found] == ["issue"]
        assert notebook.notes().get(found[0][0].id).access_count == 1
        notebook.recall("moist sheets jam our stickers device")
        assert notebook.notes().get(found[0][0].id).access_count == 2
        assert notebook.search_notes("moist sheets jam our stickers device", semantic=False) == []


def test_the_verbs(demo_copy_with_notes, capsys):
    at = ["--project", str(demo_copy_with_notes)]
    run = lambda *words: main([*words, *at])  # noqa: E731
    assert run("insight", "add", "Tides turn at noon") == 0
    assert run("insight", "add", "So ships leave before") == 0
    assert run("insight", "relate", "TK-002", "derives_from", "TK-001") == 0
    assert run("insight", "relate", "TK-002", "derives_from", "TK-009") == 2
    assert run("notes", "save", "decision", "We sail at dawn") == 0
    assert run("notes", "edit", "1", "--text", "We sail at dusk", "--pin") == 0
    assert run("notes", "archive", "1") == 0
    capsys.readouterr()
    assert run("notes", "unarchive", "1", "--json") == 0
    note = json.loads(capsys.readouterr().out)
    assert (note["content"], note["pinned"], note["archived"]) == ("We sail at dusk", True, False)
    assert run("notes", "edit", "1", "--tags", "sea") == 0
    assert run("notes", "list") == 0
    assert "[decision, longterm, pinned] We sail at dusk  (sea)" in capsys.readouterr().out
    assert run("insight", "show", "TK-002") == 0
    assert "derives_from: TK-001" in capsys.readouterr().out
    assert run("graph", "neighbors", "TK-002", "--json") == 0
    assert "TK-001" in capsys.readouterr().out


@pytest.fixture
def demo_copy_with_notes(tmp_path, demo):
    """A project that has the demo's published knowledge, and no notes yet."""
    import shutil

    root = tmp_path / "project"
    root.mkdir()
    shutil.copy(demo / "syntropy.toml", root)
    shutil.copytree(demo / "build", root / "build")
    return root


def test_identities_are_unique(place):
    path = place()
    with NotesStore(path, write=True) as store:
        for _ in range(3):
            Notes(store).save("decision", "again", now=stamp(0))
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(DISTINCT uid) FROM syntropy_identity").fetchone()[0] == 3


def test_knowledge_that_cannot_be_opened_is_said_to_be(demo_copy_with_notes, capsys):
    import duckdb

    path = next((demo_copy_with_notes / "build").rglob("syntropy.duckdb"))
    path.chmod(0o644)
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'schema_version'")
    main(["graph", "neighbors", "RF-004", "--project", str(demo_copy_with_notes)])
    assert "left out" in capsys.readouterr().err


def test_a_rule_deleted_and_set_again_within_a_second_lives(place):
    with NotesStore(place(), write=True) as store:
        Rules(store).save("naming", "snake case", now=stamp(1))
        Rules(store).delete("naming", now=stamp(2))
        Rules(store).save("naming", "kebab case", now=stamp(2))
        lines = list(export_lines(store))
    with NotesStore(place(), write=True) as store:
        import_lines(store, lines)
        assert [r.content for r in Rules(store).all()] == ["kebab case"]
        import_lines(store, lines)
        assert [r.content for r in Rules(store).all()] == ["kebab case"]


ROWS = st.dictionaries(
    st.sampled_from(["table", "id", "uid", "type", "content", "created_at", "tags", "relations", "val", "entity_id", "label",
                     "from_id", "relation_type", "to_id", "confidence", "embedding", "link_provenance", "kind", "updated_at"]),
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.lists(st.integers(), max_size=2),
              st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
              st.sampled_from(["user_entities", "entries", "user_relations", "insight_seq", "syntropy_gone", "user_embeddings",
                               "TK-1", "[]", "{}", '{"see": ["TK-1"]}', '{"see": 5}', "rule", "note", stamp(1)])),
    max_size=12,
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROWS, max_size=4))
def test_rows_of_any_kind_are_stored_or_refused_with_a_word(place, rows):
    from syntropy.contract.errors import UsageError

    with NotesStore(place(), write=True) as store:
        head = next(iter(export_lines(store)))
        before = content_of(store)
        try:
            import_lines(store, [head, *(json.dumps(row) for row in rows)])
        except UsageError:
            assert content_of(store) == before
        Insights(store).all(superseded=True)
        Notes(store).all(archived=True)
