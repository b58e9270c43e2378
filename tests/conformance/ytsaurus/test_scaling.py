"""Large trees give their known check values: small inputs do not show careless sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.conformance.engines import ENGINES
from tests.conformance.ytsaurus.fair_share_oracle import run
from tests.conformance.ytsaurus.scale_input import tree
from tests.drawing import some

TOLERANCE = 1e-9

Shape = tuple[int, int, int, str]

SMALL: list[tuple[Shape, dict[str, Any], float]] = [
    ((100, 5, 4, "plain"), {}, 1.152400122156),
    ((1000, 50, 4, "plain"), {}, 1.232537149703),
    ((100, 5, 4, "full"), {}, 1.143452346441),
    ((1000, 50, 4, "full"), {}, 1.245587025053),
]
LARGE: list[tuple[Shape, dict[str, Any], float]] = [
    ((10000, 500, 4, "plain"), {}, 1.227979292012),
    ((10000, 500, 4, "full"), {}, 1.232365771064),
    ((10000, 1, 1, "plain"), {}, 1.225489559531),
    ((3000, 1, 1, "plain"), {"improved": True}, 1.231194629138),
    ((10000, 1, 1, "plain"), {"improved": True}, 1.225489559531),
    ((10000, 1, 1, "plain"), {"improved": True, "gang": 0.3}, 1.224672313486),
    ((10000, 500, 4, "full"), {"gang": 0.3}, 1.233595073318),
    ((10000, 500, 4, "full"), {"improved": True, "gang": 0.3}, 1.233595073318),
]
LARGEST: list[tuple[Shape, dict[str, Any], float]] = [
    ((100000, 5000, 4, "full"), {}, 1.211644441369),
    ((100000, 5000, 4, "plain"), {}, 1.215026708699),
]


def name(argument: Any) -> str | None:
    return "-".join(map(str, argument)) if isinstance(argument, tuple) else None


@pytest.mark.parametrize(("shape", "options", "value"), [*SMALL, *LARGE, *some(LARGEST)], ids=name)
def test_check_value(shape: Shape, options: dict[str, Any], value: float) -> None:
    """The sum over operations of the largest component of the fair share."""
    case = tree(*shape, **options)
    result = run(case, ENGINES["evenhand"])
    rows = [row for (kind, _), row in result.rows.items() if kind == "operation"]
    largest = result.quantities("fair_share")[rows].max(axis=1)
    assert math.fsum(largest) == pytest.approx(value, abs=TOLERANCE)
    children_fill_their_pools(case, result)


def children_fill_their_pools(case: dict[str, Any], result: Any) -> None:
    """What the children of a pool got is what the pool got, to the last digits."""
    shares = result.quantities("fair_share")
    sums = np.zeros_like(shares)
    for table, kind, key in (("pools", "pool", "parent"), ("operations", "operation", "pool")):
        for row in case[table]:
            parent = "<Root>" if row[key] == "root" else row[key]
            sums[result.rows["pool", parent]] += shares[result.rows[kind, row["id"]]]
    pools = [row for (kind, _), row in result.rows.items() if kind == "pool"]
    assert np.abs(sums - shares)[pools].max() <= 1e-12


@pytest.mark.parametrize(("shape", "options", "value"), SMALL[:1] + SMALL[2:3], ids=name)
def test_reference_gives_the_check_value(shape: Shape, options: dict[str, Any], value: float) -> None:
    result = run(tree(*shape, **options), ENGINES["reference"])
    rows = [row for (kind, _), row in result.rows.items() if kind == "operation"]
    assert math.fsum(result.quantities("fair_share")[rows].max(axis=1)) == pytest.approx(value, abs=TOLERANCE)
