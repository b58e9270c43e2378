"""The front of a sweep."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh

CELLS = st.sampled_from([0.0, 1.0, 2.0, 3.0, math.nan])


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12))
def test_nothing_is_better_than_a_row_of_the_front(rows: list[tuple[float, ...]]) -> None:
    frame = {"row": list(range(len(rows))), **{name: [r[i] for r in rows] for i, name in enumerate("abc")}}
    front = eh.sweep.pareto(frame, minimize=["a", "b"], maximize=["c"])
    known = [i for i, row in enumerate(rows) if not any(map(math.isnan, row))]

    def beats(i: int, j: int) -> bool:
        one, other = ((a, b, -c) for a, b, c in (rows[i], rows[j]))
        return all(x <= y for x, y in zip(one, other, strict=True)) and one != other

    assert list(front["row"]) == [j for j in known if not any(beats(i, j) for i in known)]


def test_frames_of_others() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2], "b": [2, 1], "c": [5, 5]})
    assert len(eh.sweep.pareto(frame, minimize=["a", "b"])) == 2
    with pytest.raises(eh.InputError, match="of a, b, c"):
        eh.sweep.pareto(frame, minimize=["d"])
    with pytest.raises(eh.InputError, match="names of columns"):
        eh.sweep.pareto(frame)
