"""The yardstick gives the published numbers, so that its time is the time of the published method."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.bench import yardstick
from tests.conformance.ytsaurus import scale_input
from tests.conformance.ytsaurus.fair_share_input import RESOURCES
from tests.shared import shared

pytestmark = pytest.mark.skipif(not yardstick.built(), reason="_yardstick is not built (preset bench)")

ORACLE_ORDER = ("user_slots", "cpu", "gpu", "memory", "network")
LEFT_OUT = {"promised", "priority", "fifo_reordering", "everything"}


def within_reach(case: dict[str, Any]) -> bool:
    """Whether a case uses only what the yardstick offers."""
    return (
        case["family"] not in LEFT_OUT
        and not case.get("root")
        and all(
            "order" not in row and "best_allocation_share" not in row
            for row in case["pools"] + case["operations"]
        )
    )


def expected_shares(row: dict[str, Any], element: str) -> list[float]:
    given = row["expected"]["operations"][element]["fair_share"]["total"]
    return given if isinstance(given, list) else [0.0] * len(ORACLE_ORDER)


def oracle() -> Iterator[dict[str, Any]]:
    with gzip.open(shared("cases", "ytsaurus-fair-share-oracle.jsonl.gz"), "rt") as lines:
        for line in lines:
            row = json.loads(line)
            if not row.get("tie_dependent") and within_reach(row["case"]):
                yield row


@pytest.mark.shared
def test_oracle_cases() -> None:
    order = [ORACLE_ORDER.index(resource) for resource in RESOURCES]
    far, count = {}, 0
    for row in oracle():
        case = row["case"]
        shares = yardstick.read(case).fair_share()[len(case["pools"]) + 1 :]
        expected = np.array([expected_shares(row, operation["id"]) for operation in case["operations"]])
        deviation = np.abs(shares - expected.reshape(shares.shape)[:, order]).max(initial=0.0)
        count += 1
        if deviation > 1e-9:
            far[case["name"]] = deviation
    assert count > 1000
    assert far == {}


@pytest.mark.parametrize(
    ("arguments", "options", "check_value"),
    [
        ((1000, 50, 4, "plain"), {}, 1.232537149703),
        ((1000, 50, 4, "full"), {}, 1.245587025053),
        pytest.param((3000, 1, 1, "plain"), {"improved": True}, 1.231194629138, marks=pytest.mark.slow),
        ((10_000, 500, 4, "full"), {"gang": 0.3, "improved": True}, 1.233595073318),
    ],
)
def test_check_values(
    arguments: tuple[int, int, int, str], options: dict[str, Any], check_value: float
) -> None:
    case = scale_input.tree(*arguments, **options)
    shares = yardstick.read(case).fair_share()
    assert yardstick.check_value(shares, len(case["pools"]) + 1) == pytest.approx(check_value, abs=1e-11)
