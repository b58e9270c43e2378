"""What a parameter's annotation says that its argument may be, as a check that can be asked."""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np

from evenhand.building.problems import kind_of, shorten

#: So many values of a list are looked at.
_MOST = 10_000_000

__all__ = ["Kind", "Refused", "kind_of_annotation", "plain"]


class Refused(ValueError):
    """A value is not of a kind."""

    def __init__(self, rule: str, predicate: str, at: str = "") -> None:
        super().__init__(predicate)
        self.rule, self.at = rule, at


@dataclass(frozen=True)
class Kind:
    """What an argument may be."""

    words: str
    accept: Callable[[Any], Any]


def plain(value: Any) -> Any:
    """Return a NumPy scalar as what it is in Python; all else as it is."""
    if isinstance(value, np.timedelta64 | np.datetime64):
        return _python_time(value)
    return value.item() if isinstance(value, np.bool_ | np.number | np.str_) else value


def _python_time(value: Any) -> Any:
    """Return a span or an instant as Python has it, to the microsecond; one that it cannot have as it is."""
    kind = timedelta if isinstance(value, np.timedelta64) else datetime
    unit, _ = np.datetime_data(value.dtype)
    if unit == "generic" or (kind is timedelta and unit in ("Y", "M")):
        return value  # of no known length
    try:
        rounded = value.astype(f"{value.dtype.kind}8[us]")
    except OverflowError:  # NumPy 2.5 says so; before, it wrapped around
        return value
    fine = unit in ("ns", "ps", "fs", "as")
    same = fine or rounded.astype(value.dtype) == value  # or it did not fit
    found = rounded.item()
    return found if same and isinstance(found, kind) else value


def _of_type(words: str, *types: type) -> Kind:
    def accept(value: Any) -> Any:
        if not isinstance(value, types):
            raise _wrong(value, words)
        return value

    return Kind(words, accept)


def _wrong(value: Any, words: str) -> Refused:
    return Refused("type", f"is {kind_of(value)}; it must be {words}")


def _number(value: Any) -> Any:
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(value, "a number")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        raise Refused("finite", f"is {shorten(value)}; it must be a finite number")
    return value if -(2**63) <= value < 2**63 else float(value)


def _whole(value: Any) -> int:
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(value, "a whole number")
    if isinstance(value, float):
        raise Refused("integer", f"is {shorten(value)}; it must be a whole number")
    if not -(2**63) <= value < 2**63:
        raise Refused("overflow", "does not fit in 64 bits")
    return value


def _flag(value: Any) -> bool:
    value = plain(value)
    if not isinstance(value, bool):
        raise _wrong(value, "true or false")
    return value


