"""Nodes, sessions and what they hold and want, read from a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.systems.backendai.settings import BackendAIOperationSettings, BackendAISettings, choice_for
from tests.reference.costs import Costs, read_costs
from tests.reference.pace import Pace

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Container", "Request", "Session", "World", "read_world"]

Amounts = dict[str, int]


@dataclass(eq=False)
class Container:
    """An allocation; ``held`` is what it keeps once it is preempted."""

    name: Any
    session: Session
    node: Any
    amounts: Amounts
    held: Amounts
    state: str
    start: float
    preemptible: bool
    required_node: Any
    beneficiary: dict[str, Any]
    planned_end: float | None = None


@dataclass(eq=False)
class Request:
    """What a session still waits for, so many times."""

    name: Any
    session: Session
    amounts: Amounts
    count: int
    tags: list[str]
    required_node: Any
    submitted: float


@dataclass(eq=False)
class Session:
    """An operation."""

    name: Any
    place: int
    priority: int
    rank: float
    scope: Any
    kind: str
    preemptible: bool
    started: bool
    submitted: float
    refused: str | None
    user: Any
    pool: Any = None
    containers: list[Container] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def running(self) -> list[Container]:
        """Return what of it runs."""
        return [c for c in self.containers if c.state == "running"]

    def waiting(self) -> list[Request]:
        """Return what of it waits."""
        return [r for r in self.requests if r.count > 0]

    def start(self) -> float:
        """Return when the earliest of its running containers began."""
        return min(c.start for c in self.running())


@dataclass
class World:
    """All there is at one instant."""

    now: float
    resources: list[str]
    quantum: dict[str, float]
    in_cluster: dict[str, int]
    stays: set[str]
    nodes: dict[Any, dict[str, Any]]
    sessions: list[Session]
    reservations: list[dict[str, Any]]
    costs: Costs
    pace: Pace

    def spared(self, session: Session) -> str | None:
        """Return why the pace spares a session, None if it does not."""
        ends = [c.planned_end for c in session.running()]
        known = [round(end * 1e6) for end in ends if end is not None]
        end = max(known) if len(known) == len(ends) else None
        return self.pace.spares(session.name, session.pool, round(session.start() * 1e6), end)

    def beyond_caps(self, victims: Sequence[Session]) -> list[Session]:
        """Return the victims of one step that are beyond the caps of pools."""
        places = self.pace.beyond([(s.name, s.pool) for s in victims])
        return [victims[place] for place in sorted(places)]

    def containers(self) -> list[Container]:
        """Return every container."""
        return [c for session in self.sessions for c in session.containers]

    def in_units(self, amounts: Amounts) -> float:
        """Add amounts of different resources as if their units were one, as the real system does."""
        return sum(amounts[r] * self.quantum[r] for r in self.resources if r in amounts)


def read_world(
    snapshot: Snapshot, settings: BackendAISettings, state: Mapping[str, Any] | None = None
) -> World:
    """Read a snapshot and the settings of its rows; rows stand in canonical order."""
    data = snapshot.to_dict()
    quantum = dict(snapshot.quantum)

    def amounts(given: dict[str, float] | None) -> Amounts:
        return {r: round((given or {}).get(r, 0) / q) for r, q in quantum.items()}

    spaces = data["resources"]
    nodes = {
        str(row["name"]): {
            "capacity": amounts(row.get("capacity")),
            "schedulable": row.get("schedulable", True),
            "tags": row.get("tags", []),
            "name": row["name"],
        }
        for row in data.get("nodes", [])
    }
    for row in data.get("nodes", []):  # a machine has what its logical nodes leave
        machine = None if row.get("physical") is None else str(row["physical"])
        if machine in nodes and machine != str(row["name"]):
            for r, amount in amounts(row.get("capacity")).items():
                nodes[machine]["capacity"][r] -= amount
    sessions = [_session(place, row, settings) for place, row in enumerate(data.get("operations", []))]
    by_name = {str(session.name): session for session in sessions}
    for row in data.get("allocations", []):
        session = by_name[str(row["operation"])]
        session.containers.append(
            Container(
                row["name"],
                session,
                None if row.get("node") is None else str(row["node"]),
                amounts(row.get("resources")),
                amounts(row.get("held")),
                row.get("state", "running"),
                row.get("start_time", 0),
                row.get("preemptible", True),
                None if row.get("required_node") is None else str(row["required_node"]),
                row.get("beneficiary") or {},
                row.get("planned_end"),
            )
        )
    for row in data.get("requests", []):
        session = by_name[str(row["operation"])]
        node = row.get("required_node")
        session.requests.append(
            Request(
                row["name"],
                session,
                amounts(row.get("resources")),
                row.get("count", 1),
                row.get("node_tags", []),
                None if node is None else str(node),
                row.get("submit_time", 0),
            )
        )
    reservations = [
        {**row, "amounts": amounts(row.get("resources")), "node": str(row["node"])}
        for row in data.get("reservations", [])
        if row.get("node") is not None
    ]
    return World(
        snapshot.now,
        list(quantum),
        quantum,
        {
            r: round(space.get("capacity", 0) / quantum[r])
            for r, space in spaces.items()
            if space.get("scope") == "cluster"
        },
        {r for r, space in spaces.items() if not space.get("available_after_preemption", True)},
        nodes,
        sessions,
        reservations,
        read_costs(data, settings.victim_cost, logical_nodes=True),
        Pace(settings.pace, data, state or {}),
    )


def _session(place: int, row: dict[str, Any], settings: BackendAISettings) -> Session:
    own = BackendAIOperationSettings.model_validate(row.get("settings", {}))
    default, (lowest, highest), editable = choice_for(settings, row.get("user"), row.get("project"))
    given = row.get("priority")
    priority = default if given is None else int(given)
    refused = None
    if given is not None and not editable:
        refused = "priority_change_disabled"
    elif not lowest <= priority <= highest:
        refused = "priority_out_of_range"
    scopes = {
        "resource-group": "",
        "user": row.get("user"),
        "project": row.get("project"),
        "domain": own.domain,
    }
    kind = row.get("kind", "batch")
    by_kind = kind != "inference" or settings.inference_preemptible
    return Session(
        row["name"],
        place,
        priority,
        priority if settings.preemption_key == "priority" else own.job_priority,
        scopes[settings.victim_scope],
        kind,
        by_kind if own.is_preemptible is None else own.is_preemptible,
        own.started,
        row.get("start_time", 0),
        refused,
        row.get("user"),
        row.get("pool"),
    )
