"""What YuniKorn's REST interface answers, as checked rows."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from evenhand.building.problems import kind_of, shorten
from evenhand.config.rows import raise_found
from evenhand.errors import InputError, Problem

__all__ = ["Answers", "Row", "read_answers"]

Row = Mapping[str, Any]

_LARGEST = 2**63
_CLUSTER = re.compile(r"^\[[^\]]*\]")  # before a partition's name, in older releases

#: Known fields with their kinds; "-" plays no part here. What is marked by ! must be there.
_ALLOCATION: Final = {
    "allocationKey": "text!",
    "allocationTags": "texts_by_name",
    "requestTime": "whole",
    "allocationTime": "whole",
    "resource": "amounts!",
    "priority": "whole_text",
    "nodeId": "text!",
    "applicationId": "text",
    "placeholder": "flag",
    "placeholderUsed": "flag",
    "taskGroupName": "text",
    "preempted": "flag",
    "originator": "flag",
    **dict.fromkeys(("allocationDelay", "allocationID", "partition", "uuid"), "-"),
}
#: The same on its node, where no more of it is looked at.
_HELD: Final = {**dict.fromkeys(_ALLOCATION, "-"), "allocationKey": "text!", "resource": "amounts!"}
_ASK: Final = {
    "allocationKey": "text!",
    "allocationTags": "texts_by_name",
    "requestTime": "whole",
    "resource": "amounts!",
    "pendingCount": "whole",
    "priority": "whole_text",
    "requiredNodeId": "text",
    "placeholder": "flag",
    "taskGroupName": "text",
    "triggeredPreemption": "flag",
    "originator": "flag",
    **dict.fromkeys(
        (
            *("allocationLog", "applicationId", "partition", "placeholderTimeout"),
            *("schedulingAttempted", "triggeredScaleUp"),
        ),
        "-",
    ),
}
_QUEUE: Final = {
    "queuename": "text!",
    "partition": "text",
    "maxResource": "amounts",
    "guaranteedResource": "amounts",
    "allocatedResource": "amounts",
    "isLeaf": "flag",
    "isManaged": "flag",
    "properties": "texts_by_name",
    "children": "queue",
    **dict.fromkeys(
        (
            *("status", "pendingResource", "preemptingResource", "headroom", "parent", "template"),
            *("childNames", "absUsedCapacity", "maxRunningApps", "runningApps", "currentPriority"),
            *("allocatingAcceptedApps", "sortingPolicy", "prioritySorting", "preemptionEnabled"),
            *("isPreemptionFence", "preemptionDelay", "isPriorityFence", "priorityOffset"),
            *("quotaPreemptionDelay", "quotaPreemptionStartTime", "isQuotaPreemptionRunning"),
            *("unschedAskBackoff", "askBackoffDelay"),
        ),
        "-",
    ),
}
_APPLICATION: Final = {
    "applicationID": "text!",
    "queueName": "text!",
    "partition": "text",
    "submissionTime": "whole",
    "applicationState": "text",
    "user": "text",
    "requests": "ask",
    "allocations": "allocation",
    **dict.fromkeys(
        (
            *("usedResource", "maxUsedResource", "pendingResource", "finishedTime", "groups"),
            *("rejectedMessage", "stateLog", "placeholderData", "hasReserved", "reservations"),
            *("maxRequestPriority", "startTime"),
        ),
        "-",
    ),
}
_NODE: Final = {
    "nodeID": "text!",
    "capacity": "amounts!",
    "allocated": "amounts",
    "occupied": "amounts",
    "attributes": "texts_by_name",
    "allocations": "held",
    "schedulable": "flag",
    "reservations": "texts",
    **dict.fromkeys(
        ("hostName", "rackName", "available", "utilized", "foreignAllocations", "isReserved"), "-"
    ),
}
_SHAPES: Final[Mapping[str, Mapping[str, str]]] = {
    "allocation": _ALLOCATION,
    "held": _HELD,
    "ask": _ASK,
    "queue": _QUEUE,
    "application": _APPLICATION,
    "node": _NODE,
    "nodes": {"partitionName": "text", "nodesInfo": "node"},
    "dump": {
        "timestamp": "whole",
        "queues": "queue",
        "applications": "application",
        "nodes": "nodes",
        **dict.fromkeys(
            (
                *("partitions", "appHistory", "clusterInfo", "containerHistory", "rmDiagnostics"),
                *("logLevel", "config", "placementRules", "eventStreams"),
            ),
            "-",
        ),
    },
}
_NAMES = ("allocationKey", "queuename", "applicationID", "nodeID", "partitionName")


class Answers:
    """Queues, applications and nodes of one partition, and what is wrong or strange in them."""

    def __init__(self) -> None:
        self.queues: list[Row] = []
        self.applications: list[Row] = []
        self.nodes: list[Row] = []
        self.now: int | None = None
        self.unknown: Counter[tuple[str, str]] = Counter()
        self.problems: list[Problem] = []

    def wrong(self, table: str, name: str | None, field: str, rule: str, value: object, message: str) -> None:
        """Add a problem; ``message`` follows the field and the row's name."""
        subject = " of ".join(filter(None, (field, name)))
        shown = None if value is None else shorten(value)
        self.problems.append(Problem(table, None, name, field or None, rule, shown, f"{subject} {message}"))

    def rows(self, given: Any, shape: str, table: str, within: str = "") -> list[Row]:
        """Return a list of rows of a shape."""
        if not isinstance(given, list | tuple):
            self.wrong(table, None, within, "type", None, f"is {kind_of(given)}; it must be a list")
            return []
        found = []
        for place, row in enumerate(given):
            where = f"{within}[{place}]"
            if isinstance(row, Mapping):
                found.append(self._row(row, shape, table, where))
            else:
                self.wrong(table, None, where, "type", None, f"is {kind_of(row)}; it must be an object")
        return found

    def _row(self, row: Row, shape: str, table: str, where: str) -> Row:
        readers, required = _READERS[shape]
        found: dict[str, Any] = {}
        for key, value in row.items():
            if key not in readers:
                kind = {"held": "allocation", "nodes": table, "dump": table}.get(shape, shape)
                self.unknown[kind, str(key)] += 1
                continue
            read = readers[key]
            if read is None or value is None:
                continue
            if isinstance(read, str):
                found[key] = self.rows(value, read, table, f"{where}.{key}")
                continue
            try:
                found[key] = read(value)
            except ValueError as error:
                message = f"is {shorten(value)}; it must be {error}"
                self.wrong(table, _name(row), f"{where}.{key}", "type", value, message)
        for key in required:
            if row.get(key) in (None, ""):
                self.wrong(table, _name(row), f"{where}.{key}", "required", None, "is missing")
        return found


