"""The main pass and the backfill pass, rule by rule: the outcomes are those of a real controller."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.slurm.settings import SlurmSettings
from tests.reference.slurm import reference_plan

TIERS: dict[str, Any] = {
    "low": {"PriorityTier": 1},
    "mid": {"PriorityTier": 5},
    "high": {"PriorityTier": 10, "PreemptMode": "OFF"},
}
BACKFILL: dict[str, Any] = {
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "REQUEUE",
    "SchedulerType": "sched/backfill",
    "partitions": TIERS,
}
NOW = 60_000.0


def running(name: str, partition: str, *nodes: str, cpus: int = 1, end: float = 3600) -> dict[str, Any]:
    return {"name": name, "partition": partition, "nodes": nodes, "cpus": cpus, "end": end}


def waiting(
    name: str, partition: str, nodes: int = 1, cpus: int = 1, minutes: float = 60, **more: Any
) -> Any:
    return {"name": name, "partition": partition, "count": nodes, "cpus": cpus, "minutes": minutes, **more}


def cluster(nodes: int, runs: list[Any], waits: list[Any], cpus: int = 1) -> dict[str, Any]:
    data: dict[str, Any] = {
        "now": NOW,
        "resources": {"cpu": {}},
        "nodes": [{"name": f"n{i}", "capacity": {"cpu": cpus}} for i in range(1, nodes + 1)],
        "operations": [],
        "allocations": [],
        "requests": [],
    }
    for order, job in enumerate((*runs, *waits)):
        settings = {k: job[k] for k in ("time_min", "eligible_time") if k in job}
        row = {"name": job["name"], "partition": job["partition"], "order": order, "settings": settings}
        row |= {"start_time": job.get("submitted", order), "user": job.get("user")}
        data["operations"].append(row | {k: job[k] for k in ("priority",) if k in job})
    for job in runs:
        data["allocations"] += [
            {
                "name": f"{job['name']}@{node}",
                "operation": job["name"],
                "node": node,
                "resources": {"cpu": job["cpus"]},
                "start_time": 1000,
                "planned_end": NOW + job["end"],
            }
            for node in job["nodes"]
        ]
    for job in waits:
        row = {"name": job["name"], "operation": job["name"], "count": job["count"]}
        row |= {"resources": {"cpu": job["cpus"]}, "required_node": job.get("on")}
        data["requests"].append(row | ({"duration": 60 * job["minutes"]} if job["minutes"] else {}))
    return data


def outcome(
    data: dict[str, Any], settings: dict[str, Any] = BACKFILL, passes: Any = ("main", "backfill")
) -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, str]]:
    """Starts and victims of each job, and why the others wait; the readable implementation agrees."""
    snapshot = eh.Snapshot.from_dict(data)
    plan = eh.plan(snapshot, eh.policies.Slurm(**settings), on=eh.SchedulingRun(passes=passes))
    expected = reference_plan(snapshot, SlurmSettings(**settings), passes=passes)
    for d, e in zip(plan.to_dict()["decisions"], expected["decisions"], strict=True):
        assert (d["action"], d["operation"], d["node"]) == (
            e["action"],
            e["operation"],
            e.get("node", d["node"]),
        )
    rules = {str(r.request): r.rule for r in plan.refusals}
    assert rules == {r["request"]: r["rule"] for r in expected["refusals"]}
    starts: dict[str, list[str]] = {}
    victims: dict[str, list[str]] = {}
    for d in plan.decisions:
        if d.action == "start":
            starts.setdefault(str(d.operation), []).append(str(d.node))
        if d.action == "preempt" and d.beneficiary is not None:
            victims.setdefault(str(d.beneficiary.operation), []).append(str(d.operation))
    return starts, victims, rules


def test_the_main_pass_serves_one_job_a_partition() -> None:
    data = cluster(
        2,
        [running("L1", "low", "n1"), running("L2", "low", "n2")],
        [waiting("H1", "high"), waiting("H2", "high")],
    )
    found = outcome(data, passes=("main",))
    assert found == ({}, {"H1": ["L1"]}, {"H1": "waits_for_victims", "H2": "waits_for_next_pass"})


def test_the_backfill_pass_serves_several() -> None:
    data = cluster(
        2,
        [running("L1", "low", "n1"), running("L2", "low", "n2")],
        [waiting("H1", "high"), waiting("H2", "high")],
    )
    for passes in (("backfill",), ("main", "backfill")):
        assert outcome(data, passes=passes)[1] == {"H1": ["L1"], "H2": ["L2"]}


def test_a_plan_keeps_other_nodes_than_its_victims_leave() -> None:
    """The estimate lies on n1, all candidates being away; the victim is on n3, where nothing starts yet."""
    data = cluster(
        3,
        [running("m1", "mid", "n1"), running("m2", "mid", "n2"), running("l3", "low", "n3")],
        [waiting("H1", "high"), waiting("H2", "high")],
    )
    _, victims, rules = outcome(data, passes=("backfill",))
    assert victims == {"H1": ["l3"]}
    assert rules == {"H1": "waits_for_victims", "H2": "waits_for_next_pass"}


def test_preemption_is_for_starts_now_only_by_any_job_that_ends_in_time() -> None:
    runs = [running("HR", "high", "n1", end=180), running("L", "low", "n2")]
    waits = [waiting("H1", "high", 2), waiting("H2b", "high"), waiting("H2a", "high", minutes=1)]
    _, victims, rules = outcome(cluster(2, runs, waits), passes=("backfill",))
    assert victims == {"H2a": ["L"]}
    assert rules["H1"] == "no_room_even_with_victims"
    assert rules["H2b"] == "behind_first_waiting"


def test_whole_nodes_are_kept() -> None:
    data = cluster(
        1,
        [running("HR", "high", "n1", cpus=2, end=600)],
        [
            waiting("H1", "high", cpus=3, minutes=10),
            waiting("S1", "high", minutes=5),
            waiting("S2", "high", minutes=30),
        ],
        cpus=4,
    )
    starts, _, rules = outcome(data)
    assert starts == {"S1": ["n1"]}
    assert rules["S2"] == "behind_first_waiting"


def test_idle_nodes_of_a_closed_partition_are_for_backfill_only() -> None:
    data = cluster(
        3,
        [running("HR", "high", "n1", end=1800)],
        [
            waiting("H", "high", 3, minutes=10),
            waiting("A", "low", minutes=5),
            waiting("B", "low"),
            waiting("N", "low", minutes=0),
        ],
    )
    assert outcome(data, passes=("main",))[0] == {}
    assert outcome(data)[0] == {"A": ["n2"]}


@pytest.mark.parametrize(("minutes", "starts"), [(9, True), (10, False), (11, False)])
def test_a_job_starts_before_a_planned_one_if_it_ends_strictly_before(minutes: float, starts: bool) -> None:
    """The span in which nodes are kept counts from its beginning on."""
    data = cluster(
        2,
        [running("HR", "high", "n1", end=600)],
        [waiting("H", "high", 2), waiting("A", "low", minutes=minutes)],
    )
    assert ("A" in outcome(data)[0]) == starts


@pytest.mark.parametrize(
    ("elsewhere", "starts"),
    [(599, False), (600, True), (659, True), (660, True), (661, False), (None, False)],
)
def test_an_end_elsewhere_lets_a_late_one_into_a_span(elsewhere: float | None, starts: bool) -> None:
    """H fits at 600 and keeps A waiting; a job elsewhere that ends next, in the span, puts it off to 3600.

    The span is 30 s longer than until the next multiple of 30 s after the first end, which is 630.
    """
    tiers = {**TIERS, "high": {"PriorityTier": 10, "Nodes": ["n1", "n2", "n3"]}, "other": {"Nodes": ["n4"]}}
    runs = [running("R1", "high", "n1", end=600), running("R2", "high", "n2", end=3600)]
    if elsewhere is not None:
        runs.append(running("E", "other", "n4", end=elsewhere))
    waits = [waiting("H", "high", 2), waiting("A", "low", minutes=20, on="n3")]
    data = cluster(4, runs, waits)
    settings = {**BACKFILL, "partitions": tiers, "bf_resolution": 1.0}
    assert ("A" in outcome(data, settings)[0]) == starts


@pytest.mark.parametrize(
    ("second", "third", "late"),
    [(2000, 2549, True), (2000, 2550, True), (2000, 2551, False), (1590, 1591, False), (1591, 1592, True)],
)
def test_spans_double_until_they_reach_the_next_end(second: float, third: float, late: bool) -> None:
    """H fits when R2 ends, with n4; if R3 ends in the same span it is planned then, on the first three nodes.

    The first span ends at 630 and 30 s more; those behind it may end 60, 120, ... 960, 1920 s after 630.
    """
    runs = [running(f"R{i}", "high", f"n{i}", end=end) for i, end in enumerate((600, second, third), 1)]
    waits = [waiting("H", "high", 3), waiting("A", "low", minutes=45, on="n4")]
    settings = {**BACKFILL, "bf_resolution": 1.0}
    assert ("A" in outcome(cluster(4, runs, waits), settings)[0]) == late


@pytest.mark.parametrize(("ahead", "starts"), [(-1, True), (0, True), (1, False)])
def test_the_end_of_the_window(ahead: int, starts: bool) -> None:
    """A start at its very end keeps nodes from then on, which is beyond what the pass looks at."""
    data = cluster(
        2,
        [running("HR", "high", "n1", end=3600)],
        [waiting("H", "high", 2), waiting("A", "low", minutes=61)],
    )
    settings = {**BACKFILL, "bf_window": 3600.0 + ahead, "bf_resolution": 1.0}
    assert ("A" in outcome(data, settings)[0]) == starts


@pytest.mark.parametrize(("resolution", "starts"), [(59.0, True), (60.0, True), (61.0, False)])
def test_the_beginning_of_what_is_kept_is_rounded_down(resolution: float, starts: bool) -> None:
    """60,600 is a multiple of 60; the next one of 61 below it is 60,573: a job until 60,590 is in the way."""
    data = cluster(
        2,
        [running("HR", "high", "n1", end=600)],
        [waiting("H", "high", 2), waiting("A", "low", minutes=590 / 60 if resolution != 59 else 560 / 60)],
    )
    assert ("A" in outcome(data, {**BACKFILL, "bf_resolution": resolution})[0]) == starts


@pytest.mark.parametrize(("minutes", "rule"), [(59, None), (60, None), (61, "partition_time_limit")])
def test_a_job_at_its_partitions_longest_time_starts(minutes: float, rule: str | None) -> None:
    tiers = {**TIERS, "mid": {"PriorityTier": 5, "MaxTime": 3600.0}}
    data = cluster(1, [], [waiting("M", "mid", minutes=minutes)])
    for passes in (("main",), ("backfill",)):
        assert outcome(data, {**BACKFILL, "partitions": tiers}, passes)[2].get("M") == rule


def test_a_job_beyond_its_partitions_longest_time_holds_up_no_other() -> None:
    tiers = {**TIERS, "mid": {"PriorityTier": 5, "MaxTime": 3600.0}}
    data = cluster(1, [], [waiting("M", "mid", minutes=61), waiting("L", "low")])
    assert outcome(data, {**BACKFILL, "partitions": tiers}, ("main",))[0] == {"L": ["n1"]}


@pytest.mark.parametrize(("waited", "keeps"), [(-1, False), (0, True), (1, True)])
def test_a_young_job_closes_nothing_until_it_is_old_enough(waited: int, keeps: bool) -> None:
    data = cluster(
        2,
        [running("HR", "high", "n1")],
        [waiting("H", "high", 2, submitted=NOW - 100 - waited), waiting("L", "low", submitted=5)],
    )
    settings = {**BACKFILL, "bf_min_age_reserve": 100.0}
    assert outcome(data, settings, ("main",))[0] == ({} if keeps else {"L": ["n2"]})
    assert outcome(data, settings, ("backfill",))[0] == ({} if keeps else {"L": ["n2"]})


@pytest.mark.parametrize(("priority", "keeps"), [(9, False), (10, True), (11, True)])
def test_a_job_of_too_little_priority_closes_nothing(priority: int, keeps: bool) -> None:
    data = cluster(
        2,
        [running("HR", "high", "n1")],
        [waiting("H", "high", 2, priority=priority), waiting("L", "low")],
    )
    settings = {**BACKFILL, "bf_min_prio_reserve": 10}
    assert outcome(data, settings)[0] == ({} if keeps else {"L": ["n2"]})


def test_a_named_node_closes_alone() -> None:
    data = cluster(
        3,
        [running("L1", "low", "n1"), running("L2", "low", "n2")],
        [waiting("H1", "high", on="n1"), waiting("H2", "high", on="n2"), waiting("H3", "high")],
    )
    starts, victims, _ = outcome(data, passes=("main",))
    assert victims == {"H1": ["L1"], "H2": ["L2"]}
    assert starts == {"H3": ["n3"]}


def test_fewer_open_nodes_than_needed_close_a_partition() -> None:
    """C needs two nodes of its partition, of which one is closed; D could start, and is skipped."""
    tiers = {
        "a": {"PriorityTier": 10, "Nodes": ["n1"]},
        "c": {"PriorityTier": 5, "Nodes": ["n1", "n2"]},
        "d": {"PriorityTier": 1, "Nodes": ["n2"]},
    }
    data = cluster(2, [running("R", "a", "n1")], [waiting("A", "a"), waiting("C", "c", 2), waiting("D", "d")])
    assert outcome(data, {**BACKFILL, "partitions": tiers}, ("main",))[0] == {}


@pytest.mark.parametrize(
    ("settings", "rules"),
    [
        ({"bf_max_job_test": 1}, {"B": "waits_for_next_pass"}),
        ({"bf_max_job_test": 2}, {}),
        ({"bf_max_job_start": 1}, {"B": "waits_for_next_pass"}),
        ({"bf_max_job_start": 2}, {}),
        ({"bf_max_job_part": 1}, {"B": "waits_for_next_pass"}),
        ({"bf_max_job_part": 2}, {}),
        ({"bf_max_job_user": 1}, {"B": "waits_for_next_pass"}),
        ({"bf_max_job_user": 2}, {}),
    ],
)
def test_what_a_backfill_pass_looks_at_is_counted(settings: dict[str, Any], rules: dict[str, str]) -> None:
    data = cluster(2, [], [waiting("A", "low", user="ann"), waiting("B", "low", user="ann")])
    assert outcome(data, {**BACKFILL, **settings}, ("backfill",))[2] == rules


@pytest.mark.parametrize(
    ("settings", "started"),
    [
        ({"sched_max_job_start": 1}, {"A"}),
        ({"sched_max_job_start": 2}, {"A", "B"}),
        ({"partition_job_depth": 1}, {"A"}),
        ({"partition_job_depth": 2}, {"A", "B"}),
    ],
)
def test_what_a_main_pass_looks_at_is_counted(settings: dict[str, Any], started: set[str]) -> None:
    data = cluster(2, [], [waiting("A", "low"), waiting("B", "low")])
    assert set(outcome(data, {**BACKFILL, **settings}, ("main",))[0]) == started


@pytest.mark.parametrize(("shortest", "starts"), [(599.0, True), (600.0, False), (601.0, False)])
def test_backfill_takes_the_least_time_that_a_job_accepts(shortest: float, starts: bool) -> None:
    data = cluster(
        2,
        [running("HR", "high", "n1", end=600)],
        [waiting("H", "high", 2), waiting("A", "low", minutes=60, time_min=shortest)],
    )
    assert ("A" in outcome(data)[0]) == starts


def test_the_default_time_is_that_of_jobs_without_one() -> None:
    runs = [running("HR", "high", "n1", end=600)]
    waits = [waiting("H", "high", 2), waiting("A", "low", minutes=0)]
    assert "A" not in outcome(cluster(2, runs, waits))[0]
    for name in ("DefaultTime", "MaxTime"):
        tiers = {**TIERS, "low": {"PriorityTier": 1, name: 599.0}}
        assert "A" in outcome(cluster(2, runs, waits), {**BACKFILL, "partitions": tiers})[0]


@pytest.mark.parametrize(("ago", "victims"), [(39, {}), (40, {"H": ["L"]}), (41, {"H": ["L"]})])
def test_the_back_off_ends_at_its_very_length(ago: float, victims: dict[str, list[str]]) -> None:
    """`KillWait` and `MessageTimeout` together, 40 s."""
    data = cluster(1, [running("L", "low", "n1")], [waiting("H", "high")])
    policy = eh.policies.Slurm(**BACKFILL)
    before = eh.plan(eh.Snapshot.from_dict({**data, "now": NOW - ago}), policy)
    assert len(before.decisions.victims) == 1
    plan = eh.plan(eh.Snapshot.from_dict(data), policy, before.state)
    found = {str(d.beneficiary.operation): [str(d.operation)] for d in plan.decisions.victims}
    assert found == victims
    if not victims:
        assert [r.rule for r in plan.refusals] == ["preemption_backoff"]


@pytest.mark.parametrize(
    ("grace", "selection", "second"),
    [(0.0, "reorder", None), (20.0, "reorder", None), (20.0, "prefix", ["m2"])],
)
def test_no_victim_is_told_twice(grace: float, selection: str, second: list[str] | None) -> None:
    """In grace time it still runs, and is the first that the second job would take, too: nothing else goes.

    Where victims are not selected as the system does, another one goes for that job.
    """
    tiers = {name: {**tier, "GraceTime": grace} for name, tier in TIERS.items()}
    data = cluster(
        3,
        [running("m1", "mid", "n1"), running("m2", "mid", "n2"), running("l3", "low", "n3")],
        [waiting("H1", "high"), waiting("H2", "high")],
    )
    settings = {**BACKFILL, "partitions": tiers, "victim_selection": selection}
    _, victims, found = outcome(data, settings, ("backfill",))
    assert victims == {"H1": ["l3"]} | ({"H2": second} if second else {})
    assert found["H2"] == ("waits_for_victims" if second else "waits_for_next_pass")


def test_a_plan_names_which_room_may_be_lost() -> None:
    """H0 is tried first and must not preempt yet; it finds what H1's victim leaves."""
    runs, low = [running("L", "low", "n1")], {"priority": 5}
    policy = eh.policies.Slurm(**BACKFILL, bf_min_prio_reserve=10)
    alone = {**cluster(1, runs, [waiting("H0", "high", **low)]), "now": NOW - 10}
    before = eh.plan(eh.Snapshot.from_dict(alone), policy)
    both = cluster(1, runs, [waiting("H0", "high", **low), waiting("H1", "high", priority=4)])
    plan = eh.plan(eh.Snapshot.from_dict(both), policy, before.state)
    assert {str(d.beneficiary.operation) for d in plan.decisions.victims if d.beneficiary} == {"H1"}
    (found,) = (d for d in plan.diagnostics if d.code == "slurm_room_contested")
    assert found.numbers == {"beneficiary": "H1", "other": "H0"}


