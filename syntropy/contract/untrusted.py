"""Indexed text on its way to a model: nothing invisible in it, and its end cannot be forged.

A document may hold instructions that people do not see (tag characters, zero-width and bidirectional
controls, terminal sequences), or text that looks like the end of the quotation it stands in.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])|\x9b[0-?]*[ -/]*[@-~]?")
"""Terminal sequences of ECMA-48: CSI and OSC with what follows, and two-letter escapes."""

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad"  # controls, soft hyphen
    "\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"  # zero width, bidirectional, fillers
    "\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"  # surrogates, private use, marks
    "\U00016fe4\U0001d159\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe\U0003ffff"  # without a shape; no characters
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"  # tags, selectors, private use
)
"""Unicode's categories Cc, Cf, Cs and Co but for line feed and tab; variation selectors; letters without a shape."""

_CLEAN = re.compile(r"[\n\t -~]*")


class Data(str):
    """Text out of the index that an answer quotes: `sealed` puts it between marks."""

    __slots__ = ()


def visible(text: str) -> str:
    """The text without what nobody sees; the number of its lines stays."""
    if _CLEAN.fullmatch(text):
        return text
    return _INVISIBLE.sub("", _ANSI.sub("", _LINE_ENDS.sub(_line_end, text)))


def _line_end(match: re.Match[str]) -> str:
    return "\n" if match.group() == "\r\n" else " "


def sealed(answer: Mapping[str, Any]) -> dict[str, Any]:
    """A copy whose strings are visible text, and whose `Data` stands between `<data-…>` marks.

    The mark is a digest that occurs in none of the texts, so no text can close it: the same answer has
    the same mark.
    """
    cleaned: dict[str, Any] = _cleaned(answer)
    quoted = list(_quoted(cleaned))
    return _fenced(cleaned, _mark(quoted)) if quoted else cleaned


def fenced(text: str) -> str:
    """One text between marks of its own."""
    plain = visible(text)
    return _between(plain, _mark([plain]))


def _quoted(value: object) -> Iterable[str]:
    if isinstance(value, Data):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _quoted(item)


def _mark(texts: Sequence[str]) -> str:
    state = hashlib.sha256("\0".join(texts).encode("utf-8", "replace"))
    while True:
        mark = f"data-{state.hexdigest()[:6]}"
        if not any(mark in text for text in texts):
            return mark
        state.update(b"again")


def _cleaned(value: Any) -> Any:
    """Plain data with visible strings; `Data` stays `Data`."""
    if isinstance(value, str):
        return Data(visible(value)) if isinstance(value, Data) else visible(value)
    if isinstance(value, Mapping):
        return {visible(key): _cleaned(item) for key, item in value.items()}
    return [_cleaned(item) for item in value] if isinstance(value, Sequence) else value


def _fenced(value: Any, mark: str) -> Any:
    if isinstance(value, Data):
        return _between(value, mark)
    if isinstance(value, dict):
        return {key: _fenced(item, mark) for key, item in value.items()}
    return [_fenced(item, mark) for item in value] if isinstance(value, list) else value


def _between(text: str, mark: str) -> str:
    return f"<{mark}>\n{text}\n</{mark}>" if "\n" in text else f"<{mark}>{text}</{mark}>"
