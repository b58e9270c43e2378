"""JSON text to plain data, with one clear problem for whatever is wrong with it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand import _core
from evenhand.building.jsontable import JsonRows, resting_collector
from evenhand.building.parse import CORE_TABLES
from evenhand.building.problems import COUNTED, Report, shorten
from evenhand.errors import WrongKindError
from evenhand.fields import HEAD, TABLES

_LISTS = {*CORE_TABLES, "commands"} - {"root"}
_KNOWN = [*HEAD.names, *TABLES]
#: What is wrong, by how the words of Python's parser begin.
_SAID = {
    "Expecting value": "should be a value{found}",
    "Expecting property name": "should be a name in double quotes{found}",
    "Expecting ':'": "should be the colon behind a name{found}",
    "Expecting ','": "should be a comma or a closing bracket{found}",
    "Illegal trailing comma": "is a comma with nothing behind it",
    "Unterminated string": "begins a text that is never closed",
    "Invalid control character": "is a line break or a control character within a text",
    "Invalid \\": "is a backslash that stands for no character",
    "Extra data": "follows what is complete already",
}

DEEPEST = 64
"""Whatever is nested more is wrong, and the parser's to judge."""


def load(source: str | bytes | bytearray | os.PathLike[str], report: Report) -> Any:
    """Return what the text or file holds; None with a problem reported if it is not JSON.

    Where it is an object with nothing wrong, tables are left as `JsonRows`; of keys that no snapshot
    has, the first `COUNTED` are there.
    """
    if isinstance(source, str | bytes | bytearray):
        return _parse(source, report)
    if not isinstance(source, os.PathLike):
        said = f"from_json takes text, bytes or a path, not {type(source).__name__}"
        raise WrongKindError.about("snapshot", "source", "type", said)
    path = Path(source)
    try:
        text = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        report.fail("snapshot", None, "readable", f"cannot be read from {path}: {reason}")
        return None
    return _parse(text, report)


@resting_collector()
def _parse(given: str | bytes | bytearray, report: Report) -> Any:
    try:
        text = given if isinstance(given, str) else given.decode(json.detect_encoding(given), "surrogatepass")
        # What Python's parser lets pass is looked for beforehand: a hook would be called for every object.
        encoded = text if text.isascii() else text.encode("utf-8", "surrogatepass")
        longest = sys.get_int_max_str_digits() or sys.maxsize
        strange, parts, depth, _ = _core.scan_json(encoded, longest, COUNTED, _KNOWN)
        if parts:
            if depth > DEEPEST:
                json.loads("[" * (depth + DEEPEST) + "]" * (depth + DEEPEST))  # whether it follows so far
            data = {key: _part(encoded, key, at, size) for key, at, size in parts if key != "total"}
            for key, at, size in parts:
                if key == "total":  # keys that are resources, and of others as many as are counted
                    data[key] = _few(encoded[at : at + size], longest, data.get("resources"))
            return data
        data = json.loads(_without_long_integers(text, strange))
    except json.JSONDecodeError as error:
        _not_json(given, error, report)
        return None
    except UnicodeDecodeError as error:
        report.fail("snapshot", None, "json", f"is not UTF-8 text: byte {error.start} is wrong")
        return None
    except RecursionError:
        report.fail("snapshot", None, "depth", "is JSON that is nested too deeply")
        return None
    for path, rule, at, size in strange:
        _report_at(data, path, rule, *_said(rule, cut(encoded, at, size)), report)
    report.unusable |= bool(strange)
    return data


def _part(encoded: bytes | str, key: str, at: int, size: int) -> Any:
    begin = cut(encoded, at, 1)
    if (key in _LISTS and begin == "[") or (key == "root" and begin == "{"):
        return JsonRows(encoded, at, size)
    return json.loads(cut(encoded, at, size))


def _few(encoded: bytes | str, longest: int, known: Any) -> Any:
    """Return an object with known keys, and the first of others; what is none as it is."""
    names = [name for name in known if isinstance(name, str)] if isinstance(known, dict | list) else []
    _, parts, *_ = _core.scan_json(encoded, longest, COUNTED, names)
    if not parts:
        return json.loads(cut(encoded, 0, len(encoded)))
    return {key: json.loads(cut(encoded, at, size)) for key, at, size in parts}


def cut(encoded: bytes | str, at: int, size: int) -> str:
    """Return a part of UTF-8, or of a text of ASCII."""
    part = encoded[at : at + size]
    return part if isinstance(part, str) else part.decode("utf-8", "surrogatepass")


def _said(rule: str, value: str) -> tuple[str, str | None]:
    """Return the predicate for what was found, and the value to show."""
    match rule:
        case "duplicate_key":
            return "appears twice in its object", None
        case "finite":
            return f"is {value}, which JSON does not have; it must be a finite number", value
        case _:
            return "is a number of thousands of digits", f"{value[:40]}..."


def _without_long_integers(text: str, strange: list[tuple[Any, ...]]) -> str:
    """Put a 0, filled up with spaces, in the place of integers that Python refuses without saying where."""
    long = [(at, size) for _, rule, at, size in strange if rule == "overflow"]
    if not long:
        return text
    changed = bytearray(text.encode("utf-8", "surrogatepass"))
    for at, size in long:
        changed[at : at + size] = b"0".ljust(size)
    return changed.decode("utf-8", "surrogatepass")


def _not_json(text: str | bytes | bytearray, error: json.JSONDecodeError, report: Report) -> None:
    if isinstance(text, str) and "\n" not in text and text.strip().lower().endswith((".json", ".jsonl")):
        report.fail(
            "snapshot", None, "json", "is a file's name, not JSON; give the path as pathlib.Path", text
        )
    elif not text.strip():
        report.fail("snapshot", None, "json", "is empty text")
    elif error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        report.fail("snapshot", None, "json", f"is JSON that ends too early ({what_is_wrong(error)})")
    else:
        message = f"is not JSON: {what_is_wrong(error)}"
        report.fail("snapshot", None, "json", message, error.doc[error.pos : error.pos + 20])


def what_is_wrong(error: json.JSONDecodeError) -> str:
    """Say where a text is no JSON, and what is wrong there."""
    rest = error.doc[error.pos :].strip()
    found = f", not {shorten(rest.split()[0][:20])!r}" if rest else ""
    said = next((said for begin, said in _SAID.items() if error.msg.startswith(begin)), "cannot be read")
    return f"line {error.lineno}, column {error.colno} {said.format(found=found)}"


class _Names(Sequence[Any]):
    """The names of a table's rows, looked up as they are asked for."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: Any) -> Any:
        of = self._rows[row]
        return of.get("name") if isinstance(of, dict) else None


def _report_at(data: Any, path: list[Any], rule: str, message: str, value: object, report: Report) -> None:
    """Name table, row and field of a path such as ["pools", 3, "limits", "cpu"]."""
    table, row, rest = "snapshot", None, path
    match path:
        case [str(name), int(at), *inner] if isinstance(data[name], list):
            table, row, rest = name, at, inner
            report.names.setdefault(name, _Names(data[name]))
        case ["resources", str(name), *inner] if inner and name in data["resources"]:
            report.names["resources"] = list(data["resources"])
            table, row, rest = "resources", report.names["resources"].index(name), inner
        case ["root", *inner] if inner:
            table, rest = "root", inner
    report.add(table, row, _dotted(rest), rule, message, value)


def _dotted(path: list[Any]) -> str | None:
    return ".".join(map(str, path))[:200] or None
