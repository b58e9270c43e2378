"""Runners of commands, some of which go wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from evenhand.adapters.commands import Result, Runner
from evenhand.adapters.recording import _Around

__all__ = ["Fault", "Faults"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong with a command.

    Attributes
    ----------
    kind : str
        ``"fail"`` (refused, nothing done), ``"timeout"`` (nothing done), ``"late"`` (no answer, and done
        after ``delay`` further commands), ``"lie"`` (says it is done, nothing done), ``"false_alarm"``
        (done, says it failed), ``"truncate"`` (only a part of the answer arrives), ``"die"`` (``death`` is
        called before the command) or ``"die_after"``.
    delay : int
        Of ``"late"``.
    part : float
        Of ``"truncate"``: how much arrives, 0 to 1.
    """

    kind: Literal["fail", "timeout", "late", "lie", "false_alarm", "truncate", "die", "die_after"]
    delay: int = 0
    part: float = 0.5


class Faults(_Around):
    """Runs commands, some of which go wrong.

    Parameters
    ----------
    runner : Runner
        What runs them.
    schedule : mapping of int to Fault
        The number of a command, from 0, to what goes wrong with it.
    death : callable
        What a ``"die"`` calls; it must not return.
    """

    def __init__(self, runner: Runner, schedule: dict[int, Fault], death: Callable[[], None]) -> None:
        super().__init__(runner)
        self._schedule, self._death = dict(schedule), death
        self._late: list[tuple[int, tuple[str, ...]]] = []
        self.count = 0

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        """Run a command, or let it go wrong."""
        number, self.count = self.count, self.count + 1
        self.arrive(number)
        fault = self._schedule.get(number)
        kind = fault.kind if fault else None
        if kind == "die":
            self._death()
        if kind == "fail":
            return Result(1, "", "slurm error: Socket timed out on send/recv operation")
        if kind == "timeout":
            return Result(None, "", f"no answer within {timeout:g} s")
        if kind == "lie":
            return Result(0)
        if fault and kind == "late":
            self._late.append((number + fault.delay, tuple(arguments)))
            return Result(None, "", f"no answer within {timeout:g} s")
        result = self._runner(arguments, timeout)
        if kind == "die_after":
            self._death()
        if kind == "false_alarm":
            return Result(1, "", "slurm error: Unable to contact slurm controller")
        if fault and kind == "truncate":
            return Result(result.status, result.out[: int(len(result.out) * fault.part)], result.err)
        return result

    def arrive(self, number: int | None = None) -> None:
        """Let late commands arrive: those due before command ``number``, or all of them."""
        due = [args for at, args in self._late if number is None or at < number]
        self._late = [] if number is None else [late for late in self._late if late[0] >= number]
        for arguments in due:
            self._runner(arguments, 0.0)
