"""Goals and limits of metrics, how near they are to breaking, and what work a point costs."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.arguments import expect
from evenhand.errors import InputError, Problem, printable
from evenhand.simulate.metrics import compute

if TYPE_CHECKING:
    from evenhand.simulate.record import Record

__all__ = ["Bound", "Judge", "bound", "excess", "in_vain", "kept_and_lost", "worse"]

_FORM = re.compile(r"\s*([\w.]+)\s*(<=|>=|<|>)\s*(\S+)\s*")
_ROUNDING = 1e-9  # of sums


@dataclass(frozen=True)
class Bound:
    """A metric and what it must not exceed, or fall below.

    Attributes
    ----------
    metric : str
    sign : {"<", "<=", ">", ">="}
    value : number
    limit : bool
        Whether it bounds what may happen, so that it holds where there is nothing to measure. No goal is
        met there.
    """

    metric: str
    sign: str
    value: float
    limit: bool = False

    def holds(self, metrics: Mapping[str, float]) -> bool:
        """Tell whether it holds."""
        found = metrics[self.metric]
        if found != found:
            return self.limit
        match self.sign:
            case "<":
                return found < self.value
            case "<=":
                return found <= self.value
            case ">":
                return found > self.value
            case _:
                return found >= self.value

    def strain(self, metrics: Mapping[str, float]) -> float:
        """Return how near it is to breaking: below 1 it holds, infinite: it cannot be told."""
        found = float(metrics[self.metric])
        if found != found:
            return 0.0 if self.limit else math.inf
        a, b = (found, self.value) if self.sign[0] == "<" else (self.value, found)
        if b > 0:
            return max(a, 0.0) / b
        return 0.0 if a < b or (a == b and "=" in self.sign) else math.inf

    def __str__(self) -> str:
        return f"{self.metric} {self.sign} {self.value:g}"


def bound(text: str) -> Bound:
    """Read a goal such as ``"starvation.p95 < 600"``.

    Parameters
    ----------
    text : str
        Name of a metric, one of ``< <= > >=``, and a number.

    Returns
    -------
    Bound

    Raises
    ------
    InputError
        If it is something else.

    Examples
    --------
    >>> bound("starvation.p95 < 600")
    Bound(metric='starvation.p95', sign='<', value=600.0, limit=False)
    """
    expect(isinstance(text, str), "tune", "goal", text, 'text such as "starvation.p95 < 600"')
    found = _FORM.fullmatch(text)
    try:
        value = float(found[3]) if found else math.nan
    except ValueError:
        value = math.nan
    if found is None or not math.isfinite(value):
        said = f'goal is "{text}"; it must be a metric, one of < <= > >=, and a number'
        raise InputError([Problem("tune", None, None, "goal", "format", printable(text), printable(said))])
    return Bound(found[1], found[2], value)


@dataclass(frozen=True)
class Judge:
    """Measures how near the bounds are to breaking in windows of a run.

    Attributes
    ----------
    bounds : tuple of Bound
    edges : tuple of number
        Instants at which the windows begin and end.
    most : tuple of number
        At the end of each window but the last: the strain so far above which the run is hopeless.
    """

    bounds: tuple[Bound, ...]
    edges: tuple[float, ...]
    most: tuple[float, ...] = ()

    def strain(self, metrics: Mapping[str, float]) -> float:
        """Return how near the nearest bound is to breaking."""
        return max(one.strain(metrics) for one in self.bounds)

    def within(self, metrics: Mapping[str, float]) -> float:
        """Return the same of a window: NaN where some goal has nothing to measure, which tells nothing."""
        unseen = any(metrics[one.metric] != metrics[one.metric] for one in self.bounds if not one.limit)
        return math.nan if unseen else self.strain(metrics)

    def so_far(self, record: Record, warm_up: float, until: float | None = None) -> float:
        """Return the strain of a record until an instant."""
        return self.strain(compute(record, warm_up=warm_up, until=until))

    def strains(self, record: Record, begin: float, warm_up: float) -> dict[str, float]:
        """Return the strains of the windows, and those from the first until each one's end but the last."""
        found = {}
        for i, (a, b) in enumerate(itertools.pairwise(self.edges), 1):
            until = b if b < self.edges[-1] else None
            found[f"strain.window.{i}"] = self.within(compute(record, warm_up=a - begin, until=until))
        for i, b in enumerate(self.edges[1:-1], 1):
            found[f"strain.until.{i}"] = self.so_far(record, warm_up, b)
        return found


def kept_and_lost(metrics: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return hours of work that were kept, and that were lost, by resource."""
    return {
        name.partition(".")[2]: (float(kept), float(metrics[f"lost_work.{name.partition('.')[2]}"]))
        for name, kept in metrics.items()
        if name.startswith("goodput.")
    }


def in_vain(metrics: Mapping[str, float]) -> bool:
    """Whether more work is lost than kept, of any resource."""
    return any(lost > kept for kept, lost in kept_and_lost(metrics).values())


def excess(found: Mapping[str, float], before: Mapping[str, float], stated: Collection[str]) -> float:
    """Return how much more is lost, or less finished, than before, as a part of what was done."""
    had, much = kept_and_lost(before), 0.0
    for resource, (kept, lost) in kept_and_lost(found).items():
        finished, gone = had[resource]
        whole = finished + gone or 1.0
        much += max(lost - kept, 0.0) / whole
        if f"lost_work.{resource}" not in stated:
            much += max(lost - gone, 0.0) / whole
            much += max(finished - kept, 0.0) / whole if f"goodput.{resource}" not in stated else 0.0
    return much if much > _ROUNDING else 0.0


def worse(found: Mapping[str, float], before: Mapping[str, float], stated: Collection[str]) -> str | None:
    """Say what is lost or not finished that was before, of resources of which no bound says how much."""
    had = kept_and_lost(before)
    for resource, (kept, lost) in kept_and_lost(found).items():
        if f"lost_work.{resource}" in stated:
            continue
        finished, gone = had[resource]
        if lost > gone + _ROUNDING * (1 + gone):
            return f"{lost:,.4g} {resource}-hours of work are lost, and were {gone:,.4g}"
        if f"goodput.{resource}" not in stated and kept < finished - _ROUNDING * (1 + finished):
            return f"{kept:,.4g} {resource}-hours of work are finished, and were {finished:,.4g}"
    return None
