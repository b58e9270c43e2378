"""Plans of several policies for one snapshot, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.plans.columns import amounts_of, picked
from evenhand.reasons import ACTIONS, REASONS
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.explain import Explanation
    from evenhand.plans.plan import Plan

__all__ = ["SideBySide", "side_by_side"]


class SideBySide(Tabular):
    """What several policies would do with one snapshot. Made by `side_by_side`.

    Attributes
    ----------
    plans : mapping of str to Plan
        As they were given.
    """

    __slots__ = ("plans",)

    plans: Mapping[str, Plan]

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self.plans = dict(plans)

    def table(self) -> Table:
        """Return one row an allocation that anybody preempts.

        Those that most plans preempt come first, then each plan's first victims.

        Returns
        -------
        Table
            ``allocation, operation, node``, then for each plan ``<name>.for`` (the operation that it leaves
            for) and ``<name>.reason``; both None where it stays.
        """
        snapshot = next(iter(self.plans.values())).snapshot
        taken = {name: _victims(plan) for name, plan in self.plans.items()}
        # Where each plan has each allocation among its victims; -1: it stays.
        place = np.full((len(taken), snapshot.allocation_count), -1, np.int64)
        for at, victims in zip(place, taken.values(), strict=True):
            at[victims["allocation"]] = np.arange(len(victims["allocation"]))
        times = (place >= 0).sum(axis=0)
        first = np.where(place >= 0, place, snapshot.allocation_count).min(axis=0)
        rows = np.lexsort((first, -times))[: np.count_nonzero(times)]
        core, operations = snapshot._core, snapshot.names("operations")
        columns: dict[str, Any] = {
            "allocation": picked(snapshot.names("allocations"), rows),
            "operation": picked(operations, np.asarray(core.column("allocations", "operation"))[rows]),
            "node": picked(snapshot.names("nodes"), np.asarray(core.column("allocations", "node"))[rows]),
        }
        for (name, victims), of_plan in zip(taken.items(), place[:, rows].tolist(), strict=True):
            whom, why = victims["beneficiary_operation"].tolist(), victims["reason"].tolist()
            columns[f"{name}.for"] = [None if i < 0 or whom[i] < 0 else operations[whom[i]] for i in of_plan]
            columns[f"{name}.reason"] = [None if i < 0 else REASONS[why[i]] for i in of_plan]
        return Table(columns, title="who is preempted, side by side")

    def summary(self) -> Table:
        """Return one row a plan.

        Returns
        -------
        Table
            ``plan``, then how many ``allocations`` of how many ``operations`` are preempted, ``for`` how many
            operations, how many of the allocations ``only_here``, for which ``reasons``, how many requests
            are started (``starts``), and what is freed, one column a resource (``freed.cpu``).
        """
        taken = {name: _victims(plan) for name, plan in self.plans.items()}
        rows, times = np.unique(np.concatenate([v["allocation"] for v in taken.values()]), return_counts=True)
        once = rows[times == 1]
        whom = {n: v["beneficiary_operation"][v["beneficiary_operation"] >= 0] for n, v in taken.items()}
        columns: dict[str, Any] = {
            "plan": list(self.plans),
            "allocations": [len(v["allocation"]) for v in taken.values()],
            "operations": [len(np.unique(v["operation"])) for v in taken.values()],
            "for": [len(np.unique(rows)) for rows in whom.values()],
            "only_here": [int(np.isin(v["allocation"], once).sum()) for v in taken.values()],
            "reasons": [", ".join(REASONS[i] for i in np.unique(v["reason"])) for v in taken.values()],
            "starts": [len(plan.decisions.starts) for plan in self.plans.values()],
        }
        snapshot = next(iter(self.plans.values())).snapshot
        freed = amounts_of(snapshot, np.stack([v["freed"].sum(axis=0) for v in taken.values()]))
        columns |= {f"freed.{r}": freed[:, i] for i, r in enumerate(snapshot.resources)}
        return Table(columns, title="plans, side by side")

    def why(self, name: str | int, *, table: str | None = None) -> dict[str, Explanation]:
        """Ask every plan what it says of a name.

        Parameters
        ----------
        name : str or int
        table : str, optional
            As of `Plan.why`.

        Returns
        -------
        dict of str to Explanation

        Raises
        ------
        KeyError
            If there is no such name.
        """
        return {plan: each.why(name, table=table) for plan, each in self.plans.items()}

    def _served(self) -> Table:
        """Return `table` in short: whom an allocation leaves for, a column a plan."""
        table = self.table()
        columns: dict[str, Any] = {name: table[name] for name in ("allocation", "operation", "node")}
        columns |= {f"for, {name}": table[f"{name}.for"] for name in self.plans}
        return Table(columns, title=table.title)

    def __repr__(self) -> str:
        return f"{self.summary()!r}\n\n{self._served()!r}"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_() + self._served()._repr_html_()


def side_by_side(plans: Mapping[str, Plan]) -> SideBySide:
    """Put plans of one snapshot side by side: who is preempted by whom, for whom, and why.

    Parameters
    ----------
    plans : mapping of str to Plan
        By a name of your choice, usually one a policy; all of the same snapshot.

    Returns
    -------
    SideBySide

    Raises
    ------
    ValueError
        If there is no plan, or they are of different snapshots.

    See Also
    --------
    evenhand.history.side_by_side : who is owed what, by four systems.
    evenhand.plot.side_by_side : the picture.

    Notes
    -----
    O(decisions) a plan, each time that a table is asked for.

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
    >>> backendai = eh.policies.BackendAI()
    >>> eh.plans.side_by_side({
    ...     "on": eh.plan(snapshot, backendai),
    ...     "off": eh.plan(snapshot, backendai.replace(enabled=False)),
    ... }).summary()
    plans, side by side
    plan  allocations  operations  for  only_here  reasons         starts  freed.cpu
    on              2           1    1          2  lower_priority       0     2.0000
    off             0           0    0          0                       0     0.0000
    """
    if not plans:
        raise ValueError("there is no plan")
    first, *others = plans.values()
    if any(other.snapshot != first.snapshot for other in others):
        raise ValueError("the plans are of different snapshots")
    return SideBySide(plans)


def _victims(plan: Plan) -> dict[str, NDArray[Any]]:
    """Return the core's columns of a plan's preemptions."""
    columns = plan.decisions.columns
    preempts = columns["action"] == ACTIONS.index("preempt")
    wanted = ("allocation", "operation", "beneficiary_operation", "reason", "freed")
    return {name: np.asarray(columns[name])[preempts] for name in wanted}
