"""Settings of the Backend.AI policy: one resource group's, and those of sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from annotated_types import Ge, Le
from pydantic import ConfigDict, Field, Strict, model_validator

from evenhand.building.jsontext import load
from evenhand.building.problems import Report, nearest, shorten
from evenhand.config.checked import CheckedSettings, Settings, broken
from evenhand.config.costs import PreemptionCost, VictimCost, victim_cost
from evenhand.config.kinds import FEW, Duration, Texts
from evenhand.config.pace import PaceSettings, pace
from evenhand.config.rows import RowSettings
from evenhand.errors import InputError, Problem

__all__ = [
    "DEFAULT_PRIORITY",
    "HIGHEST_PRIORITY",
    "BackendAIOperationSettings",
    "BackendAISettings",
    "PriorityPolicy",
    "allowed_to",
    "choice_for",
    "choice_of",
    "read_options",
]

#: Priority of a session for which none is given.
DEFAULT_PRIORITY = 10
#: Priorities are whole numbers from 0 to this.
HIGHEST_PRIORITY = 100

Priority = Annotated[int, Ge(0), Le(HIGHEST_PRIORITY)]

# Where the running system (26.8) does not do what the proposal says.
_UPSTREAM: Mapping[str, Any] = {
    "enabled": False,
    "preemption_key": "job_priority",
    "victim_threshold": "none",
    "victim_scope": "user",
    "preemptors": "every",
    "victim_area": "agent",
    "victim_selection": "prefix",
    "agent_selection": "concentrated",
    "preemptor_room": "reserved",
    "blocked_by": "lack_of_resources",
    "inference_preemptible": False,
}


class PriorityPolicy(Settings):
    """What a resource policy of a user or of a project says about priorities."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    default: Priority | None = Field(None, description="Priority of a session that names none.")
    range: Annotated[tuple[Priority, Priority], FEW, Strict(False)] = Field(
        (0, HIGHEST_PRIORITY), description="Lowest and highest priority that may be set."
    )
    may_change: bool = Field(True, description="Whether a session may name a priority at all.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        lowest, highest = self.range
        if lowest > highest:
            broken(
                [("range", "range", f"is {[lowest, highest]}; its first number must not exceed the second")]
            )
        return self


class BackendAISettings(CheckedSettings):
    """Settings of a resource group and, for each difference between proposal and system, a switch.

    The defaults are the preset "documented": the proposal. "upstream" is release 26.8.
    """

    UPSTREAM: ClassVar[Mapping[str, Any]] = _UPSTREAM

    enabled: bool = Field(True, description="Off: nothing is preempted.")
    preemptible_priority: Priority = Field(
        5, description="Running sessions of at most this priority are preemptible."
    )
    preemption_order: Literal["oldest", "newest", "fewest-sessions", "smallest-resources"] = Field(
        "oldest", description="Which of several sessions of the same priority is preempted first."
    )
    preemption_mode: Literal["terminate", "suspend", "reschedule"] = Field(
        "terminate", description="What happens to a preempted session."
    )
    preemption_min_runtime: Duration = Field(
        0.0,
        description="Sessions that have run for less are no victims; nor, if it is not 0, unstarted ones.",
    )
    victim_scope: Literal["resource-group", "user", "project", "domain"] = Field(
        "resource-group", description="A session may only preempt sessions of the same one."
    )
    suspend_fallback: Literal["terminate", "not_a_victim"] = Field(
        "terminate",
        description="What becomes of interactive and inference sessions, which suspend does not suit.",
    )
    suspend_approach: Literal["recreate", "keep"] = Field(
        "recreate",
        description="A suspended session is created afresh on any node, or its container stays where it is"
        " and keeps the resources that are not available after preemption.",
    )
    user_policies: dict[str, PriorityPolicy] = Field(
        default_factory=dict, description="What users may do with priorities; absent: anything."
    )
    project_policies: dict[str, PriorityPolicy] = Field(
        default_factory=dict, description="What projects may do with priorities; absent: anything."
    )

    preemption_key: Literal["priority", "job_priority"] = Field(
        "priority",
        description="Number that decides what may preempt what; the queue is ordered by priority.",
    )
    victim_threshold: Literal["preemptible_priority", "none"] = Field(
        "preemptible_priority", description="What a victim must not exceed, besides being strictly lower."
    )
    preemptors: Literal["front", "every"] = Field(
        "front", description="What may preempt: the session that is first when the run begins, or every one."
    )
    victim_area: Literal["group", "agent"] = Field(
        "group", description="Victims are taken in one order over all nodes, or on the agent that is chosen."
    )
    victim_selection: Literal["irreducible", "prefix", "minimum"] = Field(
        "irreducible",
        description="In order until it fits (prefix; on one agent without those that help nothing); of these,"
        " only those that are needed (irreducible); or the fewest (minimum).",
    )
    agent_selection: Literal["first", "concentrated", "dispersed"] = Field(
        "first", description="Which node of several that fit: the first, or the one with least or most left."
    )
    agent_selection_resource_priority: Texts = Field(
        ("cuda", "rocm", "tpu", "cpu", "mem"), description="Which resources are compared first for that."
    )
    preemptor_room: Literal["open", "reserved"] = Field(
        "open", description="Whether the room that victims leave is reserved for their beneficiary."
    )
    blocked_by: Literal["any_session", "lack_of_resources"] = Field(
        "any_session",
        description="What ends a run: the first session that cannot start, or that lacks resources.",
    )
    inference_preemptible: bool = Field(
        True, description="Whether inference sessions are preemptible unless they say so themselves."
    )
    sequencer: Literal["fifo", "lifo", "drf"] = Field(
        "fifo", description="Order of the queue among equal priorities: first or last come, or least share."
    )
    max_containers: Annotated[int, Ge(1), Le(2**31 - 1)] | None = Field(
        None, description="Most allocations that a node may have; victims count until they have left."
    )
    victim_cost: VictimCost = victim_cost()
    minimum_budget: Annotated[int, Ge(1), Le(10**9)] = Field(
        20_000, description="Branches that the search for the fewest victims may look at."
    )
    pace: PaceSettings = pace()


#: Keys of ``scheduler_opts.preemption``, those of the proposal too, by field.
_PREEMPTION = {
    "enabled": "enabled",
    "order": "preemption_order",
    "mode": "preemption_mode",
    "preemption_order": "preemption_order",
    "preemption_mode": "preemption_mode",
    "preemption_min_runtime": "preemption_min_runtime",
    "victim_scope": "victim_scope",
    "preemptible_priority": "preemptible_priority",
}
#: Other keys of ``scheduler_opts`` that mean something here.
_OPTIONS = {
    "agent_selection_strategy": "agent_selection",
    "agent_selection_resource_priority": "agent_selection_resource_priority",
}
#: Keys that play no part in placing or preempting sessions.
_WITHOUT_EFFECT = (
    "allowed_session_types",
    "pending_timeout",
    "config",
    "enforce_spreading_endpoint_replica",
    "allow_fractional_resource_fragmentation",
    "route_cleanup_target_statuses",
)


def read_options(text: str | Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings of ``scheduler_opts``, and where each stands there."""
    options: Any = text
    found: list[Problem] = []
    if isinstance(text, str):
        options = _parsed(text)
    if not isinstance(options, Mapping):
        raise _wrong(None, "type", f"scheduler_opts is an object, not {type(options).__name__}")
    known = ["preemption", *_OPTIONS, *_WITHOUT_EFFECT]
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    inner = options.get("preemption")
    inner = {} if inner is None else inner
    if not isinstance(inner, Mapping):
        found.append(_problem("preemption", "type", f"preemption is {shorten(inner)}; it is an object"))
        inner = {}
    found += [
        _problem(str(key), "unknown_field", f"{key} is unknown{nearest(str(key), known)}")
        for key in options
        if key not in known
    ]
    for key, value in inner.items():
        field = _PREEMPTION.get(key)
        place = f"preemption.{key}"
        if field is None:
            hint = nearest(str(key), list(_PREEMPTION))
            found.append(_problem(place, "unknown_field", f"{place} is unknown{hint}"))
        elif field in values:
            found.append(_problem(place, "unique", f"{place} is given twice, under two names"))
        else:
            values[field], places[field] = value, place
    if found:
        raise InputError(found)
    for key, field in _OPTIONS.items():
        if options.get(key) is not None:
            values[field], places[field] = options[key], key
    return values, places


def _parsed(text: str) -> Any:
    """Parse a JSON text; a key that an object has twice is wrong, too."""
    report = Report()
    options = load(text, report)
    if report:
        messages = [(p, p.message.removeprefix("the snapshot ")) for p in report.error().problems]
        raise InputError(
            replace(p, table="settings", message=said if said == p.message else f"scheduler_opts {said}")
            for p, said in messages
        )
    return options


def _problem(field: str | None, rule: str, message: str) -> Problem:
    return Problem("settings", None, None, field, rule, None, message)


def _wrong(field: str | None, rule: str, message: str) -> InputError:
    return InputError([_problem(field, rule, message)])


def choice_of(
    user: PriorityPolicy, project: PriorityPolicy, whose: str = ""
) -> tuple[int, tuple[int, int], bool]:
    """Return default, range and whether a priority may be set, where both policies hold."""
    lowest = max(user.range[0], project.range[0])
    highest = min(user.range[1], project.range[1])
    if lowest > highest:
        message = f"range{whose}: {list(user.range)} and {list(project.range)} have no priority in common"
        raise _wrong("range", "range", message)
    given = next((p.default for p in (user, project) if p.default is not None), DEFAULT_PRIORITY)
    return min(max(given, lowest), highest), (lowest, highest), user.may_change and project.may_change


def choice_for(
    settings: BackendAISettings, user: str | None, project: str | None
) -> tuple[int, tuple[int, int], bool]:
    """Return `choice_of` a session's user and project; one without any may do anything."""

    def policy(name: str | None, policies: dict[str, PriorityPolicy]) -> PriorityPolicy:
        return (None if name is None else policies.get(name)) or PriorityPolicy()

    return choice_of(
        policy(user, settings.user_policies),
        policy(project, settings.project_policies),
        f" of user {user} and project {project}",
    )


def allowed_to(settings: BackendAISettings, cell: Callable[[str], Any]) -> dict[str, Any]:
    """Return the range of a session's priority, and its user and project where their policies say so."""
    user, project = cell("user"), cell("project")
    lowest, highest = choice_for(settings, user, project)[1]
    owners = {"user": (user, settings.user_policies), "project": (project, settings.project_policies)}
    by = {what: name for what, (name, known) in owners.items() if name in known}
    return {"lowest": lowest, "highest": highest, **by}


class BackendAIOperationSettings(RowSettings):
    """Settings of a session."""

    job_priority: Annotated[int, Ge(-(2**53)), Le(2**53)] = Field(
        0, description="Decides what may preempt what, where preemption goes by it."
    )
    is_preemptible: bool | None = Field(
        None, description="Whether it may be preempted; by default as the kind of session."
    )
    domain: str | None = Field(None, description="Domain that it belongs to.")
    preemption_cost: PreemptionCost = Field(1, description="Of the session, if `victim_cost` is given.")
    started: bool = Field(True, description="Off: it holds its resources, but has never run.")
