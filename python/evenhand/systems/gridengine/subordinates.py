"""Suspend on subordinate: what ``subordinate_list`` settings say, and the trees of queues that follow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from evenhand.building.problems import shorten

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.systems.gridengine.settings import GridEngineQueue

__all__ = [
    "BY_QUEUE",
    "SubordinateList",
    "SubordinateText",
    "queue_numbers",
    "subordinate_columns",
    "wrong_trees",
]

#: Codes of jobs that are left as they are by the count of a queue.
BY_QUEUE: Final = frozenset(
    {
        "others_stop_first",
        "stays_subordinate",
        "subordinate_queue_suspended",
        "subordinate_to_none",
        "within_subordinate_threshold",
    }
)

_SLOTWISE: Final = re.compile(r"slots\s*=\s*(\S+?)\s*\((.*)\)", re.DOTALL)
_MOST: Final = 2**31 - 1


@dataclass(frozen=True)
class _Below:
    """One queue of a list."""

    queue: str
    seq: int = 0
    longest: bool = False
    used: int | None = None  # queue-wise: suspended while so many slots are in use; None: all of them


@dataclass(frozen=True)
class SubordinateList:
    """What one queue's ``subordinate_list`` says.

    Attributes
    ----------
    most : int
        Slot-wise: jobs that may run in the queue and below it on a host; 0: the list is queue-wise.
    below : tuple
        The subordinate queues in the order of the list.

    Notes
    -----
    Source: Grid Engine 8.1.9, queue_conf(5), subordinate_list.
    """

    most: int = 0
    below: tuple[_Below, ...] = ()

    @classmethod
    def parse(cls, text: str) -> SubordinateList:
        """Read ``slots=4(low.q:0:sr, mid.q:1:lr)``, ``low.q=4,mid.q`` or ``NONE``.

        Raises
        ------
        ValueError
            With the rule that it breaks, if it is no such list.

        Examples
        --------
        >>> SubordinateList.parse("slots=4(low.q:0:sr, mid.q:1:lr)").most
        4
        """
        text = text.strip()
        if not text or text.upper() == "NONE":
            return cls()
        found = _SLOTWISE.fullmatch(text)
        if found is None:
            if text.lower().replace(" ", "").startswith("slots="):
                raise ValueError("a slot-wise list is slots=THRESHOLD(QUEUE[:SEQ_NO[:ACTION]],...)")
            return cls(0, _unique([_queuewise(word) for word in re.split(r"[,\s]+", text) if word]))
        most = _number(found[1], "the threshold", 1)
        words = [word.strip() for word in found[2].split(",")]
        return cls(most, _unique([_slotwise(word) for word in words]))


def _number(text: str, what: str, least: int) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= _MOST:
        raise ValueError(f"{what} is {shorten(text)}; it must be a whole number, at least {least}")
    return int(text)


def _queue(text: str) -> str:
    if not re.fullmatch(r"[^\s:=,()@]+", text):
        raise ValueError(f"{shorten(text)} is no name of a queue")
    return text


def _slotwise(word: str) -> _Below:
    name, *more = word.split(":")
    # Either part may be left out: low.q, low.q:1, low.q:1:lr, low.q::lr, low.q:lr.
    if len(more) == 1 and more[0] in ("sr", "lr"):
        more = ["", more[0]]
    if len(more) > 2:
        raise ValueError(f"{shorten(word)} has more than a queue, a seq_no and an action")
    action = more[1] if len(more) == 2 else ""
    if action not in ("", "sr", "lr"):
        raise ValueError(f"the action of {shorten(name)} is {shorten(action)}; it must be sr or lr")
    seq = _number(more[0], f"the seq_no of {shorten(name)}", 0) if more and more[0] else 0
    return _Below(_queue(name), seq, action == "lr")


def _queuewise(word: str) -> _Below:
    name, has, used = word.partition("=")
    return _Below(_queue(name), used=_number(used, f"the number of {shorten(name)}", 1) if has else None)


def _unique(below: list[_Below]) -> tuple[_Below, ...]:
    names = [one.queue for one in below]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"it names {shorten(twice)} twice")
    return tuple(below)


def _checked(text: str) -> str:
    try:
        SubordinateList.parse(text)
    except ValueError as error:
        said = f"is {shorten(text)}; {error}"
        raise PydanticCustomError("rule", "{said}", {"rule": "syntax", "said": said}) from None
    return text


#: Text of a ``subordinate_list``.
SubordinateText = Annotated[str, AfterValidator(_checked)]


def _lists(queues: Mapping[str, GridEngineQueue]) -> dict[str, SubordinateList]:
    return {
        name: SubordinateList.parse(queue.subordinate_list)
        for name, queue in queues.items()
        if queue.subordinate_list is not None
    }


def wrong_trees(queues: Mapping[str, GridEngineQueue]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with the lists of all queues together: field, rule, predicate.

    Parameters
    ----------
    queues : mapping of str to GridEngineQueue
    """
    parent: dict[str, str] = {}
    for name, own in _lists(queues).items():
        field = f"queues.{name}.subordinate_list"
        for one in own.below:
            if one.queue == name:
                yield field, "cycle", "names the queue itself"
            elif own.most and one.queue in parent:
                said = f"names {shorten(one.queue)}, which {shorten(parent[one.queue])} names, too"
                yield field, "one_superordinate", f"{said}; a queue is slot-wise subordinate to one"
            elif not own.most and one.used is None and queues[name].slots is None:
                said = f"names {shorten(one.queue)} without a number: all slots of the queue"
                yield field, "required", f"{said}; how many these are, queues.{name}.slots must say"
            elif own.most:
                parent[one.queue] = name
    for name, first in parent.items():
        above, seen = first, [name]
        while above not in seen and above in parent:
            seen.append(above)
            above = parent[above]
        if above == name:
            yield f"queues.{name}.subordinate_list", "cycle", "makes the queue subordinate to itself"


