"""From raw columns to the core's snapshot, and what stays beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evenhand import _core
from evenhand.building.parse import Raw
from evenhand.building.problems import Report

Settings = dict[str, dict[int, dict[str, Any]]]


@dataclass(slots=True, frozen=True)
class Built:
    """The core's snapshot, the settings and labels by canonical row, and the commands."""

    core: _core.Snapshot
    settings: Settings
    commands: list[dict[str, Any]]


def assemble(raw: Raw, report: Report, rounding: str | None) -> Built:
    """Hand raw columns to the core."""
    head = {name: value for name, value in raw.head.items() if name != "unit"}  # for people only
    core = ask(report, lambda: _core.build_snapshot(head, raw.tables, rounding or "exact"))
    return Built(core, _canonical(raw.settings, core), raw.commands)


def ask(report: Report, build: Callable[[], _core.Snapshot]) -> _core.Snapshot:
    """Let the core build; raise one error of what was found before and what it finds."""
    if report.unusable:
        raise report.error()
    try:
        core = build()
    except _core.InvalidColumns as error:
        raise report.with_core(error.problems, error.total) from None
    if report:
        raise report.error()
    return core


def fingerprint(built: Built, units: list[str | None] | None) -> str:
    """Return the digest of what a snapshot is made of; `units` by resource, None where none is given."""
    digest: str = built.core.fingerprint()
    beside = [built.settings, built.commands, *([] if units is None else [units])]
    if any(beside):
        text = digest + json.dumps(beside, sort_keys=True)
        digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return digest


def _canonical(settings: Settings, core: _core.Snapshot) -> Settings:
    """Move settings and labels from input rows to canonical rows; the root's stand in row 0 of the pools."""
    result: Settings = {}
    for key, by_row in settings.items():
        table, dot, labels = key.partition(".")
        if table == "root":
            pools = f"pools{dot}{labels}"
            result[pools] = {0: by_row[0], **result.get(pools, {})}
            continue
        given = enumerate(core.permutation(table).tolist())
        moved = {row: by_row[i] for row, i in given if i in by_row}
        result[key] = {**result[key], **moved} if key in result else moved
    return dict(sorted(result.items()))
