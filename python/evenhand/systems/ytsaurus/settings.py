"""Settings of the YTsaurus preemption policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from annotated_types import Ge, Le
from pydantic import ConfigDict, Field, SerializeAsAny, model_validator

from evenhand.config.checked import CheckedSettings, Settings, broken, under_own_names
from evenhand.config.costs import VictimCost, victim_cost
from evenhand.config.fair_share import FairShareSettings
from evenhand.config.kinds import Amounts, Duration, NonNegative, Positive, Texts, UnitShare
from evenhand.config.pace import PaceSettings, pace
from evenhand.errors import InputError, Problem
from evenhand.systems.ytsaurus.rows import (
    YTsaurusAllocationSettings,
    YTsaurusOperationSettings,
    YTsaurusPoolSettings,
)
from evenhand.systems.ytsaurus.tag_filter import TagFilter
from evenhand.units.text import duration, number

__all__ = [
    "FullHostPreemption",
    "SsdPriorityPreemption",
    "YTsaurusAllocationSettings",
    "YTsaurusOperationSettings",
    "YTsaurusPoolSettings",
    "YTsaurusSettings",
    "aggressive_checks",
]

# Where the system does not do what its document says. The defaults of the fields are the document's.
_UPSTREAM: Mapping[str, Any] = {
    "stage_order": "regular_aggressive_preemptive",
    "preemptive_stage_targets": "exactly_starving",
    "victim_selection": "prefix",
    "preemptive_starts": "one_per_heartbeat",
    "satisfied_demand_tolerance": "one",
    "usage_threshold_scope": "prefix",
    "limit_repair": "stage",
    "node_overcommit_delay": 15.0,
    "order_key": "last_progress",
    "victims_room": "free_at_once",
}


# Keys that every pool tree's configuration has, or many have.
_OF_A_TREE = (
    *("nodes_filter", "default_parent_pool", "integral_guarantees", "max_unpreemptable_running_job_count"),
    *("max_operation_count", "max_operation_count_per_pool", "max_running_operation_count"),
    "max_running_operation_count_per_pool",
)


class SsdPriorityPreemption(Settings):
    """Stages for operations that need a disk medium which only some nodes have."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    enable: bool = Field(default=False, description="The stages run, on the nodes that the filter names.")
    node_tag_filter: str = Field(
        default="", description='Tags of these nodes: a formula such as "ssd & !(old | broken)".'
    )
    medium_names: Texts = Field(default=(), description="Disk media that count as SSD.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = []
        if self.enable and not self.node_tag_filter.strip():
            found.append(("node_tag_filter", "required", "is empty; with `enable` it must name some nodes"))
        try:
            TagFilter(self.node_tag_filter)
        except ValueError as error:
            found.append(("node_tag_filter", "formula", str(error)))
        broken(found)
        return self


class FullHostPreemption(Settings):
    """A last stage for operations whose allocations take all 8 GPUs of a host."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    enable: bool = Field(default=False, description="The stage runs.")
    max_preemption_penalty: NonNegative = Field(
        default=0.0, description="At most this much run time in seconds × GPUs of protected victims is lost."
    )
    timeout: Duration = Field(default=120.0, description="Candidates are below their fair share for longer.")


class YTsaurusSettings(CheckedSettings):
    """Settings of one pool tree's starvation and preemption.

    The defaults are those of the preset "documented": what the published description says, and what
    the system does where the description is silent. Durations are seconds, or text such as "30s".

    The system has some settings of `fair_share` beside the others: those that `FairShareSettings.ALIASES`
    names are read here too.

    Notes
    -----
    Source: YTsaurus, strategy and scheduling policy configuration of a pool tree; the names are the
    system's. The last group of fields are the points in which system and description differ.
    """

    UPSTREAM: ClassVar[Mapping[str, Any]] = _UPSTREAM
    ELSEWHERE: ClassVar[Mapping[str, str]] = dict.fromkeys(
        _OF_A_TREE,
        "it is of a pool tree's own configuration, whose times are milliseconds:"
        " evenhand.adapters.ytsaurus reads that one",
    )
    TIMING: ClassVar[frozenset[str]] = frozenset({"fair_share_update_period"})

    ALIASES: ClassVar[Mapping[str, str]] = {
        "fair_share_preemption_timeout": "fair_share_starvation_timeout",
        "job_interrupt_timeout": "allocation_preemption_timeout",
        "job_graceful_interrupt_timeout": "allocation_graceful_preemption_timeout",
        "job_count_preemption_timeout_coefficient": "allocation_count_preemption_timeout_coefficient",
        "allowed_node_resources_overcommit_duration": "node_overcommit_delay",
        "allow_aggressive_starvation_preemption": "allow_aggressive_preemption",
    }

    fair_share: SerializeAsAny[FairShareSettings] = Field(
        default_factory=FairShareSettings, description="How fair shares come about."
    )

    fair_share_update_period: Annotated[Duration, Ge(0.01), Le(60)] = Field(
        default=0.2,
        description="How long heartbeats of a live cluster use an update; a plan of a snapshot has its own.",
    )

    fair_share_starvation_timeout: Duration = Field(
        default=30.0, description="Below its fair share for longer than this, an element starves."
    )
    fair_share_aggressive_starvation_timeout: Duration = Field(
        default=120.0, description="Below its fair share for longer than this, it may starve aggressively."
    )
    fair_share_starvation_tolerance: UnitShare = Field(
        default=0.8, description="Part of the fair share that must be used for the status to be normal."
    )
    enable_absolute_fair_share_starvation_tolerance: bool = Field(
        default=False, description="A gap that is smaller than one allocation is no deficit."
    )
    enable_aggressive_starvation: bool = Field(default=False, description="Starving may become aggressive.")
    enable_pool_starvation: bool = Field(default=True, description="Pools starve too.")
    allocation_count_preemption_timeout_coefficient: Annotated[float, Ge(1), Field(allow_inf_nan=False)] = (
        Field(default=1.0, description="With fewer pending allocations, timeouts are proportionally shorter.")
    )

    preemption_satisfaction_threshold: Positive = Field(
        default=1.0, description="Times the fair share: where the preemptible allocations begin."
    )
    aggressive_preemption_satisfaction_threshold: NonNegative = Field(
        default=0.2, description="Times the fair share: where the aggressively preemptible allocations begin."
    )
    non_preemptible_resource_usage_threshold: Amounts = Field(
        default_factory=dict, description="Usage below it, in every named resource, is protected."
    )
    consider_allocation_on_fair_share_bound_preemptible: bool = Field(
        default=False, description="The allocation that crosses a bound belongs to the less safe group."
    )
    allow_aggressive_preemption: bool = Field(
        default=True, description="The root's value: aggressively preemptible allocations may be taken."
    )
    allow_aggressive_preemption_for_gang_operations: bool = Field(
        default=True, description="Also those of gangs."
    )
    allow_preemption_from_starving_operations: bool = Field(
        default=False, description="Allocations of operations that starve themselves may be taken."
    )

    preemptive_scheduling_backoff: Duration = Field(
        default=5.0, description="Preemptive stages run on a node when more time than this has passed."
    )
    scheduling_preemption_priority_scope: Literal["operation_and_ancestors", "operation_only"] = Field(
        default="operation_and_ancestors", description="Whose starvation entitles an operation to preempt."
    )
    allocation_preemption_timeout: Duration = Field(
        default=30.0, description="Time that a victim has to finish."
    )
    allocation_graceful_preemption_timeout: Duration = Field(
        default=60.0, description="The same in graceful mode."
    )
    ssd_priority_preemption: SsdPriorityPreemption = Field(
        default_factory=SsdPriorityPreemption, description="Stages for SSD nodes."
    )
    default_gpu_full_host_preemption: FullHostPreemption = Field(
        default_factory=FullHostPreemption, description="A stage for full-host GPU operations."
    )
    use_precommit_for_preemption: bool = Field(
        default=False, description="Limits are checked and booked at once; a plan always does so."
    )
    enable_infinite_resource_limits_overcommit: bool = Field(
        default=False, description="Preemptive stages start beyond limits, which are repaired later."
    )

    preemption_check_starvation: bool = Field(
        default=False,
        description="Older rule: a starving operation or pool shields the work in it from the stages.",
    )
    preemption_check_satisfaction: bool = Field(
        default=False,
        description="Older rule: an element served below the stage's threshold shields the work in it.",
    )
    enable_conditional_preemption: bool = Field(
        default=False, description="Older rule: a pool does not shield its work from candidates inside it."
    )

    stage_order: Literal["regular_preemptive_aggressive", "regular_aggressive_preemptive"] = Field(
        default="regular_preemptive_aggressive", description="Order of the stages of a heartbeat."
    )
    preemptive_stage_targets: Literal["starving_and_aggressively_starving", "exactly_starving"] = Field(
        default="starving_and_aggressively_starving",
        description="Candidates of the preemptive stage.",
    )
    victim_selection: Literal["irreducible", "prefix", "minimum"] = Field(
        default="irreducible",
        description="Newest first until it fits (prefix); of these, only those that are needed"
        " (irreducible); or the fewest (minimum).",
    )
    preemptive_starts: Literal["one_per_stage", "one_per_heartbeat"] = Field(
        default="one_per_stage", description="How many allocations may start by preemption in a heartbeat."
    )
    satisfied_demand_tolerance: Literal["configured", "one"] = Field(
        default="configured", description="Tolerance of an operation whose fair share covers its demand."
    )
    usage_threshold_scope: Literal["operation", "prefix"] = Field(
        default="operation",
        description="What `non_preemptible_resource_usage_threshold` protects: an operation that"
        " uses less, or the oldest allocations of any operation.",
    )
    limit_repair: Literal["every_heartbeat", "stage"] = Field(
        default="every_heartbeat", description="When violated limits of operations and pools are repaired."
    )
    node_overcommit_delay: Duration = Field(
        default=0.0, description="How long a node may be over its resources before allocations are taken."
    )
    order_key: Literal["last_job_start", "last_progress"] = Field(
        default="last_job_start", description="Which time orders allocations from old to new."
    )
    victims_room: Literal["held_until_gone", "free_at_once"] = Field(
        default="held_until_gone",
        description="When what victims free beyond the need becomes free for any request.",
    )
    victim_cost: VictimCost = victim_cost()
    minimum_budget: Annotated[int, Ge(1), Le(10**9)] = Field(
        20_000, description="Branches that the search for the fewest victims may look at."
    )
    pace: PaceSettings = pace()

    def __init__(self, **values: Any) -> None:
        super().__init__(**_with_old_count(type(self)._renamed(values)))

    @classmethod
    def _renamed(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values under the names, and in the places, that the fields have here."""
        return super()._renamed(_with_fair_share(values, None))

    def replace(self, **changes: Any) -> Self:
        """Return a copy with these fields changed; the result is validated.

        Parameters
        ----------
        **changes
            New values by field or alias; settings of fair shares may stand beside `fair_share`.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            If the result would break a rule.
        """
        return super().replace(**_with_fair_share(changes, self.fair_share))

    @model_validator(mode="after")
    def _check(self) -> Self:
        broken(_cross_checks(self))
        return self


def _cross_checks(settings: YTsaurusSettings) -> list[tuple[str, str, str]]:
    found = []
    plain, aggressive = (
        settings.preemption_satisfaction_threshold,
        settings.aggressive_preemption_satisfaction_threshold,
    )
    if aggressive > plain:
        least, most = number(aggressive, [plain]), number(plain, [aggressive])
        said = f"is {least}; it must not exceed preemption_satisfaction_threshold ({most})"
        found.append(("aggressive_preemption_satisfaction_threshold", "range", said))
    # Where nothing starves aggressively a timeout that was left as it is refuses nothing. One that was chosen
    # is held to the system's own rule.
    chosen = "fair_share_aggressive_starvation_timeout"
    if (
        settings.enable_aggressive_starvation
        or getattr(settings, chosen) != YTsaurusSettings.model_fields[chosen].default
    ):
        found += aggressive_checks(settings)
    if settings.enable_infinite_resource_limits_overcommit and not settings.use_precommit_for_preemption:
        said = "is on; it needs use_precommit_for_preemption"
        found.append(("enable_infinite_resource_limits_overcommit", "needs", said))
    return found


def aggressive_checks(settings: YTsaurusSettings) -> list[tuple[str, str, str]]:
    """Return what is wrong with settings where anything may starve aggressively, as `broken` takes it."""
    plain, aggressive = (
        settings.fair_share_starvation_timeout,
        settings.fair_share_aggressive_starvation_timeout,
    )
    if aggressive >= plain:
        return []
    after, first = duration(aggressive), duration(plain)
    said = f"is {after}; it must not be shorter than fair_share_starvation_timeout ({first})"
    return [("fair_share_aggressive_starvation_timeout", "range", said)]


def _with_fair_share(values: Mapping[str, Any], before: FairShareSettings | None) -> Mapping[str, Any]:
    """Bring settings of fair shares that stand beside the others into `fair_share`, or into what it was."""
    aliases = FairShareSettings.ALIASES
    given = {name: values[key] for key, name in aliases.items() if key in values}
    if not given:
        return values
    rest = {key: value for key, value in values.items() if key not in aliases}
    whole = rest.get("fair_share", before)
    fields = whole.model_dump(exclude_unset=True) if isinstance(whole, FairShareSettings) else whole or {}
    if isinstance(fields, Mapping):
        fields = under_own_names(fields, aliases)
        for name in given if "fair_share" in rest else ():
            if name in fields:
                message = f"fair_share.{name} is given twice, also beside fair_share"
                field = f"fair_share.{name}"
                raise InputError([Problem("settings", None, None, field, "unique", None, message)])
        rest["fair_share"] = {**fields, **given}
    return rest


def _with_old_count(values: dict[str, Any]) -> dict[str, Any]:
    """Bring the removed count of protected allocations into the threshold, where that is unset."""
    old = "max_unpreemptible_running_allocation_count"
    if old not in values:
        return values
    values = dict(values)
    count = values.pop(old)
    if count is None:
        return values
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        message = f"{old} is {count!r}; it must be a whole number, at least 0"
        raise InputError([Problem("settings", None, None, old, "integer", repr(count), message)])
    threshold = values.get("non_preemptible_resource_usage_threshold", {})
    if isinstance(threshold, Mapping):
        values["non_preemptible_resource_usage_threshold"] = {"user_slots": float(count), **threshold}
    return values