def test_room_that_already_leaves_may_be_lost_too() -> None:
    """H1's victim is leaving, and H0, which is tried first, keeps H1 from its node in this run."""
    data = cluster(
        1,
        [running("L", "low", "n1")],
        [waiting("H0", "high", priority=5), waiting("H1", "high", priority=4)],
    )
    data["allocations"][0] |= {
        "state": "preempting",
        "beneficiary": {"operation": "H1"},
        "deadline": NOW + 9,
    }
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.Slurm(**BACKFILL))
    (found,) = (d for d in plan.diagnostics if d.code == "slurm_room_contested")
    assert found.numbers == {"beneficiary": "H1", "other": "H0"}


def test_without_backfill_there_is_one_pass() -> None:
    data = cluster(
        2,
        [running("L1", "low", "n1"), running("L2", "low", "n2")],
        [waiting("H1", "high"), waiting("H2", "high")],
    )
    assert outcome(data, {**BACKFILL, "SchedulerType": "sched/builtin"})[1] == {"H1": ["L1"]}


@pytest.mark.parametrize("passes", [(), ("backfill", "main"), ("both",), "main"])
def test_other_passes_are_refused(passes: Any) -> None:
    with pytest.raises(ValueError, match="passes is"):
        eh.SchedulingRun(passes=passes)


