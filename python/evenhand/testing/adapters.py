"""Whether an adapter of your own keeps what the protocol asks of it.

`check_adapter` is what an adapter's author calls in a test, with the adapter of a small cluster, real or
played, in which nothing else happens meanwhile.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from evenhand.testing._laws import must

if TYPE_CHECKING:
    from evenhand.act.report import Row
    from evenhand.adapters.protocol import Adapter, Standing
    from evenhand.model import Snapshot

__all__ = ["check_adapter"]

_NOBODY = "999999999"  # a number: systems that name jobs so refuse to look for a word
_RUNS = ("running", "suspended", "leaving", "unknown")
_WAITS = ("pending", "held", "unknown")
_MOST_AGE = 3600.0  # of a plan that is carried out: on a slow machine, too
_REASON = "a reason; with 'quotes', $(signs) and\nlines"


def check_adapter(
    adapter: Adapter,
    *,
    victim: str | None = None,
    beneficiary: str | None = None,
    mode: str | None = "requeue",
    timeout: float = 10.0,
    fresh: Callable[[], Adapter] | None = None,
    histories: int = 20,
) -> list[str]:
    """Hold an adapter against what a driver relies on.

    Parameters
    ----------
    adapter : Adapter
        Of a cluster in which nothing else happens meanwhile. At least one job should run, and one wait:
        what there is none of is not checked.
    victim : str, optional
        A running job that is evicted, and released if it was held.
    beneficiary : str, optional
        A waiting job for which the adapter's policy preempts: its plan is carried out to the end by
        `evenhand.act.Driver`, after a run under a cap per owner that lets no job go. Without a victim and a
        beneficiary nothing is changed.
    mode : str or None
        How the victim leaves (`evenhand.reasons.MODES`).
    timeout : float
        Seconds in which the cluster shows what was done.
    fresh : callable, optional
        Returns the adapter of a new cluster of the same kind. Then drivers act on some of them, by its own
        policy and a clock of this machine, while looks fail, commands and answers get lost and drivers die;
        what came of it is held against laws of `evenhand.testing.acting`.
    histories : int
        On how many.

    Returns
    -------
    list of str
        What was checked, in its order.

    Raises
    ------
    AssertionError
        The name of the first check that failed, and what was found.
    AdapterError
        If the cluster does not answer, or the adapter raises anything else.

    Notes
    -----
    Each check asks the cluster a few times. What each call is to do: `evenhand.adapters.protocol.Adapter`.
    """
    from evenhand.adapters.guarded import follows, guarded

    must(follows(adapter), f"follows_the_protocol: it lacks {', '.join(_lacking(adapter))}")
    checked = ["follows_the_protocol"]
    safe = guarded(adapter)
    checks: list[Callable[[Adapter], None]] = [
        says_which_cluster,
        snapshots_agree,
        jobs_stand_as_the_snapshot_says,
        owners_are_its_users,
        unknown_jobs_are_gone,
        modes_have_actions,
        commands_change_nothing,
        actions_on_unknown_names_are_answered,
        leaving_jobs_leave_for_someone,
        its_policy_plans,
        no_descriptor_is_kept,
    ]
    named = [(check.__name__, check) for check in checks]
    if victim is not None:
        named.append(("evicts_and_releases", lambda one: _evicts(one, victim, mode, timeout)))
    if beneficiary is not None:
        named.append(("steps_come_to_their_end", lambda one: _steps(one, beneficiary, timeout)))
    if fresh is not None:
        from evenhand.testing.acting.own import hold_histories

        named.append(("histories_keep_the_laws", lambda _: hold_histories(fresh, histories, timeout)))
    for name, check in named:
        try:
            check(safe)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        checked.append(name)
    return checked


def _lacking(adapter: object) -> list[str]:
    from evenhand.adapters.protocol import Adapter

    members = [name for name in vars(Adapter) if not name.startswith("_")]
    return [name for name in members if not hasattr(type(adapter), name) and not hasattr(adapter, name)]


def says_which_cluster(adapter: Adapter) -> None:
    """Name and identity are there, and stay."""
    must(bool(adapter.name.strip()), "its name is empty")
    must(bool(adapter.identity.strip()), "its identity is empty: drivers would not exclude each other")
    must(adapter.identity == adapter.identity, "its identity changes from one call to the next")


def snapshots_agree(adapter: Adapter) -> None:
    """Two snapshots of an unchanged cluster differ in nothing but the time, which does not run back."""
    first, second = adapter.snapshot(), adapter.snapshot()
    must(second.now >= first.now, f"its snapshots' time runs back, from {first.now} s to {second.now} s")
    one, other = ({**s.to_dict(), "now": 0} for s in (first, second))
    tables = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    must(not tables, f"two snapshots differ, though nothing has happened: {', '.join(tables)}")
    must(first.node_count > 0, "its snapshot has no nodes")
    for row in one.get("allocations", ()) if adapter.whole else ():
        must(bool(row.get("node")), f"the allocation {row['name']!r} is on no node")


def _jobs(snapshot: Snapshot) -> tuple[list[str], list[str]]:
    """Return the jobs that have allocations, and those that only wait."""
    data = snapshot.to_dict()
    running = sorted({str(row["operation"]) for row in data.get("allocations", ())})
    asking = {str(row["operation"]) for row in data.get("requests", ())}
    return running, sorted(asking - set(running))


def jobs_stand_as_the_snapshot_says(adapter: Adapter) -> None:
    """Each job of the snapshot is found by its operation's name, and runs or waits as it does there."""
    running, waiting = _jobs(adapter.snapshot())
    standings = adapter.look([*running, *waiting])
    for jobs, states in ((running, _RUNS), (waiting, _WAITS)):
        for name in jobs:
            standing = standings[name]
            must(standing.name == name, f"asked for the job {name!r}, it answers for {standing.name!r}")
            must(
                standing.state in states, f"the job {name!r} is {standing.state!r}, not {' or '.join(states)}"
            )
            _says_enough(standing)
    must(adapter.look([]) == {}, "asked for no job, it answers for some")


