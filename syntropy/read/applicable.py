"""Which rules are about given files: their patterns, read as git reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..contract.distribution import install_command
from ..contract.errors import MissingDependencyError
from ..contract.identity import normalize_path
from .knowledge import Rule

_SKILL = "skill:"


def about(rules: Iterable[Rule], files: Sequence[str]) -> list[Rule]:
    """Rules whose patterns one of the files (paths below the project's root) matches; rules without patterns are not.

    Raises MissingDependencyError where patterns are to be read and pathspec is not installed.
    """
    wanted = [normalize_path(file).lstrip("/") for file in files]
    return [rule for rule in rules if wanted and _matches(rule.applies_to, wanted)]


def _matches(patterns: Sequence[str], files: Sequence[str]) -> bool:
    wanted = [pattern for pattern in patterns if not pattern.startswith(_SKILL)]
    if not wanted:
        return False
    try:
        from pathspec import GitIgnoreSpec
    except ImportError as error:
        raise MissingDependencyError(
            "rules for files need pathspec, which is not installed", hint=install_command("serve")
        ) from error
    return any(True for _ in GitIgnoreSpec.from_lines(wanted).match_files(files))
