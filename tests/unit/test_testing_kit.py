"""The testing kit: clusters by wish, histories of events, machines, laws of successive plans."""

from __future__ import annotations

import inspect
import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.stateful import run_state_machine_as_test

import evenhand as eh
from evenhand import testing
from evenhand.testing import machines, successive
from evenhand.testing import strategies as es
from tests.counting import calls
from tests.packaging.layers import ROOT

SYSTEMS = ("ytsaurus", "backendai", "slurm", "yunikorn", "gridengine")
DRAW_BAR = 25_000  # calls of Python functions: the median
SHRINK_BAR = 3000  # examples that are tried
FOUND = settings(settings.get_profile("search"), phases=[Phase.generate])
#: A law that is broken in one way is broken: no search for other ways.
QUIET = settings(
    settings.get_profile("suite"), suppress_health_check=list(HealthCheck), report_multiple_bugs=False
)
#: Work beyond a fair share leaves as a whole: the law is soon broken.
LOSING = eh.policies.YTsaurus(consider_allocation_on_fair_share_bound_preemptible=True)
TREE = [{"name": "top"}, {"name": "left", "parent": "top"}, {"name": "right", "strong_guarantee": {"cpu": 9}}]


def loses(snapshot: eh.Snapshot) -> None:
    plan = eh.plan(snapshot, LOSING, as_if_waiting="1h")
    successive.pools_within_guarantees_lose_nothing([plan])


def test_the_kit_lists_what_it_has() -> None:
    assert all(inspect.ismodule(getattr(testing, name)) for name in dir(testing))
    page = (ROOT / "docs/how-to/test-your-settings.md").read_text("utf-8")
    table = page.split("| --- | --- | --- |")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(dir(testing))
    assert set(re.findall(r"`(\w+)`", testing.__doc__ or "")) - {"test"} == set(dir(testing))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        testing.nothing  # noqa: B018


@given(es.cluster_dicts(guarantees="all", priorities="none", min_pools=1))
def test_all_pools_have_guarantees_and_no_node_is_overfull(data: dict[str, Any]) -> None:
    assert all(row["strong_guarantee"] for row in data["pools"])
    assert not any("priority" in row for row in data["operations"])
    for node in data["nodes"]:
        mine = [row["resources"] for row in data["allocations"] if row["node"] == node["name"]]
        for r in data["resources"]:
            assert sum(amounts.get(r, 0) for amounts in mine) <= node["capacity"].get(r, 0)
    eh.Snapshot.from_dict(data)


@given(es.cluster_dicts({"cpu": {"quantum": 0.5}}, TREE, priorities="all", suspended=True, overfull=True))
def test_my_tree_and_my_resources(data: dict[str, Any]) -> None:
    assert data["pools"] == TREE
    assert data["resources"] == {"cpu": {"quantum": 0.5}}
    assert {row["pool"] for row in data["operations"]} <= {"left", "right"}
    assert all("priority" in row for row in data["operations"])
    assert eh.Snapshot.from_dict(data).to_dict()["pools"]


WANTED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "fractions": lambda d: any(a["resources"]["cpu"] % 1 for a in d["allocations"]),
    "suspended as a victim": lambda d: any(
        a.get("state") == "preempted" and a["held"] for a in d["allocations"]
    ),
    "stopped by a person": lambda d: any(a.get("state") == "suspended" for a in d["allocations"]),
    "resumed": lambda d: any("last_job_start_time" in a for a in d["allocations"]),
    "overfull": lambda d: any(
        sum(a["resources"].get("cpu", 0) for a in d["allocations"] if a["node"] == n["name"])
        > n["capacity"].get("cpu", 0)
        for n in d["nodes"]
    ),
    "a priority and none": lambda d: len({"priority" in o for o in d["operations"]}) == 2,
    "a pool below a pool": lambda d: any("parent" in p for p in d["pools"]),
}


@pytest.mark.parametrize("feature", WANTED)
def test_wishes_are_met(feature: str) -> None:
    clusters = es.cluster_dicts(fractions=True, suspended=True, overfull=True)
    find(clusters, WANTED[feature], settings=FOUND)


@pytest.mark.parametrize(
    "strategy",
    [
        es.cluster_dicts(guarantees="many"),  # type: ignore[arg-type]
        es.cluster_dicts(max_operations=0),
        es.cluster_dicts(max_quanta=0),
        es.cluster_dicts([]),
        es.cluster_dicts({"lic": {"scope": "cluster", "capacity": 1}}),
        es.policies("kubernetes"),
        es.system_cluster_dicts("kubernetes"),
        es.event_histories({"resources": {"cpu": {}}}, max_size=-1),
        es.cluster_histories(es.cluster_dicts(), min_size=3, max_size=2),
    ],
)
def test_wrong_wishes_are_refused(strategy: st.SearchStrategy[Any]) -> None:
    with pytest.raises(InvalidArgument):
        find(strategy, lambda _: True, settings=QUIET)


