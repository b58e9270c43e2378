"""What is said of suspension on subordinate, held against the lists of queues and the jobs on a host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evenhand.fields import resource_kind
from evenhand.systems.gridengine.subordinates import SubordinateList
from tests.reference.explanations.decided import own_decisions
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import Row, World, same

if TYPE_CHECKING:
    from tests.reference.explanations.world import Amounts

__all__ = ["SlotwiseTree", "queue_closed", "queue_of", "slots_of"]

_SYSTEM = "gridengine"


def queue_of(world: World, row: Row) -> str | None:
    """Return the queue of an allocation: that of its row, else the one called like its job's pool."""
    own = (row.get("settings") or {}).get("queue")
    return str(own) if own is not None else _queue_of_job(world, row["operation"])


def _queue_of_job(world: World, operation: object) -> str | None:
    pool = world.row("operations", operation).get("pool")
    return None if pool is None else str(pool)


def _lists(world: World) -> dict[str, SubordinateList]:
    texts = {name: queue.subordinate_list for name, queue in world.settings.queues.items()}
    return {name: SubordinateList.parse(text) for name, text in texts.items() if text is not None}


class SlotwiseTree:
    """The slot-wise lists of all queues.

    Parameters
    ----------
    world : World

    Attributes
    ----------
    most : dict of str to int
        Queue to threshold.
    above : dict of str to (str, int)
        Queue to the one whose list names it, and its seq_no there.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        slotwise = {name: one for name, one in _lists(world).items() if one.most}
        self.most = {name: one.most for name, one in slotwise.items()}
        self.above = {below.queue: (name, below.seq) for name, one in slotwise.items() for below in one.below}

    def level(self, queue: str | None, root: str) -> int | None:
        """Return how far a queue is below another; None if it is not."""
        level = 0
        while queue is not None:
            if queue == root:
                return level
            queue, level = self.above.get(queue, (None, 0))[0], level + 1
        return None

    def jobs(self, node: object, root: str) -> Iterator[set[str]]:
        """Yield the jobs which run on a host in a queue and below it after the plan: surely, and perhaps.

        A job with parts in several queues of a host counts in one of them.
        """
        sure, perhaps = set(), set()
        for name in self.world.tables["operations"]:
            rows = self.world.allocations_of(name)
            here = [queue_of(self.world, a) for a in rows if same(a.get("node"), node)]
            started = self.world.decided("start", operation=name, node=node)
            here += [_queue_of_job(self.world, name)] * bool(started)
            inside = [queue for queue in here if self.level(queue, root) is not None]
            states = {World.state_of(a) for a in rows}
            stops = self.world.decided("preempt", operation=name)
            resumes = self.world.decided("resume", operation=name)
            runs = bool(started) or (not stops and (states == {"running"} or bool(resumes)))
            if runs and inside:
                perhaps.add(name)
                if len(set(here)) == 1 and not started and not resumes:
                    sure.add(name)
        yield sure
        yield perhaps


def _counted(world: World, said: Said, node: object) -> None:
    """Hold the count of jobs that run after the plan against its threshold and the host."""
    told = said.compared
    tree = SlotwiseTree(world)
    must(told["most"] == tree.most.get(str(told["queue"])), "threshold", told, tree.most)
    sure, perhaps = tree.jobs(node, str(told["queue"]))
    must(len(sure) <= told["count"] <= len(perhaps), "jobs that run there", told, sure, perhaps)
    level = tree.level(queue_of(world, said.row), str(told["queue"]))
    must(level is not None, "its queue is not below", told)


@checks("victim", "subordinate_threshold", system=_SYSTEM)
@checks("start", "subordinate_resumes", system=_SYSTEM)
def by_threshold(world: World, said: Said) -> None:
    """Whether more (fewer) jobs ran than the list lets run, and its queue is in that list or below."""
    made = own_decisions(world, said, "preempt", "resume")
    must(made, "it neither stops nor resumes")
    tree, told = SlotwiseTree(world), made[0]["numbers"]
    count, most, queue = told["count"], told["most"], str(told["queue"])  # type: ignore[index]
    own = queue_of(world, said.row)
    must(most == tree.most.get(queue), "threshold", most, tree.most)
    must(count > most if made[0]["action"] == "preempt" else count < most, "count and threshold", count, most)
    operations = {queue_of(world, a) for a in world.allocations_of(said.row["operation"])}
    levels = {tree.level(one, queue) for one in operations}
    must(told["level"] in levels and told["level"] > 0, "level", told, levels)  # type: ignore[index]
    places = {tree.above[one][1] for one in operations if one in tree.above}
    must(told["seq_no"] in places, "seq_no", told, places, own)  # type: ignore[index]
    must(not any(made[0]["freed"].values()), "it gives something back", made[0]["freed"])  # type: ignore[attr-defined]


def slots_of(world: World) -> list[str]:
    """Return the resources that are slots, by their kind or by their name."""
    spaces = world.data["resources"].items()
    return [r for r, space in spaces if (space or {}).get("kind", resource_kind(r)) == "slots"]


def _used(world: World, node: object, queue: str) -> float:
    """Return the slots of a queue in use on a host: of what runs, leaves or is stopped, and starts."""
    kinds = slots_of(world)

    def slots(amounts: Amounts) -> float:
        return sum(amounts.get(r, 0) for r in kinds) if kinds else 1.0

    rows = [a for a in world.tables["allocations"].values() if same(a.get("node"), node)]
    used = 0.0
    for a in rows:
        back = world.decided("resume", allocation=a["name"])
        whole = World.state_of(a) != "preempted" or any(d["reason"] == "resumes" for d in back)
        if queue_of(world, a) == queue and (whole or a.get("held")):
            used += slots(a["resources"] if whole else a["held"])
    for made in world.decided("start", node=node):
        if _queue_of_job(world, made["operation"]) == queue:
            used += slots(world.row("requests", made["request"]).get("resources") or {})
    return used


def _suspends(world: World, node: object, queue: str | None) -> dict[str, float]:
    """Return the queues whose list suspends another on a host, with their slots in use there."""
    found = {}
    for name, one in _lists(world).items():
        for below in one.below:
            number = below.used or world.settings.queues[name].slots
            if not one.most and below.queue == queue and _used(world, node, name) >= (number or 0):
                found[name] = _used(world, node, name)
    return found


@checks("victim", "queue_suspended", system=_SYSTEM)
def queue_suspended(world: World, said: Said) -> None:
    """Whether so many slots of the queue that is named are in use on one of its hosts."""
    (made,) = own_decisions(world, said, "preempt")
    told = made["numbers"]
    rows = world.allocations_of(said.row["operation"])
    found = [_suspends(world, a.get("node"), queue_of(world, a)) for a in rows]
    above = str(told["queue"])  # type: ignore[index]
    must(any(above in one for one in found), "its queue is not suspended", told, found)
    must(told["count"] >= told["most"], "slots in use", told)  # type: ignore[index]


@checks("start", "queue_resumed", system=_SYSTEM)
def queue_resumed(world: World, said: Said) -> None:
    """Whether no list suspends its queue where it is."""
    must(own_decisions(world, said, "resume"), "it does not resume")
    found = _suspends(world, said.row.get("node"), queue_of(world, said.row))
    must(not found, "its queue is suspended", found)


@checks("allocation", "subordinate_queue_suspended", system=_SYSTEM)
@checks("request", "subordinate_queue_suspended", system=_SYSTEM)
def queue_closed(world: World, said: Said) -> None:
    """Whether its queue is suspended where it is, or, of a request, on some host."""
    if said.explanation.table == "allocations":
        other = said.compared.get("other_allocation")
        must(other is None or str(other) in world.tables["allocations"], "that is no allocation", other)
        row = said.row if other is None else world.row("allocations", other)
        must(same(row["operation"], said.row["operation"]), "that is no part of its job", other)
        found = _suspends(world, row.get("node"), queue_of(world, row))
        must(found, "its queue is not suspended there")
        return
    queue = _queue_of_job(world, said.row["operation"])
    told = said.compared
    must(told.get("queue") in (None, queue), "its queue", told, queue)
    if (by := told.get("by_queue")) is not None:
        below = [one for one in _lists(world)[str(by)].below if one.queue == queue]
        right = [one.used or world.settings.queues[str(by)].slots for one in below]
        must(told["slots"] in right, "from how many slots on", told, right)
    must(any(_suspends(world, node, queue) for node in world.tables["nodes"]), "no host suspends", queue)


@checks("allocation", "subordinate_to_none", system=_SYSTEM)
def subordinate_to_none(world: World, said: Said) -> None:
    """Whether no slot-wise list names its queue, and it has one itself."""
    tree, queue = SlotwiseTree(world), queue_of(world, said.row)
    must(queue not in tree.above and queue in tree.most, "its queue", queue, tree.above)
    _counted(world, said, said.row.get("node"))


@checks("allocation", "within_subordinate_threshold", "others_stop_first", system=_SYSTEM)
def stays(world: World, said: Said) -> None:
    """Whether jobs of its tree stop on its host, or none."""
    _counted(world, said, said.row.get("node"))
    tree, root = SlotwiseTree(world), str(said.compared["queue"])
    stopped = [
        d
        for d in world.decided("preempt", node=said.row.get("node"))
        if d["reason"] in ("subordinate_threshold", "queue_suspended")
        and tree.level(queue_of(world, world.row("allocations", d["allocation"])), root) is not None
    ]
    must(bool(stopped) == (said.code == "others_stop_first"), "jobs that stop there", stopped)


@checks("allocation", "stays_subordinate", system=_SYSTEM)
def stays_subordinate(world: World, said: Said) -> None:
    """Whether it is stopped, and does not resume."""
    must(World.state_of(said.row) == "preempted", "its state", World.state_of(said.row))
    must(not world.decided("resume", operation=said.row["operation"]), "it resumes")
    _counted(world, said, said.row.get("node"))
