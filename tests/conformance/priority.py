"""Cases of Slurm, Backend.AI and Grid Engine; kinds that the library does not offer are named only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from tests.conformance.case import Case, Checker, is_number
from tests.conformance.engines import Engine

TOLERANCE = 1e-6
KIND_TOLERANCES = {"usage_decay": 1e-4}


def recognises(document: Any) -> bool:
    """The object whose ``format`` is 2."""
    return isinstance(document, dict) and document.get("format") == 2


def cases(document: dict[str, Any]) -> Iterator[Case]:
    """One case each, by kind."""
    # Only a file of this format needs these functions: the runner works for others without them.
    from tests.conformance import history_cases
    from tests.conformance.backendai import cases as backendai
    from tests.conformance.gridengine import cases as gridengine
    from tests.conformance.slurm import cases as slurm

    kinds = {**history_cases.KINDS, **backendai.KINDS, **slurm.KINDS, **gridengine.KINDS}
    for case in document["cases"]:
        answer = kinds.get(case["kind"])
        own = (
            slurm if case["kind"] in slurm.KINDS else gridengine if case["kind"] in gridengine.KINDS else None
        )
        sets = frozenset[str]() if own is None else own.SETS
        yield Case(case["kind"], case["name"], partial(check, case, answer, sets) if answer else None)


def check(
    case: Mapping[str, Any],
    answer: Callable[[Mapping[str, Any]], Any],
    sets: frozenset[str],
    engine: Engine,
) -> Checker:
    """Compute the answers and compare all that bind, those of `sets` in any order.

    Which implementation shares are run on plays no part.
    """
    checker = Checker()
    tolerance = KIND_TOLERANCES.get(case["kind"], TOLERANCE)
    skipped = frozenset(case.get("not_binding", ()))
    expected, got = (_in_order(value, "", sets) for value in (case["expected"], answer(case)))
    compare(checker, "", expected, got, tolerance, skipped)
    return checker


def _in_order(value: Any, path: str, sets: frozenset[str]) -> Any:
    """Sort the lists of names that may stand in any order."""
    if path in sets and isinstance(value, list):
        return sorted(map(str, value))
    if isinstance(value, Mapping):
        return {key: _in_order(v, f"{path}.{key}" if path else key, sets) for key, v in value.items()}
    if isinstance(value, list) and sets:
        return [_in_order(v, f"{path}.{i}", sets) for i, v in enumerate(value)]
    return value


def compare(
    checker: Checker, path: str, expected: Any, got: Any, tolerance: float, skipped: frozenset[str]
) -> None:
    """Compare what an expected object lists, within it whatever its keys name."""
    if path in skipped:
        return
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        for key, value in expected.items():
            inner = f"{path}.{key}" if path else key
            if key in got:
                compare(checker, inner, value, got[key], tolerance, skipped)
            elif inner not in skipped:
                checker.fail("", inner, value, None)
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for i, (one, other) in enumerate(zip(expected, got, strict=True)):
            compare(checker, f"{path}.{i}", one, other, tolerance, skipped)
    elif is_number(expected) and is_number(got):
        checker.number("", path, expected, got, tolerance)
    else:
        checker.equal("", path, expected, got)
