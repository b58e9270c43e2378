"""Running a cluster's commands: argument lists, no shell, a time limit, output that cannot do harm."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Result", "Runner", "Subprocesses", "reading"]

_LIMIT = 512 * 1024 * 1024  # bytes of output
#: Variables in the environment of the driver that would change the answers of Slurm's commands.
_PERSONAL = ("SQUEUE_", "SINFO_", "SCANCEL_", "SCONTROL_", "SACCTMGR_", "SSHARE_", "SLURM_CLUSTERS")
_SET = {"LC_ALL": "C.UTF-8", "SLURM_TIME_FORMAT": "standard"}
# Hidden partitions count: their jobs hold nodes.
_SET |= {"SQUEUE_ALL": "1", "SINFO_ALL": "1", "SCONTROL_ALL": "1"}


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

        It has a session of its own: a signal that is sent to all processes of the driver stops the driver,
        not the command that it waits for.
        """
        return self._run(arguments, timeout, self.inherited)

    def read(self, arguments: Sequence[str], timeout: float) -> Result:
        """Run a command that changes nothing, likewise, but that it inherits no descriptor.

        Nothing of it can arrive behind the back of the next driver, which need not wait for it.
        """
        return self._run(arguments, timeout, ())

    def _run(self, arguments: Sequence[str], timeout: float, inherited: tuple[int, ...]) -> Result:
        environment = {n: v for n, v in os.environ.items() if not n.startswith(_PERSONAL)} | _SET
        try:
            process = subprocess.Popen(  # noqa: S603 - an argument list, no shell
                list(arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                pass_fds=inherited,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Result(None, "", f"cannot be run: {getattr(error, 'strerror', None) or error}")
        with process:
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                _kill(process)
                return Result(None, "", f"no answer within {timeout:g} s")
            except BaseException:
                _kill(process)
                raise
        return Result(process.returncode, _text(out), _text(err))


def reading(runner: Runner) -> Runner:
    """Return what runs commands that only read: of processes, without the lock."""
    found: Runner = getattr(runner, "read", runner)
    return found


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all of its session, and let go of its output."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _text(data: bytes) -> str:
    return data[:_LIMIT].decode("utf-8", errors="replace")
