"""Strategies for what happens to a cluster: events that it takes, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from evenhand.testing.strategies._arguments import check_range
from evenhand.testing.strategies._happening import Code, Happening
from evenhand.testing.strategies._pasted import built

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.cluster.events import Event
    from evenhand.model import Snapshot

__all__ = ["cluster_histories", "codes", "event_histories"]

#: What decides on one event.
codes: SearchStrategy[Code] = st.binary(min_size=6, max_size=6).map(tuple)


def event_histories(
    snapshot: Snapshot | Mapping[str, Any], *, min_size: int = 0, max_size: int = 20, overfull: bool = False
) -> SearchStrategy[list[Event]]:
    """Draw events that may happen to a cluster one after the other.

    Parameters
    ----------
    snapshot : Snapshot or mapping
        What is at the beginning; a mapping is in the file format.
    min_size, max_size : int
        How many events.
    overfull : bool
        Whether nodes may come to hold more than they have.

    Returns
    -------
    SearchStrategy[list of Event]
        For `evenhand.Cluster.apply`, which takes them all: time passes; allocations start for requests,
        end, are asked to leave, are suspended, resume and shrink; jobs start and are saved; requests come,
        and change their count; nodes change. Operations that state their usage or demand get no rows.

    Notes
    -----
    O(rows) for each event. It shrinks to fewer events, and to time that passes.
    """

    def build() -> SearchStrategy[list[Event]]:
        from evenhand.model import Snapshot

        check_range("size", min_size, max_size)
        data = snapshot.to_dict() if isinstance(snapshot, Snapshot) else snapshot

        def happen(drawn: list[Code]) -> list[Event]:
            happening = Happening(data, overfull=overfull)
            return [happening.next(code) for code in drawn]

        return st.lists(codes, min_size=min_size, max_size=max_size).map(happen)

    return st.deferred(build)


def cluster_histories(
    clusters: SearchStrategy[dict[str, Any]],
    *,
    min_size: int = 0,
    max_size: int = 20,
    overfull: bool = False,
) -> SearchStrategy[tuple[Snapshot, list[Event]]]:
    """Draw a cluster, and events that may happen to it one after the other.

    Parameters
    ----------
    clusters : SearchStrategy[dict]
        Snapshots in the file format, such as `cluster_dicts` and `system_cluster_dicts` draw.
    min_size, max_size, overfull
        As of `event_histories`.

    Returns
    -------
    SearchStrategy[tuple of Snapshot and list of Event]
    """

    def happen(drawn: tuple[dict[str, Any], list[Code]]) -> tuple[Snapshot, list[Event]]:
        data, chosen = drawn
        happening = Happening(data, overfull=overfull)
        return built(data), [happening.next(code) for code in chosen]

    def build() -> SearchStrategy[tuple[Snapshot, list[Event]]]:
        check_range("size", min_size, max_size)
        return st.tuples(clusters, st.lists(codes, min_size=min_size, max_size=max_size)).map(happen)

    return st.deferred(build)