def test_slurm_conf_says_how_far_the_passes_look() -> None:
    text = """
    SchedulerParameters=bf_max_job_test=50,bf_window=60,bf_resolution=30,bf_min_age_reserve=5,bf_one_resv_per_job,bf_continue,default_queue_depth=7
    PartitionName=a MaxTime=1:00:00 DefaultTime=10
    PartitionName=b
    """
    s = eh.policies.Slurm.from_conf(text).settings
    assert (s.bf_max_job_test, s.bf_window, s.bf_resolution) == (50, 3600.0, 30.0)
    assert (s.bf_min_age_reserve, s.bf_one_resv_per_job, s.default_queue_depth) == (5.0, True, 7)
    assert (s.partitions["a"].MaxTime, s.partitions["a"].DefaultTime) == (3600.0, 600.0)
    assert (s.partitions["b"].MaxTime, s.partitions["b"].DefaultTime) == (None, None)


def test_parameters_of_passes_that_no_plan_follows_are_named() -> None:
    policy = eh.policies.Slurm(bf_busy_nodes=True)
    plan = eh.plan(eh.Snapshot.from_dict(cluster(1, [], [])), policy)
    (found,) = (d for d in plan.diagnostics if d.code == "settings_not_read")
    assert found.numbers == {"settings": ["bf_busy_nodes"]}
