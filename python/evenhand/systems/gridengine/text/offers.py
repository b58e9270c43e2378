"""What hosts offer: amounts of consumables, slots of queues, and which requests they satisfy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

from evenhand.errors import InputError, shorten
from evenhand.systems.gridengine.text.config import Complex, Host, Queue
from evenhand.systems.gridengine.text.machines import GLOBAL, Instance, Machine
from evenhand.systems.gridengine.text.values import AMOUNTS, amount, memory, seconds
from evenhand.systems.texts import Found

__all__ = ["SLOTS", "Offers", "duration_of", "slots_of", "to_quantum"]

SLOTS: Final = "slots"

#: The capacity of a consumable that is written INFINITY: more than any jobs ask for together.
_ENDLESS: Final = 10**15
#: Smallest amount of a DOUBLE.
_FINE: Final = 0.001
_COMPARE: Final[Mapping[str, Any]] = {
    "<=": lambda asked, offered: asked <= offered,
    "<": lambda asked, offered: asked < offered,
    ">=": lambda asked, offered: asked >= offered,
    ">": lambda asked, offered: asked > offered,
    "==": lambda asked, offered: asked == offered,
    "!=": lambda asked, offered: asked != offered,
}


def slots_of(queue: str) -> str:
    """Return the resource that slots of a queue are, where hosts have several queues."""
    return f"{SLOTS}@{queue}"


def duration_of(requests: Mapping[str, str]) -> float | None:
    """Return the run time that a job asks for: the shorter of ``h_rt`` and ``s_rt``; None: neither."""
    asked = [requested(name, seconds, requests[name]) for name in ("h_rt", "s_rt") if name in requests]
    return min((one for one in asked if one is not None), default=None)


def requested(name: str, read: Callable[[str], Any], said: str) -> Any:
    """Return what a job asks for, as a number."""
    try:
        return read(said)
    except ValueError as error:
        found = Found("qstat -xml")
        found.add(None, name, "value", said, f"a job asks for {name}={shorten(said)}, which {error}")
        raise InputError(found.problems) from None


def to_quantum(kind: str, value: float, *, up: bool) -> float | int:
    """Return an amount as a multiple of its resource's quantum: 0.001 of a DOUBLE, else 1."""
    scaled = round(value / _FINE, 6) if kind == "DOUBLE" else value
    found = int(-(-scaled // 1)) if up else int(scaled // 1)
    return round(found * _FINE, 3) if kind == "DOUBLE" else found


class Offers:
    """What hosts offer, by what was read of them."""

    def __init__(
        self,
        complexes: Mapping[str, Complex],
        queues: Mapping[str, Queue],
        hosts: Mapping[str, Host],
        machines: Mapping[str, Machine],
        listed: Mapping[str, tuple[Instance, ...]] | None = None,
    ) -> None:
        self.complexes, self.queues, self.hosts = complexes, queues, hosts
        self.machines = dict(machines) or {
            name: Machine(
                name,
                tuple(Instance(q.name, q.slots_at.get(name, q.slots), True, "") for q in queues.values()),
            )
            for name in hosts
            if name != GLOBAL
        }
        for name, instances in (listed or {}).items():
            before = self.machines.get(name, Machine(name, ()))
            of_list = {one.queue for one in instances}
            others = tuple(one for one in before.instances if machines and one.queue not in of_list)
            self.machines[name] = Machine(name, (*instances, *others), before.values)
        self.shortcuts = {one.shortcut: one for one in complexes.values()}
        self.consumables = {name: one for name, one in complexes.items() if one.consumable != "NO"}
        self.several = any(len(machine.instances) > 1 for machine in self.machines.values())
        own: dict[str, dict[str, float | int]] = {}
        found = Found("qconf -se")
        for name in (GLOBAL, *self.machines):
            at = hosts.get(name)
            own[name] = {} if at is None else self._consumables_of(at.complex_values, found, at.line, name)
        found.complain()
        self._own = own
        here = {resource for name in self.machines for resource in own[name]}
        self.shared = {r: value for r, value in own[GLOBAL].items() if r not in here}
        found = Found("qconf -sq")
        at_queues = {
            r
            for queue in queues.values()
            for r in self._consumables_of(queue.complex_values, found, queue.values_line, queue.name)
        }
        found.complain()
        self.unread = sorted((set(own[GLOBAL]) & here) | (at_queues - {SLOTS}))

    def _consumables_of(
        self, values: Mapping[str, str], wrong: Found, line: int, whose: str
    ) -> dict[str, float | int]:
        found: dict[str, float | int] = {}
        for name, said in values.items():
            one = self.complex(name)
            if one is None or one.consumable == "NO" or one.kind not in AMOUNTS:
                continue
            try:
                value = amount(one.kind, said)
            except ValueError as error:
                message = f"{name} of {whose} is {shorten(said)}; it {error}"
                wrong.add(line, "complex_values", "value", said, message)
                continue
            found[one.name] = _ENDLESS if value is None else to_quantum(one.kind, value, up=False)
        return found

    def complex(self, name: str) -> Complex | None:
        """Return the complex of a name or shortcut."""
        return self.complexes.get(name) or self.shortcuts.get(name)

    def capacity(self, host: str) -> dict[str, float | int]:
        """Return what a host has, slots of each queue included."""
        machine, own = self.machines[host], dict(self._own[host])
        slots = sum(instance.slots for instance in machine.instances)
        own[SLOTS] = min(slots, int(own.get(SLOTS, slots)))
        for instance in machine.instances if self.several else ():
            own[slots_of(instance.queue)] = instance.slots
        return {r: value for r, value in own.items() if value and r not in self.shared}

    def taken(
        self, requests: Mapping[str, str], queue: str, slots: int, *, master: bool
    ) -> dict[str, float | int]:
        """Return what slots of a job in a queue take on a host."""
        found: dict[str, float | int] = {SLOTS: slots}
        if self.several:
            found[slots_of(queue)] = slots
        for one in self.consumables.values():
            if one.name == SLOTS:
                continue
            said = next((requests[n] for n in (one.name, one.shortcut) if n in requests), None)
            if said is None and not self._limited(one.name):
                continue
            value = requested(one.name, partial(amount, one.kind), one.default if said is None else said)
            each = _ENDLESS if value is None else value
            times = {"YES": slots, "JOB": int(master), "HOST": 1}[one.consumable]
            if each * times:
                found[one.name] = to_quantum(one.kind, each * times, up=True)
        return found

    def _limited(self, resource: str) -> bool:
        return any(resource in own for own in self._own.values())

    # Which hosts will do

    def satisfies(self, host: str, name: str, said: str) -> bool | None:
        """Whether a host satisfies a request for what is no consumable; None: it cannot be judged."""
        one = self.complex(name)
        if one is None:
            return None
        offered = self._offered(host, one)
        if offered is None:
            return False
        try:
            return _fits(one, said, offered)
        except ValueError:
            return None

    def _offered(self, host: str, one: Complex) -> str | None:
        if one.name == "hostname":
            return host
        for place in (host, GLOBAL):
            values = self.hosts[place].complex_values if place in self.hosts else {}
            for name in (one.name, one.shortcut):
                if name in values:
                    return values[name]
        return self.machines[host].values.get(one.name)

    def swap(self, host: str) -> int | None:
        """Return the free swap space of a host in bytes; None: it does not report it."""
        said = self.machines[host].values.get("swap_free")
        if said is None:
            return None
        try:
            return memory(said)
        except ValueError as error:
            found = Found("qhost -xml -F")
            found.add(None, "swap_free", "value", said, f"swap_free of {host} is {shorten(said)}; it {error}")
            raise InputError(found.problems) from None

    def instances(self, patterns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield queue and host of each open instance that one of some patterns names; no pattern: all."""
        for host, machine in self.machines.items():
            for instance in machine.instances:
                if instance.open and (
                    not patterns or any(_named(instance.queue, host, pattern) for pattern in patterns)
                ):
                    yield instance.queue, host


def _fits(one: Complex, said: str, offered: str) -> bool:
    if one.kind in AMOUNTS:
        asked, there = amount(one.kind, said), amount(one.kind, offered)
        endless = float("inf")
        compare = _COMPARE.get(one.relop, _COMPARE["<="])
        return bool(compare(endless if asked is None else asked, endless if there is None else there))
    if one.kind == "BOOL":
        return (said.lower() in ("1", "true", "yes")) == (offered.lower() in ("1", "1.000000", "true", "yes"))
    fold = one.kind in ("CSTRING", "HOST")
    asked_text, there_text = (said.lower(), offered.lower()) if fold else (said, offered)
    equal = any(fnmatchcase(there_text, pattern) for pattern in re.split(r"\|", asked_text))
    return not equal if one.relop == "!=" else equal


def _named(queue: str, host: str, pattern: str) -> bool:
    name, at, where = pattern.partition("@")
    return fnmatchcase(queue, name) and (not at or fnmatchcase(host, where))
