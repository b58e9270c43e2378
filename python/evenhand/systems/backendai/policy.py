"""Backend.AI: sessions by priority, and preemption of those of low priority."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import ValidationError

from evenhand.accepted import checked
from evenhand.building.problems import shorten
from evenhand.config.checked import problems_of
from evenhand.errors import InputError, Problem
from evenhand.explain.facts import name_of
from evenhand.systems.backendai import columns
from evenhand.systems.backendai.record import BACKENDAI
from evenhand.systems.backendai.settings import (
    BackendAISettings,
    PriorityPolicy,
    choice_of,
    read_options,
)
from evenhand.systems.base import Policy
from evenhand.units.text import number

if TYPE_CHECKING:
    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows

__all__ = ["BackendAI"]


class BackendAI(Policy):
    """Scheduling and preemption of one resource group as Backend.AI does it, or as its proposal says.

    Parameters
    ----------
    preset : {"documented", "upstream"}
        The proposal on preemption of low-priority sessions (the default), or release 26.8.
    **settings
        Fields of `evenhand.systems.backendai.settings.BackendAISettings` that differ from the preset.

    Attributes
    ----------
    preset : str
    settings : BackendAISettings

    Raises
    ------
    InputError
        If a setting is unknown or breaks a rule.

    Notes
    -----
    Immutable. Sessions are operations, what they hold are allocations, what they wait for are requests. One
    snapshot is one resource group; several are planned as a mapping. Source: Backend.AI, proposal on
    preemption of low-priority sessions, and the planner of release 26.8.

    A plan is one scheduling run (`SchedulingRun`); nothing is given. O(queue × nodes + sessions × nodes)
    tests of room, the second for the sessions that preempt.

    Examples
    --------
    >>> import evenhand as eh
    >>> policy = eh.policies.BackendAI(preemption_order="newest")
    >>> policy.replace(preemptible_priority=7)
    BackendAI('documented', preemptible_priority=7, preemption_order='newest')
    """

    RECORD = BACKENDAI
    model = BackendAISettings
    CLOCKS: ClassVar[Mapping[str, float]] = {"schedule_interval": 10.0}
    __slots__ = ()

    settings: BackendAISettings

    @property
    def serves_in_order(self) -> bool:
        """Whether the system starts nothing behind the first that waits: the front session."""
        return True

    @classmethod
    @checked("from_scheduler_opts")
    def from_scheduler_opts(
        cls, text: str | Mapping[str, Any], preset: str = "upstream", **changes: Any
    ) -> Self:
        """Return the policy of a resource group's ``scheduler_opts``.

        Parameters
        ----------
        text : str or mapping
            The JSON object, or what it says.
        preset : {"documented", "upstream"}
            Of the settings that it does not have.
        **changes
            Settings that it does not have.

        Returns
        -------
        BackendAI

        Raises
        ------
        InputError
            If it is no JSON object, a key or value is unknown (all unknown keys are named, by their own
            names), or a change is a setting that it has.

        Examples
        --------
        >>> import evenhand as eh
        >>> text = '{"preemption": {"enabled": true, "order": "newest", "victim_scope": "project"}}'
        >>> eh.policies.BackendAI.from_scheduler_opts(text)
        BackendAI('upstream', enabled=True, preemption_order='newest', victim_scope='project')
        """
        values, places = read_options(text)
        twice = [
            Problem(
                *("settings", None, None, places[field], "unique", None),
                f"{places[field]} is in scheduler_opts, and {field} is given beside it",
            )
            for field in changes
            if field in values
        ]
        if twice:
            raise InputError(twice)
        try:
            return cls(preset, **values, **changes)
        except InputError as error:
            raise InputError([_placed(problem, places) for problem in error.problems]) from None

    @staticmethod
    def priority_choice(
        user: PriorityPolicy | Mapping[str, Any] | None = None,
        project: PriorityPolicy | Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return what a form for a new session needs: which priority may be set.

        Parameters
        ----------
        user, project : PriorityPolicy or mapping, optional
            What the resource policies of the user and of the project say: ``default``, ``range``,
            ``may_change``; None restricts nothing.

        Returns
        -------
        dict
            ``default``, ``range`` (lowest, highest) and ``editable``.

        Raises
        ------
        InputError
            If the ranges do not meet (table "settings", field "range"), or a policy is wrong (field "user",
            "project.range" and so on).

        Examples
        --------
        >>> import evenhand as eh
        >>> eh.policies.BackendAI.priority_choice({"range": [0, 30], "default": 20}, {"range": [5, 50]})
        {'default': 20, 'range': [5, 30], 'editable': True}
        """
        default, span, editable = choice_of(_policy(user, "user"), _policy(project, "project"))
        return {"default": default, "range": list(span), "editable": editable}

    def _columns(self, snapshot: Snapshot, given: Mapping[str, Any] | None) -> dict[str, Any]:  # noqa: ARG002
        rows = columns.row_columns(snapshot, self.settings)
        return {"settings": columns.switches(snapshot, self.settings), "rows": rows}

    def _said(self, snapshot: Snapshot, on: Any, core: Any) -> Iterable[Diagnostic]:  # noqa: ARG002
        return columns.unknown_machines(snapshot)

    def _later(self, stage: LiveRows, table: str, rows: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        return columns.later_columns(stage, self.settings, table, rows)

    def drive(self, clocks: Mapping[str, int]) -> dict[str, Any]:
        """Return how a simulation asks it: runs at ticks."""
        return {"drive": 2, "period": clocks["schedule_interval"], "whole_operations": True}

    def coming(self, rows: Snapshot) -> dict[str, Any]:
        """Return what the sessions of a workload set."""
        return columns.row_columns(rows, self.settings)

    def standing(self, snapshot: Snapshot, row: int) -> str:
        """Say which priority a session has.

        Parameters
        ----------
        snapshot : Snapshot
        row : int
            Among the operations.

        Returns
        -------
        str
        """
        name = name_of(snapshot.names("operations")[row])
        priority, _ = columns.effective_priorities(snapshot, self.settings)
        text = f"operation {name} has priority {number(priority[row])}"
        if self.settings.preemption_key == "job_priority":
            rank = columns.ranks(snapshot, self.settings)[row]
            return f"{text} and job priority {number(rank)}"
        if self.settings.victim_threshold == "none":
            return text
        return f"{text}; up to {number(self.settings.preemptible_priority)} is preemptible"


def _policy(given: PriorityPolicy | Mapping[str, Any] | None, whose: str) -> PriorityPolicy:
    if given is None or isinstance(given, PriorityPolicy):
        return given or PriorityPolicy()
    if not isinstance(given, Mapping):
        message = f"{whose} is {shorten(given)}; it is an object with default, range and may_change"
        raise InputError([Problem("settings", None, None, whose, "type", shorten(given), message)])
    try:
        return PriorityPolicy.model_validate(dict(given))
    except ValidationError as error:
        found = problems_of(PriorityPolicy, error)
        raise InputError([_renamed(p, p.field, f"{whose}.{p.field}") for p in found]) from None


def _placed(problem: Problem, places: Mapping[str, str]) -> Problem:
    """Name a field as it stands in ``scheduler_opts``."""
    head, dot, rest = (problem.field or "").partition(".")
    return _renamed(problem, problem.field, places.get(head, head) + dot + rest)


def _renamed(problem: Problem, field: str | None, now: str) -> Problem:
    message = problem.message
    if field and message.startswith(field):
        message = now + message.removeprefix(field)
    return replace(problem, field=now or None, message=message)
