"""Arguments of every kind: what a function cannot use is refused by name, not by what breaks inside."""

from __future__ import annotations

import datetime
import decimal
import functools
import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import plans
from evenhand.fields import TABLES, Field
from tests.unit.test_frozen import CLUSTER, PLANS, snapshot

#: The edges of numbers, and values of every kind that people pass by mistake.
VALUES: list[Any] = [
    *(
        None,
        True,
        5,
        -1,
        2**53 + 1,
        2**60,
        2**60 + 1,
        2**63 - 1,
        2**63,
        2**64,
        -(2**63),
        -(2**63) - 1,
        10**400,
    ),
    *(0.5, 1e18, 1e19, 1e308, -1e308, float("nan"), float("inf"), -float("inf"), 5e-324, -0.0),
    *("", "x", "\x1b[31m", "\ud800", "9" * 5000, b"x", bytearray(b"x")),
    *([], [1], [None], {}, {"x": 1}, {"x": None}, {1: 2}, {None: 1}, {"a": {"b": {"c": object()}}}),
    *((), set(), object(), int, decimal.Decimal("1e400"), decimal.Decimal("NaN"), complex(1, 2)),
    *(
        np.float64("nan"),
        np.int64(3),
        np.array([1, 2]),
        np.array([[1]]),
        np.array("x"),
        np.datetime64("NaT", "s"),
    ),
    *(datetime.datetime(1, 1, 1, tzinfo=datetime.UTC), datetime.datetime.max.replace(tzinfo=datetime.UTC)),
    *(datetime.timedelta.max, datetime.date(2020, 1, 1), np.datetime64("2020-01-01")),
    *(lambda: 0, range(3), Exception("x"), eh.fair_share, eh),
]
YT, BA, SL = eh.policies.YTsaurus(), eh.policies.BackendAI(), eh.policies.Slurm()
SNAPSHOT = snapshot()
PLAN, OTHER = PLANS["ytsaurus"](), PLANS["backendai"]()
SHARES = eh.fair_share(SNAPSHOT)
TABLE = eh.Table({"a": [1]})

ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "from_dict": lambda v: eh.Snapshot.from_dict(v),
    "from_dict order": lambda v: eh.Snapshot.from_dict(CLUSTER, order=v),
    "from_dict rounding": lambda v: eh.Snapshot.from_dict(CLUSTER, rounding=v),
    "from_json": lambda v: eh.Snapshot.from_json(v),
    "from_frames resources": lambda v: eh.Snapshot.from_frames(resources=v),
    **{
        f"from_frames {name}": lambda v, name=name: eh.Snapshot.from_frames(
            resources={"cpu": {}}, **{name: v}
        )
        for name in (*TABLES, "total", "now", "previous_update", "timezone", "order", "rounding")
        if name != "resources"
    },
    **{
        f"from_dict {name}": lambda v, name=name: eh.Snapshot.from_dict({"resources": {"cpu": {}}, name: v})
        for name in (*TABLES, "total", "now", "previous_update", "schema")
    },
    **{
        f"replace {name}": lambda v, name=name: SNAPSHOT.replace(**{name: v})
        for name in (*TABLES, "total", "now", "previous_update", "timezone")
    },
    "after": lambda v: SNAPSHOT.after(v),
    "snapshot.to_json": lambda v: SNAPSHOT.to_json(indent=v),
    "snapshot.table": lambda v: SNAPSHOT.table(v),
    "snapshot.settings": lambda v: SNAPSHOT.settings(v),
    "snapshot.names": lambda v: SNAPSHOT.names(v),
    "fair_share": lambda v: eh.fair_share(v),
    "fair_share settings": lambda v: eh.fair_share(SNAPSHOT, v),
    "fair_share state": lambda v: eh.fair_share(SNAPSHOT, state=v),
    "usage_share": lambda v: eh.usage_share(v),
    "starvation": lambda v: eh.starvation(v, YT),
    "starvation policy": lambda v: eh.starvation(SNAPSHOT, v),
    "starvation state": lambda v: eh.starvation(SNAPSHOT, YT, v),
    "victims": lambda v: eh.victims(v, YT, "r"),
    "victims policy": lambda v: eh.victims(SNAPSHOT, v, "r"),
    "victims request": lambda v: eh.victims(SNAPSHOT, YT, v),
    "victims node": lambda v: eh.victims(SNAPSHOT, YT, "r", v),
    "victims state": lambda v: eh.victims(SNAPSHOT, YT, "r", state=v),
    "engine": lambda v: eh.FairShareEngine(v),
    "engine snapshot": lambda v: eh.FairShareEngine().update(v),
    "engine state": lambda v: eh.FairShareEngine().update(SNAPSHOT, state=v),
    "shares[]": lambda v: SHARES[v],
    "plan snapshot": lambda v: eh.plan(v, YT),
    "plan domain": lambda v: eh.plan({"a": v}, YT),
    "plan policy": lambda v: eh.plan(SNAPSHOT, v),
    **{
        f"plan {name} {p.system}": lambda v, name=name, p=p: eh.plan(SNAPSHOT, p, **{name: v})
        for name in ("state", "on", "given")
        for p in (YT, BA, SL)
    },
    **{
        f"given {name}": lambda v, name=name: eh.plan(SNAPSHOT, YT, given={name: v})
        for name in ("fair_share", "starvation", "groups")
    },
    "given fair_share of": lambda v: eh.plan(SNAPSHOT, YT, given={"fair_share": {"new": v}}),
    "given fair_share cpu": lambda v: eh.plan(SNAPSHOT, YT, given={"fair_share": {"new": {"cpu": v}}}),
    "given starvation of": lambda v: eh.plan(SNAPSHOT, YT, given={"starvation": {"new": v}}),
    "given groups of": lambda v: eh.plan(SNAPSHOT, YT, given={"groups": {"a0": v}}),
    "heartbeat": lambda v: eh.plan(SNAPSHOT, YT, on=eh.Heartbeat(v)),
    **{f"{p.system}.plan": lambda v, p=p: p.plan(v) for p in (YT, BA, SL)},
    **{f"{p.system}.plan state": lambda v, p=p: p.plan(SNAPSHOT, v) for p in (YT, BA, SL)},
    **{f"{p.system}.plan given": lambda v, p=p: p.plan(SNAPSHOT, None, None, v) for p in (YT, BA, SL)},
    "check": lambda v: PLAN.check(v),
    "check skip": lambda v: PLAN.check(SNAPSHOT, skip=v),
    "diff": lambda v: PLAN.diff(v),
    "why": lambda v: PLAN.why(v),
    "why table": lambda v: PLAN.why("a0", table=v),
    "why_not": lambda v: PLAN.why_not(v),
    "why_not table": lambda v: PLAN.why_not("a0", table=v),
    "plan.to_json": lambda v: PLAN.to_json(indent=v),
    "decisions[]": lambda v: PLAN.decisions[v],
    "decisions.take": lambda v: PLAN.decisions.take(v),
    "decisions.column": lambda v: PLAN.decisions.column(v),
    "refusals[]": lambda v: OTHER.refusals[v],
    "refusals.column": lambda v: OTHER.refusals.column(v),
    "statuses[]": lambda v: PLAN.statuses[v],
    "statuses.at": lambda v: PLAN.statuses.at(v),
    "statuses.column": lambda v: PLAN.statuses.column(v),
    "groups[]": lambda v: PLAN.groups[v],
    "side_by_side": lambda v: plans.side_by_side(v),
    "side_by_side plan": lambda v: plans.side_by_side({"a": v}),
    "State": lambda v: eh.State(v),
    **{
        f"State {name}": lambda v, name=name: eh.State(5.0, **{name: v})
        for name in ("pools", "elements", "nodes", "operations", "settings", "policy")
    },
    "State.from_dict": lambda v: eh.State.from_dict(v),
    "state.check_clock": lambda v: PLAN.state.check_clock(v),
    "Cluster": lambda v: eh.Cluster(v),
    "cluster.apply": lambda v: eh.Cluster(SNAPSHOT).apply(v),
    "cluster.plan": lambda v: eh.Cluster(SNAPSHOT).plan(v),
    "cluster.carry_out": lambda v: eh.Cluster(SNAPSHOT).carry_out(v),
    "cluster.usage": lambda v: eh.Cluster(SNAPSHOT).usage(v),
    "cluster.undo": lambda v: eh.Cluster(SNAPSHOT).undo(v),
    "Table": lambda v: eh.Table(v),
    "Table column": lambda v: eh.Table({"a": v}),
    "table[]": lambda v: TABLE[v],
    "table.rows": lambda v: TABLE.rows(v),
    "tiered": lambda v: eh.policies.tiered(v),
    "tiered pools": lambda v: eh.policies.tiered(SNAPSHOT, v),
    "tiered tiers": lambda v: eh.policies.tiered(SNAPSHOT, tiers=v),
    "priority_choice": lambda v: eh.policies.BackendAI.priority_choice(v),
    "from_conf": lambda v: eh.policies.Slurm.from_conf(v),
    **{
        f"from_conf {name}": lambda v, name=name: eh.policies.Slurm.from_conf("", **{name: v})
        for name in ("partitions", "qos", "shares", "associations", "preset")
    },
    "priorities": lambda v: SL.priorities(v),
    **{f"{type(p).__name__} preset": lambda v, p=p: type(p)(v) for p in (YT, BA, SL)},
    **{
        f"{type(p).__name__} {name}": lambda v, p=p, name=name: eh.plan(SNAPSHOT, type(p)(**{name: v}))
        for p in (YT, BA, SL)
        for name in p.model.model_fields
    },
}

