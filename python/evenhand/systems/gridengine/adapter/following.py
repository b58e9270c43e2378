"""What Grid Engine's commands say of a cluster, and again by what has changed of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenhand.adapters.commands import Result
from evenhand.adapters.protocol import AdapterError
from evenhand.building.jsontable import resting_collector
from evenhand.systems.gridengine.adapter.acting import said_of
from evenhand.systems.gridengine.adapter.details import Ask, all_details, some_details

if TYPE_CHECKING:
    from evenhand.systems.gridengine.text.build import Texts
    from evenhand.systems.gridengine.text.jobs import Details, Task

__all__ = ["MACHINES", "TASKS", "Follower"]

# Times without a zone are of the zone in which the command runs.
TASKS: Final = ("env", "TZ=UTC0", "qstat", "-xml", "-u", "*", "-r", "-g", "t")
MACHINES: Final = ("qhost", "-xml", "-F", "-q")

_HOSTS_LAST = 300.0  # seconds for which capacities of hosts are not asked for again
_LASTS = 60.0  # seconds after which all details are read anew: a listing does not show each of them
_FEW, _PART = 200, 4  # more changed jobs than so many, and than this part of all, are read as a whole


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was read last: all of it at ``at``, some of it since; rows are no newer than their details."""

    at: float
    rows: Mapping[str, Any]
    details: Mapping[str, Details]
    unread: Mapping[str, str]


class Follower:
    """Reads a cluster, and again what ``qstat -j`` says of the jobs whose tasks are listed otherwise."""

    def __init__(self, ask: Ask, result: Callable[..., Result]) -> None:
        self._ask, self._result = ask, result
        self._hosts: tuple[float, tuple[str, ...], str] | None = None
        self._seen: _Seen | None = None

    @resting_collector()
    def texts(self, about: Collection[str] | None, now: float) -> Texts:
        """Return what all commands say; with `about` details of these jobs and of changed ones only.

        Raises `InputError` for what cannot be read, `AdapterError` where a command fails.
        """
        from evenhand.systems.gridengine.text import config
        from evenhand.systems.gridengine.text.build import Texts
        from evenhand.systems.gridengine.text.jobs import read_jobs
        from evenhand.systems.gridengine.text.machines import read_machines

        complexes = config.read_complexes(self._ask("qconf", "-sc"))
        queues = config.read_queues(self._ask("qconf", "-sq", "*"))
        tasks, listed = read_jobs(self._ask(*TASKS), utc=True)
        details, unread = self._details(tasks, about, now)
        return Texts(
            complexes,
            queues,
            config.read_hosts(self._capacities(now)),
            config.read_parallel(self._each("-spl", "-sp")),
            read_machines(self._ask(*MACHINES)),
            tasks,
            dict(details),
            listed,
            dict(unread),
        )

    def _details(
        self, tasks: list[Task], about: Collection[str] | None, now: float
    ) -> tuple[Mapping[str, Details], Mapping[str, str]]:
        """Return details by number, and the jobs of which they cannot be read, with why not."""
        rows: dict[str, Any] = {}
        for task in tasks:
            rows.setdefault(task.job, []).append(_row(task))
        seen = None if about is None else self._again(rows, about or (), now)
        if seen is None:
            self._seen = None
            seen = _Seen(now, rows, *all_details(self._ask, list(rows)))
        self._seen = seen
        return seen.details, seen.unread

    def _again(self, rows: dict[str, Any], about: Collection[str], now: float) -> _Seen | None:
        """Return what is known now, of which only some was read; None if all has to be."""
        seen = self._seen
        if seen is None or not 0.0 <= now - seen.at < _LASTS:
            return None
        of = {name.partition(".")[0] for name in about}
        wanted = [number for number in rows if number in of or rows[number] != seen.rows.get(number)]
        if len(wanted) > max(_FEW, len(rows) // _PART):
            return None
        try:
            fresh, unread = some_details(self._ask, wanted)
        except AdapterError:
            return None
        kept = rows.keys() - set(wanted)
        return _Seen(
            seen.at,
            rows,
            {number: one for number, one in seen.details.items() if number in kept} | fresh,
            {number: why for number, why in seen.unread.items() if number in kept} | unread,
        )

    def _capacities(self, now: float) -> str:
        """Return ``qconf -se`` of all hosts; asked for anew when hosts come or go, and now and then."""
        names = tuple(self._ask("qconf", "-sel").split())
        known = self._hosts
        if known is None or known[1] != names or not 0 <= now - known[0] < _HOSTS_LAST:
            text = "\n".join(self._ask("qconf", "-se", name) for name in ("global", *names))
            self._hosts = known = (now, names, text)
        return known[2]

    def _each(self, listing: str, showing: str) -> str:
        """Return the configuration of each object that a listing names; nothing where there is none."""
        result = self._result("qconf", listing)
        if result.status != 0:
            if result.status is None or "defined" not in result.err + result.out:
                raise AdapterError(f"qconf {listing}: {said_of(result)}")
            return ""
        return "\n".join(self._ask("qconf", showing, name) for name in result.out.split())


def _row(task: Task) -> tuple[Any, ...]:
    """Return what a listing says of a task, but for its priority, which changes with time."""
    return (task.task, task.state, task.since, task.parts, task.slots, task.requests, task.environment)
