"""Spoilt answers fail: a runner that notices nothing would pass every case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from tests.conformance import files
from tests.conformance.__main__ import run
from tests.conformance.case import Case
from tests.conformance.engines import ENGINES, Engine, Result
from tests.conformance.spoil import leaves, spoil_document, spoil_leaf
from tests.conformance.ytsaurus import fair_share_oracle, fair_share_unit
from tests.drawing import some
from tests.shared import DATA, SHARED

SAMPLE = DATA / "conformance"
LAWS = {"imprecise_composition", "proposed_integral_share_precision", "fair_share_equals_usage_precision"}
"""Unit cases that state laws instead of values (the last one also a status, which no update computes)."""
WHOLE = ("ytsaurus-fair-share-oracle.jsonl.gz", "priority.json")
"""Files of which the sample has a part; of others it has all."""
NOT_COMPARED = {"victims_order_matters", "t"}
"""Keys that say how to compare, or when an answer was given."""
EVERY = 30
"""Of the whole oracle file, one line in so many."""


def remembering(engine: Engine) -> Engine:
    """Answer a tree that was asked before from memory."""
    known: dict[str, Result] = {}

    def ask(snapshot: dict[str, Any], options: dict[str, Any], state: Any) -> Result:
        key = repr((snapshot, options, state))
        if key not in known:
            known[key] = engine(snapshot, options, state)
        return known[key]

    return ask


def sources() -> list[Path]:
    whole = [SHARED / "cases" / name for name in WHOLE]
    return sorted(SAMPLE.glob("*.json*")) + [path for path in whole if path.exists()]


def engine_for(case: Case) -> str:
    """Ask the slow implementation where the library does not plan: an error would look like a noticed lie."""
    of_plans = case.kind.startswith(("ytsaurus_preemption.", "seeds."))
    return "reference" if of_plans and "plan" not in eh.__all__ else "evenhand"


def test_spoilt_answers_fail() -> None:
    passed, total = [], 0
    for path in sources():
        document = files.read(path)
        if isinstance(document, list) and len(document) > 1000:
            document = document[::EVERY]
        for case in files.cases(spoil_document(document)):
            if case.run is None or case.kind == "ytsaurus_fair_share_aborts":  # laws only
                continue
            total += 1
            if not run(case, ENGINES[engine_for(case)]).mismatches:
                passed.append(case.name)
    assert total > 100
    assert set(passed) <= LAWS
    assert len(passed) * 100 <= total or set(passed) == LAWS


@pytest.mark.parametrize(
    ("module", "not_binding", "line_step", "leaf_step"),
    [
        (fair_share_oracle, {"name", "warnings", *fair_share_oracle.INFORMATIONAL}, 7, 11),
        (fair_share_unit, set(), 2, 3),
    ],
)
def test_any_single_spoilt_value_is_noticed(
    module: Any, not_binding: set[str], line_step: int, leaf_step: int
) -> None:
    """No binding value is read and then not compared."""
    engine = remembering(ENGINES["evenhand"])
    [path] = [p for p in SAMPLE.glob("*.json*") if module.recognises(files.read(p))]
    unnoticed, tried = [], 0
    for line in files.read(path)[::line_step]:
        binding = [leaf for leaf in leaves(line["expected"]) if not not_binding & set(leaf)]
        for leaf in binding[::leaf_step]:
            [case] = module.cases([{**line, "expected": spoil_leaf(line["expected"], leaf)}])
            tried += 1
            if not run(case, engine).mismatches:
                unnoticed.append((case.name, leaf))
    assert tried > 50
    assert unnoticed == []


@pytest.mark.parametrize(
    ("name", "least"),
    [("ytsaurus-preemption.json.gz", 70), ("seeds-ytsaurus.json.gz", 70), ("seeds-backendai.json.gz", 20)],
)
def test_any_single_spoilt_value_of_plans_is_noticed(name: str, least: int) -> None:
    """Every value is compared: of a list of victims each name, of a status each word."""
    document = files.read(SAMPLE / name)
    unnoticed, tried = [], 0
    for entry in document["cases"]:
        for spoilt_entry, leaf in some([*_with_one_lie(entry)], tried):
            [case] = files.cases({**document, "cases": [spoilt_entry]})
            tried += 1
            if not run(case, ENGINES["reference"]).mismatches:
                unnoticed.append((case.name, leaf))
    assert tried > least
    assert unnoticed == []


def _with_one_lie(entry: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Return the case with one value of one answer spoilt, for every one of them that binds."""
    if "expect" in entry:
        for leaf in leaves(entry["expect"]):
            if not NOT_COMPARED & set(leaf):
                yield {**entry, "expect": spoil_leaf(entry["expect"], leaf)}, leaf
        return
    for number, step in enumerate(entry["steps"]):
        for leaf in leaves(step["expected"]):
            lie = {**step, "expected": spoil_leaf(step["expected"], leaf)}
            yield {**entry, "steps": [*entry["steps"][:number], lie, *entry["steps"][number + 1 :]]}, leaf
