"""Caps: how many jobs may be asked to leave, whatever a plan says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from evenhand.errors import InputError, shorten

if TYPE_CHECKING:
    from evenhand.act.book import Book

__all__ = ["Caps", "Excess"]

_HOUR = 3600.0
Eviction = tuple[float, str, str]  # when, whose, which job


@dataclass(frozen=True, slots=True)
class Excess:
    """A cap that a step would exceed.

    Attributes
    ----------
    cap : str
        Its name.
    whose : str
        Owner or job that it is about; empty where it is about all.
    left : int
        How many more it would allow.
    message : str
        The same in words.
    """

    cap: str
    whose: str
    left: int
    message: str


@dataclass(frozen=True, slots=True)
class Caps:
    """Most victims; a step that would go over one of them is not begun.

    Those count that were asked to leave, and those whom a step that began may still ask.

    Attributes
    ----------
    per_run : int or None
        Of one driver from its start to its end; while it watches, of every round. None: no cap.
    per_hour : int or None
        Within the last hour by the journal, of all drivers.
    per_owner : int or None
        Of one owner within the last hour.
    per_job : int or None
        How often one job may leave within the last 24 hours.

    Raises
    ------
    ValueError
        If one is neither None nor a whole number from 0 up.
    """

    per_run: int | None = 100
    per_hour: int | None = 50
    per_owner: int | None = 10
    per_job: int | None = 3

    def __post_init__(self) -> None:
        """Refuse what no count would ever exceed, or could not be compared with one."""
        for cap in fields(self):
            value = getattr(self, cap.name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                said = f"{cap.name} is {shorten(value)}; it must be None or a whole number from 0 up"
                raise InputError.about("caps", cap.name, "type", said, shorten(value))

    def exceeded(
        self,
        book: Book,
        now: float,
        run: int,
        victims: Iterable[tuple[str, str | None]],
        but: int | None = None,
    ) -> Excess | None:
        """Return which cap a step would exceed, or None.

        Parameters
        ----------
        book : Book
            What was done.
        now : float
            Seconds since 1970.
        run : int
            Victims of this run so far.
        victims : iterable of tuple
            (job, owner) of the step; owners may be None where they are not known yet, "" where there is none.
        but : int, optional
            Number of the step itself, once it began: whom it may still ask is among the victims.

        Returns
        -------
        Excess or None

        Notes
        -----
        O(evictions of the journal).
        """
        new = list(victims)
        recent, today = _lately(book, now, but)
        found = [
            ("per_run", "", self.per_run, run, len(new), "victims of this run"),
            ("per_hour", "", self.per_hour, len(recent), len(new), "victims within an hour"),
        ]
        for owner in dict.fromkeys(owner for _, owner in new if owner is not None):
            before, more = sum(o == owner for _, o, _ in recent), sum(o == owner for _, o in new)
            what = f"victims of {f'owner {owner}' if owner else 'jobs without an owner'} within an hour"
            found.append(("per_owner", owner, self.per_owner, before, more, what))
        for job in dict.fromkeys(job for job, _ in new):
            before = sum(j == job for _, _, j in today)
            found.append(("per_job", job, self.per_job, before, 1, f"evictions of job {job} within a day"))
        for name, whose, cap, before, more, what in found:
            if cap is not None and before + more > cap:
                message = f"{name}={cap}: there would be {before + more} {what}"
                return Excess(name, whose, max(cap - before, 0), message)
        return None

    def spent(self, book: Book, now: float) -> tuple[set[str], set[str]]:
        """Return the jobs that may not leave at this moment, and the owners none of whose jobs may.

        Parameters
        ----------
        book : Book
            What was done.
        now : float
            Seconds since 1970.

        Returns
        -------
        jobs, owners : set of str

        Notes
        -----
        O(evictions of the journal).
        """
        recent, today = _lately(book, now)
        jobs = Counter(job for _, _, job in today)
        owners = Counter(owner for _, owner, _ in recent)
        return (
            {job for job, count in jobs.items() if self.per_job is not None and count >= self.per_job},
            {who for who, count in owners.items() if self.per_owner is not None and count >= self.per_owner},
        )


def _lately(book: Book, now: float, but: int | None = None) -> tuple[list[Eviction], list[Eviction]]:
    """Return the evictions of the last hour and of the last day; times need not rise, as clocks are set."""
    today = [line for line in book.evictions if line[0] >= now - 24 * _HOUR]
    today += [(now, owner, job) for owner, job in book.promised(but)]
    return [line for line in today if line[0] >= now - _HOUR], today
