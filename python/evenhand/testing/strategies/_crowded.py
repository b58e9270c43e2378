"""Rows of crowded clusters: every row is a tuple of small numbers, which then get their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from evenhand.testing.strategies._arguments import check_range

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.config.triggers import Heartbeat, Round
    from evenhand.testing.strategies._picking import Pick

NOW = 1000.0

#: Resources that every snapshot has, the last one always needed.
ALWAYS = ("cpu",)

_SPACES: tuple[tuple[str, ...], ...] = (
    ("cpu",),
    ("cpu", "memory"),
    ("user_slots", "cpu"),
    ("cpu", "gpu", "memory"),
)
_STATES = ("running",) * 12 + ("preempting", "preempting", "suspended", "preempted")
_STARVATIONS = ("non_starving", "starving", "aggressively_starving")

Row = dict[str, Any]

# Eight numbers of up to 15, in one choice: drawing them one by one takes most of the time.
_row = st.binary(min_size=8, max_size=8).map(lambda drawn: tuple(byte % 16 for byte in drawn))


def tables(nodes: int, pools: int, operations: int, allocations: int) -> SearchStrategy[tuple[Any, ...]]:
    """Draw the numbers of all rows."""
    check_range("nodes", 1, nodes)
    check_range("pools", 0, pools)
    check_range("operations", 1, operations)
    check_range("allocations", 0, allocations)
    return st.tuples(
        st.sampled_from(_SPACES),
        st.lists(_row, min_size=1, max_size=nodes),
        st.lists(_row, max_size=pools),
        st.lists(_row, min_size=1, max_size=operations),
        st.lists(_row, max_size=allocations),
        st.lists(_row, max_size=8),
    )


def picked(pick: Pick) -> tuple[Any, ...]:
    """Pick the numbers of all rows."""

    def rows(least: int, most: int) -> list[tuple[int, ...]]:
        return [tuple(pick(range(16)) for _ in range(8)) for _ in range(pick(range(least, most + 1)))]

    return pick(_SPACES), rows(1, 3), rows(0, 4), rows(1, 6), rows(0, 16), rows(0, 8)


def snapshot(drawn: tuple[Any, ...]) -> Row:
    """Build a snapshot of drawn numbers."""
    space, nodes, pools, operations, allocations, requests = drawn
    running = [
        _allocation(space, i, row, len(nodes), len(operations), len(requests))
        for i, row in enumerate(allocations)
    ]
    return {
        "schema": "evenhand/snapshot/1",
        "now": NOW,
        "resources": {name: {"quantum": 1} for name in space},
        "nodes": [_node(space, i, row, running) for i, row in enumerate(nodes)],
        "pools": _childless_fifo([_pool(space, i, row) for i, row in enumerate(pools)]),
        "operations": [_operation(space, i, row, len(pools)) for i, row in enumerate(operations)],
        "requests": [_request(space, i, row, len(operations)) for i, row in enumerate(requests)],
        "allocations": running,
    }


def _amounts(space: tuple[str, ...], numbers: tuple[int, ...], most: int, least: int = 0) -> Row:
    """Make amounts between the bounds; cpu is at least 1."""
    made = {name: least + number * (most - least) // 15 for name, number in zip(space, numbers, strict=False)}
    return {**made, "cpu": max(made["cpu"], 1)}


def _node(space: tuple[str, ...], i: int, row: tuple[int, ...], running: list[Row]) -> Row:
    """Make a node about as large as what runs there, in memory now and then smaller; some are of any size."""
    node: Row = {"name": f"n{i}", "capacity": _amounts(space, row, 12, 2)}
    if row[7] < 13:
        mine = [a["resources"] for a in running if a["node"] == node["name"]]
        spare = _amounts(space, row, 3)
        spare["cpu"] -= 1
        if row[6] > 10 and "memory" in space:
            spare["memory"] -= 2
        node["capacity"] = {r: max(sum(a.get(r, 0) for a in mine) + spare[r], 0) for r in space}
    if row[3] > 11:
        node["tags"] = ["ssd"]
    if row[4] > 13:
        node["schedulable"] = False
    if row[5] > 12:
        node["overcommitted_since"] = NOW - 2.0 * row[6]
    return node


def _pool(space: tuple[str, ...], i: int, row: tuple[int, ...]) -> Row:
    pool: Row = {"name": f"p{i}", "settings": _inherited(row[4], row[5])}
    if row[0] % (i + 1):
        pool["parent"] = f"p{row[0] % (i + 1) - 1}"
    if row[1] > 12:
        pool["mode"] = "fifo"
    if row[2] > 10:
        pool["strong_guarantee"] = {"cpu": row[2] - 10}
    if row[3] > 11:
        pool["limits"] = {space[row[6] % len(space)]: row[7]}
    if row[6] > 13:
        pool["settings"]["allow_regular_allocations_on_ssd_nodes"] = False
    return pool


def _childless_fifo(pools: list[Row]) -> list[Row]:
    """Let only pools without pools below be FIFO, as the format wants it."""
    parents = {pool.get("parent") for pool in pools}
    for pool in pools:
        if pool["name"] in parents:
            pool.pop("mode", None)
    return pools


def _inherited(which: int, value: int) -> Row:
    """Return one of the settings that pools may have, or none."""
    settings: tuple[Row, ...] = (
        {"fair_share_starvation_tolerance": value / 15},
        {"fair_share_starvation_timeout": 10.0 * value},
        {"non_preemptible_resource_usage_threshold": {"cpu": value / 2}},
        {"enable_aggressive_starvation": value > 7},
        {"allow_aggressive_preemption": value > 7},
        {"resource_limits_overcommit_tolerance": {"cpu": value // 5}},
        {"allow_normal_preemption": value > 7},
    )
    return dict(settings[which - 9]) if which > 8 else {}


def _operation(space: tuple[str, ...], i: int, row: tuple[int, ...], pools: int) -> Row:
    operation: Row = {"name": f"o{i}", "settings": {}}
    if row[0] % (pools + 1):
        operation["pool"] = f"p{row[0] % (pools + 1) - 1}"
    if row[1] > 12:
        operation["limits"] = {space[row[2] % len(space)]: row[3]}
    if row[2] > 12:
        operation["weight"] = row[2] - 10
    if row[4] > 13:
        operation["settings"]["preemption_mode"] = "graceful"
    if row[4] == 13:
        operation["settings"]["unschedulable_reason"] = "suspended"
    if row[5] > 12:
        operation["settings"]["disk_media"] = ["ssd"]
    if row[6] > 12:
        operation["settings"].update(_inherited(row[7] % 3 + 9, row[3]))
    if row[5] < 4:
        operation["settings"]["preemption_cost"] = row[5] + 2
    operation["gang"] = row[7] > 13
    return operation


def _request(space: tuple[str, ...], i: int, row: tuple[int, ...], operations: int) -> Row:
    resources = _amounts(space, row, 6, 1)
    if row[6] > 11 and "gpu" in space:
        resources["gpu"] = 8
    request: Row = {"name": f"r{i}", "operation": f"o{row[3] % operations}", "resources": resources}
    request["count"] = row[4] % 4 + 1
    if row[5] > 13:
        request["node_tags"] = ["ssd"]
    if row[7] > 14:
        request["required_node"] = "n0"
    return request


def _allocation(
    space: tuple[str, ...], i: int, row: tuple[int, ...], nodes: int, operations: int, requests: int
) -> Row:
    allocation: Row = {
        "name": f"a{i}",
        "operation": f"o{row[3] % operations}",
        "node": f"n{row[4] % nodes}",
        "resources": _amounts(space, row, 4),
        "start_time": NOW - 10 * row[5] - 1,
        "state": _STATES[row[6]],
    }
    if row[2] > 12 and "gpu" in space:
        allocation["resources"]["gpu"] = 8
    if row[7] > 11:
        allocation["last_progress_time"] = NOW - row[7]
    if row[7] == 11:
        allocation["last_job_start_time"] = NOW - row[0]
    if row[7] == 10:
        allocation["settings"] = {"resource_limits": {"cpu": allocation["resources"]["cpu"] + 1}}
    if row[7] == 9:
        allocation["settings"] = {"disk_medium": "ssd"}
    if row[7] == 8:
        allocation["preemptible"] = False
    if allocation["state"] == "preempting":
        allocation["deadline"] = NOW + row[5]
        if requests and row[7] > 3:
            beneficiary = {"request": f"r{row[7] % requests}", "operation": f"o{row[5] % operations}"}
            allocation["beneficiary"] = beneficiary
    if allocation["state"] == "preempted":
        allocation["held"] = {"cpu": 1}
    return allocation


def state(snapshot: Mapping[str, Any], codes: bytes) -> Row:
    """Return what an earlier plan could have left; every byte stands for one element or node."""
    elements = [("pool", row["name"]) for row in snapshot["pools"]]
    elements += [("operation", row["name"]) for row in snapshot["operations"]]
    nodes = [row["name"] for row in snapshot["nodes"]]
    left: Row = {"schema": "evenhand/state/1", "time": NOW - 1, "settings": "", "pools": []}
    left["elements"] = []
    for (kind, name), code in zip(elements, codes, strict=False):
        if code % 64:
            clock = {"since": NOW - code % 64 * 4 - 1, "starvation": _STARVATIONS[code // 64 % 3]}
            left["elements"].append({"name": name, "kind": kind, **clock})
    left["nodes"] = [
        {"name": name, "last_preemptive": NOW - code / 16, "overcommitted_since": None}
        for name, code in zip(nodes, reversed(codes), strict=False)
        if code > 96
    ]
    return left


def given(snapshot: Mapping[str, Any], codes: bytes) -> Row:
    """Return the starvation of some operations and pools."""
    names = [row["name"] for row in (*snapshot["operations"], *snapshot["pools"])]
    states = {name: _STARVATIONS[code % 3] for name, code in zip(names, codes, strict=False) if code > 32}
    return {"starvation": states} if states else {}


def trigger(snapshot: Mapping[str, Any], code: int) -> Round | Heartbeat:
    """Return a round, or the heartbeat of one node."""
    from evenhand.config.triggers import Heartbeat, Round

    nodes = snapshot["nodes"]
    return Round() if code % 2 == 0 else Heartbeat(nodes[code // 2 % len(nodes)]["name"])
