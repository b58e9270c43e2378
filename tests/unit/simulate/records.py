"""Drawn and written records of runs, as metrics read them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from evenhand.simulate.record import NO_TIME, Record

S = 1_000_000
COLUMNS = {
    "allocations": ("request", "operation", "node", "start", "began", "end", "outcome", "kept", "lost",
                    "decision", "resumed_from"),
    "operations": ("submit", "first_start", "end", "lost_count"),
    "decisions": ("time", "action", "stage", "reason", "operation", "beneficiary_operation",
                  "beneficiary_request", "within_fair_share"),
    "series": ("time", "pool", "usage", "fair_share", "demand", "guarantee"),
    "spells": ("pool", "operation", "from", "until", "level"),
}  # fmt: skip
STAGES = ("regular", "preemptive", "aggressive")
REASONS = ("starving", "limit")


def table(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns of rows; what a row does not say is 0, or no row."""
    absent = {"decision": -1, "resumed_from": -1}
    return {
        column: np.array(
            [row.get(column, absent.get(column, 0)) for row in rows],
            np.float64 if name == "series" and column not in ("time", "pool") else np.int64,
        )
        for column in COLUMNS[name]
    }


def record(
    *,
    end: int = 100 * S,
    begin: int = 0,
    requests: list[dict[str, Any]] | None = None,
    capacity: list[tuple[int, float]] | None = None,
    cut_off: list[bool] | None = None,
    parent: list[int] | None = None,
    shares: bool = True,
    **tables: list[dict[str, Any]],
) -> Record:
    """A record of one resource; requests of operation 0 want one allocation of one unit for 10 s."""
    requests = [{}] if requests is None else requests
    operations = tables.get("operations", [])
    steps = capacity or [(begin, 4.0)]
    count = max([len(operations), *(q.get("operation", 0) + 1 for q in requests)])
    tables["operations"] = operations + [{"submit": NO_TIME, "first_start": NO_TIME, "end": NO_TIME}] * (
        count - len(operations)
    )
    return Record(
        begin=begin,
        end=end,
        resources=("cpu",),
        capacity_time=np.array([t for t, _ in steps]),
        capacity=np.array([[amount] for _, amount in steps]),
        amounts=np.array([[q.get("amount", 1.0)] for q in requests]).reshape(-1, 1),
        count=np.array([q.get("count", 1) for q in requests], np.int64),
        gang=np.array([q.get("gang", False) for q in requests], np.bool_),
        request_operation=np.array([q.get("operation", 0) for q in requests], np.int64),
        work=np.array([q.get("work", 10 * S) for q in requests], np.int64),
        pool=np.zeros(count, np.int64),
        cut_off=np.array(cut_off or [False] * count),
        parent=np.array([-1, 0, 0] if parent is None else parent),
        tables={name: table(name, tables.get(name, [])) for name in COLUMNS},
        stages=STAGES,
        reasons=REASONS,
        shares=shares,
    )


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Records with many ties: instants are whole tens of seconds."""
    instants = st.integers(0, 12).map(lambda t: t * 10 * S)
    begin, end = 0, draw(st.integers(1, 12)) * 10 * S
    operations = draw(st.integers(1, 4))
    requests = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "operation": st.integers(0, operations - 1),
                    "amount": st.sampled_from([0.5, 1.0, 2.0]),
                    "count": st.integers(1, 3),
                    "gang": st.booleans(),
                    "work": st.sampled_from([0, 5 * S, 20 * S, 30 * S, NO_TIME]),
                }
            ),
            min_size=1,
            max_size=4,
        )
    )

    def within() -> int:
        return min(draw(instants), end)

    def span() -> tuple[int, int]:
        a, b = sorted((within(), within()))
        return a, NO_TIME if draw(st.booleans()) and draw(st.booleans()) else b

    def operation_row() -> dict[str, int]:
        submit, done = span()
        if draw(st.integers(0, 5)) == 0:
            submit = draw(st.sampled_from([NO_TIME, end + S]))
            return {"submit": submit, "first_start": NO_TIME, "end": NO_TIME}
        last = end if done == NO_TIME else done
        first = draw(st.sampled_from([submit, last])) if done != NO_TIME or draw(st.booleans()) else NO_TIME
        return {
            "submit": submit,
            "first_start": first,
            "end": done,
            "lost_count": draw(st.integers(0, 3)) // 3,
        }

    decided = draw(st.integers(0, 6))
    runs = draw(st.integers(0, 8))

    def run() -> dict[str, int]:
        start, stop = span()
        request = draw(st.integers(-1, len(requests) - 1))
        return {
            "request": request,
            "operation": requests[request]["operation"] if request >= 0 else 0,
            "start": start,
            "began": draw(st.sampled_from([start, start, stop, end if stop == NO_TIME else stop])),
            "end": stop,
            "outcome": 0 if stop == NO_TIME else draw(st.integers(1, 6)),
            "kept": draw(st.sampled_from([0, 0, 5, 9])) * S,
            "decision": draw(st.integers(-1, decided - 1)),
            "resumed_from": draw(st.integers(-1, runs - 1)),
            "lost": draw(st.integers(0, 9)) * S,
        }

    def decision() -> dict[str, int]:
        return {
            "time": within(),
            "action": draw(st.integers(0, 2)),
            "stage": draw(st.integers(0, 2)),
            "reason": draw(st.integers(0, 1)),
            "operation": draw(st.integers(-1, operations - 1)),
            "beneficiary_operation": draw(st.integers(-1, operations - 1)),
            "beneficiary_request": draw(st.integers(-1, len(requests) - 1)),
            "within_fair_share": draw(st.integers(-1, 1)),
        }

    def spells() -> list[dict[str, int]]:
        """Spells of an element do not overlap; some touch."""
        found: list[dict[str, int]] = []
        for element in range(4):
            edges = sorted({within() for _ in range(draw(st.integers(0, 5)))})
            for a, b in itertools.pairwise(edges):
                if draw(st.booleans()):
                    until = NO_TIME if b == edges[-1] and draw(st.booleans()) else b
                    kinds = (
                        {"pool": element, "operation": -1}
                        if element < 2
                        else {"pool": -1, "operation": element - 2}
                    )
                    found.append({**kinds, "from": a, "until": until, "level": draw(st.integers(1, 2))})
        return draw(st.permutations(found))

    parts = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    times = sorted(set(draw(st.lists(instants, max_size=5))))
    series = [
        {"time": t, "pool": p, **{name: draw(parts) for name in COLUMNS["series"][2:]}}
        for t in times
        for p in range(3)
    ]
    steps = sorted({begin, *draw(st.lists(instants, max_size=3))})
    return record(
        begin=begin,
        end=end,
        requests=requests,
        capacity=[(t, draw(st.sampled_from([0.0, 1.0, 4.0]))) for t in steps],
        cut_off=[draw(st.booleans()) for _ in range(operations)],
        operations=[operation_row() for _ in range(operations)],
        allocations=sorted((run() for _ in range(runs)), key=lambda r: r["start"]),
        decisions=sorted((decision() for _ in range(decided)), key=lambda d: d["time"]),
        series=series,
        spells=spells(),
        shares=draw(st.integers(0, 5)) > 0,
    )