def _name(row: Row) -> str | None:
    return next((row[key] for key in _NAMES if isinstance(row.get(key), str)), None)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("text")
    return value


def _flag(value: Any) -> bool:
    # Older releases write flags as texts.
    flag = {"true": True, "false": False}.get(value) if isinstance(value, str) else value
    if not isinstance(flag, bool):
        raise ValueError("true or false")
    return flag


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise ValueError("a list of texts")
    return value


def _texts_by_name(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise ValueError("an object of texts")
    return value


def _whole_text(value: Any) -> int:
    said = isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,10}", value)
    return _whole(int(value) if said else value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -_LARGEST <= value < _LARGEST:
        raise ValueError("a whole number")
    return value


def _amounts(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError("an object of whole numbers")
    for resource, amount in value.items():
        if type(amount) is not int or not 0 <= amount < _LARGEST:
            raise ValueError(f"an object of whole numbers that are not negative, also {shorten(resource)}")
    return value


_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "text": _text,
    "flag": _flag,
    "whole": _whole,
    "whole_text": _whole_text,
    "texts": _texts,
    "texts_by_name": _texts_by_name,
    "amounts": _amounts,
}

#: Shape to how each of its fields is read (None: not at all; a text: as rows of that shape), and which must
#: be there.
_READERS: Final = {
    shape: (
        {key: None if kind == "-" else _READ.get(kind.rstrip("!"), kind) for key, kind in fields.items()},
        [key for key, kind in fields.items() if kind.endswith("!")],
    )
    for shape, fields in _SHAPES.items()
}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"a key appears twice: {shorten(twice)}")
    return found


def _load(given: Any, table: str) -> Any:
    """Return the data of an answer: a text, a file, or data that is read already."""
    if not isinstance(given, str | bytes | os.PathLike):
        return given
    try:
        text = Path(given).read_bytes() if isinstance(given, os.PathLike) else given
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        said = getattr(error, "msg", None) or str(error)
        line = getattr(error, "lineno", None)
        message = f"{table}: the answer is no JSON{f' from line {line} on' if line else ''}: {said}"
        raise InputError([Problem(table, None, None, None, "json", None, message)]) from None


def _of(rows: Iterable[Row], field: str, partition: str) -> Iterator[Row]:
    """Yield rows of a partition, or that name none."""
    for row in rows:
        if _CLUSTER.sub("", row.get(field, partition)) == partition:
            yield row


def read_answers(
    partition: str, *, dump: Any = None, queues: Any = None, applications: Any = None, nodes: Any = None
) -> Answers:
    """Read answers of YuniKorn's REST interface."""
    found = Answers()
    whole: Row = {}
    if dump is not None:
        rows = found.rows([_load(dump, "dump")], "dump", "dump")
        whole = rows[0] if rows else {}
        found.now = whole.get("timestamp")
    given: dict[str, Iterable[Row]] = {name: whole.get(name, ()) for name in ("queues", "applications")}
    for name, shape, answer in (
        ("queues", "queue", queues),
        ("applications", "application", applications),
    ):
        if answer is not None:
            data = _load(answer, name)
            given[name] = found.rows([data] if isinstance(data, Mapping) else data, shape, name)
    found.queues = list(_of(given["queues"], "partition", partition))
    found.applications = list(_of(given["applications"], "partition", partition))
    if nodes is None:
        for row in _of(whole.get("nodes", ()), "partitionName", partition):
            found.nodes += row.get("nodesInfo", ())
    else:
        data = _load(nodes, "nodes")
        found.nodes = found.rows([data] if isinstance(data, Mapping) else data, "node", "nodes")
    raise_found(found.problems)
    return found
