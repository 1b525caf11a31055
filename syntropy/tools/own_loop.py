"""Tools in one's own loop: what to tell a model, and how to run what it asks for."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ..read.knowledge import Knowledge
from . import formats
from .edition import Edition
from .table import of_groups
from .toolbox import Answer, Toolbox, checked_groups, default_groups

_boxes: WeakKeyDictionary[Knowledge, dict[tuple[str, ...], Toolbox]] = WeakKeyDictionary()


class _Held:
    """One open knowledge in the form in which a toolbox wants it; whoever opened it closes it."""

    problem = ""

    def __init__(self, knowledge: Knowledge) -> None:
        self._edition = Edition(knowledge)

    @contextlib.contextmanager
    def current(self) -> Iterator[Edition]:
        """The edition there is."""
        yield self._edition

    def warm(self) -> None:
        """Nothing: whoever opened it warms it (`Knowledge.prewarm`)."""

    def close(self) -> None:
        """Nothing: it is borrowed."""


def definitions(
    knowledge: Knowledge, form: str = "openai", *, groups: Sequence[str] = (), strict: bool = False
) -> list[dict[str, Any]]:
    """Function definitions of the tools of some groups, by default those that the knowledge has something for.

    `form`: openai, anthropic or json-schema. Raises UsageError for unknown groups.
    """
    wanted = checked_groups(groups) or default_groups(knowledge)
    return formats.definitions(of_groups(wanted), form, strict=strict)


def call(
    knowledge: Knowledge, name: str, arguments: Mapping[str, Any] | str | None = None, *, groups: Sequence[str] = ()
) -> Answer:
    """Run one tool: `answer.text` goes back to the model, `answer.structured` is the same as data.

    `arguments` as a mapping, or as the JSON a model wrote. Never raises for what a model can do wrong: the answer says
    what to do next then, and `answer.error` is true. Raises UsageError for unknown groups.
    """
    boxes = _boxes.setdefault(knowledge, {})
    wanted = checked_groups(groups)
    if wanted not in boxes:
        boxes[wanted] = Toolbox(_Held(knowledge), wanted)
    return boxes[wanted].call(name, parsed(arguments))


def parsed(arguments: Mapping[str, Any] | str | None) -> Any:
    """Arguments as a model wrote them; what is not JSON stays as it is, and is refused with what to do."""
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
