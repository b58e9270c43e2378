"""What two plans do differently, beside their victims, and how their clusters differ."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.plans import Plan
from tests.unit.plans.fake import CLUSTER, POLICY, FakeCore, make, start

ACTS: dict[str, dict[str, Any]] = {
    "reserve": {"request": "b", "operation": "B", "node": "n1", "needed": {"cpu": 2}},
    "resume": {"allocation": "c1", "operation": "C", "node": "n3", "needed": {"cpu": 2}},
    "release": {"allocation": "c1", "operation": "C", "node": "n3", "freed": {"cpu": 2}},
}


def act(action: str, **changes: Any) -> dict[str, Any]:
    common = {"action": action, "reason": "room_reserved", "stage": "preemptive", "step": 0}
    return common | ACTS[action] | changes


@pytest.mark.parametrize("action", ACTS)
def test_only_one_plan_has_it(action: str) -> None:
    none, one = make([]), make([act(action)])
    gained, lost = none.diff(one), one.diff(none)
    assert [d.action for d in gained.gained] == [d.action for d in lost.lost] == [action]
    assert gained
    assert lost
    assert (gained.same, gained.lost, lost.gained) == (0, (), ())
    assert f"{action} on n" in repr(gained)
    ((what, name, operation, before, after),) = gained.table().rows()
    assert (what, before) == ("gained", "")
    assert (name, operation) == (("b", "B") if action == "reserve" else ("c1", "C"))
    assert after.startswith(f"{action} on ")


@pytest.mark.parametrize("action", ACTS)
def test_both_have_it(action: str) -> None:
    difference = make([act(action)]).diff(make([act(action)]))
    assert not difference
    assert difference.same == 1


@pytest.mark.parametrize("action", ACTS)
def test_on_another_node(action: str) -> None:
    difference = make([act(action)]).diff(make([act(action, node="n2")]))
    assert [(a.node, b.node) for a, b in difference.moved] == [(ACTS[action]["node"], "n2")]
    assert (difference.lost, difference.gained, difference.same) == ((), (), 0)


@pytest.mark.parametrize(
    ("action", "change"),
    [
        ("reserve", {"needed": {"cpu": 1}}),
        ("reserve", {"until": 101}),
        ("reserve", {"reason": "preemption"}),
        ("reserve", {"for_request": "c"}),
        ("release", {"freed": {"cpu": 1}}),
        ("release", {"kept": {"cpu": 1}}),
    ],
)
def test_the_same_for_another_amount_or_time(action: str, change: dict[str, Any]) -> None:
    difference = make([act(action)]).diff(make([act(action, **change)]))
    assert len(difference.changed) == 1
    assert difference.same == 0
    assert "1 changed" in repr(difference)


def test_a_start_that_becomes_a_reservation() -> None:
    difference = make([start("b", "B", "n1", 0)]).diff(make([act("reserve")]))
    assert [d.action for d in difference.lost] == ["start"]
    assert [d.action for d in difference.gained] == ["reserve"]
    assert difference.moved == ()


class TestClusters:
    """Plans of clusters that are not the same."""

    def of(self, **changes: Any) -> Plan:
        snapshot = eh.Snapshot.from_dict(CLUSTER | changes)
        return Plan(snapshot, POLICY, FakeCore(snapshot))

    def between(self, **changes: Any) -> Any:
        return self.of().diff(self.of(**changes))

    def test_a_node_more(self) -> None:
        new = {"name": "n4", "capacity": {"cpu": 1}}
        difference = self.between(nodes=[*CLUSTER["nodes"], new])
        assert difference
        assert [(c.table, c.what, c.name, c.before, c.after) for c in difference.clusters] == [
            ("nodes", "more", "n4", None, new)
        ]
        assert difference.summary == "The victims are the same. The clusters differ: 1 node more (n4)."
        assert difference.table().rows() == [("more nodes", "n4", None, "", "name n4, capacity cpu 1")]
        assert "1 in the cluster" in repr(difference)
        back = self.of(nodes=[*CLUSTER["nodes"], new]).diff(self.of())
        assert [(c.what, c.name) for c in back.clusters] == [("less", "n4")]

    def test_another_capacity(self) -> None:
        nodes = [*CLUSTER["nodes"][:2], {"name": "n3", "capacity": {"cpu": 5, "memory": 10}}]
        (found,) = self.between(nodes=nodes).clusters
        assert (found.table, found.what, found.name) == ("nodes", "other", "n3.capacity")
        assert (found.before, found.after) == ({"cpu": 4, "memory": 10}, {"cpu": 5, "memory": 10})

    @pytest.mark.parametrize(
        ("changes", "where"),
        [
            ({"total": {"cpu": 99, "memory": 210}}, ("snapshot", "other", "total")),
            ({"root": {"settings": {"x": 1}}}, ("root", "other", "root")),
            (
                {"resources": {"cpu": {}, "memory": {"quantum": 0.5}}},
                ("resources", "other", "memory.quantum"),
            ),
            ({"pools": [{"name": "P", "limits": {"cpu": 3}}]}, ("pools", "other", "P.limits")),
            ({"requests": CLUSTER["requests"][:1]}, ("requests", "less", "c")),
        ],
    )
    def test_what_else(self, changes: dict[str, Any], where: tuple[str, str, str]) -> None:
        assert [(c.table, c.what, c.name) for c in self.between(**changes).clusters] == [where]

    def test_the_instant_alone_is_no_difference(self) -> None:
        difference = self.between(now=101)
        assert not difference
        assert difference.summary == "The victims are the same."

    def test_many_are_counted(self) -> None:
        nodes = [{"name": f"m{i}", "capacity": {"cpu": 1}} for i in range(5)]
        summary = self.between(nodes=[*CLUSTER["nodes"], *nodes]).summary
        assert summary.endswith("5 nodes more (m0, m1, m2 and 2 more).")

    def test_names_cannot_touch_the_terminal(self) -> None:
        nodes = [*CLUSTER["nodes"], {"name": "\x1b[31m", "capacity": {"cpu": 1}}]
        difference = self.between(nodes=nodes)
        for text in (repr(difference), difference._repr_html_(), difference.summary):
            assert "\x1b" not in text


def test_slurm_reservations_are_seen() -> None:
    """A cluster in which one plan reserves room and the other does not."""
    from tests.unit.slurm.test_plan import cluster, policy

    snapshot = cluster({"wide": ("low", [1, 2], 4)})
    plan, other = eh.plan(snapshot, policy()), eh.plan(snapshot, policy(PreemptType=None, PreemptMode="OFF"))
    assert [d.action for d in other.diff(plan).gained] == ["reserve"]
    assert not plan.diff(plan)