def _text(value: Any) -> str:
    value = plain(value)
    if not isinstance(value, str):
        raise _wrong(value, "text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Refused("utf8", "has half of a surrogate pair, which is not valid Unicode text") from None
    return value


def _path(value: Any) -> Any:
    value = plain(value)
    if not isinstance(value, str | os.PathLike):
        raise _wrong(value, "a path")
    text = os.fspath(value)
    if isinstance(text, str):
        _text(text)
    if "\0" in text if isinstance(text, str) else b"\0" in text:
        raise Refused("format", "has a zero in it, which no path has")
    return value


def _numbers(value: Any) -> Any:
    """Accept what NumPy makes numbers of; it is handed on as it is."""
    if isinstance(value, str | bytes | bytearray | memoryview | Mapping):
        raise _wrong(value, "numbers (one, or a list)")
    if isinstance(value, range | list | tuple) and len(value) > _MOST:
        raise Refused("length", f"has {len(value):,} values; at most {_MOST:,} are taken")
    try:
        array = np.asarray(value)
        right = array.dtype.kind in "biuf" or (
            array.dtype.kind == "O"
            and array.size > 0
            and all(isinstance(cell, Real) and not isinstance(cell, bool) for cell in array.ravel().tolist())
            and np.asarray(array, np.float64) is not None
        )
    except (ValueError, TypeError, OverflowError, RecursionError, MemoryError, RuntimeError):
        right = False
    if not right:
        raise _wrong(value, "numbers (one, or a list)")
    return value


def _function(count: int | None) -> Kind:
    """Return the kind of a function that is called with so many arguments; None: it is not said."""
    words = "a function" if count is None else f"a function of {count} argument{'s' * (count != 1)}"

    def accept(value: Any) -> Any:
        if not callable(value):
            raise _wrong(value, words)
        try:
            signature = None if count is None else inspect.signature(value)
        except (TypeError, ValueError):  # of some that are written in C nothing is known
            return value
        if signature is not None:
            try:
                signature.bind(*[None] * (count or 0))
            except TypeError:
                raise Refused("arguments", f"takes other arguments; it must be {words}") from None
        return value

    return Kind(words, accept)


def _anything(value: Any) -> Any:
    return value


def _raise(error: Refused) -> Any:
    raise error


def _having(value: Any, name: str, words: str) -> Any:
    if isinstance(value, type) or not hasattr(value, name):
        raise _wrong(value, words)
    return value


def _living(value: Any) -> Any:
    if not callable(getattr(type(value), "snapshot", None)):
        raise _wrong(value, "a Cluster")
    return value


def _name(value: Any) -> Any:
    value = plain(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise _wrong(value, "a name (text or an integer)")
    return _whole(value)


_ANY = Kind("anything", _anything)
_NONE = Kind("None", lambda value: value if value is None else _raise(_wrong(value, "None")))
_SIMPLE: Mapping[str, Kind] = {
    "Any": _ANY,
    "object": _ANY,
    "None": _NONE,
    "float": Kind("a number", _number),
    "int": Kind("a whole number", _whole),
    "bool": Kind("true or false", _flag),
    "str": Kind("text", _text),
    "bytes": _of_type("bytes", bytes),
    "timedelta": _of_type("a timedelta", timedelta),
    "tzinfo": _of_type("a time zone", tzinfo),
    "PathLike": Kind("a path", _path),
    "Path": Kind("a path", _path),
    "Callable": _function(None),
    "ArrayLike": Kind("numbers (one, or a list)", _numbers),
    "NDArray": Kind("numbers (one, or a list)", _numbers),
    "ndarray": Kind("numbers (one, or a list)", _numbers),
    "Name": Kind("a name (text or an integer)", _name),
    "Generator": _of_type("a generator of random numbers", np.random.Generator),
    "Executor": Kind("an executor", lambda value: _having(value, "submit", "an executor")),
    "Figure": Kind(
        "a figure of matplotlib", lambda value: _having(value, "savefig", "a figure of matplotlib")
    ),
    "Axes": Kind("axes of matplotlib", lambda value: _having(value, "transData", "axes of matplotlib")),
    "Living": Kind("a Cluster", _living),
}


def _own(name: str) -> Kind:
    """Return the kind of a class of the package, which is not imported for that."""
    words = f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"

    def accept(value: Any) -> Any:
        known = [c for c in type(value).__mro__ if c.__name__ == name and c.__module__.startswith("evenhand")]
        if not known:
            raise _wrong(value, words)
        return value

    return Kind(words, accept)


def _policy() -> Kind:
    def accept(value: Any) -> Any:
        if (
            isinstance(value, type)
            or not callable(getattr(value, "plan", None))
            or not hasattr(value, "settings")
        ):
            raise _wrong(value, "one of evenhand.policies")
        return value

    return Kind("one of evenhand.policies", accept)


def _either(kinds: Sequence[Kind]) -> Kind:
    path = _SIMPLE["PathLike"]
    if path in kinds:  # then text is one, too
        kinds = [kind for kind in kinds if kind is not _SIMPLE["str"]]
    if _ANY in kinds:
        return _ANY
    words = [kind.words for kind in kinds if kind is not _NONE] + ["None"] * (_NONE in kinds)
    said = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    for both in ("text or a whole number", "a whole number or text"):
        said = said.replace(both, "a name (text or an integer)")

    def accept(value: Any) -> Any:
        refusals = []
        for kind in kinds:
            try:
                return kind.accept(value)
            except Refused as error:
                refusals.append(error)
        closer = [error for error in refusals if error.rule != "type" or error.at]
        raise closer[0] if closer else _wrong(value, said)

    return Kind(said, accept)


def _several(of: Kind) -> str:
    """Return the words of a kind for more than one."""
    words = {"text": "texts", "a number": "numbers", "a whole number": "whole numbers"}
    one = of.words.removesuffix(" (text or an integer)")
    return words.get(
        one, f"{one.removeprefix('an ').removeprefix('a ')}s" if " or " not in one else f"({one})"
    )


def _listed(of: Kind, *, sequence: bool, exact: bool = False) -> Kind:
    words = "a list" if of is _ANY else f"a list of {_several(of)}"

    def accept(value: Any) -> Any:
        iterable = isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | memoryview)
        if (
            isinstance(value, type)
            or not iterable
            or getattr(value, "ndim", 1) != 1
            or isinstance(value, Mapping)
        ):
            raise _wrong(value, words)
        if exact and not isinstance(value, list | tuple):
            raise _wrong(value, words)
        if sequence and not (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
            raise _wrong(value, words)
        if hasattr(value, "__len__") and len(value) > _MOST:
            raise Refused("length", f"has {len(value):,} values; at most {_MOST:,} are taken")
        if of is not _ANY and not hasattr(value, "__len__"):  # used up by looking
            value = list(itertools.islice(value, _MOST))
        if of is not _ANY:
            for place, item in enumerate(value):
                _within(of, item, f"[{place}]")
        return value

    return Kind(words, accept)


def _within(of: Kind, item: Any, at: str) -> None:
    try:
        of.accept(item)
    except Refused as error:
        raise Refused(error.rule, str(error), at + error.at) from None


def _mapping(key: Kind, of: Kind) -> Kind:
    words = "an object" if of is _ANY else f"an object of {_several(of)}"

    def accept(value: Any) -> Any:
        if isinstance(value, type) or not isinstance(value, Mapping):
            raise _wrong(value, words)
        for name, item in value.items():
            try:
                key.accept(name)
            except Refused as error:
                raise Refused(error.rule, f"has a key that {error}") from None
            if of is not _ANY:
                _within(of, item, f"[{shorten(name)!r}]")
        return value

    return Kind(words, accept)


def _choice(values: Sequence[Any]) -> Kind:
    words = f"one of {', '.join(map(repr, values))}"

    def accept(value: Any) -> Any:
        value = plain(value)
        if isinstance(value, str | int | bool | None) and value in values:
            return value
        if isinstance(value, str):
            raise Refused("choice", f"is {shorten(value)!r}; it must be {words}")
        raise _wrong(value, words)

    return Kind(words, accept)


_LISTS = ("Sequence", "list", "tuple")
_COLLECTIONS = ("Iterable", "Collection", "Set", "set", "frozenset", "Iterator")
_MAPPINGS = ("Mapping", "dict", "MutableMapping")


@cache
def kind_of_annotation(annotation: str) -> Kind:
    """Return what an annotation says."""
    return _kind(ast.parse(annotation.strip(), mode="eval").body)


def _kind(node: ast.expr) -> Kind:
    match node:
        case ast.Constant(value=None):
            return _NONE
        case ast.Constant(value=str(text)):
            return kind_of_annotation(text)
        case ast.BinOp(left=left, right=right):
            return _either([_kind(part) for part in (*_parts(left), *_parts(right))])
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return _named(name)
        case ast.Subscript(value=value, slice=inner):
            return _subscript(getattr(value, "attr", getattr(value, "id", "")), inner)
    return _ANY


def _parts(node: ast.expr) -> list[ast.expr]:
    return [*_parts(node.left), *_parts(node.right)] if isinstance(node, ast.BinOp) else [node]


def _subscript(name: str, inner: ast.expr) -> Kind:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Literal":
        return _choice([ast.literal_eval(part) for part in parts])
    if name == "Optional":
        return _either([_kind(parts[0]), _NONE])
    if name == "Union":
        return _either([_kind(part) for part in parts])
    if name == "Callable":
        return _function(len(parts[0].elts) if isinstance(parts[0], ast.List) else None)
    if name == "Annotated":
        return _kind(parts[0])
    if name in _MAPPINGS:
        return _mapping(_kind(parts[0]), _kind(parts[1]))
    if name in _LISTS or name in _COLLECTIONS:
        alike = len(parts) == 1 or (len(parts) == 2 and isinstance(parts[1], ast.Constant))
        return _listed(_kind(parts[0]) if alike else _ANY, sequence=name in _LISTS, exact=name == "list")
    return _named(name)


def _named(name: str) -> Kind:
    if name in _SIMPLE:
        return _SIMPLE[name]
    if name in ("Policy", "SlurmPolicy", "GridEnginePolicy"):
        return _policy()
    if name in _MAPPINGS:
        return _mapping(_ANY, _ANY)
    if name in _LISTS or name in _COLLECTIONS:
        return _listed(_ANY, sequence=name in _LISTS)
    return _own(name) if name[:1].isupper() else _ANY
