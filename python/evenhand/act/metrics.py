"""Figures of acting as a text file in Prometheus' format, for node_exporter's textfile collector."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from evenhand.files import replace_file

if TYPE_CHECKING:
    from evenhand.act.book import Book
    from evenhand.act.watching import Cycle

__all__ = ["metrics_text", "write_metrics"]


def metrics_text(book: Book, cycle: Cycle, now: float) -> str:
    """Return the figures of a journal and of the last round."""
    lines: list[str] = []

    def put(name: str, kind: str, doc: str, values: dict[str, float]) -> None:
        lines.append(f"# HELP evenhand_{name} {doc}")
        lines.append(f"# TYPE evenhand_{name} {kind}")
        lines.extend(f"evenhand_{name}{label} {value!r}" for label, value in values.items())

    def labels(key: str, values: dict[str, int]) -> dict[str, float]:
        return {f'{{{key}="{word}"}}': count for word, count in sorted(values.items())}

    put("evictions_total", "counter", "Jobs that were asked to leave.", {"": book.evicted})
    put("steps_total", "counter", "Steps that ended, by outcome.", labels("outcome", book.ends))
    put("refusals_total", "counter", "Steps that were not begun, by reason.", labels("code", book.refusals))
    put("open_steps", "gauge", "Steps without an end.", {"": len(book.open)})
    put("owed_jobs", "gauge", "Jobs to be released, resumed or looked after.", {"": len(book.owed)})
    waiting = {reason: len(jobs) for reason, jobs in cycle.waiting.items()}
    put("waiting_jobs", "gauge", "Jobs that wait and were not served, by reason.", labels("reason", waiting))
    put("rounds_total", "counter", "Rounds of this process.", {"": cycle.number + 1})
    put("round_decisions", "gauge", "Decisions of the last plan.", {"": cycle.decisions})
    put("round_failed", "gauge", "Whether the cluster did not answer.", {"": int(bool(cycle.error))})
    put(
        "round_seconds",
        "gauge",
        "How long the parts of the last round took.",
        {f'{{part="{part}"}}': seconds for part, seconds in cycle.seconds.items()},
    )
    put("round_timestamp_seconds", "gauge", "When the last round ended.", {"": now})
    return "\n".join(lines) + "\n"


def write_metrics(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file at once, so that no half of it is ever read."""
    replace_file(path, text, 0o644)
