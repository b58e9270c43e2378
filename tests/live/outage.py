"""A controller that goes in the midst of a step, and comes back while a driver asks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evenhand.adapters.commands import Result, Subprocesses

__all__ = ["Outage"]


class Outage:
    """Runs commands; the controller goes before or after the first of a kind, for some commands more.

    Parameters
    ----------
    stop, start : callable
        Of the controller.
    at : str
        A word of the command.
    before : bool
        Whether that command finds no controller.
    lasts : int
        How many commands find none.
    """

    def __init__(
        self, stop: Callable[[], None], start: Callable[[], None], at: str, *, before: bool, lasts: int = 3
    ) -> None:
        self.run = Subprocesses()
        self.stop, self.start, self.at, self.before, self.left = stop, start, at, before, lasts
        self.down = self.done = False
        self.failed: list[str] = []

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        comes = not self.done and self.at in arguments
        if comes and self.before:
            self._go()
        if self.down and not self.left:
            self.start()
            self.down = False
        result = self.run(arguments, timeout)
        if self.down:
            self.left -= 1
            assert result.status != 0, arguments
            self.failed.append(" ".join(arguments))
        if comes and not self.before:
            self._go()
        return result

    def _go(self) -> None:
        self.stop()
        self.down = self.done = True
