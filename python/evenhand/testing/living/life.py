"""One life of a cluster: it changes beside rows and states kept by hand, and is held against them."""

from __future__ import annotations

import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cluster.events import as_event
from evenhand.errors import InputError
from evenhand.systems import SYSTEMS
from evenhand.testing._laws import must
from evenhand.testing.happened import tell
from evenhand.testing.living import compare
from evenhand.testing.living.asking import given_for, heartbeats, trigger_for, word
from evenhand.testing.living.carried import carry_out
from evenhand.testing.living.groups import Happening
from evenhand.testing.living.rows import Refused, Rows
from evenhand.testing.living.standing import States, system_of
from evenhand.testing.strategies._picking import Pick

if TYPE_CHECKING:
    from evenhand.cluster import Cluster, Mark
    from evenhand.model import Snapshot
    from evenhand.plans import Plan
    from evenhand.systems.base import Policy

__all__ = ["STEPS", "Begin", "Life"]

_TABLES = ("allocations", "requests", "operations")


@dataclass(frozen=True)
class Begin:
    """What a life begins with."""

    cluster: Mapping[str, Any]
    stock: Mapping[str, Any]
    policies: Sequence[Policy]
    waited: str | None = None


def _snapshot(rows: Rows) -> Snapshot:
    from evenhand.model import Snapshot

    return Snapshot.from_dict(rows.data())


@dataclass(frozen=True)
class _Then:
    """What is gone back to."""

    mark: Mark
    rows: Rows
    states: States
    beating: frozenset[Policy]
    plans: int


