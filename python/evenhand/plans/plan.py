"""A plan: what to do now, why, and what the next plan starts from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import MOST, checked, plain
from evenhand.arguments import as_json, expect
from evenhand.building.readback import seconds
from evenhand.errors import NoSuchNameError, shorten
from evenhand.frozen import freeze
from evenhand.plans.balance import repairs
from evenhand.plans.decisions import Decisions
from evenhand.plans.explainable import Explainable
from evenhand.plans.fewest import costs_in_vain, spent_budgets
from evenhand.plans.handed import taken_in_all
from evenhand.plans.job_states import JobStates
from evenhand.plans.memory import fingerprint, next_state
from evenhand.plans.past import OfLive
from evenhand.plans.refusals import Refusals
from evenhand.plans.savable import Savable
from evenhand.plans.statuses import Groups, Statuses
from evenhand.provenance import of_plans
from evenhand.share_inputs import diagnostics_of, options_of
from evenhand.shares import Shares
from evenhand.state import State
from evenhand.table import Tabular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot
    from evenhand.plans.certificates import Certificate
    from evenhand.plans.check import Check
    from evenhand.plans.columns import CorePlan
    from evenhand.plans.diff import PlanDiff
    from evenhand.plans.steps import Step
    from evenhand.systems.record import System
    from evenhand.table import Table

__all__ = ["Plan"]


class Plan(OfLive, Tabular, Savable, Explainable):
    """Decisions with their reasons, refusals, statuses, groups and the next state.

    Made by a policy. Nothing in it changes; what is costly is made when it is first asked for.

    Parameters
    ----------
    snapshot : Snapshot
        What was.
    policy : Policy
        What decided (`evenhand.systems.base.Policy`).
    core : object
        What the policy's core says, as columns (`evenhand.plans.columns.CorePlan`).
    state : State, optional
        The state that went in; `Plan.state` is the one that comes out.
    on : trigger, optional
        What was decided on: ``Round()``, ``Heartbeat(node)``, ``SchedulingRun()``.
    given : mapping, optional
        Values that took the place of computed ones.
    diagnostics : iterable of Diagnostic
        What there is to say of the input; those of the shares are added.

    Attributes
    ----------
    policy, on, given
        As they went in.
    """

    policy: Any
    on: Any
    given: Mapping[str, Any] | None

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Any,
        core: CorePlan,
        state: State | None = None,
        on: Any = None,
        given: Mapping[str, Any] | None = None,
        diagnostics: Iterable[Diagnostic] = (),
        *,
        updated: float | None = None,
    ) -> None:
        self._keep(
            snapshot=snapshot,
            policy=policy,
            on=on,
            given=None if given is None else freeze(given),
            state_before=state,
            _core=core,
            _found=tuple(diagnostics),
            _updated=updated,
            _rows=None,
        )

    def __eq__(self, other: object) -> bool:
        """Whether they were made of equal inputs and decide the same."""
        if not isinstance(other, Plan):
            return NotImplemented
        return self._inputs == other._inputs and self.decisions == other.decisions

    def __hash__(self) -> int:
        return hash((self.snapshot, len(self.decisions)))

    @property
    def _system(self) -> System:
        system: System = self.policy.RECORD
        return system

    @property
    def _inputs(self) -> tuple[Any, ...]:
        return self.snapshot, self.policy, self.state_before, self.on, self.given

    def __reduce__(self) -> tuple[Any, ...]:
        from evenhand.plans.kept import KeptCore

        before = (self.state_before, self.on, self.given, self._found)
        inputs = (self.snapshot, self.policy, KeptCore.of(self), *before)
        return partial(type(self), updated=self._updated), inputs

    @cached_property
    def decisions(self) -> Decisions:
        """What to do, in the order in which it is to be carried out."""
        if self._rows is None or self._rows.repairs:  # violated limits are the frozen cluster's
            return self._decided()
        return Decisions._of_live(self._past.base, self._rows, self._decided)

    def _decided(self) -> Decisions:
        columns = self._core.decisions()
        plain = Decisions(self.snapshot, columns)
        return Decisions(self.snapshot, columns, repairs(self.snapshot, plain))

    @cached_property
    def refusals(self) -> Refusals:
        """Requests that were looked at and did not start."""
        return Refusals(self.snapshot, self._core.refusals())

    @cached_property
    def shares(self) -> Shares:
        """Fair shares of the plan's update; AttributeError if the policy knows none."""
        if not self._system.shares:
            instead = self.policy.INSTEAD_OF_SHARES
            raise AttributeError(f"the {type(self.policy).__name__} policy knows no fair shares{instead}")
        snapshot, core, settings = self.snapshot, self._core.shares, self.policy.settings.fair_share
        found = (*options_of(snapshot, settings)[1], *diagnostics_of(snapshot, core))
        return Shares(snapshot, settings, core, found)

    @cached_property
    def statuses(self) -> Statuses:
        """Status, starvation and effective settings of every element, at the update.

        Empty if the policy knows no fair shares.
        """
        columns = self._core.elements()
        return Statuses(self.snapshot, {} if "job_state" in columns else columns)

    @cached_property
    def job_states(self) -> JobStates:
        """Letters of the states in which jobs are listed once the plan is carried out.

        Empty if the system lists none.
        """
        columns = self._core.elements()
        return JobStates(self.snapshot, columns.get("job_state", np.zeros(0, np.uint8)))

    @cached_property
    def groups(self) -> Groups:
        """Group of every running allocation, at the update; empty if the policy knows none."""
        return Groups(self.snapshot, self._core.groups())

    @cached_property
    def state(self) -> State:
        """What the next plan starts from."""
        before = self.shares.state if self._system.shares else State(self.snapshot.now)
        state = next_state(self.snapshot, self.policy, before, self._core.memory())
        return state if self._updated is None else replace(state, updated=self._updated)

    @property
    def handed(self) -> Mapping[str, Any]:
        """Room of leaving allocations that their beneficiaries take: ``allocation`` (rows), ``amounts``.

        Empty with policies whose starts wait until victims have gone.
        """
        if hasattr(self._core, "handed"):
            taken: Mapping[str, Any] = self._core.handed()
            return taken
        width = len(self.snapshot.resources)
        return {"allocation": np.zeros(0, np.int32), "amounts": np.zeros((0, width), np.int64)}

    @cached_property
    def taken(self) -> dict[str | int, dict[str, Any]]:
        """Allocation to what its beneficiary has of its room by now, where this plan hands some over."""
        names = self.snapshot.names("allocations")
        settings = self.snapshot.settings("allocations")
        found = taken_in_all(self.snapshot, settings, self.handed)
        return {names[row]: amounts for row, amounts in found.items()}

    @property
    def next_due(self) -> float | None:
        """When a plan of the same cluster can first decide anything else, in seconds.

        The plan's own instant, if something was decided; None: never. Until then nothing is decided, and the
        states of plans differ in nothing but the time and the nodes' last attempts to preempt.
        """
        due = self._core.next_due
        return None if due is None else float(seconds(np.array([due]))[0])

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What there is to say of the input, and of searches that ran out of their budget."""
        from evenhand.plans.hopeless import never_fitting
        from evenhand.plans.remarks import of_plan
        from evenhand.plans.unread import unread_fields, unread_settings

        budget = self.policy.setting("minimum_budget", 0)
        spent = spent_budgets(self.snapshot, self.decisions.columns, budget)
        found = (
            *self._found,
            *spent,
            *costs_in_vain(self.snapshot, self.policy.settings),
            *never_fitting(self.snapshot, self.policy),
            *unread_fields(self.snapshot, self.policy),
            *unread_settings(self.policy),
            *self.policy.noted(self),
        )
        return of_plan(self, found)

    @property
    def provenance(self) -> dict[str, Any]:
        """What the plan was made by and of.

        Returns
        -------
        dict
            ``evenhand`` (version) and ``commit`` of the build, ``system`` and ``preset`` of the policy, and
            the fingerprints of its ``settings`` and of the ``snapshot``: O(cells) when first asked for.
            Under Slurm also ``release``, whose rules were followed.
        """
        return of_plans(self.policy, fingerprint(self.policy), self.snapshot)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How often what came of a try, by ``"<stage>.<outcome>"``."""
        counts: dict[str, int] = freeze(self._core.counts())
        return counts

    def to_dict(self) -> dict[str, Any]:
        """Return as plain values: decisions, refusals, statuses, groups, state, diagnostics, provenance."""
        return {
            "decisions": self.decisions.to_list(),
            "refusals": self.refusals.to_list(),
            "statuses": self.job_states.to_dict() or self.statuses.to_dict(),
            "groups": self.groups.to_dict(),
            "state": self.state.to_dict(),
            "diagnostics": [diagnostic.to_dict() for diagnostic in self.diagnostics],
            "provenance": self.provenance,
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the plan as JSON text.

        Parameters
        ----------
        indent : int, optional
            Spaces a level; None: one line.

        Returns
        -------
        str
        """
        return as_json(self.to_dict(), indent)

    def table(self) -> Table:
        """Return the decisions as a table; see `Decisions.table`."""
        return self.decisions.table().made_by(lambda: self.provenance)

    def steps(self) -> list[Step]:
        """Return the steps in order: what one beneficiary needs on one node, or one repair.

        Returns
        -------
        list of Step
            All of a step is to be carried out, or nothing of it.
        """
        from evenhand.plans.steps import steps_of

        return steps_of(self.snapshot, self.decisions)

    @property
    def minimum_steps(self) -> tuple[int, ...]:
        """Numbers of the steps whose victims were to be the fewest or cheapest; `certificate` takes one."""
        columns = self.decisions.columns
        if "minimum_cost" not in columns:
            return ()
        return tuple(dict.fromkeys(columns["step"][columns["minimum_cost"] >= 0].tolist()))

    @cached_property
    def _certificates(self) -> Mapping[int, Certificate]:
        from evenhand.plans.certificates import certificates_of

        return certificates_of(self)

    @checked("certificate")
    def certificate(self, step: int) -> Certificate:
        """Return what the search for the victims of a step was asked, and what its answer rests on.

        Parameters
        ----------
        step : int
            Number of a step that was decided with ``victim_selection`` "minimum"; one of `minimum_steps`.

        Returns
        -------
        Certificate
            `evenhand.testing.certificates.check_certificate` adds up its proof without the engine.

        Raises
        ------
        KeyError
            If there is no such step, or it was decided otherwise.
        ValueError
            If the plan is one of a living cluster that its snapshot does not lead to.

        Notes
        -----
        The plan is made again, once for all steps, and its searches write down what they were asked.
        """
        whole = isinstance(step, int | np.integer) and not isinstance(step, bool)
        expect(whole, "certificate", "step", step, "the number of a step")
        if step in self.minimum_steps:
            return self._certificates[int(step)]
        from evenhand.plans.certificates import none_of

        raise NoSuchNameError.about("certificate", "step", "exists", none_of(self, step), shorten(step))

    def diff(self, other: Plan) -> PlanDiff:
        """Return what another plan decides differently.

        Parameters
        ----------
        other : Plan
            Usually of the same snapshot with other settings, or of the next one.

        Returns
        -------
        PlanDiff
            From this plan to the other: what is spared, what is newly taken, which starts moved.
        """
        from evenhand.plans.diff import diff

        expect(isinstance(other, Plan), "diff", "other", other, "a Plan")
        return diff(self, other)

    def check(
        self,
        fresh_snapshot: Snapshot,
        *,
        done: Collection[int] = (),
        skip: Collection[int] = (),
    ) -> Check:
        """Return which steps still hold: those that a plan made now would have too.

        The plan is made again on the fresh snapshot, with the same policy, trigger and given values, from the
        state that this one started from. A step holds if that plan has it too: the same victims in the same
        modes for the same beneficiary, which starts on the same nodes if it starts at once. Nothing may have
        changed of what its victims are and hold, nor of what its beneficiary asks for, and it must fit
        without steps that this plan does not have. A step holds as a whole or not at all.

        Parameters
        ----------
        fresh_snapshot : Snapshot
            What is now; time has usually passed.
        done : collection of int
            Numbers of steps that were carried out and show in the fresh snapshot: their victims are leaving
            or gone. They are not looked at again, and the fresh plan remembers them (back-offs).
        skip : collection of int
            Numbers of other steps that are not looked at: they never will be carried out.

        Returns
        -------
        Check
            With a finding for each decision of a step that does not hold: what changed, or what would be
            done instead.

        Raises
        ------
        InputError
            If it is no snapshot (of several, each plan is checked with its own), or the policy cannot plan on
            it.
        ValueError
            If it has other resources.

        Notes
        -----
        One plan, and O(rows of the snapshot + decisions × depth).
        """
        from evenhand.model import Snapshot
        from evenhand.plans.check import check

        expect(isinstance(fresh_snapshot, Snapshot), "check", "fresh_snapshot", fresh_snapshot, "a Snapshot")
        for name, steps in (("done", done), ("skip", skip)):
            listed = isinstance(steps, Collection) and getattr(steps, "ndim", 1) == 1
            listed = listed and not isinstance(steps, str | bytes | Mapping)
            listed = listed and len(steps) <= MOST
            numbers = listed and all(isinstance(plain(step), int) for step in steps)
            expect(numbers, "check", name, steps, "a collection of numbers of steps")
        return check(self, fresh_snapshot, done, skip)

    def __repr__(self) -> str:
        from evenhand.display.plans import plan_text

        return plan_text(self)

    def _repr_html_(self) -> str:
        from evenhand.display.plans import plan_html

        return plan_html(self)
