"""Small files in the formats that the readers know."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import evenhand as eh

HEADER = """; Computer: Toy
; MaxNodes: 4
; MaxProcs: 32
; UnixStartTime: 1000
; Queue: 1 fast
; Queue: 2 slow
"""


def job(number: int, submit: float = 0, run: float = 60, processors: int = 4, **other: float) -> str:
    """One line of a log."""
    fields: dict[str, float] = {
        "job": number,
        "submit": submit,
        "wait": 5,
        "run_time": run,
        "processors": processors,
        "cpu_time": -1,
        "memory": -1,
        "requested_processors": processors,
        "requested_time": 100,
        "requested_memory": -1,
        "status": 1,
        "user": 7,
        "group": 3,
        "executable": -1,
        "queue": 1,
        "partition": -1,
        "preceding_job": -1,
        "think_time": -1,
    }
    return " ".join(f"{value}" for value in (fields | other).values())


def write(folder: Path, lines: Iterable[str], name: str = "log.swf") -> Path:
    """Write lines, behind the header of a log if they are one's."""
    path = folder / name
    path.write_text((HEADER if name.endswith(".swf") else "") + "".join(f"{line}\n" for line in lines))
    return path


def problems(read: Callable[[], object]) -> list[tuple[int | None, str | None, str]]:
    """Line, field and rule of what an input is refused for."""
    with pytest.raises(eh.InputError) as found:
        read()
    return [(p.row, p.field, p.rule) for p in found.value.problems]
