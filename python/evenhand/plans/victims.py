"""The victims of one request: the set, its order, and how far it is known to be the fewest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import checked
from evenhand.arguments import expect, snapshot_of
from evenhand.building.problems import nearest, shorten
from evenhand.config.triggers import Heartbeat
from evenhand.errors import InputError, Problem, printable
from evenhand.frozen import Frozen, FrozenDict
from evenhand.plans.columns import objects, rows_by_name
from evenhand.plans.planning import expect_policy, plan
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.cluster import Cluster
    from evenhand.model import Snapshot
    from evenhand.plans.columns import Name
    from evenhand.plans.decisions import Beneficiary, Decision, Decisions
    from evenhand.plans.refusals import Refusals
    from evenhand.state import State
    from evenhand.systems.base import Policy

__all__ = ["Victims", "victims"]


class Victims(Frozen, Tabular):
    """Which allocations must leave for one request, in their order. Made by `evenhand.victims`.

    Attributes
    ----------
    request : str or int
        What is to start.
    decisions : Decisions
        The step of the plan that serves the request: its victims in their order, and what starts or is
        reserved. Empty if nothing is done for the request.
    refusals : Refusals
        Why the request does not start, as the plan says it; empty of a request that starts now.
    """

    __slots__ = ("decisions", "refusals", "request")

    request: Name
    decisions: Decisions
    refusals: Refusals

    def __init__(self, request: Name, decisions: Decisions, refusals: Refusals) -> None:
        self._keep(request=request, decisions=decisions, refusals=refusals)

    def __eq__(self, other: object) -> bool:
        """Whether they say the same of equal snapshots."""
        if not isinstance(other, Victims):
            return NotImplemented
        return self._parts == other._parts

    def __hash__(self) -> int:
        return hash((self.request, len(self.decisions)))

    @property
    def _parts(self) -> tuple[Any, ...]:
        return self.request, self.decisions, self.refusals

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._parts

    def __len__(self) -> int:
        return len(self.decisions.victims)

    def __bool__(self) -> bool:
        return True  # an empty set is an answer too

    @property
    def names(self) -> tuple[Name | None, ...]:
        """The victims in the order in which they are to leave."""
        return tuple(victim.allocation for victim in self.decisions.victims)

    @property
    def modes(self) -> tuple[str | None, ...]:
        """How each of them leaves; see `evenhand.reasons.MODES`."""
        return tuple(victim.mode for victim in self.decisions.victims)

    @property
    def start(self) -> Decision | None:
        """The first decision that starts the request, or reserves room for it; None if there is none."""
        return next((d for d in self.decisions if d.action in ("start", "reserve")), None)

    @property
    def beneficiary(self) -> Beneficiary | None:
        """The operation and the request that the victims leave for; None without victims."""
        return next((victim.beneficiary for victim in self.decisions.victims), None)

    @property
    def freed(self) -> dict[Name | None, dict[str, float]]:
        """What the victims give back, by node and resource."""
        leaving, snapshot = self.decisions.victims, self.decisions._snapshot
        nodes = leaving.column("node")
        sums = {
            node: leaving.column("freed")[nodes == node].sum(axis=0, dtype=np.int64)
            for node in dict.fromkeys(nodes.tolist())
        }
        names = snapshot.names("nodes")
        amounts = objects(snapshot, np.stack(list(sums.values()))) if sums else []
        return {None if n < 0 else names[n]: row for n, row in zip(sums, amounts, strict=True)}

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """How far the set is known to be the fewest; None if the policy does not look for the fewest.

        ``cost``, ``lower_bound`` (no set that costs less makes room), ``gap`` between both, ``proved``, and
        ``first`` if it is the first set of its cost.
        """
        proof = next((victim.numbers.get("minimum") for victim in self.decisions.victims), None)
        return proof and FrozenDict({**proof, "gap": proof["cost"] - proof["lower_bound"]})

    @property
    def message(self) -> str:
        """One sentence: which leave, or why none does."""
        request, start = printable(shorten(str(self.request))), self.start
        if count := len(self):
            leave = "allocation leaves" if count == 1 else "allocations leave"
            return f"{count:,} {leave} for request {request}{self._proof()}."
        if start is not None and start.action == "start":
            return f"Request {request} starts without victims."
        if start is not None:
            return f"Room is reserved for request {request} without victims."
        found = [refusal.message for refusal in self.refusals]
        return f"No victims: request {request} does not start. {' '.join(found)}".strip()

    def _proof(self) -> str:
        proof = self.certificate
        if proof is None:
            return ""
        if proof["proved"]:
            return ", minimal by its search"
        return f", none cheaper was found (cost {proof['cost']:,}, lower bound {proof['lower_bound']:,})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: ``request, victims, freed, beneficiary, start, certificate, refusals``."""
        served, start, proof = self.beneficiary, self.start, self.certificate
        return {
            "request": self.request,
            "victims": [victim.to_dict() for victim in self.decisions.victims],
            "freed": [{"node": node, "resources": amounts} for node, amounts in self.freed.items()],
            "beneficiary": served and {"operation": served.operation, "request": served.request},
            "start": start and start.to_dict(),
            "certificate": proof and dict(proof),
            "refusals": self.refusals.to_list(),
        }

    def table(self) -> Table:
        """Return one row a victim in order, columns as of `Decisions.table`."""
        return Table(self.decisions.victims.table().to_dict(), title="victims")

    def __repr__(self) -> str:
        return f"{self.message}\n{self.decisions!r}" if len(self.decisions) else self.message

    def _repr_html_(self) -> str:
        from evenhand.display.markup import safe

        body = self.decisions._repr_html_() if len(self.decisions) else ""
        return f"<p>{safe(self.message)}</p>{body}"


