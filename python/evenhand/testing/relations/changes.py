"""Changes of a case that must not matter, and how results map back."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from evenhand.fields import TABLES, resource_kind, usual_quantum
from evenhand.systems.files import from_dict
from evenhand.testing.relations.case import Back, Case, Data

if TYPE_CHECKING:
    from evenhand.systems.base import Policy

__all__ = [
    "names_alike",
    "names_anew",
    "other_order",
    "resources_anew",
    "rows_added",
    "times_shifted",
    "units_scaled",
    "unread_left_out",
]

Changed = tuple[Case, Back]

_WEEK = 7 * 86_400
#: Weeks to either side: now is then before the epoch, at it and far from it. Whole ones, as slots, minutes,
#: hours and hours of the week are counted from the epoch.
_WEEKS = (-4000, -52, -1, 1, 52, 4000)
#: Settings of rows that are instants, and those that are amounts by resource.
_INSTANTS = frozenset({"eligible_time", "accrue_time"})
_AMOUNTS = frozenset(
    {
        "limit",
        "non_preemptible_resource_usage_threshold",
        "resource_limits",
        "resource_limits_overcommit_tolerance",
        "room_taken",
    }
)
#: Settings of policies that name resources; cpu and mem of `PriorityWeightTRES` are kinds, not names.
_BY_RESOURCE = _AMOUNTS | {"agent_selection_resource_priority", "lo_licenses", "main_resource"}
#: Resources that rules of a system name: they are no others by another name.
_NAMED = {"ytsaurus": frozenset({"gpu", "user_slots"})}
_TABLES = tuple(table for table in TABLES if table not in ("resources", "root", "commands"))


def _rows(data: Data) -> Iterator[tuple[str, Data]]:
    """Yield every row of every table, and the root."""
    for table in _TABLES:
        for row in data.get(table) or ():
            yield table, row
    if data.get("root"):
        yield "root", data["root"]


def _settings(row: Data, change: Callable[[str, Any], Any]) -> None:
    """Change the settings of a row by name."""
    if row.get("settings"):
        row["settings"] = {name: change(name, value) for name, value in row["settings"].items()}


def times_shifted(case: Case, chance: Random) -> Changed:
    """Shift all instants by some weeks, also to before the epoch."""
    later = float(chance.choice(_WEEKS) * _WEEK)
    data = deepcopy(case.data)
    for head in ("now", "previous_update"):
        if head == "now" or data.get(head) is not None:
            data[head] = (data.get(head) or 0.0) + later
    for table, row in _rows(data):
        for field in TABLES[table].fields:
            if field.kind == "time" and (row.get(field.name) is not None or field.default is not None):
                value = row.get(field.name)
                row[field.name] = (field.default if value is None else value) + later
        _settings(
            row, lambda name, value: value + later if name in _INSTANTS and value is not None else value
        )
    return replace(case, data=data), Back(later=later)


def names_anew(case: Case, chance: Random) -> Changed:
    """Give all rows other names, which sort otherwise where `order` can say how they sorted."""
    return _renamed(case, lambda count: chance.sample(range(1000), count), ordered=True)


def names_alike(case: Case, chance: Random) -> Changed:
    """Give all rows other names that sort alike: texts are the same, but for the names in them."""
    first = chance.randrange(100)
    changed, back = _renamed(case, lambda count: [*range(first, first + count)], ordered=False)
    return changed, replace(back, texts=True)


def _renamed(case: Case, numbers: Callable[[int], list[int]], *, ordered: bool) -> Changed:
    data = deepcopy(case.data)
    new: dict[str, dict[str, str]] = {}
    for place, table in enumerate(_TABLES):
        rows = data.get(table) or []
        by_order = sorted(rows, key=_canonical)
        letter = string.ascii_lowercase[place] * 2  # no word, and no name twice
        has_order = "order" in TABLES[table].names  # else names alone say it
        given = [f"{letter}{n:03d}x" for n in (numbers if has_order else range)(len(rows))]
        new[table] = dict(zip((str(row["name"]) for row in by_order), given, strict=True))
        for rank, row in enumerate(by_order):
            if ordered and has_order:  # of children of one pool, pools come before operations
                row["order"] = rank + (len(data.get("pools") or ()) if table == "operations" else 0)
    keep = _called(case.policy, new)
    new["pools"] |= keep
    for table, row in _rows(data):
        if "name" in row:
            row["name"] = new[table][str(row["name"])]
        for field in TABLES[table].fields:
            if (field.kind in ("reference", "label") and field.target) or field.kind == "label":
                _refer(row, field.name.split("."), new, field.target)
    for command in data.get("commands") or ():
        command["consumer"] = new["operations"].get(str(command["consumer"]), command["consumer"])
        command["providers"] = [new["operations"].get(str(n), n) for n in command.get("providers", ())]
    for row in data.get("nodes") or ():
        if row.get("physical") is not None:
            row["physical"] = new["nodes"].get(str(row["physical"]), row["physical"])
    policy = _of_nodes(case.policy, new["nodes"])
    names = {after: before for table in new.values() for before, after in table.items()}
    return replace(case, data=data, policy=policy).named(new), Back(names=names)


def _canonical(row: Mapping[str, Any]) -> tuple[bool, float, bytes]:
    order = row.get("order")
    return order is None, 0 if order is None else order, str(row["name"]).encode()


def _called(policy: Policy, new: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the pools whose names mean something to the policy: they keep these."""
    called = policy.RECORD.called_pools(policy.settings)
    return {name: name for name in new["pools"] if name in called}


