"""Printing: plain text for people, JSON for programs. Warnings go to standard error."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any


def print_json(value: Any) -> None:
    """Two-space indented JSON with a fixed order of keys (the value's own)."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def show(given: argparse.Namespace, value: object, text: Callable[[], object]) -> None:
    """A result: `value` as JSON where that is asked for, else what `text` prints."""
    if given.json:
        print_json(value)
    else:
        text()


def warn(message: str) -> None:
    """A line on standard error, if there is anything to say."""
    if message:
        print(f"syntropy: {message}", file=sys.stderr)


def printable(text: str) -> str:
    """Text without control characters that would steer a terminal (indexed text is not ours)."""
    return "".join(ch if ch in "\n\t" or ch.isprintable() else "\ufffd" for ch in text.replace("\r\n", "\n"))


def split(text: str) -> list[str]:
    """The parts of "a, b", without blanks and empty ones."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]
