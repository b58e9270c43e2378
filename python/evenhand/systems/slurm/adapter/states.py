"""The words that Slurm has for how a job stands, in every version, and what they come to."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from evenhand.adapters.protocol import AdapterError, Standing, State
from evenhand.systems.slurm.adapter.text import words

__all__ = ["ENDED", "HOLDING", "base_of", "is_held", "standing"]

#: States in which a job holds its nodes; a stopped one its cpus too.
HOLDING = ("RUNNING", "STOPPED", "SUSPENDED", "COMPLETING")
#: How a job ends.
ENDED = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "PREEMPTED", "NODE_FAIL", "OUT_OF_MEMORY"}
ENDED |= {"BOOT_FAIL", "DEADLINE", "REVOKED"}

_HELD = {"RESV_DEL_HOLD", "REQUEUE_HOLD", "SPECIAL_EXIT", "REQUEUE_FED"}
_BY_NAME = {"JobHeldUser", "JobHeldAdmin"}  # a requeuehold says "job requeued in held state"
_BASES = ("PENDING", "RUNNING", "SUSPENDED")
# One word stands for all in JSON until 23.02, and in text: a flag hides the state that it belongs to.
_FLAGS = dict.fromkeys(("CONFIGURING", "SIGNALING", "RESIZING", "POWER_UP_NODE"), "RUNNING")
_FLAGS |= dict.fromkeys((*_HELD, "REQUEUED", "EXPEDITING", "LAUNCH_FAILED", "RECONFIG_FAIL"), "PENDING")
# Data is staged out when the job has ended and its nodes are free.
_FLAGS |= {"STAGE_OUT": "COMPLETED"}
_STANDINGS: dict[str, State] = {
    "PENDING": "pending",
    "RUNNING": "running",
    "STOPPED": "suspended",
    "SUSPENDED": "suspended",
    "COMPLETING": "leaving",
}


def base_of(state: Collection[str]) -> str:
    """Return what the words for a job's state come to."""
    if "COMPLETING" in state:
        return "COMPLETING"
    ended = sorted(ENDED.intersection(state))
    if ended:
        return ended[0]
    if "STOPPED" in state:
        return "STOPPED"
    plain = [base for base in _BASES if base in state] or [_FLAGS[w] for w in sorted(state) if w in _FLAGS]
    return plain[0] if plain else "UNKNOWN"


def is_held(state: Collection[str], priority: int) -> bool:
    """Whether a job that waits does so until a person releases it."""
    return priority == 0 or not _HELD.isdisjoint(state)


def standing(name: str, row: Mapping[str, str]) -> Standing:
    """Return how a job stands."""
    found = words(row["state"])
    base = base_of(found)
    try:
        priority, turn = int(row["prioritylong"] or 0), int(row["restartcnt"] or 0)
    except ValueError as error:
        raise AdapterError(f"the state of job {name} cannot be read: {error}") from error
    reason = row["reasonlist"].strip("()")
    state = _STANDINGS.get(base) or ("ended" if base in ENDED else "unknown")
    if state == "pending" and is_held(found, priority):
        state = "held"
    return Standing(
        name=name,
        state=state,
        turn=turn,
        started=row["nodelist"] not in ("", "(null)") and state not in ("pending", "held", "unknown"),
        owner=row["userid"],
        requeueable=row["requeue"] == "1",
        # Slurm takes the priority of those that it suspends; one that runs has none only if a person held it.
        held=(state == "running" and priority == 0) or (state == "held" and reason in _BY_NAME),
        detail=f"{row['state'].upper()} {row['reasonlist']}".strip(),
    )
