"""`syntropy problems`: what a build found wrong, without building."""

from __future__ import annotations

import argparse
from pathlib import Path

from syntropy.cli.output import print_json, printable, warn
from syntropy.cli.place import opened
from syntropy.read.problems import as_annotation, as_sarif, by_code, hint_of, read_problems

_PLACES = 10
"""Places shown of one code, unless one is asked for."""


def problems(given: argparse.Namespace) -> int:
    """0 if there are none (of those asked for), 1 if there are."""
    with opened(given) as knowledge:
        ignore = () if given.ignored else knowledge.config.problems.ignore
        found = read_problems(knowledge.database, ignore=ignore, codes=given.codes, path=given.path, infos=given.info)
        prefix = _in_repository(knowledge.project)
        known = {problem.code for problem in read_problems(knowledge.database, infos=True)}
    if given.sarif:
        print_json(as_sarif(found, prefix))
    elif given.json:
        print_json([problem._asdict() for problem in found])
    elif given.github:
        for problem in found:
            print(printable(as_annotation(problem, prefix)))
    else:
        groups = by_code(found)
        for code, members in groups.items():
            hint, kind = hint_of(members), members[0].severity
            what = f"{len(members)} {kind}{'s' if len(members) > 1 and kind != 'info' else ''}"
            print(f"{code} ({what}){': ' if hint else ''}{hint}")
            shown = members if given.codes or given.path else members[:_PLACES]
            for problem in shown:
                print(printable(f"  {problem.place}: {problem.message}" + ("" if hint else f" ({problem.hint})")))
            if len(members) > len(shown):
                print(f"  … {len(members) - len(shown)} more: syntropy problems --code {code}")
        if not found:
            print("no problems" + (" of these codes or paths" if given.codes or given.path else ""))
    if given.codes and (strange := sorted(set(given.codes) - known)):
        warn(
            f"this build has no problem of the code {', '.join(strange)}; it has: {', '.join(sorted(known)) or 'none'}"
        )
    return 1 if found else 0


def _in_repository(project: Path | None) -> str:
    """The project's folder below the repository's top, as paths of annotations begin; empty where they are the same."""
    root = project.resolve() if project else None
    top = next((p for p in (root, *root.parents) if (p / ".git").exists()), root) if root else None
    below = root.relative_to(top).as_posix() if root and top else "."
    return "" if below == "." else f"{below}/"
