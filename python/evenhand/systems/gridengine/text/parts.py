"""Which command of Grid Engine has written a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["NEEDED", "PARTS", "part_of"]

#: Arguments of `evenhand.adapters.gridengine.read` that are texts, to what each is.
PARTS: Final[Mapping[str, str]] = {
    "complexes": "what qconf -sc prints",
    "scheduler": "what qconf -ssconf prints",
    "queues": "what qconf -sq prints",
    "hosts": "what qconf -se prints",
    "parallel": "what qconf -sp prints",
    "machines": "what qhost -xml prints",
    "jobs": "what qstat -xml prints",
    "details": "what qstat -xml -j prints",
}
#: Those without which nothing is read.
NEEDED: Final[tuple[str, ...]] = ("complexes",)
_ROOT: Final = re.compile(r"<(qhost|job_info|detailed_job_info|unknown_jobs)\b")
_OF_ROOT: Final = {"qhost": "machines", "job_info": "jobs"}
_BEGINNING: Final = 10_000  # characters in which the root of an XML text stands
_TYPES: Final = "INT|STRING|TIME|MEMORY|BOOL|CSTRING|HOST|DOUBLE|RESTRING|RSMAP"
_LINES: Final = {
    "complexes": re.compile(
        rf"^(#name[ \t]+shortcut[ \t]+type\b|\S+[ \t]+\S+[ \t]+({_TYPES})[ \t]+(<=|>=|==|!=|<|>|EXCL)[ \t])",
        re.MULTILINE,
    ),
    "scheduler": re.compile(
        r"^(algorithm|schedule_interval|maxujobs|queue_sort_method)[ \t]+\S", re.MULTILINE
    ),
    "queues": re.compile(r"^qname[ \t]+\S", re.MULTILINE),
    "parallel": re.compile(r"^pe_name[ \t]+\S", re.MULTILINE),
    "hosts": re.compile(r"^hostname[ \t]+\S", re.MULTILINE),
}


def part_of(text: str) -> str | None:
    """Return which of `PARTS` a text is; None if it is none of them, or does not tell."""
    begin = text.lstrip("\ufeff \t\r\n")[:_BEGINNING]
    if begin.startswith("<"):
        root = _ROOT.search(begin)
        return None if root is None else _OF_ROOT.get(root[1], "details")
    if begin[:1] in ("{", "["):
        return None
    return next((part for part, lines in _LINES.items() if lines.search(text)), None)