def owners_are_its_users(adapter: Adapter) -> None:
    """Jobs of one user have one owner, and those of two users two: plans and caps count the same people."""
    snapshot = adapter.snapshot()
    running, waiting = _jobs(snapshot)
    standings = adapter.look([*running, *waiting])
    owner_of: dict[str, str] = {}
    for row in snapshot.to_dict().get("operations", ()):
        standing, user = standings.get(str(row["name"])), row.get("user")
        if standing is None or user is None:
            continue
        known = owner_of.setdefault(str(user), standing.owner)
        must(
            known == standing.owner,
            f"jobs of the user {user!r} have the owners {known!r}, {standing.owner!r}",
        )
    for owner, count in Counter(owner_of.values()).items():
        must(count == 1, f"jobs of {count} users have the owner {owner!r}")


def _says_enough(standing: Standing) -> None:
    """Hold what is said of a job against what a driver needs: an owner, and whether it has started."""
    name, state = standing.name, standing.state
    must(bool(standing.owner.strip()), f"the job {name!r} has no owner: caps per owner would not hold for it")
    if state in ("running", "suspended"):
        said = f"the job {name!r} is {state}, and not started: a driver would wait for it in vain"
        must(standing.started, said)
    if state in ("pending", "held"):
        must(not standing.started, f"the job {name!r} is {state}, and started in this turn")


def unknown_jobs_are_gone(adapter: Adapter) -> None:
    """Jobs that the cluster does not know are gone: no error, and no other state."""
    state = adapter.look([_NOBODY])[_NOBODY].state
    must(state == "gone", f"a job that does not exist is {state!r}, not 'gone'")


def modes_have_actions(adapter: Adapter) -> None:
    """Every mode in which a victim may leave has an action, or is refused in words."""
    from evenhand.adapters.protocol import EVICTIONS, AdapterError
    from evenhand.reasons import MODES

    adapter.action(None)
    for mode in MODES:
        try:
            adapter.action(mode)
        except AdapterError as error:  # guarded: another word than an eviction's is an error, too
            words = f"must be of {', '.join(EVICTIONS)}"
            must(words not in str(error), str(error))


def commands_change_nothing(adapter: Adapter) -> None:
    """To ask what would be run changes nothing, whatever the reason says."""
    from evenhand.adapters.protocol import ACTIONS

    running, waiting = _jobs(adapter.snapshot())
    jobs = [*running, *waiting]
    before = adapter.look(jobs)
    for name in jobs:
        for action in ACTIONS:
            adapter.commands(action, name, _REASON)
    must(adapter.look(jobs) == before, "after its commands were asked for, jobs stand otherwise")


def actions_on_unknown_names_are_answered(adapter: Adapter) -> None:
    """Actions on a job that does not exist are not done, and raise nothing."""
    from evenhand.adapters.protocol import ACTIONS

    for action in ACTIONS:
        if action != "note":
            answer = adapter.do(action, _NOBODY, _REASON)
            must(answer.status != "done", f"{action} of a job that does not exist is 'done'")
            failed = answer.message.startswith("the adapter's do ")
            must(not failed, f"{action} of a job that does not exist: {answer.message}")


