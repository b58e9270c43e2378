"""Grid Engine: jobs by priority, reservations, and preemption by request or by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand import _core
from evenhand.config.triggers import Commands
from evenhand.diagnostics import Diagnostic
from evenhand.explain.facts import name_of
from evenhand.plans.plan import Plan
from evenhand.systems.base import Policy
from evenhand.systems.gridengine import columns
from evenhand.systems.gridengine.commands import parse_command, suspend_method
from evenhand.systems.gridengine.effects import effects
from evenhand.systems.gridengine.record import GRIDENGINE
from evenhand.systems.gridengine.settings import GridEngineSettings
from evenhand.systems.gridengine.subordinates import BY_QUEUE, queue_numbers
from evenhand.units.text import number

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows

__all__ = ["GridEngine"]


class GridEngine(Policy):
    """Scheduling runs with resource reservation, and preemption as Univa Grid Engine's manual describes it.

    Parameters
    ----------
    preset : {"documented", "upstream"}
        There is no open implementation to differ from: both are what the manual says.
    **settings
        Fields of `evenhand.systems.gridengine.settings.GridEngineSettings`.

    Attributes
    ----------
    preset : str
    settings : GridEngineSettings

    Raises
    ------
    InputError
        If a setting is unknown or breaks a rule.

    Notes
    -----
    Immutable. Jobs, each task of an array for itself, are operations; ``priority`` is the final priority.
    Source: Univa Grid Engine 8.5.4, sge_preemption(5).

    A plan is one scheduling run (`SchedulingRun`), or judges requests (`Commands`), of which the next run
    carries out those accepted; nothing is given. O(jobs × hosts) tests of room; for each job with a
    reservation O(hosts × changes of their room).

    Examples
    --------
    >>> import evenhand as eh
    >>> eh.policies.GridEngine(max_reservation=10, max_preemptees=4, preemption_distance="00:05:00")
    GridEngine('documented', max_reservation=10, max_preemptees=4, preemption_distance=300.0)
    """

    RECORD = GRIDENGINE
    model = GridEngineSettings
    CLOCKS: ClassVar[Mapping[str, float]] = {"schedule_interval": 15.0}
    __slots__ = ()

    settings: GridEngineSettings

    parse_command = staticmethod(parse_command)
    effects = staticmethod(effects)
    suspend_method = staticmethod(suspend_method)

    def _columns(self, snapshot: Snapshot, given: Mapping[str, Any] | None) -> dict[str, Any]:  # noqa: ARG002
        rows = columns.row_columns(snapshot, self.settings)
        return {"settings": columns.switches(snapshot, self.settings), "rows": rows}

    def _said(self, snapshot: Snapshot, on: Any, core: Any) -> Iterable[Diagnostic]:  # noqa: ARG002
        return _accepted(on, core)

    @classmethod
    def together(
        cls, snapshots: Mapping[str, Snapshot], each: Mapping[str, tuple[Any, Any, Any, Any]]
    ) -> dict[str, Plan] | None:
        """Plan scheduling runs of clusters that share licences; None: they are planned one by one.

        Parameters
        ----------
        snapshots : mapping of str to Snapshot
        each : mapping of str to tuple
            By the same names the policy, state, trigger and given values.

        Returns
        -------
        dict of str to Plan, or None
            Of jobs that wait, the one of the highest priority is served first, wherever it is. Where commands
            are judged no run takes place, but what has licences there counts elsewhere.
        """
        shared = [set(policy.settings.lo_licenses) for policy, *_ in each.values()]
        runs = [not isinstance(policy._trigger(on), Commands) for policy, _, on, _ in each.values()]
        if not any(runs) or not any(a & b for i, a in enumerate(shared) for b in shared[:i]):
            return None
        cores, found = {}, {}
        for name, (policy, state, _, given) in each.items():
            policy._expect(snapshots[name], state, given)
            policy._given(snapshots[name], given)
            cores[name], found[name] = policy._planner(snapshots[name], state, given)
        _core.gridengine_together(list(cores.values()), runs)
        plans = {}
        for (name, (policy, state, on, given)), run in zip(each.items(), runs, strict=True):
            trigger, core = policy._trigger(on), cores[name]
            if not run:
                core.plan(**policy.decides(trigger))
            said = (*found[name], *_accepted(trigger, core))
            plans[name] = Plan(snapshots[name], policy, core, state, trigger, given, said)
        return plans

    def _later(self, stage: LiveRows, table: str, rows: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        return columns.later_columns(stage, self.settings, table, rows)

    def drive(self, clocks: Mapping[str, int]) -> dict[str, Any]:
        """Return how a simulation asks it: runs at ticks."""
        return {
            "drive": 2,
            "period": clocks["schedule_interval"],
            "whole_operations": True,
            "planned_ends": True,
        }

    def coming(self, rows: Snapshot) -> dict[str, Any]:
        """Return what the jobs of a workload set."""
        found = columns.row_columns(rows, self.settings)
        return {name: found[name] for name in ("job_name",) if name in found}

    def decides(
        self,
        on: Any,
        find: Callable[[list[Any]], list[int]] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return a trigger as arguments of a planner."""
        return {"commands": columns.command_rows(on)} if isinstance(on, Commands) else {}

    def counted(self, code: str, queue: int, count: int, most: int) -> dict[str, Any]:
        """Return what was counted in a queue where a job was left as it is; nothing of other codes.

        Parameters
        ----------
        code : str
            An outcome; see `evenhand.reasons`.
        queue : int
            Number of the queue whose list decides.
        count, most : int
            Jobs that run in it and below it, or slots of it in use; and how many may.

        Returns
        -------
        dict
        """
        if code not in BY_QUEUE:
            return {}
        names = [*queue_numbers(self.settings.queues)]
        return {"queue": names[queue], "count": count, "most": most}

    def standing(self, snapshot: Snapshot, row: int) -> str:
        """Say which priority a job has.

        Parameters
        ----------
        snapshot : Snapshot
        row : int
            Among the operations.

        Returns
        -------
        str
        """
        priorities = np.asarray(snapshot._core.column("operations", "priority"))
        priority = float(priorities[row]) if len(priorities) else 0.0
        return f"job {name_of(snapshot.names('operations')[row])} has priority {number(priority)}"


def _accepted(on: Any, core: Any) -> list[Diagnostic]:
    """Return the answer to every command that was accepted."""
    if not isinstance(on, Commands):
        return []
    refusals = core.refusals()
    refused = set(refusals["command"].tolist()) if "command" in refusals else set()
    return [
        Diagnostic(
            "preemption_request_accepted",
            (command.consumer,),
            f"Accepted preemption request for preemptor candidate {command.consumer}",
            {"command": place},
        )
        for place, command in enumerate(on.rows)
        if place not in refused
    ]
