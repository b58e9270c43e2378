"""Small snapshots in which one field matters, for fields that drawn snapshots seldom put to use."""

from __future__ import annotations

from typing import Any

from evenhand.policies import BackendAI, GridEngine, Slurm, YTsaurus
from tests.properties.reading_gridengine import OF_GRIDENGINE
from tests.properties.reading_ytsaurus import OF_YTSAURUS
from tests.properties.reading_yunikorn import OF_YUNIKORN, changed

__all__ = ["ASIDE", "WITNESSES"]

Row = dict[str, Any]


def _tree(**pool: Any) -> Row:
    """A pool with two operations that want more than there is, and another pool that wants the rest."""
    return {
        "now": 1000,
        "previous_update": 990,
        "resources": {"cpu": {}},
        "total": {"cpu": 10},
        "pools": [{"name": "p", **pool}, {"name": "q"}],
        "operations": [
            {"name": "a", "pool": "p", "demand": {"cpu": 6}, "start_time": 1},
            {"name": "b", "pool": "p", "demand": {"cpu": 2}, "start_time": 2},
            {"name": "c", "pool": "q", "demand": {"cpu": 10}},
        ],
    }


def _cluster(**more: Any) -> Row:
    """One full node, a job that runs there, and one that waits."""
    node = {"name": "n", "capacity": {"cpu": 4, "gpu": 4}}
    runs = {"name": "old", "operation": "old", "node": "n", "resources": {"cpu": 4}, "start_time": 900}
    waits = {"name": "new", "operation": "new", "resources": {"cpu": 4}}
    operations = [
        {"name": "old", "partition": "low", "priority": 1},
        {"name": "new", "partition": "high", "priority": 20},
    ]
    tables = {"nodes": [node], "operations": operations, "allocations": [runs], "requests": [waits]}
    return {"now": 1000, "resources": {"cpu": {}, "gpu": {}}, **tables, **more}


def _backfill(**of_running: Any) -> Row:
    """A job of both nodes waits for one of them; a short one behind it could use the other meanwhile."""
    names = ("n1", "n2")
    return {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in names],
        "operations": [{"name": "old"}, {"name": "wide", "priority": 9}, {"name": "short", "priority": 2}],
        "allocations": [
            {"name": "old", "operation": "old", "node": "n1", "resources": {"cpu": 4}, **of_running}
        ],
        "requests": [
            {"name": "wide", "operation": "wide", "resources": {"cpu": 4}, "count": 2},
            {"name": "short", "operation": "short", "resources": {"cpu": 4}, "duration": 50},
        ],
    }


_STEP = YTsaurus(fair_share={"step_function_for_gang": True, "fifo_reordering": True})
_FIFO = _tree(mode="fifo", strong_guarantee={"cpu": 3}, fifo_reordering=True)
_FIFO["operations"][0]["gang"] = True
_GANG = _tree()
_GANG["operations"][0]["gang"] = True
_RELAXED = {"type": "relaxed", "resource_flow": {"cpu": 1}, "accumulated_volume": {"cpu": 90_000}}
_FULL = {"type": "relaxed", "resource_flow": {"cpu": 1}, "accumulated_volume": {"cpu": 10**7}}
_DONOR = {
    **_tree(strong_guarantee={"cpu": 4}, priority_strong_guarantee=True, parent="d"),
    "pools": [
        {"name": "d", "strong_guarantee": {"cpu": 6}, "priority_donor": True},
        {"name": "p", "parent": "d", "strong_guarantee": {"cpu": 4}, "priority_strong_guarantee": True},
        {"name": "q", "strong_guarantee": {"cpu": 4}},
    ],
}


def _volumes(accepts: bool = True, passes_on: bool = True) -> Row:
    """A pool whose volume is full, one that has none, and one above a third."""
    data = _tree(integral=_FULL)
    little = {"type": "relaxed", "resource_flow": {"cpu": 1}}
    data["pools"][1]["integral"] = little | {"can_accept_free_volume": accepts}
    above = little | {"should_distribute_free_volume_among_children": passes_on}
    data["pools"] += [
        {"name": "r", "integral": {"resource_flow": {"cpu": 1}, **above, "type": "none"}},
        {"name": "s", "parent": "r", "integral": little},
    ]
    return {**data, "root": {"integral": {"should_distribute_free_volume_among_children": True}}}


