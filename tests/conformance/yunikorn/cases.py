"""yunikorn.json and yunikorn-oracle: formats, and how answers are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from tests.conformance.case import Case, Checker, is_number
from tests.conformance.engines import Engine
from tests.conformance.yunikorn.answers import ANSWERS

#: Beside what binds.
REMARKS = {"asserted_by_test", "test_asserts", "notes", "effect_computed_from_code"}
_SETS = {"cancelled_reservations", "preempted"}
_EXACT = 1e-12


def recognises(document: Any) -> bool:
    """An object with the format's name, or lines with a case of a known kind."""
    if isinstance(document, dict):
        return bool(document.get("format") == "yunikorn-cases-1")
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(line.get("case"), dict) and "kind" in line["case"] for line in document)
    )


def cases(document: Any) -> Iterator[Case]:
    """One case each, by kind."""
    if isinstance(document, list):
        for line in document:
            case = {**line["case"], "_expected": line["expected"]}
            yield _case("yunikorn_oracle", case, line["expected"])
    else:
        for case in document["cases"]:
            yield _case("yunikorn", case, case.get("expected"))


def _case(system: str, case: Mapping[str, Any], expected: Any) -> Case:
    answer = ANSWERS.get(case["kind"])
    run = None if answer is None else partial(check, case, expected)
    return Case(f"{system}.{case['kind']}", case.get("name", "(unnamed)"), run)


def check(case: Mapping[str, Any], expected: Any, _: Engine) -> Checker:
    """Answer a case and compare all that binds."""
    checker = Checker()
    got = ANSWERS[case["kind"]](case)
    _compare(checker, case["kind"], expected, got, case)
    steps = case.get("steps", ())
    for number, step in enumerate(steps):
        _compare(checker, f"step {number}", step["expected_computed"], got["steps"][number], case)
    return checker


def _compare(checker: Checker, where: str, expected: Any, got: Any, case: Mapping[str, Any]) -> None:
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        if case["kind"] == "quota_distribution":
            checker.equal(where, "leaves", sorted(expected), sorted(got))
        for key, value in expected.items():
            if key in REMARKS:
                continue
            wanted, found = value, got.get(key, "nothing")
            if key in _SETS:
                wanted, found = sorted(value), sorted(found)
            if key == "victims" and expected.get("test_asserts") == "count only":
                wanted, found = len(value), len(found)
            elif key == "victims" and "victims_in_order" in expected:
                found = sorted(found)
            if key == "failure" and value == "no_victims_or_additional":
                wanted = "no_victims"
            if "compare" in case:
                if wanted is None and case["kind"] == "fair_max":
                    continue  # not asserted
                if "count as zero" in case["compare"]:
                    wanted, found = (_without_zeros(amounts) for amounts in (wanted, found))
            if isinstance(wanted, Mapping) and isinstance(found, Mapping):
                checker.equal(key, "names", sorted(wanted), sorted(found))
            _compare(checker, key, wanted, found, case)
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for number, (one, other) in enumerate(zip(expected, got, strict=True)):
            _compare(checker, f"{where}[{number}]", one, other, case)
    elif is_number(expected) and is_number(got):
        checker.number("", where, expected, got, _EXACT, _EXACT)
    else:
        checker.equal("", where, expected, got)


def _without_zeros(amounts: Any) -> Any:
    if not isinstance(amounts, Mapping):
        return amounts or {}
    return {name: amount for name, amount in amounts.items() if amount}
