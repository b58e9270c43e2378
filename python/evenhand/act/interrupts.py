"""Control-C, or a notebook's stop button, while a step is carried out."""

from __future__ import annotations

import signal
import threading
from typing import Any, Self

__all__ = ["Interrupts"]


class Interrupts:
    """A context manager in which a keyboard interrupt waits: it is raised at the end, the second one at once.

    Else it would fall between two commands, and leave jobs held that only another driver releases.

    Attributes
    ----------
    came : bool
        Whether one came; what runs for long looks here.

    Where other code handles interrupts, and in threads, which get none, it does nothing.
    """

    def __init__(self) -> None:
        self.came = False
        self._depth = 0
        self._ours = False

    def _handle(self, *_: Any) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True

    def __enter__(self) -> Self:
        if self._depth == 0:
            main = threading.current_thread() is threading.main_thread()
            self._ours = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
            if self._ours:
                signal.signal(signal.SIGINT, self._handle)
        self._depth += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._depth -= 1
        if self._depth or not self._ours:
            return
        self._ours = False
        signal.signal(signal.SIGINT, signal.default_int_handler)
        came, self.came = self.came, False
        if came and kind is None:
            raise KeyboardInterrupt
