"""The backfill pass: every job on nodes that are kept for no job, now or later."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.reference.slurm.main import Main
from tests.reference.slurm.places import place
from tests.reference.slurm.victims import candidates, leave
from tests.reference.slurm.world import YEAR

if TYPE_CHECKING:
    from tests.reference.slurm.places import Spots
    from tests.reference.slurm.world import Amounts, Job, Room, Turn

    _Part = tuple[str | None, Amounts, Job]
    _End = tuple[float, list[_Part]]

__all__ = ["Backfill"]

_SPAN = 30.0


@dataclass
class _Slot:
    """A span of time, and the nodes that are kept for no job during it."""

    begin: float
    end: float
    free: frozenset[str]


@dataclass
class _Pass:
    """What one pass has looked at, and what it keeps."""

    slots: list[_Slot]
    told: list[Job] = field(default_factory=list)
    planned: list[Job] = field(default_factory=list)
    tests: int = 0
    starts: int = 0
    full: bool = False
    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    kept: dict[str | None, int] = field(default_factory=dict)


class Backfill(Main):
    """A run with both passes."""

    def backfill(self, queue: list[tuple[Job, Turn]]) -> None:
        """Start jobs, or preempt for them, where no job before them is to be."""
        s, world = self.world.settings, self.world
        self.behind = True
        up = frozenset(node for node in world.nodes if world.schedulable[node])
        now = self._floor(world.now)
        this = _Pass([_Slot(now, self._floor(world.now + s.bf_window), up)])
        before = list(self.told)
        for job, turn in queue:
            key = (job.row, turn[0])
            if not job.requests or job in this.told or (job in before and self._is_over(key)):
                continue
            job.stand_in(turn)
            why = self.barred(job) or self.beyond(job)
            if why is None and self._exceeds(this, job):
                continue
            if why is not None:
                self._rule(job, why)
                continue
            if this.full or this.tests >= s.bf_max_job_test:
                return
            if s.bf_max_job_start and this.starts >= s.bf_max_job_start:
                return
            world.reserve(self.room, job, 1)
            if self._lacks(job):
                why = "licenses_missing"
            else:
                this.tests += 1
                why = self._plan(this, job)
            if job.requests:
                world.reserve(self.room, job, -1)
            if why is None:
                this.starts += 1
            self._rule(job, why)

    def _is_over(self, key: tuple[int, str | None]) -> bool:
        """Others were told for the job in another of its partitions."""
        return self.rules.get(key) != "waits_for_victims"

    def _rule(self, job: Job, why: str | None) -> None:
        """Write down why a job waits, unless the main pass looked at it and said more."""
        key = (job.row, job.partition_name)
        if why in (None, "waits_for_victims"):
            self.limits.count(job)
        if why is None:
            self.rules.pop(key, None)
            return
        said = self.rules.get(key)
        unseen = said in (None, "behind_first_waiting", "waits_for_next_pass")
        if unseen or why in ("waits_for_victims", "waits_for_next_pass"):
            self.rules[key] = "waits_for_victims" if said == "waits_for_victims" else why

    def _exceeds(self, this: _Pass, job: Job) -> bool:
        s, found = self.world.settings, False
        for most, key in (
            (s.bf_max_job_part, ("part", str(job.partition_name))),
            (s.bf_max_job_user, ("user", str(job.user))),
        ):
            if most and this.seen.get(key, 0) >= most:
                found = True
            else:
                this.seen[key] = this.seen.get(key, 0) + 1
        return found

    def _lacks(self, job: Job) -> bool:
        return bool(self._licences_lack(job, self.room)) and not self._licences_come(job)

    def _floor(self, instant: float) -> float:
        step = self.world.settings.bf_resolution
        return math.floor(instant / step) * step

    def _kept_until(self, instant: float) -> float:
        step, before = self.world.settings.bf_resolution, self._floor(instant)
        return before + step if self.world.since("24.11") and before < instant else before

    # --- one job

    def _plan(self, this: _Pass, job: Job) -> str | None:
        """Start a job, preempt for it, or keep nodes for it; return why it waits."""
        world, s, now = self.world, self.world.settings, self.world.now
        length = world.lasts(job, backfill=True)
        starts_only = self.keeps_nothing(job)
        starts_only |= s.bf_one_resv_per_job and job in this.planned
        most = s.bf_job_part_count_reserve
        starts_only |= bool(most) and this.kept.get(job.partition_name, 0) >= most
        waits = self._waits(this, job)
        since, rule = now, None
        while True:
            free, later = self._open(this, job, since, max(since, now) + length)
            found = None
            if self._suffices(job, free):
                found = self._will_run(job, free, since, later, now_only=starts_only)
            if found is None:
                if later is None or starts_only:
                    return rule or waits
                since = later
                continue
            at, spots = max(found[0], since), found[1]
            nodes = frozenset(node for _, node in spots if node is not None)
            if at <= now and (nodes & set(self.ending)):
                at, later, rule = now + 1, None, rule or "waits_for_next_pass"
            elif at <= now:
                rule = self._start_now(this, job, free)
                if rule is None:
                    return None
                if rule in ("larger_than_nodes", "nowhere"):
                    return rule
                later = None
            if at > now and starts_only:
                return rule or waits
            if later is not None and at > later:
                since = later
                continue
            if at > now + s.bf_window:
                return rule or waits
            begin, end = self._floor(at), self._kept_until(at + length)
            if at > now and any(
                nodes - slot.free for slot in this.slots if slot.begin < end and slot.end > begin
            ):
                since = at
                continue
            this.full = len(this.slots) >= (s.bf_node_space_size or max(s.bf_max_job_test, 2))
            if this.full:
                return rule or waits
            self._keep(this, nodes, begin, max(end, begin + s.bf_resolution))
            this.planned.append(job)
            this.kept[job.partition_name] = this.kept.get(job.partition_name, 0) + 1
            return rule or waits

    def _start_now(self, this: _Pass, job: Job, free: frozenset[str]) -> str | None:
        """Start a job or preempt for it on nodes that are kept for no job; return why it waits."""
        if job in self.told:
            return "waits_for_victims"
        if job in self.counting_on_others:
            return "waits_for_next_pass"
        rule = self.select(job, frozenset(self.world.nodes) - free)
        if rule == "waits_for_victims" and job in self.told:
            this.told.append(job)
        return rule

    def _waits(self, this: _Pass, job: Job) -> str:
        """Return what is said of a job that does not fit now."""
        world = self.world
        inside = frozenset(node for node in world.partition_nodes(job) if world.schedulable[node])
        never = self.beyond_nodes(job)
        if never is not None:
            return never
        if any(inside - slot.free for slot in this.slots):
            return "behind_first_waiting"
        if world.settings.PreemptType is None:
            return "preemption_disabled"
        return (
            "no_room_even_with_victims"
            if candidates(world, job, self.gone, world.now)
            else "no_eligible_victims"
        )

    def _suffices(self, job: Job, free: frozenset[str]) -> bool:
        world = self.world
        return all(
            world.only_licences(q) or len(world.open_to(job, q) & free) >= q.count for q in job.requests
        )

    def _open(self, this: _Pass, job: Job, since: float, end: float) -> tuple[frozenset[str], float | None]:
        """Return the nodes that are free from an instant until another, and when there may be more."""
        found = inside = frozenset(self.world.partition_nodes(job))
        later = None
        for place_of, slot in enumerate(this.slots):
            if slot.end <= since:
                continue
            follows = this.slots[place_of + 1 : place_of + 2]  # looked at also beyond the end
            if later is None and any(inside & then.free - (found & slot.free) for then in follows):
                later = slot.end
            if slot.begin > end:
                break
            found &= slot.free
        return found, later

    def _keep(self, this: _Pass, nodes: frozenset[str], begin: float, end: float) -> None:
        slots = []
        for slot in this.slots:
            cuts = sorted({slot.begin, slot.end, *(t for t in (begin, end) if slot.begin < t < slot.end)})
            for low, high in itertools.pairwise(cuts):
                inside = low >= begin and high <= end
                slots.append(_Slot(low, high, slot.free - nodes if inside else slot.free))
        this.slots = slots

    # --- when a job would fit

    def _will_run(
        self, job: Job, free: frozenset[str], since: float, later: float | None, *, now_only: bool
    ) -> tuple[float, Spots] | None:
        """Return when and where a job would start, all that it may preempt being gone."""
        world, now = self.world, self.world.now
        blocked = frozenset(world.nodes) - free
        room, mine, leaving = self._estimate(job)
        from_instant = world.since("24.11")
        spots = place(world, room, job, blocked)
        if spots is not None and not (from_instant and since > now):
            return now, spots
        wanted = candidates(world, job, self.gone, now)
        for other in wanted:
            leave(world, room, other)
        self._free(room, mine)
        ends = sorted(
            ((math.floor(end), parts[0][2].row, parts) for end, parts in self._ends(wanted, leaving)),
            key=lambda entry: entry[:2],
        )
        if from_instant and (wanted or not now_only):
            while ends and ends[0][0] < math.floor(since):
                self._free(room, ends.pop(0)[2])
        spots = place(world, room, job, blocked)
        if spots is not None:
            return now, spots
        if now_only:
            return None
        if from_instant and later is not None:
            ends = [entry for entry in ends if entry[0] <= later]
        return self._at_an_end(job, room, ends, free)

    def _at_an_end(
        self, job: Job, room: Room, ends: list[tuple[int, int, list[_Part]]], free: frozenset[str]
    ) -> tuple[float, Spots] | None:
        """Return when and where a job would start when others have ended, looked at in spans."""
        world, now, s = self.world, self.world.now, self.world.settings
        blocked = frozenset(world.nodes) - free
        span, until, i = _SPAN, None, 0
        while i < len(ends):
            last = None
            while i < len(ends):
                end, _, parts = ends[i]
                i += 1
                if not {node for node, _, _ in parts} & free:
                    continue  # and the next one is taken however late it ends
                if until is None:
                    until = end - end % _SPAN + _SPAN
                self._free(room, parts)
                last = end
                if i < len(ends) and ends[i][0] > until + span:
                    break
            if last is None or until is None:
                return None
            span *= 2
            while i < len(ends) and ends[i][0] > until + span:
                span *= 2
            spots = place(world, room, job, blocked)
            if spots is None:
                continue
            if world.since("25.05"):
                mine = {node for _, node in spots}
                on_mine = [end for end, _, parts in ends[:i] if mine & {node for node, _, _ in parts}]
                last = on_mine[-1] if on_mine else last
            return (last if last > now else max(last + s.KillWait, now + 1)), spots
        return None

    def _estimate(self, job: Job) -> tuple[Room, list[_Part], list[_End]]:
        """Return the room without what has ended, what leaves later for a job, and for others."""
        world, room = self.world, self.room.copy()
        mine: list[_Part] = []
        leaving: list[_End] = []
        for other in world.jobs:
            for a in other.allocations:
                if a.state != "preempting":
                    continue
                part = (a.node, a.amounts, other)
                if world.has_ended(a):
                    self._free(room, [part])
                elif a.beneficiary == str(job.name):
                    mine.append(part)
                elif a.deadline is not None:
                    leaving.append((a.deadline, [part]))
        for victim, whom in self.whom:
            grace = world.grace(victim)
            if victim.mode(world.settings) == "SUSPEND":
                continue
            parts = [(a.node, a.amounts, victim) for a in victim.running]
            if grace == 0:
                self._free(room, parts)
            elif whom is job:
                mine += parts
            else:
                leaving.append((min(world.now + grace, self._end_of(victim)), parts))
        return room, mine, leaving

    def _end_of(self, job: Job) -> float:
        ends = [a.planned_end for a in job.running]
        known = [end for end in ends if end is not None]
        return job.start + YEAR if None in ends else max(known)

    def _ends(self, wanted: list[Job], leaving: list[_End]) -> list[_End]:
        """Return what ends when, but for jobs that may be preempted."""
        found = [(end, parts) for end, parts in leaving if parts[0][2] not in wanted]
        found += [
            (self._end_of(other), [(a.node, a.amounts, other) for a in other.running])
            for other in self.world.jobs
            if other.running and other not in wanted and other not in self.gone
        ]
        found += [
            (end, [(node, request.amounts, job) for request, node in spots]) for end, spots, job in self.begun
        ]
        return found

    def _free(self, room: Room, parts: list[_Part]) -> None:
        for node, amounts, job in parts:
            room.add(node, amounts, 1, self.world.licences)
            if node is not None:
                room.there[node].remove(job)