_ROWS: dict[str, dict[str, Any]] = {
    "nodes": {"name": "m"},
    "pools": {"name": "p"},
    "operations": {"name": "q"},
    "allocations": {"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 1}},
    "requests": {"name": "r", "operation": "o", "resources": {"cpu": 1}},
    "reservations": {"name": "v", "node": "n"},
    "commands": {"kind": "preempt"},
}


def _cell(table: str, field: Field, value: Any) -> None:
    """Build, compute and plan with one cell of a table."""
    head, _, inner = field.name.partition(".")
    row = _ROWS.get(table, {}) | {head: {inner: value} if inner else value}
    data: dict[str, Any] = {
        "resources": {"cpu": row if table == "resources" else {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "operations": [{"name": "o"}],
    }
    if table == "root":
        data["root"] = row
    elif table != "resources":
        data[table] = [*data.get(table, ()), row]
    _use(eh.Snapshot.from_dict(data))


@functools.cache
def _use(made: eh.Snapshot) -> None:
    """Write, compute and plan: once with each snapshot, as many values are defaults, or say the same."""
    assert eh.Snapshot.from_dict(made.to_dict()) == made
    assert repr(eh.fair_share(made))
    for policy in (YT, BA, SL):
        assert eh.plan(made, policy).to_json()


FIELDS: dict[str, Callable[[Any], Any]] = {}
for _spec in TABLES.values():
    for _field in _spec.fields:
        FIELDS[f"{_spec.name}.{_field.name}"] = lambda v, t=_spec.name, f=_field: _cell(t, f, v)
        if _field.kind in ("amounts", "shares"):
            FIELDS[f"{_spec.name}.{_field.name}.cpu"] = lambda v, t=_spec.name, f=_field: _cell(
                t, f, {"cpu": v}
            )


def refused_well(error: BaseException) -> bool:
    """Whether an error is one that the library raises itself."""
    if isinstance(error, eh.InputError):
        return bool(str(error)) and all(p.message for p in error.problems) and bool(error.to_frame())
    *_, last = traceback.walk_tb(error.__traceback__)
    frame, line = last
    code = frame.f_code.co_filename
    own = (
        f"{os.sep}evenhand{os.sep}" in code
        and "raise " in Path(code).read_text("utf-8").splitlines()[line - 1]
    )
    return isinstance(error, TypeError | ValueError | KeyError | IndexError) and own


def badly_refused(call: Callable[[Any], Any]) -> Iterator[str]:
    for value in VALUES:
        try:
            call(value)
        except Exception as error:
            if not refused_well(error):
                yield f"{value!r:.60}: {type(error).__name__}: {error!s:.100}"


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name: str) -> None:
    assert list(badly_refused(ARGUMENTS[name])) == []


@pytest.mark.parametrize("name", FIELDS)
def test_cells(name: str) -> None:
    assert list(badly_refused(FIELDS[name])) == []


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: eh.plan(SNAPSHOT, YT, given=5), "given"),  # type: ignore[call-overload]
        (lambda: PLAN.check(None), "fresh_snapshot"),  # type: ignore[arg-type]
        (lambda: PLAN.check(SNAPSHOT, skip=["a"]), "skip"),  # type: ignore[list-item]
        (lambda: PLAN.diff(None), "other"),  # type: ignore[arg-type]
        (lambda: eh.fair_share(CLUSTER), "snapshot"),  # type: ignore[arg-type]
        (lambda: eh.fair_share(SNAPSHOT, {}), "settings"),  # type: ignore[arg-type]
        (lambda: eh.fair_share(SNAPSHOT, state={}), "state"),  # type: ignore[arg-type]
        (lambda: eh.usage_share(CLUSTER), "snapshot"),  # type: ignore[arg-type]
        (lambda: eh.starvation(CLUSTER, YT), "snapshot"),  # type: ignore[arg-type]
        (lambda: eh.starvation(SNAPSHOT, None), "policy"),
        (lambda: eh.starvation(SNAPSHOT, SL), "policy"),
        (lambda: eh.victims(CLUSTER, YT, "r"), "snapshot"),  # type: ignore[arg-type]
        (lambda: eh.victims(SNAPSHOT, None, "r"), "policy"),
        (lambda: eh.victims(SNAPSHOT, YT, None), "request"),  # type: ignore[arg-type]
        (lambda: eh.FairShareEngine(5), "settings"),  # type: ignore[arg-type]
        (lambda: SNAPSHOT.after(None), "plan"),
        (lambda: SNAPSHOT.to_json(indent="x"), "indent"),  # type: ignore[arg-type]
        (lambda: plans.side_by_side([PLAN]), "plans"),  # type: ignore[arg-type]
        (lambda: plans.side_by_side({"a": None}), "plans['a']"),  # type: ignore[dict-item]
        (lambda: eh.policies.tiered(CLUSTER), "snapshot"),  # type: ignore[arg-type]
        (lambda: SL.priorities(CLUSTER), "snapshot"),  # type: ignore[arg-type]
        (lambda: eh.policies.Slurm.from_conf(5), "text"),  # type: ignore[arg-type]
    ],
)
def test_the_argument_is_named(call: Callable[[], Any], field: str) -> None:
    with pytest.raises(eh.InputError) as error:
        call()
    assert [(p.field, p.rule) for p in error.value.problems] == [(field, "type")]
    assert f"{field} is " in str(error.value)


