"""Histories of drivers on a cluster of another's adapter: answers get lost, looks fail, drivers die."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from evenhand.adapters.guarded import guarded
from evenhand.adapters.protocol import AdapterError, Answer, Standing
from evenhand.errors import EvenhandError
from evenhand.testing._laws import must
from evenhand.testing.acting.histories import History, Killed, written
from evenhand.testing.acting.laws import (
    every_step_has_its_end,
    only_what_steps_name,
    written_before_asked,
)
from evenhand.testing.acting.site import Event

if TYPE_CHECKING:
    from evenhand.adapters.protocol import Adapter
    from evenhand.model import Snapshot

__all__ = ["Troubled", "hold_histories"]

_LIVES = 3
_ROUNDS = 20  # of drivers that see to what is left


class Troubled:
    """An adapter between which and its drivers things go wrong, and what was asked of it."""

    def __init__(self, adapter: Adapter, random: Random, journal: Path) -> None:
        self._adapter, self._random, self._journal = guarded(adapter), random, journal
        self.log: list[Event] = []
        self.left: int | None = None
        self.calm = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def _fails(self) -> bool:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed
        return not self.calm and self._random.random() < 0.1

    def snapshot(self, leaving: Mapping[str, str] | None = None) -> Snapshot:
        """Return what is, if the cluster answers."""
        if self._fails():
            raise AdapterError("a snapshot that fails, as it was drawn")
        return self._adapter.snapshot(leaving)

    def look(self, names: Iterable[str]) -> dict[str, Standing]:
        """Return how jobs stand, if the cluster answers."""
        if self._fails():
            raise AdapterError("a look that fails, as it was drawn")
        return self._adapter.look(names)

    def do(self, action: str, name: str, reason: str) -> Answer:
        """Send a command, which may be lost, and so may its answer."""
        lost = self._fails()
        if action == "note":
            return self._adapter.do(action, name, reason)
        self.log.append(Event(float(len(self.log)), "asked", action, name, None, written(self._journal)))
        if lost:
            return Answer("unknown", "a command that is lost, as it was drawn")
        answer = self._adapter.do(action, name, reason)
        return Answer("unknown", "an answer that is lost, as it was drawn") if self._fails() else answer


def hold_histories(fresh: Callable[[], Adapter], count: int, timeout: float) -> None:
    """Let drivers act on so many clusters, and hold what came of it against the laws."""
    for seed in range(count):
        try:
            _hold(fresh(), seed, timeout)
        except AssertionError as error:
            raise AssertionError(f"history {seed}: {error}") from error


def _hold(adapter: Adapter, seed: int, timeout: float) -> None:
    from evenhand.act import Caps, Driver, Timing, watch
    from evenhand.act.journal import read

    random = Random(seed)  # noqa: S311 - the same every time
    times: dict[str, Any] = {
        "start": timeout,
        "settle": timeout,
        "forget": 2 * timeout,
        "retry": 0.0,
        "poll": timeout / 20,
    }
    caps = Caps(None, None, None, None)
    with TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        troubled: Any = Troubled(adapter, random, journal)
        for life in range(_LIVES + _ROUNDS):
            troubled.calm = life >= _LIVES
            troubled.left = random.randrange(3, 30) if not troubled.calm and random.random() < 0.5 else None
            try:
                with Driver(
                    troubled, journal, lock=f"{folder}/lock", caps=caps, timing=Timing(**times)
                ) as driver:
                    if not troubled.calm:
                        watch(driver, troubled.policy(), once=True, each=lambda _: None)
                    if troubled.calm and not driver.book.open and not driver.book.owed:
                        break
                    driver.timing.sleep(timeout)
            except (Killed, EvenhandError):
                continue
        else:
            must(False, "drivers see to what is left, and some of it stays open or owed")
        history = History(seed, troubled, "", caps, read(journal))
        for law in (written_before_asked, only_what_steps_name, every_step_has_its_end):
            law(history)
        asked = dict.fromkeys(event.job for event in troubled.log)
        for name, standing in adapter.look(list(asked)).items():
            held = standing.state == "suspended" or (standing.state == "held" and not standing.held)
            must(not held, f"{name} is {standing.state} in the end")
