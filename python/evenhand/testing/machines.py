"""A live cluster as a state machine of hypothesis: rules let events happen, plans be carried out, and more.

Needs the extra `test`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.errors import require

require("hypothesis", "test")

from hypothesis import note  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule  # noqa: E402

from evenhand.testing._laws import must  # noqa: E402
from evenhand.testing.happened import tell  # noqa: E402
from evenhand.testing.strategies._happening import Happening  # noqa: E402
from evenhand.testing.strategies._pasted import Pasted  # noqa: E402
from evenhand.testing.strategies.clusters import cluster_dicts  # noqa: E402
from evenhand.testing.strategies.histories import codes  # noqa: E402
from evenhand.testing.strategies.policies import policies  # noqa: E402

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.cluster import Cluster
    from evenhand.cluster.events import Event
    from evenhand.plans import Plan
    from evenhand.systems.base import Policy

__all__ = ["LiveClusterMachine", "live_cluster_machine"]

Law = Callable[[Sequence["Plan"]], None]


class LiveClusterMachine(RuleBasedStateMachine):
    """A cluster that lives on, and what has to hold of it after every step.

    A subclass names its own clusters, policies and laws (or `live_cluster_machine` makes one), and may add
    rules and invariants. Its ``TestCase`` is what pytest and unittest run.

    Attributes
    ----------
    clusters : SearchStrategy[dict]
        Of the beginnings, in the file format.
    policies : SearchStrategy[Policy]
        Of what plans.
    laws : tuple of callables
        Each takes the plans that were carried out so far, in their order, and raises `AssertionError`.
    cluster : Cluster
    policy : Policy
    plans : list of Plan
        Those that were carried out.

    Notes
    -----
    Whatever laws there are, this holds: the snapshot of the cluster is the one that is built of its rows
    afresh; a plan of the live cluster is that of its snapshot and state; what is undone never happened; and a
    copy that was written and read again plans the same.
    """

    clusters: SearchStrategy[dict[str, Any]] = cluster_dicts()
    policies: SearchStrategy[Policy] = policies()
    laws: tuple[Law, ...] = ()

    cluster: Cluster
    policy: Policy

    def __init__(self) -> None:
        super().__init__()
        self.plans: list[Plan] = []

    @initialize(data=st.data())
    def begins(self, data: st.DataObject) -> None:
        """Begin with a cluster and a policy."""
        from evenhand.cluster import Cluster
        from evenhand.model import Snapshot

        drawn = data.draw(self.clusters, label="cluster")
        note(Pasted(drawn))
        self.policy = data.draw(self.policies, label="policy")
        self.cluster = Cluster(Snapshot.from_dict(drawn), self.policy)
        self._look()

    def _look(self) -> None:
        """Take the rows for coming events from the cluster."""
        self._happening = Happening(self.cluster.snapshot().to_dict())

    def _event(self, data: st.DataObject) -> Event:
        event = self._happening.next(data.draw(codes))
        note(f"event: {event!r}")
        return event

    @rule(data=st.data())
    def happens(self, data: st.DataObject) -> None:
        """Let an event happen."""
        self.cluster.apply([self._event(data)])

    @rule(seconds=st.sampled_from((1, 10, 60, 600, 7200)))
    def time_passes(self, seconds: float) -> None:
        """Let nothing but time pass."""
        self.cluster.apply([{"event": "time", "now": self.cluster.now + seconds}])
        self._look()

    @rule()
    def plans_and_carries_out(self) -> None:
        """Plan, compare the plan with that of a frozen cluster, hold it against the laws, carry it out."""
        from evenhand.plans.planning import plan as planned

        state, snapshot = self.cluster.state(self.policy), self.cluster.snapshot()
        plan = self.cluster.plan()
        frozen = planned(snapshot, self.policy, state)
        must(plan.to_dict() == frozen.to_dict(), "the plan of the live cluster is another")
        self.cluster.carry_out(plan)
        tell(frozen)
        self.plans.append(frozen)
        self._look()
        for law in self.laws:
            law(self.plans)

    @rule()
    def victims_leave(self) -> None:
        """Let all that was asked to leave end."""
        rows = self.cluster.snapshot().to_dict().get("allocations", ())
        leaving = [row["name"] for row in rows if row.get("state") == "preempting"]
        self.cluster.apply([{"event": "end", "allocation": name} for name in leaving])
        self._look()

    @rule(data=st.data(), count=st.integers(1, 5))
    def undone(self, data: st.DataObject, count: int) -> None:
        """Let some events happen and undo them."""
        mark, before = self.cluster.mark(), self.cluster.copy()
        for _ in range(count):
            self.cluster.apply([self._event(data)])
        self.cluster.undo(mark)
        self._look()
        must(self.cluster.snapshot() == before.snapshot(), "what was undone has left something")
        must(self.cluster.state(self.policy) == before.state(self.policy), "the state is another")

    @rule()
    def written_and_read(self) -> None:
        """Go on with a copy that was written and read; the plan of both is the same."""
        other = pickle.loads(pickle.dumps(self.cluster))  # noqa: S301 - written a moment ago
        must(other.snapshot() == self.cluster.snapshot(), "the copy that was read is another cluster")
        one, another = self.cluster.copy().plan(), other.copy().plan()
        must(one.to_dict() == another.to_dict(), "the copy that was read plans something else")
        self.cluster = other

    @invariant()
    def snapshots_are_those_of_the_rows(self) -> None:
        """Compare the cluster with one that is built of its rows afresh."""
        from evenhand.model import Snapshot

        if hasattr(self, "cluster"):
            snapshot = self.cluster.snapshot()
            must(Snapshot.from_dict(snapshot.to_dict()) == snapshot, "the rows say another snapshot")


def live_cluster_machine(
    clusters: SearchStrategy[dict[str, Any]] | None = None,
    policies: SearchStrategy[Policy] | None = None,
    laws: Sequence[Law] = (),
) -> type[LiveClusterMachine]:
    """Return a machine of your clusters, policies and laws.

    Parameters
    ----------
    clusters : SearchStrategy[dict], optional
        Of the beginnings, in the file format; by default `strategies.cluster_dicts`.
    policies : SearchStrategy[Policy], optional
        By default those of all systems.
    laws : sequence of callables
        Such as those of `evenhand.testing.successive`: each takes the plans that were carried out so far.

    Returns
    -------
    type
        ``TestLive = live_cluster_machine(...).TestCase`` in a module of tests is what pytest runs.
    """
    fields: dict[str, Any] = {"laws": tuple(laws)}
    if clusters is not None:
        fields["clusters"] = clusters
    if policies is not None:
        fields["policies"] = policies
    return type("LiveClusterMachine", (LiveClusterMachine,), fields)
