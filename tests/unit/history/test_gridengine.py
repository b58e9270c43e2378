from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import InputError
from evenhand.history import ShareTree, gridengine


def tree(**usages: float) -> ShareTree:
    shares = {"P1": 50, "P2": 50, "default": 10}
    return ShareTree.from_dict(
        {n: {"shares": s, "usage": usages[n]} for n, s in shares.items() if n in usages}
    )


def test_short_term_targets_favour_who_used_less() -> None:
    table = gridengine.share_tree(tree(P1=300.0, P2=100.0))
    assert table["short_term"].tolist() == [0.25, 0.75]
    assert table["long_term"].tolist() == [0.5, 0.5]


def test_compensation_bounds_once() -> None:
    given = tree(P1=1e5, P2=1e5, default=10.0)
    cut = gridengine.share_tree(given, compensation_factor=2)["short_term"]
    assert cut == pytest.approx([0.013317, 0.013317, 0.973366], abs=1e-6)
    off = gridengine.share_tree(given, compensation_factor=0)["short_term"]
    assert off == pytest.approx([0.002488, 0.002488, 0.995025], abs=1e-6)


def test_nodes_without_jobs_are_owed_nothing() -> None:
    rows = {
        "A": {"active": False},
        "a": {"parent": "A", "active": False},
        "B": {"active": False},
        "b": {"parent": "B"},
    }
    table = gridengine.share_tree(ShareTree.from_dict(rows))
    assert table["short_term"].tolist() == [0, 0, 1, 1]


def test_a_project_brings_its_own_usage() -> None:
    rows = {
        "P": {"usage": 100.0, "total": True},
        "Q": {"usage": 100.0, "total": True},
        "p": {"parent": "P", "usage": 1e6},
        "q": {"parent": "Q", "usage": 1.0},
    }
    assert gridengine.share_tree(ShareTree.from_dict(rows))["short_term"][:2].tolist() == [0.5, 0.5]


def test_share_tree_tickets_are_split_among_the_jobs_of_a_leaf() -> None:
    tickets = gridengine.share_tree_tickets([0.25, 0.75], [0, 1, 1], weight_tickets_share=1000)
    assert tickets.tolist() == [250, 375, 375]
    with pytest.raises(InputError, match="row below 2"):
        gridengine.share_tree_tickets([0.25, 0.75], [2], weight_tickets_share=1000)


def test_functional_tickets_are_split_by_category_owner_and_job() -> None:
    owners = {"user": (["ann", "ann", "bob"], {"ann": 30, "bob": 10}), "project": (["p", "q", "q"], {"q": 1})}
    tickets = gridengine.functional_tickets(owners, weight_tickets_functional=1000)
    assert tickets.tolist() == [93.75, 93.75 + 125, 62.5 + 125]
    with pytest.raises(InputError, match="expected user, project"):
        gridengine.functional_tickets({"queue": ([], {})}, weight_tickets_functional=1)


def test_usage_is_the_weighted_mean() -> None:
    types = {"cpu": [10.0], "mem": [4.0], "io": [8.0]}
    assert gridengine.usage(types).tolist() == [10]
    assert gridengine.usage(types, {"cpu": 1, "mem": 3}).tolist() == [5.5]
    with pytest.raises(InputError, match="above 0"):
        gridengine.usage(types, {"cpu": 0})


def test_urgency_grows_towards_the_deadline() -> None:
    got = gridengine.urgency([1000, 0, 0], [0, 10, 0], [np.inf, np.inf, 3600], weight_waiting_time=2.0)
    assert got.tolist() == [1000, 20, 1000]
    assert gridengine.urgency(free_time=-5) == gridengine.urgency(free_time=1)


def test_priority_adds_normalised_policies() -> None:
    assert gridengine.normalise([5, 10, 15]).tolist() == [0, 0.5, 1]
    assert gridengine.normalise([5, 5]).tolist() == [0.5, 0.5]
    assert gridengine.priority([0.5, 1], [1, 0], [1, 0]).tolist() == pytest.approx([0.61, 1])
    with pytest.raises(InputError, match="at most 1"):
        gridengine.priority([2], [0], [0])
