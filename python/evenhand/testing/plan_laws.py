"""Laws that every plan of the YTsaurus policy obeys, as named functions over the plan's JSON.

A law takes a `Planned` and raises `AssertionError` in the words of the field; `check_plan` runs them all.
The numbers are those of the YTsaurus preemption specification, section 9.4.

Not promised, however plausible: that as few as possible go (unless `victim_selection` is "minimum"), that
a large allocation ever starts without the aggressive stage, that no operation takes from itself, and that two
operations near their tolerance do not take from each other in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.testing._laws import hold_all, must
from evenhand.testing._plan_ledger import Ledger, Step
from evenhand.testing._plan_order_laws import (
    newest_victims_first,
    no_newer_twin_is_spared,
    only_starving_operations_preempt,
    operations_without_room_start_first,
    starving_operations_preempt,
)

if TYPE_CHECKING:
    from evenhand.systems.ytsaurus.settings import YTsaurusSettings

__all__ = ["LAWS", "Planned", "check_plan"]

GROUPS = ("non_preemptible", "aggressively_preemptible", "preemptible")
STAGES = ("preemptive", "aggressive", "ssd_preemptive", "ssd_aggressive", "full_host")


@dataclass(frozen=True)
class Planned:
    """A plan and what it was made of.

    Attributes
    ----------
    snapshot : mapping
        In the file format, as `Snapshot.to_dict` gives it.
    plan : mapping
        In the form of the results' JSON.
    settings : YTsaurusSettings
        With which it was made.
    state : mapping
        From which it was made, as JSON; may be empty.
    heartbeats : frozenset, optional
        Names of the nodes that had a heartbeat; None: all.
    """

    snapshot: Mapping[str, Any]
    plan: Mapping[str, Any]
    settings: YTsaurusSettings
    state: Mapping[str, Any]
    heartbeats: frozenset[Any] | None = None

    @cached_property
    def allocations(self) -> dict[Any, Mapping[str, Any]]:
        """Allocations by name."""
        return {row["name"]: row for row in self.snapshot.get("allocations", ())}

    @cached_property
    def operations(self) -> dict[Any, Mapping[str, Any]]:
        """Operations by name."""
        return {row["name"]: row for row in self.snapshot.get("operations", ())}

    @cached_property
    def victims(self) -> list[Mapping[str, Any]]:
        """Decisions that preempt."""
        return [d for d in self.plan["decisions"] if d["action"] == "preempt"]

    @cached_property
    def nodes(self) -> dict[Any, Mapping[str, Any]]:
        """Nodes by name."""
        return {row["name"]: row for row in self.snapshot.get("nodes", ())}

    @cached_property
    def paced(self) -> bool:
        """Whether a pace may spare victims that the system would take."""
        rows = (self.snapshot.get("root", {}), *self.snapshot.get("pools", ()))
        names = {"max_victims_per_hour", "immune_hours"}
        return not self.settings.pace.is_off or any(names & row.get("settings", {}).keys() for row in rows)

    def had_heartbeat(self, node: Any) -> bool:
        """Return whether a node had a heartbeat."""
        return self.heartbeats is None or node in self.heartbeats

    def status(self, name: Any, kind: str) -> Mapping[str, Any]:
        """Return the status of a "pool" or an "operation"."""
        statuses = self.plan["statuses"]
        found: Mapping[str, Any] = statuses.get(f"{name} ({kind})", statuses.get(str(name)))
        return found

    def replay(self) -> Iterator[tuple[Step, Mapping[str, Any], Ledger]]:
        """Yield every start, its decision, and the room after it."""
        ledger = Ledger(self.snapshot, self.settings.victims_room)
        starts = (d for d in self.plan["decisions"] if d["action"] == "start")
        for step, decision in zip(ledger.steps(self.plan["decisions"]), starts, strict=True):
            yield step, decision, ledger

    @cached_property
    def steps(self) -> list[Step]:
        """Starts with their victims, in order, with the room there was before each."""
        return list(Ledger(self.snapshot, self.settings.victims_room).steps(self.plan["decisions"]))


def only_running_allocations_have_groups(planned: Planned) -> None:
    """Every running allocation is in exactly one group, and no other allocation is in any."""
    running = {str(n) for n, a in planned.allocations.items() if a.get("state", "running") == "running"}
    groups = planned.plan["groups"]
    must({str(name) for name in groups} == running, groups)
    must(set(groups.values()) <= set(GROUPS), groups)


def victims_were_running(planned: Planned) -> None:
    """Victims were running, are taken once, free what they have, and leave within their grace."""
    seen = set()
    for decision in planned.victims:
        allocation = planned.allocations[decision["allocation"]]
        must(allocation.get("state", "running") == "running", decision)
        must(decision["allocation"] not in seen, decision)
        seen.add(decision["allocation"])
        must(
            {r: a for r, a in decision["freed"].items() if a}
            == {r: a for r, a in allocation.get("resources", {}).items() if a},
            "",
        )
        must(decision["node"] == allocation["node"], decision)
        must(abs(decision["until"] - decision["at"] - decision["grace"]) < 1e-6, decision)


def victims_are_started_again(planned: Planned) -> None:
    """There is one way to leave: the work is started again."""
    for decision in planned.victims:
        must(decision.get("mode", "requeue") == "requeue", decision)


def stages_spare_the_protected(planned: Planned) -> None:
    """No stage takes from what starves (unless allowed), is graceful, or has opted out (4)."""
    lenient = planned.settings.allow_preemption_from_starving_operations
    for decision in planned.victims:
        if decision["stage"] not in STAGES:
            continue
        operation = planned.operations[decision["operation"]]
        starvation = planned.status(decision["operation"], "operation")["starvation"]
        must(lenient or starvation == "non_starving", decision)
        must(operation.get("settings", {}).get("preemption_mode", "normal") == "normal", decision)
        must(planned.allocations[decision["allocation"]].get("preemptible", True), decision)


def stages_take_their_groups(planned: Planned) -> None:
    """On a node without SSD, the preemptive stage takes preemptible ones only, the aggressive one not all."""
    takes = {"preemptive": GROUPS[2:], "aggressive": GROUPS[1:]}
    for decision in planned.victims:
        if decision["stage"] in takes:
            group = planned.plan["groups"][str(decision["allocation"])]
            recut = _usage_changes(planned, decision)
            must(recut or group in takes[decision["stage"]], decision)


def _usage_changes(planned: Planned, decision: Mapping[str, Any]) -> bool:
    """Return whether the victim's operation gained or lost anything earlier: groups were cut again then."""
    place = planned.plan["decisions"].index(decision)
    return any(d["operation"] == decision["operation"] for d in planned.plan["decisions"][:place])


