"""Changes of the input that must change the shares in a known way, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evenhand.testing import metamorphic as laws
from tests.properties.computing import IMPLEMENTATIONS, Inputs, inputs

both = pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
pools = {"min_pools": 1, "min_operations": 2}


@both
@given(drawn=inputs(**pools, ties=True), source=st.data())
def test_with_ties(implementation: str, drawn: Inputs, source: st.DataObject) -> None:
    data, settings = drawn
    compute = IMPLEMENTATIONS[implementation](settings)
    laws.fast_fifo_agrees(data, compute)
    laws.names_only_name(data, compute)
    tables = [t for t in ("pools", "operations", "nodes", "allocations", "requests") if t in data]
    permutation = {t: source.draw(st.permutations(range(len(data[t])))) for t in tables}
    laws.row_order_is_irrelevant(data, compute, permutation)


@both
@given(drawn=inputs(ties=True))
def test_repeated_update_agrees(implementation: str, drawn: Inputs) -> None:
    data, settings = drawn
    laws.repeated_update_agrees(data, IMPLEMENTATIONS[implementation](settings))


@both
@given(
    drawn=inputs(**pools),
    factor=st.sampled_from((2.0, 0.125, 3.0)),
    source=st.data(),
    weight=st.floats(0.01, 100),
)
def test_weights(
    implementation: str, drawn: Inputs, factor: float, source: st.DataObject, weight: float
) -> None:
    data, settings = drawn
    compute = IMPLEMENTATIONS[implementation](settings)
    laws.weights_scale(data, compute, factor)
    pool = source.draw(st.sampled_from([None, *(row["name"] for row in data["pools"])]))
    laws.idle_operation_changes_nothing(data, compute, pool, weight)


@both
@given(drawn=inputs(**pools, gangs=False), source=st.data())
def test_without_gangs(implementation: str, drawn: Inputs, source: st.DataObject) -> None:
    data, settings = drawn
    compute = IMPLEMENTATIONS[implementation](settings)
    laws.improved_agrees(data, compute)
    fifo = {row["name"] for row in data["pools"] if row.get("mode") == "fifo"}
    candidates = [row["name"] for row in data["operations"] if row["pool"] not in fifo]
    assume(candidates)
    laws.doubled_weight_never_lowers(data, compute, source.draw(st.sampled_from(candidates)))


@both
@given(drawn=inputs(**pools, gangs=False, allow_fifo=False), source=st.data())
def test_operation_order_is_irrelevant(implementation: str, drawn: Inputs, source: st.DataObject) -> None:
    data, settings = drawn
    order = source.draw(st.permutations(range(len(data["operations"]))))
    laws.operation_order_is_irrelevant(data, IMPLEMENTATIONS[implementation](settings), order)


@both
@given(
    drawn=inputs(**pools, allow_guarantees=False, allow_integral=False), factor=st.sampled_from((2, 16, 3))
)
def test_amounts_scale(implementation: str, drawn: Inputs, factor: int) -> None:
    data, settings = drawn
    laws.amounts_scale(data, IMPLEMENTATIONS[implementation](settings), factor)
