"""What the search for the fewest or cheapest victims of a step was asked, and what its answer rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenhand.accepted import checked
from evenhand.errors import shorten
from evenhand.plans.columns import Name, picked
from evenhand.plans.decisions import Beneficiary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.plans.plan import Plan

__all__ = ["Certificate", "CertificateSite", "certificates_of", "none_of"]

Row = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CertificateSite:
    """A node of a search over many nodes: what jobs free there, what it lacks, and what that costs at least.

    Attributes
    ----------
    node : str, int or None
        None: what the cluster shares.
    must : bool
        It has to be freed in any case, and holds no copy.
    jobs : tuple of str or int
        Candidates that have something here.
    amounts : tuple of tuple of int
        What each of them frees, by `Certificate.columns`, in quanta.
    lacks : tuple of tuple of int
        What must be freed for one copy of the request more, for two, ... (levels).
    parts : tuple of int
        Of the cost of each job, what this node may count, in `Certificate.scale`-ths.
    bounds : tuple of (int or None)
        What each level costs at least in parts; None: it cannot be had.
    multipliers : tuple of tuple of float
        Of each level, by column: what proves its bound, where it does without a trial.
    """

    node: Name | None
    must: bool
    jobs: tuple[Name, ...]
    amounts: tuple[tuple[int, ...], ...]
    lacks: tuple[tuple[int, ...], ...]
    parts: tuple[int, ...]
    bounds: tuple[int | None, ...]
    multipliers: tuple[tuple[float, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the site as plain values."""
        return {
            "node": self.node,
            "must": self.must,
            "jobs": [*self.jobs],
            "amounts": [[*row] for row in self.amounts],
            "lacks": [[*row] for row in self.lacks],
            "parts": [*self.parts],
            "bounds": [*self.bounds],
            "multipliers": [[*row] for row in self.multipliers],
        }


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """What the search for the victims of a step was asked, what it found, and what proves that.

    Amounts are whole numbers of quanta, so that all sums are exact. The search need not be believed:
    `evenhand.testing.certificates.check_certificate` adds up the proof.

    Attributes
    ----------
    step : int
    kind : {"amounts", "jobs", "sets"}
        Work on one node, whose amounts are to cover a shortage; jobs on many nodes, of which some must be
        freed for copies of a request; or sets of jobs that were tried one by one.
    beneficiary : Beneficiary
        For which they leave.
    table : {"allocations", "operations"}
        What the candidates are.
    candidates : tuple of str or int
        In the order in which they are wanted.
    costs : tuple of int
        Of each candidate.
    taken : tuple of str or int
        The victims that were chosen.
    cost, lower_bound, proved, first
        As in ``numbers["minimum"]`` of the decisions.
    root_bound : int
        What multipliers or parts alone prove of the cost; of "sets" what the search began with.
    spent : bool
        The search ran out of its budget.
    budget, branches : int
        So many branches it might look at, and did.
    within_caps : bool
        Cheaper victims were beyond the caps of their pools, so that these are others: the bounds and
        candidates are of the first choice, which no cap bound.
    resources : tuple of str
    quantum : tuple of float
        Of each resource.
    columns : tuple of str
        What rows of amounts count: resources; over many nodes with Slurm also what is in the way of a whole
        node ("<in the way>").
    node : str, int or None
        Of "amounts".
    amounts : tuple of tuple of int
        Of "amounts": what each candidate frees.
    shortage : tuple of int
        Of "amounts": what is missing without victims; up to 0: nothing.
    multipliers : tuple of float
        Of "amounts", by column.
    copies : int
        Of "jobs": so many levels are wanted, in sum over all sites.
    sites : tuple of CertificateSite
        Of "jobs".
    scale : int
        Of "jobs": so many parts are a cost of 1.
    """

    step: int
    kind: str
    beneficiary: Beneficiary
    table: str
    candidates: tuple[Name, ...]
    costs: tuple[int, ...]
    taken: tuple[Name, ...]
    cost: int
    lower_bound: int
    root_bound: int
    proved: bool
    first: bool
    spent: bool
    budget: int
    branches: int
    within_caps: bool
    resources: tuple[str, ...]
    quantum: tuple[float, ...]
    columns: tuple[str, ...]
    node: Name | None = None
    amounts: tuple[tuple[int, ...], ...] = ()
    shortage: tuple[int, ...] = ()
    multipliers: tuple[float, ...] = ()
    copies: int = 0
    sites: tuple[CertificateSite, ...] = ()
    scale: int = 1

    @property
    def closed_by(self) -> str | None:
        """What closes the gap between the bound and the cost.

        "multipliers" or "parts": they can be added up; "search": the search says that it tried all that
        could cost less; None: its budget was spent first, or costs were too high.
        """
        if not self.proved:
            return None
        if self.root_bound < self.cost or self.kind == "sets":
            return "search"
        return "multipliers" if self.kind == "amounts" else "parts"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return a certificate from plain values, as `to_dict` gives them.

        Parameters
        ----------
        data : mapping

        Returns
        -------
        Certificate

        Raises
        ------
        CertificateError
            If a key is missing or is none of those of its kind, a value is of another kind than the field, or
            ``closed_by`` is not what the other numbers say.

        Notes
        -----
        O(values). Whether it holds of a plan is for `evenhand.testing.certificates.check_certificate`.
        """
        from evenhand.plans.certified import from_dict

        return from_dict(cls, data)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, with what its kind has."""
        served = self.beneficiary
        found: dict[str, Any] = {
            "step": self.step,
            "kind": self.kind,
            "beneficiary": {"operation": served.operation, "request": served.request},
            "table": self.table,
            "candidates": [*self.candidates],
            "costs": [*self.costs],
            "taken": [*self.taken],
            **{name: getattr(self, name) for name in _NUMBERS},
            "closed_by": self.closed_by,
            "quantum": dict(zip(self.resources, self.quantum, strict=True)),
        }
        if self.kind == "amounts":
            found |= {
                "columns": [*self.columns],
                "node": self.node,
                "amounts": [[*row] for row in self.amounts],
                "shortage": [*self.shortage],
                "multipliers": [*self.multipliers],
            }
        elif self.kind == "jobs":
            sites = [site.to_dict() for site in self.sites]
            found |= {
                "columns": [*self.columns],
                "copies": self.copies,
                "scale": self.scale,
                "sites": sites,
            }
        return found

    def __repr__(self) -> str:
        what = "victim" if self.table == "allocations" else "operation"
        many = f"{len(self.taken)} {what}{'s' * (len(self.taken) != 1)} of {len(self.candidates)}"
        closed = {
            None: f"open, at least {self.lower_bound:,}",
            "search": "closed by the search",
            "multipliers": "closed by multipliers",
            "parts": "closed by parts",
        }[self.closed_by]
        return f"<Certificate of step {self.step}: {many} at a cost of {self.cost:,}, {closed}>"


