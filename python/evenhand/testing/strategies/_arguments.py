"""Arguments of the strategies: what they may be, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis.errors import InvalidArgument

from evenhand.testing.strategies._scale import Scale

Resources = Mapping[str, Mapping[str, Any]] | Sequence[str]


def quanta_of(resources: Resources) -> dict[str, float]:
    if isinstance(resources, Mapping):
        return {name: fields.get("quantum", 1) for name, fields in resources.items()}
    return dict.fromkeys(resources, 1)


def scale_of(resources: Resources, total: int) -> Scale:
    check_range("quanta", 0, total, most=2**60)
    quanta = quanta_of(resources)
    return Scale(quanta, (total,) * len(quanta), exact=True)


def check_range(what: str, low: int, high: int, *, least: int = 0, most: int | None = None) -> None:
    if not (isinstance(low, int) and isinstance(high, int)):
        msg = f"min_{what}={low!r} and max_{what}={high!r} are not both integers"
        raise InvalidArgument(msg)
    if low < least or high < low or (most is not None and high > most):
        end = "" if most is None else f" <= {most}"
        msg = f"{least} <= min_{what}={low} <= max_{what}={high}{end} does not hold"
        raise InvalidArgument(msg)


def check_depth(max_depth: int | None) -> None:
    if max_depth is not None and (not isinstance(max_depth, int) or max_depth < 1):
        msg = f"max_depth={max_depth!r} is not an integer above zero"
        raise InvalidArgument(msg)
