"""Room in scheduling runs: licences, reservations, and what sessions that wait need beside their victims."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh


def group(**changes: Any) -> eh.Snapshot:
    """Return a group of one node with room for two sessions of 4 cpus: p and q wait."""
    return eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {}, "lic": {"scope": "cluster", "capacity": 2}},
            "nodes": [{"name": "n1", "capacity": {"cpu": 4}}, {"name": "n2", "capacity": {"cpu": 4}}],
            "operations": [
                {"name": "b", "priority": 1},
                {"name": "p", "priority": 50, "settings": {"job_priority": 5}},
                {"name": "q", "priority": 20, "settings": {"job_priority": 5}},
            ],
            "requests": [waits("p"), waits("q")],
        }
        | changes
    )


def waits(name: str, cpu: int = 4, **more: Any) -> dict[str, Any]:
    return {"name": f"{name}-r", "operation": name, "resources": {"cpu": cpu}} | more


def runs(name: str, node: str | None, **resources: int) -> dict[str, Any]:
    row = {"name": f"b-{name}", "operation": "b", "resources": resources}
    return row if node is None else row | {"node": node}


def held(request: str, node: str = "n1", cpu: int = 4, **more: Any) -> dict[str, Any]:
    row = {"name": f"v-{request}", "request": f"{request}-r", "node": node, "resources": {"cpu": cpu}}
    return row | more


def plan(snapshot: eh.Snapshot, preset: str = "documented", **settings: Any) -> eh.Plan:
    if preset == "upstream":
        settings = {"enabled": True, "victim_scope": "resource-group"} | settings
    return eh.plan(snapshot, eh.policies.BackendAI(preset, **settings))


def started(made: eh.Plan) -> dict[Any, Any]:
    return {d.request: (d.node, d.reason) for d in made.decisions.starts}


def rules(made: eh.Plan) -> dict[Any, str]:
    return {r.request: r.rule for r in made.refusals}


@pytest.mark.parametrize("preset", ["documented", "upstream"])
@pytest.mark.parametrize("where", ["n1", None])
def test_licences_of_one_that_leaves_are_nobodys_until_it_has_gone(preset: str, where: str | None) -> None:
    asks = [waits("p", 1), waits("q", 1)]
    for row in asks:
        row["resources"]["lic"] = 1
    held_by = [runs("k", "n1", cpu=1), runs("l", where, lic=2)]
    snapshot = group(allocations=held_by, requests=asks)
    made = plan(snapshot, preset, preemptors="front")
    assert {d.allocation for d in made.decisions.victims} == {"b-k", "b-l"}
    again = plan(snapshot.after(made), preset, preemptors="front")
    assert len(again.decisions) == 0
    assert rules(again)["p-r"] == "waits_for_victims"


@pytest.mark.parametrize("selection", ["irreducible", "prefix", "minimum"])
def test_a_licence_helps_from_anywhere(selection: str) -> None:
    asks = waits("p", 1)
    asks["resources"]["lic"] = 1
    nodes = [
        {"name": "n1", "capacity": {"cpu": 4}, "schedulable": False},
        {"name": "n2", "capacity": {"cpu": 4}},
    ]
    snapshot = group(allocations=[runs("k", "n1", cpu=1, lic=2)], requests=[asks], nodes=nodes)
    made = plan(snapshot, victim_selection=selection)
    assert [d.allocation for d in made.decisions.victims] == ["b-k"]


def test_a_soft_reservation_admits_nobody() -> None:
    made = plan(group(reservations=[held("p", soft=True), held("q")]), "upstream")
    assert started(made) == {"p-r": ("n2", "fits_free_room"), "q-r": ("n1", "reservation_due")}


@pytest.mark.parametrize(
    "change",
    [
        {
            "nodes": [
                {"name": "n1", "capacity": {"cpu": 4}, "schedulable": False},
                {"name": "n2", "capacity": {"cpu": 4}},
            ]
        },
        {"requests": [waits("p", required_node="n2")]},
        {
            "requests": [waits("p", node_tags=["x"])],
            "nodes": [
                {"name": "n1", "capacity": {"cpu": 4}},
                {"name": "n2", "capacity": {"cpu": 4}, "tags": ["x"]},
            ],
        },
    ],
)
def test_a_reservation_where_it_may_not_run_admits_nobody(change: dict[str, Any]) -> None:
    made = plan(group(**{"requests": [waits("p")], "reservations": [held("p")]} | change), "upstream")
    assert started(made) == {"p-r": ("n2", "fits_free_room")}


def test_a_reservation_of_less_than_it_needs_admits_nobody() -> None:
    one = [{"name": "n1", "capacity": {"cpu": 5}}]
    made = plan(group(nodes=one, reservations=[held("p", cpu=1), held("q")]), "upstream")
    assert started(made) == {"q-r": ("n1", "reservation_due")}
    assert rules(made) == {"p-r": "no_lower_priority"}


def test_an_admitted_session_counts_against_the_most_containers() -> None:
    one = [{"name": "n1", "capacity": {"cpu": 8}}]
    snapshot = group(
        nodes=one, allocations=[runs("k", "n1", cpu=1)], requests=[waits("p")], reservations=[held("p")]
    )
    assert started(plan(snapshot, "upstream")) == {"p-r": ("n1", "reservation_due")}
    assert rules(plan(snapshot, "upstream", max_containers=1)) == {"p-r": "max_containers"}


def test_room_of_somebody_else_admits_nobody() -> None:
    """Also where it is free of work: n1 is kept for an allocation."""
    others = held("p") | {"name": "v", "request": None, "allocation": "b-k"}
    snapshot = group(
        allocations=[runs("k", "n2", cpu=4)], requests=[waits("p")], reservations=[held("p"), others]
    )
    made = plan(snapshot, "upstream", preemption_key="priority")
    assert started(made) == {}
    assert [d.allocation for d in made.decisions.victims] == ["b-k"], "planned as if it had no reservation"


def test_reserved_room_that_nobody_leaves_is_planned_again() -> None:
    """Something that does not leave stands there: waiting for it would last for ever."""
    stays = [runs("k", "n1", cpu=4)]
    snapshot = group(allocations=stays, requests=[waits("p")], reservations=[held("p")])
    assert started(plan(snapshot, "upstream")) == {"p-r": ("n2", "fits_free_room")}
    stays[0] |= {"state": "preempting", "beneficiary": {"operation": "p"}}
    snapshot = group(allocations=stays, requests=[waits("p")], reservations=[held("p")])
    assert rules(plan(snapshot, "upstream")) == {"p-r": "waits_for_victims"}


def test_who_is_reserved_later_waits_behind_who_waits() -> None:
    leaves = runs("k", "n1", cpu=4) | {"state": "preempting", "beneficiary": {"operation": "p"}}
    reserved = [held("q", **{"from": 20}), held("p", **{"from": 10})]
    snapshot = group(
        nodes=[{"name": "n1", "capacity": {"cpu": 8}}], allocations=[leaves], reservations=reserved
    )
    made = plan(snapshot, "upstream")
    assert rules(made) == {"q-r": "waits_for_victims"}
    reserved[1] |= {"resources": {"cpu": 8}}
    asks = [waits("p", 8), waits("q")]
    snapshot = group(
        nodes=[{"name": "n1", "capacity": {"cpu": 8}}],
        allocations=[leaves],
        reservations=reserved,
        requests=asks,
    )
    assert rules(plan(snapshot, "upstream")) == {"p-r": "waits_for_victims", "q-r": "behind_first_waiting"}


@pytest.mark.parametrize("area", ["group", "agent"])
def test_free_room_that_one_waits_for_is_not_given_to_the_next(area: str) -> None:
    """p needs 4 free cpus and the 4 that b leaves; q could start in the former."""
    one = [{"name": "n1", "capacity": {"cpu": 8}}]
    snapshot = group(nodes=one, allocations=[runs("k", "n1", cpu=4)], requests=[waits("p", 8), waits("q")])
    policy = {"preemptors": "every", "victim_area": area}
    made = plan(snapshot, **policy)
    assert [d.allocation for d in made.decisions.victims] == ["b-k"]
    assert started(made) == {}
    again = plan(snapshot.after(made), **policy)
    assert started(again) == {}, "nor while b leaves"
    assert rules(again)["p-r"] == "waits_for_victims"


def test_room_that_nobody_waits_for_is_given_to_the_next() -> None:
    """b leaves 4 of the 6 cpus that p needs; of 6 free ones q takes the other 4."""
    one = [{"name": "n1", "capacity": {"cpu": 10}}]
    snapshot = group(nodes=one, allocations=[runs("k", "n1", cpu=4)], requests=[waits("p", 6), waits("q")])
    assert set(started(plan(snapshot, preemptors="every"))) == {"p-r"}
    snapshot = group(nodes=one, allocations=[runs("k", "n1", cpu=4)], requests=[waits("p", 8), waits("q", 2)])
    made = plan(snapshot, preemptors="every")
    assert [d.allocation for d in made.decisions.victims] == ["b-k"]
    assert started(made) == {"q-r": ("n1", "fits_free_room")}
