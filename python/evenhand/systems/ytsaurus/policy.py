"""YTsaurus: fair share with starvation, allocation groups and preemption at a node's heartbeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand import _core
from evenhand.accepted import checked, plain
from evenhand.building.readback import seconds
from evenhand.config.triggers import Heartbeat, Round
from evenhand.errors import InputError, Problem, shorten
from evenhand.plans.memory import next_state
from evenhand.plans.plan import Plan
from evenhand.reasons import STAGES
from evenhand.share_inputs import memory_of, options_of
from evenhand.shares import Shares
from evenhand.systems.base import Policy
from evenhand.systems.ytsaurus import columns, turns
from evenhand.systems.ytsaurus.record import YTSAURUS
from evenhand.systems.ytsaurus.settings import YTsaurusSettings

if TYPE_CHECKING:
    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows
    from evenhand.simulate.result import Result
    from evenhand.state import State

__all__ = ["YTsaurus"]


#: Names that are integers are below this.
_MOST = 2**63


class YTsaurus(Policy):
    """Preemption as YTsaurus does it, or as its documentation says.

    Parameters
    ----------
    preset : {"documented", "upstream"}
        What the published description says (the default), or what the system does.
    **settings
        Fields of `evenhand.systems.ytsaurus.settings.YTsaurusSettings` that differ from the preset.

    Attributes
    ----------
    preset : str
    settings : YTsaurusSettings

    Raises
    ------
    InputError
        If a setting is unknown or breaks a rule.

    Notes
    -----
    Immutable. Source: YTsaurus, preemption documentation, strategy and scheduling policy.

    A plan is one update and the heartbeats that follow it: of all nodes (`Round`), or of those listed
    (`Heartbeat`), in this order. Given may be ``fair_share``, ``starvation`` and ``groups`` by name.

    Examples
    --------
    >>> import evenhand as eh
    >>> policy = eh.policies.YTsaurus(fair_share_starvation_timeout="1m")
    >>> policy.replace(victim_selection="minimum").settings.victim_selection
    'minimum'
    """

    RECORD = YTSAURUS
    model = YTsaurusSettings
    ROUNDS = "updates"
    CLOCKS: ClassVar[Mapping[str, float]] = {"heartbeat_period": 10.0}
    SHARED = columns.SHARED
    __slots__ = ()

    settings: YTsaurusSettings

    #: How protected an allocation is on a node, from low to high.
    LEVELS = (
        "ssd_non_preemptible",
        "ssd_aggressively_preemptible",
        "non_preemptible",
        "aggressively_preemptible",
        "preemptible",
    )

    @checked("stages")
    def stages(self, *, ssd_node: bool = False) -> tuple[tuple[str, str], ...]:
        """Return the preemptive stages of a heartbeat, in the order in which they run.

        Parameters
        ----------
        ssd_node : bool
            Whether the node has fast disks that the SSD stages are for.

        Returns
        -------
        tuple of (stage, level)
            A stage may take allocations of that level of `LEVELS` and above.

        Examples
        --------
        >>> import evenhand as eh
        >>> eh.policies.YTsaurus().stages()
        (('preemptive', 'preemptible'), ('aggressive', 'aggressively_preemptible'))
        """
        full_host = self.settings.default_gpu_full_host_preemption.enable
        values = {**columns.switches(self.settings), "full_host_stage": full_host}
        return tuple((STAGES[stage], level) for stage, level in _core.ytsaurus_stages(values, ssd_node))

    def _given(self, snapshot: Any, given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:  # noqa: ARG002
        return given

    def _columns(self, snapshot: Snapshot, given: Mapping[str, Any] | None) -> dict[str, Any]:
        rows = columns.row_columns(snapshot, self.settings)
        values = columns.given_columns(snapshot, given)
        options, _ = options_of(snapshot, self.settings.fair_share)
        settings = columns.tree_settings(snapshot, self.settings)
        return {"settings": settings, "fair_share": options, "rows": rows, "given": values}

    def _inputs(
        self, snapshot: Snapshot, state: State | None, given: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
        made, found = super()._inputs(snapshot, state, given)
        volumes, dropped = (
            (None, ()) if state is None else memory_of(snapshot, self.settings.fair_share, state)
        )
        return {**made, "volumes": volumes}, (*found, *dropped)

    def noted(self, plan: Plan) -> tuple[Diagnostic, ...]:
        """Say what starts and may be preempted at once, and what stays though others wait."""
        return turns.of_plan(plan)

    def noted_of_run(self, result: Result) -> tuple[Diagnostic, ...]:
        """Say the same of a simulation."""
        return turns.of_run(result)

    @property
    def period(self) -> int | None:
        """For how many microseconds a live cluster's heartbeats use an update."""
        return round(self.settings.fair_share_update_period * 1e6)

    def _later(self, stage: LiveRows, table: str, rows: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        return columns.later_columns(stage, self.settings, table, rows)

    def drive(self, clocks: Mapping[str, int]) -> dict[str, Any]:
        """Return how a simulation asks it: heartbeats, and updates at ticks of their own."""
        return {
            "drive": 0,
            "period": clocks["heartbeat_period"],
            "second": self.period,
            "saved_progress": self.settings.order_key == "last_progress",
        }

    def coming(self, rows: Snapshot) -> dict[str, Any]:
        """Return what the operations of a workload set."""
        return columns.coming_columns(rows, self.settings)

    def share(self, planner: Any, policies: Sequence[Any], rows: Snapshot) -> bool:
        """Let policies that differ in `SHARED` alone share a planner's run; whether they can.

        Parameters
        ----------
        planner : _core.Planner
            Of the first of them, before any update.
        policies : sequence of policy
        rows : Snapshot
            Of the workload that comes.

        Returns
        -------
        bool
        """
        if {"tolerance", "timeout", "graceful"} & set(self.coming(rows)):
            return False
        return bool(_core.ytsaurus_share(planner, columns.shared_columns([p.settings for p in policies])))

    def apart(self, planner: Any) -> list[int]:
        """Return which of those that share a planner came to something else in its last step."""
        rows: list[int] = _core.ytsaurus_apart(planner).tolist()
        return rows

    def become(self, planner: Any, rows: Sequence[int]) -> None:
        """Let a planner be that of these of them, the first of which leads."""
        _core.ytsaurus_become(planner, np.array(rows, np.int32))

    def decides(self, on: Any, find: Callable[[list[Any]], list[int]] | None = None) -> dict[str, Any]:
        """Return a trigger as arguments of a planner; `find` gives the rows of nodes, -1: there is none."""
        return {} if find is None or isinstance(on, Round) else {"nodes": _rows(on, find)}

    def remembered(self, planner: Any, stage: LiveRows, decided: int) -> State:
        """Return what a planner remembers, as the state of its last decision's instant (microseconds)."""
        shares = Shares(stage.base, self.settings.fair_share, planner.shares, ())
        updated, time = seconds(np.array([planner.updated, decided])).tolist()
        before = replace(shares.state, time=time, updated=None if updated == time else updated)
        return next_state(stage, self, before, planner.memory())


def _rows(on: Heartbeat | tuple[Heartbeat, ...], find: Callable[[list[Any]], list[int]]) -> list[int]:
    """Return the nodes of heartbeats; `find` gives the rows of names, -1: there is none."""
    names = [one.node for one in on] if isinstance(on, tuple) else [on.node]
    for name in names:
        own = name if type(name) is str else plain(name)
        if not isinstance(own, str) and not (isinstance(own, int) and abs(own) < _MOST):
            raise _no_node(shorten(name))
    rows = find(names)
    if -1 in rows:
        raise _no_node(repr(names[rows.index(-1)]))
    return rows


def _no_node(name: str) -> InputError:
    return InputError([Problem("trigger", None, None, "node", "exists", name, f"there is no node {name}")])
