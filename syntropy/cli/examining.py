"""`syntropy doctor`: is everything there that building, reading and serving need, and does it fit together?"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from syntropy.cli.output import print_json, printable
from syntropy.contract.config import find_project
from syntropy.setup.diagnosis import examine


def doctor(given: argparse.Namespace) -> int:
    """0 if nothing is wrong, 1 if something is."""
    start = Path(given.project or os.environ.get("SYNTROPY_PROJECT") or ".")
    found = examine(find_project(start))
    if given.json:
        print_json([finding._asdict() for finding in found])
    else:
        for finding in found:
            print(printable(f"{finding.verdict:<7} {finding.subject}: {finding.text}"))
            if finding.hint and finding.verdict != "ok":
                print(printable(f"        {finding.hint}"))
    return 1 if any(finding.verdict == "wrong" for finding in found) else 0
