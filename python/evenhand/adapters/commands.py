"""Running a cluster's commands: argument lists, no shell, a time limit, output that cannot do harm."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Result", "Runner", "Subprocesses"]

_LIMIT = 512 * 1024 * 1024  # bytes of output


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a command.

    Attributes
    ----------
    status : int or None
        Its exit status; None if it did not end in time, or could not be run.
    out, err : str
        What it wrote, undecodable bytes replaced. Untrusted: it may hold other people's names.
    """

    status: int | None
    out: str = ""
    err: str = ""


class Runner(Protocol):
    """Whatever runs commands: processes, a recording, a fault."""

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        """Run a command; never raises."""
        ...


class Subprocesses:
    """Runs commands as processes of this machine.

    Attributes
    ----------
    inherited : tuple of int
        Descriptors that the processes keep open: a lock that outlives a killed driver until they end.
    """

    def __init__(self) -> None:
        self.inherited: tuple[int, ...] = ()

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        """Run a command without a shell, standard input closed.

        Parameters
        ----------
        arguments : sequence of str
            The program and its arguments; nothing in them is interpreted.
        timeout : float
            Seconds after which it is killed and counts as unanswered.

        Returns
        -------
        Result
        """
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "SLURM_TIME_FORMAT": "standard"}
        try:
            done = subprocess.run(  # noqa: S603 - an argument list, no shell
                list(arguments),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout,
                check=False,
                env=environment,
                pass_fds=self.inherited,
            )
        except subprocess.TimeoutExpired:
            return Result(None, "", f"no answer within {timeout:g} s")
        except (OSError, ValueError) as error:
            return Result(None, "", f"cannot be run: {getattr(error, 'strerror', None) or error}")
        return Result(done.returncode, _text(done.stdout), _text(done.stderr))


def _text(data: bytes) -> str:
    return data[:_LIMIT].decode("utf-8", errors="replace")
