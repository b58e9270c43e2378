"""Slurm's thresholds, clocks and units: exactly there, and one step to each side.

Sources: slurm.conf (PreemptExemptTime, PreemptParameters, KillWait, MessageTimeout), the page on preemption
and the table of QOS.
"""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.slurm.test_passes import BACKFILL, outcome, running, waiting
from tests.unit.slurm.test_passes import cluster as passing
from tests.unit.slurm.test_plan import TIERS, cluster, policy

STEP = 1e-6  # a microsecond, the unit of clocks


def victims(plan: eh.Plan) -> set[Any]:
    return {d.operation for d in plan.decisions.victims}


def of_p(snapshot: eh.Snapshot, **fields: Any) -> eh.Snapshot:
    """With other fields of the job that waits."""
    rows = snapshot.to_dict()["operations"]
    return snapshot.replace(operations=[{**row, **(fields if row["name"] == "p" else {})} for row in rows])


@pytest.mark.parametrize(("more", "goes"), [(-STEP, True), (0.0, True), (STEP, False)])
def test_a_job_is_exempt_until_its_time_is_over(more: float, goes: bool) -> None:
    """It has run for 1000 s."""
    snapshot = cluster({"j": ("low", [1], 4)}, nodes=1)
    assert victims(eh.plan(snapshot, policy(PreemptExemptTime=1000 + more))) == ({"j"} if goes else set())


def test_the_exempt_time_is_that_of_the_qos_then_of_the_partitions_qos_then_of_the_cluster() -> None:
    times = {"own": 2000.0, "partition": 500.0, "cluster": 2000.0}
    for said in (("own", "partition", "cluster"), ("partition", "cluster"), ("cluster",), ()):
        quality = {
            name: {"PreemptExemptTime": times[name]} if name in said else {} for name in ("own", "partition")
        }
        tiers = {**TIERS, "low": {"PriorityTier": 1, "QOS": "partition"}}
        settings = {"partitions": tiers, "qos": quality}
        if "cluster" in said:
            settings["PreemptExemptTime"] = times["cluster"]
        made = eh.plan(cluster({"j": ("low", [1], 4, {"qos": "own"})}, nodes=1), policy(**settings))
        first = times[said[0]] if said else 0.0
        assert victims(made) == ({"j"} if first <= 1000 else set()), said


@pytest.mark.parametrize(("priority", "goes"), [(4, True), (5, True), (6, False)])
def test_a_job_above_the_least_exempt_priority_stays(priority: int, goes: bool) -> None:
    snapshot = cluster({"j": ("low", [1], 4, {"priority": priority})}, nodes=1)
    assert victims(eh.plan(snapshot, policy(min_exempt_priority=5))) == ({"j"} if goes else set())


@pytest.mark.parametrize(("tier", "goes"), [(9, True), (10, False), (11, False)])
def test_only_lower_tiers_give_way(tier: int, goes: bool) -> None:
    tiers = {**TIERS, "low": {"PriorityTier": tier}}
    snapshot = cluster({"j": ("low", [1], 4)}, nodes=1)
    assert victims(eh.plan(snapshot, policy(partitions=tiers))) == ({"j"} if goes else set())


@pytest.mark.parametrize(("priority", "goes"), [(4, True), (5, True), (6, False)])
def test_with_the_flag_no_higher_priority_gives_way_to_a_higher_tier(priority: int, goes: bool) -> None:
    snapshot = of_p(cluster({"j": ("low", [1], 4, {"priority": priority})}, nodes=1), priority=5)
    assert victims(eh.plan(snapshot, policy("REQUEUE,PRIORITY"))) == ({"j"} if goes else set())
    assert victims(eh.plan(snapshot, policy("REQUEUE"))) == {"j"}


@pytest.mark.parametrize(("priority", "goes"), [(4, True), (5, False), (6, False)])
@pytest.mark.parametrize("own", [True, False])
def test_only_lower_priority_gives_way_by_qos(priority: int, goes: bool, own: bool) -> None:
    """Within a QOS, or with the flag."""
    quality = {"gold": {"Preempt": ["bronze"]}, "bronze": {}}
    mode = "REQUEUE,WITHIN" if own else "REQUEUE,PRIORITY"
    job = {"qos": "gold" if own else "bronze", "priority": priority}
    snapshot = of_p(cluster({"j": ("low", [1], 4, job)}, nodes=1), qos="gold", priority=5)
    made = eh.plan(snapshot, policy(mode, PreemptType="preempt/qos", qos=quality))
    assert victims(made) == ({"j"} if goes else set())


@pytest.mark.parametrize(("priority", "first"), [(4, "b"), (5, "b"), (6, "p")])
def test_a_qos_that_may_preempt_another_goes_first_with_a_higher_priority_only(
    priority: int, first: str
) -> None:
    """b is of a higher tier, and p of a QOS that may preempt that of b; there is room for one of them."""
    quality = {"gold": {"Preempt": ["bronze"]}, "bronze": {}}
    tiers = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10}}
    more = {
        "operations": [{"name": "b", "partition": "high", "qos": "bronze", "priority": 5, "start_time": 950}],
        "requests": [{"name": "b-r", "operation": "b", "resources": {"cpu": 4}}],
    }
    snapshot = of_p(cluster({}, nodes=1, **more), partition="low", qos="gold", priority=priority)
    made = eh.plan(
        snapshot, policy("REQUEUE,PRIORITY", PreemptType="preempt/qos", qos=quality, partitions=tiers)
    )
    assert [d.operation for d in made.decisions.starts] == [first]


