"""The command line: parses, calls one use case, prints. No logic of its own.

Exit codes: 0 all is well; 1 nothing found, or a check failed; 2 bad configuration or arguments; from 3
on one for each kind of error (`syntropy.contract.errors`).
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from syntropy import __version__
from syntropy.cli.parser import build_parser
from syntropy.contract.errors import SyntropyError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; never raises for what a user can cause."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = build_parser(__version__, words)
    given = parser.parse_args(words)
    if not getattr(given, "run", None):
        getattr(given, "group", parser).print_help()
        return 2
    module, _, function = given.run.rpartition(".")
    try:
        return _call(module, function, given)
    except SyntropyError as error:
        print(f"syntropy: {error.message}", file=sys.stderr)
        if advice := error.advice():
            print(f"  {advice}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # the reader of our output left (`| head`); Python would complain again when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"syntropy: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("syntropy: interrupted", file=sys.stderr)
        return 130


def _call(module: str, function: str, given: argparse.Namespace) -> int:
    command = getattr(importlib.import_module(f"syntropy.cli.{module}"), function)
    return int(command(given))
