"""What a condition tests the typed input for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from pipeline.formats.typed_input import Known, Line, Text, Value, Values, Word, bare
from pipeline.formats.typescript import literal, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


class Test(NamedTuple):
    """A word that was compared (None: the whole line) with texts; `prefix` where the line only begins with them."""

    place: int | None
    labels: list[str]
    prefix: bool = False

    def fixes(self, label: str) -> dict[int, str]:
        """The words of the input that are known where the test held for a label."""
        return {self.place: label} if self.place is not None else dict(enumerate(label.split()))


class Tests:
    """Tests in a file with these values and lists of texts by name."""

    def __init__(self, values: Values, constants: Mapping[str, str], arrays: Mapping[str, Node]) -> None:
        self._values, self._constants, self._arrays = values, constants, arrays

    def all_of(self, condition: Node, env: Mapping[str, Value], known: Known) -> list[Test]:
        """The comparisons of a condition that must all hold: those of `of` on either side of `&&`."""
        condition = bare(condition)
        operator = condition.child_by_field_name("operator")
        sides = [condition.child_by_field_name(side) for side in ("left", "right")]
        if operator is not None and text_of(operator) == "&&":
            return [test for side in sides if side is not None for test in self.all_of(side, env, known)]
        test = self.of(condition, env, known)
        return [test] if test is not None else []

    def of(self, condition: Node, env: Mapping[str, Value], known: Known) -> Test | None:
        """The comparison of one word (or the line) with texts that a condition is, or holds beside others."""
        condition = bare(condition)
        if condition.type == "call_expression":
            return self._of_call(condition, env, known)
        operator = condition.child_by_field_name("operator")
        left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
        if condition.type != "binary_expression" or operator is None or left is None or right is None:
            return None
        sign = text_of(operator)
        if sign in ("||", "&&"):
            tests = [self.of(side, env, known) for side in (left, right)]
            if sign == "&&":
                return tests[0] or tests[1]
            if tests[0] is None or tests[1] is None or tests[0].place != tests[1].place:
                return None
            return Test(tests[0].place, tests[0].labels + tests[1].labels, tests[0].prefix and tests[1].prefix)
        if sign not in ("===", "=="):
            return None
        values = [self._values.of(side, env, known) for side in (left, right)]
        if isinstance(values[0], Text):
            values.reverse()
        word, text = values
        if not isinstance(text, Text) or not text.value.strip() or text.value.startswith("-"):
            return None
        if isinstance(word, Word):
            return Test(word.place, [text.value])
        return Test(None, [text.value.strip()]) if isinstance(word, Line) else None

    def is_refuted(self, condition: Node | None, env: Mapping[str, Value], known: Known) -> bool:
        """Does a condition compare a text of this source with another one?"""
        if condition is None:
            return False
        condition = bare(condition)
        operator = condition.child_by_field_name("operator")
        if condition.type != "binary_expression" or operator is None or text_of(operator) not in ("===", "=="):
            return False
        values = [self._values.of(condition.child_by_field_name(side), env, known) for side in ("left", "right")]
        return all(isinstance(v, Text) for v in values) and values[0] != values[1]

    def _of_call(self, node: Node, env: Mapping[str, Value], known: Known) -> Test | None:
        """`['quit', 'exit'].includes(cmd)`, `line.startsWith('go ')`."""
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or given is None or not given.named_children or called.type != "member_expression":
            return None
        name, of = text_of(called.child_by_field_name("property") or called), called.child_by_field_name("object")
        if of is None:
            return None
        argument = self._values.of(given.named_children[0], env, known)
        if name == "startsWith":
            line = self._values.of(of, env, known)
            if isinstance(line, Line) and isinstance(argument, Text) and argument.value.strip():
                return Test(None, [argument.value.strip()], prefix=True)
            return None
        if name != "includes" or not isinstance(argument, Word):
            return None
        texts = literal(self._arrays.get(text_of(of), of), self._constants)
        found = [t for t in texts if isinstance(t, str) and t] if isinstance(texts, list) else []
        return Test(argument.place, found) if found and not any(t.startswith("-") for t in found) else None