_NUMBERS = (
    "cost",
    "lower_bound",
    "root_bound",
    "proved",
    "first",
    "spent",
    "budget",
    "branches",
    "within_caps",
)


def none_of(plan: Plan, step: int) -> str:
    """Return why a step has no certificate, and which steps have one."""
    there = int(step) in plan.decisions.columns["step"].tolist()
    said = "was not decided with minimum" if there else "is not in the plan"
    known = ", ".join(map(str, plan.minimum_steps)) or "none"
    if not plan.minimum_steps:
        how = plan.policy.setting("victim_selection")
        of = f"the {type(plan.policy).__name__} policy has no such setting"
        known += f" (victim_selection is {how!r})" if how is not None else f" ({of})"
    return f"step {shorten(step)} {said}; steps that were: {known}"


@checked("certificates")
def certificates_of(plan: Plan) -> dict[int, Certificate]:
    """Return the certificate of every step that was decided with `minimum`.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    dict of int to Certificate

    Raises
    ------
    ValueError
        If the same inputs do not lead to the same plan again: one of heartbeats of a living cluster that
        used an earlier update.

    Notes
    -----
    One plan, in which the searches write down what they were asked.
    """
    if not plan.minimum_steps:
        return {}
    core: Any = plan._core
    if not hasattr(core, "certificates"):  # kept, or of a living cluster
        again = plan.policy.plan(plan.snapshot, plan.state_before, plan.on, plan.given)
        if again.decisions != plan.decisions:
            raise ValueError(
                "planning again on this plan's snapshot does not lead to the same decisions;"
                " ask for certificates of a plan that eh.plan has made"
            )
        core = again._core
    found = {row["step"]: row for row in core.certificates()}
    first = {step: row for row, step in reversed([*enumerate(plan.decisions.columns["step"].tolist())])}
    return {step: _certificate(plan, first[step], found[step]) for step in plan.minimum_steps}


