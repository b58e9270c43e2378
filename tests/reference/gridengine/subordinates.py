"""Suspend on subordinate, host by host and job by job, as Grid Engine 8.1.9 has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.reference.gridengine.world import Job, World


@dataclass
class Sub:
    """A queue in the list of another."""

    queue: str
    above: str
    seq: int
    action: str


class Trees:
    """What all lists say."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.most: dict[str, int] = {}
        self.subs: dict[str, Sub] = {}  # slot-wise, in the order of the lists
        self.pairs: list[tuple[str, str, int]] = []  # queue-wise: above, below, slots in use
        for name, queue in world.settings.queues.items():
            text = queue.subordinate_list or ""
            if text.startswith("slots="):
                most, rest = text.removeprefix("slots=").rstrip(")").split("(")
                self.most[name] = int(most)
                for word in rest.split(","):
                    queue_name, seq, action = re.fullmatch(r"\s*([^:]+):?(\d*):?(\w*)\s*", word).groups()  # type: ignore[union-attr]
                    self.subs[queue_name] = Sub(queue_name, name, int(seq or 0), action or "sr")
            elif text not in ("", "NONE"):
                for word in re.split(r"[,\s]+", text):
                    queue_name, _, used = word.partition("=")
                    self.pairs.append((name, queue_name, int(used or queue.slots)))

    def tree(self, root: str, level: int = 0) -> Iterator[tuple[str, int]]:
        """A queue and all below it, with how far below they are."""
        yield root, level
        for sub in self.subs.values():
            if sub.above == root:
                yield from self.tree(sub.queue, level + 1)

    def above(self, queue: str) -> list[str]:
        """All that it is below of, from its parent to the root."""
        found = []
        while queue in self.subs:
            queue = self.subs[queue].above
            found.append(queue)
        return found

    def subject(self, queue: str | None) -> bool:
        return queue in self.subs or any(queue == below for _, below, _ in self.pairs)

    def stopped(self, job: Job) -> bool:
        """Whether the rule has stopped it: it is preempted, keeps all, and its queue is below another."""
        rows = job.allocations
        return (
            bool(rows)
            and all(
                a.get("state") == "preempted" and _all(a.get("held")) == _all(a["resources"]) for a in rows
            )
            and any(self.subject(self.world.queue_name(a)) for a in rows)
        )

    def slots(self, amounts: Mapping[str, float]) -> float:
        kinds = [r for r in self.world.resources if self.world.kind(r) == "slots"]
        return max(amounts.get(r, 0) for r in kinds) if kinds else 1

    def suspended(self, node: str | None, queue: str | None, more: list[tuple[Any, ...]]) -> bool:
        """Queue-wise: whether an instance is; `more` is what has been started since."""
        for above, below, most in self.pairs:
            rows = [a for job in self.world.jobs.values() for a in job.allocations]
            used = sum(
                self.slots(a["resources"] if a.get("state") != "preempted" else a.get("held") or {})
                for a in rows
                if a.get("node") == node and self.world.queue_name(a) == above
            ) + sum(self.slots(need) for _, where, name, need in more if (where, name) == (node, above))
            if below == queue and used >= most:
                return True
        return False


def _all(amounts: Mapping[str, float] | None) -> dict[str, float]:
    return {r: a for r, a in (amounts or {}).items() if a}


