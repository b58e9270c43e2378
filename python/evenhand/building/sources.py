"""From a dict, frames, or changes to a snapshot, to raw columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import tzinfo
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from evenhand import _core
from evenhand.building.assemble import Built, ask
from evenhand.building.dicts import TableCells, read_rows, unknown_field
from evenhand.building.frames import read_frame
from evenhand.building.jsontable import JsonRows, read_json_rows
from evenhand.building.parse import CORE_TABLES, Parser, Raw
from evenhand.building.problems import COUNTED, Report, kind_of, nearest
from evenhand.building.readback import read_back
from evenhand.building.settings import labels_of
from evenhand.building.times import time_zone
from evenhand.errors import InputError, WrongKindError, shorten
from evenhand.fields import HEAD, SCHEMA, TABLES, TableSpec
from evenhand.files import file_kind

if TYPE_CHECKING:
    from evenhand.model import Snapshot

TOP = (*HEAD.names, *TABLES)
_TOP = frozenset(TOP)
PARTS = tuple(name for name in TOP if name != "schema")
_OPTIONS = ("timezone", "order", "rounding")

Read = Callable[[TableSpec, Any, Report], TableCells]


def parse_dict(data: Any, report: Report) -> Parser:
    """Parse a snapshot in the layout of files; a table, and the root, may be `JsonRows`."""
    parser = Parser(report)

    def read(spec: TableSpec, given: Any, report: Report) -> TableCells:
        if isinstance(given, JsonRows):
            return read_json_rows(spec, given, parser.resources, report)
        return read_rows(spec, given, report)

    if not isinstance(data, Mapping):
        report.fail("snapshot", None, "type", f"is {kind_of(data)}; it must be an object", data)
        return parser
    if (kind := file_kind(data)) not in (None, "a snapshot"):
        report.fail("snapshot", None, "schema", f"is missing: this is {kind}", data["schema"])
        return parser
    for key in sorted(islice((key for key in data if key not in _TOP), COUNTED), key=str):
        report.add("snapshot", None, str(key)[:100], "unknown_field", partial(_unknown_table, key))
    tables = {key: data[key] for key in TOP if key in data}
    _parse(parser, tables, read)
    return parser


def _unknown_table(key: object) -> str:
    """Return the message for what is no table and nothing beside them."""
    said = unknown_field(key, list(TOP))
    return said if "did you mean" in said else f"{said}; there are {', '.join(TOP)}"


def parse_frames(data: Mapping[str, Any], timezone: str | tzinfo | None, report: Report) -> Parser:
    """Parse frames by table, and what stands beside them."""
    parser = Parser(report, _zone(timezone, report), iso=True)
    _parse(parser, dict(data), frame_reader(parser))
    return parser


def frame_reader(parser: Parser) -> Read:
    """Return the function that reads a table given as a frame, a dict of arrays or rows."""
    return lambda spec, frame, report: read_frame(spec, frame, parser.zone, report)


def _zone(timezone: str | tzinfo | None, report: Report) -> tzinfo | None:
    if timezone is None or isinstance(timezone, tzinfo):
        return timezone
    if not isinstance(timezone, str):
        said = f"timezone= takes a name or a tzinfo, not {type(timezone).__name__}"
        raise WrongKindError.about("snapshot", "timezone", "type", said)
    zone = time_zone(timezone)
    if zone is None:
        report.fail(
            "snapshot", "timezone", "timezone", "is not a time zone that this machine knows", timezone
        )
    return zone


def _parse(parser: Parser, data: dict[str, Any], read: Read) -> None:
    report = parser.report
    schema = data.get("schema")
    if schema is not None and not (isinstance(schema, str) and schema == SCHEMA):
        hint = nearest(schema, [SCHEMA]) or f'; it must be "{SCHEMA}"'
        report.add(
            "snapshot", None, "schema", "schema", f"is not a format that this version reads{hint}", schema
        )
    parser.read_resources(data.get("resources"))
    parser.read_head({name: data.get(name) for name in HEAD.names})
    parse_tables(parser, data, read)


def parse_tables(parser: Parser, data: dict[str, Any], read: Read) -> None:
    """Parse the tables that `data` has, and take them out of it."""
    report = parser.report
    for name in CORE_TABLES:
        if data.get(name) is None:
            continue
        if name == "root":
            parser.read_table(name, _root(data.pop(name), read, report))
        else:
            parser.read_table(name, read(TABLES[name], data.pop(name), report))
    if data.get("commands") is not None:
        parser.read_commands(read(TABLES["commands"], data.pop("commands"), report))


def _root(given: Any, read: Read, report: Report) -> TableCells:
    if isinstance(given, JsonRows):
        return read(TABLES["root"], given, report)
    if not isinstance(given, Mapping):
        report.fail("root", None, "type", f"is {kind_of(given)}; it must be an object", given)
        return TableCells(0)
    return read_rows(TABLES["root"], [given], report)


def check_options(order: Any, rounding: Any) -> None:
    """Refuse options that do not exist."""
    if not (order is None or (isinstance(order, str) and order == "rows")):
        said = f'order is {shorten(order)!r}; it must be None or "rows"'
        raise InputError.about("snapshot", "order", "choice", said, shorten(order))
    if not (rounding is None or (isinstance(rounding, str) and rounding == "nearest")):
        said = f'rounding is {shorten(rounding)!r}; it must be None or "nearest"'
        raise InputError.about("snapshot", "rounding", "choice", said, shorten(rounding))


def check_names(function: str, names: Iterable[str]) -> None:
    """Refuse names of what a snapshot does not have."""
    for name in names:
        if name not in PARTS:
            hint = nearest(name, [*PARTS, *_OPTIONS]) or f"; there are {', '.join(PARTS)}"
            said = f"a snapshot has no {shorten(name)}{hint}"
            raise WrongKindError.about(function, name, "unknown_field", said)


def parse_changes(
    snapshot: Snapshot, changes: Mapping[str, Any], timezone: str | tzinfo | None, report: Report
) -> Parser:
    """Parse what replaces parts of a snapshot, and put the rest of it beside.

    Tables that stay are not parsed again, unless the resources change.
    """
    parser = Parser(report, _zone(timezone, report), iso=True)
    if "resources" in changes:
        _parse(parser, {**snapshot.to_dict(), **changes}, frame_reader(parser))
        return parser
    base = read_back(snapshot)
    parser.keep_head(base.head)
    parser.raw.commands = base.commands
    parser.read_head({name: changes[name] for name in HEAD.names if name in changes})
    if "commands" in changes:
        parser.raw.commands = []
    parse_tables(parser, dict(changes), frame_reader(parser))
    _keep(base, parser.raw, {name for name in TABLES if name in changes})
    return parser


def at_instant(
    snapshot: Snapshot, changes: Mapping[str, Any], timezone: str | tzinfo | None, report: Report
) -> Built:
    """Return a snapshot's rows at another instant."""
    parser = Parser(report, _zone(timezone, report), iso=True)
    parser.raw.head = {"now": snapshot._core.now, "previous_update": snapshot._core.previous_update}
    parser.read_head(changes)
    head = parser.raw.head
    core = ask(report, lambda: _core.at_instant(snapshot._core, head["now"] or 0.0, head["previous_update"]))
    return Built(core, snapshot._settings, snapshot._commands)


def _keep(base: Raw, new: Raw, replaced: set[str]) -> None:
    """Put the tables that stay beside the new ones; references into those become names."""
    for name, columns in base.tables.items():
        if name in replaced:
            continue
        kept: dict[str, Any] = {}
        for column, values in columns.items():
            field = column.removesuffix("_index")
            if field != column and (target := TABLES[name][field].target) in replaced:
                names = [None, *base.tables[target]["name"]]
                kept[field] = [names[i + 1] for i in values.tolist()]
            else:
                kept[column] = values
        new.tables[name] = kept
        new.rows[name] = base.rows[name]
        for key in (name, labels_of(name)):
            if key in base.settings:
                new.settings[key] = base.settings[key]
