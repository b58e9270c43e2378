"""Which queues are subordinate to a queue, as its configuration lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["Subordinate", "Subordinates", "read_subordinates"]

_SLOTS = re.compile(r"slots\s*=\s*(\d+)\s*\((.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Subordinate:
    """A queue that is subordinate to another: its place among those, and which of its tasks stops first."""

    queue: str
    seq_no: int = 0
    action: Literal["sr", "lr"] = "sr"


@dataclass(frozen=True, slots=True)
class Subordinates:
    """The subordinate queues of a queue.

    Attributes
    ----------
    threshold : int or None
        Most tasks that run in the queue and below (slot-wise); None: queue-wise.
    queues : tuple of Subordinate
    """

    threshold: int | None
    queues: tuple[Subordinate, ...]


def read_subordinates(text: str) -> Subordinates | None:
    """Read a ``subordinate_list``.

    Parameters
    ----------
    text : str
        ``slots=4(low.q:1:sr,other.q)``, or queue-wise ``low.q=2,other.q``, or ``NONE``.

    Returns
    -------
    Subordinates or None

    Raises
    ------
    ValueError
        If it is none, with what it must be.

    Notes
    -----
    Source: Grid Engine 8.1.9, queue_conf(5).
    """
    if text.upper() == "NONE":
        return None
    match = _SLOTS.fullmatch(text.strip())
    if match is None:
        if "(" in text or ":" in text or text.startswith("slots="):
            raise ValueError("must be slots=N(queue:seq_no:action,...), a list of queues or NONE")
        named = [part.partition("=")[0] for part in re.split(r"[,\s]+", text) if part]
        return Subordinates(None, tuple(Subordinate(name) for name in named))
    listed = [part for part in re.split(r"[,\s]+", match[2]) if part]
    return Subordinates(int(match[1]), tuple(_subordinate(part) for part in listed))


def _subordinate(text: str) -> Subordinate:
    name, *rest = text.split(":")
    seq_no, action = 0, "sr"
    for part in rest:
        if part.isdecimal():
            seq_no = int(part)
        elif part in ("sr", "lr"):
            action = part
        else:
            raise ValueError(f"must have queue:seq_no:action, the action sr or lr; {text[:40]} is none")
    return Subordinate(name, seq_no, "lr" if action == "lr" else "sr")
