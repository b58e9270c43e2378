"""Triggers as words, as the command line and saved plans have them: ``heartbeat:n1``, ``run:main``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.building.problems import nearest
from evenhand.config import triggers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.model import Snapshot
    from evenhand.systems.record import System

__all__ = ["trigger_of", "words_of"]

#: How each trigger is written.
_WRITTEN = {
    triggers.Round: ("round",),
    triggers.Heartbeat: ("heartbeat:NODE",),
    triggers.SchedulingRun: ("run", *(f"run:{name}" for name in triggers.PASSES)),
    triggers.Cycle: tuple(f"cycle:{name}" for name in triggers.CYCLES),
    triggers.Commands: ("commands",),
}


def trigger_of(text: str, snapshot: Snapshot, record: System) -> Any:
    """Return the trigger that a text stands for."""
    kind, _, name = text.partition(":")
    given = "heartbeat:NODE" if kind == "heartbeat" and name else text
    its = [form for trigger in record.triggers for form in _forms(trigger, record)]
    if given not in its:
        known = any(given in forms for forms in _WRITTEN.values())
        hint = "" if known else nearest(text, its)
        listed = " or ".join(filter(None, (", ".join(its[:-1]), its[-1])))
        raise ValueError(f"{record.title} decides on {listed}, not on {text!r}{hint}")
    if kind == "heartbeat":
        nodes = {str(node): node for node in snapshot.names("nodes")}
        if name not in nodes:
            raise ValueError(f"the snapshot has no node {name!r}{nearest(name, nodes)}")
        return triggers.Heartbeat(nodes[name])
    if kind == "cycle":
        return triggers.Cycle(name)
    if kind == "commands":
        return triggers.Commands(tuple(snapshot.commands))
    if kind == "round":
        return triggers.Round()
    return triggers.SchedulingRun((name,)) if name else triggers.SchedulingRun()


def _forms(trigger: type[Any], record: System) -> Sequence[str]:
    """Return how a trigger is written; only runs that have passes can be one of them."""
    forms = _WRITTEN[trigger]
    return forms if trigger is not triggers.SchedulingRun or record.passes else forms[:1]


def words_of(on: Any, snapshot: Snapshot) -> str | list[str]:
    """Return the text that stands for a trigger; of several heartbeats a list."""
    if isinstance(on, tuple):
        return [f"heartbeat:{one.node}" for one in on]
    match on:
        case triggers.Round():
            return "round"
        case triggers.Heartbeat(node):
            return f"heartbeat:{node}"
        case triggers.Cycle(name):
            return f"cycle:{name}"
        case triggers.SchedulingRun(passes):
            return "run" if passes == triggers.PASSES else f"run:{passes[0]}"
        case triggers.Commands() if on == triggers.Commands(tuple(snapshot.commands)):
            return "commands"
    raise ValueError("it was made on commands that its snapshot does not have")
