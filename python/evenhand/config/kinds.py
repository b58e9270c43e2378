"""Kinds of values that settings have: durations, shares, amounts."""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import BeforeValidator, Field, PlainSerializer, Strict
from pydantic_core import PydanticCustomError

from evenhand.building.single import CellError, one_duration

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = [
    "LATEST",
    "LONGEST",
    "Amounts",
    "Duration",
    "Instant",
    "NonNegative",
    "Positive",
    "Texts",
    "UnitShare",
    "unit_of",
]

#: The longest duration, a hundred years.
LONGEST = 3_153_600_000.0

#: The latest instant, as in a snapshot: 2^60 microseconds.
LATEST = 2**60 / 1e6


def _seconds(value: Any) -> float:
    try:
        return float(one_duration(value))
    except CellError as error:
        raise PydanticCustomError("rule", "{said}", {"rule": error.rule, "said": str(error)}) from None


#: Seconds: a number, text such as "30s", "5m" or "01:00:00", or a timedelta.
Duration = Annotated[float, BeforeValidator(_seconds), Ge(0), Le(LONGEST), Field(allow_inf_nan=False)]

#: Seconds of the snapshot's epoch.
Instant = Annotated[float, Ge(-LATEST), Le(LATEST), Field(allow_inf_nan=False)]

NonNegative = Annotated[float, Ge(0), Field(allow_inf_nan=False)]

Positive = Annotated[float, Gt(0), Field(allow_inf_nan=False)]

UnitShare = Annotated[float, Ge(0), Le(1), Field(allow_inf_nan=False)]

#: Amounts by name of the resource.
Amounts = dict[Annotated[str, MinLen(1)], NonNegative]

_MOST_VALUES = 1_000_000


def _few(value: Any) -> Any:
    try:
        many = len(value) > _MOST_VALUES
    except OverflowError:
        many = True
    except TypeError:  # it has no length: pydantic says what it must be
        return value
    if many:
        said = f"has more than {_MOST_VALUES:,} values, which is more than are taken"
        raise PydanticCustomError("rule", "{said}", {"rule": "length", "said": said})
    return value


#: Before `Strict(False)`, which would read a range to its end.
FEW = BeforeValidator(_few)
#: A list of texts.
Texts = Annotated[tuple[str, ...], FEW, Strict(False), PlainSerializer(list)]


def unit_of(name: str, field: FieldInfo) -> str:
    """Return the unit of a setting."""
    if name.endswith("_s"):
        return "seconds"
    found, left = list(field.metadata), [field.annotation]
    while left:
        kind = left.pop()
        arguments = typing.get_args(kind)
        if typing.get_origin(kind) is Annotated:
            found += arguments[1:]
            left.append(arguments[0])
        elif typing.get_origin(kind) in (typing.Union, types.UnionType):
            left += arguments
    return "seconds" if any(getattr(one, "func", None) is _seconds for one in found) else ""
