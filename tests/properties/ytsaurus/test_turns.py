"""What is said of whole allocations, held against groups that are cut under the other reading."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.testing import strategies as es

CROSSING = "consider_allocation_on_fair_share_bound_preemptible"
USAGE = "non_preemptible_resource_usage_threshold"

SETTINGS = st.fixed_dictionaries(
    {
        "preset": st.sampled_from(("documented", "upstream")),
        "preemption_satisfaction_threshold": st.sampled_from((0.5, 1.0, 1.0, 2.0)),
        "usage_threshold_scope": st.sampled_from(("operation", "prefix")),
        USAGE: st.sampled_from(({}, {}, {"cpu": 2}, {"cpu": 3, "memory": 1})),
    }
)


def numbers(plan: eh.Plan, code: str) -> dict[str, Any]:
    """Return the numbers of a diagnostic; nothing if it is not there."""
    return next((dict(d.numbers) for d in plan.diagnostics if d.code == code), {})


@given(es.clusters(("cpu", "memory"), guarantees="some"), SETTINGS)
def test_what_stays_would_be_preemptible_with_the_setting_on(
    snapshot: eh.Snapshot, settings: dict[str, Any]
) -> None:
    off, on = (eh.plan(snapshot, eh.policies.YTsaurus(**settings, **{CROSSING: f})) for f in (False, True))
    running: dict[Any, list[Any]] = {}
    of = {row["name"]: row for row in snapshot.to_dict().get("allocations", [])}
    for name in off.groups:
        running.setdefault(of[name]["operation"], []).append(name)
    preemptible = {of[name]["operation"] for name, group in off.groups.items() if group == "preemptible"}
    alone = {
        operation
        for operation, (first, *rest) in running.items()
        if not rest and off.groups[first] != "preemptible" == on.groups[first]
        if of[first].get("preemptible", True)
    }
    found = [d for d in off.diagnostics if d.code == "single_allocations_stay"]
    assert not [d for d in on.diagnostics if d.code == "single_allocations_stay"]
    event(f"said: {bool(found)}")
    for diagnostic in found:
        assert set(diagnostic.elements) == alone
        assert diagnostic.numbers["above"] == len(alone | preemptible)
    if not found and 2 * len(alone) > len(alone | preemptible):
        left = {d.request for d in off.decisions.starts}
        for row in snapshot.to_dict().get("requests", []):
            below = off.statuses[row["operation"]].status == "below_fair_share"
            assert not below or (row["name"] in left and row.get("count", 1) >= 1)


@st.composite
def with_room(draw: st.DrawFn) -> dict[str, Any]:
    """A node with room for the one request that fits; each operation wants more than there is."""
    names = ("a", "b", "c")
    sizes = draw(st.lists(st.tuples(st.sampled_from(names), st.integers(1, 4)), max_size=5))
    asked = draw(st.integers(1, 8))
    weights = draw(st.lists(st.sampled_from((1, 1, 2, 0.5)), min_size=3, max_size=3))
    wants = draw(st.lists(st.sampled_from((0, 1, 50)), min_size=3, max_size=3))
    return {
        "now": 100,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": sum(cpu for _, cpu in sizes) + asked}}],
        "operations": [{"name": o, "weight": w} for o, w in zip(names, weights, strict=True)],
        "allocations": [
            {"name": f"{o}{i}", "operation": o, "node": "n", "resources": {"cpu": cpu}, "start_time": i}
            for i, (o, cpu) in enumerate(sizes)
        ],
        "requests": [
            {"name": "r", "operation": "a", "resources": {"cpu": asked}},
            *(
                {"name": f"{o}-more", "operation": o, "resources": {"cpu": 50}, "count": count}
                for o, count in zip(names, wants, strict=True)
                if count
            ),
        ],
    }


@given(with_room(), SETTINGS)
def test_what_starts_and_crosses_is_preemptible_at_the_next_update(
    data: dict[str, Any], settings: dict[str, Any]
) -> None:
    settings = {**settings, USAGE: {r: a for r, a in settings[USAGE].items() if r == "cpu"}}
    policy = eh.policies.YTsaurus(**settings, **{CROSSING: True})
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    assert [(d.action, d.request) for d in plan.decisions] == [("start", "r")]
    later = plan.snapshot.after(plan)
    (new,) = set(later.names("allocations")) - set(plan.snapshot.names("allocations"))
    on = eh.plan(later, policy).groups[new] == "preemptible"
    off = eh.plan(later, policy.replace(**{CROSSING: False})).groups[new] == "preemptible"
    crossing = numbers(plan, "starts_preemptible").get("crossing", 0)
    event(f"crosses: {bool(crossing)}")
    assert crossing == int(on and not off)
