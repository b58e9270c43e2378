"""From raw columns to the core's snapshot, and what stays beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import _core
from evenhand.building.parse import Raw
from evenhand.building.problems import Report

Settings = dict[str, dict[int, dict[str, Any]]]


@dataclass(slots=True, frozen=True)
class Built:
    """The core's snapshot, the settings by canonical row, and the commands."""

    core: _core.Snapshot
    settings: Settings
    commands: list[dict[str, Any]]


def assemble(raw: Raw, report: Report, rounding: str | None) -> Built:
    """Hand raw columns to the core.

    Raises
    ------
    InputError
        With all that was found before, and all that the core finds.
    """
    if report.unusable:
        raise report.error()
    try:
        core = _core.build_snapshot(raw.head, raw.tables, rounding or "exact")
    except _core.InvalidColumns as error:
        raise report.with_core(error.problems, error.total) from None
    if report:
        raise report.error()
    return Built(core, _canonical(raw.settings, core), raw.commands)


def _canonical(settings: Settings, core: _core.Snapshot) -> Settings:
    """Move settings from input rows to canonical rows; the root's stand in row 0 of the pools."""
    result: Settings = {}
    for table, by_row in settings.items():
        if table == "root":
            result.setdefault("pools", {})[0] = by_row[0]
            continue
        row_of = {i: row for row, i in enumerate(np.asarray(core.permutation(table)).tolist())}
        result.setdefault(table, {}).update({row_of[i]: settings for i, settings in by_row.items()})
    return {table: dict(sorted(by_row.items())) for table, by_row in sorted(result.items())}
