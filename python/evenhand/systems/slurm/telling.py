"""What Slurm's policy says of jobs that are left as they are, by what stood in the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand.explain.facts import listed, name_of, number, seconds
from evenhand.explain.told import NOTHING, Told
from evenhand.fields import TABLES
from evenhand.plans.columns import rows_by_name
from evenhand.systems.slurm.columns import Jobs
from evenhand.systems.slurm.words import compared

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts
    from evenhand.model import Snapshot

__all__ = ["Telling", "leaving_for", "not_listed", "of_allocation"]

_BACKFILL = "in the backfill pass "


class Telling:
    """One outcome of a job, with what was recorded."""

    def __init__(self, facts: Facts, row: int, met: Mapping[str, Any], recorded: Mapping[str, Any]) -> None:
        self.facts, self.row, self.met = facts, row, met
        self.snapshot, self.settings = facts.snapshot, facts.plan.policy.settings
        self.jobs = Jobs.of(self.snapshot, self.settings)
        self.numbers: Mapping[str, Any] = recorded.get("numbers", {})
        self.rows: Mapping[str, Any] = recorded
        request = met.get("request")
        self.asks = -1 if request is None else self.owner(request)
        self.code = str(met["outcome"])

    def owner(self, request: object) -> int:
        """Return the row of a request's operation."""
        row = rows_by_name(self.snapshot, "requests")[str(request)]
        return int(self.snapshot._core.column("requests", "operation")[row])

    def name(self, row: int) -> str:
        """Return the name of an operation, safe to print."""
        return name_of(self.snapshot.names("operations")[row])

    def nodes(self, name: str) -> list[str]:
        """Return recorded nodes."""
        rows = np.asarray(self.rows.get("nodes", {}).get(name, ()), np.int64).tolist()
        return [str(self.snapshot.names("nodes")[row]) for row in dict.fromkeys(rows)]

    def other(self, kind: str, name: str) -> str | None:
        """Return the name of a recorded operation or request; None: none was recorded."""
        row = self.rows.get(kind, {}).get(name)
        return None if row is None else str(self.snapshot.names(kind)[int(row)])

    @property
    def asking(self) -> str:
        """The request that asked, and whose it is."""
        return f"request {name_of(self.met['request'])} of operation {self.name(self.asks)}"

    @property
    def several(self) -> bool:
        """Whether the job that asked is tried in several partitions."""
        return self.asks >= 0 and bool(self.jobs.further(self.asks))

    @property
    def tier_of_asking(self) -> int:
        """The tier of the partition whose turn it was."""
        return int(self.numbers.get("tier_of_asking", self.jobs.derived["tier"][max(self.asks, 0)]))

    @property
    def partition_of_asking(self) -> str | None:
        """The partition whose turn it was."""
        part = self.numbers.get("partition_of_asking")
        return self.jobs.partition(max(self.asks, 0)) if part is None else [*self.jobs.partitions][int(part)]

    def shared(self) -> set[str]:
        """Return the resources that are counted in the cluster as a whole."""
        spaces = self.snapshot.to_dict()["resources"]
        return {r for r in self.snapshot.resources if (spaces.get(r) or {}).get("scope") == "cluster"}

    def partition(self, name: str | None) -> str:
        """Return what a partition is called in a sentence."""
        return "no partition" if name is None else f"partition {name_of(name)}"

    def turn(self) -> tuple[str, dict[str, Any]]:
        """Return where a job that waits in several partitions asked, in words and as a number."""
        if not self.several:
            return "", {}
        part = self.partition_of_asking
        asks = self.snapshot.names("operations")[self.asks]
        return f" in {self.partition(part)}", {f"partition_of_{asks}": part}

    def compared(self) -> dict[str, Any]:
        """Return what was compared."""
        return compared(self.snapshot, self.settings, self.code, self.row, self.asks)

    def of_both(self, what: str, values: Mapping[int, Any]) -> dict[str, Any]:
        """Return one value of this job and one of that which asked."""
        names = self.snapshot.names("operations")
        return {f"{what}_of_{names[row]}": value for row, value in values.items()}