def queue_numbers(queues: Mapping[str, GridEngineQueue]) -> dict[str, int]:
    """Return the number of every queue: those with an entry, then those that only lists name.

    Parameters
    ----------
    queues : mapping of str to GridEngineQueue

    Returns
    -------
    dict of str to int
    """
    names = dict.fromkeys([*queues, *(one.queue for own in _lists(queues).values() for one in own.below)])
    return {name: number for number, name in enumerate(names)}


def subordinate_columns(snapshot: Snapshot, queues: Mapping[str, GridEngineQueue]) -> dict[str, Any]:
    """Return the trees as the core takes them.

    Parameters
    ----------
    snapshot : Snapshot
        Whose pools may be called like queues.
    queues : mapping of str to GridEngineQueue

    Returns
    -------
    dict
        One cell a queue, the last for queues of rows that nothing is known of.
    """
    number = queue_numbers(queues)
    if not number:
        return {}
    count = len(number) + 1
    parent, most, seq = (np.full(count, value, np.int64) for value in (-1, 0, 0))
    longest = np.zeros(count, np.uint8)
    pairs = []
    lists = _lists(queues)
    for name, own in lists.items():
        most[number[name]] = own.most
        for one in own.below:
            row = number[one.queue]
            if own.most:
                parent[row], seq[row], longest[row] = number[name], one.seq, one.longest
            else:
                used = queues[name].slots if one.used is None else one.used
                pairs.append((number[name], row, used or 0))
    above, below, used_slots = zip(*pairs, strict=True) if pairs else ((), (), ())
    pools = [number.get(str(name), -1) for name in snapshot.names("pools")]
    return {
        "parent": parent.astype(np.int32),
        "most": most,
        "seq": seq,
        "longest": longest,
        "place": _places(number, lists, parent),
        "above": np.array(above, np.int32),
        "below": np.array(below, np.int32),
        "used": np.array(used_slots, np.int64),
        "queue_of_pool": np.array([-1, *pools[1:]], np.int32),
        "queue_names": [*number, ""],
    }


def _places(number: Mapping[str, int], lists: Mapping[str, SubordinateList], parent: Any) -> Any:
    """Return the place of each queue in its tree: before those below it, which are in their list's order."""
    order: list[str] = []

    def visit(name: str) -> None:
        order.append(name)
        own = lists.get(name, SubordinateList())
        for one in own.below if own.most else ():
            visit(one.queue)

    for name, row in number.items():
        if parent[row] < 0:
            visit(name)
    places = np.zeros(len(number) + 1, np.int64)
    for place, name in enumerate(order):
        places[number[name]] = place
    places[-1] = len(order)
    return places
