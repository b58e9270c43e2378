"""One scheduling run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from tests.reference.gridengine.keeping import wanted_of
from tests.reference.gridengine.requests import Accepted
from tests.reference.gridengine.subordinates import Subordination, Trees
from tests.reference.gridengine.waiting import Part, Waiting
from tests.reference.gridengine.world import FOREVER, MODES, Amounts, Job, Take, World, less, minimum


@dataclass
class Run:
    """Decisions and refusals of one run."""

    world: World
    accepted: Mapping[str, Accepted] = field(default_factory=dict)
    preempted_for: Mapping[str, str] = field(default_factory=dict)  # by job, what the last run said
    decisions: list[dict[str, Any]] = field(default_factory=list)
    rules: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.trees = Trees(self.world)
        self.begun: list[tuple[Any, ...]] = []
        self.closed = False  # whether a suspended queue was in the way of the last placing
        self.planned = self.world.taken(self.trees.stopped)
        self.here = [t for t in self.planned if t.since <= self.world.now]
        self.reserved = 0
        jobs = self.world.jobs.values()
        self.preemptees = sum(
            bool(job.some("preempted", "preempting")) and not self.trees.stopped(job) for job in jobs
        )
        self.claimed: set[str] = set()
        for waiting in self.queue():
            self.serve(waiting)
        for name, action in Subordination(self.trees, self.claimed, self.begun).changes.items():
            for a in self.world.jobs[name].allocations if action else ():
                row: dict[str, Any] = {"at": self.world.now}
                if action == "preempt":
                    kept = {r: x for r, x in a["resources"].items() if x}
                    row |= {"mode": "suspend", "until": self.world.now, "freed": {}, "kept": kept}
                    row["beneficiary"] = None
                self.say(action, str(a["name"]), a.get("node"), **row)

    @property
    def s(self) -> Any:
        return self.world.settings

    def queue(self) -> list[Waiting]:
        found = []
        for job in self.world.jobs.values():
            if (away := job.some("preempted")) and not self.trees.stopped(job):
                parts = [Part(a, less(a["resources"], a.get("held") or {}), a["node"]) for a in away]
                found.append(Waiting(job, parts, FOREVER, True, since=job.start_time))
            if job.requests:
                own = [r.get("duration") for r in job.requests]
                known = [self.s.default_duration if d is None else d for d in own]
                longest = FOREVER if None in known else max(known) + self.s.DURATION_OFFSET
                parts = [Part(r, r["resources"]) for r in job.requests for _ in range(r.get("count", 1))]
                asks = any(r.get("reserve") for r in job.requests)
                since = min(r.get("submit_time", 0) for r in job.requests)
                found.append(Waiting(job, parts, longest, False, asks, since))
        order = list(self.world.jobs)

        def key(w: Waiting, *, first: bool) -> tuple[Any, ...]:
            return not first, -w.job.priority, not w.preemptee, w.since, order.index(w.job.name)

        queue, behind = [], []
        for w in found:
            whom = self.preempted_for.get(w.job.name) if w.preemptee else None
            if self.s.prioritize_preemptees and any(p.job.name == whom for p in found if not p.preemptee):
                behind.append(w)
            else:
                queue.append((key(w, first=self.s.prioritize_preemptees and w.preemptee), w))
        queue.sort(key=lambda row: row[0])
        served = []
        for _, w in queue:
            after = [b for b in behind if not w.preemptee and self.preempted_for[b.job.name] == w.job.name]
            served += [w, *sorted(after, key=lambda b: key(b, first=True))]
        return served

    # --- placing

    def allowed(self, part: Part, node: str) -> bool:
        if part.only is not None:
            return part.only == node and bool(self.world.nodes[node].get("schedulable", True))
        return not self.world.place(node, part.row)

    def barred(self, w: Waiting) -> str:
        for part in w.parts:
            if any(self.allowed(part, node) for node in self.world.nodes):
                continue
            if part.only is not None:
                return "node_not_schedulable"
            whys = [self.world.place(node, part.row) for node in self.world.nodes]
            last = "wrong_node"
            for why in whys:
                if why == "node_not_schedulable" or (why == "wrong_tags" and last == "wrong_node"):
                    last = why
            return last if whys else "no_nodes"
        return ""

    def place(self, w: Waiting, since: float, now: bool) -> list[str] | None:
        """Return the node of each part, the first that will do, none before that of the part before."""
        until = since + w.duration
        added: list[Take] = []
        where: list[str] = []
        nodes = list(self.world.nodes)
        begin = 0
        self.closed = False
        for i, part in enumerate(w.parts):
            begin = begin if i and w.parts[i - 1].row is part.row else 0
            for place in range(begin, len(nodes)):
                node = nodes[place]
                fits = self.world.fits(self.planned + added, node, part.need, since, until)
                if now:
                    fits = fits and self.world.fits(self.here + added, node, part.need, since, since + 1e-9)
                fits = fits and self.allowed(part, node)
                if fits and now and self.trees.suspended(node, self.queue_of(w, part), self.begun):
                    self.closed = True
                elif fits:
                    where.append(node)
                    added.append(Take(node, part.need, since, until))
                    begin = place
                    break
            else:
                return None
        return where

    def first_fit(self, w: Waiting) -> float:
        soonest = self.world.now + 1
        changes = (x for t in self.planned for x in (t.since, t.until))
        instants = {soonest, *(x for x in changes if soonest < x < FOREVER)}
        return next((at for at in sorted(instants) if self.place(w, at, False) is not None), FOREVER)

    # --- serving

    def serve(self, w: Waiting) -> None:
        rule = self.barred(w)
        if not rule:
            rule = self.resume_or_reserve(w) if w.preemptee else self.start_or_reserve(w)
        if not w.preemptee and rule:
            for part in w.parts:
                self.rules[str(part.row["name"])] = rule

    def resume_or_reserve(self, w: Waiting) -> str:
        if where := self.place(w, self.world.now, True):
            self.begin(w, where)
        elif self.s.max_reservation > 0:
            self.keep(w, self.first_fit(w))
        return ""

    def queue_of(self, w: Waiting, part: Part) -> str | None:
        return self.world.queue_name(part.row) if w.preemptee else self.world.known(w.job.pool)

    def begin(self, w: Waiting, where: Sequence[str]) -> None:
        now = self.world.now
        until = now + w.duration
        for part, node in zip(w.parts, where, strict=True):
            name = str(part.row["name"])
            self.say("resume" if w.preemptee else "start", name, node, at=now)
            self.planned.append(Take(node, part.need, now, until))
            self.here.append(Take(node, part.need, now, FOREVER))
            self.begun.append((w.job.name, node, self.queue_of(w, part), part.need))

    def keep(self, w: Waiting, at: float) -> bool:
        if at == FOREVER:
            return False
        where = self.place(w, at, False)
        assert where is not None
        until = at + w.duration
        for part, node in zip(w.parts, where, strict=True):
            over = None if until == FOREVER else until
            self.say("reserve", str(part.row["name"]), node, at=at, until=over)
            # Without backfilling nothing starts meanwhile in what it waits for.
            since = at if self.s.backfilling else self.world.now
            self.planned.append(Take(node, part.need, since, until))
        return True

    def say(self, action: str, name: str, node: str | None, **more: Any) -> None:
        self.decisions.append({"action": action, "name": name, "node": node, **more})

    def start_or_reserve(self, w: Waiting) -> str:
        own = [take for owner, take in self.world.kept_rooms() if owner == w.job.name]
        for take in own:  # one each: others may take the same
            self.planned.remove(take)
            if take.since <= self.world.now:
                self.here.remove(take)
        asked = self.accepted.get(w.job.name)
        if where := self.place(w, self.world.now, True):
            self.begin(w, where)
            return "available_now" if asked else ""
        # No job that leaves would open a suspended queue.
        rule = "subordinate_queue_suspended" if self.closed else self.wait(w, asked)
        self.planned += own
        self.here += [take for take in own if take.since <= self.world.now]
        return rule

    def wait(self, w: Waiting, asked: Accepted | None) -> str:
        now = self.world.now
        if where := self.place_beside_leaving(w):
            self.occupy(w, where)
            return "waits_for_victims"
        may_reserve = w.reserve and self.reserved < self.s.max_reservation
        if not may_reserve and not asked:
            return "no_free_room"
        at = self.first_fit(w)
        far = self.s.preemption_distance == 0 or at - now > self.s.preemption_distance
        rule = "no_free_room"
        if asked and not far and not asked.forced:
            rule = "within_preemption_distance"
        elif asked:
            manual = bool(asked.providers) and asked.action != "configured"
            rule = self.preempt(w, asked.providers, asked.action, not manual, asked.forced)
        elif self.s.automatic_preemption and far and self.s.max_preemptees > 0:
            rule = self.preempt(w, (), "configured", True)
        if rule != "waits_for_victims" and may_reserve and self.keep(w, at):
            self.reserved += 1
            rule = "waits_for_reservation" if rule == "no_free_room" else rule
        return rule

    def place_beside_leaving(self, w: Waiting) -> list[str] | None:
        """Where it would be once all has gone that leaves for it."""
        mine = []
        for job in self.world.jobs.values():
            for a in job.some("preempting"):
                whom = a.get("beneficiary") or {}
                owner = whom.get("operation") or self.world.owner_of.get(str(whom.get("request")))
                if str(owner) == w.job.name:
                    mine.append(a)
        before = self.planned, self.here
        for a in mine:
            gone = less(a["resources"], a.get("held") or {})
            back = {r: -amount for r, amount in gone.items()}
            self.planned = [*self.planned, Take(a.get("node"), back, self.world.now, self.world.ends(a))]
            self.here = [*self.here, Take(a.get("node"), back, self.world.now, FOREVER)]
        where = self.place(w, self.world.now, True)
        self.planned, self.here = before
        return where

    def occupy(self, w: Waiting, where: Sequence[str]) -> None:
        now = self.world.now
        for part, node in zip(w.parts, where, strict=True):
            self.planned.append(Take(node, part.need, now, now + w.duration))

    # --- preemption

    def letter(self, job: Job, w: Waiting, action: str, forced: bool) -> str | None:
        """How a job is preempted; None: it may not be so."""
        chosen = self.s.preemption_action if action == "configured" else action
        for a in job.some("running"):
            queue = self.world.queue(a)
            if action == "configured" and queue is not None and queue.preemption_action is not None:
                chosen = queue.preemption_action
        if chosen == "advisor":
            return self.advised(job, w)
        if chosen not in self.s.actions:
            return None
        if (chosen == "C" and not self.world.checkpointable(job)) or (
            chosen == "R" and not forced and not self.world.rerunnable(job)
        ):
            return None
        return str(chosen)

    def advised(self, job: Job, w: Waiting) -> str | None:
        world = self.world
        if world.checkpointable(job) and "C" in self.s.actions:
            return "C"
        last = (
            "R" if world.rerunnable(job) and "R" in self.s.actions else "T" if "T" in self.s.actions else None
        )
        runs = job.some("running")
        slots = {r for r in world.resources if world.kind(r) in ("slots", "managed")}
        only = all(r in slots for part in w.parts for r, a in part.need.items() if a)
        plain = all(r in slots for a in runs for r, amount in a["resources"].items() if amount)
        letter = "S" if only and plain else "P" if all(map(self.lets_go, runs)) else "N"
        if letter not in self.s.actions:
            return last
        for a in runs:
            for r, amount in a["resources"].items():
                if not amount or world.frees(letter, r):
                    continue
                if self.wanted_on(w, a["node"], r) > world.free(self.here, a["node"], r, world.now):
                    return last
        return letter

    def wanted_on(self, w: Waiting, node: str, r: str) -> float:
        """How much of a resource a host must have: for one part, and for all that no other host has room."""
        needs = [part.need.get(r, 0) for part in w.parts]
        if not any(needs) or r in self.world.wide:
            return sum(needs)
        others = (self.could_have(w, other, r, sum(needs)) for other in self.world.nodes if other != node)
        return max(sum(needs) - sum(others), *needs)

    def could_have(self, w: Waiting, node: str, r: str, wanted: float) -> float:
        """How much of it parts could have on a host with all gone that may leave, but none of it free."""
        world, most = self.world, 0.0
        lower = [
            a
            for job in world.jobs.values()
            if self.may_leave(job, w)
            for a in job.some("running")
            if a["node"] == node
        ]
        for part in w.parts:
            if not part.need.get(r, 0) or not self.allowed(part, node):
                continue
            copies = wanted // part.need[r]
            for s, need in part.need.items():
                if not need or s in world.wide:
                    continue
                has = world.free(self.here, node, s, world.now)
                has += sum(a["resources"].get(s, 0) for a in lower) if s != r else 0
                copies = min(copies, max(has, 0) // need)
            most = max(most, copies * part.need[r])
        return most

    def may_leave(self, job: Job, w: Waiting) -> bool:
        """Whether a job runs, of lower priority, and nothing spares it."""
        willing = all(a.get("preemptible", True) for a in job.some("running"))
        free = self.world.is_provider(job) and willing and job.name not in self.claimed
        return free and job.name != w.job.name and job.priority < w.job.priority

    def lets_go(self, a: Mapping[str, Any]) -> bool:
        """Enough swap, and the rest is released."""
        world = self.world
        holds = {r: amount for r, amount in a["resources"].items() if amount}
        memory = sum(amount for r, amount in holds.items() if world.kind(r) == "memory")
        rest = [r for r in holds if world.kind(r) == "other"]
        queue = world.queue(a)
        released = bool((a.get("settings") or {}).get("releases_on_suspend"))
        released = released or (queue is not None and bool(queue.suspend_method))
        swap = world.nodes[a["node"]].get("swap_free")
        return (not memory or (swap is not None and swap >= memory)) and (not rest or released)

    def preempt(
        self, w: Waiting, names: Sequence[str], action: str, fewest: bool, forced: bool = False
    ) -> str:
        jobs = [job for name, job in self.world.jobs.items() if not names]
        jobs += [self.world.jobs[name] for name in names if name in self.world.jobs]
        lower = [job for job in jobs if self.may_leave(job, w)]
        letters = {job.name: self.letter(job, w, action, forced) for job in lower}
        found = {name: letter for name, letter in letters.items() if letter is not None}
        if not found:
            return "no_job_allows_action" if lower else "no_lower_priority"
        order = list(found)
        if not names:
            order.sort(key=lambda name: self.world.turn(self.world.jobs[name]))
        if not fewest:
            victims = self.needed(w, order, found) or self.few(w, order, found)
        elif len(w.parts) == 1 and not self.shared_lacks(w):
            victims = self.on_one_node(w, order, found)
        else:
            victims = self.few(w, order, found)
        if not victims:
            return "no_room_even_with_victims"
        left = self.s.max_preemptees - self.preemptees
        if len(victims) > left:
            if left > 0 and self.s.over_the_cap == "as_many" and not fewest:
                self.take(w, victims[:left], found, None)
            return "max_preemptees"
        self.take(w, victims, found, self.place_without(w, victims, found))
        return "waits_for_victims"

    def place_without(self, w: Waiting, victims: Sequence[str], how: Mapping[str, str]) -> list[str] | None:
        """Where it would be if these had been preempted."""
        before = self.planned, self.here
        for name in victims:
            for a in self.world.jobs[name].some("running"):
                end, freed = self.world.ends(a), self.world.freed(how[name], a["resources"])
                back = {r: -amount for r, amount in freed.items()}
                self.planned = [*self.planned, Take(a["node"], back, self.world.now, end)]
                self.here = [*self.here, Take(a["node"], back, self.world.now, FOREVER)]
                if how[name] in "PNS":
                    self.planned.append(Take(a["node"], less(a["resources"], freed), end, FOREVER))
        where = self.place(w, self.world.now, True)
        self.planned, self.here = before
        return where

    def needed(self, w: Waiting, order: Sequence[str], how: Mapping[str, str]) -> list[str]:
        """The first ones that suffice, without those that are not needed, looked at from the last."""
        for count in range(1, len(order) + 1):
            if self.place_without(w, order[:count], how) is not None:
                kept = list(order[:count])
                for name in reversed(order[:count]):
                    rest = [other for other in kept if other != name]
                    if self.place_without(w, rest, how) is not None:
                        kept = rest
                return kept
        return []

    def few(self, w: Waiting, order: Sequence[str], how: Mapping[str, str]) -> list[str]:
        """As few as can be, of those sets the first in the order."""
        for count in range(1, len(order) + 1):
            for names in combinations(order, count):
                if self.place_without(w, names, how) is not None:
                    return list(names)
        return []

    def shared_lacks(self, w: Waiting) -> bool:
        sums: Amounts = {}
        for part in w.parts:
            for r, amount in part.need.items():
                sums[r] = sums.get(r, 0) + amount
        now = self.world.now
        return any(
            amount > self.world.free(self.here, None, r, now)
            for r, amount in sums.items()
            if amount and r in self.world.wide
        )

    def on_one_node(self, w: Waiting, order: Sequence[str], how: Mapping[str, str]) -> list[str]:
        (part,) = w.parts
        best: list[str] = []

        def cost(names: Sequence[str]) -> tuple[int, float]:
            return len(names), max(self.world.jobs[name].priority for name in names)

        for node in self.world.nodes:
            on = [n for n in order if any(a["node"] == node for a in self.world.jobs[n].some("running"))]
            alone = Waiting(w.job, [Part({**part.row}, part.need, node)], w.duration, False)
            names = self.few(alone, on, how) if self.allowed(part, node) else []
            if names and (not best or cost(names) < cost(best)):
                best = names
        return best

    def take(
        self, w: Waiting, victims: Sequence[str], how: Mapping[str, str], where: Sequence[str] | None
    ) -> None:
        world, now = self.world, self.world.now
        wanted = wanted_of(self.world, self.planned, self.here, w, victims, how, where)
        for name in victims:
            self.claimed.add(name)
            self.preemptees += 1
            for a in world.jobs[name].some("running"):
                freed = world.freed(how[name], a["resources"])
                if self.s.preemptees_keep_resources:
                    limit = {**wanted.get(a["node"], {}), **wanted[None]}
                    if how[name] in "PNS":
                        plain = {r: x for r, x in freed.items() if world.kind(r) != "managed"}
                        freed = {**freed, **minimum(plain, limit)}
                    for r, amount in freed.items():
                        for of in (None, a["node"]):
                            if r in wanted.get(of, {}):
                                wanted[of][r] -= amount
                kept = less(a["resources"], freed)
                stops = how[name] in "PNS"
                until = now if stops else now + self.s.notify
                self.decisions.append(
                    {
                        "action": "preempt",
                        "name": str(a["name"]),
                        "node": a["node"],
                        "mode": MODES[how[name]],
                        "at": now,
                        "until": until,
                        "freed": {r: x for r, x in freed.items() if x},
                        "kept": {r: x for r, x in kept.items() if x},
                        "beneficiary": w.job.name,
                    }
                )
                end = world.ends(a)
                self.planned.append(Take(a["node"], {r: -x for r, x in freed.items()}, now, end))
                if stops:
                    self.planned.append(Take(a["node"], kept, end, FOREVER))
        if where is not None:
            self.occupy(w, where)
