"""What is asked of a cluster, drawn by small numbers: policies, triggers, given values, commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.config.triggers import CYCLES, PASSES, Commands, Cycle, Heartbeat, Round, SchedulingRun
from evenhand.testing.living.rows import Rows
from evenhand.testing.living.standing import system_of
from evenhand.testing.strategies._picking import Pick

if TYPE_CHECKING:
    from evenhand.systems.base import Policy

__all__ = ["Asked", "given_for", "heartbeats", "trigger_for", "word"]

Asked = Any
_STARVATIONS = ("non_starving", "starving", "aggressively_starving")
_GROUPS = ("non_preemptible", "aggressively_preemptible", "preemptible")


def _name(rows: Rows, table: str, pick: Pick) -> Any:
    found = rows.all(table)
    return pick(found)["name"] if found else "nowhere"


def heartbeats(rows: Rows, pick: Pick) -> Heartbeat | list[Heartbeat]:
    """Return one heartbeat or several; the same node may report twice."""
    beats = [Heartbeat(_name(rows, "nodes", pick)) for _ in range(pick((1, 1, 2, 3)))]
    return beats if len(beats) > 1 or pick(range(4)) == 3 else beats[0]


def _commands(rows: Rows, pick: Pick) -> Commands:
    def one() -> dict[str, Any]:
        waiting = [row["operation"] for row in rows.all("requests")]
        jobs = [row["name"] for row in rows.all("operations")] or ["1"]
        providers = [pick((*jobs, "sleep", "99")) for _ in range(pick((0, 1, 2, 3)))]
        return {
            "consumer": pick((*waiting, *waiting, pick(jobs), "99")),
            "providers": list(dict.fromkeys(providers)),
            "action": pick((None, "P", "N", "S", "T", "R", "C")),
            "force": pick((True, False, True)),
            "user": pick((None, "ann", "eve")),
            "manager": pick((True, True, False)),
        }

    return Commands(tuple(one() for _ in range(pick((1, 1, 2)))))


def _ytsaurus(rows: Rows, pick: Pick) -> Any:
    return pick((None, Round(), heartbeats(rows, pick), heartbeats(rows, pick)))


def _slurm(_: Rows, pick: Pick) -> Any:
    return pick((None, None, None, *(SchedulingRun((one,)) for one in PASSES), SchedulingRun()))


def _yunikorn(_: Rows, pick: Pick) -> Any:
    return pick((None, None, *map(Cycle, CYCLES)))


def _gridengine(rows: Rows, pick: Pick) -> Any:
    return pick((None, None, _commands(rows, pick), SchedulingRun()))


_TRIGGERS: Mapping[str, Callable[[Rows, Pick], Any]] = {
    "ytsaurus": _ytsaurus,
    "slurm": _slurm,
    "yunikorn": _yunikorn,
    "gridengine": _gridengine,
}


def trigger_for(policy: Policy, rows: Rows, pick: Pick) -> Any:
    """Return what a plan is made on; None: the policy's own trigger. Rarely it is one of another system."""
    if pick(range(64)) == 63:
        return pick((Cycle(), Round(), SchedulingRun(), Commands()))
    make = _TRIGGERS.get(system_of(policy))
    return None if make is None else make(rows, pick)


def word(on: Any) -> str:
    """Return by what a trigger is counted."""
    if isinstance(on, Sequence):
        return f"{len(on)} heartbeats"
    match on:
        case None:
            return "its own"
        case Cycle(name):
            return f"cycle {name}"
        case SchedulingRun(passes):
            return f"run {' and '.join(passes)}"
    return type(on).__name__.lower()


def _shares(rows: Rows, pick: Pick) -> dict[str, Any]:
    elements = [row["name"] for table in ("operations", "pools") for row in rows.all(table)]
    some = [name for name in elements if pick((False, True))]
    return {
        "fair_share": {name: {pick(list(rows.resources)): pick((0.0, 0.25, 1.0))} for name in some},
        "starvation": {name: pick(_STARVATIONS) for name in some},
        "groups": {row["name"]: pick(_GROUPS) for row in rows.all("allocations") if pick((False, True))},
    }


def given_for(policy: Policy, rows: Rows, pick: Pick) -> dict[str, Any] | None:
    """Return values that stand in the place of computed ones; None: most often none."""
    if system_of(policy) == "yunikorn" and "own" in policy.settings.cost:
        return {"cost": [pick((0, 1, 1, 2, 5)) for _ in rows.all("allocations")]}
    if pick(range(6)) != 5:
        return None
    if system_of(policy) == "ytsaurus":
        values = _shares(rows, pick)
        wanted = pick((("starvation",), ("starvation", "groups"), ("fair_share",), tuple(values)))
        return {name: values[name] for name in wanted}
    if system_of(policy) == "yunikorn" and rows.tables["requests"] and rows.tables["nodes"]:
        places = [{"requests": [_name(rows, "requests", pick)], "nodes": [_name(rows, "nodes", pick)]}]
        return {"nodes": places}
    return pick((None, {}, {"starvation": {}}))
