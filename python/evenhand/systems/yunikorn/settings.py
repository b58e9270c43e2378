"""Settings of the YuniKorn policy: one partition's, and those of its queues and asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from annotated_types import Ge, Le
from pydantic import Discriminator, Field, PlainSerializer, Strict, Tag, model_validator

from evenhand.config.checked import CheckedSettings, broken
from evenhand.config.kinds import FEW, Amounts, Duration, UnitShare
from evenhand.config.pace import PacedPool, PaceSettings, pace
from evenhand.config.rows import RowSettings

__all__ = ["SWITCHES", "YuniKornAllocation", "YuniKornQueue", "YuniKornRequest", "YuniKornSettings"]

#: What the running system does where its documents, or its users' reports, want something else.
SWITCHES = (
    "gives_below_guarantee",
    "ancestors_by_path_text",
    "stops_at_unfitting_victim",
    "ignores_free_room",
    "stops_at_any_type",
    "common_ancestors_lift_ask",
    "unguaranteed_types_open",
    "disabled_queues_preempt",
    "newest_before_lowest_priority",
    "drops_predicate_victims",
    "any_reservation_frees_node",
    "quota_takes_opted_out_first",
    "quota_takes_larger_excess",
    "fair_max_by_position",
    "required_node_ignores_free_room",
)

Policies = Annotated[
    tuple[Literal["inter_queue", "intra_queue"], ...], FEW, Strict(False), PlainSerializer(list)
]


def _form(value: Any) -> str:
    return "[word]" if isinstance(value, str) else "[columns]"


CostKey = Literal["opted_out", "originator", "priority", "live_time", "lost_work", "own"]
# Which of the two is wrong is said alone; the oldest pydantic accepts a list by this only.
Cost = Annotated[
    Annotated[Literal["default", "live_time", "priority", "kind"], Tag("[word]")]
    | Annotated[tuple[CostKey, ...], FEW, Strict(False), PlainSerializer(list), Tag("[columns]")],
    Discriminator(_form),
]


def _limit_form(value: Any) -> str:
    return "[amounts]" if isinstance(value, Mapping) else "[part]"


Limit = Annotated[
    Annotated[UnitShare, Tag("[part]")] | Annotated[Amounts, Tag("[amounts]")], Discriminator(_limit_form)
]
Count = Annotated[int, Ge(1), Le(2**31)]


class YuniKornSettings(CheckedSettings):
    """Settings of a partition and, for each difference between design and system, a switch.

    The defaults are the preset "documented": the design page's, which no release works by. "upstream" is
    release 1.9.
    """

    UPSTREAM: ClassVar[Mapping[str, Any]] = {
        "preemption": "per_ask",
        "asks_once": True,
        **dict.fromkeys(SWITCHES, True),
    }

    preemption: Literal["cycles", "per_ask"] = Field(
        "cycles",
        description="Cycles: a periodic cycle preempts for many asks. Per ask: each ask that cannot be"
        " placed tries by itself.",
    )
    n_alloc: Count = Field(100, description="Allocations of an allocation cycle, at most.")
    ask_candidates: Count = Field(100, description="Asks that are looked for at once in a preemption cycle.")
    limit: Limit = Field(
        0.1,
        description="What the asks that others are preempted for in a round may add up to: a part of the"
        " partition, or amounts; a resource without an amount is unlimited. The last ask may overshoot.",
    )
    policies: Policies = Field(
        ("inter_queue", "intra_queue"), description="Preemption policies of a cycle, in this order."
    )
    cost: Cost = Field(
        "default",
        description="What makes a victim cheap: columns in the order in which they count, or a name for"
        " some. Default: opted out last, originator last, lowest priority, shortest live time. Own: what is"
        " given with the plan.",
    )
    dead_zone: UnitShare = Field(
        0.0, description="Part above its guarantee up to which a queue gives nothing."
    )
    mode: Literal["sniper", "shotgun"] = Field(
        "sniper",
        description="Sniper: each victim leaves for an ask on its node. Shotgun: victims by queues' surplus"
        " alone.",
    )
    grace: Duration = Field(0.0, description="Given to the resource manager with each victim.")

    enabled: bool = Field(True, description="Per ask: off, nothing is preempted but for required nodes.")
    quota_preemption: bool = Field(
        False, description="Queues above their max for quota.preemption.delay give, in a cycle of their own."
    )
    attempts: Count = Field(10, description="Per ask: attempts of a leaf queue in a pass.")
    retry: Duration = Field(15.0, description="Per ask: between two attempts of an ask.")
    reservation_timeout: Duration = Field(
        3600.0,
        description="Per ask: a reservation that is older than twice this is cancelled where a more important"
        " ask needs its node, or maxima leave no room for its ask.",
    )
    reservation_delay: Duration = Field(
        2.0, description="Per ask: one that has waited for longer and fits nowhere reserves a node."
    )
    asks_once: bool = Field(False, description="Per ask: an ask that has preempted never does so again.")

    gives_below_guarantee: bool = Field(
        False, description="A queue above its guarantee may give more than what is above it."
    )
    ancestors_by_path_text: bool = Field(
        False, description="A queue counts as below another if its path begins with the other's text."
    )
    stops_at_unfitting_victim: bool = Field(
        False, description="A victim larger than what the asker is owed ends the search on a node."
    )
    ignores_free_room: bool = Field(False, description="The victims alone must cover the ask.")
    stops_at_any_type: bool = Field(
        False, description="Collection ends when the victims exceed the ask in one type."
    )
    common_ancestors_lift_ask: bool = Field(
        False, description="Offsets and fences of queues above both sides count for the ask alone."
    )
    unguaranteed_types_open: bool = Field(
        False, description="A guarantee of one resource lets a queue preempt for any other."
    )
    disabled_queues_preempt: bool = Field(
        False, description="Queues whose tasks are never victims may still preempt others."
    )
    newest_before_lowest_priority: bool = Field(
        False, description="Victims of one kind go by age alone, not by priority first."
    )
    drops_predicate_victims: bool = Field(
        False, description="Victims that only predicates need are spared, and the ask does not fit."
    )
    any_reservation_frees_node: bool = Field(
        False, description="One cancelled reservation frees a node that has others."
    )
    quota_takes_opted_out_first: bool = Field(
        False, description="A quota takes opted-out tasks and originators first."
    )
    quota_takes_larger_excess: bool = Field(
        False, description="A quota may push queues of the path below their guarantees."
    )
    fair_max_by_position: bool = Field(
        False, description="While queues are sorted, their fair maxima stay behind."
    )
    required_node_ignores_free_room: bool = Field(
        False, description="For an ask that needs its node the victims alone must cover it."
    )

    pace: PaceSettings = pace()

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = []
        for field in ("policies", "cost"):
            value = getattr(self, field)
            if not value:
                found.append((field, "length", "is empty; it must name one at least"))
            elif isinstance(value, tuple) and len(set(value)) < len(value):
                found.append((field, "unique", f"is {list(value)}; it names one twice"))
        broken(found)
        return self


class YuniKornQueue(PacedPool):
    """Settings of a queue: its properties as in YuniKorn's configuration."""

    TEXTS: ClassVar[tuple[str, ...]] = ("properties",)

    properties: dict[str, str] | None = Field(
        None, description='Texts by name, such as "preemption.policy": "fence".'
    )
    managed: bool | None = Field(
        None, description="Whether it is configured (the default); dynamic queues enforce no quota."
    )


_ZEROS = (
    'Resources that it names with an amount of 0, such as {"gpu": 0}: YuniKorn tells them from those that it'
    " does not name."
)


class YuniKornAllocation(RowSettings):
    """Settings of an allocation."""

    room_taken: Amounts | None = Field(
        None, description="Of one that is leaving: room that its beneficiary has taken already."
    )
    zeros: Amounts | None = Field(None, description=_ZEROS)


class YuniKornRequest(RowSettings):
    """Settings of an ask."""

    allow_preempt_other: bool | None = Field(None, description="Whether it may preempt; by default it may.")
    zeros: Amounts | None = Field(None, description=_ZEROS)