def _certificate(plan: Plan, row: int, said: Mapping[str, Any]) -> Certificate:
    snapshot, columns = plan.snapshot, plan.decisions.columns
    names = snapshot.names(said["table"])
    decision = plan.decisions[row]
    quantum = tuple(float(q) for q in np.asarray(snapshot._head["quantum"]).tolist())
    resources = tuple(snapshot.resources)
    candidates = tuple(names[one] for one in said["candidates"].tolist())
    more: dict[str, Any] = {"columns": resources}
    if said["kind"] == "amounts":
        more |= {
            "node": picked(snapshot.names("nodes"), np.array([said["node"]]))[0],
            "amounts": _rows(said["amounts"]),
            "shortage": tuple(said["shortage"].tolist()),
            "multipliers": tuple(said["multipliers"].tolist()),
        }
    elif said["kind"] == "jobs":
        width = said["lacks"].shape[1]
        more["columns"] = (*resources, "<in the way>")[:width]
        more |= {"copies": said["copies"], "scale": said["scale"]}
        more["sites"] = _sites(said, candidates, snapshot.names("nodes"))
    return Certificate(
        step=said["step"],
        kind=said["kind"],
        beneficiary=decision.beneficiary or Beneficiary(None, None),
        table=said["table"],
        candidates=candidates,
        costs=tuple(said["costs"].tolist()),
        taken=tuple(names[one] for one in said["taken"].tolist()),
        cost=int(columns["minimum_cost"][row]),
        lower_bound=int(columns["minimum_lower_bound"][row]),
        root_bound=said["root_bound"],
        proved=bool(columns["minimum_proved"][row]),
        first=bool(columns["minimum_first"][row]),
        spent=bool(columns["minimum_spent"][row]),
        budget=said["budget"],
        branches=said["branches"],
        within_caps=said["within_caps"],
        resources=resources,
        quantum=quantum,
        **more,
    )


def _rows(matrix: Any) -> tuple[Row, ...]:
    return tuple(tuple(row) for row in matrix.tolist())


def _sites(
    said: Mapping[str, Any], candidates: tuple[Name, ...], nodes: list[Name]
) -> tuple[CertificateSite, ...]:
    jobs, amounts, lacks = said["jobs"].tolist(), _rows(said["amounts"]), _rows(said["lacks"])
    parts, bounds = said["parts"].tolist(), said["bounds"].tolist()
    width = said["lacks"].shape[1]
    multipliers = tuple(tuple(row) for row in said["multipliers"].reshape(-1, width).tolist())
    found, piece, level = [], 0, 0
    for node, pieces, levels, must in said["sites"]:
        of_jobs, of_levels = slice(piece, piece + pieces), slice(level, level + levels)
        found.append(
            CertificateSite(
                None if node < 0 else nodes[node],
                bool(must),
                tuple(candidates[job] for job in jobs[of_jobs]),
                amounts[of_jobs],
                lacks[of_levels],
                tuple(parts[of_jobs]),
                tuple(None if bound < 0 else bound for bound in bounds[of_levels]),
                multipliers[of_levels],
            )
        )
        piece, level = piece + pieces, level + levels
    return tuple(found)
