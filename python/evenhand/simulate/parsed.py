"""What only requests of a workload have, and a workload as the engine takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.fields import Field, TableSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["OWN", "Parsed"]

#: What only requests of a workload have.
OWN = TableSpec(
    "requests",
    "A request of a workload.",
    (
        Field("run_time", "duration", "Work of each of its count; null: it runs for ever.", unit="s"),
        Field("checkpoint_every", "duration", "How often its work is saved; null: never.", unit="s"),
        Field("cut_off", "flag", "Whether the trace ended before it did.", False),
        Field("replica", "flag", "Whether it comes back when it is lost, at once.", False),
        Field("whole", "flag", "Whether all of its count are interrupted with one of them.", False),
    ),
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A workload's columns for a snapshot with its resources: what the engine takes.

    Attributes
    ----------
    rows : Snapshot
        All operations and requests, in canonical order.
    run_time, checkpoint_every : array of int64
        Microseconds by canonical request; `NO_TIME`: null.
    cut_off, replica, whole : array of bool
    """

    rows: Snapshot
    run_time: NDArray[np.int64]
    checkpoint_every: NDArray[np.int64]
    cut_off: NDArray[np.bool_]
    replica: NDArray[np.bool_]
    whole: NDArray[np.bool_]
