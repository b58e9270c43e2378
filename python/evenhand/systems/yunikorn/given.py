"""What a caller gives a plan beside the snapshot: costs of victims, and on which nodes requests may stand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand.errors import InputError, Problem
from evenhand.plans.columns import rows_by_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.systems.yunikorn.settings import YuniKornSettings

__all__ = ["as_values", "given_columns"]

#: Cells in which requests of one class may differ.
_OWN: Final = ("name", "count", "order", "submit_time")
Predicate = Callable[[list[dict[str, Any]], list[dict[str, Any]]], Any]


def as_values(snapshot: Snapshot, given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return given values in which functions are replaced by what they answer."""
    if not given or not any(map(callable, given.values())):
        return given
    data = snapshot.to_dict()
    out = dict(given)
    if callable(given.get("cost")):
        rows = data.get("allocations", [])
        costs = _shaped("cost", given["cost"](rows), (len(rows),), np.float64)
        out["cost"] = {row["name"]: cost for row, cost in zip(rows, costs.tolist(), strict=True)}
    if callable(given.get("nodes")):
        nodes = data.get("nodes", [])
        classes: dict[str, list[dict[str, Any]]] = {}
        for row in data.get("requests", []):
            alike = {key: value for key, value in row.items() if key not in _OWN}
            classes.setdefault(json.dumps(alike, sort_keys=True), []).append(row)
        firsts = [rows[0] for rows in classes.values()]
        mask = _shaped("nodes", given["nodes"](firsts, nodes), (len(firsts), len(nodes)), np.bool_)
        names = np.array([row["name"] for row in nodes], object)
        out["nodes"] = [
            {"requests": [row["name"] for row in rows], "nodes": names[may].tolist()}
            for rows, may in zip(classes.values(), mask, strict=True)
        ]
    return out


def _shaped(field: str, value: Any, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    try:
        found = np.asarray(value, dtype)
    except (TypeError, ValueError):
        found = np.empty(0, dtype)
    if found.shape != shape and (found.size or 0 not in shape):
        message = f"{field}: the function must return an array of shape {shape}, not {found.shape}"
        raise InputError([Problem("given", None, None, field, "length", None, message)])
    return found.reshape(shape)


def given_columns(
    snapshot: Snapshot, s: YuniKornSettings, given: Mapping[str, Any] | None
) -> dict[str, NDArray[Any]]:
    """Return given values as the core's columns."""
    problems: list[Problem] = []

    def wrong(field: str, name: Any, rule: str, message: str) -> None:
        problems.append(Problem("given", None, name, field, rule, None, f"{field}: {message}"))

    given = given or {}
    for field in given:
        if field not in ("cost", "nodes"):
            wrong(str(field), None, "unknown_field", "is not known; there are cost and nodes")
    out: dict[str, NDArray[Any]] = {}
    wanted = not isinstance(s.cost, str) and "own" in s.cost
    if "cost" in given:
        out |= _costs(snapshot, given["cost"], wrong)
        if not wanted:
            wrong("cost", None, "unknown_field", 'is given, and the settings\' cost has no "own"')
    elif wanted:
        wrong("cost", None, "required", 'must be given, as the settings\' cost has "own"')
    if "nodes" in given:
        out |= _predicates(snapshot, given["nodes"], wrong)
    if problems:
        raise InputError(problems)
    return out


def _costs(snapshot: Snapshot, values: Any, wrong: Callable[..., None]) -> dict[str, NDArray[Any]]:
    if not isinstance(values, Mapping):
        wrong("cost", None, "type", "is an object: a number for each allocation")
        return {}
    rows = rows_by_name(snapshot, "allocations")
    costs = np.zeros(len(rows))
    for name, cost in values.items():
        row = rows.get(str(name))
        if row is None:
            wrong("cost", name, "exists", f"the snapshot has no allocation {name!r}")
        elif isinstance(cost, bool) or not isinstance(cost, int | float) or not math.isfinite(cost):
            wrong("cost", name, "type", f"of {name!r} is no finite number")
        else:
            costs[row] = cost
    told = set(map(str, values))
    if missing := [name for name in rows if name not in told]:
        wrong("cost", missing[0], "required", f"{len(missing)} allocations have none, such as {missing[0]!r}")
    return {"own_cost": costs}


def _predicates(snapshot: Snapshot, values: Any, wrong: Callable[..., None]) -> dict[str, NDArray[Any]]:
    listed = isinstance(values, Sequence) and all(
        isinstance(of, Mapping) and set(of) == {"requests", "nodes"} for of in values
    )
    if not listed:
        wrong("nodes", None, "type", "is a function, or a list of objects with requests and nodes")
        return {}
    requests, nodes = rows_by_name(snapshot, "requests"), rows_by_name(snapshot, "nodes")
    of_request = np.full(len(requests), -1, np.int32)
    mask = np.zeros((len(values), len(nodes)), np.uint8)
    for place, of in enumerate(values):
        for name in of["requests"]:
            row = requests.get(str(name))
            if row is None:
                wrong("nodes", name, "exists", f"the snapshot has no request {name!r}")
            elif of_request[row] >= 0:
                wrong("nodes", name, "unique", f"{name!r} has two lists")
            else:
                of_request[row] = place
        for name in of["nodes"]:
            if str(name) not in nodes:
                wrong("nodes", name, "exists", f"the snapshot has no node {name!r}")
            else:
                mask[place, nodes[str(name)]] = 1
    return {"predicate_of": of_request, "predicates": mask.ravel()}
