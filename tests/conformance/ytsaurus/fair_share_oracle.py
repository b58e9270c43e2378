"""Random trees and what the real YTsaurus library answered: one ``{"case", "expected"}`` a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from tests.conformance.case import Case, Checker
from tests.conformance.engines import ROOT, Engine, Result
from tests.conformance.ytsaurus.fair_share_input import QUANTUM, RESOURCES, snapshot

TOLERANCE = 1e-9
AMOUNT_TOLERANCE = [float(QUANTUM[r]) for r in RESOURCES]
PARTS = {
    "total": "",
    "strong": ".strong_guarantee",
    "integral": ".integral_guarantee",
    "weight_proportional": ".weight_proportional",
}
SHARES = ("demand_share", "usage_share", "limits_share", "strong_guarantee_share", "proposed_integral_share")
RATIOS = ("flow", "burst", "total_flow", "total_burst")
VOLUMES = ("overflow", "acceptable", "accepted_free", "children_overflow", "accumulated_after")
INFORMATIONAL = {
    "dominant_resource",
    "estimated_guarantee_share",
    "estimated_guarantee_share_with_flow",
    "promised_fair_share",
}


def recognises(document: Any) -> bool:
    """Lines with ``case`` and ``expected`` whose case names no kind."""
    return (
        isinstance(document, list)
        and bool(document)
        and all("case" in x and "expected" in x and "kind" not in x["case"] for x in document)
    )


def cases(document: list[dict[str, Any]]) -> Iterator[Case]:
    """One case a line; the kind is the family of the tree."""
    for line in document:
        yield Case(
            kind=f"ytsaurus_fair_share.{line['case']['family']}",
            name=line["case"]["name"],
            run=partial(check, line),
            informational=bool(line.get("tie_dependent")),
        )


def check(line: Mapping[str, Any], engine: Engine) -> Checker:
    """Run one tree and compare everything that binds."""
    result = run(line["case"], engine)
    expected = line["expected"]
    checker = Checker()
    check_errors(checker, expected["errors"], result)
    rows: dict[tuple[str, str | int], Any] = {("pool", ROOT): expected["root"]}
    rows |= {("pool", name): values for name, values in expected["pools"].items()}
    rows |= {("operation", name): values for name, values in expected["operations"].items()}
    for key in {**rows, **result.rows}:
        if key not in result.rows or key not in rows:
            checker.fail(str(key[1]), "element", key in rows, key in result.rows)
        else:
            check_element(checker, str(key[1]), rows[key], result, result.rows[key])
    return checker


def run(case: Mapping[str, Any], engine: Engine) -> Result:
    """Run the update that a case asks for."""
    return engine(
        snapshot(
            case["total"],
            case["pools"],
            case["operations"],
            now=case["now"],
            previous=case.get("previous"),
            root=case.get("root"),
            root_name="root",
        ),
        dict(case["options"]),
        None,
    )


def check_errors(checker: Checker, expected: list[dict[str, Any]], result: Result) -> None:
    """Compare the whole list of errors; order does not matter."""

    def key(code: str, kind: Any, pools: Any) -> tuple[str, str, tuple[str, ...]]:
        return (str(code), str(kind or ""), tuple(sorted(map(str, pools or ()))))

    wanted = sorted(key(e["code"], e.get("kind"), e.get("pools")) for e in expected)
    got = sorted(
        key(code, numbers.get("kind"), () if "kind" in numbers else elements)
        for code, elements, numbers in result.diagnostics
    )
    checker.equal("", "errors", wanted, got)


def check_element(checker: Checker, name: str, expected: Mapping[str, Any], result: Result, row: int) -> None:
    """Compare every binding value of one element."""

    def got(quantity: str) -> Any:
        return result.quantities(quantity)[row]

    def shares(quantity: str, value: Any) -> None:
        checker.vector(name, quantity, value, got(quantity), RESOURCES, TOLERANCE)

    # An absent promised share means zeros, an absent index none: both lists are complete.
    zeros = dict.fromkeys(PARTS, 0)
    for detailed in ("fair_share", "promised_guarantee_fair_share"):
        values = expected.get(detailed, zeros if detailed == "promised_guarantee_fair_share" else {})
        for part, suffix in PARTS.items():
            shares(detailed + suffix, values[part])
    for index in ("fifo_index", "effective_fifo_index"):
        checker.number(name, index, expected.get(index, -1), int(got(index)), 0.0)
    for quantity in SHARES:
        if quantity in expected:
            shares(quantity, expected[quantity])
    if "strong_guarantee_share_by_tier" in expected:
        for tier, value in zip(
            ("priority", "regular"), expected["strong_guarantee_share_by_tier"], strict=True
        ):
            shares(f"strong_guarantee_share.{tier}", value)
    if "inferred_strong_guarantee" in expected:
        quantity = "inferred_strong_guarantee"
        value = expected[quantity]
        checker.vector(name, quantity, value, got(quantity), RESOURCES, AMOUNT_TOLERANCE, TOLERANCE)
    for ratio in RATIOS:
        if "ratios" in expected:
            checker.number(
                name, f"ratios.{ratio}", expected["ratios"][ratio], float(got(f"ratios.{ratio}")), TOLERANCE
            )
    volume = expected.get("volume", {})
    for part in VOLUMES:
        if part in volume:
            quantity = f"volume.{part}"
            checker.vector(
                name, quantity, volume[part], got(quantity), RESOURCES, AMOUNT_TOLERANCE, TOLERANCE
            )
    if "last_share_ratio_after" in volume:
        quantity = "volume.last_share_ratio_after"
        checker.number(name, quantity, volume["last_share_ratio_after"], float(got(quantity)), TOLERANCE)
    known = {
        "fair_share", "promised_guarantee_fair_share", "fifo_index", "effective_fifo_index", *SHARES,
        "strong_guarantee_share_by_tier", "inferred_strong_guarantee", "ratios", "volume", *INFORMATIONAL,
    }  # fmt: skip
    for key in expected.keys() - known:
        checker.fail(name, key, expected[key], "a key that this runner does not know")
