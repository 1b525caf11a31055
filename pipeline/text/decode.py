"""Bytes to text: UTF-8, UTF-16 by its byte order mark; NUL means binary, a few wrong bytes are replaced."""

from __future__ import annotations

import codecs
from typing import NamedTuple

from pipeline.ground.diagnostics import Problem

MAX_WRONG = 10
"""One wrong byte in so many is a text with a few foreign characters; more is not UTF-8 at all."""

REPLACEMENT = "\ufffd"


class UndecodableError(ValueError):
    """The bytes are not text we accept; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Decoded(NamedTuple):
    """`text` without its byte order mark, line ends untouched; `problem` where bytes had to be replaced."""

    text: str
    problem: Problem | None = None


def decode(data: bytes) -> Decoded:
    """The text; bytes that are not text become U+FFFD and a problem. Raises UndecodableError where it is not text."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            found = _decoded(data[len(mark) :], encoding, 2)
            if "\0" in found.text:
                raise UndecodableError(Problem("binary", 0, "holds NUL characters", "exclude it, or save it as text"))
            return found
    if b"\0" in data:
        raise UndecodableError(Problem("binary", 0, "holds NUL bytes", "exclude it under [sources].exclude"))
    return _decoded(data.removeprefix(codecs.BOM_UTF8), "utf-8", 1)


def _decoded(data: bytes, encoding: str, unit: int) -> Decoded:
    try:
        return Decoded(data.decode(encoding))
    except UnicodeDecodeError as error:
        text = data.decode(encoding, "replace")
        wrong = text.count(REPLACEMENT)
        line = data[: error.start].decode(encoding, "replace").count("\n") + 1
        what = f"byte 0x{data[error.start]:02x} at offset {error.start} is not {encoding.upper()}"
        hint = "save the file as UTF-8"
        if wrong * MAX_WRONG * unit > len(data):
            raise UndecodableError(Problem("bad-encoding", line, f"{what}, nor is the rest", hint)) from error
        times = f"{wrong} characters were replaced" if wrong > 1 else "it was replaced"
        return Decoded(text, Problem("bad-encoding", line, f"{what}; {times}, the rest is indexed", hint))


def is_clean_name(name: str) -> bool:
    """Is it UTF-8 without control characters?"""
    return name.isprintable() and not any("\ud800" <= ch <= "\udfff" for ch in name)


def well_formed(text: str) -> str:
    """The text with lone surrogates replaced: half an emoji of a JSON or Python string cannot be stored."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(REPLACEMENT if "\ud800" <= ch <= "\udfff" else ch for ch in text)
    return text
