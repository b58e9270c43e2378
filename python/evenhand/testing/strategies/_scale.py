"""From percentages to amounts: exact ones that make ties, or generic ones that avoid them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

AMOUNT_FIELDS = ("strong_guarantee", "limits", "resource_flow", "burst")


@dataclass(frozen=True)
class Scale:
    """Turns percentages of the cluster into the amounts of a snapshot file."""

    quanta: Mapping[str, float]
    total: tuple[int, ...]
    exact: bool

    def units(self, quanta: Sequence[int | None]) -> dict[str, float]:
        """Write counts of quanta as amounts; None is left out."""
        return {
            name: count * quantum
            for (name, quantum), count in zip(self.quanta.items(), quanta, strict=True)
            if count is not None
        }

    def counts(
        self, percents: Sequence[int | None], place: str, whole: Sequence[int] | None = None
    ) -> tuple[int | None, ...]:
        """Turn percentages of `whole` (the total) into counts of quanta; `place` distinguishes equal ones."""
        return tuple(
            None if percent is None else self._count(percent, of, f"{place}.{r}")
            for r, (percent, of) in enumerate(zip(percents, whole or self.total, strict=True))
        )

    def amounts(self, percents: Sequence[int | None], place: str) -> dict[str, float]:
        """Turn percentages of the cluster into amounts."""
        return self.units(self.counts(percents, place))

    def _count(self, percent: int, whole: int, place: str) -> int:
        count = percent * whole // 100
        if self.exact or percent == 0:
            return count
        return count + excess(place, whole // 400)

    def pool(self, row: Mapping[str, Any], place: str) -> dict[str, Any]:
        """Write a pool's fields."""
        fields = dict(row)
        for name in AMOUNT_FIELDS:
            if name in fields:
                fields[name] = self.amounts(fields[name], f"{place}.{name}")
        if "accumulated_volume" in fields:
            seconds, percents = fields["accumulated_volume"]
            volume = self.counts(percents, f"{place}.volume")
            fields["accumulated_volume"] = self.units([None if c is None else c * seconds for c in volume])
        if "integral" in fields:
            fields["integral"] = self.pool(fields["integral"], f"{place}.integral")
        return fields

    def operation(self, row: Mapping[str, Any], place: str, *, stated: bool = True) -> dict[str, Any]:
        """Write an operation's fields; demand and usage only if they are `stated` and not summed up."""
        fields = dict(row)
        demand = self.counts(fields.pop("demand"), f"{place}.demand")
        part = fields.pop("usage", None)
        if stated:
            fields["demand"] = self.units(demand)
            if part is not None:
                fields["usage"] = self.units([(d or 0) * p // 100 for d, p in zip(demand, part, strict=True)])
        if "limits" in fields:
            fields["limits"] = self.amounts(fields["limits"], f"{place}.limits")
        if "best_allocation_share" in fields:
            fields["best_allocation_share"] = {
                name: percent
                / 100
                * (1 if self.exact else 1 - excess(f"{place}.{name}", 1 << 20) / (1 << 24))
                for name, percent in zip(self.quanta, fields["best_allocation_share"], strict=True)
                if percent is not None
            }
        return fields


def excess(place: str, below: int) -> int:
    """Return a number in 1 .. `below` that depends on the place alone."""
    word = zlib.crc32(place.encode()) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    word = (word ^ word >> 31) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    return 1 + (word >> 20) % below if below > 0 else 0