def _refer(row: Data, path: list[str], new: Mapping[str, Mapping[str, str]], target: str | None) -> None:
    """Put the new name where a row refers to another one."""
    for key in path[:-1]:
        row = row.get(key) or {}
    value = row.get(path[-1])
    table = target or f"{path[-1]}s"
    if value is not None:
        row[path[-1]] = new[table].get(str(value), value)


def _of_nodes(policy: Policy, new: Mapping[str, str]) -> Policy:
    """Return the policy with the new names of nodes in its partitions."""
    said = policy.to_dict()
    if not said.get("partitions"):
        return policy
    for partition in said["partitions"].values():
        partition["Nodes"] = [new.get(name, name) for name in partition.get("Nodes", ())]
    return from_dict(said)


def resources_anew(case: Case, chance: Random) -> Changed:
    """Give all resources other names, and say their kinds and quanta."""
    data = deepcopy(case.data)
    given = data["resources"]
    new = {
        name: name if name in _NAMED.get(case.policy.system, ()) else f"zz{number:02d}"
        for name, number in zip(given, chance.sample(range(100), len(given)), strict=True)
    }
    spaces: Data = {}
    for name, space in given.items():
        own = dict(space or {})
        own["kind"] = own.get("kind") or resource_kind(name)
        own["quantum"] = own.get("quantum") or usual_quantum(own["kind"])
        spaces[new[name]] = own
    data["resources"] = spaces
    _amounts(
        data, lambda amounts: {new.get(name, name): amount for name, amount in amounts.items()}, shares=True
    )
    said = _by_resource(case.policy.to_dict(), new)
    if said.get("fair_share", {}).get("main_resource", "") is None and "cpu" in new:
        said["fair_share"]["main_resource"] = new["cpu"]  # what nobody names is the one of this name
    policy = from_dict(said)
    return replace(case, data=data, policy=policy), Back(
        names={after: before for before, after in new.items()}
    )


def _by_resource(said: Mapping[str, Any], new: Mapping[str, str]) -> Data:
    """Return settings with other names of resources, where they name one."""

    def renamed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {new.get(key, key): amount for key, amount in value.items()}
        if isinstance(value, list | tuple):
            return [new.get(name, name) for name in value]
        return new.get(value, value) if isinstance(value, str) else value

    return {
        name: renamed(value)
        if name in _BY_RESOURCE
        else _by_resource(value, new)
        if isinstance(value, Mapping)
        else value
        for name, value in said.items()
    }


