"""The house: rooms, imports and file names as they stand, and what a rebuild of one Markdown file walks through.

Plans and figures of 2026-11 (docs/decisions/0021) are in `BEFORE` and `GOALS`; a test holds what can be held exactly.
"""

from __future__ import annotations

import ast
import sys
import tempfile
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.common import ROOT, save
from pipeline.ground.imports import imported_names

PACKAGES = ("syntropy", "pipeline", "assets")

BEFORE = {
    "flat modules at the top of syntropy": 42,
    "floors of syntropy": 15,
    "arrows between its rooms": 187,
    "modules named by hand in the import contract": 40,
    "file names that occur twice": 14,
    "longest run-time import chain": 15,
    "moves between modules": 922,
    "modules entered": 63,
    "configuration loaded": 22,
    "stage records read": 165,
    "Parquet reads": 61,
    "documents read whole": 6,
    "product lines": 22_600,
    "test lines a product line": 0.35,
}
"""As counted in 2026-11 before the second plan; moves were counted by another tool."""

GOALS = {
    "flat modules at the top of syntropy": 2,
    "floors of syntropy": 9,
    "arrows between its rooms": 35,
    "arrows that run back up": 0,
    "modules named by hand in the import contract": 0,
    "file names that occur twice": 0,
    "longest run-time import chain": 9,
    "moves between modules": 300,
    "modules entered": 35,
    "configuration loaded": 1,
    "stage records read": 30,
    "Parquet reads": 15,
    "documents read whole": 1,
    "product lines": 19_500,
    "test lines a product line": 0.6,
}


def main() -> None:
    """Today's figures beside those of before and the goals."""
    found = {**structure(), **rebuild()}
    save("house", {"figures": found, "before": BEFORE, "goals": GOALS})


def structure() -> dict[str, float]:
    """What imports, names and lines say; nothing is run."""
    modules = _modules()
    imports = _imports(modules)
    rooms = {(_room(a), _room(b)) for a, targets in imports.items() for b in targets if _room(a) != _room(b)}
    within = {pair for pair in rooms if all(room.startswith("syntropy.") for room in pair)}
    floors = _floors(within)
    names = Counter(path.name for path in modules.values() if not path.name.startswith("__"))
    product = sum(_lines(path) for path in modules.values()) + sum(
        _lines(path) for name in PACKAGES for path in (ROOT / name).rglob("*.jinja")
    )
    tests = [path for path in (ROOT / "tests").rglob("*.py") if "node_modules" not in path.parts]
    return {
        "flat modules at the top of syntropy": len(list((ROOT / "syntropy").glob("*.py"))),
        "floors of syntropy": max(floors.values()),
        "arrows between its rooms": len(within),
        "arrows that run back up": sum(floors[a] <= floors[b] for a, b in within),
        "modules named by hand in the import contract": _named_by_hand(),
        "file names that occur twice": sum(count > 1 for count in names.values()),
        "longest run-time import chain": _longest(imports),
        "product lines": product,
        "test lines a product line": round(sum(_lines(path) for path in tests) / product, 2),
    }


def rebuild() -> dict[str, int]:
    """What a build of one changed Markdown file does: a project of one page, without vectors."""
    from assets.run import build
    from pipeline.engine.records import Records

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "docs").mkdir()
        for number in range(1):
            (root / f"docs/{number}.md").write_text(f"# Page {number}\n\n## Part\n\nAbout parcels, number {number}.\n")
        (root / "syntropy.toml").write_text("[embed]\nenabled = false\n")
        build(root)
        (root / "docs/0.md").write_text("# Page 0\n\n## Part\n\nAbout retries, see [8](8.md).\n")
        with _Watch(Records) as watch:
            build(root)
    return watch.figures()


class _Watch:
    """Counts calls between our modules, and reads of what is expensive."""

    def __init__(self, records: Any) -> None:
        self._records = records
        self._moves, self._entered, self._counts = 0, set[str](), Counter[str]()

    def __enter__(self) -> _Watch:
        self._table = self._records.table

        def table(records: Any, stage: str, name: str, **how: Any) -> Any:
            self._counts["Parquet reads"] += 1
            whole = not any(how.values())
            self._counts["documents read whole"] += whole and (stage, name) == ("documents", "documents")
            return self._table(records, stage, name, **how)

        self._records.table = table
        self._opened = True
        sys.addaudithook(self._audit)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        self._opened = False
        self._records.table = self._table

    def figures(self) -> dict[str, int]:
        """By the names of `GOALS`."""
        names = ("configuration loaded", "stage records read", "Parquet reads", "documents read whole")
        return {
            "moves between modules": self._moves,
            "modules entered": len(self._entered),
            **{name: self._counts[name] for name in names},
        }

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._opened and event == "open" and isinstance(arguments[0], str) and arguments[1] == "r":
            path = Path(arguments[0])
            if path.parent.name == "stages" and path.suffix == ".json":
                self._counts["stage records read"] += 1

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        here = frame.f_globals.get("__name__", "")
        if not here.startswith(PACKAGES):
            return
        if frame.f_code.co_name == "load_config":
            self._counts["configuration loaded"] += 1
        caller = frame.f_back.f_globals.get("__name__", "") if frame.f_back else ""
        if caller != here and caller.startswith(PACKAGES) and frame.f_code.co_name != "<module>":
            self._moves += 1
            self._entered.add(here)


def _modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found[name] = path
    return found


def _imports(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Module -> modules of ours that it imports when it is loaded (not within functions, not for types only)."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in modules.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        names = imported_names(ast.parse(path.read_text()), package, later=False)
        found[name] = {target for target in names if target in modules and target != name}
    return found


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _floors(arrows: set[tuple[str, str]]) -> dict[str, int]:
    below = defaultdict(set)
    for a, b in arrows:
        below[a].add(b)

    @cache
    def floor(room: str) -> int:
        return 1 + max((floor(other) for other in below[room]), default=0)

    return {room: floor(room) for pair in arrows for room in pair}


def _longest(imports: dict[str, set[str]]) -> int:
    @cache
    def chain(module: str) -> int:
        return 1 + max((chain(target) for target in imports[module] if target not in PACKAGES), default=0)

    return max(chain(module) for module in list(imports))


def _named_by_hand() -> int:
    """Modules (not folders) that the layers of the import contract name."""
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    named = {
        (container, name.strip())
        for contract in contracts
        for container in contract.get("containers", [])
        for row in contract["layers"]
        for name in row.split("|")
    }
    return sum(not (ROOT / container / name).is_dir() for container, name in named)


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())
