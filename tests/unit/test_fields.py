"""The table of fields: complete, in step with the core, and what is made of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

import evenhand as eh
from evenhand import fields
from tests.shared import REPOSITORY
from tests.unit.snapshots import good, small

CORE = [name for name in fields.TABLES if name not in ("resources", "root", "commands")]
RAW_COLUMNS = REPOSITORY / "cpp" / "include" / "evenhand" / "model" / "raw.h"


def core_columns(table: str) -> set[str]:
    """Names of the raw columns of a table, as the core's header lists them."""
    text = RAW_COLUMNS.read_text()
    start = text.index(f"std::remove_const_t<Table>, {table.capitalize()}>")
    return set(re.findall(r'visit\("([\w.]+)"', text[start : text.index("\n}\n", start)]))


@pytest.mark.parametrize("table", [*CORE, "root"])
def test_the_core_takes_exactly_these_columns(table: str) -> None:
    if not RAW_COLUMNS.exists():
        pytest.skip("the core's sources are not here")
    expected = {field.name for field in fields.TABLES[table].fields if field.kind not in fields.BESIDE}
    if table == "root":
        assert core_columns("pools") == expected | {"name", "parent", "weight"}
    else:
        assert core_columns(table) == expected


@pytest.mark.parametrize("table", CORE)
def test_the_core_gives_exactly_these_columns(table: str) -> None:
    core = eh.Snapshot.from_dict(good())._core
    for field in fields.TABLES[table].fields:
        match field.kind:
            case "settings" | "annotations":
                continue
            case "name":
                core.names(table)
            case "text" | "label":
                core.text(table, field.name)
            case "texts":
                core.text_list(table, field.name)
            case _:
                core.column(table, field.name)
    with pytest.raises(KeyError):
        core.column(table, "nonsense")


def test_defaults_are_those_of_the_core() -> None:
    """A row that gives every default outright equals one that gives nothing."""
    data, spelt = small(), small()
    for name in CORE:
        for row in spelt[name]:
            for field in fields.TABLES[name].fields:
                head, _, inner = field.name.partition(".")
                if field.default is None or (head in row and not inner):
                    continue
                if inner:
                    row.setdefault(head, {})[inner] = field.default
                else:
                    row[head] = field.default
    data["operations"][0].pop("usage", None)
    for row in spelt["operations"]:
        row.pop("usage", None)
    assert spelt["pools"][0]["integral"]["relaxed_share_multiplier_limit"] == 3
    assert eh.Snapshot.from_dict(spelt) == eh.Snapshot.from_dict(data)


@pytest.mark.parametrize("table", [fields.HEAD, *fields.TABLES.values()], ids=lambda table: table.name)
def test_every_field_is_described(table: fields.TableSpec) -> None:
    assert table.description.endswith(".")
    assert len(set(table.names)) == len(table.names)
    for field in table.fields:
        assert re.fullmatch(r"[A-Z].*\.", field.description), field.name
        assert (field.kind == "enum") == bool(field.words)
        assert (field.kind == "reference") == bool(field.target)
        assert field.target in ("", *fields.TABLES)
        assert not (field.default is not None and field.default_says)
        if field.kind in ("time", "duration"):
            assert field.unit == "s"


def test_fields_by_name() -> None:
    assert fields.TABLES["pools"]["integral.type"].words == ("none", "burst", "relaxed")
    with pytest.raises(KeyError):
        fields.TABLES["pools"]["integral"]


@pytest.mark.parametrize(
    ("name", "kind", "quantum"),
    [
        ("cpu", "cpu", 0.001),
        ("vcore", "cpu", 0.001),
        ("Memory", "memory", 1),
        ("user_slots", "slots", 1),
        ("license", "license", 1),
        ("gpu", "other", 1),
    ],
)
def test_usual_resources(name: str, kind: str, quantum: float) -> None:
    assert fields.resource_kind(name) == kind
    snapshot = eh.Snapshot.from_dict({"resources": {name: {}}})
    assert snapshot.quantum == {name: quantum}
    assert snapshot == eh.Snapshot.from_dict({"resources": {name: {"kind": kind, "quantum": quantum}}})


def test_the_kind_decides_the_quantum() -> None:
    assert eh.Snapshot.from_dict({"resources": {"threads": {"kind": "cpu"}}}).quantum == {"threads": 0.001}


jsonschema: Any = pytest.importorskip("jsonschema")
SCHEMA = fields.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["required"] == ["resources"]
    assert SCHEMA["$defs"]["pools"]["properties"]["integral"]["properties"]["type"]["default"] == "none"


@pytest.mark.parametrize("make", [good, small])
def test_schema_takes_what_builds(make: Any) -> None:
    VALIDATOR.validate(make())
    VALIDATOR.validate(eh.Snapshot.from_dict(make()).to_dict())
    VALIDATOR.validate({**make(), "nodes": None, "root": None, "total": None})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["now"], "noon"),
        (["schema"], "evenhand/snapshot/2"),
        (["poools"], []),
        (["resources"], {}),
        (["resources", "cpu", "kind"], "ram"),
        (["nodes", 0, "name"], 1.5),
        (["nodes", 0, "name"], ""),
        (["nodes", 0, "capacity", "cpu"], -1),
        (["nodes", 0, "capacity", "cpu"], True),
        (["nodes", 0, "tags"], "ssd"),
        (["pools", 0, "mode"], "fair"),
        (["pools", 0, "integral"], {"typ": "burst"}),
        (["pools", 0, "wieght"], 2),
        (["operations", 0, "gang"], 1),
        (["allocations", 0, "beneficiary"], 1.5),
        (["requests", 0, "duration"], [5]),
        (["root"], {"name": "x"}),
    ],
)
def test_schema_refuses_what_does_not_build(path: list[Any], value: Any) -> None:
    data = small()
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(data)
    with pytest.raises(eh.InputError):
        eh.Snapshot.from_dict(data)


def test_reference_lists_every_field_once() -> None:
    text = fields.reference_markdown()
    for table in (fields.HEAD, *fields.TABLES.values()):
        section = text.partition(f"## {table.name}\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE)
        assert rows == list(table.names)
        assert table.description in section
    assert '| `mode` | "fair_share" \\| "fifo" | "fair_share" |' in text
    assert len({line.count(" | ") for line in text.splitlines() if line.startswith("| `")}) == 1
