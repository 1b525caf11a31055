"""`syntropy doctor`: is everything there that building, reading and serving need, and does it fit together?"""

from __future__ import annotations

import argparse

from syntropy.cli.output import print_json, printable
from syntropy.cli.place import locate
from syntropy.setup.diagnosis import examine


def doctor(given: argparse.Namespace) -> int:
    """0 if nothing is wrong, 1 if something is."""
    found = examine(locate(given).found_root)
    if given.json:
        print_json([finding._asdict() for finding in found])
    else:
        for finding in found:
            print(printable(f"{finding.verdict:<7} {finding.subject}: {finding.text}"))
            if finding.hint and finding.verdict != "ok":
                print(printable(f"        {finding.hint}"))
    return 1 if any(finding.verdict == "wrong" for finding in found) else 0
