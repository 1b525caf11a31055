"""A store with a few canonical entities of its own."""

import pytest

from syntropy.notes.note_links import Entity, Linker
from syntropy.notes.notebook import Notebook

ENTITIES = [
    Entity("LAW-017", "Conway's Law", ("콘웨이의 법칙", "도메인 경계"), ("architecture",), "Systems mirror teams."),
    Entity("DP-026", "Strangler Fig", ("마이크로서비스 분리",), ("migration",), "Replace a system piece by piece."),
    Entity("RF-004", "Extract Class", (), ("classes",), "Divide a class."),
    Entity("SMELL-03", "Large Class", ("God Class",), ("classes",), "A class that does too much."),
]
KOREAN = "마이크로서비스 분리 시 도메인 경계를 먼저 식별하기로 결정"


@pytest.fixture
def memory(tmp_path):
    with Notebook(tmp_path / "notes.sqlite", None, clock=lambda: "2026-11-22T10:00:00Z") as made:
        made.__dict__["linker"] = Linker(ENTITIES)
        made.known = lambda name: any(e.id == name for e in ENTITIES)
        yield made
