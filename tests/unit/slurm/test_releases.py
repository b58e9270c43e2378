"""What releases of Slurm do each in a way of its own: the first that has a rule, and the one before it.

The ten cases of ``tests/data/slurm-minimal.json`` are what real controllers did, each of the release named.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.slurm.columns import switches
from evenhand.systems.slurm.releases import RELEASES, release_of
from evenhand.systems.slurm.settings import SlurmSettings
from tests.reference.slurm import reference_plan
from tests.shared import DATA
from tests.unit.slurm.test_passes import BACKFILL, NOW, TIERS, cluster, outcome, running, waiting

CASES = json.loads((DATA / "slurm-minimal.json").read_text(encoding="utf-8"))


def starts_in(data: Any, settings: dict[str, Any], release: str, passes: Any = ("backfill",)) -> Any:
    return outcome(data, {**settings, "release": release}, passes)[0]


def summary(decisions: list[dict[str, Any]]) -> dict[str, dict[str, set[str]]]:
    found: dict[str, dict[str, set[str]]] = {"start": {}, "preempt": {}}
    for d in decisions:
        if d["action"] == "start":
            found["start"].setdefault(str(d["operation"]), set()).add(str(d["node"]))
        if d["action"] == "preempt":
            whose = str(d["beneficiary"]["operation"])
            found["preempt"].setdefault(whose, set()).add(str(d["operation"]))
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_real_controller_did_so(case: dict[str, Any]) -> None:
    snapshot, passes = eh.Snapshot.from_dict(case["snapshot"]), tuple(case["passes"])
    policy = eh.policies.Slurm(**case["settings"], release=case["release"])
    plan = eh.plan(snapshot, policy, on=eh.SchedulingRun(passes=passes))
    right = {key: {job: set(told) for job, told in jobs.items()} for key, jobs in case["right"].items()}
    assert summary(plan.to_dict()["decisions"]) == right
    expected = reference_plan(snapshot, policy.settings, passes=passes)
    assert summary(expected["decisions"]) == right
    assert {r.request: r.rule for r in plan.refusals} == {
        r["request"]: r["rule"] for r in expected["refusals"]
    }
    for refusal in plan.refusals:
        assert plan.why_not(refusal.request).code == refusal.rule


# --- which release


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("20.11.9", "22.05"),
        ("22.05.8", "22.05"),
        ("23.01.0", "22.05"),
        ("23.02", "23.02"),
        ("23.02.0-0rc1", "23.02"),
        ("25.11.6", "25.11"),
        ("26.05.3", "26.05"),
        ("27.11.0", "26.05"),
        ("26", None),
        ("slurm 26.05.3", None),
        ("", None),
    ],
)
def test_a_version_follows_the_latest_release_that_is_not_later(version: str, release: str | None) -> None:
    assert release_of(version) == release
    if release is not None:
        assert eh.policies.Slurm(release=version).settings.release == release


@pytest.mark.parametrize(
    ("given", "version", "used"),
    [
        (None, None, "26.05"),
        (None, "24.11.5", "24.11"),
        ("23.02.1", "24.11.5", "23.02"),
        ("23.02", None, "23.02"),
    ],
)
def test_the_settings_then_the_cluster_say_the_release_and_a_plan_names_it(
    given: str | None, version: str | None, used: str
) -> None:
    data = cluster(1, [], [waiting("A", "low")])
    if version is not None:
        data["root"] = {"settings": {"slurm_version": version}}
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.Slurm(**BACKFILL, release=given))
    assert plan.provenance["release"] == used
    assert plan.to_dict()["provenance"]["release"] == used
    live = eh.Cluster(plan.snapshot, plan.policy)
    assert live.plan().provenance["release"] == used


def test_a_version_that_is_none_is_refused_where_it_stands() -> None:
    data = {**cluster(1, [], []), "root": {"settings": {"slurm_version": "new"}}}
    with pytest.raises(eh.InputError) as caught:
        eh.plan(eh.Snapshot.from_dict(data), eh.policies.Slurm(**BACKFILL))
    (problem,) = caught.value.problems
    assert (problem.table, problem.field, problem.rule) == ("root", "settings.slurm_version", "choice")


def test_only_the_root_has_a_version() -> None:
    pools = [{"name": "a", "settings": {"slurm_version": "26.05.3"}}]
    with pytest.raises(eh.InputError) as caught:
        eh.plan(eh.Snapshot.from_dict({**cluster(1, [], []), "pools": pools}), eh.policies.Slurm(**BACKFILL))
    assert caught.value.problems[0].field == "settings.slurm_version"


def test_releases_differ_by_the_rules_of_the_core_alone() -> None:
    """What Python hands to the core is the same for all of them but for the release itself."""
    snapshot = eh.Snapshot.from_dict({"now": 0, "resources": {"cpu": {}}})
    for more in (BACKFILL, {"SchedulerType": "sched/builtin", "PriorityType": "priority/basic"}):
        for exempt in ("ignored", "by_release", "honoured"):
            found = {
                str({k: v for k, v in switches(snapshot, s).items() if k != "release"})
                for s in (
                    eh.policies.Slurm(**more, gang_exempt_time=exempt, release=release).settings
                    for release in RELEASES
                )
            }
            assert len(found) == 1


def test_a_live_cluster_follows_the_release_of_its_snapshot() -> None:
    """A node that is left over: 25.11 takes the run of one node, 26.05 the first node."""
    data = cluster(4, [running("R", "high", "n3")], [waiting("A", "low")])
    for version, node in (("25.11.2", "n4"), ("26.05.0", "n1")):
        snapshot = eh.Snapshot.from_dict({**data, "root": {"settings": {"slurm_version": version}}})
        live = eh.Cluster(snapshot, eh.policies.Slurm(**BACKFILL))
        assert [d.node for d in live.plan().decisions.starts] == [node]


# --- where a job is placed


def free_cpus(free: list[int], count: int, cpus: int = 1, **more: Any) -> dict[str, Any]:
    """Nodes of four cpus of which so many are free; a job that waits for some."""
    runs = [running(f"R{i}", "low", f"n{i}", cpus=4 - left) for i, left in enumerate(free, 1) if left < 4]
    data = cluster(len(free), runs, [waiting("A", "low", count, cpus)], cpus=4)
    data["operations"][-1]["settings"] |= more
    return data


@pytest.mark.parametrize(
    ("free", "count", "nodes"),
    [
        # Recorded: 22.05.8 and 26.05.3.
        ([3, 0, 2, 0, 1, 0, 3], 1, {"22.05": ["n5"], "23.02": ["n1"], "26.05": ["n1"]}),
        ([3, 0, 2, 0, 1, 0, 3], 2, {"22.05": ["n1", "n5"], "23.02": ["n1", "n3"], "26.05": ["n1", "n3"]}),
        # Of several runs that suffice the one with the fewest nodes; a job of one node: the first.
        ([2, 2, 0, 4], 1, {"22.05": ["n1"], "23.02": ["n4"], "25.11": ["n4"], "26.05": ["n1"]}),
        ([1, 1, 1, 0, 4, 4], 2, {"22.05": ["n1", "n2"], "23.02": ["n5", "n6"], "26.05": ["n5", "n6"]}),
    ],
)
def test_nodes_by_release(free: list[int], count: int, nodes: dict[str, list[str]]) -> None:
    for release, expected in nodes.items():
        found = starts_in(free_cpus(free, count), BACKFILL, release, ("main",))
        assert found == {"A": expected}, release


@pytest.mark.parametrize(("release", "victims"), [("25.11", ["L4"]), ("26.05", ["L1"])])
def test_the_dry_run_and_what_is_kept_go_by_the_same_choice(release: str, victims: list[str]) -> None:
    """A job of one node on [n1, n2] or on n4, once all have gone that it may preempt."""
    runs = [running(f"L{i}", "low", f"n{i}") for i in (1, 2, 4)] + [running("R", "high", "n3")]
    data = cluster(4, runs, [waiting("A", "high")])
    settings = {**BACKFILL, "release": release, "victim_selection": "test_only"}
    assert outcome(data, settings, ("main",))[1] == {"A": victims}
    # For A, which preempts L1, its estimate's node is kept: B may preempt elsewhere only.
    data = cluster(4, runs, [waiting("A", "high"), waiting("B", "mid", on="n4")])
    found = outcome(data, {**BACKFILL, "release": release}, ("backfill",))[1]
    assert found == ({"A": ["L1"]} if victims == ["L4"] else {"A": ["L1"], "B": ["L4"]})


@pytest.mark.parametrize(("most", "node"), [(1, "n1"), (2, "n4")])
def test_a_job_that_might_have_had_two_nodes_gets_the_best_run(most: int, node: str) -> None:
    data = free_cpus([2, 2, 0, 4], 1, max_nodes=most)
    assert starts_in(data, BACKFILL, "26.05", ("main",)) == {"A": [node]}
    assert starts_in(data, BACKFILL, "25.11", ("main",)) == {"A": ["n4"]}


def test_nodes_of_little_weight_come_first() -> None:
    """Runs are of nodes of one weight; the least is taken first even where it does not suffice."""
    for release in ("22.05", "23.02", "26.05"):
        for weights, count, nodes in (
            ({}, 1, ["n1"]),
            ({"n1": 2}, 1, ["n2"]),
            ({"n1": 1}, 1, ["n1"]),
            ({"n3": 0}, 1, ["n3"]),
            ({"n1": 2}, 2, ["n2", "n3"]),
            ({"n3": 0}, 2, ["n1", "n3"]),
            ({"n1": 2}, 3, ["n1", "n2", "n3"]),
        ):
            settings = {**BACKFILL, "node_weights": weights}
            found = starts_in(free_cpus([4, 4, 4], count), settings, release, ("main",))
            assert found == {"A": nodes}, (release, weights)


def test_a_weight_is_of_a_node_that_there_is() -> None:
    policy = eh.policies.Slurm(**BACKFILL, node_weights={"n9": 2})
    with pytest.raises(eh.InputError) as caught:
        eh.plan(eh.Snapshot.from_dict(cluster(1, [], [])), policy)
    assert (caught.value.problems[0].field, caught.value.problems[0].rule) == ("node_weights", "exists")


@pytest.mark.parametrize(("first", "node"), [(2, "n1"), (3, "n1"), (4, "n3")])
def test_free_cpus_count_in_steps_of_a_task(first: int, node: str) -> None:
    """Two are free on n3; as many, in steps of two, on n1: the first. Until 22.05, and with memory by cpu."""
    data = free_cpus([first, 0, 2], 1, cpus=2, cpus_per_task=2)
    assert starts_in(data, BACKFILL, "22.05", ("main",)) == {"A": [node]}
    plain = free_cpus([first, 0, 2], 1, cpus=2)
    assert starts_in(plain, BACKFILL, "22.05", ("main",)) == {"A": ["n1" if first == 2 else "n3"]}


@pytest.mark.parametrize(("devices", "node"), [(0, "n3"), (1, "n1")])
def test_a_job_with_devices_counts_what_it_takes(devices: int, node: str) -> None:
    data = free_cpus([3, 0, 2], 1)
    data["resources"]["gres/gpu"] = {}
    for row in data["nodes"]:
        row["capacity"]["gres/gpu"] = 1
    data["requests"][0]["resources"]["gres/gpu"] = devices
    assert starts_in(data, BACKFILL, "22.05", ("main",)) == {"A": [node]}


@pytest.mark.parametrize("settings", [{"SelectType": "select/linear"}, {}])
def test_entire_nodes_are_chosen_as_ever(settings: dict[str, Any]) -> None:
    """All of their cpus are taken."""
    data = cluster(4, [running("R", "low", "n3")], [waiting("A", "low")], cpus=4)
    if not settings:
        data["operations"][-1]["settings"] |= {"exclusive": True}
    for release in ("22.05", "23.02", "26.05"):
        assert starts_in(data, {**BACKFILL, **settings}, release, ("main",)) == {"A": ["n4"]}


# --- the order of the queue


@pytest.mark.parametrize(
    ("release", "first"), [("22.05", "A"), ("24.05", "A"), ("24.11", "B"), ("26.05", "B")]
)
@pytest.mark.parametrize("kind", [None, "preempt/qos"])
def test_until_24_05_without_backfill_and_tiers_jobs_go_as_submitted(
    release: str, first: str, kind: str | None
) -> None:
    data = cluster(1, [], [waiting("A", "low", priority=1), waiting("B", "low", priority=2)])
    one = {"SchedulerType": "sched/builtin", "partitions": {"low": {}, "mid": {}}, "PreemptType": kind}
    one["PreemptMode"] = "OFF" if kind is None else "REQUEUE"
    assert set(starts_in(data, one, release, ("main",))) == {first}
    for more in (
        {"SchedulerType": "sched/backfill"},
        {"partitions": TIERS},
        {"PriorityType": "priority/multifactor"},
    ):
        assert set(starts_in(data, {**one, **more}, release, ("main",))) == {"B"}, more


@pytest.mark.parametrize(("release", "first"), [("25.05", "B"), ("25.11", "A"), ("26.05", "A")])
def test_from_25_11_on_a_job_requeued_with_precedence_goes_first(release: str, first: str) -> None:
    data = cluster(1, [], [waiting("A", "low"), waiting("B", "high")])
    data["operations"][0]["settings"] |= {"expedited": True}
    for settings in (BACKFILL, {**BACKFILL, "PreemptType": "preempt/qos"}):
        assert set(starts_in(data, settings, release, ("main",))) == {first}


def in_a_circle(order: str) -> dict[str, Any]:
    """Jobs of QOS a, b and c, submitted in this order."""
    priority = {"a": 100, "b": 50, "c": 10}
    data = cluster(1, [], [waiting(f"w{q}", "low", priority=priority[q]) for q in order])
    for row, q in zip(data["operations"], order, strict=True):
        row["qos"] = q
    return data


@pytest.mark.parametrize(
    ("order", "first"),
    [("abc", "a"), ("acb", "a"), ("bac", "b"), ("bca", "b"), ("cab", "c"), ("cba", "c")],
)
def test_an_order_in_a_circle_is_what_sorting_by_halves_makes_of_it(order: str, first: str) -> None:
    """c may preempt b, which may preempt a, which is before c by priority: asked with all six submissions."""
    qos = {"a": {}, "b": {"Preempt": ["a"]}, "c": {"Preempt": ["b"]}}
    settings = {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE", "partitions": {"low": {}}, "qos": qos}
    assert set(starts_in(in_a_circle(order), settings, "26.05", ("main",))) == {f"w{first}"}


def test_two_qos_that_may_preempt_each_other_stay_as_submitted() -> None:
    qos = {"a": {"Preempt": ["b"]}, "b": {"Preempt": ["a"]}, "c": {}}
    settings = {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE", "partitions": {"low": {}}, "qos": qos}
    for order in ("ab", "ba"):
        assert set(starts_in(in_a_circle(order), settings, "26.05", ("main",))) == {f"w{order[0]}"}


# --- who may preempt whom


@pytest.mark.parametrize(("priority", "goes"), [(4, True), (5, True), (6, False)])
def test_a_partition_with_the_flag_takes_no_job_of_higher_priority(priority: int, goes: bool) -> None:
    tiers = {**TIERS, "high": {"PriorityTier": 10, "PreemptMode": "OFF,PRIORITY"}}
    data = cluster(1, [running("L", "low", "n1")], [waiting("H", "high", priority=5)])
    data["operations"][0]["priority"] = priority
    victims = outcome(data, {**BACKFILL, "partitions": tiers}, ("main",))[1]
    assert victims == ({"H": ["L"]} if goes else {})
    assert outcome(data, BACKFILL, ("main",))[1] == {"H": ["L"]}
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.Slurm(**{**BACKFILL, "partitions": tiers}))
    told = plan.why_not("L@n1")
    assert told.code == ("higher_partition_tier" if goes else "not_lower_priority")
    assert {name: value for name, value in told.numbers.items() if name.startswith("priority_of")}


@pytest.mark.parametrize(("priority", "goes"), [(4, True), (5, False), (6, False)])
def test_a_qos_with_the_flag_takes_jobs_of_lower_priority_only(priority: int, goes: bool) -> None:
    qos = {"a": {}, "b": {"Preempt": ["a"], "PreemptMode": "REQUEUE,PRIORITY"}}
    settings = {**BACKFILL, "PreemptType": "preempt/qos", "qos": qos}
    data = cluster(1, [running("L", "low", "n1")], [waiting("H", "low", priority=5)])
    data["operations"][0] |= {"priority": priority, "qos": "a"}
    data["operations"][1] |= {"qos": "b"}
    assert outcome(data, settings, ("main",))[1] == ({"H": ["L"]} if goes else {})


def test_the_flag_alone_leaves_a_partition_no_mode() -> None:
    tiers = {**TIERS, "low": {"PriorityTier": 1, "PreemptMode": "PRIORITY"}}
    data = cluster(1, [running("L", "low", "n1")], [waiting("H", "high")])
    assert outcome(data, {**BACKFILL, "partitions": tiers}, ("main",))[1:] == (
        {},
        {"H": "no_eligible_victims"},
    )


@pytest.mark.parametrize(("release", "shielded"), [("25.11", False), ("26.05", True)])
def test_from_26_05_on_the_exempt_time_shields_from_suspension_by_tier(release: str, shielded: bool) -> None:
    shared = {name: {**tier, "OverSubscribe": "FORCE:1"} for name, tier in TIERS.items()}
    settings = {"PreemptType": "preempt/partition_prio", "PreemptMode": "SUSPEND,GANG", "partitions": shared}
    settings |= {"PreemptExemptTime": NOW, "gang_exempt_time": "by_release", "release": release}
    data = cluster(1, [running("L", "low", "n1")], [waiting("H", "high")])
    assert outcome(data, settings, ("main",))[1] == ({} if shielded else {"H": ["L"]})


@pytest.mark.parametrize(
    ("release", "first", "mode"),
    [("24.05", "suspended", "requeue"), ("24.11", "suspended", "suspend"), ("24.11", "ended", "requeue")],
)
def test_from_24_11_on_the_first_candidate_says_whether_others_are_suspended(
    release: str, first: str, mode: str
) -> None:
    """By QOS. One is suspended on n1, one ends on n2; either makes room."""
    qos: dict[str, Any] = {
        "suspended": {"Priority": 1 + (first != "suspended")},
        "ended": {"Priority": 1 + (first != "ended"), "PreemptMode": "REQUEUE"},
        "above": {"Priority": 9, "Preempt": ["suspended", "ended"]},
    }
    settings = {
        "PreemptType": "preempt/qos",
        "PreemptMode": "SUSPEND,GANG",
        "partitions": {"low": {"OverSubscribe": "FORCE:1"}},
        "qos": qos,
        "release": release,
    }
    data = cluster(2, [running("S", "low", "n1"), running("E", "low", "n2")], [waiting("A", "low")])
    for row, name in zip(data["operations"], ("suspended", "ended", "above"), strict=True):
        row["qos"] = name
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.Slurm(**settings))
    assert [d.mode for d in plan.decisions.victims] == [mode]
    outcome(data, settings)
    # No other mode is mixed in where that does not make room.
    data["requests"][0]["count"] = 2
    both = eh.plan(eh.Snapshot.from_dict(data), eh.policies.Slurm(**settings))
    assert [r.rule for r in both.refusals] == ["no_room_even_with_victims"]


def test_every_release_is_a_number_of_the_engine() -> None:
    """They rise, and the last one is the default."""
    assert list(RELEASES) == sorted(RELEASES)
    data = eh.Snapshot.from_dict(free_cpus([2, 2, 0, 4], 1))
    nodes = {
        release: [
            d.node for d in eh.plan(data, eh.policies.Slurm(**BACKFILL, release=release)).decisions.starts
        ]
        for release in (None, *RELEASES)
    }
    assert nodes.pop(None) == nodes["26.05"]
    assert {release for release, found in nodes.items() if found == ["n4"]} == set(RELEASES[1:-1])
    assert SlurmSettings().release is None
