"""Every clock and duration of the settings: at exactly its length, and a microsecond to each side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import evenhand as eh
from tests.unit.ytsaurus.cluster import NOW, Made, Planner, clocks, cluster, done, row, starving

STEP = 1e-6


def waiting(plan: Planner, state: dict[str, Any] | None, pending: int = 1, **settings: Any) -> Made:
    """Operation w has nothing and asks for `pending`; v has the node, none of it preemptible."""
    data = cluster({"cpu": 4}, [row("v1", "v", cpu=4)], [row("q", "w", cpu=1, count=pending)])
    return plan(data, state=state, given={"groups": {"v1": "non_preemptible"}}, **settings)


def starvation(made: Made, name: str = "w") -> str:
    found: str = made["statuses"][name]["starvation"]
    return found


@pytest.mark.parametrize("timeout", [30, "30s", "500ms", "5m", 0])
def test_starvation_timeout(plan: Planner, timeout: Any) -> None:
    seconds = {"30s": 30.0, "500ms": 0.5, "5m": 300.0}.get(timeout, timeout)
    settings = {"fair_share_starvation_timeout": timeout, "fair_share_aggressive_starvation_timeout": 900}
    for since, expected in (
        (NOW - seconds - STEP, "starving"),
        (NOW - seconds, "non_starving"),
        (NOW - seconds + STEP, "non_starving"),
    ):
        if since <= NOW:
            assert starvation(waiting(plan, clocks("w", since), **settings)) == expected


def test_the_first_update_only_notes_the_instant(plan: Planner) -> None:
    made = waiting(plan, None, fair_share_starvation_timeout=0)
    assert (starvation(made), made["statuses"]["w"]["since"]) == ("non_starving", NOW)


@pytest.mark.parametrize(
    ("waited", "expected"),
    [(120 - STEP, "starving"), (120, "starving"), (120 + STEP, "aggressively_starving")],
)
def test_aggressive_timeout_counts_from_the_same_instant(plan: Planner, waited: float, expected: str) -> None:
    made = waiting(plan, clocks("w", NOW - waited), enable_aggressive_starvation=True)
    assert starvation(made) == expected
    made = waiting(plan, clocks("w", NOW - waited), enable_aggressive_starvation=False)
    assert starvation(made) == "starving"


@pytest.mark.parametrize(
    ("pending", "coefficient", "timeout", "aggressive"),
    [
        (1, 1, 30.0, 120.0),
        (3, 4, 22.5, 90.0),
        (4, 4, 30.0, 120.0),
        (5, 4, 30.0, 120.0),
        (3, 7, 12.857142, 51.428571),  # and a part of a microsecond
    ],
)
def test_few_pending_allocations_shorten_the_timeouts(
    plan: Planner, pending: int, coefficient: int, timeout: float, aggressive: float
) -> None:
    settings = {
        "allocation_count_preemption_timeout_coefficient": float(coefficient),
        "enable_aggressive_starvation": True,
    }
    for waited, expected in (
        (timeout - STEP, "non_starving"),
        (timeout, "non_starving"),
        (timeout + STEP, "starving"),
        (aggressive, "starving"),
        (aggressive + STEP, "aggressively_starving"),
    ):
        since = round(NOW - waited, 6)
        assert starvation(waiting(plan, clocks("w", since), pending, **settings)) == expected


@pytest.mark.parametrize(
    ("backoff", "passed", "runs"),
    [
        *((5, 5 - STEP, False), (5, 5, False), (5, 5 + STEP, True)),
        *(("250ms", 0.249999, False), ("250ms", 0.25, False), ("250ms", 0.250001, True)),
        *(("2m", 119.999999, False), ("2m", 120, False), ("2m", 120.000001, True)),
        *((0, 0, False), (0, STEP, True)),
    ],
)
def test_backoff(plan: Planner, backoff: Any, passed: float, runs: bool) -> None:
    data = cluster({"cpu": 4}, [row("v1", "v", cpu=4)], [row("q", "w", cpu=1)])
    node = {"name": "n", "last_preemptive": NOW - passed, "overcommitted_since": None}
    state = {"schema": "evenhand/state/1", "time": NOW, "settings": "", "pools": [], "nodes": [node]}
    made = plan(
        data,
        state=state,
        given=starving("w", preemptible=("v1",)),
        preemptive_scheduling_backoff=backoff,
    )
    assert done(made) == (["-v1", "+q"] if runs else [])


@pytest.mark.parametrize(
    ("settings", "delay"),
    [
        ({"preset": "upstream"}, 15.0),
        ({"node_overcommit_delay": "1ms"}, 0.001),
        ({"node_overcommit_delay": 2}, 2),
    ],
)
@pytest.mark.parametrize(("more", "goes"), [(-STEP, False), (0, False), (STEP, True)])
def test_node_overcommit_delay(
    plan: Planner, settings: dict[str, Any], delay: float, more: float, goes: bool
) -> None:
    node = {"name": "n", "capacity": {"cpu": 3}, "overcommitted_since": round(NOW - delay - more, 6)}
    data = cluster({"cpu": 3}, [row("v1", "v", cpu=4)], [], nodes=[node])
    assert done(plan(data, **settings)) == (["-v1"] if goes else [])


def test_without_a_delay_an_overfull_node_is_repaired_at_once(plan: Planner) -> None:
    data = cluster({"cpu": 3}, [row("v1", "v", cpu=4)], [])
    assert done(plan(data, node_overcommit_delay=0)) == ["-v1"]
    assert done(plan(data, node_overcommit_delay=STEP)) == []


@pytest.mark.parametrize(
    ("capacity", "over"),
    [(5, None), (4, None), (3, NOW)],
)
def test_a_node_that_is_exactly_full_is_not_overfull(
    plan: Planner, capacity: int, over: float | None
) -> None:
    data = cluster({"cpu": capacity}, [row("v1", "v", cpu=4)], [])
    nodes = plan(data, node_overcommit_delay=15)["state"].get("nodes", [])
    found = [node["overcommitted_since"] for node in nodes]
    assert found == [over]


@pytest.mark.parametrize(
    ("setting", "text", "seconds"),
    [
        ("allocation_preemption_timeout", "45s", 45.0),
        ("allocation_preemption_timeout", "1500ms", 1.5),
        ("allocation_preemption_timeout", 0, 0.0),
        ("allocation_graceful_preemption_timeout", "2m", 120.0),
        ("allocation_graceful_preemption_timeout", "250us", 0.00025),
    ],
)
def test_grace_is_the_setting_of_its_kind(plan: Planner, setting: str, text: Any, seconds: float) -> None:
    operations = [{"name": "g", "settings": {"preemption_mode": "graceful"}}, {"name": "v"}, {"name": "w"}]
    data = cluster(
        {"cpu": 4},
        [row("v1", "v", cpu=2), row("g1", "g", cpu=2)],
        [row("q", "w", cpu=2)],
        operations=operations,
    )
    made = plan(data, given=starving("w", preemptible=("g1", "v1")), **{setting: text})
    usual = {"g1": 60.0, "v1": 30.0}
    usual["g1" if "graceful" in setting else "v1"] = seconds
    preempted = [d for d in made["decisions"] if d["action"] == "preempt"]
    assert {d["allocation"]: d["grace"] for d in preempted} == usual
    assert {d["allocation"]: d["until"] for d in preempted} == {k: NOW + s for k, s in usual.items()}


HOST = {"cpu": 8, "gpu": 8}


def full_host(
    plan: Planner,
    *,
    waited: float = 200.0,
    ran: float = 10.0,
    gpus: float = 8,
    fair_share: float = 1.0,
    segment: str | None = None,
    others: Sequence[float] = (),
    **stage: Any,
) -> list[str]:
    """A request for eight gpus beside a protected allocation of four that has run for ten seconds."""
    data = cluster(
        HOST,
        [row("v1", "v", gpu=4, start_time=NOW - ran)],
        [row("q", "w", gpu=gpus), *(row(f"q{i}", "w", gpu=other) for i, other in enumerate(others))],
        resources={"cpu": {}, "gpu": {"quantum": 0.5}},
    )
    if segment is not None:
        data["operations"] = [
            {**o, "settings": {"scheduling_segment": segment}} if o["name"] == "w" else o
            for o in data["operations"]
        ]
    given = {
        "groups": {"v1": "non_preemptible"},
        "starvation": {"w": "non_starving"},
        "fair_share": {"w": {"gpu": fair_share}},
    }
    enabled = {"enable": True, "max_preemption_penalty": 40.0, **stage}
    made = plan(data, state=clocks("w", NOW - waited), given=given, default_gpu_full_host_preemption=enabled)
    assert set(reasons(made)) <= {
        "default_gpu_full_host_preemption",
        "fits_after_preemption",
        "fits_free_room",
    }
    return done(made)


def reasons(made: Made) -> list[str]:
    return [d["reason"] for d in made["decisions"]]


TAKEN = ["-v1", "+q"]


@pytest.mark.parametrize(("segment", "taken"), [("default", TAKEN), ("large_gpu_sas", [])])
def test_full_hosts_are_for_the_default_segment(plan: Planner, segment: str, taken: list[str]) -> None:
    assert full_host(plan, segment=segment) == taken


@pytest.mark.parametrize(("others", "taken"), [([8], TAKEN), ([7], [])])
def test_full_hosts_are_for_whole_hosts_alone(plan: Planner, others: list[float], taken: list[str]) -> None:
    assert full_host(plan, others=others) == taken


@pytest.mark.parametrize("timeout", [120.0, "120s", "2m", "100ms"])
@pytest.mark.parametrize(("more", "taken"), [(-STEP, []), (0, []), (STEP, TAKEN)])
def test_full_host_timeout(plan: Planner, timeout: Any, more: float, taken: list[str]) -> None:
    seconds = 0.1 if timeout == "100ms" else 120.0
    assert full_host(plan, waited=round(seconds + more, 6), timeout=timeout) == taken


@pytest.mark.parametrize(
    ("ran", "budget", "taken"),
    [
        (10.0, 40.0, TAKEN),
        (10.0, 39.999, []),
        (10.0, 40.001, TAKEN),
        (10.0 + STEP, 40.0, []),
        (10.0 - STEP, 40.0, TAKEN),
        (0.5, 2.0, TAKEN),
        (0.5, 1.9, []),
    ],
)
def test_full_host_penalty_is_seconds_times_gpus(
    plan: Planner, ran: float, budget: float, taken: list[str]
) -> None:
    assert full_host(plan, ran=ran, max_preemption_penalty=budget) == taken


@pytest.mark.parametrize(("gpus", "taken"), [(7.5, []), (8, TAKEN)])
def test_a_full_host_has_eight_gpus(plan: Planner, gpus: float, taken: list[str]) -> None:
    assert full_host(plan, gpus=gpus) == taken


@pytest.mark.parametrize(
    ("fair_share", "taken"), [(1.0, TAKEN), (1.0 - 5e-10, TAKEN), (1.0 - 2e-9, []), (0.9, [])]
)
def test_the_full_host_stage_stays_within_the_fair_share(
    plan: Planner, fair_share: float, taken: list[str]
) -> None:
    assert full_host(plan, fair_share=fair_share) == taken


def due(state: Any, now: float, **settings: Any) -> Any:
    """The engine's plan of one instant."""
    data = cluster({"cpu": 4}, [row("v1", "v", cpu=4)], [row("q", "w", cpu=1)], now=now)
    kept = eh.State.from_dict(state) if isinstance(state, dict) else state
    policy = eh.policies.YTsaurus(**settings)
    return eh.plan(eh.Snapshot.from_dict(data), policy, kept, given={"groups": {"v1": "non_preemptible"}})


