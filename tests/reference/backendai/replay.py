"""A scheduling run of sessions, turn by turn: what could be done when each session's turn came.

What is done is the plan's; what could be done is added up anew from the rows by the readable reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.reference.backendai.plan import _Run
from tests.reference.backendai.room import Placed
from tests.reference.backendai.victims import candidates

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.systems.backendai.settings import BackendAISettings
    from tests.reference.backendai.world import Session

__all__ = ["Turn", "turns"]


@dataclass
class Turn:
    """A session's turn in the queue.

    Attributes
    ----------
    session : Session
    starts : bool
        The plan starts it, or lets it resume.
    victims : list of Session
        What the plan preempts for it, in the order of the plan.
    behind : bool
        The run ended before its turn, at a session that could not start.
    fits, served : bool
        It fits into free room; it would once all that leaves for it already has gone.
    wanted : list of Session
        What the rules preempt for it, in order; may be empty.
    suffices : bool
        It fits once its victims have gone.
    spare : list of Session
        Victims without which it would fit all the same.
    cost, irreducible_cost : int
        Of the victims, and of the irreducible set, where the fewest are looked for.
    """

    session: Session
    starts: bool
    victims: list[Session]
    behind: bool
    fits: bool = False
    served: bool = False
    wanted: list[Session] = field(default_factory=list)
    suffices: bool = True
    spare: list[Session] = field(default_factory=list)
    cost: int = 0
    irreducible_cost: int = 0


def turns(snapshot: Snapshot, plan: Mapping[str, Any], settings: BackendAISettings) -> Iterator[Turn]:
    """Follow a plan through the queue.

    Parameters
    ----------
    snapshot : Snapshot
    plan : mapping
        In the form of the results' JSON.
    settings : BackendAISettings

    Yields
    ------
    Turn
        Of every session in the queue, in order; not of those whose reserved room decides.
    """
    replay = _Replay(snapshot, plan, settings)
    queue = replay.run.queue()
    admitted = replay.run.admit(queue) if settings.preemptor_room == "reserved" else set()
    behind = False
    for number, (session, suspended, needs) in enumerate(queue):
        if session in admitted and not suspended:
            continue
        turn = replay.turn(session, suspended, behind)
        if not behind:
            replay.look(turn, suspended, needs, first=number == 0)
            barred = any(replay.run.barred(what) for what, _ in needs)
            skipped = barred and settings.blocked_by == "lack_of_resources"
            waits = (turn.victims or turn.served) and settings.preemptors == "every"
            behind = not (turn.starts or skipped or waits)
        yield turn


class _Replay:
    def __init__(self, snapshot: Snapshot, plan: Mapping[str, Any], settings: BackendAISettings) -> None:
        self.run, self.settings = _Run(snapshot, settings), settings
        self.decisions = plan["decisions"]
        self.sessions = {str(s.name): s for s in self.run.world.sessions}
        self.node = {str(row["name"]): node for node, row in self.run.world.nodes.items()}

    def of(self, session: Session, *actions: str) -> list[Mapping[str, Any]]:
        return [d for d in self.decisions if d["action"] in actions and d["operation"] == session.name]

    def turn(self, session: Session, suspended: bool, behind: bool) -> Turn:
        starts = bool(self.of(session, "resume" if suspended else "start"))
        victims = [
            self.sessions[str(d["operation"])]
            for d in self.decisions
            if d["action"] == "preempt" and d["beneficiary"]["operation"] == session.name and not suspended
        ]
        return Turn(session, starts, list(dict.fromkeys(victims)), behind)

    def look(self, turn: Turn, suspended: bool, needs: Any, *, first: bool) -> None:
        """Find what could be done in a session's turn, then do what the plan does."""
        run, session, victims = self.run, turn.session, turn.victims
        turn.fits = run.place(session, suspended, needs) is not None
        if turn.starts:
            run.start(session, self.stands(session, needs, "resume" if suspended else "start"), suspended)
            return
        if suspended:
            return
        served = run.place(session, False, needs, leaving_counts=True)
        turn.served = served is not None
        by_rules = None
        if not turn.served and run.may_preempt(session, suspended, first=first) is None:
            by_rules = self.by_rules(session, needs)
        if by_rules is not None:
            turn.wanted = [victim for victim, _ in by_rules[0]]
        if not victims:
            if served is not None:
                run.keep(session, [], served)
            return
        if self.settings.victim_selection == "minimum" and self.settings.victim_area == "group":
            turn.cost, turn.irreducible_cost = self.costs(session, needs, victims)
        placed = self.place(session, needs, victims)
        if by_rules is not None and victims == turn.wanted:  # the agents that were chosen
            placed = by_rules[1]
        turn.suffices = placed is not None
        turn.spare = self.spare(session, needs, victims)
        run.claimed += victims
        if self.settings.preemptor_room == "reserved":
            run.fixed += self.stands(session, needs, "reserve")
        else:
            run.keep(session, victims, placed or [])

    def place(self, session: Session, needs: Any, gone: Sequence[Session]) -> list[Placed] | None:
        return self.run.place(session, False, needs, leaving_counts=True, gone=list(gone))

    def by_rules(self, session: Session, needs: Any) -> tuple[list[tuple[Session, Any]], list[Placed]] | None:
        found = candidates(self.run.world, self.settings, session, self.run.claimed)
        if not found or any(self.run.barred(what) for what, _ in needs):
            return None
        by_agent = self.settings.victim_area == "agent"
        return (self.run.per_agent if by_agent else self.run.group_wide)(session, needs, found)

    def costs(self, session: Session, needs: Any, victims: Sequence[Session]) -> tuple[int, int]:
        """Return what the victims cost, and what an irreducible set would."""
        self.run.settings = self.settings.replace(victim_selection="irreducible")
        others = self.by_rules(session, needs)
        self.run.settings = self.settings

        def cost(some: Sequence[Session]) -> int:
            costs = self.run.world.costs
            return sum(int(costs.of(s.name, [c.name for c in s.running()])) for s in some)

        return cost(victims), cost([victim for victim, _ in others[0]] if others else victims)

    def spare(self, session: Session, needs: Any, victims: Sequence[Session]) -> list[Session]:
        """Return victims that were not needed, where more room never fits less: for one request."""
        if len({what.name for what, _ in needs}) > 1:
            return []
        if self.settings.victim_area == "agent":
            places = {c.node for victim in victims for c in victim.running()}
            if len(needs) > 1 or len(places) > 1:  # some go for one copy, or with their session only
                return []
        tried = victims[-1:] if self.settings.victim_selection == "prefix" else victims
        return [
            victim
            for victim in tried
            if self.place(session, needs, [v for v in victims if v is not victim]) is not None
        ]

    def stands(self, session: Session, needs: Any, action: str) -> list[Placed]:
        """Return where the plan puts a session."""
        found = self.of(session, action)
        placed = []
        for what, amounts in needs:
            field = "allocation" if action == "resume" else "request"
            mine = next((d for d in found if d[field] == what.name), None)
            if mine is not None:
                found.remove(mine)
                placed.append(Placed(what, self.node[str(mine["node"])], amounts))
        return placed
