"""JSON text to plain data, with one clear problem for whatever is wrong with it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from evenhand.building.problems import COUNTED, Report

_COMMON = frozenset((str, int, float, bool, type(None)))


class _Constant:
    """NaN, Infinity or -Infinity: Python's parser takes them, JSON does not."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class _HugeInteger(_Constant):
    __slots__ = ()


class _Duplicated(dict[str, Any]):
    """An object that names a key twice."""

    keys_twice: list[str]


def load(source: str | bytes | bytearray | os.PathLike[str], report: Report) -> Any:
    """Return what the text or file holds; None with a problem reported if it is not JSON.

    Raises
    ------
    TypeError
        If `source` is neither text, bytes nor a path.
    """
    if isinstance(source, str | bytes | bytearray):
        return _parse(source, report)
    if not isinstance(source, os.PathLike):
        raise TypeError(f"from_json takes text, bytes or a path, not {type(source).__name__}")
    path = Path(source)
    try:
        text = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        report.fail("snapshot", None, "readable", f"cannot be read from {path}: {reason}")
        return None
    return _parse(text, report)


def _parse(text: str | bytes | bytearray, report: Report) -> Any:
    strange = 0
    constants = {name: _Constant(name) for name in ("NaN", "Infinity", "-Infinity")}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal strange
        found = dict(items)
        if len(found) == len(items):
            return found
        strange += 1
        if strange > COUNTED:
            return found
        twice = _Duplicated(found)
        counts = Counter(name for name, _ in items)
        twice.keys_twice = sorted(name for name, count in counts.items() if count > 1)
        return twice

    def constant(name: str) -> _Constant:
        nonlocal strange
        strange += 1
        return constants[name]

    def integer(digits: str) -> int | _HugeInteger:
        nonlocal strange
        if len(digits) < 4000:
            return int(digits)
        strange += 1
        return _HugeInteger(digits[:40] + "...")

    try:
        try:
            data = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise
        except ValueError:
            # Python refuses integers of more than 4,300 digits without saying where: a slower hook does.
            data = json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_int=integer)
    except json.JSONDecodeError as error:
        _not_json(text, error, report)
        return None
    except UnicodeDecodeError as error:
        report.fail("snapshot", None, "json", f"is not UTF-8 text: byte {error.start} is wrong")
        return None
    except RecursionError:
        report.fail("snapshot", None, "depth", "is JSON that is nested too deeply")
        return None
    if strange:
        for path, rule, message, value in islice(_strange(data), COUNTED):
            _report_at(data, path, rule, message, value, report)
        report.unusable = True
    return data


def _not_json(text: str | bytes | bytearray, error: json.JSONDecodeError, report: Report) -> None:
    if isinstance(text, str) and "\n" not in text and text.strip().lower().endswith((".json", ".jsonl")):
        report.fail(
            "snapshot", None, "json", "is a file's name, not JSON; give the path as pathlib.Path", text
        )
    elif not text.strip():
        report.fail("snapshot", None, "json", "is empty text")
    elif error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        where = f"line {error.lineno}, column {error.colno}"
        report.fail("snapshot", None, "json", f"is JSON that ends too early ({where}: {error.msg})")
    else:
        message = f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        report.fail("snapshot", None, "json", message, error.doc[error.pos : error.pos + 20])


def _strange(data: Any) -> Iterator[tuple[list[Any], str, str, object]]:
    """Walk over the data for what the parser let pass; in the order of the text."""
    path: list[Any] = []
    stack: list[Iterator[tuple[Any, Any]]] = [iter([(None, data)])]
    while stack:
        for key, value in stack[-1]:
            kind = type(value)
            if kind in _COMMON:
                continue
            where = [*path[1:], key] if path else []
            if kind is _HugeInteger:
                yield where, "overflow", "is a number of thousands of digits", value
            elif kind is _Constant:
                message = f"is {value.text}, which JSON does not have; it must be a finite number"
                yield where, "finite", message, value
            else:
                if kind is _Duplicated:
                    for twice in value.keys_twice:
                        yield [*where, twice], "duplicate_key", "stands twice in its object", None
                stack.append(iter(value.items()) if isinstance(value, dict) else enumerate(value))
                path.append(key)
                break
        else:
            stack.pop()
            if path:
                path.pop()


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
    names = (
        {key: item for key, item in data.items() if isinstance(item, list)} if isinstance(data, dict) else {}
    )
    table, row, rest = "snapshot", None, path
    match path:
        case [str(name), int(at), *inner] if name in names:
            table, row, rest = name, at, inner
            report.names.setdefault(name, _Names(names[name]))
        case ["resources", str(name), *inner] if inner:
            report.names["resources"] = list(data["resources"])
            table, row, rest = "resources", report.names["resources"].index(name), inner
        case ["root", *inner] if inner:
            table, rest = "root", inner
    report.add(table, row, _dotted(rest), rule, message, value)


def _dotted(path: list[Any]) -> str | None:
    return ".".join(map(str, path))[:200] or None
