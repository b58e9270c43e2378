"""Slot-wise suspend on subordinate: which tasks stop while queues above theirs have too many running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["suspended"]


def suspended(
    queues: Mapping[str, Mapping[str, Any]],
    thresholds: Mapping[str, int],
    tasks: Sequence[Mapping[str, Any]],
) -> list[Any]:
    """Return the tasks of one host that are suspended, in order.

    Parameters
    ----------
    queues : mapping
        Name of a queue to ``parent`` (the one that it is subordinate to, or None), ``seq`` (its place among
        the subordinate ones) and ``action`` ("sr": shortest run time first, "lr": longest).
    thresholds : mapping
        Queue to the most tasks that may run in it and below.
    tasks : sequence of mapping
        ``id``, ``queue``, ``start``: all run, the last has just started.

    Returns
    -------
    list

    Notes
    -----
    From the queue of the last task upwards (from its parent, if none is subordinate to it): while more than
    the threshold run there and below, one is suspended on the deepest level that has any, of the queue with
    the highest number there. A queue's own tasks are never chosen for itself. Source: Grid Engine,
    queue_conf(5).
    """
    if not tasks:
        return []
    running = list(tasks)
    parents = {queue["parent"] for queue in queues.values()}
    node: str | None = tasks[-1]["queue"]
    if node not in parents:
        node = None if node is None else queues[node]["parent"]
    found = []
    while node is not None:
        while node in thresholds and (victim := _next(queues, node, thresholds[node], running)):
            running.remove(victim)
            found.append(victim["id"])
        node = queues[node]["parent"]
    return found


def _next(
    queues: Mapping[str, Mapping[str, Any]], node: str, threshold: int, running: list[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    depths = {task["id"]: _depth(queues, task["queue"], node) for task in running}
    below = [task for task in running if (depths[task["id"]] or 0) > 0]
    if sum(depth is not None for depth in depths.values()) <= threshold or not below:
        return None

    def wanted(task: Mapping[str, Any]) -> tuple[Any, ...]:
        queue = queues[task["queue"]]
        age = -task["start"] if queue["action"] == "lr" else task["start"]
        return depths[task["id"]], queue["seq"], age

    return max(below, key=wanted)


def _depth(queues: Mapping[str, Mapping[str, Any]], queue: str | None, above: str) -> int | None:
    """Return how far below a queue another is; None: it is not."""
    depth = 0
    while queue is not None and queue != above:
        queue, depth = queues[queue]["parent"], depth + 1
    return None if queue is None else depth