class Life:
    """A cluster and what is kept beside it."""

    def __init__(self, begin: Begin) -> None:
        from evenhand.cluster import Cluster
        from evenhand.plans.planning import plan

        self.counts: Counter[tuple[str, str]] = Counter()
        self.trace: list[Any] = []
        self.policies = begin.policies
        self.rows, self.states = Rows(begin.cluster), States()
        self._happening = Happening(begin.stock, self.rows.resources)
        self._built = self.rows, _snapshot(self.rows)
        first, state = self._afresh(), None
        own = begin.policies[0]
        if begin.waited is not None:
            made, _ = compare.told(plan, first, own, as_if_waiting=begin.waited)
            state = made and made.state
        if state is not None:
            self.states.left(own, state)
        self.cluster: Cluster = Cluster(first, own, state)
        self.plans: list[Plan] = []
        self._unread: list[tuple[Plan, Plan]] = []
        self._marks: list[_Then] = []
        self._chosen: list[str] = []  # victims of the last plan
        self._beating: frozenset[Policy] = frozenset()

    def _afresh(self) -> Snapshot:
        """Return the snapshot that is built of the rows, which are never changed but replaced."""
        if self._built[0] is not self.rows:
            self._built = self.rows, _snapshot(self.rows)
        return self._built[1]

    def do(self, step: str, pick: Pick) -> None:
        """Do one of `STEPS`, with choices that are drawn."""
        self.counts["step", step] += 1
        self.trace.append(step)
        STEPS[step](self, pick)

    # What happens.

    def events(self, pick: Pick) -> None:
        """Let a batch happen, all of it or nothing."""
        self._apply(self._happening.batch(self.rows, pick))

    def _apply(self, events: list[Any], *others: Cluster) -> bool:
        """Let events happen to the cluster, and to others that are the same; whether they are taken."""
        self.trace.append(events)
        trial = self._tried(events)
        for cluster in (self.cluster, *others):
            _, wrong = compare.told(cluster.apply, events)
            if not wrong:
                must(trial is not None, f"wrong events are taken: {events!r}")
            else:
                right = all(self._tried(events[: n + 1]) is not None for n in range(len(events)))
                must(not right, f"right events are refused: {wrong}")
                trial = None
        self.counts["batch", "taken" if trial is not None else "refused"] += 1
        if trial is None:
            return False
        for event in events:
            table = getattr(event, "table", "")
            self.counts["event", f"{type(event).__name__.lower()} {table}".strip()] += 1
        self._become(trial, events)
        return True

    def _tried(self, events: Sequence[Any]) -> Rows | None:
        """Return rows after events; None if those are wrong, or the rows that they lead to."""
        trial = self.rows.copied()
        try:
            for event in events:
                trial.happen(as_event(event))
            self._built = trial, _snapshot(trial)
        except (Refused, KeyError, ValueError):
            return None
        return trial

    def _become(self, rows: Rows, events: Sequence[Any] = ()) -> None:
        """Let other rows be those that there are, and let states forget what went."""
        from evenhand.cluster.events import Remove

        gone = {
            (table, name)
            for table in ("operations", "requests")
            for name in self.rows.tables[table]
            if name not in rows.tables[table]
        }
        gone |= {(e.table, str(e.name)) for e in events if isinstance(e, Remove)}
        gone |= {("requests", name) for name in rows.used_up}
        self.states.forget(gone)
        self.rows = rows

    def rows_return(self, pick: Pick) -> None:
        """Put what is remembered in another place, and plan: what is remembered is of names."""
        policy = self.policies[pick((0, 0, 0, 1)) % len(self.policies)]
        if (state := self.states.of(policy)) is None or policy in self._beating:
            return
        known = [("nodes", str(name)) for name in state.nodes]
        known += [("operations", str(name)) for name in state.operations]
        known += [("requests", str(name)) for name in state.requests]
        for kind, name in (*state.elements, *[*state.victims] * 3):  # these are few
            known += [("operations", str(name))] * (kind == "operation")
        if self._apply(self._happening.returning(self.rows, known, pick)):
            self._ask(policy, trigger_for(policy, self.rows, pick), None, pick)

    def rows_succeed(self, pick: Pick) -> None:
        """Let a row with settings go after a plan, and plan with one without that comes after it."""
        policy = self.policies[0]
        put, remove, again = self._happening.successors(self.rows, self._chosen, pick)
        if policy in self._beating or not self._apply(put):
            return
        self._ask(policy, None, None, pick)
        if self._apply(remove) and self._apply(again):
            self._ask(policy, trigger_for(policy, self.rows, pick), None, pick)

    def time_passes(self, pick: Pick) -> None:
        """Let nothing but time pass."""
        self._apply([self._happening.event(self.rows, pick, ("time",))])

    def victims_leave(self, pick: Pick) -> None:
        """Let what was asked to leave end, all or some."""
        from evenhand.cluster.events import End

        leaving = self.rows.all("allocations", "preempting")
        some = pick((True, False))
        self._apply([End(row["name"]) for row in leaving if some or pick((False, True))])

    # What is asked.

    def asks(self, pick: Pick) -> tuple[Plan, Plan] | None:
        """Plan on the cluster and on the frozen rows and state; both say the same, now or later."""
        policy = self.policies[pick((0, 0, 0, 0, 0, 0, 1, 1, 1, 2)) % len(self.policies)]
        on = None if policy in self._beating else trigger_for(policy, self.rows, pick)
        return self._ask(policy, on, given_for(policy, self.rows, pick), pick)

    def _ask(self, policy: Policy, on: Any, given: Any, pick: Pick) -> tuple[Plan, Plan] | None:
        from evenhand.plans.planning import plan as planned

        self.trace.append((policy, on, given))
        self.counts["trigger", f"{system_of(policy)} {word(on)}"] += 1
        self.counts["given", f"{system_of(policy)} {'nothing' if given is None else sorted(given)}"] += 1
        if pick(range(4)) == 3:
            self.looks(pick)
        snapshot, state = self._afresh(), self.states.before(policy)
        frozen, wrong = compare.told(planned, snapshot, policy, state, on=on, given=given)
        live, refused = compare.told(self.cluster.plan, policy, on=on, given=given)
        if refused != wrong and refused and wrong:  # several things are wrong: either may be said
            wrong = compare.told(planned, snapshot, policy, state)[1]
        compare.same(refused, wrong, "what is wrong with the input of a plan")
        if frozen is None:
            self.counts["plan", f"{system_of(policy)} refused"] += 1
            return None
        self._counted(frozen)
        self._chosen = [str(d.allocation) for d in frozen.decisions if d.action == "preempt"]
        self.states.left(policy, frozen.state)
        if pick(range(4)) == 3:
            compare.same_text(self.cluster.state(policy), frozen.state)
        self._read(live, frozen, pick)
        return live, frozen

    def _counted(self, plan: Plan) -> None:
        tell(plan)
        system = system_of(plan.policy)
        self.counts["plan", f"{system} made"] += 1
        for d in plan.decisions:
            said = f"{system} {d.mode}" if d.action == "preempt" else f"{system} {d.action}"
            self.counts["victim" if d.action == "preempt" else "decision", said] += 1

    def _read(self, live: Plan, frozen: Plan, pick: Pick) -> None:
        """Read a plan: all of it now, its decisions now, or nothing of it until later."""
        way = pick(("now", "now", "decisions", "later"))
        if way == "decisions":
            compare.same_decisions(live, frozen)
        if way == "now":
            self._compare(live, frozen, pick)
        else:
            self._unread.append((live, frozen))

    def _compare(self, live: Plan, frozen: Plan, pick: Pick) -> None:
        if pick((True, True, False)):
            compare.same_decisions(live, frozen)
        compare.same_plan(live, frozen)
        names = [(table, name) for table in _TABLES for name in frozen.snapshot.names(table)]
        for _ in range(pick((0, 0, 1, 2)) if names else 0):
            compare.same_answers(live, frozen, *pick(names))

    def waits(self, pick: Pick) -> None:
        """Look in between: nothing is decided before a plan is due, as long as nothing happens."""
        policy = self.policies[0]
        made = None if policy in self._beating else self._ask(policy, None, None, pick)
        if made is None:
            return
        now, due = made[1].snapshot.now, made[1].next_due
        must(due == now or not len(made[1].decisions), "something is decided, and nothing is due")
        other, last = self.cluster.copy(), now + 1000 if due is None else due - 1e-6
        for instant in ((now + last) / 2, last) if due != now else ():
            if instant > other.now:
                other.apply({"event": ["time"], "now": [instant]})
                plan, _ = compare.told(other.plan, policy)
                must(
                    plan is None or not len(plan.decisions), f"something is decided at {instant} before {due}"
                )

    def reads_late(self, pick: Pick) -> None:
        """Read a plan that was made a while ago."""
        if self._unread:
            self._compare(*self._unread.pop(pick(range(len(self._unread)))), pick)

    def plans_and_carries_out(self, pick: Pick) -> None:
        """Plan, and carry the plan out; now and then room was kept for what starts, of which some is left."""
        made = self.asks(pick)
        starts = [d for d in made[1].decisions if d.action == "start" and d.node] if made is not None else []
        if made is not None and starts and pick(range(6)) == 5:
            one, policy = pick(starts), made[1].policy
            if self._apply(self._happening.kept_twice(self.rows, one.request, one.node)):
                on = None if policy in self._beating else trigger_for(policy, self.rows, pick)
                made = self._ask(policy, on, None, pick)
        if made is not None:
            self._carry_out(*made)

    def carries_out_late(self, pick: Pick) -> None:
        """Carry out a plan of an earlier instant, if that can still be done."""
        before = [pair for pair in self._unread if pair[1].snapshot.now <= self.rows.now]
        if before:
            self._carry_out(*pick(before))

    def _carry_out(self, live: Plan, frozen: Plan) -> None:
        trial, now = self.rows.copied(), None
        running: tuple[str, ...] = ()
        same_rows = frozen.snapshot == self._afresh()
        try:
            running = carry_out(trial, frozen)
            now = _snapshot(trial)
        except (Refused, InputError):
            must(not same_rows, "the plan cannot be carried out on the rows that it was made of")
        done, wrong = compare.told(self.cluster.carry_out, live)
        self.counts["carried", ("refused" if wrong else "done") + (" at once" if same_rows else " late")] += 1
        if wrong:
            must(now is None, f"a plan cannot be carried out: {wrong}")
            return
        must(now is not None, "a plan is carried out that cannot be")
        compare.same(sorted(map(str, done.started)), sorted(running), "what has started")
        if same_rows and now is not None:
            compare.same_snapshot(now, frozen.snapshot.after(frozen))
        self._become(trial)
        if frozen.policy == self.policies[0]:
            self.plans.append(frozen)

    def reports(self, pick: Pick) -> None:
        """Update, let something happen, and plan heartbeats that use the update, of a policy that has them.

        What no frozen plan can say is held against a second cluster, of the rows and the state as kept.
        """
        from evenhand.cluster import Cluster

        policy = self.policies[pick(range(len(self.policies)))]
        if policy.period is None:
            compare.same(compare.told(self.cluster.update, policy), (None, ""), "an update of nothing")
            return
        given = given_for(policy, self.rows, pick)
        self.trace.append((policy, given))
        other = Cluster(self._afresh(), policy, self.states.before(policy))
        _, wrong = compare.told(self.cluster.update, policy, given=given)
        compare.same(wrong, compare.told(other.update, policy, given=given)[1], "an update")
        self._beating |= {policy}
        if wrong:
            return
        self._left(policy, other)
        for _ in range(pick((1, 2, 3))):
            if pick((True, False)):
                self._apply(self._happening.batch(self.rows, pick), other)
            if pick(range(4)) == 3:
                self.elsewhere(pick)
            on = heartbeats(self.rows, pick)
            self.trace.append(on)
            self.counts["trigger", f"{system_of(policy)} {word(on)} of an update"] += 1
            live, wrong = compare.told(self.cluster.plan, policy, on=on)
            again, refused = compare.told(other.plan, policy, on=on)
            compare.same(wrong, refused, "what is wrong with the input of a heartbeat")
            self._left(policy, other)
            if live is None:
                continue
            self._counted(again)
            compare.same_decisions(live, again)
            compare.same_plan(live, again)
            compare.same_state(again.state, self.states.of(policy))
            if pick((True, False)):
                self.looks(pick)

    def _left(self, policy: Policy, other: Cluster) -> None:
        state = other.copy().state(policy)
        if state is not None:
            self.states.left(policy, state)

    # What is looked at, and where the cluster goes.

    def looks(self, pick: Pick) -> None:
        """Compare the cluster with the rows, and what it remembers with the states; or a copy of it."""
        cluster = pick((self.cluster, self.cluster.copy()))
        what = pick(("all", "snapshot", "states", "usage"))
        if what in ("all", "snapshot"):
            compare.same_snapshot(cluster.snapshot(), self._afresh())
        if what in ("all", "states"):
            for policy in self.policies:
                compare.same_state(cluster.state(policy), self.states.of(policy))
        if what in ("all", "usage"):
            self._usage(cluster)
        compare.same(cluster.now, self._afresh().now, "instant")

    def _usage(self, cluster: Cluster) -> None:
        used = {name: dict.fromkeys(self.rows.resources, 0.0) for name in self.rows.tables["operations"]}
        for row in self.rows.all("allocations"):
            state = row.get("state", "running")
            held = row.get("held") if state == "preempted" else row.get("resources")
            for r, amount in (held or {}).items() if state != "preempting" else ():
                used[str(row["operation"])][r] += amount
        for name, row in self.rows.tables["operations"].items():
            if not row.get("usage") and not row.get("demand"):
                rounded = {r: round(amount, 9) for r, amount in used[name].items()}
                live = {r: round(a, 9) for r, a in cluster.usage(name, table="operations").items()}
                compare.same(live, rounded, f"usage of {name!r}")

    def elsewhere(self, pick: Pick) -> None:
        """Continue with a copy, with what was pickled, or with what was saved and loaded."""
        from evenhand.cluster import Cluster

        way = pick(("copy", "pickle", "pickle", "file"))
        self.counts["elsewhere", way] += 1
        self.trace.append(way)
        before = self.cluster
        if way == "copy":
            self.cluster = before.copy()
            compare.told(before.plan, self.policies[0])  # the other goes its own way
            compare.told(before.apply, self._happening.batch(self.rows, pick))
        elif way == "pickle":
            self.cluster = pickle.loads(pickle.dumps(before))  # noqa: S301 - written a moment ago
        else:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "cluster.json")
                _, refused = compare.told(before.save, path)  # a policy of one's own has no file
                self.cluster = before.copy() if refused else Cluster.load(path)
                must(not refused or system_of(self.policies[0]) not in SYSTEMS, refused)
        self._marks.clear()

    def marks(self, pick: Pick) -> None:
        """Remember an instant."""
        del pick
        kept = self.rows.copied(), self.states.copied(), self._beating, len(self.plans)
        self._marks.append(_Then(self.cluster.mark(), *kept))

    def goes_back(self, pick: Pick) -> None:
        """Go back to an instant; marks after it are void."""
        if not self._marks:
            return self.marks(pick)
        place = pick(range(len(self._marks)))
        then = self._marks[place]
        self.cluster.undo(then.mark)
        self.rows, self.states, self._beating = then.rows.copied(), then.states.copied(), then.beating
        del self.plans[then.plans :]
        for later in self._marks[place + 1 :]:
            must(bool(compare.told(self.cluster.undo, later.mark)[1]), "a void mark is good")
        keep = pick((0, 1))
        self._marks = self._marks[: place + keep]
        return self.looks(pick)

    def ends(self) -> None:
        """Read all that has not been read, also once the cluster is gone."""
        compare.same_snapshot(self.cluster.snapshot(), self._afresh())
        for policy in self.policies:
            compare.same_state(self.cluster.state(policy), self.states.of(policy))
        self._marks.clear()
        del self.cluster
        while self._unread:
            live, frozen = self._unread.pop()
            compare.same_decisions(live, frozen)
            compare.same_plan(live, frozen)


#: What may happen to a life, by name.
STEPS: Mapping[str, Callable[[Life, Pick], Any]] = {
    "events": Life.events,
    "rows return": Life.rows_return,
    "rows succeed": Life.rows_succeed,
    "time": Life.time_passes,
    "plan": Life.asks,
    "carry out": Life.plans_and_carries_out,
    "victims leave": Life.victims_leave,
    "read late": Life.reads_late,
    "carry out late": Life.carries_out_late,
    "report": Life.reports,
    "look": Life.looks,
    "elsewhere": Life.elsewhere,
    "mark": Life.marks,
    "go back": Life.goes_back,
    "wait": Life.waits,
}
