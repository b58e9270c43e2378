"""What a plan says of the fewest victims: the proof in the numbers, the spent budget as a diagnostic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import _core
from evenhand.testing.fewest import cheapest, check_minimum, covers

HARD = [(1, 3), (5, 0), (1, 5), (1, 4)]  # all of them go for (4, 10), the bound alone says 3


def plan(sizes: list[tuple[int, int]], need: tuple[int, int], **settings: Any) -> eh.Plan:
    """Allocations from the newest to the oldest on a full node, and a starving request."""
    cpus, memory = map(sum, zip(*sizes, strict=True))
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {}, "memory": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": cpus, "memory": memory}}],
            "operations": [{"name": "old"}, {"name": "new"}],
            "allocations": [
                {"name": f"a{i}", "operation": "old", "node": "n", "start_time": 50 - i}
                | {"resources": {"cpu": cpu, "memory": mem}}
                for i, (cpu, mem) in enumerate(sizes)
            ],
            "requests": [{"name": "r", "operation": "new", "resources": {"cpu": need[0], "memory": need[1]}}],
        }
    )
    groups = dict.fromkeys(snapshot.names("allocations"), "preemptible")
    given = {"starvation": {"new": "starving"}, "groups": groups}
    return eh.plan(snapshot, eh.policies.YTsaurus(**settings), given=given)


def victims(made: eh.Plan) -> list[Any]:
    return [d.allocation for d in made.decisions.victims]


def test_numbers_hold_the_proof() -> None:
    made = plan([(1, 1), (2, 1), (2, 1), (4, 4)], (4, 1), victim_selection="minimum")
    assert victims(made) == ["a3"]
    proof = {"cost": 1, "lower_bound": 1, "proved": True, "first": True}
    assert [d.numbers["minimum"] for d in made.decisions] == [proof, proof]  # the victim, the start
    assert made.to_dict()["decisions"][0]["numbers"]["minimum"] == proof
    assert not [d for d in made.diagnostics if d.code == "minimum_budget_spent"]
    assert "One victim is the fewest that make room for it." in made.why("a3").sentences


def test_a_spent_budget_is_told() -> None:
    made = plan(HARD, (4, 10), victim_selection="minimum", minimum_budget=1)
    assert victims(made) == ["a0", "a1", "a2", "a3"]
    numbers = {"cost": 4, "lower_bound": 3, "proved": False, "first": False}
    assert made.decisions[0].numbers["minimum"] == numbers
    (told,) = [d for d in made.diagnostics if d.code == "minimum_budget_spent"]
    assert told.elements == ("new",)
    assert told.numbers == {"steps": 1, "size_proved": 0, "budget": 1}
    assert "At least 3 must leave and 4 suffice" in made.why("a0").text


def test_a_larger_budget_settles_it() -> None:
    made = plan(HARD, (4, 10), victim_selection="minimum")
    assert made.decisions[0].numbers["minimum"] == {
        "cost": 4,
        "lower_bound": 4,
        "proved": True,
        "first": True,
    }
    assert not made.diagnostics


@pytest.mark.parametrize("selection", ["prefix", "irreducible"])
def test_other_selections_prove_nothing(selection: str) -> None:
    made = plan(HARD, (4, 10), victim_selection=selection)
    assert made.decisions.victims
    assert all("minimum" not in d.numbers for d in made.decisions)


def test_a_step_without_victims_proves_nothing() -> None:
    made = plan([(1, 1)], (0, 0), victim_selection="minimum")
    assert [d.action for d in made.decisions] == ["start"]
    assert "minimum" not in made.decisions[0].numbers


def test_all_subsets() -> None:
    assert cheapest([[1], [2], [2]], [3]) == (0, 1)
    assert cheapest([[1], [2], [2]], [4]) == (1, 2)
    assert cheapest([[1]], [2]) is None
    assert cheapest([], [0, -3]) == ()
    assert covers([[1, 0], [0, 1]], [1, -1], [0])
    assert not covers([[1, 0], [0, 1]], [1, 1], [0])


def proof(**changes: Any) -> dict[str, Any]:
    claims = {"cost": 2, "lower_bound": 2, "root_bound": 2, "proved": True, "first": True}
    return {**claims, "multipliers": [0.25], **changes}


def test_what_a_proof_rests_on() -> None:
    amounts = [[2], [2], [4], [4]]
    assert check_minimum(amounts, [6], [0, 2], proof()) == ("certified", "enumerated")
    assert check_minimum(amounts, [6], [0, 2], proof(root_bound=1)) == ("enumerated", "enumerated")
    unproved = proof(root_bound=1, lower_bound=1, proved=False, first=False)
    assert check_minimum(amounts, [6], [1, 3], unproved) == ("open", "open")
    many = [*amounts, *([[1]] * 13)]
    assert check_minimum(many, [6], [0, 2], proof(root_bound=1)) == ("claimed", "claimed")
    # Multipliers say nothing of the order: this set is not the first.
    later = check_minimum(
        [[1]] * 17, [3], [14, 15, 16], proof(cost=3, lower_bound=3, root_bound=3, multipliers=[1])
    )
    assert later == ("certified", "claimed")


@pytest.mark.parametrize(
    ("taken", "costs", "changes", "message"),
    [
        ([-4, 0, 1], None, {"cost": 3}, "from 0 to 3"),
        ([-3, 1], None, {}, "from 0 to 3"),  # one candidate twice
        ([0, 4], None, {}, "from 0 to 3"),
        ([0, 2], None, {"multipliers": [float("nan")]}, "not finite"),
        ([0, 2], None, {"multipliers": [float("inf")]}, "not finite"),
        ([0, 2], None, {"multipliers": []}, "0 multipliers"),
        ([0, 2], None, {"multipliers": [0.25, 1.0]}, "2 multipliers"),
        ([0, 2], None, {"lower_bound": 2.9}, "whole numbers"),
        ([0, 2], [1, 1, 1], {}, "3 costs"),
        ([0, 2], [1, 1, 1, 1, 5], {}, "5 costs"),
        ([0, 2], [0, 1, 0, 1], {"cost": 0}, "less than 1"),
        ([0, 2], [1.5, 1, 1.5, 1], {}, "whole numbers"),
    ],
)
def test_forged_proofs_are_refused(
    taken: list[int], costs: list[Any] | None, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check_minimum([[2], [2], [4], [4]], [6], taken, proof(**changes), costs)


def test_costs_of_candidates_of_no_use_do_not_round() -> None:
    """The bound is a multiple of the costs of those that help, not of all."""
    rows, lacks, costs = [[6], [0]], [5], [10**9, 1]
    found = _core.select_victims(np.array(rows), np.array(lacks), "minimum", 100, np.array(costs))
    assert check_minimum(rows, lacks, found["taken"].tolist(), found, costs) == ("certified", "enumerated")


def test_a_bound_that_is_too_high_is_seen() -> None:
    with pytest.raises(AssertionError, match="victims suffice, below the bound"):
        check_minimum([[2], [2], [4]], [4], [0, 1], proof(root_bound=1))