def _tier_not_lower(t: Telling) -> Told:
    own, other = int(t.jobs.derived["tier"][t.row]), t.tier_of_asking
    text = (
        f"its {t.partition(t.jobs.partition(t.row))} has tier {own}, not below tier {other} of"
        f" {t.partition(t.partition_of_asking)}, in which {t.asking} waits"
    )
    if other:
        text += f"; with a `PriorityTier` below {other} it might be preempted"
    return Told(t.of_both("tier", {t.row: own, t.asks: other}), text)


def _not_lower_priority(t: Telling) -> Told:
    own, other = (float(t.jobs.priorities.total[row]) for row in (t.row, t.asks))
    if t.settings.PreemptType == "preempt/partition_prio":
        text = f"its priority {number(own, [other])} is above {number(other, [own])} of {t.asking}"
        why = "`PreemptMode` has the flag PRIORITY"
    else:
        text = f"its priority {number(own, [other])} is not below {number(other, [own])} of {t.asking}"
        within = t.jobs.qos(t.row) == t.jobs.qos(t.asks)
        why = "within a QOS" if within else "`PreemptMode` has the flag PRIORITY"
    text += f" ({why}{', only lower priorities are preempted' if why == 'within a QOS' else ''})"
    return Told(t.of_both("priority", {t.row: own, t.asks: other}), text)


def _qos_not_listed(t: Telling) -> Told:
    own, other = t.jobs.qos(t.row), t.jobs.qos(t.asks)
    if own is None:
        text = "it has no QOS, and jobs without one are not preempted"
    elif other is None:
        text = f"{t.asking} has no QOS, and may preempt nothing"
    elif own == other:
        text = f"it has the same QOS {name_of(own)} as {t.asking}, and `PreemptMode` does not say WITHIN"
    else:
        text = f"its QOS {name_of(own)} is not in `Preempt` of QOS {name_of(other)} of {t.asking}"
    return Told(t.of_both("QOS", {t.row: own, t.asks: other}), text)


def _preempt_mode_off(t: Telling) -> Told:
    found = t.compared()
    ((kind, name),) = found.items()
    return Told(found, f"`PreemptMode` of its {kind} {name_of(name)} is OFF")


def _above_min_exempt_priority(t: Telling) -> Told:
    found = t.compared()
    own, most = found.values()
    text = f"its priority {number(own, [most])} is above `min_exempt_priority` {number(most, [own])}"
    return Told(found, text)


def _ran_too_short(t: Telling) -> Told:
    found = t.compared()
    ran, exempt = float(found["seconds"]), float(found["PreemptExemptTime"])
    when = t.facts.when(t.snapshot.now - ran + exempt)
    text = f"its job has run for {seconds(ran)} of {seconds(exempt)} `PreemptExemptTime`"
    return Told({**found, "until": t.snapshot.now - ran + exempt}, f"{text}: it is no victim until {when}")


def _not_preemptible_flag(t: Telling) -> Told:
    core = t.snapshot._core
    mine = np.flatnonzero(core.column("allocations", "operation") == t.row)
    willing = np.asarray(core.column("allocations", "preemptible"))
    marked = [t.snapshot.names("allocations")[i] for i in mine.tolist() if len(willing) and not willing[i]]
    if not marked:
        return NOTHING
    of, are = ("allocation", "is") if len(marked) == 1 else ("allocations", "are")
    text = f"{of} {listed(marked)} of its job {are} marked as not preemptible"
    return Told({"marked": [str(name) for name in marked]}, f"{text}, and a job is preempted as a whole")


def _suspend_not_allowed(t: Telling) -> Told:
    part = t.jobs.partition(t.row)
    share = t.jobs.partitions[part].OverSubscribe
    text = f"it would be suspended, and `OverSubscribe` of its {t.partition(part)} is {share}"
    return Told({"OverSubscribe": share}, f"{text}: jobs are suspended under FORCE and YES only")


