"""The core tells decisions in the amounts and instants that snapshots have."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.building.readback import NO_TIME
from evenhand.plans.columns import objects, seconds_of
from evenhand.plans.decisions import Beneficiary, Decision, Decisions
from evenhand.reasons import ACTIONS, MODES

MOST = 2**60
AMOUNTS = ("freed", "free_before", "needed", "usage_before", "kept")
CODES = ("action", "mode", "reason", "stage")
ROWS = ("allocation", "request", "operation", "node", "beneficiary_operation", "beneficiary_request")
UNKNOWN = ("violated", "within_fair_share")

quanta = st.one_of(st.integers(0, 5), st.integers(0, 10**7), st.integers(0, MOST))


def decided(quantum: float, **columns: Any) -> Decision:
    """One decision about the only row of each table."""
    snapshot = eh.Snapshot.from_dict(
        {
            "resources": {"cpu": {"quantum": quantum}},
            "nodes": [{"name": "n"}],
            "operations": [{"name": "o"}],
            "allocations": [{"name": "a", "operation": "o", "node": "n"}],
            "requests": [{"name": "r", "operation": "o"}],
        }
    )
    data: dict[str, Any] = {name: np.zeros(1, np.uint8) for name in CODES}
    data |= {name: np.zeros(1, np.int32) for name in ROWS}
    data |= {name: np.full(1, -1, np.int32) for name in UNKNOWN}
    data |= {name: np.full(1, NO_TIME, np.int64) for name in ("grace", "at", "until")}
    data |= {name: np.zeros((1, 1), np.int64) for name in AMOUNTS}
    data |= {"step": np.zeros(1, np.int32), "group": np.full(1, 255, np.uint8)}
    data |= {name: np.array(cells).astype(data[name].dtype) for name, cells in columns.items()}
    (decision,) = Decisions(snapshot, data)
    return decision


@given(
    quantum=st.one_of(st.sampled_from([1.0, 0.001, 0.1, 0.3, 1e-9, 7.0, 2.0**40]), st.floats(1e-9, 1e9)),
    amount=quanta,
)
@example(quantum=1e-05, amount=5_300_000_001)
@example(quantum=0.3, amount=7)
def test_amounts_are_those_of_snapshots(quantum: float, amount: int) -> None:
    told = decided(quantum, freed=[[amount]], free_before=[[amount]])
    snapshot = eh.Snapshot.from_dict({"resources": {"cpu": {"quantum": quantum}}})
    (said,) = objects(snapshot, np.array([[amount]]))
    (zeros,) = objects(snapshot, np.array([[amount]]), zeros=True)
    assert (told.freed, told.numbers["free_before"]) == (said, zeros)
    assert [*map(type, told.freed.values())] == [*map(type, said.values())]
    assert "needed" not in told.numbers
    assert told.numbers["usage_before"] == {"cpu": 0}


@given(at=st.integers(-MOST, MOST), until=st.one_of(st.just(NO_TIME), st.integers(-MOST, MOST)))
@example(at=1_000_001, until=1_152_921_504_606_846_975)
def test_instants_are_those_of_snapshots(at: int, until: int) -> None:
    told = decided(1.0, at=[at], until=[until])
    assert [told.at, told.until] == seconds_of(np.array([at, until]))


def test_only_what_leaves_has_a_mode_and_a_grace() -> None:
    for code, action in enumerate(ACTIONS):
        told = decided(1.0, action=[code], mode=[1], grace=[2_000_000])
        assert (told.mode, told.grace) == ((MODES[1], 2.0) if action == "preempt" else (None, None))


def test_rows_that_are_not_there_have_no_names() -> None:
    told = decided(1.0, **{name: [-1] for name in ROWS})
    assert [told.allocation, told.request, told.operation, told.node, told.beneficiary] == [None] * 5
    assert "usage_before" not in told.numbers
    served = decided(1.0, beneficiary_request=[-1]).beneficiary
    assert served == Beneficiary("o", None)
