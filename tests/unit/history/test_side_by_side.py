"""The four systems on one snapshot: the mapping, and each column against its system's own function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import InputError
from evenhand.history import Decay, ShareTree, backendai, gridengine, side_by_side, slurm
from evenhand.history.decay import DAY

NOW = 30.0 * DAY
SNAPSHOT = eh.Snapshot.from_dict(
    {
        "resources": {"cpu": {}, "gpu": {}},
        "now": NOW,
        "total": {"cpu": 100, "gpu": 8},
        "pools": [
            {"name": "lab", "weight": 3},
            {"name": "group", "parent": "lab"},
            {"name": "other"},
        ],
        "operations": [
            {"name": "o1", "pool": "group", "user": "ann", "demand": {"cpu": 50}, "usage": {"cpu": 5}},
            {"name": "o2", "pool": "lab", "demand": {"cpu": 70}},
            {"name": "o3", "pool": "other", "user": "bob", "demand": {"cpu": 40}},
            {"name": "o4", "pool": "other", "user": "ann", "demand": {"cpu": 40}},
            {"name": "o5", "pool": "other", "user": "ann", "demand": {"cpu": 40}},
        ],
    }
)
HISTORY = [
    {"pool": "group", "user": "ann", "time": NOW - DAY, "usage.cpu": 1e5, "usage.gpu": 100},
    {"pool": "other", "user": "bob", "time": NOW - 7 * DAY, "usage.cpu": 3e5},
    {"pool": "other", "user": "cy", "time": NOW - 28 * DAY, "usage.cpu": 6e5},
]
KEYS = [
    ("pool", "group"),
    ("pool", "lab"),
    ("pool", "other"),
    ("user", "ann", "group"),
    ("operation", "o2"),
    ("user", "ann", "other"),
    ("user", "bob"),
    ("user", "cy"),
]


def column(table: Any, name: str) -> list[Any]:
    return np.asarray(table[name]).tolist()


def tree(decay: Decay) -> ShareTree:
    left = decay.factor([DAY, 7 * DAY, 28 * DAY]) * [1e5, 3e5, 6e5]
    rows = {
        "group": {"parent": "lab", "active": False},
        "lab": {"shares": 3, "active": False},
        "other": {"active": False},
        "ann in group": {"parent": "group", "usage": left[0]},
        "o2": {"parent": "lab"},
        "ann in other": {"parent": "other"},
        "bob": {"parent": "other", "usage": left[1]},
        "cy": {"parent": "other", "usage": left[2], "active": False},
    }
    return ShareTree.from_dict(rows)


def test_rows_are_pools_then_users_of_pools() -> None:
    table = side_by_side(SNAPSHOT, HISTORY)
    assert table["kind"] == [key[0] for key in KEYS]
    assert table["name"] == [key[1] for key in KEYS]
    assert table["parent"] == ["lab", None, None, "group", "lab", "other", "other", "other"]
    assert column(table, "weight") == [1, 3, 1, 1, 1, 1, 1, 1]


def test_ytsaurus_shares_are_those_of_the_fair_share_summed_by_user() -> None:
    table = side_by_side(SNAPSHOT, HISTORY)
    names = SNAPSHOT.element_names
    shares = np.asarray(eh.fair_share(SNAPSHOT)["fair_share"])

    def owed(*elements: str) -> float:
        return float(sum(shares[names.index(element)] for element in elements).max())

    expected = [
        owed("group"),
        owed("lab"),
        owed("other"),
        owed("o1"),
        owed("o2"),
        owed("o4", "o5"),
        owed("o3"),
        0,
    ]
    assert column(table, "ytsaurus.fair_share") == pytest.approx(expected)
    assert column(table, "ytsaurus.usage_share") == pytest.approx([0.05, 0.05, 0, 0.05, 0, 0, 0, 0])
    # Nobody but ann in group has anything; cy is owed nothing.
    assert column(table, "ytsaurus.rank") == [0, 0, 0, 4, 1, 1, 1, 5]


def test_slurm_and_grid_engine_are_their_own_functions() -> None:
    table = side_by_side(SNAPSHOT, HISTORY)
    associations = tree(Decay.slurm())
    classic = slurm.classic(associations)
    for name in ("norm_shares", "usage"):
        assert column(table, f"slurm.{name}") == pytest.approx(column(classic, name))
    assert column(table, "slurm.classic_factor") == pytest.approx(column(classic, "factor"))
    assert table["slurm.fair_tree_factor"] == pytest.approx(
        slurm.fair_tree(associations)["factor"], nan_ok=True
    )
    targets = gridengine.share_tree(tree(Decay.gridengine()))
    for name in ("long_term", "short_term"):
        assert column(table, f"gridengine.{name}") == pytest.approx(column(targets, name))
    assert column(table, "gridengine.rank") == [0, 0, 0, 3, 1, 2, 4, 5]


def test_backend_ai_forgets_after_the_window_and_sorts_by_domain_project_user() -> None:
    table = side_by_side(SNAPSHOT, HISTORY)
    ann = {"cpu": 1e5 * 2 ** (-1 / 7), "gpu": 100 * 2 ** (-1 / 7)}
    bob = {"cpu": 1.5e5, "gpu": 0.0}
    zero = {"cpu": 0.0, "gpu": 0.0}
    rows = [ann, ann, bob, ann, zero, zero, bob, zero]
    usage = backendai.normalised_usage(
        {r: [row[r] for row in rows] for r in ("cpu", "gpu")}, {"cpu": 100, "gpu": 8}
    )
    assert column(table, "backendai.normalised_usage") == pytest.approx(usage.tolist())
    weights = [1, 3, 1, 1, 1, 1, 1, 1]
    recorded = [True, True, True, True, False, False, True, False]
    factor = backendai.factor(usage, weights, recorded=recorded)
    assert column(table, "backendai.factor") == pytest.approx(factor.tolist())
    # lab before other; in lab its own o2 before group's ann; in other bob has a record.
    assert column(table, "backendai.rank") == [0, 0, 0, 2, 1, 4, 3, 4]


def test_backend_ai_as_documented_uses_the_product_of_weights() -> None:
    table = side_by_side(SNAPSHOT, HISTORY, preset="documented")
    factors = column(table, "backendai.factor")
    assert factors[4:6] == [1, 1]  # no record comes first
    usage = column(table, "backendai.normalised_usage")
    assert factors[3] == pytest.approx(2 ** -(usage[3] / 3))
    # Flat within a half-life: ann's day counts in full, bob's week by half; gpus weigh 10 in 8 of 100.
    assert usage[3] / usage[6] == pytest.approx((1e5 / 100 + 10 * 100 / 8) / (1.5e5 / 100))
    assert column(table, "backendai.rank")[3:] == [4, 1, 1, 5, 1]


def test_history_comes_as_rows_columns_or_frames() -> None:
    polars = pytest.importorskip("polars")
    fields = ("pool", "user", "time", "usage.cpu", "usage.gpu")
    columns = {field: [row.get(field) for row in HISTORY] for field in fields}
    expected = side_by_side(SNAPSHOT, HISTORY).to_dict()
    for data in (columns, polars.DataFrame(columns), polars.DataFrame(columns).to_arrow()):
        got = side_by_side(SNAPSHOT, data).to_dict()
        assert repr(got) == repr(expected)


def test_without_history_nobody_is_behind() -> None:
    table = side_by_side(SNAPSHOT)
    assert column(table, "slurm.classic_factor")[:3] == [1, 1, 1]
    assert column(table, "slurm.rank")[3:] == [1, 1, 1, 1]
    assert column(table, "gridengine.short_term") == column(table, "gridengine.long_term")


def test_billing_weights_choose_what_counts() -> None:
    table = side_by_side(SNAPSHOT, HISTORY, billing_weights={"gpu": 1.0})
    assert column(table, "slurm.usage")[3:] == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        ({"pool": "nowhere"}, "pool", "reference"),
        ({"pool": ["lab"]}, "pool", "reference"),
        ({"user": None}, "user", "name"),
        ({"time": NOW + 1}, "time", "range"),
        ({"time": "yesterday"}, "time", "type"),
        ({"usage.cpu": -1.0}, "usage.cpu", "range"),
        ({"usage.cpu": float("nan")}, "usage.cpu", "finite"),
        ({"usage.tpu": 1.0}, "usage.tpu", "unknown_field"),
    ],
)
def test_wrong_history_is_refused(change, field, rule) -> None:
    with pytest.raises(InputError) as caught:
        side_by_side(SNAPSHOT, [HISTORY[1], {**HISTORY[1], **change}])
    problem = caught.value.problems[0]
    assert (problem.table, problem.field, problem.rule) == ("usage_history", field, rule)
    assert problem.row == (None if rule == "unknown_field" else 1)


def test_missing_columns_and_unknown_weights_are_refused() -> None:
    with pytest.raises(InputError, match="time: expected this column"):
        side_by_side(SNAPSHOT, {"user": ["ann"]})
    with pytest.raises(InputError, match="name of a resource"):
        side_by_side(SNAPSHOT, billing_weights={"tpu": 1.0})
