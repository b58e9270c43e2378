"""A fake cluster that answers other processes and kills them, and the driver that such a process is."""

from __future__ import annotations

import multiprocessing.process
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, Literal

from evenhand.act import Caps, Driver, Timing, watch
from evenhand.adapters.commands import Result, Runner
from evenhand.systems.slurm.adapter.live import Slurm
from tests.unit.act.scripted import Scripted
from tests.unit.act.slurm.cluster import Clock, FakeSlurm, job

TICK = 0.002  # seconds that pass with each command


class Brief(FakeSlurm):
    """Jobs with ``lasts`` end so many seconds after they started; while it is busy, urgent ones come."""

    chance: random.Random
    busy = True

    @property
    def urgent(self) -> int:
        """How many of them wait."""
        return sum(j["state"] == "PENDING" and "lasts" in j for j in self.jobs.values())

    def schedule(self) -> None:
        if self.busy and self.urgent < 2:
            for name in range(1000 + len(self.jobs), 1000 + len(self.jobs) + self.chance.randrange(1, 4)):
                self.jobs[str(name)] = job(name, self.chance.choice([2, 3, 4]), priority=90, lasts=0.05)
        super().schedule()
        for j in self.jobs.values():
            if j["state"] == "RUNNING" and j["ends"] is None and "lasts" in j:
                j["ends"] = self.clock.now + j["lasts"]


@dataclass
class Kill:
    """Which command a driver does not live to see the end of.

    Attributes
    ----------
    after : int
        So many commands of the driver go well.
    commands : str
        Of those that come then, the first with this word is its last; empty: whichever comes.
    when : {"before", "unanswered", "answered"}
        Before the command is carried out; after that, without an answer; after the answer, while the driver
        does whatever it does with it.
    """

    driver: multiprocessing.process.BaseProcess
    after: int
    commands: str
    when: Literal["before", "unanswered", "answered"]

    def fits(self, arguments: Sequence[str]) -> bool:
        self.after -= 1
        return self.after < 0 and (not self.commands or self.commands in arguments)


class Served:
    """Answers commands over a socket, one after the other, and tells the time.

    A command that was sent is carried out, whether who sent it lives to read the answer or not; but for those
    before which it was killed.
    """

    def __init__(self, runner: Runner, clock: Clock, address: Path) -> None:
        self._runner, self._clock = runner, clock
        self._address = str(address)
        self._listener = Listener(self._address, "AF_UNIX")
        self._busy: list[threading.Thread] = []
        self.lock = threading.Lock()
        self.kill: Kill | None = None
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
                    if not isinstance(arguments, tuple):  # it sleeps for so long
                        self._clock.sleep(arguments)
                        connection.send(self._clock.now)
                    elif not self._carried_out(arguments, connection.send):
                        return
            except (EOFError, OSError):
                return

    def _carried_out(self, arguments: tuple[str, ...], send: Callable[[Any], None]) -> bool:
        """Tell whether who sent a command lives."""
        kill = self.kill if self.kill is not None and self.kill.fits(arguments) else None
        if kill is not None and kill.when == "before":
            kill.driver.kill()
            return False
        self._clock.sleep(TICK)
        result = self._runner(arguments, 0.0) if arguments else Result(0)
        if kill is not None and kill.when == "unanswered":
            kill.driver.kill()
            return False
        send((result.status, result.out, result.err))
        if kill is not None:
            kill.driver.kill()
        return kill is None

    def drain(self) -> None:
        """Wait until all has been carried out that was sent by processes that are dead."""
        self.kill = None
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

    def sleep(seconds: float) -> float:
        connection.send(seconds)
        return connection.recv()

    left = [rounds]

    def each(cycle: Any) -> None:
        left[0] -= 1
        if not left[0]:
            driver.stop.set()

    adapter = Slurm(runner=run, clock=lambda: sleep(0.0))
    adapter.identity = "fake"
    place = Path(folder)
    times = {"start": 2.0, "settle": 0.5, "poll": 0.01, "forget": 0.0}  # none is late: see `Served.drain`
    timing = Timing(clock=lambda: sleep(0.0), sleep=sleep, **times)  # type: ignore[arg-type]
    caps = Caps(None, None, None, None)
    with Driver(adapter, place / "journal", lock=place / "lock", caps=caps, timing=timing) as driver:
        watch(driver, Scripted(), interval=0.0, each=each)
