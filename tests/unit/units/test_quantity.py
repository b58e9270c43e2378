"""Quantities as text: Kubernetes' grammar, converted into the unit of a resource.

What a suffix is worth is Kubernetes' (API reference, common definitions, "Quantity").
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.units.quantity import SCALES, quantity

DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
WORTH = {s: Fraction(10) ** p for s, p in DECIMAL.items()} | {s: Fraction(2) ** p for s, p in BINARY.items()}
OF_COUNTS = ("n", "u", "m", "k")
COUNTS = ("core", "cores", "vcore", "vcores", "cpu", "cpus", "CPU", "CPUs", "gpu", "gpus", "GPU", "GPUs")
BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15, "EB": 10**18} | {
    f"{s}B": 2**p for s, p in BINARY.items()
}


def test_the_table_of_units_is_complete() -> None:
    assert set(SCALES) == {*BYTES, *COUNTS, "byte", "bytes", "millicore", "millicores"}


@pytest.mark.parametrize("unit", sorted(SCALES))
@pytest.mark.parametrize("suffix", [*DECIMAL, *BINARY])
def test_every_suffix_in_every_unit(unit: str, suffix: str) -> None:
    size = Fraction(BYTES.get(unit, 1)) / (1000 if unit.startswith("milli") else 1)
    counted = unit in COUNTS or unit.startswith("milli")
    if (suffix in OF_COUNTS) if counted else (suffix not in OF_COUNTS or suffix == "k"):
        assert quantity(f"1.5{suffix}", unit) == Fraction(3, 2) * WORTH[suffix] / size
    else:
        with pytest.raises(ValueError, match=f'which has a suffix that does not fit the unit "{unit}"'):
            quantity(f"1.5{suffix}", unit)


@pytest.mark.parametrize(
    ("text", "unit", "amount"),
    [
        ("512Mi", "GiB", Fraction(1, 2)),
        ("1G", "GiB", Fraction(10**9, 2**30)),
        ("500m", "core", Fraction(1, 2)),
        ("2", "millicore", 2),
        ("2k", "millicore", 2_000_000),
        ("100k", "B", 100_000),
        ("1Ti", "GiB", 1024),
        ("1E", "EB", 1),
        ("1E3", "EB", 1000),
        ("2e3", "core", 2000),
        ("2e-3", "seat", Fraction(1, 500)),
        ("2E+3", "seat", 2000),
        (".5", "seat", Fraction(1, 2)),
        ("5.", "seat", 5),
        ("+5", "seat", 5),
        ("-5", "seat", -5),
        ("0.1", "seat", Fraction(1, 10)),
    ],
)
def test_amounts(text: str, unit: str, amount: Fraction) -> None:
    assert quantity(text, unit) == amount


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 ",
        " 1",
        "1 Gi",
        "Gi",
        ".",
        "+",
        "1e1.5",
        "0x10",
        "1,5",
        "1_000",
        "nan",
        "inf",
        "1e9999",
        "٣",
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="which is not a quantity"):
        quantity(text, "GiB")


def test_what_is_long_is_not_read() -> None:
    with pytest.raises(ValueError, match=r"which is not a quantity") as error:
        quantity("9" * 10**6, "GiB")
    assert len(str(error.value)) < 200
    assert quantity("9" * 40, "B") == 10**40 - 1


@pytest.mark.parametrize(("text", "hint"), [("512MiB", "512Mi"), ("1.5GB", "1.5G"), ("1kB", "1k")])
def test_bytes_that_are_written_out(text: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f'; write "{hint}"'):
        quantity(text, "GiB")


@pytest.mark.parametrize("text", ["1e", "1ki", "1K", "1gi", "1GI", "1mm"])
def test_suffixes_that_there_are_not(text: str) -> None:
    with pytest.raises(ValueError, match="which has none of the suffixes n, u, m, k, M, G"):
        quantity(text, "GiB")


def cluster(unit: Any, amount: Any, **of_memory: Any) -> dict[str, Any]:
    return {
        "resources": {"memory": {"unit": unit, **of_memory}},
        "nodes": [{"name": "n", "capacity": {"memory": amount}}],
    }


def by_json(data: dict[str, Any]) -> eh.Snapshot:
    return eh.Snapshot.from_json(json.dumps(data))


def by_frames(data: dict[str, Any]) -> eh.Snapshot:
    amounts = [row["capacity"]["memory"] for row in data["nodes"]]
    nodes = {"name": [row["name"] for row in data["nodes"]], "capacity.memory": amounts}
    return eh.Snapshot.from_frames(resources=data["resources"], nodes=nodes)


def by_pandas(data: dict[str, Any]) -> eh.Snapshot:
    pandas = pytest.importorskip("pandas")
    amounts = [row["capacity"]["memory"] for row in data["nodes"]]
    nodes = pandas.DataFrame({"name": [row["name"] for row in data["nodes"]], "capacity.memory": amounts})
    return eh.Snapshot.from_frames(resources=data["resources"], nodes=nodes)


DOORS = pytest.mark.parametrize("door", [eh.Snapshot.from_dict, by_json, by_frames, by_pandas])


@DOORS
def test_quantities_are_amounts_through_every_door(door: Any) -> None:
    built = door(cluster("GiB", "512Mi", quantum="1Mi"))
    assert built == door(cluster("GiB", 0.5, quantum=2.0**-10))
    assert built.total == {"memory": 0.5}
    assert built.units == {"memory": "GiB"}
    assert eh.Snapshot.from_dict(built.to_dict()) == built


HINT = '(with a "unit" of its resource, quantities such as "512Gi" are read)'
UNFIT = "which has a suffix that does not fit the unit"
UNKNOWN = (
    'which cannot be converted into the unit "seat", of which no suffix is known; give a number in that unit'
)
NO_MULTIPLE = 'not a multiple of the quantum 1; choose a smaller quantum or pass rounding="nearest"'


@DOORS
@pytest.mark.parametrize(
    ("unit", "amount", "said"),
    [
        (None, "512Gi", f"is text; it must be a number {HINT} [type]"),
        ("core", "1Gi", f'is "1Gi", {UNFIT} "core"; n, u, m, k do [quantity]'),
        ("seat", "2k", f'is "2k", {UNKNOWN} [quantity]'),
        ("GiB", "1G", f"is 0.9313225746154785, {NO_MULTIPLE} [quantum]"),
        ("GiB", "-1Gi", "is -1; it must not be negative [non_negative]"),
        ("GiB", "1e999", "is too large a number [overflow]"),
    ],
)
def test_what_does_not_fit_is_one_error(door: Any, unit: str | None, amount: str, said: str) -> None:
    with pytest.raises(eh.InputError) as error:
        door(cluster(unit, amount))
    assert str(error.value) == f'nodes[0]: capacity.memory of the node "n" {said}'
    (problem,) = error.value.problems
    assert (problem.table, problem.row, problem.name, problem.field) == ("nodes", 0, "n", "capacity.memory")


@DOORS
@pytest.mark.parametrize("unit", [5, "", " "])
def test_a_wrong_unit_is_the_only_problem(door: Any, unit: Any) -> None:
    with pytest.raises(eh.InputError) as error:
        door(cluster(unit, "512Gi"))
    (problem,) = error.value.problems
    assert (problem.table, problem.name, problem.field) == ("resources", "memory", "unit")


def test_rounding_takes_the_nearest_multiple() -> None:
    assert eh.Snapshot.from_dict(cluster("GiB", "1G"), rounding="nearest").total == {"memory": 1}


def test_whole_quantities_beyond_what_floats_hold_are_exact() -> None:
    data = cluster("B", str(2**60 - 1))
    assert eh.Snapshot.from_dict(data).total == {"memory": 2**60 - 1}


def test_numbers_and_texts_in_one_column() -> None:
    data = cluster("GiB", "2Gi")
    data["nodes"] += [{"name": "m", "capacity": {"memory": 3}}, {"name": "o"}]
    for door in (eh.Snapshot.from_dict, by_json):
        assert door(data).total == {"memory": 5}


def test_in_every_amount_of_a_snapshot() -> None:
    texts: dict[str, Any] = {
        "resources": {
            "cpu": {"unit": "core"},
            "lic": {"unit": "seat", "scope": "cluster", "capacity": "4"},
        },
        "total": {"cpu": "8000m", "lic": "3"},
        "root": {"limits": {"cpu": "7500m"}},
        "nodes": [{"name": "n", "capacity": {"cpu": "8"}}],
        "pools": [{"name": "p", "strong_guarantee": {"cpu": "1e0"}, "integral": {"burst": {"cpu": "500m"}}}],
        "operations": [{"name": "o", "pool": "p", "limits": {"cpu": "4000m"}}],
        "allocations": [{"name": "a", "operation": "o", "node": "n", "resources": {"cpu": "250m"}}],
        "requests": [{"name": "r", "operation": "o", "resources": {"cpu": "1500m"}}],
        "reservations": [{"name": "v", "request": "r", "node": "n", "resources": {"cpu": "1.5"}}],
    }
    numbers: dict[str, Any] = {
        "resources": {"cpu": {"unit": "core"}, "lic": {"unit": "seat", "scope": "cluster", "capacity": 4}},
        "total": {"cpu": 8, "lic": 3},
        "root": {"limits": {"cpu": 7.5}},
        "nodes": [{"name": "n", "capacity": {"cpu": 8}}],
        "pools": [{"name": "p", "strong_guarantee": {"cpu": 1}, "integral": {"burst": {"cpu": 0.5}}}],
        "operations": [{"name": "o", "pool": "p", "limits": {"cpu": 4}}],
        "allocations": [{"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 0.25}}],
        "requests": [{"name": "r", "operation": "o", "resources": {"cpu": 1.5}}],
        "reservations": [{"name": "v", "request": "r", "node": "n", "resources": {"cpu": 1.5}}],
    }
    for door in (eh.Snapshot.from_dict, by_json):
        assert door(texts).to_dict() == door(numbers).to_dict()
    assert eh.Snapshot.from_dict(texts).replace(nodes=texts["nodes"]) == eh.Snapshot.from_dict(numbers)
    shares = {**numbers, "operations": [{"name": "o", "best_allocation_share": {"cpu": "0.5"}}]}
    with pytest.raises(eh.InputError, match=r"best_allocation_share\.cpu .* is text; it must be a number \["):
        eh.Snapshot.from_dict(shares)


def test_in_events_of_a_live_cluster() -> None:
    base: dict[str, Any] = {
        "resources": {"cpu": {"unit": "core"}},
        "nodes": [{"name": "n", "capacity": {"cpu": 8}}],
        "operations": [{"name": "o"}],
    }
    row = {"name": "a", "operation": "o", "node": "n", "resources": {"cpu": "500m"}}
    put = {"name": "r", "operation": "o", "resources": {"cpu": "2k"}}
    texts = [
        {"event": "node", "node": "n", "capacity": {"cpu": "3000"}},
        {"event": "start", "row": row},
        {"event": "resize", "allocation": "a", "resources": {"cpu": "750m"}},
        {"event": "leave", "allocation": "a", "deadline": 10},
        {"event": "take", "allocation": "a", "resources": {"cpu": "250m"}},
        {"event": "put", "table": "requests", "row": put},
    ]
    numbers = [
        {"event": "node", "node": "n", "capacity": {"cpu": 3000}},
        {"event": "start", "row": {**row, "resources": {"cpu": 0.5}}},
        {"event": "resize", "allocation": "a", "resources": {"cpu": 0.75}},
        {"event": "leave", "allocation": "a", "deadline": 10},
        {"event": "take", "allocation": "a", "resources": {"cpu": 0.25}},
        {"event": "put", "table": "requests", "row": {**put, "resources": {"cpu": 2000}}},
    ]
    found = []
    for events in (texts, numbers):
        live = eh.Cluster(eh.Snapshot.from_dict(base))
        live.apply(events)
        found.append(live.snapshot())
    assert found[0] == found[1]
    assert found[0].units == {"cpu": "core"}
    with pytest.raises(
        eh.InputError, match=r'is "1Gi", which has a suffix that does not fit the unit "core"'
    ):
        live.apply([{"event": "resize", "allocation": "a", "resources": {"cpu": "1Gi"}}])


def test_in_a_workload() -> None:
    rows = {"name": ["a", "b"], "resources.cpu": ["500m", "2"], "submit_time": [0, 5], "duration": [10, 10]}
    work = eh.simulate.Workload(rows, resources={"cpu": {"unit": "core"}})
    same = eh.simulate.Workload({**rows, "resources.cpu": [0.5, 2]}, resources={"cpu": {"unit": "core"}})
    run: Any = eh.simulate
    found = [
        run(w.snapshot(nodes=1, now=0, cpu=4), eh.policies.YTsaurus(), w, 100, rng=1).operations
        for w in (work, same)
    ]
    assert found[0].to_dict() == found[1].to_dict()


def test_the_unit_is_part_of_a_snapshot() -> None:
    plain, counted, other = (eh.Snapshot.from_dict(cluster(unit, 4)) for unit in (None, "GiB", "MiB"))
    assert len({plain, counted, other}) == 3
    assert plain.to_dict()["resources"] == {"memory": {}}
    assert counted.to_dict()["resources"] == {"memory": {"unit": "GiB"}}
    assert counted.replace(now=5).units == counted.replace(nodes=[]).units == {"memory": "GiB"}
    assert counted.replace(resources={"memory": {}}) == plain
    assert eh.plan(counted, eh.policies.YTsaurus()).snapshot.units == {"memory": "GiB"}
    assert counted.after(eh.plan(counted, eh.policies.YTsaurus())).units == {"memory": "GiB"}


@given(st.integers(0, 2**40), st.sampled_from(sorted(BYTES)), st.sampled_from(["", *BINARY]))
def test_nothing_is_lost_on_the_way_through_a_unit(count: int, unit: str, suffix: str) -> None:
    exact = quantity(f"{count}{suffix}", unit)
    assert exact * (BYTES[unit] if suffix else 1) == count * WORTH.get(suffix, 1)
