"""Whatever goes wrong inside an adapter is an `AdapterError`, never another exception."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from evenhand.adapters.protocol import EVICTIONS, Adapter, AdapterError, Answer, Standing, State
from evenhand.errors import EvenhandError, InputError, shorten

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Guarded", "follows", "guarded"]

_STATUSES = get_args(get_type_hints(Answer)["status"])
_MEMBERS = [name for name in vars(Adapter) if not name.startswith("_")]


def follows(made: object) -> bool:
    """Whether an object has all that the protocol names; nothing of it is called."""
    nothing = object()
    return all(
        inspect.getattr_static(made, name, nothing) is not nothing or hasattr(made, name) for name in _MEMBERS
    )


class Guarded:
    """An adapter that raises nothing but `AdapterError`; other attributes are those of the adapter.

    An exception of another kind becomes an `AdapterError`, also the `InputError` of a snapshot that cannot be
    built, but for the one of a policy whose settings are wrong. Of `do`, which raises nothing, it becomes the
    answer ``"unknown"``: what came of the command has to be looked at.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self.adapter, name)

    def _ask(self, what: str, call: Callable[[], Any], passes: type[EvenhandError] = AdapterError) -> Any:
        try:
            return call()
        except passes:
            raise
        except Exception as error:
            raise AdapterError(f"the adapter's {what} failed: {_said(error)}") from error

    @property
    def name(self) -> str:
        """The system's word."""
        return str(self._ask("name", lambda: self.adapter.name))

    @property
    def identity(self) -> str:
        """What distinguishes clusters."""
        return str(self._ask("identity", lambda: self.adapter.identity))

    @property
    def whole(self) -> bool:
        """Whether operations leave and start as a whole."""
        return bool(self._ask("whole", lambda: self.adapter.whole))

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of how the cluster was last read."""
        found: tuple[str, ...] = self._ask("notices", lambda: tuple(map(str, self.adapter.notices)))
        return found

    def policy(self, preset: str | None = None, **changes: Any) -> Any:
        """Return the cluster's own rules with some changes; without a preset by that of the adapter."""
        named = () if preset is None else (preset,)
        return self._ask("policy", lambda: self.adapter.policy(*named, **changes), EvenhandError)

    def snapshot(self, leaving: Mapping[str, str] | None = None) -> Snapshot:
        """Return what is."""
        return self._snapshot(lambda: self.adapter.snapshot(leaving))

    def _snapshot(self, read: Callable[[], Any]) -> Snapshot:
        from evenhand.model import Snapshot

        found = self._ask("snapshot", read)
        if not isinstance(found, Snapshot):
            raise AdapterError(f"the adapter's snapshot is {_shown(found)}, not a Snapshot")
        return found

    def follow(self, leaving: Mapping[str, str], about: Iterable[str] | None = None) -> Snapshot:
        """Return what is, by what has changed where the adapter can tell; see "Write an adapter"."""
        if getattr(self.adapter, "follow", None) is None:
            return self.snapshot(leaving)
        return self._snapshot(lambda: self.adapter.follow(leaving, None if about is None else [*about]))  # type: ignore[attr-defined]

    def look(self, names: Iterable[str]) -> dict[str, Standing]:
        """Return how jobs stand now."""
        wanted = list(names)
        found: dict[str, Standing] = self._ask("look", lambda: dict(self.adapter.look(wanted)))
        for name in wanted:
            if name not in found:
                raise AdapterError(f"the adapter's look has no answer for {name}")
            _check(name, found[name])
        return found

    def action(self, mode: str | None) -> str:
        """Return the action for a decision's mode."""
        found = self._ask("action", lambda: self.adapter.action(mode))
        if found not in EVICTIONS:
            raise AdapterError(
                f"the adapter's action is {_shown(found)}; it must be of {', '.join(EVICTIONS)}"
            )
        return str(found)

    def commands(self, action: str, name: str, reason: str) -> list[tuple[str, ...]]:
        """Return what `do` would run."""
        found = self._ask("commands", lambda: list(self.adapter.commands(action, name, reason)))
        for command in found:
            if not isinstance(command, tuple | list) or not all(isinstance(word, str) for word in command):
                raise AdapterError(f"a command of the adapter is {_shown(command)}, not a tuple of str")
        return [tuple(command) for command in found]

    def do(self, action: str, name: str, reason: str) -> Answer:
        """Carry out an action on a job."""
        try:
            found = self.adapter.do(action, name, reason)
        except Exception as error:
            return Answer("unknown", f"the adapter's do failed: {_said(error)}")
        if (
            not isinstance(found, Answer)
            or found.status not in _STATUSES
            or not isinstance(found.message, str)
        ):
            return Answer("unknown", f"the adapter's do returned {_shown(found)}, no Answer")
        return found

    def room(self, name: str) -> bool:
        """Whether what a suspended job needs is free where it stands."""
        return bool(self._ask("room", lambda: self.adapter.room(name)))

    def keep(self, descriptor: int) -> None:
        """Let commands inherit a descriptor."""
        self._ask("keep", lambda: self.adapter.keep(descriptor))


def guarded(adapter: Adapter) -> Guarded:
    """Return an adapter that raises nothing but `AdapterError` and says nothing that cannot be."""
    if isinstance(adapter, Guarded):
        return adapter
    if not follows(adapter):
        raise AdapterError(
            f"{_shown(adapter)} is not an adapter; `evenhand.adapters.load` returns one by its name"
        )
    return Guarded(adapter)


def _check(name: str, standing: object) -> None:
    """Raise `AdapterError` unless a standing is one: what is wrong in it would make a journal unreadable."""
    if not isinstance(standing, Standing):
        raise AdapterError(f"the adapter's look answers {_shown(standing)} for {name}, not a Standing")
    turn = standing.turn
    fits = {
        "state": standing.state in get_args(State),
        "turn": isinstance(turn, int) and not isinstance(turn, bool) and 0 <= turn < 2**63,
        **{field: isinstance(getattr(standing, field), str) for field in ("owner", "detail")},
        **{
            field: isinstance(getattr(standing, field), bool)
            for field in ("started", "requeueable", "held", "marked")
        },
    }
    for field, fit in fits.items():
        if not fit:
            value = _shown(getattr(standing, field))
            raise AdapterError(
                f"the adapter's look answers what cannot be for {name}: its {field} is {value}"
            )


def _said(error: Exception) -> str:
    """Return an error on one line that is safe to show; of what is wrong with an input, the first."""
    if isinstance(error, InputError):
        more = len(error.problems) - 1 + error.omitted
        return _line(f"{error.problems[0]}") + (f", and {more} more" if more else "")
    return _line(f"{type(error).__name__}: {error}")


def _shown(value: object) -> str:
    return _line(repr(value) if isinstance(value, str) else shorten(value))


def _line(text: str) -> str:
    from evenhand.display.text import clean

    return clean(" ".join(text.split())[:200])