@pytest.mark.parametrize(("submitted", "first"), [(899, "b"), (900, "b"), (901, "p")])
def test_of_equal_priority_the_first_submitted_goes_first(submitted: int, first: str) -> None:
    more = {
        "operations": [{"name": "b", "partition": "high", "start_time": submitted}],
        "requests": [{"name": "b-r", "operation": "b", "resources": {"cpu": 4}}],
    }
    made = eh.plan(cluster({}, nodes=1, **more), policy())
    assert [d.operation for d in made.decisions.starts] == [first]


@pytest.mark.parametrize("parts", [(30, 10), (10, 30), (25.5, 14.5)])
@pytest.mark.parametrize(("later", "rule"), [(40 - STEP, "preemption_backoff"), (40, "waits_for_victims")])
def test_the_back_off_is_the_sum_of_two_times(parts: tuple[float, float], later: float, rule: str) -> None:
    snapshot = cluster({"j": ("low", [1], 4)}, nodes=1)
    waits = policy(KillWait=parts[0], MessageTimeout=parts[1])
    state = eh.plan(snapshot, waits).state
    again = eh.plan(snapshot.replace(now=1000 + later), waits, state)
    assert [r.rule for r in again.refusals] == [rule]


@pytest.mark.parametrize("youngest", [False, True])
def test_of_equal_tiers_the_first_or_the_last_to_start_goes(youngest: bool) -> None:
    running = {name: ("low", [1], 1) for name in "abcd"}
    made = eh.plan(cluster(running, {"cpu": 1}, nodes=1), policy(youngest_first=youngest, reorder_count=0))
    assert victims(made) == ({"d"} if youngest else {"a"})


def test_of_equal_tiers_those_on_few_nodes_go_first() -> None:
    running = {"wide": ("low", [1, 2], 1), "small": ("low", [1], 1), "fills": ("high", [2], 3)}
    data = cluster(running, {"cpu": 3}, nodes=2)
    made = eh.plan(data, policy(victim_selection="prefix"))
    assert victims(made) == {"small"}


@pytest.mark.parametrize(("wanted", "starts"), [(1, True), (2, True), (3, False)])
def test_the_last_licence_is_a_licence(wanted: int, starts: bool) -> None:
    """There are two."""
    made = eh.plan(cluster({}, {"cpu": 1, "lic": wanted}, nodes=1), policy())
    assert bool(made.decisions.starts) == starts


@pytest.mark.parametrize("whose", ["own", "other", None])
def test_a_job_on_a_whole_node_shares_it_with_none(whose: str | None) -> None:
    own = {"settings": {"exclusive": True}}
    running = {"j": ("high", [1], 1, own if whose == "other" else {})}
    snapshot = cluster(running, {"cpu": 1}, nodes=1)
    if whose == "own":
        snapshot = of_p(snapshot, **own)
    assert bool(eh.plan(snapshot, policy()).decisions.starts) == (whose is None)


@pytest.mark.parametrize("selection", ["reorder", "irreducible", "minimum"])
@pytest.mark.parametrize(("exclusive", "victims"), [(True, ["v@n2"]), (False, [])])
def test_room_beside_a_job_on_a_whole_node_is_no_room(
    selection: str, exclusive: bool, victims: list[str]
) -> None:
    running = {"e": ("high", [1], 1, {"settings": {"exclusive": exclusive}}), "v": ("low", [2], 4)}
    snapshot = cluster(running, {"cpu": 2}, nodes=2)
    made = eh.plan(snapshot, policy().replace(victim_selection=selection))
    assert [d.allocation for d in made.decisions.victims] == victims
    for victim in made.decisions.victims if selection == "minimum" else ():
        found = victim.numbers["minimum"]
        assert (found["cost"], found["lower_bound"], found["proved"]) == (1, 1, True)


@pytest.mark.parametrize("held", [0, 2])
def test_a_suspended_job_takes_what_it_gave_back(held: int) -> None:
    """It kept some of its four cpus; another has two."""
    tiers = {name: {**tier, "OverSubscribe": "FORCE:1"} for name, tier in TIERS.items()}
    data = cluster({"j": ("low", [1], 4), "k": ("high", [1], 2)}, nodes=1).to_dict() | {"requests": []}
    data["allocations"][0] |= {"state": "preempted", "held": {"cpu": held, "memory": 4}}
    data["nodes"][0]["capacity"]["cpu"] = 6
    made = eh.plan(eh.Snapshot.from_dict(data), policy("SUSPEND,GANG", partitions=tiers))
    assert [d.allocation for d in made.decisions if d.action == "resume"] == ["j@n1"]
    data["nodes"][0]["capacity"]["cpu"] = 5
    made = eh.plan(eh.Snapshot.from_dict(data), policy("SUSPEND,GANG", partitions=tiers))
    assert [d.allocation for d in made.decisions if d.action == "resume"] == []


@pytest.mark.parametrize(("most", "starts"), [(0, False), (1, True), (2, False), (3, False)])
def test_so_many_jobs_of_a_partition_keep_nodes(most: int, starts: bool) -> None:
    """Two wait for whole nodes of two cpus, of which one is free; 0: any number keeps them."""
    data = passing(
        2,
        [running("R1", "high", "n1", end=600), running("R2", "high", "n2", end=600)],
        [
            waiting("H1", "high", cpus=2, on="n1"),
            waiting("H2", "high", cpus=2, on="n2"),
            waiting("A", "low", minutes=61, on="n2"),
        ],
        cpus=2,
    )
    settings = {**BACKFILL, "bf_job_part_count_reserve": most}
    assert ("A" in outcome(data, settings)[0]) == starts