_BACKFILL = Slurm(SchedulerType="sched/backfill", bf_resolution=1)
_TIERS = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 2}}
_SUSPEND = Slurm(
    PreemptType="preempt/partition_prio",
    PreemptMode="SUSPEND,GANG",
    partitions={name: {**tier, "OverSubscribe": "FORCE:1"} for name, tier in _TIERS.items()},
)
_GRACE = Slurm(
    PreemptType="preempt/partition_prio",
    PreemptMode="CANCEL",
    partitions={name: {**tier, "GraceTime": 60} for name, tier in _TIERS.items()},
)
_GPUS = _cluster()
_GPUS["allocations"][0]["resources"] = {"gpu": 4}
_GPUS["requests"][0]["resources"] = {"gpu": 4}


def _reserved() -> Row:
    """Room on the node, which is free, is kept for another request."""
    data = _cluster(allocations=[])
    data["requests"] += [{"name": "later", "operation": "old", "resources": {"cpu": 4}}]
    room = {"name": "v", "request": "later", "node": "n", "resources": {"cpu": 4}, "from": 500}
    return {**data, "reservations": [room]}


_PROMISING = {"ytsaurus": YTsaurus(), "backendai": BackendAI(), "gridengine": GridEngine(), "slurm": _GRACE}


def _promised(whom: Row) -> Row:
    """Room is about to be free on the only node; two wait for it."""
    data = _cluster()
    data["operations"] += [{"name": "newer", "partition": "high"}]
    data["requests"] += [{"name": "newer", "operation": "newer", "resources": {"cpu": 4}}]
    data["allocations"][0] |= {"state": "preempting", "beneficiary": whom}
    return data


_ASSOCIATIONS = Slurm(
    PriorityType="priority/multifactor",
    PriorityWeightAssoc=1000,
    association_priority={"low/low": 1, "low/high": 5, "high/low": 5, "high/high": 3},
)


def _associated() -> Row:
    """Two jobs of different associations wait for the only node."""
    data = _cluster(allocations=[])
    data["operations"] = [
        {"name": "a", "account": "low", "user": "low"},
        {"name": "b", "account": "high", "user": "high"},
    ]
    data["requests"] = [{"name": name, "operation": name, "resources": {"cpu": 4}} for name in ("a", "b")]
    return data


def _lost() -> Row:
    """Two jobs alike; one of them is enough."""
    data = _cluster()
    data["nodes"][0]["capacity"] = {"cpu": 8}
    twin = {"name": "twin", "partition": "low", "priority": 1}
    data["operations"] += [twin]
    data["allocations"] += [{**data["allocations"][0], "name": "twin", "operation": "twin"}]
    return data


_LOST: Row = {"victim_selection": "minimum", "victim_cost": "lost_work"}


def _owned(field: str, whose: str) -> Row:
    """The job that runs is of x, the one that waits of somebody."""
    data = _cluster()
    for row, owner in zip(data["operations"], ("x", whose), strict=True):
        row[field] = owner
    return data


def _suspended() -> Row:
    data = _cluster()
    data["operations"] = [{"name": name, "priority": 5, "start_time": 10} for name in "ab"]
    data["requests"] = []
    data["nodes"] += [{"name": "m", "capacity": {"cpu": 4}}]
    data["allocations"] = [
        {"name": name, "operation": name, "node": "n", "resources": {"cpu": 4}, "state": "preempted"}
        for name in ("a", "b")
    ]
    return data


def _rooted(field: str, *values: Any, **also: Any) -> tuple[Any, Row, Row]:
    """Two trees of `_gangs` whose roots differ in one field."""
    return (_STEP, *({**_gangs(), "root": _root(field, value, also)} for value in values))


def _root(field: str, value: Any, also: Row) -> Row:
    head, _, inner = field.partition(".")
    return {**also, head: {**also.get(head, {}), inner: value} if inner else value}


def _gangs() -> Row:
    """Two pools and a gang beside them, which together want more than there is."""
    data = _tree(strong_guarantee={"cpu": 4})
    gang = {"name": "d", "demand": {"cpu": 8}, "gang": True, "start_time": 2}
    return {**data, "operations": [data["operations"][0], gang, data["operations"][2]]}