def victims_make_room_for_a_start(planned: Planned) -> None:
    """Victims of a stage are taken for one request, on its node, and without them it fits (2, 3)."""
    served = {d["step"] for d in planned.plan["decisions"] if d["action"] == "start"}
    for decision in planned.victims:
        if decision["stage"] in STAGES:
            must(decision["step"] in served, decision)
        else:
            must(not decision.get("beneficiary"), decision)
    for step in planned.steps:
        must(step.fits(step.victims), step)


def no_victim_is_needless(planned: Planned) -> None:
    """Without the last victim it would not fit; by the other selections, not without any one of them (3)."""
    for step in planned.steps:
        spared = step.victims[-1:] if planned.settings.victim_selection == "prefix" else step.victims
        for victim in spared:
            must(not step.fits([v for v in step.victims if v is not victim]), (step, victim))


def back_off_is_kept(planned: Planned) -> None:
    """No stage runs on a node before its back-off is over, or at its very end (5)."""
    backoff = planned.settings.preemptive_scheduling_backoff
    last = {row["name"]: row.get("last_preemptive") for row in planned.state.get("nodes", ())}
    for decision in planned.plan["decisions"]:
        before = last.get(decision["node"])
        if decision["stage"] in STAGES and before is not None:
            must(decision["at"] > before + backoff, decision)


def starts_within_the_limit(planned: Planned) -> None:
    """At most one start by preemption in a stage of a heartbeat, or in a heartbeat (5)."""
    several = planned.settings.preemptive_starts == "one_per_stage"
    seen = set()
    for decision in planned.plan["decisions"]:
        if decision["action"] == "start" and decision["stage"] in STAGES:
            key = (decision["node"], decision["stage"] if several else None)
            must(key not in seen, decision)
            seen.add(key)


def starts_were_requested(planned: Planned) -> None:
    """Nothing starts that was not requested, more often than requested, or on a node where it may not."""
    requests = {row["name"]: row for row in planned.snapshot.get("requests", ())}
    nodes = {row["name"]: row for row in planned.snapshot.get("nodes", ())}
    started: dict[Any, int] = {}
    for decision in planned.plan["decisions"]:
        if decision["action"] != "start":
            continue
        request, node = requests[decision["request"]], nodes[decision["node"]]
        started[decision["request"]] = started.get(decision["request"], 0) + 1
        must(node.get("schedulable", True), decision)
        must(set(request.get("node_tags", ())) <= set(node.get("tags", ())), decision)
        must(request.get("required_node", decision["node"]) == decision["node"], decision)
        settings = planned.operations[request["operation"]].get("settings", {})
        must(settings.get("unschedulable_reason") is None, decision)
    for name, count in started.items():
        must(count <= requests[name].get("count", 1), name)


LAWS: tuple[Callable[[Planned], None], ...] = (
    only_running_allocations_have_groups,
    victims_were_running,
    stages_spare_the_protected,
    stages_take_their_groups,
    victims_make_room_for_a_start,
    no_victim_is_needless,
    back_off_is_kept,
    starts_within_the_limit,
    starts_were_requested,
    victims_are_started_again,
    only_starving_operations_preempt,
    newest_victims_first,
    no_newer_twin_is_spared,
    operations_without_room_start_first,
    starving_operations_preempt,
)


def check_plan(planned: Planned) -> None:
    """Hold a plan against every law.

    Parameters
    ----------
    planned : Planned
        A plan and what it was made of.

    Raises
    ------
    AssertionError
        If a law is broken; with the law's name.
    """
    hold_all(LAWS, planned)
