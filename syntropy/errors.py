"""Every error a user can meet: what happened, with which value, what to do next.

All of them derive from :class:`SyntropyError`, carry a `hint` (the next step) and an `exit_code`
that the command line returns.
"""

from __future__ import annotations


class SyntropyError(Exception):
    """Base of all errors raised on purpose.

    `message` says what happened with which value; `hint` says what to do next.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class ConfigError(SyntropyError):
    """A configuration file, environment variable or flag holds something we cannot follow."""

    exit_code = 2


class UsageError(SyntropyError):
    """A call's arguments do not fit together."""

    exit_code = 2


class ProjectNotFoundError(SyntropyError):
    """No `syntropy.toml` here or in any folder above."""

    exit_code = 2


class DatabaseError(SyntropyError):
    """The search database is missing, damaged, or of another schema version."""

    exit_code = 3


class EncoderError(SyntropyError):
    """Semantic search is impossible: the query encoder is missing or does not match the vectors."""

    exit_code = 4


class DocumentNotFoundError(SyntropyError):
    """No document has this path (or the section or lines asked for)."""

    exit_code = 5


class MissingDependencyError(SyntropyError):
    """An optional part of Syntropy is not installed; the hint names the extra."""

    exit_code = 6


class BuildError(SyntropyError):
    """The build stopped. The artifacts published before are untouched."""

    exit_code = 7


class LockHeldError(BuildError):
    """Another build of the same project or output folder is running."""

    exit_code = 8
