"""What letters to those whose work leaves, or who wait, have in common under all systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.systems.reason import Clause

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["letters"]

_IN_TIME = (
    Clause(" at once", where={"grace": 0}),
    Clause(" within {grace:span}, by {until}", ("grace", "until")),
)


def letters(
    work: str, fates: Mapping[str, str], *, part: str = "", stops: tuple[str, ...] = ()
) -> dict[tuple[str, str], tuple[Clause, ...]]:
    """Return the clauses of letters that are the same but for the words of a system.

    Parameters
    ----------
    work : str
        What users call an operation: ``"job"``.
    fates : mapping of str to str
        By mode, what becomes of work that leaves. ``{in_time:part}`` is how long it has.
    part : str
        What they call an allocation, where allocations leave one by one: ``"allocation"``.
    stops : tuple of str
        Modes by which work stays where it is.

    Returns
    -------
    dict
        Kind and code to clauses, as of `evenhand.systems.record.System.says`.
    """
    who = f"{part} {{allocation}} of {work} {{operation}}" if part else f"{work} {{operation}}"
    starts = f"{work} {{operation}} starts{{starts_on:part}}"
    return {
        ("letter", "work"): (Clause(work),),
        ("letter", "who"): (Clause(who),),
        ("letter", "whose"): (Clause(f"{work} {{operation}}"),),
        ("letter", "victim"): (
            Clause(f"{who} {{goes:part}} to make room for {work} {{asks}}"),
            Clause(f"{who} {{goes:part}}"),
        ),
        ("letter", "resumed"): (Clause(f"{who} resumes{{starts_on:part}}"),),
        ("letter", "started"): (
            Clause(
                f"{starts} once {{leaving:listed}} {{leaving:one is|are}} stopped there",
                where={"mode": stops},
            ),
            Clause(f"{starts} once {{leaving:listed}} {{leaving:one has|have}} left"),
            Clause(starts),
        ),
        ("letter", "spared"): (Clause("none of its work is lost"),),
        ("letter", "waits"): (Clause("the request stays in the queue"),),
        ("letter", "left_out"): (
            Clause(
                f"{work} {{operation}} waits, and this plan neither starts it nor preempts for it:"
                f" {{waits_for}}"
            ),
        ),
        ("letter", "nothing"): (Clause(f"nothing of {work} {{operation}} runs, and nothing of it waits"),),
        ("part", "goes"): (
            Clause("is stopped", where={"mode": stops, "on": []}),
            Clause("is stopped on {on:nodes}", where={"mode": stops}),
            Clause("has to leave", where={"on": []}),
            Clause("has to leave {on:nodes}"),
        ),
        ("part", "starts_on"): (Clause("", where={"on": []}), Clause(" on {on:nodes}")),
        **({("part", "in_time"): _IN_TIME} if "{in_time:part}" in "".join(fates.values()) else {}),
        **{("fate", mode): (Clause(sentence),) for mode, sentence in fates.items()},
    }
