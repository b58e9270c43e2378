"""How far a long call is: a bar, or what the caller does with two numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from evenhand.accepted import plain, refuse
from evenhand.building.problems import kind_of
from evenhand.errors import require

__all__ = ["Progress", "Tell", "telling"]

#: Whether a bar is shown, or what is called with how much is done, and of how much.
Progress = bool | Callable[[float, float], object]

#: Takes how much is done.
Tell = Callable[[float], None]


def _takes_two(function: Any) -> bool:
    try:
        inspect.signature(function).bind(0.0, 0.0)
    except TypeError:
        return False
    except ValueError:  # it does not say
        return True
    return True


@contextmanager
def telling(function: str, progress: Any, total: float, unit: str, said: str) -> Iterator[Tell | None]:
    """Yield what is to be called with how much is done; None: nothing wants to know."""
    progress = plain(progress)
    if isinstance(progress, bool):
        if not progress:
            yield None
            return
        with require("tqdm.auto", "progress").tqdm(total=total, unit=unit, desc=said) as bar:
            yield lambda done: bar.update(done - bar.n)
        return
    if not callable(progress) or isinstance(progress, type) or not _takes_two(progress):
        expected = "true, false, or a function of what is done and of how much"
        raise refuse(function, "progress", progress, "type", f"is {kind_of(progress)}; it must be {expected}")
    yield lambda done: (progress(done, total), None)[1]
