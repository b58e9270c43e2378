"""What a job that waits needs: in which queue, of which hosts, how much; or why that cannot be judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from evenhand.systems.gridengine.text.offers import SLOTS, Offers, duration_of
from evenhand.systems.gridengine.text.values import seconds

if TYPE_CHECKING:
    from evenhand.systems.gridengine.text.build import Texts
    from evenhand.systems.gridengine.text.jobs import Details, Task

__all__ = ["Waiting"]

#: Requests that queues limit, and that are no property of a host.
_LIMITED: Final = ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")
_LIMITS: Final = frozenset(f"{side}_{what}" for side in "sh" for what in _LIMITED)
_QUEUE: Final = ("qname", "q")


class Waiting:
    """Makes requests of jobs, one after the other in the order in which they are served."""

    def __init__(self, offers: Offers, texts: Texts, now: float, tags: dict[str, set[str]]) -> None:
        self.offers, self.texts, self.now, self.tags = offers, texts, now, tags
        self.queue = ""
        self._known: set[str] = set()
        self._free: Counter[tuple[str, str]] = Counter()
        for host, machine in offers.machines.items():
            for instance in machine.instances:
                self._free[instance.queue, host] = instance.slots
        self._slots: Counter[str] = Counter()
        for (queue, _), slots in self._free.items():
            self._slots[queue] += slots
        self._running: Counter[str] = Counter()

    def take(self, one: Task) -> None:
        """Take a job that runs into account."""
        self._running[one.job] += 1
        for instance, slots in one.parts.items():
            queue, _, host = instance.partition("@")
            self._free[queue, host] -= slots

    def requests(self, one: Task) -> tuple[list[dict[str, Any]], str]:
        """Return the rows of a waiting task, or what it asks for that cannot be judged."""
        detail = (self.texts.details or {}).get(one.job)
        why = self._unfit(one, detail)
        if why:
            return [], why
        pieces, why = self._pieces(one, detail)
        if why:
            return [], why
        patterns = self._patterns(one, detail)
        if any("@@" in pattern for pattern in patterns):
            return [], "a group of hosts"
        chosen, hosts, why = self._queue(one, detail, patterns, pieces[0])
        if why:
            return [], why
        tags, why = self._tagged(one, chosen, hosts, patterns)
        if why:
            return [], why
        rows = self._rows(one, detail, chosen, pieces, tags)
        if not self._fits(rows, tags):
            return [], "more than there is"
        self._running[one.job] += 1
        self._count(chosen, hosts, pieces)
        self.queue = chosen
        return rows, ""

    def _unfit(self, one: Task, detail: Details | None) -> str:
        if detail is None:
            return ""
        if detail.asks:
            return detail.asks[0]
        if detail.concurrency and self._running[one.job] >= detail.concurrency:
            return "more tasks at a time than its array allows"
        return ""

    def _pieces(self, one: Task, detail: Details | None) -> tuple[list[int], str]:
        """Return how many slots it needs on each host."""
        environment = one.environment
        if not environment:
            if one.slots > 1:
                return [], "slots of a parallel environment that is not in the texts"
            return [1], ""
        rule = self.texts.parallel.get(environment)
        if rule is None:
            return [], "a parallel environment that was not read"
        if not rule.known:
            return [], f"a parallel environment of the unknown allocation_rule {rule.allocation_rule[:40]}"
        slots = one.slots
        if detail is not None:
            if len(detail.slots) != 1 or detail.slots[0][0] != detail.slots[0][1]:
                return [], "a range of slots"
            slots = detail.slots[0][0]
        if rule.allocation_rule == "$pe_slots":
            return [slots], ""
        if rule.allocation_rule.isdecimal():
            each = int(rule.allocation_rule)
            if slots % each:
                return [], "slots that its parallel environment cannot divide"
            return [each] * (slots // each), ""
        return [1] * slots, ""

    def _patterns(self, one: Task, detail: Details | None) -> tuple[str, ...]:
        asked = tuple(one.requests[name] for name in _QUEUE if name in one.requests)
        return asked or (() if detail is None else detail.queues)

    def _queue(
        self, one: Task, detail: Details | None, patterns: tuple[str, ...], slots: int
    ) -> tuple[str, list[str], str]:
        """Return the queue in which it is taken to start, with its hosts."""
        by_queue: dict[str, list[str]] = {}
        for queue, host in self.offers.instances(patterns):
            by_queue.setdefault(queue, []).append(host)
        if not by_queue:
            return "", [], "a queue that is not there, or closed"
        fitting, why = {}, ""
        for queue, hosts in by_queue.items():
            said = self._bars(one, detail, queue)
            why = why or said
            if not said:
                fitting[queue] = hosts
        if not fitting:
            return "", [], why

        def rank(queue: str) -> tuple[Any, ...]:
            room = any(self._free[queue, host] >= slots for host in fitting[queue])
            total = sum(
                i.slots for m in self.offers.machines.values() for i in m.instances if i.queue == queue
            )
            known = self.texts.queues.get(queue)
            return not room, 0 if known is None else known.seq_no, -total, queue

        chosen = min(fitting, key=rank)
        return chosen, fitting[chosen], ""

    def _bars(self, one: Task, detail: Details | None, name: str) -> str:
        """Return why it cannot start in a queue, or why that cannot be judged."""
        queue = self.texts.queues.get(name)
        if queue is None:
            return ""
        if queue.restricted:
            return "queues that only some users or projects may use"
        environment = one.environment
        if environment and environment not in queue.environments:
            return "a parallel environment that no such queue has"
        if not environment and not queue.batch:
            return "a queue for batch jobs"
        if detail is not None and detail.checkpoint and detail.checkpoint not in queue.checkpoints:
            return "a checkpoint environment that no such queue has"
        for limit in _LIMITS & set(one.requests):
            most = queue.limits.get(limit, "INFINITY")
            consumable = self.offers.consumables.get(limit)
            if limit.endswith("_rt") and consumable is None and not _within(one.requests[limit], most):
                return "more run time than its queues allow"
        return ""

    def _tagged(
        self, one: Task, queue: str, hosts: list[str], patterns: tuple[str, ...]
    ) -> tuple[list[str], str]:
        """Return the tags that its hosts must have."""
        where = sorted(pattern for pattern in patterns if "@" in pattern)
        tag = f"queue:{queue}" + "".join(f"|{pattern}" for pattern in where)
        if tag not in self._known:
            self._known.add(tag)
            for host in hosts:
                self.tags[host].add(tag)
        tags = [tag]
        for name, said in sorted(one.requests.items()):
            known = self.offers.complex(name)
            if known is None:
                return [], f"the complex {name[:40]}, which is not there"
            if known.kind == "RSMAP" and "(" in said:
                return [], f"certain ones of {known.name}"
            skipped = known.name in _LIMITS or known.name in _QUEUE
            if skipped or known.name in self.offers.consumables:
                continue
            tag = f"{known.name}{known.relop}{said}"
            if tag not in self._known:
                fits = {host: self.offers.satisfies(host, name, said) for host in self.tags}
                if None in fits.values():
                    return [], f"a value of {known.name} that is none"
                self._known.add(tag)
                for host in (host for host, fit in fits.items() if fit):
                    self.tags[host].add(tag)
            tags.append(tag)
        return tags, ""

    def _rows(
        self, one: Task, detail: Details | None, queue: str, pieces: list[int], tags: list[str]
    ) -> list[dict[str, Any]]:
        environment = one.environment
        rows: list[dict[str, Any]] = []
        for place, slots in enumerate(pieces):
            needs = self.offers.taken(one.requests, queue, slots, master=place == 0)
            if environment:
                needs[f"pe:{environment}"] = slots
            if rows and rows[-1]["resources"] == needs:
                rows[-1]["count"] += 1
                continue
            row: dict[str, Any] = {
                "name": f"{one.key}/{len(rows)}" if rows else one.key,
                "operation": one.key,
                "resources": needs,
                "count": 1,
                "submit_time": min(one.since, self.now),
                "node_tags": tags,
                "reserve": detail is not None and detail.reserve,
            }
            duration = duration_of(one.requests)
            if duration:
                row["duration"] = duration
            rows.append(row)
        return rows

    def _fits(self, rows: list[dict[str, Any]], tags: list[str]) -> bool:
        """Whether each part would fit on some host if it were empty."""
        hosts = [host for host, has in self.tags.items() if has.issuperset(tags)]
        for row in rows:
            shared = {r: v for r, v in row["resources"].items() if r in self.offers.shared}
            if any(amount * row["count"] > self.offers.shared[r] for r, amount in shared.items()):
                return False
            own = {r: v for r, v in row["resources"].items() if r not in shared and not r.startswith("pe:")}
            fits = (self.offers.capacity(host) for host in hosts)
            if not any(all(amount <= there.get(r, 0) for r, amount in own.items()) for there in fits):
                return False
        slots = sum(row["resources"][SLOTS] * row["count"] for row in rows)
        pe = next((r for r in rows[0]["resources"] if r.startswith("pe:")), None)
        most = None if pe is None else self.texts.parallel[pe[3:]].slots
        return most is None or slots <= most

    def _count(self, queue: str, hosts: list[str], pieces: list[int]) -> None:
        """Take the room that it will have: those behind it are taken to be elsewhere."""
        for slots in pieces:
            best = max(hosts, key=lambda host: self._free[queue, host])
            self._free[queue, best] -= slots


def _within(said: str, most: str) -> bool:
    asked, limit = seconds(said), seconds(most)
    return limit is None or (asked is not None and asked <= limit)
