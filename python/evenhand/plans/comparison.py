"""Plans of several policies for one snapshot, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import checked
from evenhand.arguments import expect
from evenhand.errors import InputError
from evenhand.frozen import Frozen, FrozenDict
from evenhand.plans.columns import amounts_of, picked, seconds_of
from evenhand.reasons import ACTIONS, MODES, REASONS
from evenhand.table import Table, Tabular
from evenhand.units.text import duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.explain import Explanation
    from evenhand.plans.plan import Plan

__all__ = ["SideBySide", "side_by_side"]

_PREEMPT = ACTIONS.index("preempt")


class SideBySide(Frozen, Tabular):
    """What several policies would do with one snapshot. Made by `side_by_side`.

    Attributes
    ----------
    plans : mapping of str to Plan
        As they were given.
    """

    __slots__ = ("plans",)

    plans: Mapping[str, Plan]

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self._keep(plans=FrozenDict(plans))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self.plans),)

    def table(self) -> Table:
        """Return one row an allocation that any plan preempts, resumes or releases.

        Those that most plans touch come first, then each plan's first.

        Returns
        -------
        Table
            ``allocation, operation, node``, then for each plan ``<name>.for`` (the operation that it leaves
            for), ``<name>.action``, ``<name>.reason``, ``<name>.mode`` and ``<name>.grace`` (seconds, of
            preemptions); all None where the plan leaves it alone.
        """
        snapshot = next(iter(self.plans.values())).snapshot
        touched = {name: _rows_of(plan, "allocation", but=("start",)) for name, plan in self.plans.items()}
        place, rows = _places(touched, "allocation", snapshot.allocation_count)
        core, operations = snapshot._core, snapshot.names("operations")
        columns: dict[str, Any] = {
            "allocation": picked(snapshot.names("allocations"), rows),
            "operation": picked(operations, np.asarray(core.column("allocations", "operation"))[rows]),
            "node": picked(snapshot.names("nodes"), np.asarray(core.column("allocations", "node"))[rows]),
        }
        for (name, of_plan), at in zip(touched.items(), place[:, rows].tolist(), strict=True):
            preempts = (of_plan["action"] == _PREEMPT).tolist()
            cells: dict[str, list[Any]] = {
                "for": picked(operations, of_plan["beneficiary_operation"]),
                "action": [ACTIONS[i] for i in of_plan["action"].tolist()],
                "reason": [REASONS[i] for i in of_plan["reason"].tolist()],
                "mode": _where(preempts, [MODES[i] for i in of_plan["mode"].tolist()]),
                "grace": _where(preempts, seconds_of(of_plan["grace"])),
            }
            for cell, values in cells.items():
                columns[f"{name}.{cell}"] = [None if i < 0 else values[i] for i in at]
        return Table(columns, title="allocations, side by side")

    def requests(self) -> Table:
        """Return one row a request that any plan starts or reserves room for.

        Returns
        -------
        Table
            ``request, operation``, then for each plan ``<name>.action``, ``<name>.node`` (of several the
            first) and ``<name>.at`` (seconds: when it starts, or from when room is kept); None where the plan
            does nothing for it.
        """
        snapshot = next(iter(self.plans.values())).snapshot
        served = {name: _rows_of(plan, "request") for name, plan in self.plans.items()}
        place, rows = _places(served, "request", snapshot.request_count)
        operation = np.asarray(snapshot._core.column("requests", "operation"))[rows]
        columns: dict[str, Any] = {
            "request": picked(snapshot.names("requests"), rows),
            "operation": picked(snapshot.names("operations"), operation),
        }
        for (name, of_plan), at in zip(served.items(), place[:, rows].tolist(), strict=True):
            cells: dict[str, list[Any]] = {
                "action": [ACTIONS[i] for i in of_plan["action"].tolist()],
                "node": picked(snapshot.names("nodes"), of_plan["node"]),
                "at": seconds_of(of_plan["at"]),
            }
            for cell, values in cells.items():
                columns[f"{name}.{cell}"] = [None if i < 0 else values[i] for i in at]
        return Table(columns, title="requests, side by side")

    def summary(self) -> Table:
        """Return one row a plan.

        Returns
        -------
        Table
            ``plan``, then how many ``allocations`` of how many ``operations`` are preempted, ``for`` how many
            operations, how many of the allocations ``only_here``, for which ``reasons``, how many requests
            are started (``starts``), what is freed, one column a resource (``freed.cpu``), by which ``modes``
            and with which longest ``grace`` (seconds) they leave, and how many decisions resume, reserve and
            release (``resumes``, ``reserves``, ``releases``).
        """
        taken = {name: _victims(plan) for name, plan in self.plans.items()}
        rows, times = np.unique(np.concatenate([v["allocation"] for v in taken.values()]), return_counts=True)
        once = rows[times == 1]
        served = {n: v["beneficiary_operation"][v["beneficiary_operation"] >= 0] for n, v in taken.items()}
        action = [np.asarray(plan.decisions.column("action")) for plan in self.plans.values()]
        columns: dict[str, Any] = {
            "plan": list(self.plans),
            "allocations": [len(v["allocation"]) for v in taken.values()],
            "operations": [len(np.unique(v["operation"])) for v in taken.values()],
            "for": [len(np.unique(rows)) for rows in served.values()],
            "only_here": [int(np.isin(v["allocation"], once).sum()) for v in taken.values()],
            "reasons": [", ".join(REASONS[i] for i in np.unique(v["reason"])) for v in taken.values()],
            "starts": [len(plan.decisions.starts) for plan in self.plans.values()],
        }
        snapshot = next(iter(self.plans.values())).snapshot
        freed = amounts_of(snapshot, np.stack([v["freed"].sum(axis=0) for v in taken.values()]))
        columns |= {f"freed.{r}": freed[:, i] for i, r in enumerate(snapshot.resources)}
        columns["modes"] = [", ".join(MODES[i] for i in np.unique(v["mode"])) for v in taken.values()]
        graces = [[t for t in seconds_of(v["grace"]) if t is not None] for v in taken.values()]
        columns["grace"] = [max(times, default=None) for times in graces]
        for word in ("resume", "reserve", "release"):
            columns[f"{word}s"] = [int((of == ACTIONS.index(word)).sum()) for of in action]
        return Table(columns, title="plans, side by side")

    @checked("side_by_side")
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
        """Return `table` in short: what becomes of an allocation, a column a plan."""
        table = self.table()
        columns: dict[str, Any] = {name: table[name] for name in ("allocation", "operation", "node")}
        for name in self.plans:
            facts = ("action", "for", "mode", "grace")
            cells = zip(*(table[f"{name}.{fact}"] for fact in facts), strict=True)
            columns[f"for, {name}"] = [_in_short(*cell) for cell in cells]
        return Table(columns, title=table.title)

    def _tables(self) -> list[Table]:
        requests = self.requests()
        return [self.summary(), self._served(), *([requests] if len(requests) else [])]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self._tables()))

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self._tables())


def side_by_side(plans: Mapping[str, Plan]) -> SideBySide:
    """Put plans of one snapshot side by side: what each does to which allocation and request, and why.

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
    evenhand.history.side_by_side : what four systems owe to each pool and user.
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
    >>> both = eh.plans.side_by_side({
    ...     "on": eh.plan(snapshot, backendai),
    ...     "off": eh.plan(snapshot, backendai.replace(enabled=False)),
    ... })
    >>> summary = both.summary()
    >>> [summary[column] for column in ("plan", "reasons", "modes")]
    [['on', 'off'], ['lower_priority', ''], ['terminate', '']]
    """
    expect(isinstance(plans, Mapping), "side_by_side", "plans", plans, "an object (name: Plan)")
    if not plans:
        raise InputError.about("side_by_side", "plans", "length", "plans has no plan")
    for name, plan in plans.items():
        expect(hasattr(plan, "decisions"), "side_by_side", f"plans[{name!r}]", plan, "a Plan")
    first, *others = plans.values()
    if any(other.snapshot != first.snapshot for other in others):
        said = "the plans are of different snapshots"
        raise InputError.about("side_by_side", "plans", "another", said)
    return SideBySide(plans)


def _victims(plan: Plan) -> dict[str, NDArray[Any]]:
    """Return the core's columns of a plan's preemptions."""
    columns = plan.decisions.columns
    preempts = columns["action"] == _PREEMPT
    wanted = ("allocation", "operation", "beneficiary_operation", "reason", "mode", "grace", "freed")
    return {name: np.asarray(columns[name])[preempts] for name in wanted}


def _rows_of(plan: Plan, of: str, but: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
    """Return the core's columns of decisions about allocations, or about requests."""
    columns = plan.decisions.columns
    concerned = np.asarray(columns[of]) >= 0
    for action in but:
        concerned &= columns["action"] != ACTIONS.index(action)
    wanted = (of, "action", "beneficiary_operation", "node", "reason", "mode", "grace", "at")
    return {name: np.asarray(columns[name])[concerned] for name in wanted}


def _places(
    of_plans: Mapping[str, Mapping[str, NDArray[Any]]], of: str, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each plan has each row (-1: nowhere), and the rows: those of most plans first."""
    place = np.full((len(of_plans), count), -1, np.int64)
    for at, columns in zip(place, of_plans.values(), strict=True):
        rows = columns[of]
        at[rows[::-1]] = np.arange(len(rows))[::-1]  # the first of several
    times = (place >= 0).sum(axis=0)
    first = np.where(place >= 0, place, max((len(c[of]) for c in of_plans.values()), default=0)).min(axis=0)
    return place, np.lexsort((first, -times))[: np.count_nonzero(times)]


def _where(wanted: list[bool], values: Sequence[Any]) -> list[Any]:
    return [value if is_so else None for value, is_so in zip(values, wanted, strict=True)]


def _in_short(action: Any, served: Any, mode: Any, grace: Any) -> str | None:
    if action is None:
        return None
    if action != "preempt":
        return str(action)
    after = "" if not grace else f" in {duration(grace)}"
    return f"{'' if served is None else served} ({mode}{after})".strip()
