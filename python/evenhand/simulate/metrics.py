"""Numbers that say how good a simulated run was; docs/concepts/metrics.md defines each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import instant_from, kind_of_annotation, seconds_of, taken
from evenhand.arguments import expect
from evenhand.building.problems import nearest
from evenhand.errors import NoSuchNameError, shorten
from evenhand.simulate import measures
from evenhand.simulate.record import Record, record_of
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from datetime import timedelta

    from evenhand.simulate.result import Result

__all__ = ["Metrics", "compute", "measure", "unit_of"]

HOUR = 3_600_000_000
"""Microseconds of an hour."""


@dataclass(frozen=True)
class Metrics(Mapping[str, float], Tabular):
    """Metrics by name, in a fixed order; NaN where there is nothing to measure.

    Attributes
    ----------
    values_by_name : mapping of str to number
    warm_up, until : number or None
        What they were computed with, in seconds.
    provenance : mapping
        As of `Result.provenance`; empty where no run is known.

    Examples
    --------
    >>> a = Metrics({"jobs": 4, "waiting.p95": 30.0})
    >>> b = Metrics({"jobs": 4, "waiting.p95": 45.0})
    >>> a.against(b, ("today", "tomorrow"))
    name           today  tomorrow  difference   ratio
    jobs          4.0000    4.0000      0.0000  1.0000
    waiting.p95  30.0000   45.0000     15.0000  1.5000
    """

    values_by_name: Mapping[str, float]
    warm_up: float = 0.0
    until: float | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __getitem__(self, name: str) -> float:
        if name not in self.values_by_name:
            said = f"there is no metric {shorten(name)!r}{nearest(name, self.values_by_name)}"
            raise NoSuchNameError.about("metrics", "name", "exists", said, shorten(name))
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def to_dict(self) -> dict[str, float]:
        """Return them as a dict."""
        return dict(self.values_by_name)

    def table(self) -> Table:
        """Return one row a metric: ``name, value, unit``."""
        return Table(
            {
                "name": list(self),
                "value": np.array([float(v) for v in self.values()]),
                "unit": [unit_of(name) for name in self],
            },
            title="metrics",
            provenance=self.provenance,
        )

    def against(self, other: Metrics, names: tuple[str, str] = ("this", "other")) -> Table:
        """Return a table of two runs side by side: their values, the other's less this one's, and its part.

        Parameters
        ----------
        other : Metrics
        names : (str, str)
            What the two are called.

        Returns
        -------
        Table
            Every metric that either has; NaN where one has none. The ratio is NaN where this value is 0.
        """
        expect(isinstance(other, Metrics), "against", "other", other, "Metrics")
        names = taken("against", "names", names, kind_of_annotation("Sequence[str]"))
        expect(len(names) == 2 and names[0] != names[1], "against", "names", names, "two different texts")
        every = list(dict.fromkeys([*self, *other]))
        a, b = (np.array([float(m.get(name, np.nan)) for name in every]) for m in (self, other))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(a != 0, b / a, np.nan)
        return Table({"name": every, names[0]: a, names[1]: b, "difference": b - a, "ratio": ratio})

    def __repr__(self) -> str:
        from evenhand.display.terminal import table_text

        return table_text(self.table(), max_rows=len(self))

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def measure(
    result: Result,
    *,
    warm_up: float | str | timedelta = 0.0,
    until: float | str | timedelta | None = None,
    slowdown_bound: float | str | timedelta = 10.0,
    flap_within: float | str | timedelta = 600.0,
) -> Metrics:
    """Return the metrics of a run.

    Parameters
    ----------
    result : Result
    warm_up : number, str or timedelta
        Seconds from the beginning that do not count, or text such as ``"1d"``.
    until : number, str or timedelta, optional
        Instant, in seconds, from which on nothing counts, or text such as ``"10d"``: so long after the
        beginning; by default all does.
    slowdown_bound : number, str or timedelta
        Seconds; a shorter job's slowdown is that of one which works for so long.
    flap_within : number, str or timedelta
        Seconds within which work that was preempted starts again for the preemption to be a flap.

    Returns
    -------
    Metrics

    Notes
    -----
    docs/concepts/metrics.md defines each. O(n log n) of the rows of the result's tables.
    """
    from evenhand.simulate.result import Result

    expect(isinstance(result, Result), "metrics", "result", result, "a Result of a simulation")
    found = compute(
        record_of(result),
        warm_up=warm_up,
        until=until,
        slowdown_bound=slowdown_bound,
        flap_within=flap_within,
    )
    return replace(found, provenance=result.provenance)


def compute(
    record: Record,
    *,
    warm_up: float | str | timedelta = 0.0,
    until: float | str | timedelta | None = None,
    slowdown_bound: float | str | timedelta = 10.0,
    flap_within: float | str | timedelta = 600.0,
) -> Metrics:
    """Return the metrics of a record; parameters are those of `measure`."""
    warm_up = seconds_of("metrics", "warm_up", warm_up)
    flap_within = seconds_of("metrics", "flap_within", flap_within)
    slowdown_bound = seconds_of("metrics", "slowdown_bound", slowdown_bound, above=True)
    if until is not None:
        until = instant_from("metrics", "until", until, record.begin / 1e6)
    window = measures.window(record, round(warm_up * 1e6), None if until is None else round(until * 1e6))
    found: dict[str, float] = {"hours": window.length / HOUR}
    found |= measures.jobs(record, window, round(slowdown_bound * 1e6))
    found |= measures.starvation(record, window)
    found |= measures.shares(record, window)
    found |= measures.resources(record, window)
    found |= measures.preemptions(record, window, round(flap_within * 1e6))
    return Metrics(found, warm_up, until)


_UNITS = (
    ("waiting", "s"),
    ("cut_off.waiting", "s"),
    ("starvation.spells", "1"),
    ("starvation.pools.spells", "1"),
    ("starvation.open", "1"),
    ("starvation.pools.open", "1"),
    ("starvation", "s"),
    ("below_share", "s"),
    ("lost_share", "share x h"),
    ("goodput", "resource x h"),
    ("lost_work", "resource x h"),
    ("incomplete_gangs", "resource x h"),
    ("hours", "h"),
    ("jobs_per_hour", "1/h"),
    ("preemptions_per_hour", "1/h"),
)


def unit_of(name: str) -> str:
    """Return the unit of a metric; "1" for counts and ratios."""
    return next((unit for head, unit in _UNITS if name == head or name.startswith(head + ".")), "1")
