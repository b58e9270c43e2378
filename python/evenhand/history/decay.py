"""Usage that counts less the longer ago it was.

All systems multiply usage by a constant per unit of time; they differ in the constant, and Backend.AI also in
counting age in whole days.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand import _core
from evenhand.accepted import checked, count_of
from evenhand.arguments import expect
from evenhand.history._check import Checks, amounts_of, as_written

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["DAY", "Decay", "DecayedUsage"]

DAY = 86400.0
"""Seconds of a day."""

Name = str | int


@dataclass(frozen=True, slots=True)
class Decay:
    """How much of a usage is left after a time.

    Attributes
    ----------
    rule : {"exact", "slurm", "gridengine"}
        ``exact``: 2^(−t/H). ``slurm``: (1 − 0.693/H)^t, the factor that Slurm applies at each calculation
        period (t and H in seconds; independent of the period). ``gridengine``: (1 − 60·ln 2/H)^(t/60), a
        factor an interval of 60 s.
    half_life : float
        H in seconds. 0: nothing is ever forgotten. Below 0 (``gridengine`` only): whatever is not running is
        forgotten at once.
    step : float
        Seconds; above 0 only whole steps of age count.

    Notes
    -----
    Sources: slurm.conf, PriorityDecayHalfLife; Grid Engine's sched_conf, halftime and halflife_decay_list;
    Backend.AI's fair share calculator (continuous in days) and proposal (flat within each half-life).

    Examples
    --------
    >>> Decay.exact(7 * DAY).factor([0, 7 * DAY, 14 * DAY])
    array([1.  , 0.5 , 0.25])
    """

    rule: Literal["exact", "slurm", "gridengine"] = "exact"
    half_life: float = 7 * DAY
    step: float = 0.0

    def __post_init__(self) -> None:
        checks = Checks("decay")
        if self.rule not in {"exact", "slurm", "gridengine"}:
            checks.add(None, None, "rule", "choice", self.rule, "expected exact, slurm or gridengine")
        if not (np.isfinite(self.half_life) and (self.half_life >= 0 or self.rule == "gridengine")):
            checks.add(
                None, None, "half_life", "non_negative", self.half_life, "expected seconds, 0 for no decay"
            )
        if not (np.isfinite(self.step) and self.step >= 0):
            checks.add(None, None, "step", "non_negative", self.step, "expected seconds, 0 for none")
        checks.done()

    @classmethod
    @checked("history.Decay")
    def exact(cls, half_life: float | timedelta = 7 * DAY) -> Decay:
        """Half of it is left after each half-life (seconds or timedelta)."""
        return cls("exact", _seconds(half_life))

    @classmethod
    @checked("history.Decay")
    def slurm(cls, half_life: float | timedelta = 7 * DAY) -> Decay:
        """Slurm's PriorityDecayHalfLife (seconds or timedelta)."""
        return cls("slurm", _seconds(half_life))

    @classmethod
    @checked("history.Decay")
    def gridengine(cls, halftime: float = 168) -> Decay:
        """Grid Engine's halftime in hours; −1: only running jobs count."""
        return cls("gridengine", halftime * 3600.0)

    @classmethod
    @checked("history.Decay", preset='Literal["upstream", "documented"]')
    def backendai(
        cls,
        half_life_days: float = 7,
        *,
        decay_unit_days: float = 1,
        preset: Literal["upstream", "documented"] = "upstream",
    ) -> Decay:
        """Backend.AI's: 2^(−days/half-life) in whole days; ``documented``, in whole half-lives."""
        flat = preset == "documented"
        return cls("exact", half_life_days * DAY, (half_life_days if flat else decay_unit_days) * DAY)

    @checked("history.Decay")
    def factor(self, age: ArrayLike) -> NDArray[np.float64]:
        """Part that is left of a usage.

        Parameters
        ----------
        age : array_like
            Seconds since the usage, at least 0; any shape.

        Returns
        -------
        ndarray
            Numbers in 0..1, same shape.
        """
        ages = np.asarray(age, dtype=np.float64)
        return self._core().factor(ages.ravel()).reshape(ages.shape)

    @checked("history.Decay")
    def sum(self, row: ArrayLike, amounts: ArrayLike, age: ArrayLike, *, rows: int) -> NDArray[np.float64]:
        """Add up decayed usage by row.

        Parameters
        ----------
        row : array_like of int, shape (events,)
            Row that each event belongs to, from 0 to `rows` − 1.
        amounts : array_like, shape (events, resources)
            Usage of each event.
        age : array_like, shape (events,)
            Seconds since each event, at least 0.

        Returns
        -------
        ndarray, shape (rows, resources)

        Notes
        -----
        O(events × resources); events are added in the order given.
        """
        values = np.asarray(amounts, dtype=np.float64)
        places, ages = np.asarray(row), np.asarray(age, dtype=np.float64)
        rows = count_of("history.Decay", "rows", rows, 0)
        right = values.ndim == 2 and places.shape == ages.shape == values.shape[:1]
        expect(right, "history.Decay", "amounts", amounts, "a table with a row for each row and age")
        whole = places.dtype.kind in "iu" and (not len(places) or 0 <= places.min() <= places.max() < rows)
        expect(bool(whole), "history.Decay", "row", row, f"whole numbers below {rows}")
        before = np.zeros((rows, values.shape[1]))
        return _core.accumulate_decayed(self._core(), row, values, age, before)

    def _core(self) -> _core.Decay:
        if self.rule == "slurm":
            base = _core.Decay.slurm(self.half_life)
        elif self.rule == "gridengine":
            base = _core.Decay.gridengine(self.half_life, 60.0)
        else:
            base = _core.Decay.exact(self.half_life)
        return _core.Decay(base.rate, self.step)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``Decay(**d)`` undoes it."""
        return {"rule": self.rule, "half_life": self.half_life, "step": self.step}


@dataclass(frozen=True, eq=False)
class DecayedUsage:
    """Decayed usage of named rows at an instant: a value that moves forward in time.

    Attributes
    ----------
    decay : Decay
        Rule without steps: a stepped rule needs the ages of all parts, which one number a row does not keep.
    at : float
        Seconds; the instant for which the values hold.
    resources : tuple of str
        Columns.
    names : tuple of str or int
        Rows, in the order in which they first came.
    values : ndarray, shape (len(names), len(resources))
        Resource-seconds.

    Examples
    --------
    >>> usage = DecayedUsage.empty(["cpu"], decay=Decay.exact(100), at=0)
    >>> usage.add(["ann", "bob"], [[8.0], [4.0]]).decayed_to(100).to_dict()["usage"]
    {'ann': {'cpu': 4.0}, 'bob': {'cpu': 2.0}}
    """

    decay: Decay
    at: float
    resources: tuple[str, ...]
    names: tuple[Name, ...]
    values: NDArray[np.float64]

    @classmethod
    @checked("history.DecayedUsage")
    def empty(cls, resources: Sequence[str], *, decay: Decay, at: float) -> DecayedUsage:
        """No usage yet at the instant `at` (seconds)."""
        checks = Checks("usage")
        if decay.step > 0:
            checks.add(
                None, None, "decay.step", "no_step", decay.step, "a running sum needs a rule without steps"
            )
        checks.done()
        return cls(decay, float(at), tuple(resources), (), _frozen(np.zeros((0, len(resources)))))

    @checked("history.DecayedUsage")
    def decayed_to(self, now: float) -> DecayedUsage:
        """Move on to a later instant `now` (seconds).

        Raises
        ------
        InputError
            If `now` lies before the instant of this value.
        """
        checks = Checks("usage")
        if not now >= self.at:
            checks.add(
                None, None, "now", "not_before", now, f"expected at least {self.at:g}, the instant so far"
            )
        checks.done()
        left = self.decay.factor(now - self.at)
        return replace(self, at=float(now), values=_frozen(self.values * left))

    @checked("history.DecayedUsage")
    def add(self, names: Sequence[Name], amounts: ArrayLike, *, at: ArrayLike | None = None) -> DecayedUsage:
        """Add usage, one row an event; a name may occur repeatedly or be new.

        Parameters
        ----------
        names : sequence
            Whose usage.
        amounts : array_like, shape (len(names), resources) or (len(names),)
            Resource-seconds, at least 0; a vector where there is one resource.
        at : array_like, optional
            Seconds at which each event counts as used, by default the instant of this value. Earlier
            events are added decayed.

        Returns
        -------
        DecayedUsage
            At the latest instant among this value's and the events'.
        """
        rows = amounts_of("history.DecayedUsage", amounts, len(names), len(self.resources))
        given = np.asarray(self.at if at is None else at, dtype=np.float64)
        expect(
            given.shape in ((), (1,), (len(names),)), "history.DecayedUsage", "at", at, "one, or one a name"
        )
        times = np.broadcast_to(given, (len(names),))
        checks = Checks("usage")
        checks.numbers(rows, "amounts", names, minimum=0)
        checks.numbers(times, "at", names)
        checks.done()
        now = float(max(self.at, times.max(initial=self.at)))
        position = {name: i for i, name in enumerate(self.names)}
        index = np.array([position.setdefault(name, len(position)) for name in names], dtype=np.int32)
        before = np.zeros((len(position), len(self.resources)))
        before[: len(self.names)] = self.decayed_to(now).values
        values = _core.accumulate_decayed(self.decay._core(), index, rows, now - times, before)
        return replace(self, at=now, names=tuple(position), values=_frozen(values))

    @checked("history.DecayedUsage")
    def keep(self, names: Sequence[Name]) -> DecayedUsage:
        """Only these rows, in this order; a name without usage gets 0."""
        position = {name: i for i, name in enumerate(self.names)}
        padded = np.vstack([self.values, np.zeros((1, len(self.resources)))])
        rows = [position.get(name, len(self.names)) for name in names]
        return replace(self, names=tuple(names), values=_frozen(padded[rows]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values keyed by name."""
        usage = {
            name: dict(zip(self.resources, row, strict=True))
            for name, row in zip(self.names, self.values.tolist(), strict=True)
        }
        return {
            "decay": self.decay.to_dict(),
            "at": self.at,
            "resources": list(self.resources),
            "usage": usage,
        }

    @classmethod
    @checked("history.DecayedUsage")
    def from_dict(cls, d: Mapping[str, Any]) -> DecayedUsage:
        """Undo `to_dict`; resources that a row leaves out are 0."""
        with as_written("history.DecayedUsage"):
            resources = tuple(d["resources"])
            rows = [[float(row.get(r, 0.0)) for r in resources] for row in d["usage"].values()]
            start = cls.empty(resources, decay=Decay(**d["decay"]), at=d["at"])
            return start.add(list(d["usage"]), np.array(rows).reshape(len(rows), len(resources)))


def _seconds(value: float | timedelta) -> float:
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


def _frozen(values: NDArray[np.float64]) -> NDArray[np.float64]:
    values.flags.writeable = False
    return values
