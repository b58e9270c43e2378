"""What a step of the BackendAI policy had to choose from, by the rules of `tests.reference.backendai`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tests.reference.backendai.plan import _Run
from tests.reference.backendai.replay import _Replay
from tests.reference.backendai.room import Placed
from tests.reference.backendai.victims import candidates, freed
from tests.reference.certificates.questions import NotDerived, Place, Question

if TYPE_CHECKING:
    from evenhand.plans.plan import Plan
    from tests.reference.backendai.replay import Turn
    from tests.reference.backendai.room import Room
    from tests.reference.backendai.world import Request, Session

__all__ = ["MOST_STEPS", "MOST_TRIED", "question"]

MOST_TRIED = 12
"""Of so many sessions all sets are tried, where the agents of an earlier step have to be found out."""

MOST_STEPS = 2_000
"""So many placements are tried at most to see that victims chosen agent by agent make room."""

Needs = list[tuple[Any, dict[str, int]]]


def question(plan: Plan, step: int, node: str | None) -> Question:
    """Derive what the search of a step was asked.

    Parameters
    ----------
    plan : Plan
    step : int
    node : str or None
        With victims chosen agent by agent: the agent, which is taken on trust where it is an able one.

    Returns
    -------
    Question

    Raises
    ------
    NotDerived
        If victims are chosen agent by agent and a session before has more candidates than can be tried.
    AssertionError
        If the step does not come in the queue of sessions.

    Notes
    -----
    Everything is counted anew: the queue, priorities, free room, what may go and in which order. What was
    decided in the turns before is the plan's.
    """
    said = plan.to_dict()
    whose = next(d["beneficiary"]["operation"] for d in said["decisions"] if d["step"] == step)
    replay = _Before(plan, said)
    run = replay.run
    queue = run.queue()
    admitted = run.admit(queue) if replay.settings.preemptor_room == "reserved" else set()
    for number, (session, suspended, needs) in enumerate(queue):
        if session in admitted and not suspended:
            continue
        turn = replay.turn(session, suspended, behind=False)
        if turn.victims and str(session.name) == str(whose):
            found = candidates(run.world, replay.settings, session, run.claimed)
            if replay.settings.victim_area == "agent":
                return _on_an_agent(run, session, needs, found, node)
            return _group_wide(run, session, needs, found)
        replay.look(turn, suspended, needs, first=number == 0)
        for victim in turn.victims:
            run.world.pace.took(victim.name, victim.pool)
    raise AssertionError(f"no session {whose} preempts in the queue")


class _Before(_Replay):
    """What the plan has done before a step."""

    def __init__(self, plan: Plan, said: Mapping[str, Any]) -> None:
        settings = plan.policy.settings
        super().__init__(plan.snapshot, said, settings)
        state = None if plan.state_before is None else plan.state_before.to_dict()
        self.run = _Run(plan.snapshot, settings, state)
        self.sessions = {str(s.name): s for s in self.run.world.sessions}
        self.node = {str(row["name"]): node for node, row in self.run.world.nodes.items()}

    def look(self, turn: Turn, suspended: bool, needs: Any, *, first: bool) -> None:
        if turn.victims and self.settings.victim_area == "agent":
            found = candidates(self.run.world, self.settings, turn.session, self.run.claimed)
            if len(found) > MOST_TRIED:
                raise NotDerived(f"{len(found)} sessions may go for {turn.session.name}, agent by agent")
        super().look(turn, suspended, needs, first=first)

    def by_rules(self, session: Session, needs: Any) -> tuple[list[tuple[Session, Any]], list[Placed]] | None:
        victims = self.turn(session, False, False).victims
        if not victims:
            return None
        if self.settings.victim_area == "agent":
            return super().by_rules(session, needs)
        placed = self.place(session, needs, victims)
        return None if placed is None else ([(victim, None) for victim in victims], placed)

    def costs(self, *_: object) -> tuple[int, int]:
        return 0, 0  # nothing is held against them here

    def spare(self, *_: object) -> list[Session]:
        return []


def _costs(run: _Run, wanted: Sequence[Session]) -> tuple[int, ...]:
    return tuple(int(run.world.costs.of(s.name, [c.name for c in s.running()])) for s in wanted)


def _row(run: _Run, amounts: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(amounts.get(r, 0) for r in run.world.resources)


def _group_wide(run: _Run, session: Session, needs: Needs, found: list[Session]) -> Question:
    wanted = run.wanted_group_wide(session, needs, found)
    by_name = {str(s.name): s for s in wanted}

    def suffices(names: Sequence[str]) -> bool:
        gone = [by_name[name] for name in names]
        return run.place(session, False, needs, leaving_counts=True, gone=gone) is not None

    question = Question(tuple(by_name), _costs(run, wanted), suffices)
    if len({what.name for what, _ in needs}) > 1:
        return question
    (what, amounts), count = needs[0], len(needs)
    room = run.room(whose=session, leaving_counts=True)
    copies, places = _places(run, room, what, amounts, count, wanted)
    return Question(tuple(by_name), question.costs, suffices, copies=copies, places=places)


def _places(
    run: _Run, room: Room, what: Request, amounts: dict[str, int], count: int, wanted: Sequence[Session]
) -> tuple[int, dict[str | None, Place]]:
    """Return how many copies lack room, and what each node lacks for them."""
    world, settings = run.world, run.settings
    wide = world.in_cluster
    frees: dict[str | None, dict[str, dict[str, int]]] = {node: {} for node in [None, *world.nodes]}
    for s in wanted:
        for c in s.running():
            for r, amount in freed(c, world, settings).items():
                node = None if r in wide else c.node
                if (r in wide or c.node is not None) and amount:
                    of = frees[node].setdefault(str(s.name), {})
                    of[r] = of.get(r, 0) + amount
    places: dict[str | None, Place] = {}

    def put(node: str | None, lacks: list[dict[str, int]], *, must: bool = False) -> None:
        gives = {name: _row(run, of) for name, of in frees[node].items()}
        places[node] = Place(tuple(_row(run, one) for one in lacks), gives, must)

    anywhere = next(iter(world.nodes), None)
    shared = {r: max(0, a * count - room.free(anywhere, r)) for r, a in amounts.items() if r in wide and a}
    if any(shared.values()):
        put(None, [shared], must=True)
    copies = count
    for node in world.nodes:
        if not room.allowed(what, node):
            continue
        most, levels = count, []
        if settings.max_containers is not None:
            most = min(most, settings.max_containers - room.containers_on(node))
        for k in range(1, most + 1):
            lacks = {r: max(0, a * k - room.free(node, r)) for r, a in amounts.items() if r not in wide and a}
            gives = {r: sum(of.get(r, 0) for of in frees[node].values()) for r in lacks}
            if any(gives[r] < lacking for r, lacking in lacks.items()):
                break
            if any(lacks.values()):
                levels.append(lacks)
            else:
                copies -= 1
        if levels:
            put(str(node), levels)
    return copies, places


def _stands_somehow(run: _Run, session: Session, needs: Needs, gone: Sequence[Session]) -> bool:
    """Return whether all of a session finds room on any agents, not only on those that placement prefers."""
    left = MOST_STEPS

    def rest(first: int, placed: list[Placed]) -> bool:
        nonlocal left
        if first == len(needs):
            return True
        if left <= 0:
            raise NotDerived(f"too many ways to place {session.name} on agents")
        left -= 1
        what, amounts = needs[first]
        room = run.room(whose=session, leaving_counts=True, gone=gone, placed=placed)
        able = [node for node in run.world.nodes if room.fits(amounts, node) and room.allowed(what, node)]
        return any(rest(first + 1, [*placed, Placed(what, node, amounts)]) for node in able)

    return rest(0, [])


def _on_an_agent(
    run: _Run, session: Session, needs: Needs, found: list[Session], node: str | None
) -> Question:
    placed: list[Placed] = []

    def suffices(names: Sequence[str]) -> bool:
        gone = [s for s in found if str(s.name) in names]
        return _stands_somehow(run, session, needs, gone)

    if node is None:  # several copies take victims, one after the other
        return Question(tuple(str(s.name) for s in found), _costs(run, found), suffices, together=False)
    for what, amounts in needs:
        base = run.room(whose=session, leaving_counts=True, placed=placed)
        free = base.best(what, amounts)
        if free is not None:
            placed.append(Placed(what, free, amounts))
            continue
        full = run.room(whose=session, leaving_counts=True, gone=found, placed=placed)
        if node not in run.world.nodes or not (full.fits(amounts, node) and full.allowed(what, node)):
            raise AssertionError(f"nothing makes room for {what.name} on {node}")
        wanted = run.wanted_on(node, amounts, found, base)
        lacks = run.lacks_on(node, amounts, base)

        def covers(names: Sequence[str], base: Room = base, amounts: dict[str, int] = amounts) -> bool:
            gone = [s for s in found if str(s.name) in names]
            return not any(run.lacks_on(node, amounts, base, gone).values())

        return Question(
            tuple(str(s.name) for s in wanted),
            _costs(run, wanted),
            covers,
            node=node,
            shortage=_row(run, lacks),
            frees={str(s.name): _row(run, run.here(s, node)) for s in wanted},
        )
    raise AssertionError(f"{session.name} fits without victims")