def _donated(donor: bool) -> Row:
    """Guarantees of two pools, one of them served first, are more than there is."""
    data = _tree(strong_guarantee={"cpu": 4}, priority_strong_guarantee=True)
    data["pools"][1] |= {"strong_guarantee": {"cpu": 8}}
    return {**data, "root": {"priority_donor": donor}}


def _alone(data: Row) -> Row:
    """The same operations without pools."""
    operations = [{key: value for key, value in row.items() if key != "pool"} for row in data["operations"]]
    return {**data, "pools": [], "operations": operations}


def _spread(field: str, value: bool) -> Row:
    """A root with volume to spread among `_volumes`."""
    integral = {"can_accept_free_volume": True, "should_distribute_free_volume_among_children": True}
    return {**_volumes(), "root": {"integral": integral | {field: value}}}


_BURST = {"type": "burst", "resource_flow": {"cpu": 1}, "accumulated_volume": {"cpu": 90_000}}
_OF_ROOT: dict[str, tuple[Any, Row, Row]] = {
    "mode": (
        _STEP,
        {**_alone(_tree()), "root": {"mode": "fair_share"}},
        {**_alone(_tree()), "root": {"mode": "fifo"}},
    ),
    "limits": _rooted("limits", {}, {"cpu": 3}),
    "integral.type": _rooted("integral.type", "none", "relaxed", integral=_RELAXED),
    "integral.resource_flow": _rooted("integral.resource_flow", {"cpu": 1}, {"cpu": 2}, integral=_RELAXED),
    "integral.burst": _rooted("integral.burst", {"cpu": 2}, {"cpu": 3}, integral=_BURST),
    "integral.relaxed_share_multiplier_limit": _rooted(
        "integral.relaxed_share_multiplier_limit", 3, 6, integral=_RELAXED
    ),
    "integral.accumulated_volume": _rooted(
        "integral.accumulated_volume", {"cpu": 90_000}, {"cpu": 5}, integral=_RELAXED
    ),
    "integral.last_share_ratio": _rooted("integral.last_share_ratio", 0.0, 0.5, integral=_RELAXED),
    **{
        f"integral.{field}": (YTsaurus(), _spread(field, True), _spread(field, False))
        for field in ("can_accept_free_volume", "should_distribute_free_volume_among_children")
    },
    "step_function_for_gang": _rooted("step_function_for_gang", True, False),
    "compute_promised_guarantee": _rooted("compute_promised_guarantee", False, True),
    "priority_donor": (YTsaurus(), _donated(False), _donated(True)),
}


#: (system, table, field): a policy, and two snapshots that differ there and are planned differently.
def _in_a_pool(parent: str | None) -> Row:
    """The job that runs is in a pool; only the other pool gives no victims."""
    data = _cluster(pools=[{"name": "p"}, {"name": "q", "settings": {"max_victims_per_hour": 0}}])
    data["pools"][0] |= {} if parent is None else {"parent": parent}
    data["operations"][0]["pool"] = "p"
    return data