def _outside_partition(t: Telling) -> Told:
    text = f"it runs on no node of {t.partition(t.partition_of_asking)}, in which {t.asking} waits"
    return Told(t.turn()[1], text)


def _off_chosen_nodes(t: Telling) -> Told:
    placed = t.nodes("placed_on")
    where, found = t.turn()
    text = f"{t.asking} is placed{where} on {_on(placed)}, where its job does not run"
    return Told({**found, "placed_on": placed}, text)


def _given_back(t: Telling) -> Told:
    placed = t.nodes("placed_on")
    where, found = t.turn()
    text = (
        f"it was chosen for {t.asking}{where} and given back: that fits on {_on(placed)} without it"
        " (`victim_selection` is irreducible)"
    )
    return Told({**found, "placed_on": placed}, text)


def _preemption_disabled(t: Telling) -> Told:
    kind = t.settings.PreemptType or "preempt/none"
    return Told({"PreemptType": kind}, f"preemption is switched off (`PreemptType` is {kind})")


def _spared_fits_without(t: Telling) -> Told:
    placed = t.nodes("placed_on")
    where, found = t.turn()
    at = f" on {_on(placed)}" if placed else ""
    found |= {"placed_on": placed} if placed else {}
    if t.numbers.get("leaving"):
        leaving = leaving_for(t.snapshot, t.asks)
        has = "has" if len(leaving) == 1 else "have"
        text = f"{t.asking} fits{where}{at} once {listed(leaving)} {has} left, asked to leave for it before"
        return Told({**found, "leaving": leaving, **not_listed(leaving)}, text)
    place, count, victims = (int(t.numbers[name]) for name in ("place", "candidates", "victims"))
    found |= {"place": place, "candidates": count, "victim_jobs": victims}
    jobs = f"{victims:,} other job{'s' * (victims != 1)}"
    if "GANG" in t.settings.PreemptMode:
        text = f"{t.asking} fits{where}{at} beside it" + (f", once {jobs} gave way" if victims else "")
        return Told(found, text)
    text = f"{t.asking} fits{where}{at} once {jobs} left; of {count:,} that might, it is wanted as number"
    core = t.snapshot._core
    mine = np.asarray(core.column("allocations", "operation")) == t.row
    rows = np.unique(np.asarray(core.column("allocations", "node"))[mine])
    elsewhere = placed and not {str(t.snapshot.names("nodes")[n]) for n in rows.tolist()} & set(placed)
    return Told(found, f"{text} {place:,}" + (", and it does not run there" if elsewhere else ""))


def _frees_nothing_useful(t: Telling) -> Told:
    where, found = t.turn()
    if t.numbers.get("suspended"):
        text = f"its job would be suspended, and {t.asking} cannot start over it without the flag GANG"
        if t.settings.victim_selection == "test_only":
            text = f"its job would be suspended, and the dry run starts {t.asking} over none that is"
        return Told({**found, "mode": "SUSPEND"}, text)
    nodes = t.nodes("open")
    text = f"its job runs on none of the nodes where {t.asking} might be placed{where} now: {listed(nodes)}"
    if not nodes:
        text = (
            f"no node is open to {t.asking}{where} now: others are ending there, or jobs before it have them"
        )
    return Told({**found, "open": nodes}, text)


def _no_start_in_stage(t: Telling) -> Told:
    where, found = t.turn()
    count = int(t.numbers.get("candidates", 0))
    found |= {"candidates": count}
    stage = _BACKFILL if t.met["stage"] == "backfill" else ""
    rules = {str(r.request): r.rule for r in t.facts.plan.refusals}
    if rules.get(str(t.met["request"])) == "dry_run_omits_victims":
        text = f"{t.asking} fits over jobs that share their cpus, and the dry run lists none of those"
    elif count == 1:
        text = f"{stage}it alone might be preempted for {t.asking}{where}, and that is not enough"
    else:
        text = (
            f"{stage}all {count:,} jobs that might be preempted for {t.asking}{where} are not enough together"
        )
    return Told(found, text)


