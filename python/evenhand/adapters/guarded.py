"""Adapters of other packages: whatever goes wrong inside is an `AdapterError`, never another exception."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.adapters.protocol import Adapter, AdapterError, Answer, Standing
from evenhand.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Guarded", "follows"]

_MEMBERS = [name for name in vars(Adapter) if not name.startswith("_")]


def follows(made: object) -> bool:
    """Whether an object has all that the protocol names; nothing of it is called."""
    nothing = object()
    return all(
        inspect.getattr_static(made, name, nothing) is not nothing or hasattr(made, name) for name in _MEMBERS
    )


class Guarded:
    """An adapter that raises nothing but errors of this library; other attributes are those of the adapter.

    Parameters
    ----------
    adapter : Adapter
        What is asked. An exception of another kind becomes an `AdapterError`, and of `do`, which raises
        nothing, the answer ``"unknown"``: what came of the command has to be looked at.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self.adapter, name)

    def _ask(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except EvenhandError:
            raise
        except Exception as error:
            raise AdapterError(f"the adapter's {what} failed: {_said(error)}") from error

    @property
    def name(self) -> str:
        """The system's word."""
        return str(self._ask("name", lambda: self.adapter.name))

    @property
    def identity(self) -> str:
        """What tells clusters apart."""
        return str(self._ask("identity", lambda: self.adapter.identity))

    @property
    def whole(self) -> bool:
        """Whether operations leave and start as a whole."""
        return bool(self._ask("whole", lambda: self.adapter.whole))

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of how the cluster was last read."""
        return tuple(self._ask("notices", lambda: self.adapter.notices))

    def policy(self, preset: str = "documented", **changes: Any) -> Any:
        """Return the cluster's own rules with some changes."""
        return self._ask("policy", lambda: self.adapter.policy(preset, **changes))

    def snapshot(self, leaving: Mapping[str, str] | None = None) -> Snapshot:
        """Return what is."""
        found: Snapshot = self._ask("snapshot", lambda: self.adapter.snapshot(leaving))
        return found

    def look(self, names: Iterable[str]) -> dict[str, Standing]:
        """Return how jobs stand now."""
        wanted = list(names)
        found: dict[str, Standing] = self._ask("look", lambda: self.adapter.look(wanted))
        missing = [name for name in wanted if name not in found]
        if missing:
            raise AdapterError(f"the adapter's look says nothing of {missing[0]}")
        return found

    def action(self, mode: str | None) -> str:
        """Return the action for a decision's mode."""
        return str(self._ask("action", lambda: self.adapter.action(mode)))

    def commands(self, action: str, name: str, reason: str) -> list[tuple[str, ...]]:
        """Return what `do` would run."""
        return list(self._ask("commands", lambda: self.adapter.commands(action, name, reason)))

    def do(self, action: str, name: str, reason: str) -> Answer:
        """Carry out an action on a job."""
        try:
            return self.adapter.do(action, name, reason)
        except Exception as error:
            return Answer("unknown", f"the adapter's do failed: {_said(error)}")

    def room(self, name: str) -> bool:
        """Whether what a suspended job needs is free where it stands."""
        return bool(self._ask("room", lambda: self.adapter.room(name)))

    def keep(self, descriptor: int) -> None:
        """Let commands inherit a descriptor."""
        self._ask("keep", lambda: self.adapter.keep(descriptor))


def _said(error: Exception) -> str:
    """Return an error on one line that is safe to show."""
    from evenhand.display.text import clean

    return clean(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
