"""What it costs to keep a cluster up to date by events, against building it anew.

``python -m tests.bench.cluster`` prints a line a step, in processor time, for the demo's cluster.
"""

from __future__ import annotations

import time
from typing import Any

import evenhand as eh
from tests.bench.fair_share import host, measure
from tests.bench.ytsaurus.preemption import row

EVENTS = 2_000


def ends_and_starts(snapshot: eh.Snapshot) -> list[dict[str, Any]]:
    """Allocations that end, each followed by another one of its operation in its place."""
    events: list[dict[str, Any]] = []
    for number, old in enumerate(snapshot.to_dict()["allocations"][: EVENTS // 2]):
        again = {name: old[name] for name in ("operation", "node", "resources")}
        events.append({"event": "end", "allocation": old["name"]})
        events.append({"event": "start", "row": {"name": f"again-{number}", **again}})
    return events


def main() -> None:
    """Print the table."""
    frames = eh.synthetic.columns(seed=7)
    snapshot = eh.Snapshot.from_frames(**frames)
    events = ends_and_starts(snapshot)
    cluster = eh.Cluster(snapshot)
    start = cluster.mark()

    def batch(count: int, then: Any = None) -> None:
        cluster.undo(start)
        cluster.apply(events[:count])
        if then is not None:
            then()

    print(host())
    steps = {
        "the snapshot from frames": lambda: eh.Snapshot.from_frames(**frames),
        f"{EVENTS:,} events in one call, and back": lambda: batch(EVENTS),
        "2 events in one call, and back": lambda: batch(2),
        "2 events, then the snapshot": lambda: batch(2, cluster.snapshot),
        "the snapshot again": cluster.snapshot,
    }
    for name, step in steps.items():
        row(name, measure(step, time.process_time_ns, 2.0).median, "ms")


if __name__ == "__main__":
    main()