WITNESSES: dict[tuple[str, str, str], tuple[Any, Row, Row]] = {
    **{("yunikorn", *field): case for field, case in OF_YUNIKORN.items()},
    **{("ytsaurus", *field): case for field, case in OF_YTSAURUS.items()},
    **{("ytsaurus", "root", field): case for field, case in _OF_ROOT.items()},
    ("ytsaurus", "operations", "gang"): (_STEP, _tree(), _GANG),
    ("ytsaurus", "pools", "step_function_for_gang"): (
        _STEP,
        _GANG,
        changed(_GANG, "pools", 0, step_function_for_gang=False),
    ),
    ("ytsaurus", "pools", "fifo_reordering"): (
        _STEP,
        _FIFO,
        changed(_FIFO, "pools", 0, fifo_reordering=False),
    ),
    ("ytsaurus", "pools", "integral.burst"): (
        YTsaurus(),
        _tree(integral={"type": "burst"}),
        _tree(integral={"type": "burst", "burst": {"cpu": 2}}),
    ),
    **{
        ("ytsaurus", "operations", field): (
            YTsaurus(),
            _tree(mode="fifo"),
            changed(_tree(mode="fifo"), "operations", 0, **{field: 9}),
        )
        for field in ("start_time", "fifo_start_time")
    },
    ("ytsaurus", "pools", "integral.relaxed_share_multiplier_limit"): (
        YTsaurus(),
        _tree(integral=_RELAXED),
        _tree(integral=_RELAXED | {"relaxed_share_multiplier_limit": 6}),
    ),
    ("ytsaurus", "pools", "priority_donor"): (
        YTsaurus(),
        _DONOR,
        changed(_DONOR, "pools", 0, priority_donor=False),
    ),
    ("ytsaurus", "pools", "priority_strong_guarantee"): (
        YTsaurus(),
        _DONOR,
        changed(_DONOR, "pools", 1, priority_strong_guarantee=False),
    ),
    ("ytsaurus", "pools", "integral.can_accept_free_volume"): (
        YTsaurus(),
        _volumes(),
        _volumes(accepts=False),
    ),
    ("ytsaurus", "pools", "integral.should_distribute_free_volume_among_children"): (
        YTsaurus(),
        _volumes(),
        _volumes(passes_on=False),
    ),
    **{
        (system, "reservations", "from"): (
            policy,
            _reserved(),
            changed(_reserved(), "reservations", 0, **{"from": 2000}),
        )
        for system, policy in (("backendai", BackendAI()), ("slurm", Slurm()))
    },
    **{
        (system, "pools", "parent"): (policy, _in_a_pool(None), _in_a_pool("q"))
        for system, policy in (("backendai", BackendAI()), ("slurm", _GRACE))
    },
    **OF_GRIDENGINE,
    ("slurm", "allocations", "planned_end"): (
        _GRACE,
        _cluster(),
        changed(_cluster(), "allocations", 0, planned_end=1010),
    ),
    ("slurm", "allocations", "deadline"): (
        _BACKFILL,
        _backfill(state="preempting", deadline=1060),
        _backfill(state="preempting", deadline=1020),
    ),
    ("slurm", "requests", "duration"): (
        _BACKFILL,
        _backfill(planned_end=1060),
        changed(_backfill(planned_end=1060), "requests", 1, duration=500),
    ),
    ("slurm", "resources", "kind"): (
        _SUSPEND,
        _GPUS,
        {**_GPUS, "resources": {"cpu": {}, "gpu": {"kind": "slots"}}},
    ),
    **{
        ("backendai", "operations", field): (
            BackendAI(victim_scope=field),
            _owned(field, "x"),
            _owned(field, "y"),
        )
        for field in ("user", "project")
    },
    ("backendai", "allocations", "required_node"): (
        BackendAI(),
        _suspended(),
        changed(_suspended(), "allocations", 0, required_node="n"),
    ),
    **{
        (system, "allocations", "beneficiary.operation"): (
            policy,
            _promised({"operation": "new"}),
            _promised({"operation": "newer"}),
        )
        for system, policy in _PROMISING.items()
    },
    **{
        (system, "allocations", "beneficiary.request"): (
            policy,
            _promised({"request": "new"}),
            _promised({"request": "newer"}),
        )
        for system, policy in _PROMISING.items()
    },
    **{
        ("slurm", "operations", field): (
            _ASSOCIATIONS,
            _associated(),
            changed(_associated(), "operations", 0, **{field: "high"}),
        )
        for field in ("account", "user")
    },
    **{
        (system, "allocations", field): (
            policy,
            _lost(),
            changed(_lost(), "allocations", 1, **{field: 990}),
        )
        for field in ("last_job_start_time", "last_progress_time")
        for system, policy in (("backendai", BackendAI(**_LOST)), ("slurm", _GRACE.replace(**_LOST)))
    },
    ("slurm", "allocations", "start_time"): (
        _GRACE.replace(PreemptExemptTime=150),
        _cluster(),
        changed(_cluster(), "allocations", 0, start_time=800),
    ),
    ("backendai", "operations", "start_time"): (
        BackendAI(),
        _suspended(),
        changed(_suspended(), "operations", 1, start_time=5),
    ),
    ("backendai", "resources", "available_after_preemption"): (
        BackendAI(preemption_mode="suspend", suspend_approach="keep"),
        _cluster(),
        _cluster(resources={"cpu": {"available_after_preemption": False}, "gpu": {}}),
    ),
}

#: (system, table, field): a policy whose settings leave it aside, and two snapshots that differ there.
ASIDE: dict[tuple[str, str, str], tuple[Any, Row, Row]] = {
    ("slurm", "operations", name): (
        Slurm(),
        _cluster(),
        changed(_cluster(), "operations", 0, **{name: "other"}),
    )
    for name in ("partition", "qos", "account", "user")
}
