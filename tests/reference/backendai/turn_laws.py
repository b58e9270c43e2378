"""Laws of BackendAI plans that hold turn by turn: what a session does is what the readable rules let it do.

The laws of `evenhand.testing.priority_laws` need no more than rows; these follow the plan through the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from evenhand.model import Snapshot
from evenhand.testing import priority_laws
from evenhand.testing._laws import hold_all, must
from evenhand.testing.priority_laws import Scheduled
from tests.reference.backendai.replay import Turn, turns

__all__ = ["LAWS", "Followed", "check_followed"]


@dataclass(frozen=True)
class Followed(Scheduled):
    """A scheduling run that is followed through the queue."""

    @cached_property
    def turns(self) -> list[Turn]:
        """Sessions of the queue, and what could be done in their turns."""
        return list(turns(Snapshot.from_dict(dict(self.snapshot)), self.plan, self.settings))


def no_preemption_when_it_fits(run: Followed) -> None:
    """No session is preempted for one that fits, also if it fits once earlier victims have left."""
    for turn in run.turns:
        must(not turn.victims or not (turn.fits or turn.served), turn)


def what_fits_starts(run: Followed) -> None:
    """Sessions that fit in their turn start, and no others do."""
    for turn in run.turns:
        must(turn.behind or turn.fits == turn.starts, turn)


def no_start_behind_a_waiting_session(run: Followed) -> None:
    """Behind the first session that cannot start nothing starts, and nothing is preempted."""
    for turn in run.turns:
        must(not turn.behind or not (turn.starts or turn.victims), turn)


def every_entitled_session_preempts(run: Followed) -> None:
    """Sessions that fit only without others, and may preempt them, do."""
    for turn in run.turns:
        must(turn.behind or bool(turn.wanted) == bool(turn.victims), turn)


def victims_suffice(run: Followed) -> None:
    """Sessions that preempt fit once their victims have left."""
    for turn in run.turns:
        must(turn.suffices, turn)


def no_victim_is_needless(run: Followed) -> None:
    """Without the last victim it would not fit; by others than `prefix`, not without any of them."""
    for turn in run.turns:
        must(not turn.spare, turn)


def victims_in_the_order_of_settings(run: Followed) -> None:
    """Victims are those of the order that the settings name, lowest priority first.

    Of sets that cost as little the first in that order goes, unless the search for them was cut short.
    """
    said = {d["code"] for d in run.plan.get("diagnostics", ())}
    cut_short = bool(said & {"minimum_budget_spent", "victim_cost_limit"})
    for turn in run.turns:
        must(turn.victims == turn.wanted or cut_short, turn)
        if run.settings.victim_area == "group":
            ranks = [victim.rank for victim in turn.victims]
            must(ranks == sorted(ranks), turn)


def fewest_cost_no_more(run: Followed) -> None:
    """Over the entire group the fewest never cost more than an irreducible set."""
    for turn in run.turns:
        must(turn.cost <= turn.irreducible_cost, turn)


#: All laws by name, those over rows first.
LAWS: Mapping[str, Callable[[Followed], None]] = {
    **priority_laws.LAWS,
    **{
        law.__name__: law
        for law in (
            no_preemption_when_it_fits,
            what_fits_starts,
            no_start_behind_a_waiting_session,
            every_entitled_session_preempts,
            victims_suffice,
            no_victim_is_needless,
            victims_in_the_order_of_settings,
            fewest_cost_no_more,
        )
    },
}


def check_followed(run: Followed) -> None:
    """Raise AssertionError, with the law's name, if a law does not hold."""
    hold_all(LAWS.values(), run)