class TestWideIntegers:
    """Columns of 128 bits, which NumPy has not, and decimals."""

    pl = pytest.importorskip("polars")

    def weights(self, values: list[Any], kind: str) -> list[Any]:
        column = self.pl.Series(values, dtype=getattr(self.pl, kind))
        for frame in (
            {"name": ["a", "b"], "weight": column},
            self.pl.DataFrame({"name": ["a", "b"], "weight": column}),
        ):
            made = eh.Snapshot.from_frames(resources={"cpu": {}}, operations=frame)
        return list(made.table("operations").get("weight", 1.0))

    def test_small_ones(self) -> None:
        assert self.weights([2, 3], "Int128") == [2, 3]
        assert self.weights([None, 3], "Int128") == [1, 3]

    def test_those_beyond_64_bits(self) -> None:
        assert self.weights([2**100, 3], "Int128") == [2.0**100, 3.0], "a weight is a double"
        frame = {"name": ["a"], "capacity.cpu": self.pl.Series([2**100], dtype=self.pl.Int128)}
        with pytest.raises(eh.InputError) as error:
            eh.Snapshot.from_frames(resources={"cpu": {}}, nodes=frame)
        assert [(p.field, p.rule) for p in error.value.problems] == [("capacity.cpu", "overflow")]

    def test_decimals(self) -> None:
        column = self.pl.Series([decimal.Decimal("1.5"), decimal.Decimal(10) ** 30])
        assert self.weights(list(column), "Float64") == [1.5, 1e30]
        made = eh.Snapshot.from_frames(
            resources={"cpu": {}}, operations={"name": ["a", "b"], "weight": column}
        )
        assert list(made.table("operations")["weight"]) == [1.5, 1e30]
