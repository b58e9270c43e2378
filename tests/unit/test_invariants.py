"""The laws tell right from wrong, in the words of the field; what is not promised has a counterexample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.testing import invariants
from evenhand.testing.assertions import SharesLike, assert_shares_close
from evenhand.testing.invariants import check_shares

CLUSTER = {
    "resources": {"cpu": {"quantum": 1}, "memory": {}},
    "now": 60,
    "previous_update": 0,
    "total": {"cpu": 100, "memory": 1000},
    "pools": [
        {"name": "a", "strong_guarantee": {"cpu": 30}, "compute_promised_guarantee": True},
        {
            "name": "b",
            "limits": {"cpu": 60},
            "integral": {
                "type": "burst",
                "resource_flow": {"cpu": 10},
                "burst": {"cpu": 20},
                "accumulated_volume": {"cpu": 60000, "memory": 600000},
            },
        },
        {"name": "c", "parent": "a"},
    ],
    "operations": [
        {"name": "x", "pool": "c", "demand": {"cpu": 70, "memory": 300}, "usage": {"cpu": 20, "memory": 100}},
        {"name": "y", "pool": "b", "demand": {"cpu": 80, "memory": 500}},
    ],
}


class Tampered:
    """Shares of which one number was changed."""

    def __init__(self, shares: eh.Shares, quantity: str, row: int, value: float) -> None:
        self.shares, self.quantity, self.row, self.value = shares, quantity, row, value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shares, name)

    def __getitem__(self, quantity: str) -> np.ndarray:
        values = np.array(self.shares[quantity], float)
        if quantity == self.quantity:
            values[self.row, ...] = self.value
        return values


@pytest.fixture
def shares() -> eh.Shares:
    return eh.fair_share(eh.Snapshot.from_dict(CLUSTER))


def test_right_shares_obey_all_laws(shares: eh.Shares) -> None:
    assert shares["fair_share.integral_guarantee"].any()
    assert shares["fair_share.strong_guarantee"].any()
    check_shares(shares)


ROOT, A, B, C, X, Y = range(6)


@pytest.mark.parametrize(
    ("quantity", "row", "value", "message"),
    [
        ("usage_share", X, 0.8, "law 1: operation 'x', cpu: usage stays within demand, but usage 0.8"),
        ("limits_share", B, 1.5, "law 1: pool 'b', cpu: limits share is within 0 and 1"),
        ("strong_guarantee_share", B, 0.7, "law 4: pool 'b', cpu: strong guarantee is within limits"),
        ("strong_guarantee_share", C, 0.5, "law 4: pool 'a', cpu: children's strong guarantees fit"),
        ("proposed_integral_share", B, 0.7, "law 5: pool 'b', cpu: strong and integral guarantee"),
        ("fair_share", C, 0.9, "law 7: pool 'a', cpu: children's fair_share fits"),
        ("promised_guarantee_fair_share", C, 0.9, "law 7: pool 'a', cpu: children's promised_guarantee"),
        ("demand_share", ROOT, 0.1, "law 8: pool '<Root>', cpu: fair_share is within demand"),
        ("fair_share.weight_proportional", X, -0.1, "law 9: operation 'x', cpu: fair_share.weight_prop"),
        ("fair_share.weight_proportional", X, 0.9, "law 9: operation 'x', cpu: the parts of fair_share"),
        ("fair_share.weight_proportional", X, np.nan, "law 9: operation 'x', cpu: .* is a share"),
        ("volume.accumulated_after", B, -1, "law 10: pool 'b', cpu: a volume is not negative"),
        ("volume.accumulated_after", B, 9e9, "law 10: pool 'b', cpu: a volume does not rise above capacity"),
        ("limits_share", X, 0.1, "law 14: operation 'x', cpu: fair_share is within limits"),
        ("fair_share", X, 0.0, "law 15: pool 'c', cpu: children's fair share adds up"),
    ],
)
def test_wrong_shares_break_a_law(
    shares: eh.Shares, quantity: str, row: int, value: float, message: str
) -> None:
    wrong = Tampered(shares, quantity, row, value)
    result = invariants.Result(wrong, shares.snapshot, shares.settings)
    told = []
    for law in invariants.LAWS.values():
        try:
            law(result)
        except AssertionError as error:
            told.append(str(error))
    with pytest.raises(AssertionError, match="law"):
        check_shares(wrong)
    with pytest.raises(AssertionError, match=message.replace("(", r"\(")):
        raise AssertionError("\n".join(told))


def test_parts_beyond_a_guarantee_break_a_law(shares: eh.Shares) -> None:
    moved = Tampered(shares, "strong_guarantee_share", X, 0)
    moved_back = Tampered(moved, "fair_share.strong_guarantee", X, 0.1)  # type: ignore[arg-type]
    weights = shares["fair_share.weight_proportional"][X] - 0.1
    result = Tampered(moved_back, "fair_share.weight_proportional", X, weights)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=r"law 9: operation 'x', cpu: strong part of fair_share"):
        invariants.parts_add_up(invariants.Result(result, shares.snapshot, shares.settings))


def test_ties_leave_out_what_they_break() -> None:
    assert set(invariants.LAWS) - set(invariants.HARD) == {"children_add_up"}


def test_equal_shares_are_close(shares: eh.Shares) -> None:
    assert_shares_close(shares, shares, 0)


def test_differences_are_told_largest_first(shares: eh.Shares) -> None:
    other = Tampered(Tampered(shares, "usage_share", X, 0.5), "demand_share", Y, 0.9)  # type: ignore[arg-type]
    with pytest.raises(AssertionError) as told:
        assert_shares_close(other, shares)
    lines = str(told.value).splitlines()
    assert lines[0] == "shares differ by more than 1e-09:"
    assert lines[1] == "  operation 'x', usage_share, memory: 0.5, expected 0.10000000000000001 (off by 0.4)"
    assert lines[2].startswith("  operation 'y', demand_share, memory: 0.9")
    assert len(lines) == 5


def test_many_differences_are_counted(shares: eh.Shares) -> None:
    other = eh.fair_share(eh.Snapshot.from_dict(CLUSTER | {"total": {"cpu": 50, "memory": 700}}))
    with pytest.raises(AssertionError, match=r"\.\.\. and \d+ more$"):
        assert_shares_close(other, shares)


def test_nan_differs_from_a_number(shares: eh.Shares) -> None:
    wrong = Tampered(shares, "usage_share", X, np.nan)
    with pytest.raises(AssertionError, match="nan"):
        assert_shares_close(wrong, shares, 1)
    assert_shares_close(wrong, wrong, 0)


def test_amounts_are_compared_relatively(shares: eh.Shares) -> None:
    value = shares["volume.accumulated_after"][B, 0]
    near = Tampered(shares, "volume.accumulated_after", B, value * (1 + 1e-10))
    assert_shares_close(near, Tampered(shares, "volume.accumulated_after", B, value))


def test_order_of_elements_does_not_matter(shares: eh.Shares) -> None:
    reversed_rows = [{**row, "order": -i} for i, row in enumerate(CLUSTER["operations"])]
    other = eh.fair_share(eh.Snapshot.from_dict(CLUSTER | {"operations": reversed_rows}))
    assert other.names != shares.names
    assert_shares_close(other, shares)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operations": CLUSTER["operations"][:1]}, r"missing \[\"operation 'y'\"\], unexpected none"),
        ({"resources": {"memory": {}, "cpu": {"quantum": 1}}}, "resources differ"),
    ],
)
def test_other_elements_or_resources_are_told(shares: eh.Shares, change: dict, message: str) -> None:
    other = eh.fair_share(eh.Snapshot.from_dict(CLUSTER | change))
    with pytest.raises(AssertionError, match=message):
        assert_shares_close(other, shares)


def computed(operations: list[dict[str, Any]], **settings: Any) -> SharesLike:
    data = {
        "resources": {"cpu": {"quantum": 1}, "memory": {}},
        "total": {"cpu": 100, "memory": 100},
        "operations": operations,
    }
    return eh.fair_share(eh.Snapshot.from_dict(data), eh.FairShareSettings(**settings))


def test_no_pareto_efficiency() -> None:
    """Law 22 is not promised: half of the cpu is left over although someone wants it."""
    wants = [{"memory": 100}, {"memory": 100}, {"cpu": 100}]
    shares = computed([{"name": i, "demand": demand} for i, demand in enumerate(wants)])
    np.testing.assert_allclose(shares["fair_share"], [[0.5, 1], [0, 0.5], [0, 0.5], [0.5, 0]], atol=1e-12)


def test_no_share_for_a_gang_that_wants_everything() -> None:
    """Law 26 is not promised: a gang that just fits into the empty cluster gets nothing."""
    gang = {"name": "gang", "gang": True}
    everything = computed([{**gang, "demand": {"cpu": 100}}], step_function_for_gang=True)
    assert not everything["fair_share"].any()
    almost = computed([{**gang, "demand": {"cpu": 99}}], step_function_for_gang=True)
    np.testing.assert_allclose(almost["fair_share"][:, 0], 0.99, atol=1e-12)


def test_no_monotonicity_in_the_demand() -> None:
    """Law 23 is not promised: who asks for more memory besides gets less cpu."""
    rival = {"name": "rival", "demand": {"cpu": 100, "memory": 100}}
    modest = computed([rival, {"name": "me", "demand": {"cpu": 100, "memory": 10}}])
    greedy = computed([rival, {"name": "me", "demand": {"cpu": 100, "memory": 200}}])
    me = list(modest.names).index("me")
    assert greedy["fair_share"][me, 0] < modest["fair_share"][me, 0] - 0.1
