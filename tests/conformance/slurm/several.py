"""Cases of Slurm with several waiting jobs: what the first pass does, and how it all ends.

Each case counts by what it says: ``first_pass`` is one pass alone; ``sets`` are the jobs preempted and
started when nothing changes any more, ``nodes`` where those run, ``beneficiaries`` which went for which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

from tests.conformance.case import Case, Checker
from tests.conformance.engines import Engine
from tests.conformance.slurm.passes import answer, first_pass

PARTS: Mapping[str, tuple[str, ...]] = {
    "first_pass": ("first_pass",),
    "sets": ("preempted", "started", "preempted_states", "still_waiting"),
    "nodes": ("started_nodes",),
    "beneficiaries": ("beneficiaries",),
}
"""Keys of the expected answer by what a case counts as."""


def recognises(document: Any) -> bool:
    """The object whose ``format`` says so."""
    return isinstance(document, dict) and document.get("format") == "live-several-1"


def cases(document: dict[str, Any]) -> Iterator[Case]:
    """For each case one a part that binds."""
    for case in document["cases"]:
        first, played = cache(partial(first_pass, case)), cache(partial(answer, case))
        skipped = frozenset(case["not_binding"])
        for part, keys in PARTS.items():
            expected = {key: v for key, v in case["expected"].items() if key in keys and v is not None}
            bound = {key: value for key, value in expected.items() if key not in skipped}
            if bound:
                yield Case(
                    f"live_several.{part}",
                    case["name"],
                    partial(check, bound, skipped, first if part == "first_pass" else played),
                )
        strange = set(case["expected"]) - skipped - {key for keys in PARTS.values() for key in keys}
        if strange:
            yield Case(f"live_several.{min(strange)}", case["name"], None)


def check(bound: Mapping[str, Any], skipped: frozenset[str], played: Any, _engine: Engine) -> Checker:
    """Play the case, and compare what binds; lists are sets."""
    checker = Checker()
    got = played()
    for key, value in bound.items():
        compare(checker, key, value, got[key], skipped)
    return checker


def compare(checker: Checker, path: str, expected: Any, got: Any, skipped: frozenset[str]) -> None:
    """Compare all but what does not bind."""
    if path in skipped:
        return
    if isinstance(expected, Mapping) and isinstance(got, Mapping) and path == "first_pass":
        for key, value in expected.items():
            compare(checker, f"{path}.{key}", value, got.get(key), skipped)
    else:
        checker.equal("", path, _in_order(expected), _in_order(got))


def _in_order(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _in_order(inner) for key, inner in value.items()}
    return sorted(map(str, value)) if isinstance(value, list) else value
