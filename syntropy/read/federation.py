"""Several databases asked as one: frequencies are added up, scores are comparable, and each hit says whose it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from ..contract.config import CONFIG_NAME
from ..contract.errors import ConfigError, UsageError
from ..contract.published import DATABASE, PUBLISHING
from ..search.absence import why_absent
from ..search.engine import EngineName
from ..search.ranking import Results, run
from ..search.united import UnitedEngine
from .knowledge import Knowledge, SearchOptions, open_knowledge


@dataclass(frozen=True)
class FederatedResults(Results):
    """Hits of all databases in one order. `warnings` and `without` (why a database has no answer) by its name."""

    warnings: Mapping[str, str] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)


class Federation:
    """Open databases by name; the first one's settings hold, and the encoder of the first with vectors.

    A context manager; closing closes all.
    """

    def __init__(self, members: Mapping[str, Knowledge]) -> None:
        """Raises UsageError for none at all."""
        if not members:
            raise UsageError("no database was given", hint="give at least one")
        self.members = dict(members)
        self._first = next(iter(self.members.values()))
        models = [member.meta.get("model_fingerprint", "") for member in self.members.values()]
        self._leader = next((m for m in self.members.values() if m.meta.get("model_fingerprint")), self._first)
        self._same_model = [bool(model) and model == self._leader.meta["model_fingerprint"] for model in models]
        self._engine: UnitedEngine | None = None

    def __enter__(self) -> Federation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def engine(self) -> UnitedEngine:
        """What ranks over all of them."""
        if self._engine is None:
            engines = {name: member.engine for name, member in self.members.items()}
            self._engine = UnitedEngine(engines, self._same_model)
        return self._engine

    def search(self, query: str, **options: Unpack[SearchOptions]) -> FederatedResults:
        """The best passages of all databases, in one order; `options` are those of `Knowledge.search`."""
        request = self._first.request(query, **options)
        with self._first.turns:
            found = run(self.engine, request, encoder=self._leader.query_encoder)
        said = {n: (member.stale_warning(), member.database.notice) for n, member in self.members.items()}
        warnings = {name: "; ".join(filter(None, parts)) for name, parts in said.items() if any(parts)}
        if found.mode in ("hybrid", "semantic"):
            for (name, member), same in zip(self.members.items(), self._same_model, strict=True):
                if not same:
                    other = bool(member.meta["model_fingerprint"])
                    why = "its vectors are of another model" if other else "it has no vectors"
                    warnings[name] = "; ".join(filter(None, (f"answered by words only: {why}", warnings.get(name))))
        named = [f"{name}: {warning}" for name, warning in warnings.items()]
        without = {name: why for name in self.members if (why := self._why_without(name, found, request.settings))}
        values = {f.name: getattr(found, f.name) for f in fields(Results)}
        values["warning"] = "; ".join(filter(None, (found.warning, *named)))
        return FederatedResults(**values, warnings=warnings, without=without)

    def _why_without(self, name: str, found: Results, settings: Any) -> str:
        """Why a database has no answer: of its own best hit, or that none is among the best."""
        if found.not_here:
            return found.not_here
        own = [hit for hit in found.hits if hit.database == name]
        if not own:
            return "none of its passages is among the best"
        if {"title-exact", "alias", "file"} & set(own[0].matched_on):
            return ""
        return why_absent(own[0].score, self.members[name].engine.threshold(found.mode, settings), (), 0.0)

    def close(self) -> None:
        """Close every database."""
        for member in self.members.values():
            member.close()


def open_member(name: str, place: str, base: Path, engine: EngineName = "auto") -> Knowledge:
    """A database by a project, folder of artifacts or database file, relative to `base`.

    Raises ConfigError for a place that is none of these, and DatabaseError.
    """
    path = (base / Path(place).expanduser()).resolve()
    hint = "name a project, its output folder or a database"
    if not path.exists():
        raise ConfigError(f"{name}: {path} does not exist", hint=hint)
    if path.is_dir() and not any((path / known).exists() for known in (CONFIG_NAME, DATABASE, PUBLISHING)):
        raise ConfigError(f"{name}: {path} is not a project and holds no published knowledge", hint=hint)
    return open_knowledge(path, engine=engine)


def require_names(names: Sequence[str]) -> None:
    """Raises UsageError where two databases have one name."""
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two databases are called {name}", hint="name one of them: --with NAME=PLACE")
