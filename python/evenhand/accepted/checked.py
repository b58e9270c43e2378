"""Functions that refuse arguments of other kinds than their annotations say."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from evenhand.accepted.kinds import Kind, Refused, kind_of_annotation
from evenhand.building.problems import shorten
from evenhand.errors import InputError, Problem, printable

__all__ = ["checked", "fit_together", "refuse", "taken"]

#: Deeper than any argument that is right.
_DEEPEST, _WIDEST = 150, 1000

F = TypeVar("F", bound=Callable[..., Any])


def refuse(function: str, argument: str, value: object, rule: str, predicate: str) -> InputError:
    """Return the error of an argument that breaks a rule."""
    message = printable(f"{argument} {predicate}")
    return InputError([Problem(function, None, None, argument, rule, printable(shorten(value)), message)])


def taken(function: str, argument: str, value: Any, kind: Kind) -> Any:
    """Return an argument as plain Python has it."""
    try:
        return kind.accept(value)
    except Refused as error:
        raise refuse(function, argument + error.at, value, error.rule, str(error)) from None
    except RecursionError:
        raise refuse(function, argument, value, "depth", "is nested too deeply") from None


def checked(name: str, **kinds: Kind | str) -> Callable[[F], F]:
    """Return a decorator: what is decorated refuses arguments of other kinds than it says.

    NumPy's scalars become numbers of Python. What is `Any` is left to the function. A wrong number of
    arguments is Python's TypeError, as ever.
    """

    def decorate(function: Any) -> Any:
        if isinstance(function, type):
            function.__init__ = decorate(function.__init__)  # type: ignore[misc]
            return function
        signature = inspect.signature(function)

        @functools.cache
        def known() -> tuple[Mapping[str, Kind], Kind | None, str | None]:
            every: dict[str, Kind] = {}
            rest = None
            for p in signature.parameters.values():
                said = kinds.get(p.name, p.annotation)
                kind = kind_of_annotation(said) if isinstance(said, str) else said
                if isinstance(kind, Kind) and kind.words != "anything":
                    every[p.name] = kind
                if p.kind is p.VAR_KEYWORD:
                    rest = p.name
            return every, every.get(rest or ""), rest

        @functools.wraps(function)
        def call(*positional: Any, **named: Any) -> Any:
            try:
                bound = signature.bind(*positional, **named)
            except TypeError:
                return function(*positional, **named)  # says what is missing, or too much
            every, each, rest = known()
            for argument, value in bound.arguments.items():
                if argument == rest:
                    if each is not None:
                        bound.arguments[argument] = {k: taken(name, k, v, each) for k, v in value.items()}
                elif argument in every and not _is_default(signature, argument, value):
                    bound.arguments[argument] = taken(name, argument, value, every[argument])
            try:
                return function(*bound.args, **bound.kwargs)
            except RecursionError as error:
                for argument, value in bound.arguments.items():
                    if _deep(value):
                        raise refuse(name, argument, value, "depth", "is nested too deeply") from error
                raise

        return call

    return decorate


def _deep(value: Any) -> bool:
    """Whether a value is nested so deeply that what reads it cannot follow."""
    level = [value]
    for _ in range(_DEEPEST):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, Mapping):
                inner.extend(one.values())
            elif isinstance(one, list | tuple):
                inner.extend(one)
        level = [one for one in inner if isinstance(one, Mapping | list | tuple)][:_WIDEST]
        if not level:
            return False
    return True


def _is_default(signature: inspect.Signature, argument: str, value: Any) -> bool:
    return value is signature.parameters[argument].default


def fit_together(function: str, **arrays: Any) -> None:
    """Refuse arrays whose shapes do not fit together."""
    given = {name: np.shape(value) for name, value in arrays.items() if value is not None}
    try:
        np.broadcast_shapes(*given.values())
    except ValueError:
        names = ", ".join(given)
        said = " and ".join(str(shape) for shape in dict.fromkeys(given.values()))
        message = f"{names} have shapes {said}, which do not fit together"
        raise InputError([Problem(function, None, None, names, "length", None, message)]) from None
