"""Malformed input: one clear message each, which names table, row, field and rule."""

from __future__ import annotations

import datetime as dt
import json
import math
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from tests.unit.snapshots import small

Where = tuple[str, int | None, str | None, str]

# path to the cell, what stands there instead, (table, row, field, rule), a part of the message
CELLS: list[tuple[str, Any, Where, str]] = [
    # names
    ("pools.0.name", None, ("pools", 0, "name", "required"), "name of row 0 of the pools is missing"),
    ("pools.0.name", "", ("pools", 0, "name", "required"), "is empty"),
    ("nodes.0.name", 1.5, ("nodes", 0, "name", "type"), "is a number; it must be a name"),
    ("nodes.0.name", True, ("nodes", 0, "name", "type"), "is a flag"),
    ("nodes.0.name", ["n"], ("nodes", 0, "name", "type"), "is a list"),
    ("operations.1.name", 2**63, ("operations", 1, "name", "overflow"), "does not fit in 64 bits"),
    ("operations.1.name", "\ud800", ("operations", 1, "name", "utf8"), "surrogate"),
    ("operations.1.name", "o", ("operations", 1, "name", "unique"), '"o"'),
    ("pools.1.name", "<Root>", ("pools", 1, "name", "reserved"), "implicit root"),
    # references
    ("operations.0.pool", "x", ("operations", 0, "pool", "exists"), '"x", which is not in the table pools'),
    ("operations.0.pool", 1.0, ("operations", 0, "pool", "type"), 'pool of the operation "o" is a number'),
    ("pools.1.parent", "x", ("pools", 1, "parent", "exists"), '"x"'),
    ("pools.0.parent", "q", ("pools", 0, "parent", "cycle"), '"p" under "q" under "p"'),
    ("pools.0.parent", "p", ("pools", 0, "parent", "cycle"), '"p" under "p"'),
    ("allocations.0.operation", None, ("allocations", 0, "operation", "required"), "is missing"),
    ("allocations.0.operation", "x", ("allocations", 0, "operation", "exists"), '"x"'),
    ("allocations.0.node", "x", ("allocations", 0, "node", "exists"), '"x"'),
    ("allocations.0.node", {}, ("allocations", 0, "node", "type"), "is an object"),
    ("allocations.0.required_node", "x", ("allocations", 0, "required_node", "exists"), '"x"'),
    ("requests.0.operation", "x", ("requests", 0, "operation", "exists"), '"x"'),
    ("reservations.0.node", None, ("reservations", 0, "node", "required"), "is missing"),
    # amounts
    ("nodes.0.capacity.cpu", -1, ("nodes", 0, "capacity.cpu", "non_negative"), "-1; it must not be negative"),
    ("nodes.0.capacity.cpu", math.nan, ("nodes", 0, "capacity.cpu", "finite"), "finite"),
    ("nodes.0.capacity.cpu", math.inf, ("nodes", 0, "capacity.cpu", "finite"), "finite"),
    ("nodes.0.capacity.cpu", "8", ("nodes", 0, "capacity.cpu", "type"), "is text; it must be a number"),
    ("nodes.0.capacity.cpu", True, ("nodes", 0, "capacity.cpu", "type"), "is a flag; it must be a number"),
    ("nodes.0.capacity.cpu", 0.0004, ("nodes", 0, "capacity.cpu", "quantum"), "would hold it"),
    ("nodes.0.capacity.memory", 1.5, ("nodes", 0, "capacity.memory", "quantum"), 'rounding="nearest"'),
    ("nodes.0.capacity.memory", 2**61, ("nodes", 0, "capacity.memory", "overflow"), "2^60 quanta"),
    ("nodes.0.capacity.memory", 10**400, ("nodes", 0, "capacity.memory", "overflow"), "too large"),
    ("nodes.0.capacity.gpu", 1, ("nodes", 0, "capacity.gpu", "unknown_resource"), "names no resource"),
    (
        "nodes.0.capacity.memry",
        1,
        ("nodes", 0, "capacity.memry", "unknown_resource"),
        'did you mean "memory"?',
    ),
    ("nodes.0.capacity", 8, ("nodes", 0, "capacity", "type"), "it must be an object (resource: amount)"),
    ("nodes.0.capacity", [["cpu", 1]], ("nodes", 0, "capacity", "type"), "is a list"),
    ("operations.1.usage", {"cpu": 4}, ("operations", 1, "usage.cpu", "usage_within_demand"), "demand of 3"),
    ("operations.0.usage", {"cpu": 4}, ("operations", 0, "usage.cpu", "sum_agrees"), "3 less"),
    ("operations.0.demand", {"cpu": 9}, ("operations", 0, "demand.cpu", "sum_agrees"), "add up to 2"),
    (
        "operations.1.best_allocation_share",
        {"cpu": 1.5},
        ("operations", 1, "best_allocation_share.cpu", "range"),
        "from 0 to 1",
    ),
    ("allocations.0.held", {"cpu": 2}, ("allocations", 0, "held.cpu", "held_within_resources"), "more than"),
    ("requests.0.count", 2**62, ("requests", 0, "count", "range"), "count"),
    ("requests.0.count", 2**60, ("requests", None, "resources.cpu", "overflow"), "2^60 quanta"),
    (
        "total",
        {"cpu": -1},
        ("snapshot", None, "total.cpu", "non_negative"),
        "total.cpu of the snapshot is -1",
    ),
    ("total", {"gpu": 1}, ("snapshot", None, "total.gpu", "unknown_resource"), "names no resource"),
    ("total", 5, ("snapshot", None, "total", "type"), "total is a number; it must be an object"),
    # numbers, flags, words, text
    ("pools.0.weight", 0, ("pools", 0, "weight", "positive"), 'weight of the pool "p" is 0'),
    ("pools.0.weight", math.nan, ("pools", 0, "weight", "finite"), "finite"),
    ("pools.0.weight", "2", ("pools", 0, "weight", "type"), "is text; it must be a number"),
    ("pools.0.weight", 10**400, ("pools", 0, "weight", "overflow"), "too large"),
    ("pools.0.order", False, ("pools", 0, "order", "type"), "is a flag"),
    ("pools.0.priority_donor", 1, ("pools", 0, "priority_donor", "type"), "it must be true or false"),
    ("nodes.0.schedulable", "yes", ("nodes", 0, "schedulable", "type"), "it must be true or false"),
    ("pools.0.mode", "fairshare", ("pools", 0, "mode", "choice"), 'did you mean "fair_share"?'),
    ("pools.0.mode", 1, ("pools", 0, "mode", "type"), 'one of "fair_share", "fifo"'),
    ("pools.0.integral", {"type": "brust"}, ("pools", 0, "integral.type", "choice"), 'did you mean "burst"?'),
    ("pools.0.integral", "burst", ("pools", 0, "integral", "type"), "is text; it must be an object"),
    (
        "pools.0.integral",
        {"resorce_flow": {}},
        ("pools", 0, "integral.resorce_flow", "unknown_field"),
        'mean "resource_flow"?',
    ),
    ("operations.0.user", 5, ("operations", 0, "user", "type"), "is a number; it must be text"),
    ("operations.0.user", "a\udfff", ("operations", 0, "user", "utf8"), "surrogate"),
    ("operations.0.priority", "high", ("operations", 0, "priority", "type"), "is text"),
    ("nodes.0.tags", "ssd", ("nodes", 0, "tags", "type"), "is text; it must be a list of text"),
    ("nodes.0.tags", ["ssd", 1], ("nodes", 0, "tags", "type"), "is a number; it must be text"),
    ("nodes.0.swap_free", 0.5, ("nodes", 0, "swap_free", "integer"), "is 0.5; it must be a whole number"),
    ("requests.0.count", 1.5, ("requests", 0, "count", "integer"), "whole number"),
    ("requests.0.count", -1, ("requests", 0, "count", "non_negative"), "-1"),
    ("requests.0.count", 2**64, ("requests", 0, "count", "overflow"), "64 bits"),
    ("allocations.0.state", "dead", ("allocations", 0, "state", "choice"), '"dead", not one of "running"'),
    ("allocations.0.beneficiary", 1.5, ("allocations", 0, "beneficiary", "type"), "must be an object"),
    (
        "allocations.0.beneficiary",
        {"request": 1.5},
        ("allocations", 0, "beneficiary.request", "type"),
        "it must be a name",
    ),
    # times
    ("now", "noon", ("snapshot", None, "now", "type"), "now is text; it must be an instant"),
    ("now", "2026-07-01T12:00:00", ("snapshot", None, "now", "type"), "(seconds of any epoch)"),
    (
        "now",
        " 2026-07-01T14:00:00+02:00",
        ("snapshot", None, "now", "type"),
        "(seconds of any epoch); 2026-07-01T14:00:00+02:00 is 1782907200",
    ),
    (
        "operations.0.start_time",
        "2026-07-01T12:00:00.250001Z",
        ("operations", 0, "start_time", "type"),
        "2026-07-01T12:00:00.250001Z is 1782907200.250001",
    ),
    ("now", math.inf, ("snapshot", None, "now", "finite"), "now"),
    ("now", dt.datetime(2026, 1, 1), ("snapshot", None, "now", "timezone"), "without a time zone"),  # noqa: DTZ001
    ("previous_update", 5, ("snapshot", None, "previous_update", "range"), "after now"),
    ("operations.0.start_time", "5m", ("operations", 0, "start_time", "type"), "seconds of any epoch"),
    ("operations.0.start_time", 1e30, ("operations", 0, "start_time", "range"), "2^60 microseconds"),
    (
        "operations.0.start_time",
        dt.datetime(2026, 1, 1),  # noqa: DTZ001
        ("operations", 0, "start_time", "timezone"),
        "without a time zone",
    ),
    (
        "allocations.0.deadline",
        dt.timedelta(1),
        ("allocations", 0, "deadline", "type"),
        "is a Python timedelta",
    ),
    ("requests.0.duration", "5 parsecs", ("requests", 0, "duration", "duration"), 'such as "30s"'),
    ("requests.0.duration", "00:99", ("requests", 0, "duration", "duration"), "01:00:00"),
    ("requests.0.duration", -5, ("requests", 0, "duration", "non_negative"), "-5"),
    ("requests.0.duration", [5], ("requests", 0, "duration", "type"), "is a list"),
    # rules between rows
    ("pools.0.mode", "fifo", ("pools", 1, "parent", "fifo_children"), "operations only"),
    (
        "pools.0.integral",
        {"type": "relaxed", "resource_flow": {"cpu": 1}, "burst": {"cpu": 1}},
        ("pools", 0, "integral.burst.cpu", "burst_on_relaxed"),
        "relaxed pool has no burst",
    ),
    # settings and commands
    ("pools.0.settings", "x", ("pools", 0, "settings", "type"), "must be an object (name: value)"),
    ("pools.0.settings", {"t": math.nan}, ("pools", 0, "settings", "finite"), "holds nan"),
    ("pools.0.settings", {"t": {1, 2}}, ("pools", 0, "settings", "type"), "plain data"),
    ("pools.0.settings", {1: 2}, ("pools", 0, "settings", "type"), "keys must be text"),
    ("pools.0.settings", {"t": 2**70}, ("pools", 0, "settings", "overflow"), "64 bits"),
    ("commands", [{"kind": "preempt"}], ("commands", 0, "consumer", "required"), "is missing"),
    (
        "commands",
        [{"consumer": "o", "providers": "x"}],
        ("commands", 0, "providers", "type"),
        "a list of names",
    ),
    ("commands", [{"consumer": "o", "kind": "kill"}], ("commands", 0, "kind", "choice"), '"preempt"'),
    # resources
    ("resources", {}, ("snapshot", None, "resources", "required"), "at least one resource"),
    ("resources", ["cpu"], ("snapshot", None, "resources", "type"), "is a list; it must be an object"),
    ("resources.cpu", 5, ("resources", 0, None, "type"), "is a number; it must be an object"),
    (
        "resources.cpu.quantum",
        0,
        ("resources", 0, "quantum", "positive"),
        'quantum of the resource "cpu" is 0',
    ),
    ("resources.cpu.quantum", "1", ("resources", 0, "quantum", "type"), "is text"),
    ("resources.memory.kind", "ram", ("resources", 1, "kind", "choice"), '"memory"'),
    ("resources.memory.capacity", 5, ("resources", 1, "capacity", "scope"), "scope cluster"),
    ("resources.memory.qantum", 5, ("resources", 1, "qantum", "unknown_field"), 'did you mean "quantum"?'),
    # shapes
    ("schema", "evenhand/snapshot/2", ("snapshot", None, "schema", "schema"), "evenhand/snapshot/1"),
    ("schema", 1, ("snapshot", None, "schema", "schema"), "not a format that this version reads"),
    ("operatoins", [], ("snapshot", None, "operatoins", "unknown_field"), 'did you mean "operations"?'),
    ("pools", {"p": {}}, ("pools", None, None, "type"), "they must be a list of objects"),
    ("pools.1", "q", ("pools", 1, None, "type"), "row 1 of the pools is text; it must be an object"),
    ("root", [], ("root", None, None, "type"), "the root is a list; it must be an object"),
    ("root", {"weight": 2}, ("root", None, "weight", "unknown_field"), "is not a known field"),
    ("root", {"limits": {"cpu": -1}}, ("root", None, "limits.cpu", "non_negative"), "-1"),
    ("operations.0.demnd", {}, ("operations", 0, "demnd", "unknown_field"), 'did you mean "demand"?'),
    ("pools.0.starvation", 1, ("pools", 0, "starvation", "unknown_field"), 'goes into "settings"'),
]


