"""Commands about the command line and its file: completions and the JSON Schema."""

from __future__ import annotations

import argparse
import importlib.util

from syntropy import __version__
from syntropy.cli.output import print_json
from syntropy.contract.config import json_schema
from syntropy.contract.distribution import install_command
from syntropy.contract.errors import MissingDependencyError


def completion(given: argparse.Namespace) -> int:
    """Print a completion script."""
    if importlib.util.find_spec("shtab") is None:
        raise MissingDependencyError(
            "completions need shtab, which is not installed", hint=install_command("build-lite")
        )
    import shtab

    from syntropy.cli.parser import build_parser

    print(shtab.complete(build_parser(__version__), shell=given.shell))
    return 0


def schema(given: argparse.Namespace) -> int:
    """Print the JSON Schema."""
    print_json(json_schema())
    return 0