def test_a_plan_is_due_a_microsecond_after_each_clock() -> None:
    """The timeout, the back-off of the attempt at that instant, and the aggressive timeout in between."""
    settings = {"enable_aggressive_starvation": True, "fair_share_aggressive_starvation_timeout": 37}
    plan, steps = due(None, NOW, **settings), []
    for _ in range(4):
        steps.append(round(plan.next_due - NOW, 6))
        plan = due(plan.state, plan.next_due, **settings)
    assert steps == [30.000001, 35.000002, 37.000001, 40.000003]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"fair_share_starvation_timeout": 3}, 3.000001),
        ({"allocation_count_preemption_timeout_coefficient": 10.0}, 3.000001),
        ({"preemptive_scheduling_backoff": 2}, 30.000001),
    ],
)
def test_the_first_clock_is_named(settings: dict[str, Any], expected: float) -> None:
    given = {"fair_share_aggressive_starvation_timeout": 900, **settings}
    # Nobody starves yet: that the back-off ends makes nothing new possible.
    assert round(due(None, NOW, **given).next_due - NOW, 6) == expected


def test_an_overfull_node_is_due_after_its_delay() -> None:
    data = cluster({"cpu": 3}, [row("v1", "v", cpu=4)], [])
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.YTsaurus(node_overcommit_delay=15))
    assert round(plan.next_due - NOW, 6) == 15.000001
    later = eh.Snapshot.from_dict({**data, "now": NOW + 15})
    policy = eh.policies.YTsaurus(node_overcommit_delay=15)
    assert len(eh.plan(later, policy, plan.state).decisions) == 0
    later = eh.Snapshot.from_dict({**data, "now": plan.next_due})
    assert len(eh.plan(later, policy, plan.state).decisions) == 1


@pytest.mark.parametrize(("now", "expected"), [(960.0, 1020.0), (1019.999999, 1020.0), (1020.0, 1080.0)])
def test_volumes_move_on_every_minute(now: float, expected: float) -> None:
    pools = [{"name": "p", "integral": {"type": "relaxed", "resource_flow": {"cpu": 1}}}]
    data = cluster({"cpu": 4}, [], [], pools=pools, now=now)
    assert eh.plan(eh.Snapshot.from_dict(data), eh.policies.YTsaurus()).next_due == expected


@pytest.mark.parametrize(
    ("now", "due"),
    [(-90.0, -60.0), (-60.000001, -60.0), (-60.0, 0.0), (-0.000001, 0.0), (0.0, 60.0), (59.999999, 60.0)],
)
def test_volumes_move_on_by_the_minute_before_the_epoch_too(now: float, due: float) -> None:
    integral = {"type": "burst", "resource_flow": {"cpu": 1}, "burst": {"cpu": 1}}
    data = {
        "now": now,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "pools": [{"name": "p", "integral": integral}],
        "operations": [{"name": "o", "pool": "p"}],
    }
    assert eh.plan(eh.Snapshot.from_dict(data), eh.policies.YTsaurus()).next_due == due
