"""Rows of a snapshot from a configuration and answers, and what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from evenhand.building.problems import nearest
from evenhand.config.rows import raise_found
from evenhand.systems.texts import Notes
from evenhand.systems.yunikorn.properties import strange
from evenhand.systems.yunikorn.text.answers import Answers, Row
from evenhand.systems.yunikorn.text.config import ROOT, Partition, Queue
from evenhand.systems.yunikorn.text.quantities import VCORE, zero

__all__ = ["Builder"]

#: Tags that Kubernetes' part of YuniKorn puts on what it asks for.
_NODE_TAG = "yunikorn.apache.org/requiredNode"
_CREATED_TAG = "creationTime"

#: States of applications that are over.
_OVER: Final = frozenset(("Completed", "Failed", "Failing", "Expired", "Rejected", "Killed"))


@dataclass
class Pool:
    """A queue, from the configuration or from an answer."""

    path: str
    guaranteed: Mapping[str, int]
    most: Mapping[str, int]
    properties: Mapping[str, str]
    managed: bool = True


class Builder:
    """Makes rows of a partition."""

    def __init__(
        self,
        answers: Answers,
        config: Partition | None,
        now: float | None,
        opted_out: Collection[str] | None,
        never_preempting: Collection[str] | None,
    ) -> None:
        self.answers, self.config = answers, config
        self.opted_out, self.never = opted_out, never_preempting
        self.notes = Notes()
        self.resources = {VCORE: None, "memory": None}
        self.triggered: list[str] = []
        self.kept: dict[str, list[str]] = {}  # node to asks that preempted for it
        self.now = now
        if now is None and answers.now is not None:
            self.now = _seconds(answers.now)
        if self.now is None and (answers.applications or answers.nodes):
            answers.wrong("snapshot", None, "now", "required", None, "must be given where there is no dump")
            raise_found(answers.problems)

    def amounts(self, given: Mapping[str, int]) -> dict[str, float]:
        """Return amounts in units of the snapshot: whole vcores, all else as it is."""
        self.resources.update(dict.fromkeys(given))
        return {
            r: v / 1000 if r == VCORE and v % 1000 else v // (1000 if r == VCORE else 1)
            for r, v in given.items()
        }

    def build(self) -> dict[str, Any]:
        """Return the snapshot as plain data."""
        pools = self._pools()
        nodes, total = self._nodes()
        operations, allocations, requests = self._applications(pools)
        data: dict[str, Any] = {
            "now": self.now or 0.0,
            "nodes": nodes,
            "pools": [self._pool(pool) for pool in pools.values() if pool.path != ROOT],
            "operations": operations,
            "allocations": allocations,
            "requests": requests,
            "reservations": self._reservations(requests),
        }
        if nodes:
            data["total"] = self.amounts(total)
        if pools[ROOT].properties:
            data["root"] = {"settings": {"properties": dict(pools[ROOT].properties)}}
        self._note_config()
        raise_found(self.answers.problems)
        data["resources"] = {
            name: {"quantum": 0.001, "kind": "cpu"} if name == VCORE else {"quantum": 1}
            for name in self.resources
        }
        for (table, name), count in sorted(self.answers.unknown.items()):
            self.notes.add("yunikorn_field_unknown", f"{table} ({count})", name)
        return data

    # -- queues ---------------------------------------------------------------------------------------

    def _pools(self) -> dict[str, Pool]:
        """Return the queues by path, those above first."""
        configured = {} if self.config is None else {q.path: _of_config(q) for q in self.config.root.tree()}
        answered = {pool.path: pool for row in self.answers.queues for pool in _of_answer(row)}
        found = {ROOT: Pool(ROOT, {}, {}, {})}
        for path in {**configured, **answered}:
            ours, theirs = configured.get(path), answered.get(path)
            found[path] = pool = ours or theirs or found[ROOT]
            for name, text, why in strange(pool.properties):
                self.notes.add("yunikorn_not_read", f"The property {name} is {text}, {why}", path)
            if path == ROOT:
                continue
            if ours and theirs:
                if not theirs.managed:
                    self.notes.add("yunikorn_differs", "Dynamic queues that the configuration has", path)
                if (dict(ours.guaranteed), dict(ours.most)) != (dict(theirs.guaranteed), dict(theirs.most)):
                    self.notes.add("yunikorn_differs", "Maxima or guarantees, as configured", path)
            elif theirs and theirs.managed and self.config is not None:
                self.notes.add("yunikorn_differs", "Queues that the configuration lacks", path)
            elif ours and self.answers.queues:
                self.notes.add("yunikorn_differs", "Configured queues that are not there yet", path)
        for path in found:
            if path != ROOT and path.rpartition(".")[0] not in found:
                self.answers.wrong("queues", path, "queuename", "exists", None, "has no queue above it")
        return found

    def _pool(self, pool: Pool) -> dict[str, Any]:
        above = pool.path.rpartition(".")[0]
        row: dict[str, Any] = {"name": pool.path, "parent": None if above == ROOT else above}
        # YuniKorn stores what is zero in all resources as if it were not set.
        if not zero(pool.guaranteed):
            row["strong_guarantee"] = self.amounts(pool.guaranteed)
        if not zero(pool.most):
            row["limits"] = self.amounts(pool.most)
        settings: dict[str, Any] = {"properties": dict(pool.properties)} if pool.properties else {}
        if not pool.managed:
            settings["managed"] = False
        return {**row, "settings": settings} if settings else row

    def _note_config(self) -> None:
        """Report the settings of the configuration that do not affect plans."""
        if self.config is None:
            return
        for queue in self.config.root.tree():
            given = {
                "maxapplications": queue.maxapplications,
                "adminacl": queue.adminacl,
                "submitacl": queue.submitacl,
                "childtemplate": queue.template,
                "limits": queue.limits,
            }
            for name in (name for name, value in given.items() if value):
                self.notes.add("yunikorn_not_read", f"{name} of", queue.path)
        parts = {"limits": self.config.limits, "placementrules": self.config.rules}
        for name in (*(name for name, value in parts.items() if value), *self.config.passed_over):
            self.notes.add("yunikorn_not_read", f"{name} of the partition", self.config.name)

    # -- nodes ----------------------------------------------------------------------------------------

    def _nodes(self) -> tuple[list[dict[str, Any]], dict[str, int]]:
        """Return rows of nodes, and what all of them have together.

        Room that others than YuniKorn occupy, or allocations of no application, is no capacity of a node;
        the root's maximum is made of all there is.
        """
        owned = {
            a.get("allocationKey") for app in self.answers.applications for a in app.get("allocations", ())
        }
        rows, total = [], Counter[str]()
        for place, node in enumerate(self.answers.nodes):
            name, capacity = node["nodeID"], dict(node["capacity"])
            total.update(capacity)
            used: Counter[str] = Counter(node.get("occupied", {}))
            there: Counter[str] = Counter()
            for a in node.get("allocations", ()):
                there.update(a["resource"])
                if a["allocationKey"] not in owned:
                    used.update(a["resource"])
                    self.notes.add(
                        "yunikorn_left_out", "Allocations of no application that is there", a["allocationKey"]
                    )
            if "allocated" in node and "allocations" in node and +there != +Counter(node["allocated"]):
                self.notes.add("yunikorn_sums_differ", "Nodes", name)
            left = {r: v - used[r] for r, v in capacity.items()}
            if any(v < 0 for v in left.values()):
                self.notes.add("yunikorn_sums_differ", "Nodes with more in use than they have", name)
                left = {r: max(0, v) for r, v in left.items()}
            row = {
                "name": name,
                "capacity": self.amounts(left),
                "schedulable": node.get("schedulable", True),
                "order": place,
            }
            labels = node.get("attributes")
            rows.append({**row, "labels": labels} if labels else row)
        return rows, dict(total)

    def _reservations(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        amounts = {row["name"]: row["resources"] for row in requests}
        rows = []
        for node in self.answers.nodes:
            for said in node.get("reservations", ()):
                key, name = said.rpartition("|")[2], node["nodeID"]
                if key not in amounts:
                    self.notes.add(
                        "yunikorn_left_out", "Reservations of asks that are not there", f"{name}|{key}"
                    )
                    continue
                row = {"name": f"{name}|{key}", "request": key, "node": name, "resources": amounts[key]}
                rows.append(row)
        if rows:
            names = [row["name"] for row in rows]
            self.notes.add("yunikorn_assumed", "Nodes were reserved just now", *names)
        return rows

    # -- applications ---------------------------------------------------------------------------------

    def _applications(self, pools: Mapping[str, Pool]) -> tuple[list[dict[str, Any]], ...]:
        operations: list[dict[str, Any]] = []
        allocations: list[dict[str, Any]] = []
        requests: list[dict[str, Any]] = []
        nodes = {node["nodeID"] for node in self.answers.nodes}
        asks = {q["allocationKey"]: q for app in self.answers.applications for q in app.get("requests", ())}
        self.kept = {
            node["nodeID"]: [
                key
                for said in node.get("reservations", ())
                if asks.get(key := said.rpartition("|")[2], {}).get("triggeredPreemption")
            ]
            for node in self.answers.nodes
        }
        usage: dict[str, Counter[str]] = {}
        for app in self.answers.applications:
            name, queue = app["applicationID"], app["queueName"].lower()
            runs, waits = app.get("allocations", ()), app.get("requests", ())
            if not runs and not waits and app.get("applicationState") in _OVER:
                self.notes.add("yunikorn_left_out", "Applications that are over", name)
                continue
            if queue not in pools:
                message = f"is {queue}; there is no such queue{nearest(queue, list(pools))}"
                self.answers.wrong("applications", name, "queueName", "exists", queue, message)
            row = {
                "name": name,
                "pool": None if queue == ROOT else queue,
                "start_time": self._time(app.get("submissionTime")),
            }
            operations.append({**row, "user": app["user"]} if app.get("user") else row)
            used = usage.setdefault(queue, Counter())
            for a in runs:
                if a["nodeId"] not in nodes:
                    message = f"is {a['nodeId']}; there is no such node{nearest(a['nodeId'], list(nodes))}"
                    self.answers.wrong("applications", a["allocationKey"], "nodeId", "exists", None, message)
                used.update(a["resource"])
                allocations.append(self._allocation(a, name))
            requests += [self._request(q, name) for q in waits if q.get("pendingCount", 1) > 0]
        for leaf in self._leaves(self.answers.queues):
            path = leaf["queuename"].lower()
            if "allocatedResource" in leaf and +usage.get(path, Counter()) != +Counter(
                leaf["allocatedResource"]
            ):
                self.notes.add("yunikorn_sums_differ", "Queues", path)
        if allocations and self.opted_out is None:
            self.notes.add("yunikorn_assumed", "No allocation has opted out of preemption")
        if requests and self.never is None:
            self.notes.add("yunikorn_assumed", "Every ask may preempt others")
        if requests:
            self.notes.add("yunikorn_assumed", "Asks that are of no daemon set may run on every node")
        return operations, allocations, requests

    def _leaves(self, rows: Any) -> Iterator[Row]:
        for row in rows:
            if row.get("children"):
                yield from self._leaves(row["children"])
            else:
                yield row

    def _time(self, nanoseconds: int | None) -> float:
        """Return seconds, at most now."""
        return min(_seconds(nanoseconds or 0), self.now or 0.0)

    def _created(self, row: Row) -> float:
        """Return when a pod was made: what YuniKorn calls the creation of an ask and of its allocation."""
        tagged = row.get("allocationTags", {}).get(_CREATED_TAG, "")
        if tagged.isdecimal():
            return min(float(tagged), self.now or 0.0)
        if row.get("placeholderUsed"):
            said = "What replaced a placeholder is as old as the placeholder"
            self.notes.add("yunikorn_assumed", said, row["allocationKey"])
        return self._time(row.get("requestTime", row.get("allocationTime")))

    def _row(self, row: Row, app: str) -> dict[str, Any]:
        """Return what allocations and asks have in common."""
        found: dict[str, Any] = {
            "name": row["allocationKey"],
            "operation": app,
            "resources": self.amounts(row["resource"]),
            "priority": row.get("priority", 0),
        }
        required = row.get("requiredNodeId") or row.get("allocationTags", {}).get(_NODE_TAG)
        if required:
            found["required_node"] = required
        if zeros := [r for r, amount in row["resource"].items() if not amount]:
            found["settings"] = {"zeros": dict.fromkeys(zeros, 0)}
        labels: dict[str, Any] = {}
        if row.get("placeholder"):
            labels["placeholder"] = 1
        if row.get("taskGroupName"):
            labels["task_group"] = row["taskGroupName"]
        return {**found, "labels": labels} if labels else found

    def _allocation(self, row: Row, app: str) -> dict[str, Any]:
        found = {
            **self._row(row, app),
            "node": row["nodeId"],
            "start_time": self._created(row),
            "preemptible": row["allocationKey"] not in (self.opted_out or ()),
            "originator": row.get("originator", False),
        }
        if row.get("preempted"):
            found["state"] = "preempting"
            whose = self.kept.get(row["nodeId"], [])
            if len(whose) == 1:
                found["beneficiary"] = {"request": whose[0]}
                said = "Allocations leave for the ask that has reserved their node"
            else:
                said = "Allocations leave for no known ask"
            self.notes.add("yunikorn_assumed", said, row["allocationKey"])
        return found

    def _request(self, row: Row, app: str) -> dict[str, Any]:
        found = {
            **self._row(row, app),
            "submit_time": self._created(row),
            "count": row.get("pendingCount", 1),
        }
        if row.get("originator"):
            found["labels"] = {**found.get("labels", {}), "originator": 1}
        if row["allocationKey"] in (self.never or ()):
            found["settings"] = {**found.get("settings", {}), "allow_preempt_other": False}
        if row.get("triggeredPreemption"):
            self.triggered.append(row["allocationKey"])
            self.notes.add(
                "yunikorn_assumed", "Asks that have preempted already may do so again", row["allocationKey"]
            )
        return found


def _seconds(nanoseconds: int) -> float:
    return nanoseconds // 1000 / 1e6


def _of_config(queue: Queue) -> Pool:
    return Pool(queue.path, queue.guaranteed or {}, queue.max or {}, queue.properties)


def _of_answer(row: Row) -> Iterator[Pool]:
    path = row["queuename"].lower()
    yield Pool(
        path,
        row.get("guaranteedResource", {}),
        row.get("maxResource", {}),
        row.get("properties", {}),
        row.get("isManaged", True),
    )
    for child in row.get("children", ()):
        yield from _of_answer(child)