@pytest.mark.parametrize("start", range(3))
def test_a_pool_that_loses_within_its_guarantee_is_found(start: int) -> None:
    """By those who do not know of it: a law, a strategy, and 200 examples."""

    @seed(start)
    @settings(QUIET, max_examples=200, phases=[Phase.generate])
    @given(es.clusters(guarantees="all"))
    def law(snapshot: eh.Snapshot) -> None:
        loses(snapshot)

    with pytest.raises(AssertionError, match="though that pool, or one above it, used at most"):
        law()


def to_another_pool(data: dict[str, Any]) -> bool:
    """Whether a pool within its guarantee loses at least two cpus for a request of another pool."""
    snapshot = eh.Snapshot.from_dict(data)
    home = {row["name"]: row.get("pool") for row in data["operations"]}
    owed = {row["name"]: row["strong_guarantee"].get("cpu", 0) for row in data["pools"]}
    lost: dict[Any, float] = {}
    for victim in eh.plan(snapshot, LOSING, as_if_waiting="1h").decisions.victims:
        pool = home[victim.operation]
        served = victim.beneficiary and home[victim.beneficiary.operation]
        if victim.victim_pool_within_guarantee and served != pool and pool in owed:
            lost[pool] = lost.get(pool, 0) + victim.freed.get("cpu", 0)
    return any(amount >= 2 for amount in lost.values())


def test_a_pool_that_loses_to_another_shrinks_to_a_few_rows() -> None:
    tried: list[bool] = []

    def counted(data: dict[str, Any]) -> bool:
        tried.append(to_another_pool(data))
        return tried[-1]

    clusters = es.cluster_dicts(("cpu",), guarantees="all", min_pools=2)
    found = find(clusters, counted, settings=settings.get_profile("search"))
    assert len(tried) < SHRINK_BAR
    assert sum(len(rows) for rows in found.values() if isinstance(rows, list)) <= 10


def test_a_falsified_law_shrinks_and_prints_what_can_be_pasted() -> None:
    tried: list[eh.Snapshot] = []

    @settings(QUIET, max_examples=200, phases=[Phase.generate, Phase.shrink])
    @given(snapshot=es.clusters(guarantees="all"))
    def law(snapshot: eh.Snapshot) -> None:
        tried.append(snapshot)
        loses(snapshot)

    with pytest.raises(AssertionError) as caught:
        law()
    assert len(tried) < SHRINK_BAR
    (text,) = [n for n in caught.value.__notes__ if n.startswith("Snapshot.from_dict(")]
    pasted = eval(text, {"Snapshot": eh.Snapshot})
    with pytest.raises(AssertionError, match="at most its strong guarantee"):
        loses(pasted)
    assert sum(len(rows) for rows in pasted.to_dict().values() if isinstance(rows, list)) <= 10


def test_draws_are_quick() -> None:
    strategies = (es.clusters(), es.clusters(guarantees="all", suspended=True), es.snapshots(), es.policies())
    histories = tuple(es.cluster_histories(es.system_cluster_dicts(system)) for system in SYSTEMS)
    for strategy in (*strategies, *histories):
        took: list[int] = []

        @settings(QUIET, max_examples=15, phases=[Phase.generate])
        @given(st.data())
        def draws(data: st.DataObject) -> None:
            took.append(calls(lambda: data.draw(strategy)))  # noqa: B023

        draws()
        assert statistics.median(took) <= DRAW_BAR, strategy


@pytest.mark.parametrize("system", SYSTEMS)
@given(data=st.data())
def test_policies_plan_on_the_clusters_of_their_system(system: str, data: st.DataObject) -> None:
    snapshot = eh.Snapshot.from_dict(data.draw(es.system_cluster_dicts(system)))
    policy = data.draw(es.policies(system))
    assert policy.RECORD.word == system
    eh.plan(snapshot, policy)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("overfull", [False, True])
@given(data=st.data())
def test_clusters_take_every_event_of_a_history(system: str, overfull: bool, data: st.DataObject) -> None:
    clusters = es.system_cluster_dicts(system)
    snapshot, events = data.draw(es.cluster_histories(clusters, max_size=30, overfull=overfull))
    cluster = eh.Cluster(snapshot)
    cluster.apply(events)
    assert cluster.now >= snapshot.now


def test_histories_have_every_kind_of_event() -> None:
    kinds: set[str] = set()
    clusters = es.cluster_dicts(min_operations=2, suspended=True)

    @settings(QUIET, max_examples=100, phases=[Phase.generate])
    @given(es.cluster_histories(clusters, min_size=20, max_size=40))
    def collect(drawn: tuple[eh.Snapshot, list[Any]]) -> None:
        kinds.update(type(event).__name__ for event in drawn[1])

    collect()
    known = {"Time", "Start", "End", "Put", "Count", "Leave", "Suspend", "Resume", "Job", "Resize", "Node"}
    assert kinds == known