def _same_operation(t: Telling) -> Told:
    return Told({}, f"{t.asking} is of the same job, and no job preempts itself")


def _stays_suspended(t: Telling) -> Told:
    node, lacks = t.met["node"], t.facts.amounts(t.met["missing"])
    there = "the cluster" if node is None else f"node {name_of(node)}"
    if t.code == "room_held":
        text = f"room on {there} is held for a job whose victims are leaving: beside it {lacks} is missing"
    elif t.code == "whole_node_in_use":
        text = f"other jobs run on {there}, and not all of them share it: {lacks} is missing for it to resume"
    else:
        text = f"{lacks} is missing on {there} for all of its job to resume"
    return Told({}, text)


def _on(nodes: list[str]) -> str:
    if not nodes:
        return "no node"
    return f"{'node' if len(nodes) == 1 else 'nodes'} {listed(nodes)}"


def not_listed(names: list[str]) -> dict[str, int]:
    """Return how many of so many names a sentence does not list, as a number; nothing where it lists all."""
    shown = set(listed(names).replace(" and ", ", ").split(", "))
    more = sum(name_of(name) not in shown for name in names)
    return {"more": more} if more else {}


def leaving_for(snapshot: Snapshot, operation: int) -> list[str]:
    """Return the allocations that were asked to leave for an operation before, by its row."""
    words = TABLES["allocations"]["state"].words
    if words.index("preempting") not in snapshot._core.column("allocations", "state").tolist():
        return []
    names = [str(name) for name in snapshot.names("requests")]
    owners = snapshot._core.column("requests", "operation").tolist()
    mine = {name for name, owner in zip(names, owners, strict=True) if owner == operation}
    name = str(snapshot.names("operations")[operation])
    found = []
    for row in snapshot.to_dict()["allocations"]:
        of = row.get("beneficiary") or {}
        if row.get("state") != "preempting":
            continue
        if str(of.get("operation")) == name or ("operation" not in of and str(of.get("request")) in mine):
            found.append(str(row["name"]))
    return found


_ALLOCATION: Final[Mapping[str, Callable[[Telling], Told]]] = {
    "preemption_disabled": _preemption_disabled,
    "same_operation": _same_operation,
    **dict.fromkeys(("no_room_to_resume", "whole_node_in_use", "room_held"), _stays_suspended),
    "tier_not_lower": _tier_not_lower,
    "not_lower_priority": _not_lower_priority,
    "qos_not_listed": _qos_not_listed,
    "preempt_mode_off": _preempt_mode_off,
    "above_min_exempt_priority": _above_min_exempt_priority,
    "ran_too_short": _ran_too_short,
    "not_preemptible_flag": _not_preemptible_flag,
    "suspend_not_allowed": _suspend_not_allowed,
    "outside_partition": _outside_partition,
    "off_chosen_nodes": _off_chosen_nodes,
    "given_back": _given_back,
    "spared_fits_without": _spared_fits_without,
    "frees_nothing_useful": _frees_nothing_useful,
    "no_start_in_stage": _no_start_in_stage,
}


def of_allocation(facts: Facts, row: int, met: Mapping[str, Any], recorded: Mapping[str, Any]) -> Told:
    """Return what is said of an allocation that was not preempted."""
    tell = _ALLOCATION.get(str(met["outcome"]))
    if tell is None:
        return NOTHING
    core = facts.snapshot._core
    told = tell(Telling(facts, int(core.column("allocations", "operation")[row]), met, recorded))
    states = TABLES["allocations"]["state"].words
    suspended = states[core.column("allocations", "state")[row]] == "preempted"
    # What runs of its job may stand in another way to one that asks, which is no reason to stay suspended.
    return replace(told, text="") if suspended and tell is not _stays_suspended else told
