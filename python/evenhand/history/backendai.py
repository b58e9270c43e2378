"""Backend.AI's fair share: usage in daily buckets, normalised usage, factor, and the order of users.

Presets: ``upstream`` is the code of 26.8, ``documented`` the proposal; they disagree where a function says
so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand import _core
from evenhand.accepted import checked, fit_together
from evenhand.arguments import expect
from evenhand.history._check import Checks, amounts_of, as_written
from evenhand.history.decay import DAY, Decay, Name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["RESOURCE_WEIGHTS", "UsageBuckets", "factor", "normalised_usage", "order"]

Preset = Literal["upstream", "documented"]

RESOURCE_WEIGHTS: Mapping[str, float] = {"cpu": 1.0, "mem": 0.001, "memory": 0.001, "gpu": 10.0}
"""Weights of the code; any other resource has 1."""


@checked("history.backendai")
def normalised_usage(
    usage: Mapping[str, ArrayLike],
    capacity: Mapping[str, float],
    *,
    lookback_days: float = 28,
    weights: Mapping[str, float] | None = None,
) -> Floats:
    """Usage as a part of what the cluster could give.

    Σ w·usage/(capacity·lookback) / Σ w over the resources that have capacity.

    Parameters
    ----------
    usage : mapping
        Resource → resource-seconds, one number a row.
    capacity : mapping
        Resource → amount now; absent = 0.
    lookback_days : float
        Length of the window, above 0.
    weights : mapping, optional
        Resource → weight, by default `RESOURCE_WEIGHTS`, 1 where none is given.

    Returns
    -------
    ndarray, shape (rows,)

    Notes
    -----
    Source: fair share calculator of 26.8. The proposal divides each bucket by the capacity of its day; divide
    by it before adding up, where capacities are known. O(rows × resources).

    Examples
    --------
    >>> used = {"cpu": [288_000.0], "mem": [2_880_000.0], "gpu": [57_600.0]}
    >>> normalised_usage(
    ...     used,
    ...     {"cpu": 100, "mem": 1000, "gpu": 8},
    ...     lookback_days=1,
    ...     weights={"cpu": 1, "mem": 1, "gpu": 10},
    ... )
    array([0.075])
    """
    known = RESOURCE_WEIGHTS if weights is None else weights
    columns = {name: np.atleast_1d(np.asarray(column, dtype=np.float64)) for name, column in usage.items()}
    checks = Checks("usage")
    for name, column in columns.items():
        checks.numbers(column, name, minimum=0)
        checks.numbers(np.asarray(capacity.get(name, 0.0), dtype=np.float64), f"capacity.{name}", minimum=0)
        checks.numbers(np.asarray(known.get(name, 1.0), dtype=np.float64), f"weights.{name}", minimum=0)
    checks.numbers(np.asarray(lookback_days, dtype=np.float64), "lookback_days", above=0)
    checks.done()
    # A resource that only the capacity names was not used, but counts in the mean.
    names = list(dict.fromkeys([*columns, *capacity]))
    rows = len(next(iter(columns.values()), ()))
    for name, column in columns.items():
        expect(
            column.shape == (rows,),
            "history.backendai",
            f"usage.{name}",
            usage[name],
            "a list, as long as others",
        )
    return _core.backendai_normalised_usage(
        np.column_stack([columns.get(name, np.zeros(rows)) for name in names])
        if names
        else np.zeros((rows, 0)),
        np.array([capacity.get(name, 0.0) for name in names]),
        np.array([known.get(name, 1.0) for name in names]),
        lookback_days * DAY,
    )


@checked("history.backendai", preset='Literal["upstream", "documented"]')
def factor(
    normalised_usage: ArrayLike,
    weight: ArrayLike = 1.0,
    *,
    recorded: ArrayLike | None = None,
    preset: Preset = "upstream",
) -> Floats:
    """Fair share factor: min(1, 2^clamp(−usage/weight, ±10)).

    Parameters
    ----------
    normalised_usage : array_like, shape (rows,)
        At least 0.
    weight : array_like
        Above 0, one a row or one for all (default_weight).
    recorded : array_like of bool, optional
        Whether there is a record of the row at all. Without one it comes last (0, ``upstream``) or first
        (1, ``documented``).
    preset : {"upstream", "documented"}
        See `recorded`.

    Returns
    -------
    ndarray, shape (rows,)
        In 0..1.

    Examples
    --------
    >>> factor([10.0, 10.0], [2.0, 1.0]).tolist()
    [0.03125, 0.0009765625]
    """
    values = np.atleast_1d(np.asarray(normalised_usage, dtype=np.float64))
    fit_together("history.backendai", normalised_usage=values, weight=weight, recorded=recorded)
    expect(values.ndim == 1, "history.backendai", "normalised_usage", normalised_usage, "a list of numbers")
    expect(
        np.ndim(weight) < 2 and np.size(weight) in (1, len(values)),
        "history.backendai",
        "weight",
        weight,
        "as many",
    )
    weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), values.shape)
    checks = Checks("usage")
    checks.numbers(values, "normalised_usage", minimum=0)
    checks.numbers(weights, "weight", above=0)
    _check_preset(checks, preset)
    checks.done()
    result = _core.backendai_factor(values, weights)
    if recorded is not None:
        fits = np.shape(recorded) in ((), (1,), result.shape)
        expect(fits, "history.backendai", "recorded", recorded, "one flag, or one a row")
        result[~np.broadcast_to(np.asarray(recorded, dtype=bool), result.shape)] = (
            0.0 if preset == "upstream" else 1.0
        )
    return result


@checked("history.backendai", preset='Literal["upstream", "documented"]')
def order(
    domain: ArrayLike, project: ArrayLike, user: ArrayLike, *, preset: Preset = "upstream"
) -> NDArray[np.int64]:
    """Rows in the order in which they are served.

    Parameters
    ----------
    domain, project, user : array_like, shape (rows,)
        Factors of each row's domain, project and user. ``documented``: only `user` is read; compute it with
        the product of the three weights.
    preset : {"upstream", "documented"}
        ``upstream`` compares domain, then project, then user.

    Returns
    -------
    ndarray, shape (rows,)
        Row numbers, highest factor first; equal rows keep their order.
    """
    checks = Checks("usage")
    columns = [np.asarray(column, dtype=np.float64) for column in (domain, project, user)]
    for name, column in zip(("domain", "project", "user"), columns, strict=True):
        right = column.ndim == 1 and len(column) == columns[-1].size
        expect(right, "history.backendai", name, column.tolist(), "a list, as long as the others")
    for name, column in zip(("domain", "project", "user"), columns, strict=True):
        checks.numbers(column, name, minimum=0, maximum=1)
    _check_preset(checks, preset)
    checks.done()
    keys = columns if preset == "upstream" else columns[2:]
    return np.lexsort([-key for key in reversed(keys)])


@dataclass(frozen=True)
class UsageBuckets:
    """Usage by day and name, from which decayed usage is computed anew: a value.

    Attributes
    ----------
    resources : tuple of str
        Columns.
    days : mapping
        Day number (seconds // 86400) → name → resource-seconds, one number a resource.

    Examples
    --------
    >>> buckets = UsageBuckets(("cpu",)).add(["ann"], [[2.0]], start=[0.0], end=[2 * DAY])
    >>> buckets.days[1]["ann"]
    (172800.0,)
    """

    resources: tuple[str, ...]
    days: Mapping[int, Mapping[Name, tuple[float, ...]]] = field(default_factory=dict)

    @checked("history.backendai")
    def add(
        self,
        names: Sequence[Name],
        amounts: ArrayLike,
        start: ArrayLike,
        end: ArrayLike,
        *,
        now: float | None = None,
        slice_seconds: float = 300.0,
    ) -> UsageBuckets:
        """Add sessions, split at midnight.

        Parameters
        ----------
        names : sequence
            Whose session each is.
        amounts : array_like, shape (len(names), resources)
            What it holds, at least 0.
        start, end : array_like, shape (len(names),)
            Seconds; an infinite end marks a running session, which is recorded up to the last whole slice
            before `now`.
        now : float, optional
            Seconds; needed where a session is running.
        slice_seconds : float
            Length of the clock-aligned slices.

        Returns
        -------
        UsageBuckets

        Raises
        ------
        InputError
            If a session ends before it starts, or one is running and `now` is missing.
        """
        held = amounts_of("history.backendai", amounts, len(names), len(self.resources))
        begin = np.asarray(start, dtype=np.float64)
        until = np.asarray(end, dtype=np.float64)
        for argument, column in (("start", begin), ("end", until)):
            expect(
                column.shape == (len(names),), "history.backendai", argument, column.tolist(), "one a name"
            )
        expect(slice_seconds > 0, "history.backendai", "slice_seconds", slice_seconds, "above 0")
        running = until == np.inf
        checks = Checks("sessions")
        if running.any() and now is None:
            checks.add(None, None, "now", "missing", None, "expected the time, sessions are running")
        checks.done()
        if now is not None:
            recorded = now // slice_seconds * slice_seconds
            until = np.where(running, np.maximum(recorded, begin), until)
        checks.numbers(held, "amounts", names, minimum=0)
        checks.numbers(begin, "start", names)
        checks.numbers(until, "end", names)
        checks.done()
        for row in np.flatnonzero(until < begin).tolist():
            checks.add(
                row, names[row], "end", "order", float(until[row]), f"expected at least {begin[row]:g}"
            )
        checks.done()
        days = {day: dict(bucket) for day, bucket in self.days.items()}
        for name, amount, t0, t1 in zip(names, held.tolist(), begin.tolist(), until.tolist(), strict=True):
            for day in range(int(t0 // DAY), int(-(-t1 // DAY))):
                seconds = min(t1, (day + 1) * DAY) - max(t0, day * DAY)
                if seconds <= 0:
                    continue
                bucket = days.setdefault(day, {})
                before = bucket.get(name, (0.0,) * len(amount))
                bucket[name] = tuple(b + a * seconds for b, a in zip(before, amount, strict=True))
        return replace(self, days=days)

    @checked("history.backendai", preset='Literal["upstream", "documented"]')
    def decayed(
        self,
        now: float,
        *,
        half_life_days: float = 7,
        lookback_days: int = 28,
        decay_unit_days: float = 1,
        preset: Preset = "upstream",
    ) -> dict[Name, dict[str, float]]:
        """Decayed usage by name at `now` (seconds).

        Counts the buckets of today and of the `lookback_days` − 1 days before. ``upstream`` weighs a bucket
        by 2^(−days/half-life), ``documented`` by one step a half-life.
        """
        checks = Checks("usage")
        _check_preset(checks, preset)
        checks.done()
        today = int(now // DAY)
        events = [
            (name, used, (today - day) * DAY)
            for day, bucket in sorted(self.days.items())
            if 0 <= today - day < lookback_days
            for name, used in bucket.items()
        ]
        position: dict[Name, int] = {}
        rows = np.array([position.setdefault(name, len(position)) for name, _, _ in events], dtype=np.int32)
        rule = Decay.backendai(half_life_days, decay_unit_days=decay_unit_days, preset=preset)
        used = np.array([used for _, used, _ in events]).reshape(len(events), len(self.resources))
        values = rule.sum(rows, used, [age for _, _, age in events], rows=len(position))
        return {
            name: dict(zip(self.resources, row, strict=True))
            for name, row in zip(position, values.tolist(), strict=True)
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values; days as text, for JSON."""
        return {
            "resources": list(self.resources),
            "days": {str(day): {n: list(u) for n, u in bucket.items()} for day, bucket in self.days.items()},
        }

    @classmethod
    @checked("history.backendai")
    def from_dict(cls, d: Mapping[str, Any]) -> UsageBuckets:
        """Undo `to_dict`."""
        with as_written("history.UsageBuckets"):
            days = {int(day): {n: tuple(u) for n, u in bucket.items()} for day, bucket in d["days"].items()}
            return cls(tuple(d["resources"]), days)


def _check_preset(checks: Checks, preset: str) -> None:
    if preset not in {"upstream", "documented"}:
        checks.add(None, None, "preset", "choice", preset, "expected upstream or documented")
