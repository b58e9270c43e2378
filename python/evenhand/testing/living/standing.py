"""What policies remember, kept by hand: states of frozen plans."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.state import State
    from evenhand.systems.base import Policy

__all__ = ["States", "system_of"]


def system_of(policy: Any) -> str:
    """Return a policy's system; of one of your own, its class."""
    return str(policy.system)


def _key(policy: Any) -> tuple[str, str]:
    return system_of(policy), json.dumps(policy.to_dict(), sort_keys=True, default=str)


class States:
    """The state that each policy's last plan left, the newest last."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, str], State] = {}

    def copied(self) -> States:
        """Return the same, to change on its own."""
        other = States()
        other._left = dict(self._left)
        return other

    def of(self, policy: Policy) -> State | None:
        """Return what a policy's last plan left; None: it has not planned yet with these settings."""
        return self._left.get(_key(policy))

    def before(self, policy: Policy) -> State | None:
        """Return what a plan starts from: of new settings the newest state of the same system."""
        own = self.of(policy)
        same = (state for key, state in reversed(self._left.items()) if key[0] == system_of(policy))
        return next(same, None) if own is None else own

    def left(self, policy: Policy, state: State) -> None:
        """Keep what a plan left."""
        self._left.pop(_key(policy), None)
        self._left[_key(policy)] = state

    def forget(self, gone: Collection[tuple[str, str]]) -> None:
        """Forget rows that went, by table and name."""
        if gone:
            self._left = {key: state.without(gone) for key, state in self._left.items()}
