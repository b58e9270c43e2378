"""A live cluster as a state machine of hypothesis, held against rows and states that are kept by hand.

Needs the extra `test`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.arguments import expect
from evenhand.errors import require

require("hypothesis", "test")

from hypothesis import note  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule  # noqa: E402

from evenhand.systems.base import Policy  # noqa: E402
from evenhand.testing.living.beginnings import beginnings  # noqa: E402
from evenhand.testing.living.life import Begin, Life  # noqa: E402
from evenhand.testing.strategies._pasted import Pasted  # noqa: E402
from evenhand.testing.strategies._picking import Pick, picks  # noqa: E402
from evenhand.testing.strategies.clusters import SYSTEMS, cluster_dicts, system_cluster_dicts  # noqa: E402
from evenhand.testing.strategies.policies import policies  # noqa: E402

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.plans import Plan

__all__ = ["LiveClusterMachine", "live_cluster_machine"]

Law = Callable[[Sequence["Plan"]], None]

_choices = picks(96)


class LiveClusterMachine(RuleBasedStateMachine):
    """A cluster that lives on, and what has to hold of it after every step.

    `live_cluster_machine` makes one for a policy; a subclass may add rules. Its ``TestCase`` is what pytest
    and unittest run.

    Attributes
    ----------
    begins : SearchStrategy[Begin]
        Of what there is at first.
    laws : tuple of callables
        Each takes the policy's plans that were carried out so far, in order, and raises `AssertionError`.
    life : Life
        The cluster, and the rows and states that are kept beside it.

    Notes
    -----
    Rows come, go, come back and are put again, with and without each cell, under names that sort before,
    between and after the others, before the first plan and between plans. Every event and trigger is drawn,
    batches that are right only at their end and ones that fail; other policies, ``given``, plans that are
    read or carried out late, marks and undo, copies, files and pickles.

    Whatever laws there are, this holds: decisions, refusals, statuses, groups, diagnostics, counts, state,
    texts of ``why`` and snapshots are those of `evenhand.plan` of the rows and the state as they are kept by
    hand, from the events' documentation alone.
    """

    begins: ClassVar[SearchStrategy[Begin]]
    laws: ClassVar[tuple[Law, ...]] = ()

    life: Life
    _sound = False  # whether there is nothing wrong so far

    @initialize(data=st.data())
    def _begins(self, data: st.DataObject) -> None:
        begin = data.draw(self.begins, label="begin")
        note(Pasted(dict(begin.cluster)))
        self.life = Life(begin)
        self._sound = True

    def _do(self, step: str, pick: Pick) -> None:
        shown, carried = len(self.life.trace), len(self.life.plans)
        self._sound = False
        try:
            self.life.do(step, pick)
        finally:
            for said in self.life.trace[shown:]:
                note(str(said))
        if len(self.life.plans) > carried:
            for law in self.laws:
                law(self.life.plans)
        self._sound = True

    @rule(pick=_choices)
    def events_happen(self, pick: Pick) -> None:
        """Let a batch of events happen, all of it or nothing."""
        self._do("events", pick)

    @rule(pick=_choices)
    def rows_return(self, pick: Pick) -> None:
        """Put what is remembered in another place of its order, with what refers to it, and plan."""
        self._do("rows return", pick)

    @rule(pick=_choices)
    def rows_succeed(self, pick: Pick) -> None:
        """Let a row with settings go, and one without come after it, each before a plan."""
        self._do("rows succeed", pick)

    @rule(pick=_choices)
    def time_passes(self, pick: Pick) -> None:
        """Let nothing but time pass."""
        self._do("time", pick)

    @rule(pick=_choices)
    def plans(self, pick: Pick) -> None:
        """Plan, and compare the plan, now or later."""
        self._do("plan", pick)

    @rule(pick=_choices)
    def plans_and_carries_out(self, pick: Pick) -> None:
        """Plan, compare, and carry the plan out."""
        self._do("carry out", pick)

    @rule(pick=_choices)
    def carries_out_late(self, pick: Pick) -> None:
        """Carry out a plan of an earlier instant."""
        self._do("carry out late", pick)

    @rule(pick=_choices)
    def reads_late(self, pick: Pick) -> None:
        """Read a plan of an earlier instant."""
        self._do("read late", pick)

    @rule(pick=_choices)
    def victims_leave(self, pick: Pick) -> None:
        """Let what was asked to leave end."""
        self._do("victims leave", pick)

    @rule(pick=_choices)
    def nodes_report(self, pick: Pick) -> None:
        """Update, and plan heartbeats that use the update."""
        self._do("report", pick)

    @rule(pick=_choices)
    def looks(self, pick: Pick) -> None:
        """Compare rows, usage and states."""
        self._do("look", pick)

    @rule(pick=_choices)
    def is_written_and_read(self, pick: Pick) -> None:
        """Continue with a copy, a pickle or a file."""
        self._do("elsewhere", pick)

    @rule(pick=_choices)
    def marks(self, pick: Pick) -> None:
        """Remember an instant."""
        self._do("mark", pick)

    @rule(pick=_choices)
    def goes_back(self, pick: Pick) -> None:
        """Go back to an instant."""
        self._do("go back", pick)

    @rule(pick=_choices)
    def waits(self, pick: Pick) -> None:
        """Look in between, before a plan is due."""
        self._do("wait", pick)

    def teardown(self) -> None:
        """Compare what has not been looked at."""
        if self._sound:
            self.life.ends()


def live_cluster_machine(
    policy: Policy | SearchStrategy[Policy] | None = None,
    clusters: SearchStrategy[dict[str, Any]] | None = None,
    laws: Sequence[Law] = (),
) -> type[LiveClusterMachine]:
    """Return a machine that holds a live cluster of a policy against `evenhand.plan`.

    Parameters
    ----------
    policy : policy or SearchStrategy of policies, optional
        What plans; by default those of all systems.
    clusters : SearchStrategy[dict], optional
        Of the beginnings, and of rows that come later, in the file format; by default those of the policy's
        system (`strategies.system_cluster_dicts`), or `strategies.cluster_dicts` where that cannot be told.
    laws : sequence of callables
        Each takes the policy's plans that were carried out so far. Rows come back under their names, so a law
        that goes by name has to allow for it.

    Returns
    -------
    type
        ``TestLive = live_cluster_machine(policy).TestCase`` in a module of tests is what pytest runs.

    Raises
    ------
    InputError
        If the policy is neither.
    """
    own: SearchStrategy[Policy]
    if policy is None or isinstance(policy, st.SearchStrategy):
        own = policies() if policy is None else policy
        clusters = cluster_dicts() if clusters is None else clusters
        others = own
    else:
        known = isinstance(policy, Policy)
        expect(known, "live_cluster_machine", "policy", policy, "a policy, or a strategy")
        system = policy.system
        own = st.just(policy)
        others = policies(system) if system in SYSTEMS else own
        if clusters is None:
            clusters = system_cluster_dicts(system) if system in SYSTEMS else cluster_dicts()
    fields: dict[str, Any] = {"laws": tuple(laws), "begins": beginnings(clusters, own, others)}
    return type("LiveClusterMachine", (LiveClusterMachine,), fields)
