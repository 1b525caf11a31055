"""Commands that read published knowledge."""

from __future__ import annotations

import argparse
import sys

from syntropy.cli.output import printable, show, warn
from syntropy.cli.place import locate, opened, owner_of
from syntropy.contract.identity import CITED_LINES
from syntropy.contract.published import verify_files
from syntropy.read.documents import line_range
from syntropy.read.knowledge import Knowledge, open_knowledge


def doc(given: argparse.Namespace) -> int:
    """Print a document; a citation's lines count as --lines."""
    path, span = given.path, given.lines
    if span is None and (match := CITED_LINES.search(path)):
        path, span = path[: match.start()], f"{match['start']}-{match['end'] or match['start']}"
    with owner_of(given, path) as (knowledge, path):
        _warn_if_stale(knowledge)
        document = {"system": knowledge.system_doc, "user": knowledge.user_doc}.get(given.scope, knowledge.document)(
            path
        )
        if span:
            start, end = line_range(span)
            excerpt = knowledge.lines(f"{document.package}:{document.path}", start, end)
            show(given, excerpt.as_dict(), lambda: print(printable(excerpt.text)))
            return 0
    if document.namesakes:
        warn(printable(f"opened {document.path}; the key is also that of {', '.join(document.namesakes)}"))
    if document.copies:
        warn(printable(f"opened {document.path}; copies of it: {', '.join(document.copies)}"))
    show(given, document.as_dict(), lambda: sys.stdout.write(printable(document.text)))
    return 0


def section(given: argparse.Namespace) -> int:
    """Print a section."""
    with owner_of(given, given.path) as (knowledge, path):
        _warn_if_stale(knowledge)
        excerpt = knowledge.section(path, given.heading)
    show(given, excerpt.as_dict(), lambda: print(printable(excerpt.text)))
    return 0


def rules(given: argparse.Namespace) -> int:
    """List rules by file."""
    with opened(given) as knowledge:
        _warn_if_stale(knowledge)
        found = knowledge.rules(scope=given.scope, severity=given.severity)

    def lines() -> None:
        for rule in found:
            scope = f"({', '.join(rule.applies_to)}) " if rule.applies_to else ""
            print(f"{rule.severity:<9}  {printable(f'{rule.path}#L{rule.line}')}  {printable(scope + rule.text)}")

    show(given, [rule.as_dict() for rule in found], lines)
    return 0


def drift(given: argparse.Namespace) -> int:
    """Show drift."""
    with opened(given) as knowledge:
        report = knowledge.drift()

    def lines() -> None:
        print(f"drift {report.score:.4f}: {len(report.violations)} of {report.claims} claims do not hold")
        for violation in report.violations:
            place = f"{violation.path}#L{violation.line}" if violation.line else violation.path
            print(f"{violation.type}  {printable(place)}  {printable(violation.message)}")

    show(given, report.as_dict(), lines)
    return 0


def verify(given: argparse.Namespace) -> int:
    """0 if every digest holds, 1 if not. With --db, the folder around the file."""
    out = locate(given).artifacts
    problems = verify_files(out)
    documents = ""
    if not problems:
        with open_knowledge(out=out) as knowledge:  # opens, has our schema, is the one of the manifest
            documents = knowledge.meta["documents"]
    whole = f"{out}: all artifacts are whole ({documents} documents)"
    value = {"out": str(out), "ok": not problems, "problems": problems}
    show(given, value, lambda: print("\n".join(problems) or whole))
    return 1 if problems else 0


def _warn_if_stale(knowledge: Knowledge) -> None:
    found = knowledge.staleness()
    if found is not None:
        warn(found.message())
