"""Rows of a snapshot from what was read of a cluster, and what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evenhand.systems.gridengine.text.config import Complex, Host, Parallel, Queue
from evenhand.systems.gridengine.text.jobs import Details, Task
from evenhand.systems.gridengine.text.machines import Instance, Machine
from evenhand.systems.gridengine.text.offers import SLOTS, Offers, duration_of, slots_of
from evenhand.systems.gridengine.text.waiting import Waiting
from evenhand.systems.texts import Found, Notes

__all__ = ["Builder", "Texts"]

#: A victim must have run this long, seconds: how often a job has gone back to the queue shows only in the
#: second of its start or return.
_YOUNG: Final = 2.0


@dataclass(slots=True)
class Texts:
    """What was read; `details` is None where the text was not given, `listed` has instances of qstat -f.

    `unread` has numbers of jobs of which the details cannot be read, with why not.
    """

    complexes: dict[str, Complex]
    queues: dict[str, Queue] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    parallel: dict[str, Parallel] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    details: dict[str, Details] | None = None
    listed: dict[str, tuple[Instance, ...]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)


class Builder:
    """Makes rows of a cluster."""

    def __init__(
        self,
        texts: Texts,
        now: float,
        *,
        aapre: bool | Mapping[str, bool],
        leaving: Mapping[str, str],
        subordination: bool,
        staying: frozenset[str] = frozenset(),
    ) -> None:
        self.staying = staying
        self.texts, self.now, self.aapre, self.leaving = texts, now, aapre, leaving
        self._subordination = subordination
        self.offers = Offers(texts.complexes, texts.queues, texts.hosts, texts.machines, texts.listed)
        self.notes = Notes()
        self.left_out: dict[str, list[str]] = {}
        self._waits_for: list[tuple[Task, str]] = []
        self._tags: dict[str, set[str]] = {host: {f"host:{host}"} for host in self.offers.machines}

    def build(self) -> dict[str, Any]:
        """Return the tables; O(tasks × (hosts + queues))."""
        for one in self.texts.tasks:
            detail = self._detail(one)
            if detail is not None:
                one.requests = one.requests or detail.requests
                one.environment = one.environment or detail.environment
                places = detail.places.get(one.task or "1", {})
                if not one.placed and sum(places.values()) == one.slots:
                    one.parts, one.placed = dict(places), True
        self._deduce_environments()
        self._refuse_unplaced()
        running = [one for one in self.texts.tasks if one.parts and self._known(one)]
        allocations = [row for one in running for row in self._allocations(one)]
        requests = []
        operations = [self._operation(one, next(iter(one.parts)).partition("@")[0]) for one in running]
        waiting = Waiting(self.offers, self.texts, self.now, self._tags)
        for one in running:
            waiting.take(one)
        for one in sorted(self._asking(), key=lambda task: (-task.priority, task.since, _order(task))):
            rows, why = waiting.requests(one)
            if why:
                self._leave_out(one, why)
            else:
                operations.append(self._operation(one, waiting.queue))
                requests += rows
        operations += [self._operation(one, waits_for=why) for one, why in self._waits_for]
        self._note()
        data = {
            "now": self.now,
            "resources": self._resources(allocations, requests),
            "nodes": [self._node(host) for host in self.offers.machines],
            "pools": [
                {"name": name} for name in dict.fromkeys(row["pool"] for row in operations if "pool" in row)
            ],
            "operations": operations,
            "allocations": allocations,
            "requests": requests,
        }
        for row in (*allocations, *requests):
            for name in ("resources", "held"):
                if name in row:
                    row[name] = {r: v for r, v in row[name].items() if v}
        return data

    # What runs

    def _known(self, one: Task) -> bool:
        """Whether it is on hosts that were read; one that is not is left out."""
        hosts = {instance.partition("@")[2] for instance in one.parts}
        if hosts <= set(self.offers.machines):
            return True
        self.notes.add("gridengine_left_out", "They run on hosts that are not in the text of qhost", one.key)
        return False

    def _deduce_environments(self) -> None:
        """Jobs of several slots are in the only parallel environment, where there is only one."""
        unsaid = [one for one in self.texts.tasks if one.slots > 1 and not one.environment]
        if unsaid and len(self.texts.parallel) == 1:
            (only,) = self.texts.parallel
            for one in unsaid:
                one.environment = only
            names = [one.key for one in unsaid]
            said = f"Jobs of several slots are in {only}, the only parallel environment"
            self.notes.add("gridengine_assumed", said, *names)

    def _refuse_unplaced(self) -> None:
        """Refuse a text that does not say where slots are: how much room hosts have would be a guess."""
        found = Found("qstat -xml")
        for one in self.texts.tasks:
            if one.placed or len(self.offers.machines) == 1 or self._on_one_host(one):
                continue
            said = f"where the {one.slots} slots of job {one.key} are is not in the text"
            found.add(None, None, "places", None, f"{said}: add -g t (qstat -xml -u '*' -r -g t)")
        found.complain()

    def _on_one_host(self, one: Task) -> bool:
        rule = self.texts.parallel.get(one.environment)
        if rule is None or not rule.known:
            return False
        each = rule.allocation_rule
        return each == "$pe_slots" or (each.isdecimal() and int(each) >= one.slots)

    def _detail(self, one: Task) -> Details | None:
        return (self.texts.details or {}).get(one.job)

    def _allocations(self, one: Task) -> list[dict[str, Any]]:
        by_host: dict[str, dict[str, int]] = {}
        for instance, slots in one.parts.items():
            queue, _, host = instance.partition("@")
            by_host.setdefault(host, {})[queue] = slots
        detail, master = self._detail(one), next(iter(by_host))
        started = one.since
        if detail is not None:
            started = detail.starts.get(one.task or "1", 0.0) or started
        state = self._state(one)
        rows = []
        for host, queues in by_host.items():
            held: Counter[str] = Counter()
            for queue, slots in queues.items():
                first = host == master and queue == next(iter(queues))
                held.update(self.offers.taken(one.requests, queue, slots, master=first))
            if one.environment in self.texts.parallel:
                held[f"pe:{one.environment}"] = sum(queues.values())
            queue = next(iter(queues))
            row: dict[str, Any] = {
                "name": f"{one.key}@{host}",
                "operation": one.key,
                "node": host,
                "resources": dict(held),
                "start_time": min(started, self.now),
                "state": state,
                "checkpointable": one.key not in self.staying
                and detail is not None
                and bool(detail.checkpoint)
                and detail.migrates,
                "rerunnable": one.key not in self.staying and self._rerunnable(detail, queue),
                "preemptible": "t" not in one.state
                and not one.unknown
                and one.job not in self.texts.unread
                and started + _YOUNG <= self.now,
                "settings": {"queue": queue},
            }
            if state == "preempted":
                row["held"] = dict(held)
            duration = duration_of(one.requests)
            if duration is not None:
                row["planned_end"] = row["start_time"] + duration
            if state == "preempting" and one.key in self.leaving:
                row["beneficiary"] = {"operation": self.leaving[one.key]}
            rows.append(row)
        return rows

    def _state(self, one: Task) -> str:
        state = _state(one.state)
        listed = self._subordination and {letter for letter in one.state if letter in "sSTPN"} == {"S"}
        return "preempted" if state == "suspended" and listed else state

    def _rerunnable(self, detail: Details | None, queue: str) -> bool:
        """Whether it may be run anew: a job with a checkpoint environment is never rescheduled otherwise."""
        if detail is not None and detail.checkpoint:
            return False
        if detail is not None and detail.rerun is not None:
            return detail.rerun
        return queue in self.texts.queues and self.texts.queues[queue].rerun

    def _operation(self, one: Task, queue: str = "", *, waits_for: str = "") -> dict[str, Any]:
        """Return the row of a job; one without a queue asks for nothing: it waits for something else."""
        return {
            "name": one.key,
            **({"pool": queue} if queue else {}),
            "user": one.owner,
            "priority": one.priority,
            "start_time": min(one.since, self.now),
            "order": _order(one),
            "settings": {"job_name": one.name} | ({"waits_for": waits_for} if waits_for else {}),
        }

    def _leave_out(self, one: Task, why: str) -> None:
        self.left_out.setdefault(why, []).append(one.key)
        self._waits_for.append((one, why))

    # What waits

    def _asking(self) -> list[Task]:
        """Return the tasks that would start if there were room."""
        details = self.texts.details
        found = []
        for one in self.texts.tasks:
            if not one.waits or set("dPN") & set(one.state):
                continue
            if one.held or "E" in one.state:
                why = "it is held" if one.held else "it is in an error state"
                self._waits_for.append((one, f"{why} ({one.state})"))
                continue
            if one.unknown:
                self._leave_out(one, f"what the letter {one.unknown} of its state is")
                continue
            if one.job in self.texts.unread:
                self._leave_out(one, f"what cannot be read of qstat -j ({self.texts.unread[one.job]})")
                continue
            if details is not None:
                detail = details.get(one.job)
                if detail is None:
                    continue  # it has ended since
                if detail.not_before > self.now:
                    self._waits_for.append((one, "its start time has not come"))
                    continue
            found.append(one)
        return found

    # What there is

    def _resources(self, *tables: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        used = {resource for rows in tables for row in rows for resource in row["resources"]}
        offered = {resource for host in self.offers.machines for resource in self.offers.capacity(host)}
        found: dict[str, dict[str, Any]] = {}
        for name in sorted(used | offered | set(self.offers.shared) | {SLOTS}):
            shared: float | int | None = self.offers.shared.get(name)
            if name.startswith("pe:"):
                shared = self.texts.parallel[name[3:]].slots
            one = self.offers.complexes.get(SLOTS if name.startswith(SLOTS) else name)
            row: dict[str, Any] = {"kind": _kind(name, one), "quantum": 1}
            if one is not None and one.kind == "DOUBLE":
                row["quantum"] = 0.001
            row["available_after_preemption"] = self._available(one)
            if shared is not None:
                row |= {"scope": "cluster", "capacity": shared}
            found[name] = row
        return found

    def _available(self, one: Complex | None) -> bool:
        if one is not None and one.aapre is not None:
            return one.aapre
        if isinstance(self.aapre, bool):
            return self.aapre
        return one is not None and self.aapre.get(one.name, False)

    def _node(self, host: str) -> dict[str, Any]:
        machine = self.offers.machines[host]
        row: dict[str, Any] = {
            "name": host,
            "capacity": self.offers.capacity(host),
            "tags": sorted(self._tags[host]),
            "schedulable": any(instance.open for instance in machine.instances),
        }
        swap = self.offers.swap(host)
        if swap is not None:
            row["swap_free"] = swap
        return row

    def _note(self) -> None:
        if self.texts.details is None and self.texts.tasks:
            self.notes.add(
                "gridengine_assumed",
                "Without the text of qstat -j no job asks for a reservation, has a checkpoint environment or"
                " names a queue, and each is rerunnable where its queue is",
            )
        for why, names in self.left_out.items():
            self.notes.add("gridengine_left_out", f"They wait and ask for {why}", *names)
        if self.texts.details is None and any(not one.detailed for one in self.texts.tasks):
            said = "Without -r of qstat and without qstat -j no job asks for more than slots"
            self.notes.add("gridengine_assumed", said)
        unknown = [one.key for one in self.texts.tasks if one.unknown and not one.waits]
        if unknown:
            letters = "".join(sorted({x for one in self.texts.tasks for x in one.unknown}))
            said = (
                f"With an unknown letter of their state ({letters}) jobs keep their room and are no victims"
            )
            self.notes.add("gridengine_assumed", said, *unknown)
        unread = [one.key for one in self.texts.tasks if one.job in self.texts.unread and not one.waits]
        if unread:
            said = "What qstat -j says of them cannot be read: they keep their room and are no victims"
            self.notes.add("gridengine_assumed", said, *unread)
        self._note_instances()
        stopped = [one.key for one in self.texts.tasks if set("PN") & set(one.state)]
        if stopped:
            self.notes.add("gridengine_left_out", "They were preempted by the system itself", *stopped)
        if self.offers.unread:
            said = "Limits of consumables at queues, and at all hosts beside single ones, play no part"
            self.notes.add("gridengine_not_read", said, *self.offers.unread)
        for queue in self.texts.queues.values():
            varies = [name for name in queue.varies if name not in ("slots", "seq_no")]
            if varies:
                said = f"Of {queue.name} the values for single hosts of some fields play no part"
                self.notes.add("gridengine_not_read", said, *varies)

    def _note_instances(self) -> None:
        """Say where texts differ on queue instances, and which slots of them are not in any."""
        differ = []
        for host, instances in self.texts.listed.items():
            machine = self.texts.machines.get(host)
            known = {one.queue: one for one in machine.instances} if machine is not None else {}
            differ += [f"{one.queue}@{host}" for one in instances if known.get(one.queue, one) != one]
        if differ:
            said = (
                "Of qhost and qstat -f, which differ in slots or states of queue instances, the latter counts"
            )
            self.notes.add("gridengine_assumed", said, *differ)
        if not self.texts.machines:
            for queue in self.texts.queues.values():
                groups = [name for name in queue.slots_at if name.startswith("@")]
                if groups:
                    said = f"Which hosts have the slots of {queue.name} for groups is not in the texts"
                    self.notes.add("gridengine_assumed", said, *groups)


def _state(letters: str) -> str:
    if "d" in letters:
        return "preempting"
    return "suspended" if set("sSTPN") & set(letters) else "running"


def _kind(name: str, one: Complex | None) -> str:
    if name == SLOTS or name.startswith(slots_of("")):
        return "slots"
    return "memory" if one is not None and one.kind == "MEMORY" else "other"


def _order(one: Task) -> int:
    return int(one.job) * 1_000_000 + int(one.task or 0)