class Subordination:
    """What the rule does at the end of a run.

    Parameters
    ----------
    trees : Trees
    victims : set of str
        Jobs that the run preempts.
    begun : list of (job, node, queue, need)
        What it starts and resumes, in order.
    """

    def __init__(self, trees: Trees, victims: set[str], begun: list[tuple[Any, ...]]) -> None:
        self.trees, self.world = trees, trees.world
        self.changes: dict[str, str] = {}  # job to "preempt" or "resume", in order
        self.left_alone: set[str] = set()
        self.barred: set[str] = set()
        self.runs: set[str] = set()
        self.rests: set[str] = set()
        self.on: dict[str, list[tuple[str, str]]] = {node: [] for node in self.world.nodes}
        for job in self.world.jobs.values():
            whole = bool(job.allocations) and len(job.some("running")) == len(job.allocations)
            if job.name not in victims and (whole or trees.stopped(job)):
                (self.runs if whole else self.rests).add(job.name)
                for a in sorted(job.allocations, key=lambda a: str(a["name"])):
                    self.enter(job.name, a.get("node"), self.world.queue_name(a))
        self.queuewise(begun)
        nodes = sorted(trees.most, key=lambda q: (-len(trees.above(q)), self.places.index(q)))
        for host in self.world.nodes:
            for queue in nodes:
                self.stop(host, queue)
            for queue in nodes:
                if queue not in trees.subs:
                    self.resume(host, queue)
        for name, node, queue, _ in begun:
            if queue is None:
                continue
            if name not in self.runs | self.rests | self.barred and name not in self.changes:
                self.runs.add(name)
            if name not in self.changes:
                self.left_alone.add(name)
            if self.enter(name, node, queue):
                self.upwards(node, queue)

    @property
    def places(self) -> list[str]:
        """All queues in the order of their trees."""
        names = [*self.world.settings.queues, *self.trees.subs]
        roots = [name for name in dict.fromkeys(names) if name not in self.trees.subs]
        return [queue for root in roots for queue, _ in self.trees.tree(root)]

    def enter(self, name: str, node: str | None, queue: str | None) -> bool:
        """One job counts once on a host."""
        in_tree = queue in self.trees.subs or queue in self.trees.most
        if node is None or queue is None or not in_tree or any(name == n for n, _ in self.on[node]):
            return False
        self.on[node].append((name, queue))
        return True

    def queuewise(self, begun: list[tuple[Any, ...]]) -> None:
        trees = self.trees
        for job in self.world.jobs.values():
            rows = [(a.get("node"), self.world.queue_name(a)) for a in job.allocations]
            barred = any(trees.suspended(node, queue, begun) for node, queue in rows)
            if barred and job.name in self.runs:
                self.move(job.name, "preempt")
            elif not barred and job.name in self.rests and not any(queue in trees.subs for _, queue in rows):
                self.move(job.name, "resume")
            if barred:
                self.rests.discard(job.name)
                self.barred.add(job.name)

    def move(self, name: str, action: str) -> None:
        """Only what has not been moved is told of; what comes back to where it was is not, either."""
        self.runs.discard(name)
        self.rests.discard(name)
        (self.runs if action == "resume" else self.barred).add(name)
        if self.changes.get(name) == "resume" and action == "preempt":
            self.changes[name] = ""
        elif name not in self.changes and name not in self.left_alone:
            self.changes[name] = action

    def running(self, host: str, queue: str) -> int:
        below = dict(self.trees.tree(queue))
        return sum(name in self.runs and q in below for name, q in self.on[host])

    def upwards(self, host: str, queue: str) -> None:
        for above in [queue, *self.trees.above(queue)]:
            self.stop(host, above)

    def stop(self, host: str, queue: str) -> None:
        while queue in self.trees.most and self.running(host, queue) > self.trees.most[queue]:
            name = self.extreme(host, queue, self.runs, stop=True)
            if name is None:
                return
            self.move(name, "preempt")

    def resume(self, host: str, root: str) -> None:
        most = self.trees.most
        while self.running(host, root) < most[root]:
            may = {
                name
                for name, queue in self.on[host]
                if name in self.rests
                and all(self.running(host, q) < most[q] for q in self.trees.above(queue) if q in most)
            }
            name = self.extreme(host, root, may, stop=False)
            if name is None:
                return
            self.move(name, "resume")
            self.upwards(host, next(queue for n, queue in self.on[host] if n == name))

    def extreme(self, host: str, root: str, among: set[str], *, stop: bool) -> str | None:
        """Levels from the deepest, in each the highest seq_no, of that the shortest run time; or opposite."""
        level = dict(self.trees.tree(root))
        own = [(n, q) for n, q in self.on[host] if n in among and level.get(q, 0) > 0]
        if not own:
            return None
        pick = max if stop else min
        at = pick(level[q] for _, q in own)
        seq = pick(self.trees.subs[q].seq for _, q in own if level[q] == at)
        best, oldest, youngest = None, float("inf"), float("-inf")
        # Queues from the last of the tree to the first, jobs from the last to the first.
        for queue in reversed(self.places):
            if level.get(queue) != at or queue == root or self.trees.subs[queue].seq != seq:
                continue
            for job in reversed(list(self.world.jobs.values())):
                if (job.name, queue) not in own:
                    continue
                start = min([a.get("start_time", 0) for a in job.allocations], default=self.world.now)
                if (self.trees.subs[queue].action == "lr") == stop:
                    if start < oldest:
                        best, oldest = job.name, start
                elif start > youngest:
                    best, youngest = job.name, start
        return best
