"""Adapters: from a real cluster to a snapshot, and from a decision to a command.

Found through the entry-point group ``evenhand.adapters``; see `evenhand.adapters.protocol` for what one is.
"""

from __future__ import annotations

import inspect
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from evenhand.accepted import checked
from evenhand.adapters.guarded import follows, guarded
from evenhand.adapters.protocol import Adapter, AdapterError, Answer, Standing
from evenhand.errors import printable
from evenhand.systems import SYSTEMS
from evenhand.systems.record import named

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GROUP", "Adapter", "AdapterError", "Answer", "Standing", "available", "load"]

#: Entry-point group of adapters.
GROUP = "evenhand.adapters"


def _own() -> dict[str, Callable[..., Adapter]]:
    return {word: named(s.adapter_at) for word, s in SYSTEMS.items() if s.adapter_at}


def available() -> dict[str, str]:
    """Return the names of all adapters with where they come from; the package's own need no entry point.

    Returns
    -------
    dict of str to str
    """
    found = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    return {**found, **{name: f"{make.__module__}:{make.__name__}" for name, make in _own().items()}}


@checked("adapters.load")
def load(name: str, **options: Any) -> Adapter:
    """Return the adapter of a name.

    Parameters
    ----------
    name : str
        As an entry point of `GROUP` calls it: ``"slurm"``.
    **options
        What the adapter takes.

    Returns
    -------
    Adapter
        Of other packages as `evenhand.adapters.guarded.Guarded` has it.

    Raises
    ------
    AdapterError
        If there is none of that name, or it cannot be loaded.
    """
    own = _own()
    if name in own:
        try:
            inspect.signature(own[name]).bind(**options)
        except TypeError as error:
            raise AdapterError(f"adapter {name!r}: {printable(str(error))}") from None
        return own[name](**options)
    for entry in entry_points(group=GROUP):
        if entry.name == name:
            try:
                made = entry.load()(**options)
            except Exception as error:
                raise AdapterError(f"adapter {name!r} cannot be loaded: {error}") from error
            if not follows(made):
                raise AdapterError(f"adapter {name!r} ({entry.value}) does not follow the protocol")
            return guarded(made)
    known = ", ".join(sorted(available()))
    raise AdapterError(f"there is no adapter {name!r}; there are {known}")
