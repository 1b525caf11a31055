"""What only a terminal gets: colours, passages with their lines, links an editor opens, progress.

Rich comes with the builder; where it is missing, or output goes to a pipe or a file, text stays plain.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syntropy.cli.output import printable

if TYPE_CHECKING:
    from rich.console import Console

    from syntropy.search.passages import Hit

LINES = 6
"""Lines of a passage that a hit shows."""


def console() -> Console | None:
    """A console if standard output is a terminal that can show more than plain text (NO_COLOR is minded by rich)."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb" or importlib.util.find_spec("rich") is None:
        return None
    from rich.console import Console  # 0.1 s, and only people at a terminal look at it

    return Console(highlight=False)


def show_hit(console: Console, hit: Hit, root: Path | None, more: Iterable[str]) -> None:
    """A hit: place as editors open it, title and headings, and the lines of the passage with the words in bold."""
    from rich.text import Text

    citation = hit.citation
    first, lines = _excerpt(hit)
    place = f"{citation.path}:{citation.line_start + first}"
    file = root / citation.path if root is not None and citation.package == "project" else None
    heading = hit.headings.rpartition(" > ")[2]
    link = f"link file://{file}" if file is not None and file.is_file() else ""
    head = Text.assemble(
        (f"{hit.score:.2f} ", "dim"),
        (printable(place), f"bold cyan {link}".strip()),
        ("  ", ""),
        (printable(hit.title), "bold"),
        (f" › {printable(heading)}" if heading and hit.title not in heading else "", ""),
        (f"  [{hit.kind}, lines {citation.line_start}-{citation.line_end}]", "dim"),
    )
    console.print(head, soft_wrap=True)
    words = sorted({hit.snippet[a:b] for a, b in hit.highlights}, key=len, reverse=True)
    for line in lines:
        shown = Text(f"    {printable(line)}", no_wrap=True, overflow="ellipsis")
        if words:
            shown.highlight_regex(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", "bold yellow")
        console.print(shown, no_wrap=True, overflow="ellipsis", crop=True)
    for text in more:
        console.print(Text(f"    {printable(text)}", "dim"))
    console.print()


def _excerpt(hit: Hit) -> tuple[int, list[str]]:
    """(line it begins on, from 0; lines): the stretch of the passage in which most of the found words stand."""
    lines = hit.text.expandtabs(4).splitlines()
    words = {hit.snippet[a:b] for a, b in hit.highlights}
    counts = [len({word for word in words if word in line}) for line in lines]
    best = max(range(len(lines)), key=lambda n: (sum(counts[n : n + LINES]), -n), default=0)
    while best < len(lines) - 1 and not lines[best].strip():
        best += 1
    found = lines[best : best + LINES]
    while found and not found[-1].strip():
        found.pop()
    return best, found


class Progress:
    """How a build goes: a line that changes on a terminal; single lines elsewhere, or nothing."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self._quiet, self._verbose = quiet, verbose
        self._live = sys.stderr.isatty() and not quiet and importlib.util.find_spec("rich") is not None
        self._bar: Any = None
        self._task: Any = None
        self._stage, self._since = "", time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.stage("")
        if self._bar is not None:
            self._bar.stop()

    def stage(self, name: str) -> None:
        """A step begins; the former one has ended."""
        now = time.monotonic()
        if self._verbose and self._stage:
            print(f"{self._stage}: {now - self._since:.2f} s", file=sys.stderr)
        self._stage, self._since = name, now
        if self._live and name:
            self._started().update(self._task, description=name.replace("_", " "), total=None, completed=0)

    def advance(self, done: int, total: int) -> None:
        """How far the step is."""
        if self._live:
            self._started().update(self._task, total=total, completed=done)

    def say(self, text: str) -> None:
        """One line for people, above the line that changes."""
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.console.print(f"syntropy: {text}", markup=False, highlight=False, soft_wrap=True)
        else:
            print(f"syntropy: {text}", file=sys.stderr)

    def _started(self) -> Any:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                TaskProgressColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self._bar
