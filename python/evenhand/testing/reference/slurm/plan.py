"""One scheduling run as plain data."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evenhand.config.slurm import SlurmSettings, split_mode
from evenhand.testing.reference.slurm.gang import over, under
from evenhand.testing.reference.slurm.victims import (
    Spots,
    candidates,
    choose,
    freed,
    leave,
    place,
    standing,
)
from evenhand.testing.reference.slurm.world import Allocation, Job, Room, Turn, World, read_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenhand.model import Snapshot

__all__ = ["reference_plan"]


def reference_plan(
    snapshot: Snapshot,
    settings: SlurmSettings | None = None,
    last_preempt: Mapping[str | int, float] | None = None,
) -> dict[str, Any]:
    """Plan one scheduling run by the published rules, slowly.

    Parameters
    ----------
    snapshot : Snapshot
    settings : SlurmSettings, optional
        Default: the preset "documented".
    last_preempt : mapping, optional
        Name of a job to when others were last preempted for it.

    Returns
    -------
    dict
        ``decisions`` and ``refusals`` as in a plan's JSON, with the keys that are decided here.
    """
    run = _Run(read_world(snapshot, settings or SlurmSettings()), dict(last_preempt or {}))
    run.go()
    return {
        "decisions": run.decisions,
        "refusals": run.refusals,
        "statuses": {},
        "groups": {},
        "diagnostics": [],
        "state": None,
    }


_WAITS = (
    "behind_first_waiting",
    "preemption_disabled",
    "nobody_may_go",
    "no_room_even_with_victims",
    "dry_run_names_nobody",
    "preemption_backoff",
)


class _Run:
    def __init__(self, world: World, last_preempt: dict[str | int, float]) -> None:
        self.world = world
        self.last = last_preempt
        self.room = world.room
        self.blocked: frozenset[str] = frozenset()
        self.gone: list[Job] = []
        self.whom: list[tuple[Job, Job]] = []
        self.held: list[tuple[Job, Spots]] = []
        self.resumed: list[Job] = []
        self.served: list[Job] = []
        self.waits: list[tuple[Job, str | None, str]] = []
        self.decisions: list[dict[str, Any]] = []
        self.refusals: list[dict[str, Any]] = []

    def go(self) -> None:
        """Look at every pending job in the order of the queue."""
        queue = self._queue()
        for job, turn in queue:
            if job in self.served:
                continue
            job.stand_in(turn)
            self._resume(job)
            self.world.reserve(self.room, job, 1)
            self._one(job)
            if job.requests:
                self.world.reserve(self.room, job, -1)
        self._resume(None)
        if self.world.settings.SchedulerType == "sched/backfill":
            self._backfill(queue)
        self._tell()

    def _tell(self) -> None:
        """Refuse each job that waits once, by the partition in which it came furthest."""
        for job in self.world.jobs:
            rules = [rule for other, _, rule in self.waits if other is job]
            if job.requests and rules:
                best = max(rules, key=lambda rule: (rule == "waits_for_victims", rule in _WAITS))
                self.refusals += [{"request": q.name, "rule": best} for q in job.requests]

    # --- the queue

    def _queue(self) -> list[tuple[Job, Turn]]:
        waiting = [(job, turn) for job in self.world.jobs if job.requests for turn in job.turns]
        owners = {owner for owner, _, _ in self.world.reserved}
        by_tier = self.world.settings.PreemptType == "preempt/partition_prio"
        waiting.sort(
            key=lambda entry: (
                not entry[0].own.get("expedited", False),
                -entry[1][1].PriorityTier if by_tier else 0,
                str(entry[0].name) not in owners,
                -entry[1][1].PriorityTier,
                -entry[1][2],
                entry[0].submitted,
                entry[0].row,
            )
        )
        if self.world.settings.PreemptType != "preempt/qos":
            return waiting
        return self._by_qos(waiting)

    def _by_qos(self, base: list[tuple[Job, Turn]]) -> list[tuple[Job, Turn]]:
        """Take the first whom nobody at the head of another QOS may preempt."""
        flags = split_mode(self.world.settings.PreemptMode)[1]
        heads: dict[str | None, list[int]] = {}
        for spot, (job, _) in enumerate(base):
            heads.setdefault(job.qos_name, []).append(spot)
        if "WITHIN" in flags:
            for line in heads.values():
                line.sort(key=lambda spot: -base[spot][1][2])

        def blocked(spot: int) -> bool:
            job, (_, _, priority) = base[spot]
            return any(
                head.qos is not None
                and head.qos_name != job.qos_name
                and job.qos_name in head.qos.Preempt
                and ("PRIORITY" not in flags or its > priority)
                for head, (_, _, its) in (base[line[0]] for line in heads.values() if line)
            )

        order: list[tuple[Job, Turn]] = []
        while any(heads.values()):
            first = [line[0] for line in heads.values() if line]
            free = [spot for spot in first if not blocked(spot)]
            chosen = min(free or first)
            heads[base[chosen][0].qos_name].remove(chosen)
            order.append(base[chosen])
        return order

    # --- backfill

    def _backfill(self, queue: list[tuple[Job, Turn]]) -> None:
        """Start jobs that do not delay those before them; nobody is preempted."""
        world, now = self.world, self.world.now
        kept = {node: now for _, spots in self.held for _, node in spots if node is not None}
        refused = {(job.row, where): rule for job, where, rule in self.waits}
        for job, turn in queue:
            if job in self.served or refused.get((job.row, turn[0])) not in _WAITS:
                continue
            job.stand_in(turn)
            lasts = [q.duration for q in job.requests]
            ends = None if None in lasts else now + max(last for last in lasts if last is not None)
            taken = frozenset(
                node for node, since in kept.items() if ends is None or ends > since or since <= now
            )
            world.reserve(self.room, job, 1)
            spots = place(world, self.room, job, taken)
            if spots is not None:
                self._start(job, spots)
                continue
            for since, room in self._later(job):
                spots = place(world, room, job, frozenset(kept))
                if spots is not None:
                    for _, node in spots:
                        if node is not None:
                            kept[node] = min(since, kept.get(node, since))
                    break
            world.reserve(self.room, job, -1)

    def _later(self, job: Job) -> Iterator[tuple[float, Room]]:
        """Yield instants and the room that is free then for a job."""
        world, now = self.world, self.world.now
        room = self.room.copy()
        ends: list[tuple[float, Job, Allocation]] = []
        for other in world.jobs:
            for a in other.allocations:
                mine = a.state == "preempting" and a.beneficiary == str(job.name)
                if mine:
                    room.add(a.node, a.amounts, 1, world.licences)
                if mine and a.node is not None:
                    room.there[a.node].remove(other)
                until = a.deadline if a.state == "preempting" else a.planned_end
                if until is not None and not mine and a.state != "preempted" and other not in self.gone:
                    ends.append((max(until, now), other, a))
        yield now, room
        for instant in sorted({end for end, _, _ in ends}):
            for end, other, a in ends:
                if end == instant:
                    room.add(a.node, a.amounts, 1, world.licences)
                    if a.node is not None:
                        room.there[a.node].remove(other)
            yield instant, room

    # --- one job

    def _one(self, job: Job) -> None:
        world, now = self.world, self.world.now
        eligible = job.own.get("eligible_time")
        if eligible is not None and eligible > now:
            return self._refuse(job, "not_eligible_yet")
        if job.partition.State in ("DOWN", "INACTIVE"):
            return self._refuse(job, "partition_down")
        inside = world.partition_nodes(job)
        for request in job.requests:
            wants = {r for r, v in request.amounts.items() if v > 0}
            if wants and wants <= world.licences:
                continue
            fit = [
                node
                for node in world.nodes
                if node in inside
                and world.schedulable[node]
                and request.tags <= world.tags[node]
                and request.node in (None, node)
            ]
            if not fit:
                return self._refuse(job, "nowhere")
            if all(node in self.blocked for node in fit):
                return self._refuse(job, "behind_first_waiting")
        if self._licences_lack(job, self.room) and not self._licences_come(job):
            return self._refuse(job, "licenses_missing")
        spots = place(world, self.room, job, self.blocked)
        if spots is not None:
            return self._start(job, spots)
        never = self._beyond_nodes(job)
        if never is not None:
            return self._refuse(job, never)
        rule = self._preempt(job)
        if rule is not None:
            self._refuse(job, rule)
            self.blocked |= inside
        return None

    def _licences_lack(self, job: Job, room: Room) -> bool:
        free = room.free[None]
        return any(
            sum(q.count * q.amounts.get(r, 0) for q in job.requests) > free.get(r, 0)
            for r in self.world.licences
            if any(q.amounts.get(r, 0) > 0 for q in job.requests)
        )

    def _licences_come(self, job: Job) -> bool:
        """Whether there would be enough once all have gone that may go for a job."""
        world, room = self.world, self.room.copy()
        if not world.settings.reclaim_licenses:
            return False
        self._add_leaving(room, job)
        for other in candidates(world, job, self.gone, world.now):
            leave(world, room, other)
        return not self._licences_lack(job, room)

    def _beyond_nodes(self, job: Job) -> str | None:
        """Return a rule if a job would not fit if nothing else ran."""
        world = self.world
        inside = world.partition_nodes(job)
        for request in job.requests:
            wants = {r: v for r, v in request.amounts.items() if v > 0}
            if wants and set(wants) <= world.licences:
                continue
            enough = [
                node
                for node in inside
                if request.tags <= world.tags[node]
                and request.node in (None, node)
                and all(
                    v <= world.capacity[node].get(r, 0) for r, v in wants.items() if r not in world.licences
                )
            ]
            if len(enough) < request.count:
                return "larger_than_nodes"
            if sum(world.schedulable[node] for node in enough) < request.count:
                return "nowhere"
        return None

    def _add_leaving(self, room: Room, job: Job) -> bool:
        """Add what leaves for a job to a room; whether anything does."""
        found = False
        for other in self.world.jobs:
            for a in other.allocations:
                if a.state == "preempting" and a.beneficiary == str(job.name):
                    found = True
                    room.add(a.node, a.amounts, 1, self.world.licences)
                    if a.node is not None:
                        room.there[a.node].remove(other)
        return found

    def _preempt(self, job: Job) -> str | None:
        world, s, now = self.world, self.world.settings, self.world.now
        base = self.room.copy()
        leaving = self._add_leaving(base, job)
        spots = place(world, base, job, self.blocked) if leaving else None
        if spots is not None:
            self.held.append((job, spots))
            return "waits_for_victims"
        last = self.last.get(job.name)
        if last is not None and last > now - (s.KillWait + s.MessageTimeout):
            return "preemption_backoff"
        if s.PreemptType is None:
            return "preemption_disabled"
        wanted = candidates(world, job, self.gone, now)
        if not wanted:
            return "nobody_may_go"
        flags = split_mode(s.PreemptMode)[1]
        by_tier = s.PreemptType == "preempt/partition_prio"
        gang = "GANG" in flags and by_tier
        sharing = [other for other in wanted if gang and other.partition.OverSubscribe[:3] in ("YES", "FOR")]
        if gang:
            spots = over(world, base, job, sharing, self.blocked)
            if spots is not None:
                if s.victim_selection == "test_only":
                    return "dry_run_names_nobody"
                victims = under(world, base, job, sharing, spots)
                if leaving or any(other.mode(s) != "SUSPEND" for other in victims):
                    return self._end(job, spots, victims)
                self._suspend(job, spots, victims)
                return None
        before = base.copy()
        for other in sharing:
            if other.mode(s) == "SUSPEND" and s.victim_selection != "test_only":
                leave(world, base, other)
        chosen = choose(world, base, job, wanted, self.blocked)
        if chosen is not None:
            spots, victims = chosen
            if gang and s.victim_selection != "test_only":
                for other in victims:
                    leave(world, before, other)
                rest = [other for other in sharing if other not in victims]
                victims += under(world, before, job, rest, spots)
            return self._end(job, spots, victims)
        if "GANG" in flags and not by_tier and s.victim_selection != "test_only":
            chosen = choose(world, base, job, wanted, self.blocked, ("SUSPEND",))
            if chosen is not None and leaving:
                return self._end(job, *chosen)
            if chosen is not None:
                self._suspend(job, *chosen)
                return None
        return "no_room_even_with_victims"

    def _refuse(self, job: Job, rule: str) -> None:
        self.waits.append((job, job.partition_name, rule))
        if rule == "waits_for_victims":
            self.served.append(job)

    # --- what is done

    def _start(self, job: Job, spots: Spots) -> None:
        for request, node in spots:
            self.room.add(node, request.amounts, -1, self.world.licences)
            if node is not None:
                self.room.there[node].append(job)
            self.decisions.append(
                {"action": "start", "request": request.name, "operation": job.name, "node": node}
            )
        job.requests = []
        self.served.append(job)

    def _leave(self, job: Job, victims: list[Job]) -> None:
        for victim in victims:
            own = victim.own.get("requeue")
            again = (self.world.settings.JobRequeue if own is None else own) and victim.batch
            word = {"SUSPEND": "suspend", "CANCEL": "terminate", "REQUEUE": "requeue"}[
                victim.mode(self.world.settings)
            ]
            if word == "requeue" and not again:
                word = "terminate"
            for a in victim.running:
                gives = {r: v for r, v in freed(self.world, victim, a).items() if v}
                self.decisions.append(
                    {
                        "action": "preempt",
                        "allocation": a.name,
                        "operation": victim.name,
                        "mode": word,
                        "beneficiary": {"operation": job.name},
                        "freed": {r: float(v) for r, v in gives.items()},
                        "kept": {r: float(v) for r, v in a.amounts.items() if v and r not in gives},
                    }
                )
            if word == "suspend":
                leave(self.world, self.room, victim)
            self.gone.append(victim)
            self.whom.append((victim, job))

    def _end(self, job: Job, spots: Spots, victims: list[Job]) -> str:
        self._leave(job, victims)
        self.held.append((job, spots))
        for request, node in spots:
            if node is None:
                continue
            self.decisions.append(
                {"action": "reserve", "request": request.name, "operation": job.name, "node": node}
            )
        return "waits_for_victims"

    def _suspend(self, job: Job, spots: Spots, victims: list[Job]) -> None:
        self._leave(job, victims)
        self._start(job, spots)

    def _resume(self, before: Job | None) -> None:
        world = self.world
        stopped = [
            job
            for job in world.jobs
            if job not in self.resumed and any(a.state == "preempted" for a in job.allocations)
        ]
        stopped.sort(key=lambda job: (-job.partition.PriorityTier, -job.priority, job.submitted, job.row))
        for job in stopped:
            if before is not None and self._may_go_for(before, job):
                continue
            mine = [a for a in job.allocations if a.state == "preempted"]
            if not self._goes_on(self.room, job) or not self._goes_on(self._afterwards(), job):
                continue
            self.resumed.append(job)
            for a in mine:
                self._return(self.room, job, a)
                self.decisions.append(
                    {"action": "resume", "allocation": a.name, "operation": job.name, "node": a.node}
                )

    def _return(self, room: Room, job: Job, a: Allocation) -> bool:
        """Put a suspended allocation back; whether all it needs was there."""
        licences = self.world.licences
        more = {r: v - a.held.get(r, Fraction(0)) for r, v in a.amounts.items()}
        more = {r: v for r, v in more.items() if r in licences or a.node is not None}
        free = {r: room.free[None if r in licences else a.node].get(r, Fraction(0)) for r in more}
        room.add(a.node, more, -1, licences)
        if a.node is not None:
            room.there[a.node].append(job)
        return all(v <= free[r] for r, v in more.items() if v > 0)

    def _goes_on(self, room: Room, job: Job) -> bool:
        """Whether a suspended job fits where it is, beside those who are there."""
        mine = [a for a in job.allocations if a.state == "preempted"]
        linear = self.world.settings.SelectType == "select/linear"
        for a in mine:
            others = room.there[a.node] if a.node is not None else []
            if others and (linear or any(one.whole_nodes for one in [job, *others])):
                return False
        trial = room.copy()
        return all(self._return(trial, job, a) for a in mine)

    def _afterwards(self) -> Room:
        """Return the room once all who leave for a job have gone and it has started."""
        world, room = self.world, self.room.copy()
        for job, spots in self.held:
            self._add_leaving(room, job)
            world.reserve(room, job, 1)
            for victim, whom in self.whom:
                if whom is job and victim.mode(world.settings) != "SUSPEND":
                    leave(world, room, victim)
            for request, node in spots:
                if node is not None:
                    room.add(node, request.amounts, -1, world.licences)
                    room.there[node].append(job)
        return room

    def _may_go_for(self, asks: Job, job: Job) -> bool:
        """Whether a suspended job would be preempted again."""
        stopped = [a for a in job.allocations if a.state == "preempted"]
        for a in stopped:
            a.state = "running"
        found = standing(self.world, asks, job, self.world.now)
        for a in stopped:
            a.state = "preempted"
        return found == "taken"
