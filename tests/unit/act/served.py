"""A fake cluster that answers other processes, and the driver that such a process is."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from evenhand.act import Caps, Driver, Timing, watch
from evenhand.adapters.commands import Result, Runner
from evenhand.systems.slurm.adapter.live import Slurm
from tests.unit.act.scripted import Scripted
from tests.unit.act.slurm.cluster import FakeSlurm


class Now:
    """The time, as the fake cluster reads it."""

    @property
    def now(self) -> float:
        return time.time()


class Brief(FakeSlurm):
    """Jobs with ``lasts`` end so many seconds after they started."""

    def schedule(self) -> None:
        super().schedule()
        for j in self.jobs.values():
            if j["state"] == "RUNNING" and j["ends"] is None and "lasts" in j:
                j["ends"] = self.clock.now + j["lasts"]


class Served:
    """Answers commands over a socket, one after the other.

    A command that was sent is carried out, whether who sent it lives to read the answer or not.
    """

    def __init__(self, runner: Runner, address: Path) -> None:
        self._runner = runner
        self._address = str(address)
        self._listener = Listener(self._address, "AF_UNIX")
        self._busy: list[threading.Thread] = []
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._answer, args=(connection,), daemon=True)
            thread.start()
            self._busy.append(thread)

    def _answer(self, connection: Connection) -> None:
        while True:
            try:
                arguments = connection.recv()
                with self.lock:
                    result = self._runner(arguments, 0.0) if arguments else Result(0)
                connection.send((result.status, result.out, result.err))
            except (EOFError, OSError):
                return

    def drain(self) -> None:
        """Wait until all has been carried out that was sent by processes that are dead."""
        with Client(self._address, "AF_UNIX") as last:  # all that came before are accepted before it
            last.send(())
            last.recv()
        for thread in self._busy:
            thread.join()
        self._busy = []

    def close(self) -> None:
        self._listener.close()


def drive(address: str, folder: str, rounds: int) -> None:
    """Watch the cluster; 0 rounds: until killed."""
    connection = Client(address, "AF_UNIX")

    def run(arguments: Sequence[str], timeout: float) -> Result:
        connection.send(tuple(arguments))
        return Result(*connection.recv())

    left = [rounds]

    def each(cycle: Any) -> None:
        left[0] -= 1
        if not left[0]:
            driver.stop.set()

    adapter = Slurm(runner=run)
    adapter.identity = "fake"
    place = Path(folder)
    timing = Timing(start=2.0, settle=0.5, poll=0.002, forget=0.0)  # no command is late: see `Served.drain`
    caps = Caps(None, None, None, None)
    with Driver(adapter, place / "journal", lock=place / "lock", caps=caps, timing=timing) as driver:
        watch(driver, Scripted(), interval=0.005, each=each)