def leaving_jobs_leave_for_someone(adapter: Adapter) -> None:
    """In a snapshot in which a job leaves for another, what leaves of it leaves for that one."""
    running, waiting = _jobs(adapter.snapshot())
    if not running or not waiting:
        return
    data = adapter.snapshot({running[0]: waiting[0]}).to_dict()
    mine = [row for row in data.get("allocations", ()) if str(row["operation"]) == running[0]]
    must(bool(mine), f"the job {running[0]!r}, which leaves, is no longer in the snapshot: it holds room")
    for row in mine:
        if row.get("state") != "preempting":
            continue  # the cluster has not asked it yet
        whom = (row.get("beneficiary") or {}).get("operation")
        asked = {r["name"]: r["operation"] for r in data.get("requests", ())}
        whom = asked.get((row.get("beneficiary") or {}).get("request"), whom)
        must(str(whom) == waiting[0], f"{row['name']!r} leaves for {whom!r}, not for {waiting[0]!r}")


def its_policy_plans(adapter: Adapter) -> None:
    """Where there is a policy, it plans on the snapshot, and all victims are jobs of the cluster."""
    from evenhand.adapters.protocol import AdapterError
    from evenhand.plans.planning import plan as planned

    try:
        policy = adapter.policy()
    except AdapterError:
        return
    plan = planned(adapter.snapshot(), policy)
    names = [str(decision.operation) for decision in plan.decisions.victims]
    for name, standing in adapter.look(names).items():
        must(standing.state != "gone", f"the plan has the victim {name!r}, which is gone")


def no_descriptor_is_kept(adapter: Adapter) -> None:
    """Without a lock there is nothing to inherit: a negative descriptor is taken."""
    adapter.keep(-1)


def _evicts(adapter: Adapter, victim: str, mode: str | None, timeout: float) -> None:
    before = adapter.look([victim])[victim]
    must(before.state == "running", f"the victim {victim!r} is {before.state!r}, not running")
    action = adapter.action(mode)
    answer = adapter.do(action, victim, _REASON)
    must(answer.status == "done", f"{action} of {victim!r} is {answer.status!r}: {answer.message}")

    def until(what: str, fits: Callable[[Any], bool]) -> Any:
        end = time.monotonic() + timeout
        while not fits(standing := adapter.look([victim])[victim]):
            must(time.monotonic() < end, f"{timeout:g} s after {action} of {victim!r}, {what}: {standing}")
            time.sleep(0.05)
        return standing

    if action == "suspend":
        until("it is not suspended", lambda s: s.state == "suspended")
        must(isinstance(adapter.room(victim), bool), "room is no bool")
        must(adapter.do("resume", victim, _REASON).status == "done", f"resume of {victim!r} is not done")
        _says_enough(until("and resume, it does not run", lambda s: s.state == "running"))
    elif action == "cancel":
        until("it has not ended", lambda s: s.state in ("ended", "gone"))
    else:
        until("its turn is the same", lambda s: s.turn > before.turn)
        held = action == "requeue_hold"
        waits = until("it does not wait", lambda s: s.state == ("held" if held else "pending"))
        _says_enough(waits)
        must(waits.requeueable, "a job that was sent back to the queue is not requeueable")
        if held:
            must(not waits.held, "a job that was sent back held is not one that a person holds by name")
            must(
                adapter.do("release", victim, _REASON).status == "done", f"release of {victim!r} is not done"
            )
            _says_enough(until("and release, it is held", lambda s: s.state in ("pending", "running")))


def _steps(adapter: Adapter, beneficiary: str, timeout: float) -> None:
    from evenhand.act import Caps, Driver, Timing
    from evenhand.plans.planning import plan as planned

    plan = planned(adapter.snapshot(), adapter.policy())
    leaving = [str(d.operation) for d in plan.decisions.victims]
    served = {str(d.beneficiary.operation) for d in plan.decisions.victims if d.beneficiary is not None}
    others = ", ".join(sorted(served)) or "no job"
    must(beneficiary in served, f"its policy preempts nothing for {beneficiary!r}; it does for {others}")
    before = adapter.look(leaving)
    owners = Counter(before[job].owner for job in dict.fromkeys(leaving))
    timing = Timing(start=timeout, settle=timeout, poll=0.05, max_age=_MOST_AGE)

    def report(cap: int) -> list[Row]:
        caps = Caps(per_run=None, per_hour=None, per_owner=cap, per_job=None)
        with (
            TemporaryDirectory() as folder,
            Driver(adapter, f"{folder}/journal", lock=f"{folder}/lock", caps=caps, timing=timing) as driver,
        ):
            return driver.act(plan).rows

    for row in report(0):
        refused = row.outcome == "refused" and "per_owner=0" in row.why
        must(refused, f"under per_owner=0 the step for {row.beneficiary!r} is {row.outcome}: {row.why}")
    must(adapter.look(leaving) == before, "after a run in which no job may leave, jobs stand otherwise")
    for row in report(max(owners.values())):
        must(
            row.outcome in ("started", "repaired"),
            f"the step for {row.beneficiary!r} is {row.outcome}: {row.why}",
        )
    after = adapter.look([beneficiary])[beneficiary]
    must(after.state == "running", f"its step has ended, and {beneficiary!r} is {after.state}")
