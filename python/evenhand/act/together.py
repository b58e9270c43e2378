"""Steps side by side: one loop, one look for the jobs of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evenhand.act.looking import look
from evenhand.adapters.protocol import AdapterError, Standing
from evenhand.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.act.course import Course
    from evenhand.act.timing import Timing
    from evenhand.adapters.protocol import Adapter

__all__ = ["Together"]


class Together:
    """The steps that are under way.

    Attributes
    ----------
    open : list of Course
    error : EvenhandError or None
        Why steps stay open in the journal: their jobs could not be looked at, as a rule.
    """

    def __init__(self, adapter: Adapter, timing: Timing) -> None:
        self.adapter, self.timing = adapter, timing
        self.open: list[Course] = []
        self.error: EvenhandError | None = None

    def to_their_ends(self) -> Iterator[Course]:
        """Yield the courses as they come to their ends."""
        while self.open:
            yield from self.poll()

    def poll(self) -> list[Course]:
        """Look once at the jobs of all open steps, and return the steps that came to their end.

        Steps whose jobs cannot be looked at stay open in the journal and are not looked at again.
        """
        standings, failed = self._look()
        again, left = False, []
        for course in self.open:
            if course in failed:
                if course.unseen(failed[course]):
                    self.error = failed[course]
                    left.append(course)
                continue
            try:
                again |= course.see(standings)
            except EvenhandError as error:
                self.error = error
                left.append(course)
        ended = [course for course in self.open if course.ended]
        self.open = [course for course in self.open if not course.ended and course not in left]
        if self.open and not ended and not again:
            self.timing.pause()
        return ended

    def _look(self) -> tuple[dict[str, Standing], dict[Course, AdapterError]]:
        def missed() -> None:
            for course in self.open:
                course.missed()

        names = dict.fromkeys(name for course in self.open for name in course.wanted())
        try:
            return look(self.adapter, names, self.timing, missed), {}
        except AdapterError as error:
            if len(self.open) == 1:
                return {}, {self.open[0]: error}
        return self._one_by_one()

    def _one_by_one(self) -> tuple[dict[str, Standing], dict[Course, AdapterError]]:
        """Look at the jobs of each step by itself: one that cannot be looked at holds up no other."""
        found: dict[str, Standing] = {}
        failed: dict[Course, AdapterError] = {}
        until = self.timing.steady() + self.timing.settle
        for course in self.open:
            if failed and not found and self.timing.steady() > until:
                failed[course] = next(iter(failed.values()))  # the cluster does not answer at all
                continue
            try:
                found |= self.adapter.look(course.wanted())
            except AdapterError as error:
                failed[course] = error
        return found, failed