@checked("victims", snapshot="Any", policy="Any", state="Any", node="Any")
def victims(
    snapshot: Snapshot | Cluster,
    policy: Policy,
    request: str | int,
    node: str | int | None = None,
    state: State | None = None,
) -> Victims:
    """Return which allocations must leave so that a request can start, in their order.

    Parameters
    ----------
    snapshot : Snapshot or Cluster
    policy : policy
        One of `evenhand.policies`.
    request : str or int
        Name of the request that is to start.
    node : str or int, optional
        Where; only with policies that act on the heartbeat of a node. By default the node, or the nodes,
        that the policy chooses.
    state : State, optional
        What the plan before left; of a cluster by default what it keeps of the policy.

    Returns
    -------
    Victims
        The first step of ``evenhand.plan(snapshot, policy, state)`` that serves the request, with `node` of
        the plan ``on=evenhand.Heartbeat(node)``, and the plan's refusals of the request. The set is empty
        where the request starts without victims, and where it does not start.

    Raises
    ------
    InputError
        If there is no such request or node, a node is given to a policy that chooses nodes itself, or as of
        `evenhand.plan`.

    See Also
    --------
    evenhand.Plan.why_not : what stands in the way of a request, in full.

    Notes
    -----
    One plan: requests that the policy serves before this one take their room and their victims first, as
    they do in the plan. Nothing of a cluster changes.

    Examples
    --------
    >>> import evenhand as eh
    >>> snapshot = eh.Snapshot.from_dict({
    ...     "now": 100, "resources": {"cpu": {}},
    ...     "nodes": [{"name": "n1", "capacity": {"cpu": 2}}],
    ...     "operations": [{"name": "old", "priority": 1}, {"name": "new", "priority": 20}],
    ...     "allocations": [{"name": f"a{i}", "operation": "old", "node": "n1", "resources": {"cpu": 1},
    ...                      "start_time": i} for i in range(2)],
    ...     "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 1}}]})
    >>> found = eh.victims(snapshot, eh.policies.BackendAI(), "r")
    >>> found.names, found.modes, found.freed
    (('a0', 'a1'), ('terminate', 'terminate'), {'n1': {'cpu': 2}})
    """
    frozen = snapshot_of("victims", snapshot)
    expect_policy("victims", policy)
    if frozen is not snapshot and state is None:
        state = snapshot.state(policy)  # type: ignore[union-attr]  # a Cluster
    row = _request_row(frozen, request)
    on = None
    if node is not None:
        if Heartbeat not in policy.RECORD.triggers:
            message = f"node is given, but the {type(policy).__name__} policy chooses nodes itself"
            raise InputError([Problem("victims", None, None, "node", "unknown_field", None, message)])
        on = Heartbeat(node)
    made = plan(frozen, policy, state, on=on)
    decisions = made.decisions
    column = decisions.column
    served = np.flatnonzero((column("request") == row) | (column("beneficiary_request") == row))
    steps = column("step")
    rows = np.flatnonzero(steps == steps[served[0]]) if len(served) else served
    refused = np.flatnonzero(made.refusals.column("request") == row)
    return Victims(frozen.names("requests")[row], decisions.take(rows), made.refusals.take(refused))


def _request_row(snapshot: Snapshot, request: Any) -> int:
    named = isinstance(request, str | int) and not isinstance(request, bool)
    expect(named, "victims", "request", request, "the name of a request")
    rows = rows_by_name(snapshot, "requests")
    row = rows.get(str(request))
    if row is None:
        shown = shorten(str(request))
        message = printable(f'there is no request "{shown}"{nearest(request, rows)}')
        raise InputError([Problem("victims", None, None, "request", "exists", shown, message)])
    return row
