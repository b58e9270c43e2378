"""Looking at jobs, again where a look fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from evenhand.adapters.protocol import AdapterError

if TYPE_CHECKING:
    from evenhand.act.timing import Timing
    from evenhand.adapters.protocol import Adapter, Standing

__all__ = ["look"]

_TRIES = 3


def look(
    adapter: Adapter,
    names: Iterable[str],
    timing: Timing,
    missed: Callable[[], object] | None = None,
) -> dict[str, Standing]:
    """Return how jobs stand, by the third attempt at the latest."""
    wanted = list(names)
    for left in reversed(range(_TRIES)):
        try:
            return adapter.look(wanted)
        except AdapterError:
            if missed is not None:
                missed()
            if not left:
                raise
            timing.pause()
    raise AssertionError
