"""Published numbers of Slurm, and what its rules say at their edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.errors import InputError
from evenhand.history import ShareTree
from evenhand.history.slurm import age_factor, billing, classic, fair_tree, priority

# Classic fair share documentation: usages 20, 25, 0, 25, 0 of 100.
DOCUMENTED = ShareTree.from_dict(
    {
        "A": {"shares": 40},
        "D": {"shares": 60},
        "B": {"parent": "A", "shares": 30},
        "C": {"parent": "A", "shares": 10},
        "E": {"parent": "D", "shares": 25},
        "F": {"parent": "D", "shares": 35},
        "User1": {"parent": "B", "usage": 20.0},
        "User2": {"parent": "C", "usage": 25.0},
        "User3": {"parent": "C"},
        "User4": {"parent": "E", "usage": 25.0},
        "User5": {"parent": "F"},
    }
)


def test_classic_example() -> None:
    table = classic(DOCUMENTED, total=100)
    assert table["name"][6:] == ["User1", "User2", "User3", "User4", "User5"]
    assert table["norm_shares"][6:] == pytest.approx([0.3, 0.05, 0.05, 0.25, 0.35])
    assert table["effective_usage"][6:] == pytest.approx([0.3875, 0.275, 0.15, 0.25, 0.145833], abs=1e-6)
    assert table["factor"][6:] == pytest.approx([0.408479, 0.022097, 0.125, 0.5, 0.749154], abs=1e-6)


def test_dampening_flattens() -> None:
    plain, damped = classic(DOCUMENTED), classic(DOCUMENTED, fair_share_dampening_factor=3)
    assert damped["factor"] == pytest.approx(plain["factor"] ** (1 / 3))


def test_classic_parent_stands_for_its_account() -> None:
    tree = ShareTree.from_dict(
        {
            "A": {"shares": 3},
            "B": {"shares": 1},
            "a1": {"parent": "A", "shares": "parent", "usage": 2.0},
            "a2": {"parent": "A", "usage": 1.0},
            "b": {"parent": "B", "usage": 1.0},
        }
    )
    table = classic(tree)
    assert table["norm_shares"].tolist() == [0.75, 0.25, 0.75, 0.75, 0.25]
    assert table["factor"][2] == table["factor"][0]


@pytest.mark.parametrize(
    "wrong",
    [{"total": 0}, {"total": math.nan}, {"fair_share_dampening_factor": 0}, {"root": "nobody"}],
)
def test_classic_refuses(wrong) -> None:
    with pytest.raises(InputError) as caught:
        classic(DOCUMENTED, **wrong)
    assert caught.value.problems[0].field == next(iter(wrong))


def test_fair_tree_ties_are_true_ties() -> None:
    tree = ShareTree.from_dict(
        {
            "u1": {"shares": 40, "usage": 20.0},
            "u2": {"shares": 50, "usage": 25.0},
            "u3": {"shares": 80, "usage": 65.0},
            "none": {"shares": 0, "usage": 0.0},
            "new": {"shares": 1},
        }
    )
    exact = fair_tree(tree)
    assert exact["rank"].tolist() == [4, 4, 2, 1, 5]
    assert exact["factor"].tolist() == [0.8, 0.8, 0.4, 0.2, 1.0]
    assert exact["level_fair_share"][3:].tolist() == [0, math.inf]


def test_fair_tree_ties_of_rounded_numbers_may_differ() -> None:
    users = {"u1": (40, 20.0), "u2": (50, 25.0), "u3": (80, 65.0)}
    tree = ShareTree.from_dict({name: {"shares": s, "usage": u} for name, (s, u) in users.items()})
    assert fair_tree(tree)["rank"].tolist() == [3, 3, 1]
    assert fair_tree(tree, ties="floating")["rank"].tolist() == [2, 3, 1]


def test_fair_tree_tied_accounts() -> None:
    rows = {"A": {}, "B": {}}
    for account in rows.copy():
        rows[account + "1"] = {"parent": account, "usage": 1.0}
        rows[account + "2"] = {"parent": account, "usage": 3.0}
    tree = ShareTree.from_dict(rows)
    assert fair_tree(tree)["rank"].tolist() == [0, 0, 4, 3, 3, 1]
    assert fair_tree(tree, tied_accounts="documented")["rank"].tolist() == [0, 0, 4, 2, 4, 2]


def test_fair_tree_parent() -> None:
    tree = ShareTree.from_dict(
        {
            "lab": {},
            "group": {"parent": "lab", "shares": "parent"},
            "in_group": {"parent": "group", "shares": 1, "usage": 3.0},
            "in_lab": {"parent": "lab", "shares": 1, "usage": 1.0},
            "first": {"parent": "lab", "shares": "parent", "usage": 9.0},
        }
    )
    table = fair_tree(tree)
    assert np.isnan(table["level_fair_share"][1])
    assert table["level_fair_share"][2:].tolist() == pytest.approx([0.5 / (3 / 13), 0.5 / (1 / 13), math.inf])
    assert table["rank"].tolist() == [0, 0, 1, 2, 3]
    assert np.isnan(table["factor"][:2]).all()


def test_fair_tree_refuses_unknown_switches() -> None:
    with pytest.raises(InputError, match=r"exact', 'floating"):
        fair_tree(DOCUMENTED, ties="rounded")
    with pytest.raises(InputError, match="must be one of 'upstream', 'documented'"):
        fair_tree(DOCUMENTED, tied_accounts="merged")


def test_priority_adds_weighted_factors_and_is_at_least_one() -> None:
    factors = {"age": age_factor([0, 3.5 * 86400, 1e9]), "fairshare": [0.5, 0.25, 1.0]}
    got = priority(factors, {"age": 1000, "fairshare": 10_000}, site=[0, 0, 7], nice=[9_000, 0, 0])
    assert got.tolist() == [1, 3000, 11_007]
    assert priority(factors, {}).tolist() == [1, 1, 1]
    with pytest.raises(InputError, match="name of a factor"):
        priority(factors, {"qos": 1})
    with pytest.raises(InputError, match="at most 1"):
        priority({"age": [1.5]}, {"age": 1})


def test_priority_is_cut_to_a_whole_number() -> None:
    factors = {"age": [0.2, 0.25, 0.2999, 0.3]}
    assert priority(factors, {"age": 10}).tolist() == [2, 2, 2, 3]
    assert priority(factors, {"age": 2**34}).tolist() == [int(0.2 * 2**34), *[2**32 - 1] * 3]


def test_billing_sums_or_takes_the_largest_of_a_node() -> None:
    tres, weights = [[4, 16, 2], [8, 8, 0]], [1, 0.25, 3]
    assert billing(tres, weights).tolist() == [14, 10]
    assert billing(tres, weights, max_tres=True, per_node=[True, True, False]).tolist() == [10, 8]
