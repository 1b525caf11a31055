"""Every error a user can meet: what happened, with which value, what to do next.

All of them derive from :class:`SyntropyError`, carry a `hint` (the next step) and an `exit_code`
that the command line returns.
"""

from __future__ import annotations

from collections.abc import Sequence


class SyntropyError(Exception):
    """Base of all errors raised on purpose.

    `message` says what happened with which value; `hint` says what to do next; `names` are names out of
    documents that the hint is about.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.names = tuple(names)

    def __str__(self) -> str:
        hint = self.advice()
        return f"{self.message}\n  {hint}" if hint else self.message

    def advice(self) -> str:
        """The hint with the names it is about."""
        return f"{self.hint}: {'; '.join(self.names)}" if self.names else self.hint


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
