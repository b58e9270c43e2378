"""The planted defects: one file a room in `tables`, each with what runs to catch them.

A room names its tests, C++ ones (`binaries`, the layers whose GoogleTest binaries run) and Python ones
(`tests`, arguments of pytest). A defect names the file, the text that stands there exactly once (`old`) and
what replaces it (`new`): an expression, or with `whole = true` whole statements. `tests` or `binaries` of its
own take the place of the room's.
"""

from __future__ import annotations

import tomllib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TABLES = Path(__file__).parent / "tables"
KEYS = {"name", "file", "old", "new", "whole", "tests", "binaries"}


@dataclass(frozen=True)
class Runs:
    """What runs to catch a defect, in this order."""

    binaries: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Defect:
    """A planted defect."""

    room: str
    name: str
    file: str
    old: str
    new: str
    whole: bool
    runs: Runs

    @property
    def label(self) -> str:
        return f"{self.room}/{self.name}"

    @property
    def number(self) -> int:
        """What picks it in the environment variable: of its name, so that others may come and go."""
        return zlib.crc32(self.label.encode()) >> 1 or 1


def defects(tables: Path = TABLES) -> list[Defect]:
    """All of them, in the order of the rooms' names."""
    found: list[Defect] = []
    for path in sorted(tables.glob("*.toml")):
        room = tomllib.loads(path.read_text())
        if unknown := room.keys() - {"binaries", "tests", "defect"}:
            raise ValueError(f"{path.name}: unknown keys {sorted(unknown)}")
        found += [defect(path.stem, row, room) for row in room["defect"]]
    return found


def defect(room: str, row: dict[str, Any], common: dict[str, Any]) -> Defect:
    if unknown := row.keys() - KEYS:
        raise ValueError(f"{room}/{row.get('name')}: unknown keys {sorted(unknown)}")
    own = row if row.keys() & {"tests", "binaries"} else common
    runs = Runs(tuple(own.get("binaries", ())), tuple(own.get("tests", ())))
    return Defect(room, row["name"], row["file"], row["old"], row["new"], row.get("whole", False), runs)