def machine_settings(**changes: Any) -> settings:
    return settings(QUIET, **{"max_examples": 6, "stateful_step_count": 15, **changes})


@pytest.mark.parametrize("system", SYSTEMS)
def test_live_clusters_of_each_system(system: str) -> None:
    policy = es.policies(system)
    machine = machines.live_cluster_machine(policy, es.system_cluster_dicts(system))
    run_state_machine_as_test(machine, settings=machine_settings())


def test_a_machine_of_one_policy() -> None:
    machine = machines.live_cluster_machine(eh.policies.YuniKorn())
    run_state_machine_as_test(machine, settings=machine_settings())
    with pytest.raises(eh.InputError, match="it must be a policy"):
        machines.live_cluster_machine("slurm")  # type: ignore[arg-type]


def nothing_is_preempted(plans: Sequence[eh.Plan]) -> None:
    assert not any(plan.decisions.victims for plan in plans), "something was preempted"


def test_a_machine_finds_a_broken_law() -> None:
    policy = st.just(eh.policies.BackendAI(enabled=True))
    clusters = es.cluster_dicts(priorities="all", min_operations=3, max_nodes=1)
    machine = machines.live_cluster_machine(policy, clusters, [nothing_is_preempted])
    found = machine_settings(max_examples=200, phases=[Phase.generate])
    with pytest.raises(AssertionError, match="something was preempted"):
        run_state_machine_as_test(machine, settings=found)


def twice(**changes: Any) -> list[eh.Plan]:
    """An operation loses a part now, and another one as soon as a second request comes."""
    row = {"operation": "low", "node": "n", "resources": {"cpu": 1}}
    cluster = eh.Cluster(
        eh.Snapshot.from_dict(
            {
                "resources": {"cpu": {}},
                "nodes": [{"name": "n", "capacity": {"cpu": 2}}],
                "pools": [{"name": "a"}, {"name": "b", "strong_guarantee": {"cpu": 2}}],
                "operations": [{"name": "low", "pool": "a"}, {"name": "high", "pool": "b"}],
                "allocations": [{"name": "x", **row}, {"name": "y", **row}],
                "requests": [{"name": "r", "operation": "high", "resources": {"cpu": 1}, "count": 2}],
            }
        ),
        eh.policies.YTsaurus(preemptive_starts="one_per_heartbeat", **changes),
    )
    return successive.successive_plans(cluster, every=60, count=4)


def test_laws_of_successive_plans() -> None:
    plans = twice()
    victims = [(p.snapshot.now, d.allocation) for p in plans for d in p.decisions.victims]
    assert len(victims) == 2
    passed = victims[1][0] - victims[0][0]
    successive.no_allocation_is_preempted_twice(plans, 1e9)
    successive.no_operation_is_preempted_twice(plans, passed)
    successive.nothing_left_to_do(plans)
    with pytest.raises(AssertionError, match="the operation 'low' was preempted at"):
        successive.no_operation_is_preempted_twice(plans, passed + 1)
    with pytest.raises(AssertionError, match="the allocation 'y' was preempted at"):
        successive.no_allocation_is_preempted_twice([plans[1], plans[1]], 1.0)
    cooled = twice(pace={"victim_cooldown": 1e6})
    successive.no_operation_is_preempted_twice(cooled, 1e6)


def test_a_run_that_starts_one_job_leaves_more_to_do() -> None:
    def leaves_more(drawn: tuple[dict[str, Any], Any]) -> bool:
        plan = eh.plan(eh.Snapshot.from_dict(drawn[0]), eh.policies.Slurm(**drawn[1].model_dump()))
        try:
            successive.nothing_left_to_do([plan])
        except AssertionError as error:
            return "another one decides more" in str(error)
        return False

    one = es.slurm_settings(sched_max_job_start=1, SchedulerType="sched/builtin")
    drawn = st.tuples(es.system_cluster_dicts("slurm"), one)
    find(drawn, leaves_more, settings=FOUND)


@pytest.mark.parametrize("system", ["ytsaurus", "yunikorn"])
@given(data=st.data())
def test_rows_of_room_that_was_taken_are_read_as_they_were(system: str, data: st.DataObject) -> None:
    snapshot = eh.Snapshot.from_dict(data.draw(es.system_cluster_dicts(system)))
    policy = eh.policies.YTsaurus() if system == "ytsaurus" else eh.policies.YuniKorn()
    after = snapshot.after(eh.plan(snapshot, policy))
    assert eh.Snapshot.from_dict(after.to_dict()) == after


@pytest.mark.parametrize("wrong", [{"every": 0}, {"count": -1}])
def test_wrong_numbers_of_plans_are_refused(wrong: dict[str, Any]) -> None:
    cluster = eh.Cluster(eh.Snapshot.from_dict({"resources": {"cpu": {}}}), eh.policies.BackendAI())
    with pytest.raises(eh.InputError):
        successive.successive_plans(cluster, **wrong)
