"""Plain data that cannot be changed: what results and snapshots hand out of what is theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

__all__ = ["Frozen", "FrozenDict", "FrozenList", "freeze", "read_only", "same_columns", "thaw"]


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("this is part of an immutable object; change a copy of it")


class Frozen:
    """What keeps its attributes; `_keep` sets them at the beginning."""

    __slots__ = ()

    #: What to do in the place of a change, for the message.
    _INSTEAD: ClassVar[str] = ""

    def _keep(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} objects are immutable, {name} cannot be set{self._INSTEAD}"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} objects are immutable, {name} cannot be deleted{self._INSTEAD}"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class FrozenDict(dict[Any, Any]):
    """A dict that cannot be changed; it equals the dict with the same items."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: object) -> FrozenDict:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (thaw(self),)


class FrozenList(list[Any]):
    """A list that cannot be changed; it equals the list with the same items."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, memo: object) -> FrozenList:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (thaw(self),)


#: What nothing can change; looked up by type as most cells are of these.
_KEPT = frozenset((FrozenDict, FrozenList, str, int, float, bool, type(None)))


def freeze(value: Any) -> Any:
    """Return a deep copy that cannot be changed; what is frozen already is returned as it is."""
    kind = type(value)
    if kind in _KEPT:
        return value
    if kind is dict or isinstance(value, Mapping):
        return FrozenDict({key: item if type(item) in _KEPT else freeze(item) for key, item in value.items()})
    if isinstance(value, list):
        return FrozenList(map(freeze, value))
    if kind is tuple:
        return tuple(map(freeze, value))
    if isinstance(value, set):
        return frozenset(value)
    return read_only(np.array(value)) if isinstance(value, np.ndarray) else value


def thaw(value: Any) -> Any:
    """Return a deep copy of plain dicts and lists."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    return [thaw(item) for item in value] if isinstance(value, list) else value


def read_only(values: Any) -> Any:
    """Return an array that refuses to be written: itself if it can be made so, else a copy."""
    array = np.asarray(values)
    if array.flags.writeable:
        array.flags.writeable = False
    return array


def same_columns(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two sets of arrays have the same names, shapes and values; NaN is the same as NaN."""
    if one.keys() != other.keys():
        return False
    return all(
        np.array_equal(values, other[name], equal_nan=np.asarray(values).dtype.kind == "f")
        for name, values in one.items()
    )
