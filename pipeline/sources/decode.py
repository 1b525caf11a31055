"""Bytes to text: UTF-8 strictly, UTF-16 by its byte order mark, NUL means binary."""

from __future__ import annotations

import codecs


class UndecodableError(ValueError):
    """The bytes are no text we accept; `code` and `hint` go into the diagnostic, `line` is 1-based."""

    def __init__(self, code: str, message: str, hint: str, line: int = 0) -> None:
        super().__init__(message)
        self.code, self.hint, self.line = code, hint, line


def decode(data: bytes) -> str:
    """The text without its byte order mark, line ends untouched; raises UndecodableError."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            try:
                text = data[len(mark) :].decode(encoding)
            except UnicodeDecodeError as error:
                raise UndecodableError(
                    "bad-encoding", f"{encoding} by its byte order mark, but {error.reason}", "save the file as UTF-8"
                ) from error
            if "\0" not in text:
                return text
            raise UndecodableError("binary", "holds NUL characters", "exclude it, or save it as text")
    if b"\0" in data:
        raise UndecodableError("binary", "holds NUL bytes", "exclude it under [sources].exclude")
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UndecodableError(
            "bad-encoding",
            f"byte 0x{data[error.start]:02x} at offset {error.start} is no UTF-8",
            "save the file as UTF-8",
            line,
        ) from error


def is_clean_name(name: str) -> bool:
    """Is it UTF-8 without control characters?"""
    return name.isprintable() and not any("\ud800" <= ch <= "\udfff" for ch in name)
