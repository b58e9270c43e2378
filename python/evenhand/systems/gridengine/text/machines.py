"""Hosts as ``qhost`` shows them: what they report, and how each queue instance stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from evenhand.building.problems import shorten
from evenhand.systems.gridengine.text.xml import Element, parse
from evenhand.systems.texts import Found

__all__ = ["GLOBAL", "Instance", "Machine", "instance_of", "read_machines"]

#: What Grid Engine calls the host that stands for all of them.
GLOBAL: Final = "global"

#: Letters of a queue instance that takes no job: alarm, calendar, disabled, error, ambiguous, orphaned,
#: suspended (by hand, calendar, subordination), host not reached.
_CLOSED: Final = frozenset("aACcdDEosSu")


@dataclass(frozen=True, slots=True)
class Instance:
    """A queue instance: its queue, how many slots it has, whether it takes jobs, and its state letters."""

    queue: str
    slots: int
    open: bool
    state: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A host: its queue instances, and the values that it reports."""

    name: str
    instances: tuple[Instance, ...]
    values: Mapping[str, str] = field(default_factory=dict)


def read_machines(text: str) -> dict[str, Machine]:
    """Read ``qhost -xml -F -q``."""
    command = "qhost -xml"
    root, found = parse(text, command, "qhost"), Found(command)
    machines = {}
    for element in root.all("host"):
        name = element.attributes.get("name", "")
        if name == GLOBAL:
            continue
        if not name or name in machines:
            message = f"the host {shorten(name)} appears twice" if name else "a host has no name"
            found.add(element.line, "name", "unique", name, message)
        values = {one.attributes.get("name", ""): one.text for one in element.all("resourcevalue")}
        instances = tuple(_instance(one, name, found) for one in element.all("queue"))
        machines[name] = Machine(name, instances, values)
    if not machines:
        found.add(None, None, "required", None, "there is no host")
    found.complain()
    return machines


def _instance(element: Element, host: str, found: Found) -> Instance:
    queue = element.attributes.get("name", "")
    values = {one.attributes.get("name", ""): one.text for one in element.all("queuevalue")}
    slots, state = values.get("slots", ""), values.get("state_string", "")
    return instance_of(queue, host, slots, state, element.line, found, ("slots", "state_string"))


def instance_of(
    queue: str,
    host: str,
    slots: str,
    state: str,
    line: int,
    found: Found,
    fields: tuple[str, str] = ("slots_total", "state"),
) -> Instance:
    """Return a queue instance of what a text says of it; what is no number or state is found."""
    if not (slots.isascii() and slots.isdecimal() and len(slots) < 10):
        said = shorten(slots) or "missing"
        message = f"{fields[0]} of {queue}@{host} is {said}; it must be a whole number"
        found.add(line, fields[0], "type", slots, message)
        slots = "0"
    if not state.isalpha() and state:
        message = f"{fields[1]} of {queue}@{host} is {shorten(state)}; it must be made of letters"
        found.add(line, fields[1], "type", state, message)
    return Instance(queue, int(slots), not _CLOSED.intersection(state), state)
