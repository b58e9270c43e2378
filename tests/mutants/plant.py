"""Write copies of the sources in which every planted defect is there, and off until it is picked.

    python tests/mutants/plant.py cpp DESTINATION       bindings/, include/ and src/ of cpp/
    python tests/mutants/plant.py python DESTINATION    the package, without its extension

The environment variable EVENHAND_MUTANT picks one defect by its number when the program starts. A file is
written only if it changes, so that a build compiles only what it must.
"""

from __future__ import annotations

import itertools
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # CMake runs this file by itself
from tests.mutants.table import ROOT, Defect, defects

HEADER = """\
// Which planted defect is on: tests/mutants/plant.py.
#pragma once
#include <cstdlib>
namespace evenhand {
inline const int mutant = [] {
  const char* number = std::getenv("EVENHAND_MUTANT");
  return number == nullptr ? 0 : std::atoi(number);
}();
inline bool planted(int number) noexcept { return number == mutant; }
}  // namespace evenhand
"""
# No function: tests count the calls.
MODULE = """\
from __future__ import annotations
import os
MUTANT = int(os.environ.get("EVENHAND_MUTANT", "0"))
"""
FUTURE = "from __future__ import annotations\n"


class Misplaced(ValueError):
    """A defect whose text does not stand in its file exactly once, or lies within that of another."""


def places(source: str, planted: list[Defect]) -> list[tuple[int, Defect]]:
    """Where each defect's text begins, in order."""
    found = []
    for d in planted:
        if (count := source.count(d.old)) != 1:
            raise Misplaced(f"{d.label}: its text stands {count} times in {d.file}, and must once")
        found.append((source.index(d.old), d))
    found.sort(key=lambda place: place[0])
    for (begin, first), (next_begin, second) in itertools.pairwise(found):
        if begin + len(first.old) > next_begin:
            raise Misplaced(f"{first.label} and {second.label} overlap")
    return found


def both(d: Defect, indent: str) -> str:
    """Code that does the one or the other."""
    if d.file.endswith(".py"):
        if not d.whole:
            return f"(({d.new}) if MUTANT == {d.number} else ({d.old}))"
        block = [
            textwrap.indent(textwrap.dedent(indent + code.rstrip("\n")), indent + "    ")
            for code in (d.new, d.old)
        ]
        return f"if MUTANT == {d.number}:\n{block[0]}\n{indent}else:\n{block[1]}" + "\n" * d.old.endswith(
            "\n"
        )
    if not d.whole:
        return f"(evenhand::planted({d.number}) ? ({d.new}) : ({d.old}))"
    return f"if (evenhand::planted({d.number})) {{ {d.new} }} else {{ {d.old} }}"


def plant(source: str, planted: list[Defect]) -> str:
    """A file's source with all defects of it planted."""
    parts, done = [], 0
    for begin, d in places(source, planted):
        line = source[source.rfind("\n", 0, begin) + 1 : begin]
        if d.whole and d.file.endswith(".py") and line.strip():
            raise Misplaced(f"{d.label}: whole statements begin a line")
        parts += [source[done:begin], both(d, line)]
        done = begin + len(d.old)
    text = "".join([*parts, source[done:]])
    if planted[0].file.endswith(".py"):
        return text.replace(FUTURE, f"{FUTURE}from evenhand._planted import MUTANT\n", 1)
    return f'#include "evenhand/planted.h"\n#line 1 "{ROOT / planted[0].file}"\n{text}'


def by_file() -> dict[str, list[Defect]]:
    out = defaultdict(list)
    for d in defects():
        out[d.file].append(d)
    return out


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def copy(
    base: Path, destination: Path, folders: list[str], suffixes: set[str], extra: tuple[str, str]
) -> None:
    """Source files below `base`, planted, and one more; other such files there are removed."""
    planted, kept = by_file(), {destination / extra[0]}
    write(destination / extra[0], extra[1])
    for path in sorted(p for folder in folders for p in (base / folder).rglob("*")):
        if path.suffix not in suffixes:
            continue
        to = destination / path.relative_to(base)
        source = path.read_text(encoding="utf-8")
        here = planted.get(path.relative_to(ROOT).as_posix())
        write(to, plant(source, here) if here else source)
        kept.add(to)
    for path in destination.rglob("*"):
        if path.is_file() and path.suffix in suffixes and path not in kept:
            path.unlink()


def main(kind: str, destination: Path) -> None:
    if kind == "cpp":
        copy(
            ROOT / "cpp",
            destination,
            ["bindings", "include", "src"],
            {".h", ".cpp", ".in"},
            ("include/evenhand/planted.h", HEADER),
        )
    else:
        copy(
            ROOT / "python",
            destination,
            ["evenhand"],
            {".py", ".pyi", ".css", ".typed"},
            ("evenhand/_planted.py", MODULE),
        )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve())
