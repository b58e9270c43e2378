"""Plays back what the commands of a Slurm 26.05.3 printed (tests/data/slurm-26.05.json.gz)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.adapters.commands import Result
from evenhand.systems.slurm.adapter.live import Slurm

__all__ = ["MORE", "NOW", "Recorded", "adapter", "with_job", "write"]

_DATA: dict[str, Any] = json.loads(
    gzip.decompress((Path(__file__).parents[3] / "data" / "slurm-26.05.json.gz").read_bytes())
)
#: Of another cluster of that release: nodes that backfill has planned, and modes with PRIORITY.
MORE: dict[str, str] = _DATA["more"]
#: When it was recorded.
NOW = 1795749391.0


#: What prints each text of a folder.
PRINTED = {
    "jobs": "squeue --json",
    "nodes": "scontrol show nodes --json",
    "config": "scontrol show config",
    "partitions": "scontrol -o show partition",
    "weights": "scontrol show node",
    "qos": "sacctmgr -P show qos",
    "associations": "sacctmgr -P show assoc",
    "reservations": "sinfo -a -T",
    "licenses": "scontrol show lic",
    "exclusive": "squeue -a -t all -O jobid:|,exclusive:|",
}


class Recorded:
    """A runner; columns of ``squeue -O`` are taken out of a recorded answer that has more of them."""

    def __init__(self, **instead: str) -> None:
        self.answers = {tuple(one["arguments"]): one["out"] for one in _DATA["commands"]}
        self.asked: list[tuple[str, ...]] = []
        for words, out in instead.items():
            self.answers[tuple(words.split("_"))] = out

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        del timeout
        key = tuple(arguments)
        self.asked.append(key)
        if key in self.answers:
            return Result(0, self.answers[key])
        if key[0] == "squeue" and "-O" in key:
            return Result(0, self._columns(key))
        return Result(1, "", f"not recorded: {' '.join(key)}")

    def _columns(self, key: tuple[str, ...]) -> str:
        wanted = _names(key)
        known, text = next(
            (_names(other), out)
            for other, out in self.answers.items()
            if other[0] == "squeue" and "-O" in other and set(wanted) <= set(_names(other))
        )
        places = [known.index(name) for name in wanted]
        lines = [line.split("|") for line in text.split("\n")[:-1]]
        return "".join("".join(f"{cells[place]}|" for place in places) + "\n" for cells in lines)


def _names(key: tuple[str, ...]) -> list[str]:
    return [column.split(":")[0] for column in key[key.index("-O") + 1].split(",")]


def adapter(**options: Any) -> Slurm:
    """Return an adapter of the recorded cluster."""
    return Slurm(runner=Recorded(), clock=lambda: NOW, **options)


def write(folder: Path) -> dict[str, Path]:
    """Write what was recorded into files, by the reader's arguments."""
    played, files = Recorded(), {}
    for part, words in PRINTED.items():
        files[part] = folder / f"{part}.out"
        files[part].write_text(played(words.split(" "), 1.0).out)
    return files


def with_job(number: int, asked: dict[str, Any]) -> str:
    """Return the recorded jobs, of which one asks for something else as well."""
    data = json.loads(Recorded().answers["squeue", "--json"])
    next(row for row in data["jobs"] if row["job_id"] == number).update(asked)
    return json.dumps(data)
