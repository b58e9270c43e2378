"""Answers of YuniKorn's own code through `eh.plan`, as users plan: all kinds of recorded cases."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.shared import DATA, SHARED
from tests.unit.yunikorn.oracle import ANSWERS

PART = DATA / "conformance" / "yunikorn-oracle.jsonl.gz"
WHOLE = SHARED / "cases" / "yunikorn-oracle.jsonl.gz"

#: Of all recorded answers; what says why nothing is compared stands for what no plan can ask.
COUNTS = {
    "preempt: preempts": 319,
    "preempt: preempts nothing": 222,
    "preempt: starts where there is room": 430,
    "preempt: a maximum is reached, and nodes are not tried first": 10,
    "preempt: a plug-in wants more victims, which no plan can say": 19,
    "preempt_round: rounds": 200,
    "quota_preempt: a queue gives": 200,
    "app_order: applications in order": 112,
    "queue_order: queues in order": 64,
    "queue_order: the root is full": 13,
    "queue_order: siblings of one root have one fair max": 11,
}


def lines() -> Iterator[Mapping[str, Any]]:
    """Recorded answers or, without these, the part that is kept here."""
    with gzip.open(WHOLE if WHOLE.exists() else PART, "rt") as file:
        yield from map(json.loads, file)


def test_recorded_answers_through_plans() -> None:
    found: Counter[str] = Counter()
    for line in lines():
        case = line["case"]
        found[f"{case['kind']}: {ANSWERS[case['kind']](case, line['expected'])}"] += 1
    if WHOLE.exists():
        assert found == COUNTS
    assert found.keys() <= COUNTS.keys()
    assert found["preempt: preempts"] >= 5, found
    assert found["preempt_round: rounds"] >= 1, found
