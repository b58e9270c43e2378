"""The main pass: jobs in the order of the queue, and what is done for them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evenhand.systems.slurm.settings import split_mode
from tests.reference.slurm.gang import over, under
from tests.reference.slurm.limits import Limits
from tests.reference.slurm.places import Spots, place
from tests.reference.slurm.victims import candidates, choose, fits_without_pace, freed, leave, standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.reference.slurm.world import Allocation, Job, Request, Room, Turn, World

__all__ = ["Main"]

#: Rules of jobs that more room would help, least telling first.
_WAITS = (
    *("behind_first_waiting", "waits_for_next_pass", "preemption_disabled", "no_eligible_victims"),
    *("no_room_even_with_victims", "dry_run_omits_victims", "preemption_backoff"),
)
#: A job was not looked at, or only on what others left to it.
_HOLDS = ("waits_for_victims", "waits_for_next_pass")


class Main:
    """What a run works on, and its main pass."""

    def __init__(self, world: World, last_preempt: dict[str | int, float]) -> None:
        self.world = world
        self.last = last_preempt
        self.room = world.room
        self.closed: dict[str | None, str] = {}
        self.taken: frozenset[str] = frozenset()
        self.ending: dict[str, set[str]] = {}
        self.gone: list[Job] = []
        self.whom: list[tuple[Job, Job]] = []
        self.paced: set[int] = set()  # rows of jobs for which the pace spares too much
        self.held: list[tuple[Job, Spots]] = []
        self.resumed: list[Job] = []
        self.served: list[Job] = []
        self.told: list[Job] = []
        self.counting_on_others: list[Job] = []
        self.behind = False  # in the backfill pass
        self.begun: list[tuple[float, list[tuple[Request, str | None]], Job]] = []
        self.limits = Limits(world)
        self.rules: dict[tuple[int, str | None], str] = {}
        self.decisions: list[dict[str, Any]] = []
        self.refusals: list[dict[str, Any]] = []
        for job in world.jobs:
            for a in job.allocations:
                if a.state == "preempting" and a.node is not None and world.has_ended(a):
                    self.ending.setdefault(a.node, set()).add(str(a.beneficiary))

    def main(self, queue: list[tuple[Job, Turn]]) -> None:
        """Look at every pending job in the order of the queue."""
        s, seen, starts = self.world.settings, dict[str | None, int](), 0
        for job, turn in queue:
            if job in self.served:
                continue
            if s.sched_max_job_start and starts >= s.sched_max_job_start:
                return
            job.stand_in(turn)
            seen[turn[0]] = seen.get(turn[0], 0) + 1
            if s.partition_job_depth and seen[turn[0]] > s.partition_job_depth:
                continue
            self.resume(job)
            self.world.reserve(self.room, job, 1)
            rule = self._one(job)
            if job.requests:
                self.world.reserve(self.room, job, -1)
            starts += rule is None
            self.note(job, rule)

    def note(self, job: Job, rule: str | None) -> None:
        """Write down why a job waits."""
        if rule is not None:
            self.rules[job.row, job.partition_name] = rule
        if rule is None or job in self.told:
            self.served.append(job)
        if rule in (None, "waits_for_victims"):
            self.limits.count(job)

    def skip(self, queue: list[tuple[Job, Turn]]) -> None:
        """Let what no pass looked at wait for the next one."""
        for job, turn in queue:
            if job.requests:
                self.rules.setdefault((job.row, turn[0]), "waits_for_next_pass")

    def tell(self, queue: list[tuple[Job, Turn]]) -> None:
        """Refuse each job that waits once, by the partition in which it came furthest."""
        for job in self.world.jobs:
            rules = [self.rules[job.row, turn[0]] for other, turn in queue if other is job and job.requests]
            if job.requests and rules:
                best = max(rules, key=self.reach)
                turns = [turn for other, turn in queue if other is job]
                job.stand_in(turns[rules.index(best)])
                self.refusals += [{"request": q.name, "rule": rule} for q, rule in self._told(job, best)]

    def _told(self, job: Job, rule: str) -> list[tuple[Request, str]]:
        """Return what is said of each request of a job: what it does not lack itself another one does."""
        if rule == "nowhere":
            return [(q, self._nowhere(job, q) or "other_request_waits") for q in job.requests]
        if rule != "no_room_even_with_victims" or job.row in self.paced:
            return [(q, rule) for q in job.requests]
        self.world.reserve(self.room, job, 1)
        room = self._without_victims(job)
        if place(self.world, room, job) is not None:
            told = [(q, "waits_for_next_pass") for q in job.requests]
        else:
            told = [(q, rule) for q in job.requests]
            short = self._licences_lack(job, room)
            for i, q in enumerate(job.requests if len(job.requests) > 1 else ()):
                wants = any(q.amounts.get(r, 0) > 0 for r in short)
                if not wants and place(self.world, room, job, requests=[q]) is not None:
                    told[i] = (q, "other_request_waits")
        self.world.reserve(self.room, job, -1)
        return told

    def _without_victims(self, job: Job) -> Room:
        """Return room once all have left that may be preempted for a job and give it anything."""
        s, room = self.world.settings, self.room.copy()
        self._add_leaving(room, job)
        wanted = candidates(self.world, job, self.gone, self.world.now)
        suspended = [other for other in wanted if other.mode(s) == "SUSPEND"]
        ends = [other for other in wanted if other.mode(s) != "SUSPEND"]
        if "GANG" not in split_mode(s.PreemptMode)[1] or s.victim_selection == "test_only":
            leaves = ends
        else:
            leaves = wanted if s.PreemptType == "preempt/partition_prio" else ends or suspended
        for other in leaves:
            leave(self.world, room, other)
        return room

    @staticmethod
    def reach(rule: str) -> int:
        """How far a job came: others leave for it, room was looked for, it was not looked at."""
        return 2 if rule == "waits_for_victims" else 1 if rule in _WAITS else 0

    # --- one job

    def barred(self, job: Job) -> str | None:
        """Return why a job cannot start whatever is free."""
        eligible = job.own.get("eligible_time")
        if eligible is not None and eligible > self.world.now:
            return "not_eligible_yet"
        down = job.partition.State in ("DOWN", "INACTIVE")
        return "partition_down" if down else self.limits.rule(job)

    def beyond(self, job: Job) -> str | None:
        """Return why a job never starts in its partition as things are set."""
        longest, wanted = job.partition.MaxTime, self.world.limit(job)
        if longest is not None and wanted is not None and wanted > longest:
            return "partition_time_limit"
        for request in job.requests:
            if not self.world.only_licences(request) and not self.world.open_to(job, request):
                return "nowhere"
        return None

    def closed_rule(self, job: Job) -> str:
        """Return what is said of a job that others keep from the nodes of its partition."""
        rule = self.closed.get(job.partition_name)
        rules = set(self.closed.values()) if rule is None else {rule}
        return "waits_for_next_pass" if rules <= set(_HOLDS) else "behind_first_waiting"

    def _one(self, job: Job) -> str | None:
        """Start a job, or preempt for it; None if it starts."""
        world = self.world
        why = self.barred(job)
        if why is not None:
            return why
        if job.partition_name in self.closed:
            return self.closed_rule(job)
        why = self.beyond(job)
        if why is not None:
            return why
        inside = world.partition_nodes(job)
        on_nodes = [q for q in job.requests if not world.only_licences(q)]
        least = max((q.count for q in on_nodes), default=0)
        if len(inside) < least:
            return "larger_than_nodes"
        up = {node for node in inside if world.schedulable[node]}
        if len(up - self.taken) < least:
            rule = "nowhere" if len(up) < least else self.closed_rule(job)
            self._close(job, inside, rule)
            return rule
        if self._licences_lack(job, self.room) and not self._licences_come(job):
            return "licenses_missing"
        found = self.select(job, self.taken)
        if found is None or found in ("larger_than_nodes", "nowhere"):
            return found
        held_up = any(world.open_to(job, q) <= self.taken for q in on_nodes)
        self._busy(job, inside, found)
        return self.closed_rule(job) if held_up and found != "waits_for_victims" else found

    def _close(self, job: Job, inside: frozenset[str], rule: str) -> None:
        self.closed[job.partition_name] = rule
        self.taken |= inside

    def _busy(self, job: Job, inside: frozenset[str], rule: str) -> None:
        """Close the partition of a job that has to wait, or only some of its nodes, or nothing."""
        on_nodes = [q for q in job.requests if not self.world.only_licences(q)]
        if on_nodes and all(q.node is not None for q in on_nodes):
            self.taken |= {q.node for q in on_nodes if q.node is not None}
        elif not self.keeps_nothing(job):
            self._close(job, inside, rule)

    def keeps_nothing(self, job: Job) -> bool:
        """Whether a job is too young, or has too little priority, to keep others from anything."""
        s, since = self.world.settings, job.own.get("eligible_time")
        waited = self.world.now - (job.submitted if since is None else since)
        return waited < s.bf_min_age_reserve or job.priority < s.bf_min_prio_reserve

    def select(self, job: Job, taken: frozenset[str]) -> str | None:
        """Start a job in free room, or preempt for it; return why it waits, None if it starts."""
        spots = place(self.world, self.room, job, taken | frozenset(self.ending))
        if spots is not None:
            self.start(job, spots)
            return None
        return self.beyond_nodes(job) or self._preempt(job, taken)

    def _licences_lack(self, job: Job, room: Room) -> set[str]:
        wants = {r: sum(q.count * q.amounts.get(r, 0) for q in job.requests) for r in self.world.licences}
        return {r for r, amount in wants.items() if amount > max(room.free[None].get(r, 0), 0)}

    def _licences_come(self, job: Job) -> bool:
        """Whether there would be enough once all have gone that may go for a job."""
        world, room = self.world, self.room.copy()
        if not world.settings.reclaim_licenses:
            return False
        self._add_leaving(room, job)
        for other in candidates(world, job, self.gone, world.now):
            leave(world, room, other)
        return not self._licences_lack(job, room)

    def beyond_nodes(self, job: Job) -> str | None:
        """Return a rule if a job would not fit if nothing else ran."""
        for request in job.requests:
            if (found := self._beyond_nodes(job, request)) is not None:
                return found
        return None

    def _nowhere(self, job: Job, request: Request) -> str | None:
        if self.world.only_licences(request):
            return None
        return "nowhere" if not self.world.open_to(job, request) else self._beyond_nodes(job, request)

    def _beyond_nodes(self, job: Job, request: Request) -> str | None:
        world = self.world
        wants = {r: v for r, v in request.amounts.items() if v > 0}
        if wants and set(wants) <= world.licences:
            return None
        enough = [
            node
            for node in world.partition_nodes(job)
            if request.tags <= world.tags[node]
            and request.node in (None, node)
            and all(v <= world.capacity[node].get(r, 0) for r, v in wants.items() if r not in world.licences)
        ]
        if len(enough) < request.count:
            return "larger_than_nodes"
        return "nowhere" if sum(world.schedulable[node] for node in enough) < request.count else None

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

    def _preempt(self, job: Job, taken: frozenset[str]) -> str | None:
        world, s, now = self.world, self.world.settings, self.world.now
        base = self.room.copy()
        leaving = self._add_leaving(base, job)
        spots = place(world, base, job, taken) if leaving else None
        if spots is not None:
            if all(other is not job for other, _ in self.held):
                self.held.append((job, spots))
            return "waits_for_victims"
        blocked = taken | {node for node, whom in self.ending.items() if whom != {str(job.name)}}
        last = self.last.get(job.name)
        if last is not None and math.floor(last) + s.KillWait + s.MessageTimeout > now:
            return "preemption_backoff"
        if s.PreemptType is None:
            return "preemption_disabled"
        wanted = candidates(world, job, self.gone, now)
        if not wanted:
            self._note_pace(job, base, blocked)
            return "no_eligible_victims"
        while True:
            how, spots, victims = self._way(job, base.copy(), wanted, blocked, leaving)
            beyond = world.beyond_caps([other for other in victims if not other.in_grace])
            if not beyond:
                break
            wanted = [other for other in wanted if other not in beyond]
        if how == "end":
            return self._end(job, spots, [other for other in victims if not other.in_grace])
        if how == "suspend":
            self._suspend(job, spots, victims)
            return None
        if how == "no_room_even_with_victims":
            self._note_pace(job, base, blocked)
        return how

    def _note_pace(self, job: Job, room: Room, blocked: frozenset[str]) -> None:
        if fits_without_pace(self.world, room, job, self.gone, blocked):
            self.paced.add(job.row)

    def _way(
        self, job: Job, base: Room, wanted: list[Job], blocked: frozenset[str], leaving: bool
    ) -> tuple[str, Spots, list[Job]]:
        """Return whether victims end, are suspended at once, or why there are none; where, and which."""
        world, s = self.world, self.world.settings
        flags = split_mode(s.PreemptMode)[1]
        by_tier = s.PreemptType == "preempt/partition_prio"
        gang = "GANG" in flags and by_tier
        sharing = [other for other in wanted if gang and other.partition.OverSubscribe[:3] in ("YES", "FOR")]
        if gang:
            spots = over(world, base, job, sharing, blocked)
            if spots is not None:
                if s.victim_selection == "test_only":
                    return "dry_run_omits_victims", [], []
                victims = under(world, base, job, sharing, spots)
                ends = leaving or any(other.mode(s) != "SUSPEND" for other in victims)
                return "end" if ends else "suspend", spots, victims
        before = base.copy()
        for other in sharing:
            if other.mode(s) == "SUSPEND" and s.victim_selection != "test_only":
                leave(world, base, other)
        may_suspend = "GANG" in flags and not by_tier and s.victim_selection != "test_only"
        suspends = may_suspend and world.since("24.11") and wanted[0].mode(s) == "SUSPEND"
        chosen = None if suspends else self.choose(base, job, wanted, blocked)
        if chosen is not None:
            spots, victims = chosen
            if gang and s.victim_selection != "test_only":
                for other in victims:
                    leave(world, before, other)
                rest = [other for other in sharing if other not in victims]
                victims += under(world, before, job, rest, spots)
            return "end", spots, victims
        if suspends or (may_suspend and not world.since("24.11")):
            chosen = self.choose(base, job, wanted, blocked, ("SUSPEND",))
            if chosen is not None:
                return "end" if leaving else "suspend", *chosen
        return "no_room_even_with_victims", [], []

    def choose(
        self, base: Room, job: Job, wanted: list[Job], blocked: frozenset[str], *modes: Sequence[str]
    ) -> tuple[Spots, list[Job]] | None:
        """Return where a job would be placed and which jobs are preempted for it, or None: no room."""
        return choose(self.world, base, job, wanted, blocked, *modes)

    # --- what is done

    def start(self, job: Job, spots: Spots) -> None:
        """Let a job start."""
        shortened = self.behind and not self.world.since("25.05")
        self.begun.append((self.world.now + self.world.lasts(job, backfill=shortened), spots, job))
        for request, node in spots:
            self.room.add(node, request.amounts, -1, self.world.licences)
            if node is not None:
                self.room.there[node].append(job)
            self.decisions.append(
                {"action": "start", "request": request.name, "operation": job.name, "node": node}
            )
        job.requests = []

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
            self.world.pace.took(victim.name, victim.pool)
            self.whom.append((victim, job))
            if word != "suspend" and self.world.grace(victim) > 0:
                victim.in_grace, victim.leaves_for = True, str(job.name)
            if word != "suspend" and self.world.grace(victim) == 0:
                for node in victim.nodes:
                    self.ending.setdefault(node, set()).add(str(job.name))

    def _end(self, job: Job, spots: Spots, victims: list[Job]) -> str:
        if not victims:  # all leave already, for others
            self.counting_on_others.append(job)
            self.served.append(job)
            return "waits_for_next_pass"
        self._leave(job, victims)
        self.told.append(job)
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
        self.start(job, spots)

    def resume(self, before: Job | None) -> None:
        """Let suspended jobs go on that a pending one may not preempt again."""
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
        """Whether a suspended job fits where it is, beside those that are there."""
        mine = [a for a in job.allocations if a.state == "preempted"]
        linear = self.world.settings.SelectType == "select/linear"
        for a in mine:
            others = room.there[a.node] if a.node is not None else []
            if others and (linear or any(one.whole_nodes for one in [job, *others])):
                return False
        trial = room.copy()
        return all(self._return(trial, job, a) for a in mine)

    def _afterwards(self) -> Room:
        """Return the room once all that leave for a job have gone and it has started."""
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