def _amounts(data: Data, change: Callable[[Data], Data], *, shares: bool) -> None:
    """Change all objects of amounts, if asked those of shares, too."""
    if data.get("total") is not None:
        data["total"] = change(data["total"])
    kinds = ("amounts", "shares") if shares else ("amounts",)
    for table, row in _rows(data):
        for field in TABLES[table].fields:
            if field.kind not in kinds:
                continue
            *outer, last = field.name.split(".")
            inner = row
            for key in outer:
                inner = inner.get(key) or {}
            if inner.get(last):
                inner[last] = change(inner[last])
        _settings(
            row, lambda name, value: change(value) if name in _AMOUNTS and isinstance(value, dict) else value
        )


def units_scaled(case: Case, chance: Random) -> Changed:
    """Count all amounts, and their quanta, in a smaller or a larger unit.

    Slots are what they are where queues of the settings count them.
    """
    data = deepcopy(case.data)
    swap = any(row.get("swap_free") is not None for row in data.get("nodes") or ())
    times = chance.choice((4, 1024) if swap else (0.25, 4.0, 1024.0))  # free swap is a whole number
    said = case.policy.to_dict()
    factor: dict[str, float] = {}
    for name, space in data["resources"].items():
        own = data["resources"][name] = dict(space or {})
        kind = own.get("kind") or resource_kind(name)
        factor[name] = 1 if kind == "slots" and said.get("queues") else times
        own["quantum"] = (own.get("quantum") or usual_quantum(kind)) * factor[name]
        if own.get("capacity") is not None:
            own["capacity"] *= factor[name]

    def scaled(amounts: Data) -> Data:
        return {name: amount * factor[name] for name, amount in amounts.items()}

    _amounts(data, scaled, shares=False)
    for row in data.get("nodes") or ():
        if row.get("swap_free") is not None:
            row["swap_free"] = row["swap_free"] * times
    for name in _AMOUNTS & said.keys():
        if isinstance(said[name], dict):
            said[name] = {r: amount * factor.get(r, times) for r, amount in said[name].items()}
    return replace(case, data=data, policy=from_dict(said)), Back(times=times)


def rows_added(case: Case, chance: Random) -> Changed:
    """Add rows that play no part: an operation with nothing, a reservation that is over, labels.

    Where shares are computed an operation with nothing has its part of what is estimated, and is left out.
    """
    data = deepcopy(case.data)
    added = {"operations": "zzz-idle", "reservations": "zzz-over"}
    if not case.policy.RECORD.shares:
        idle: Data = {"name": added["operations"]}
        if (pool := chance.choice(data["operations"]).get("pool")) is not None:
            idle["pool"] = pool
        data["operations"] = [*data["operations"], idle]
    if data.get("nodes") and data.get("requests"):
        over = {
            "name": added["reservations"],
            "request": chance.choice(data["requests"])["name"],
            "node": chance.choice(data["nodes"])["name"],
            "resources": {r: (space or {}).get("quantum", 1) for r, space in data["resources"].items()},
            "from": data["now"] - 60,
            "until": data["now"] - chance.choice((0, 1)),
        }
        data["reservations"] = [*(data.get("reservations") or ()), over]
    for _, row in _rows(data):
        if "name" in row and chance.random() < 0.5:
            row["labels"] = {**row.get("labels", {}), "team": chance.choice(("night", "day"))}
    return replace(case, data=data), Back(without=frozenset(added.values()))


def other_order(case: Case, chance: Random) -> Changed:
    """Put the rows of each table in another order."""
    data = {
        table: chance.sample(rows, len(rows)) if table in _TABLES and rows else rows
        for table, rows in case.data.items()
    }
    return replace(case, data=data), Back()


def unread_left_out(case: Case, chance: Random) -> Changed:
    """Leave out the values that the plan says it does not read."""
    del chance
    data = deepcopy(case.data)
    for said in case.plan().diagnostics:
        for table, fields in said.numbers.items() if said.code == "fields_not_read" else ():
            if table == "reservations" and table not in case.policy.reads:
                del data[table]
            for of, row in _rows(data):
                if of != table:
                    continue
                for name in {*fields} - {field.name for field in TABLES[table].fields if field.required}:
                    *outer, last = name.split(".")
                    inner = row
                    for key in outer:
                        inner = inner.get(key) or {}
                    inner.pop(last, None)
    return replace(case, data=data), Back()
