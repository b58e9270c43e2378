"""Assertions of YTsaurus' unit tests of the fair-share update, re-encoded as data: a list of cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from tests.conformance.case import Case, Checker
from tests.conformance.engines import Engine, Result
from tests.conformance.ytsaurus.fair_share_input import RESOURCES, snapshot
from tests.conformance.ytsaurus.fair_share_oracle import PARTS

EXACT_ENOUGH = 1e-9
VOLUME_RELATIVE = 1e-6
INFINITE_SATISFACTION = 1e9
SHARES = (
    "demand_share",
    "limits_share",
    "strong_guarantee_share",
    "estimated_guarantee_share",
    "promised_fair_share",
)
NO_NUMBERS = {"equal_function_size", "schedulable_status"}
"""Checks that do not bind: internals of the published method; statuses, which are no part of the update."""


def recognises(document: Any) -> bool:
    """A list of cases that name their upstream test and their variants."""
    return isinstance(document, list) and bool(document) and all("variants" in x for x in document)


def cases(document: list[dict[str, Any]]) -> Iterator[Case]:
    """One case each; the kind says where the test comes from."""
    for case in document:
        yield Case(f"ytsaurus_fair_share_unit.{case['source']}", case["name"], partial(check, case))


def check(case: Mapping[str, Any], engine: Engine) -> Checker:
    """Run every variant of a case, step by step, and compare."""
    checker = Checker()
    last = []
    for variant in case["variants"]:
        state = None
        for step, tree in enumerate(_trees(case)):
            options = {**case["options"], **variant, **_older_behaviour(case)}
            data = snapshot(
                case["total_resources"],
                tree["pools"],
                tree["operations"],
                now=tree.get("now"),
                previous=tree.get("previous_update"),
            )
            result = engine(data, options, state)
            state = result.state
            label = f"[{step}{''.join(f' {k}' for k, v in variant.items() if v)}] "
            _check_expected(checker, label, tree["expected"], case, result)
        _check_errors(checker, case, result)
        for law in case.get("checks", ()):
            _check_law(checker, law, result)
        last.append(result)
    for law in case.get("checks", ()):
        if law["type"] == "equal_across_variants":
            _check_variants(checker, law, last)
    return checker


def _trees(case: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the tree, times and answers of each update of a case."""
    pools = [dict(p) for p in case["pools"]]
    operations = [dict(o) for o in case["operations"]]
    if many := case.get("generated_operations"):
        operations += [
            {
                "name": f"{many['name_prefix']}{i}",
                "pool": many["pool"],
                "demand": many["demand"],
                "weight": many["weight_first"] + i * many["weight_step"],
            }
            for i in range(many["count"])
        ]
    for step in case.get("steps", [{}]):
        operations += step.get("add_operations", [])
        for change in step.get("set", []):
            [pool] = [p for p in pools if p["name"] == change["element"]]
            pool[change["field"]] = change["value"]
        for row in (*pools, *operations):
            for key in ("pool", "parent"):
                if row.get(key) == "<Root>":
                    row[key] = None
        yield {**case, **step, "pools": pools, "operations": operations}


def _older_behaviour(case: Mapping[str, Any]) -> dict[str, bool]:
    """Return the switches that a case about a removed feature needs."""
    switches = {}
    if any(p.get("fifo_truncation") for p in case["pools"]):
        switches["fifo_truncation"] = True
    if any("promised_fair_share" in values for values in case["expected"].values()):
        switches["promised_fair_share"] = True
    return switches


def _check_expected(
    checker: Checker, label: str, expected: Mapping[str, Any], case: Mapping[str, Any], result: Result
) -> None:
    tolerance = float(case["tolerance"])
    for name, values in expected.items():
        row = result.row(name)
        if row is None:
            checker.fail(label + name, "element", name, None)
            continue
        for key, value in values.items():
            _check_value(
                checker, label + name, key, value, result, row, tolerance, case.get("volume_tolerance")
            )


