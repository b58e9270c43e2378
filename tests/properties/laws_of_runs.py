"""Conservation laws of a simulation's result: nothing is lost or doubled, and nothing is held twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import evenhand as eh

__all__ = ["check_all", "check_counts", "check_rooms", "check_sums", "check_times", "check_work"]

_RUNNING, _COMPLETED = 0, 1


def check_counts(result: eh.simulate.Result) -> None:
    """What has come is done, lost or still there, and each run has one start."""
    runs, sums = result.raw["allocations"], result.raw["operations"]
    asked = np.bincount(
        np.asarray(result._parsed.rows._core.column("requests", "operation")),
        np.asarray(result._parsed.rows._core.column("requests", "count")),
        len(result.operation_names),
    )
    assert (sums["completed"] + sums["lost_count"] + sums["unfinished"] == asked).all()
    finished = runs["outcome"] != _RUNNING
    assert (runs["end"][finished] != NO_TIME).all()
    assert (runs["end"][~finished] == NO_TIME).all()
    completed = np.bincount(runs["operation"][runs["outcome"] == _COMPLETED], minlength=len(asked))
    assert completed.tolist() == sums["completed"].tolist()
    starts = result.raw["decisions"]["action"] == 0
    resumes = result.raw["decisions"]["action"] == 2
    assert starts.sum() + resumes.sum() == len(runs["start"])


def check_times(result: eh.simulate.Result) -> None:
    """Time never runs back."""
    runs, sums = result.raw["allocations"], result.raw["operations"]
    assert (np.diff(runs["start"]) >= 0).all()
    assert (np.diff(result.raw["decisions"]["time"]) >= 0).all()
    ended = runs["end"] != NO_TIME
    assert (runs["end"][ended] >= runs["start"][ended]).all()
    began = runs["began"] != NO_TIME
    assert (runs["began"][began] >= runs["start"][began]).all()
    assert (runs["start"] >= sums["submit"][runs["operation"]]).all()


def check_rooms(result: eh.simulate.Result) -> None:
    """No node holds more than it has; what is there when a node is made smaller stays."""
    runs = result.raw["allocations"]
    core = result._parsed.rows._core
    amounts = np.asarray(core.column("requests", "resources")).reshape(len(result.request_names), -1)
    most = np.asarray(result.snapshot._core.column("nodes", "capacity")).max(axis=0)
    # What ends as it begins holds nothing at any instant.
    held = (runs["began"] != NO_TIME) & (runs["node"] >= 0) & (runs["began"] != runs["end"])
    ended = held & (runs["end"] != NO_TIME)
    time = np.concatenate([runs["began"][held], runs["end"][ended]])
    node = np.concatenate([runs["node"][held], runs["node"][ended]])
    sign = np.concatenate([np.ones(held.sum(), np.int64), -np.ones(ended.sum(), np.int64)])
    of = np.concatenate([runs["request"][held], runs["request"][ended]])
    order = np.lexsort((sign, time, node))  # ends of an instant before its beginnings
    change = (amounts[of] * sign[:, None])[order]
    sums = np.cumsum(change, axis=0)
    # Sums of all before a node's first change belong to other nodes.
    first = np.flatnonzero(np.diff(node[order], prepend=-1))
    before = (sums - change)[first]
    used = sums - np.repeat(before, np.diff(np.append(first, len(sums))), axis=0)
    assert (used >= 0).all()
    assert (used <= most).all()


def check_work(result: eh.simulate.Result) -> None:
    """Work continues from what was kept of it; when it completes, its run time has been done."""
    runs = result.raw["allocations"]
    done = np.flatnonzero(runs["outcome"] == _COMPLETED)
    work, before = result._parsed.run_time[runs["request"][done]], np.zeros(len(done), np.int64)
    of = runs["resumed_from"][done]
    before[of >= 0] = runs["kept"][of[of >= 0]]
    assert (runs["request"][of[of >= 0]] == runs["request"][done][of >= 0]).all()
    assert (before + runs["end"][done] - runs["began"][done] == np.maximum(work, before)).all()
    again = runs["resumed_from"][runs["resumed_from"] >= 0]
    assert len(again) == len(set(again.tolist()))


def check_sums(result: eh.simulate.Result) -> None:
    """Sums of operations are those of their runs."""
    runs, sums = result.raw["allocations"], result.raw["operations"]
    size = len(result.operation_names)

    def of(values: NDArray[Any], which: NDArray[np.bool_]) -> list[int]:
        found = np.zeros(size, np.int64)
        np.add.at(found, runs["operation"][which], values[which])
        return found.tolist()

    ended = runs["end"] != NO_TIME
    worked = ended & (runs["began"] != NO_TIME)
    assert sums["run"].tolist() == of(runs["end"] - runs["began"], worked)
    assert sums["lost"].tolist() == of(runs["lost"], ended)


def check_all(result: eh.simulate.Result) -> None:
    """Check each law."""
    for law in (check_counts, check_times, check_rooms, check_work, check_sums):
        law(result)
