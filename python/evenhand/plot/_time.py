"""What plots over a run's time share: its unit, and its axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from evenhand.simulate.result import Result

__all__ = ["Clock", "clock"]

_UNITS = (
    ("days", 86_400.0, 4 * 86_400),
    ("hours", 3600.0, 4 * 3600),
    ("minutes", 60.0, 240),
    ("seconds", 1.0, 0),
)


class Clock:
    """Instants of a run, in the unit that suits its length, from its beginning on."""

    def __init__(self, begin: float, end: float) -> None:
        self.unit, seconds = next((u, s) for u, s, least in _UNITS if end - begin >= least)
        self._begin, self._scale = begin * 1e6, seconds * 1e6
        self.end = (end - begin) / seconds

    def __call__(self, micros: NDArray[Any]) -> NDArray[np.float64]:
        return (micros - self._begin) / self._scale

    def axis(self, ax: Axes) -> None:
        """Say it below the axes."""
        ax.set_xlim(0, self.end if self.end > 0 else 1)
        ax.set_xlabel(f"{self.unit} from the beginning")


def clock(result: Result) -> Clock:
    """Return the clock of a run."""
    return Clock(*result.span)