def _check_value(
    checker: Checker,
    name: str,
    key: str,
    value: Any,
    result: Result,
    row: int,
    tolerance: float,
    volume_tolerance: Mapping[str, float] | None,
) -> None:
    def got(quantity: str) -> Any:
        return result.quantities(quantity)[row]

    if key in ("fair_share", "promised_guarantee_fair_share"):
        for part, share in value.items():
            if part in PARTS:
                quantity = key + PARTS[part]
                checker.vector(name, quantity, share, got(quantity), RESOURCES, tolerance)
            else:
                checker.fail(name, f"{key}.{part}", share, "no such part")
    elif key in SHARES:
        checker.vector(name, key, value, got(key), RESOURCES, tolerance)
    elif key in ("fifo_index", "effective_fifo_index"):
        checker.number(name, key, -1 if value is None else value, int(got(key)), 0.0)
    elif key == "accumulated_volume":
        absolute = [float((volume_tolerance or {}).get(r, 0)) for r in RESOURCES]
        relative = 0.0 if volume_tolerance else VOLUME_RELATIVE
        checker.vector(name, key, value, got("volume.accumulated_after"), RESOURCES, absolute, relative)
    elif key == "satisfaction_ratio":
        wanted = INFINITE_SATISFACTION if value == "infinite" else value
        checker.number(name, key, wanted, float(got("satisfaction")), tolerance)
    else:
        checker.fail(name, key, value, "a key that this runner does not know")


def _check_errors(checker: Checker, case: Mapping[str, Any], result: Result) -> None:
    got = {(code, tuple(sorted(map(str, elements)))) for code, elements, _ in result.diagnostics}
    codes = {code for code, _ in got}
    for error in case.get("expected_errors", ()):
        pools = tuple(sorted(error["pools"])) if "pools" in error else None
        checker.compared += 1
        if not ((error["code"], pools) in got if pools is not None else error["code"] in codes):
            checker.fail("", "errors", error, sorted(got))
    for error in case.get("absent_errors", ()):
        checker.compared += 1
        known = error["code"] in KNOWN_CODES
        if not known or error["code"] in codes:
            checker.fail("", "errors", f"not {error['code']}" if known else "a known code", sorted(codes))


KNOWN_CODES = {
    "pool_tree_guarantees_overcommit",
    "nested_promised_guarantee_fair_share_pools",
    "priority_strong_guarantee_adjustment_pools_without_donor",
}


def _operand(text: str, result: Result) -> Any:
    """Evaluate ``element.field``, with an optional remark in parentheses or a number added."""
    text, _, _ = text.partition(" (")
    text, _, added = text.partition(" + ")
    element, field = text.split(".", 1)
    row = result.row(element)
    if field == "guarantee_share":
        value = (
            result.quantities("strong_guarantee_share")[row]
            + result.quantities("proposed_integral_share")[row]
        )
    else:
        value = result.quantities(field.removesuffix(".total"))[row]
    return value + float(added) if added else value


def _check_law(checker: Checker, law: Mapping[str, Any], result: Result) -> None:
    kind = law["type"]
    checker.compared += 1
    if kind == "no_crash":
        for quantity in ("fair_share", "demand_share", "limits_share"):
            if not np.isfinite(result.quantities(quantity)).all():
                checker.fail("*", quantity, "finite", "not finite")
    elif kind == "dominates":
        left, right = _operand(law["lhs"], result), _operand(law["rhs"], result)
        if not (left >= right).all():
            checker.fail("", f"{law['lhs']} >= {law['rhs']}", left.tolist(), right.tolist())
    elif kind == "equal":
        left, right = _operand(law["lhs"], result), _operand(law["rhs"], result)
        if not (np.abs(left - right) <= EXACT_ENOUGH).all():
            checker.fail("", f"{law['lhs']} = {law['rhs']}", left.tolist(), right.tolist())
    elif kind == "upstream_not_dominated_by_ones":
        value = _operand(f"{law['element']}.{law['field']}", result)
        if law["portable_form"] != "max component <= 1 + 1e-9" or not value.max() <= 1 + EXACT_ENOUGH:
            checker.fail(law["element"], law["field"], law["portable_form"], value.tolist())
    elif kind not in NO_NUMBERS and kind != "equal_across_variants":
        checker.fail("", "check", kind, "a check that this runner does not know")


def _check_variants(checker: Checker, law: Mapping[str, Any], results: list[Result]) -> None:
    for field in law["fields"]:
        element, name = field.split(".", 1)
        quantity = name.removesuffix(".total")
        first, *others = results
        rows = [row for row in first.rows.values() if element == "*" or row == first.row(element)]
        for other in others:
            checker.compared += 1
            difference = np.abs(first.quantities(quantity)[rows] - other.quantities(quantity)[rows]).max()
            if not difference <= max(law["tolerance"], EXACT_ENOUGH):
                checker.fail(element, quantity, "equal in all variants", float(difference))