def broken(path: str, value: Any) -> dict[str, Any]:
    """The small snapshot with one cell replaced."""
    data: Any = small()
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place = data
    for step in steps:
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    place[last] = value
    return dict(data)


def the_problem(error: eh.InputError) -> Any:
    """The only problem of an error, which is also its only line."""
    assert len(error.problems) == 1, str(error)
    assert error.omitted == 0
    assert len(str(error).splitlines()) == 1
    return error.problems[0]


def assert_problem(error: eh.InputError, where: Where, part: str) -> None:
    problem = the_problem(error)
    assert (problem.table, problem.row, problem.field, problem.rule) == where, str(error)
    assert part in problem.message, problem.message


def test_enough_kinds() -> None:
    assert len({(path, repr(value)) for path, value, *_ in CELLS}) >= 60


def test_the_unbroken_one_builds() -> None:
    assert eh.Snapshot.from_dict(small()).allocation_count == 1


@pytest.mark.parametrize(
    ("path", "value", "where", "part"), [pytest.param(*c, id=f"{c[0]}={c[1]!r:.30}") for c in CELLS]
)
def test_dict(path: str, value: Any, where: Where, part: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_dict(broken(path, value))
    assert_problem(caught.value, where, part)


@pytest.mark.parametrize("data", [None, 5, "text", [], [("resources", {})]])
def test_not_an_object(data: Any) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_dict(data)
    assert_problem(caught.value, ("snapshot", None, None, "type"), "it must be an object")


HEAD = '{"resources": {"cpu": {}}, '
TEXTS: list[tuple[str | bytes, Where, str]] = [
    ("", ("snapshot", None, None, "json"), "is empty text"),
    (" \n", ("snapshot", None, None, "json"), "is empty text"),
    (HEAD, ("snapshot", None, None, "json"), "ends too early (line 1"),
    (HEAD + '"no', ("snapshot", None, None, "json"), "ends too early"),
    (HEAD + '"pools": [{"name": "p"}', ("snapshot", None, None, "json"), "ends too early"),
    (HEAD + '"now": 5,}', ("snapshot", None, None, "json"), "line 1, column"),
    ("{'resources': {}}", ("snapshot", None, None, "json"), "line 1, column 2"),
    ("cluster.json", ("snapshot", None, None, "json"), "pathlib.Path"),
    ("[]", ("snapshot", None, None, "type"), "is a list; it must be an object"),
    ("null", ("snapshot", None, None, "type"), "is null"),
    ('"x"', ("snapshot", None, None, "type"), "is text"),
    (b'{"resources": "\xff"}', ("snapshot", None, None, "json"), "not UTF-8 text: byte 15"),
    (HEAD + '"now": NaN}', ("snapshot", None, "now", "finite"), "is NaN, which JSON does not have"),
    (HEAD + '"now": -Infinity}', ("snapshot", None, "now", "finite"), "-Infinity"),
    (HEAD + '"now": 1e999}', ("snapshot", None, "now", "finite"), "finite"),
    (HEAD + '"now": 1' + 5000 * "0" + "}", ("snapshot", None, "now", "overflow"), "thousands of digits"),
    (HEAD + '"now": 1, "now": 2}', ("snapshot", None, "now", "duplicate_key"), "appears twice"),
    (
        '{"resources": {"cpu": {"quantum": 1, "quantum": 2}}}',
        ("resources", 0, "quantum", "duplicate_key"),
        'quantum of the resource "cpu" appears twice',
    ),
    (
        HEAD + '"pools": [{"name": "p"}, {"name": "q", "limits": {"cpu": 1, "cpu": 2}}]}',
        ("pools", 1, "limits.cpu", "duplicate_key"),
        'limits.cpu of the pool "q" appears twice',
    ),
    (
        HEAD + '"nodes": [{"name": "n", "capacity": {"cpu": NaN}}]}',
        ("nodes", 0, "capacity.cpu", "finite"),
        'capacity.cpu of the node "n" is NaN',
    ),
    (HEAD + '"root": {"weight": NaN}}', ("root", None, "weight", "finite"), "weight of the root is NaN"),
    (100_000 * "[", ("snapshot", None, None, "depth"), "nested too deeply"),
    (
        HEAD + '"root": {"settings": {"x": ' + 50 * "[" + 50 * "]" + "}}}",
        ("root", None, "settings", "depth"),
        "nested more than 32 deep",
    ),
    (HEAD + '"pools": [{"name": "\\ud800"}]}', ("pools", 0, "name", "utf8"), "surrogate"),
]


@pytest.mark.parametrize(("text", "where", "part"), [pytest.param(*t, id=f"{t[0]!r:.40}") for t in TEXTS])
def test_json(text: str | bytes, where: Where, part: str, tmp_path: Path) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_json(text)
    assert_problem(caught.value, where, part)
    if text != "cluster.json":
        path = tmp_path / "cluster.json"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        with pytest.raises(eh.InputError) as caught:
            eh.Snapshot.from_json(path)
        assert_problem(caught.value, where, part)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_json(tmp_path / "no.json")
    assert_problem(caught.value, ("snapshot", None, None, "readable"), "No such file")
    with pytest.raises(eh.InputError, match="Is a directory"):
        eh.Snapshot.from_json(tmp_path)


def test_every_kind_of_source_has_a_type() -> None:
    with pytest.raises(TypeError, match="text, bytes or a path, not int"):
        eh.Snapshot.from_json(5)  # type: ignore[arg-type]


def test_options() -> None:
    with pytest.raises(ValueError, match="order is 'name'"):
        eh.Snapshot.from_dict(small(), order="name")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rounding is 'up'"):
        eh.Snapshot.from_dict(small(), rounding="up")  # type: ignore[arg-type]


def test_rounding() -> None:
    data = broken("nodes.0.capacity.memory", 1.5)
    assert eh.Snapshot.from_dict(data, rounding="nearest").total["memory"] == 2


def test_problems_of_all_tables_are_collected_and_sorted() -> None:
    data = small()
    data["requests"][0]["count"] = "three"
    data["pools"][1]["weight"] = -1
    data["pools"][0]["mode"] = 7
    data["nodes"].append({"name": "m", "capacity": {"cpu": math.nan}})
    data["now"] = "noon"
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_dict(data)
    found = [(p.table, p.row, p.name, p.field) for p in caught.value.problems]
    assert found == [
        ("snapshot", None, None, "now"),
        ("nodes", 1, "m", "capacity.cpu"),
        ("pools", 0, "p", "mode"),
        ("pools", 1, "q", "weight"),
        ("requests", 0, "r", "count"),
    ]


def test_no_consequences_are_reported() -> None:
    data = small()
    data["operations"][0]["name"] = 1.5  # allocations and requests refer to it
    assert len(_error(data).problems) == 1
    data = small()
    data["allocations"][0]["resources"] = "all"  # the usage given no longer agrees
    data["operations"][0]["usage"] = {"cpu": 1}
    assert len(_error(data).problems) == 1
    data = small()
    data["pools"][0] = 5
    assert [p.table for p in _error(data).problems] == ["pools"]


def test_what_is_no_consequence_is_reported() -> None:
    data = small()
    data["operations"][0]["user"] = 5
    data["allocations"][0]["node"] = "x"
    assert [p.rule for p in _error(data).problems] == ["type", "exists"]


def test_at_most_a_hundred_are_kept() -> None:
    data = small()
    data["nodes"] += [{"name": i, "capacity": {"cpu": "x"}} for i in range(150)]
    error = _error(data)
    assert len(error.problems) == 100
    assert error.omitted == 50
    assert str(error).splitlines()[-1] == "... and at least 50 more"
    assert [p.row for p in error.problems] == list(range(1, 101))
    assert error.problems[0].name == 0


def test_the_core_keeps_a_hundred_too() -> None:
    data = small()
    data["nodes"] += [{"name": i, "capacity": {"cpu": -1}} for i in range(150)]
    error = _error(data)
    assert (len(error.problems), error.omitted) == (100, 50)


def test_a_field_that_nobody_knows_is_reported_once() -> None:
    data = small()
    data["nodes"] += [{"name": i, "cpacity": {}} for i in range(5)]
    problem = the_problem(_error(data))
    assert problem.row == 1
    assert problem.message.endswith("(in 4 more rows)")


def test_error_as_table() -> None:
    error = _error(broken("pools.0.weight", -1))
    table = error.to_frame()
    assert table.columns == ("table", "row", "name", "field", "rule", "value", "message")
    assert (table["table"][0], table["name"][0], table["value"][0]) == ("pools", "p", "-1")


def test_integer_names_stay_integers_in_problems() -> None:
    data = broken("pools.0.name", 5)
    data["pools"][1]["parent"] = data["operations"][0]["pool"] = 5
    data["pools"][0]["weight"] = -1
    assert the_problem(_error(data)).name == 5


def _error(data: dict[str, Any]) -> eh.InputError:
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_dict(data)
    # The same input as text breaks the same rules, wherever JSON can say it.
    try:
        text = json.dumps(data, allow_nan=False)
    except ValueError:
        return caught.value
    with pytest.raises(eh.InputError) as again:
        eh.Snapshot.from_json(text)
    assert str(again.value) == str(caught.value)
    return caught.value
