"""Settings of YTsaurus' fair share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from annotated_types import Gt, MinLen
from pydantic import ConfigDict, Field, model_validator

from evenhand.config.checked import Settings, under_own_names

__all__ = ["FairShareSettings"]

Seconds = Annotated[float, Gt(0), Field(allow_inf_nan=False)]


class FairShareSettings(Settings):
    """Settings of one pool tree for `evenhand.fair_share`.

    The first group are the tree's own options, the last one brings back the behaviour of older
    revisions, one switch a difference. The system's names `enable_step_function_for_gang_operations` and
    `enable_fair_share_truncation_in_fifo_pool` are read as `step_function_for_gang` and `fifo_truncation`.

    Notes
    -----
    Source: YTsaurus, `yt/yt/library/vector_hdrf` and the pool tree configuration that feeds it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: What the system calls fields that have another name here.
    ALIASES: ClassVar[Mapping[str, str]] = {
        "enable_step_function_for_gang_operations": "step_function_for_gang",
        "enable_fair_share_truncation_in_fifo_pool": "fifo_truncation",
    }

    main_resource: Annotated[str, MinLen(1)] | None = Field(
        default=None,
        description="Resource from which guarantees that are not given are implied. None: from `cpu`, where"
        " the snapshot has it; else none are implied.",
    )
    step_function_for_gang: bool = Field(
        default=False,
        description="A gang gets its entire demand at once or nothing (the pool must allow it too).",
    )
    fifo_reordering: bool = Field(
        default=False,
        description="In FIFO pools that ask for it, a waiting gang that does not fit into the pool's"
        " guarantee is served after what does. Needs `step_function_for_gang`.",
    )
    improved: bool = Field(
        default=False, description="Children of a pool that would jump together jump one after the other."
    )
    improved_gap: bool = Field(
        default=False,
        description="Detail of the published improved walk, kept for its name: positions are carried"
        " exactly here, so there is no gap to distribute.",
    )
    fast_fifo: bool = Field(
        default=False, description="Name of a faster way to the same result: always taken here."
    )
    integral_pool_capacity_saturation_period_s: Seconds = Field(
        default=86400.0, description="Seconds of its own flow that an integral pool can save up."
    )
    integral_smooth_period_s: Seconds = Field(
        default=60.0, description="Seconds over which a saved volume may be spent."
    )
    fifo_truncation: bool = Field(
        default=False,
        description="Older rule instead of the gang step: a gang of a FIFO pool without its entire demand"
        " gets nothing, and no other element receives its share.",
    )
    limit_strong_before_scaling: bool = Field(
        default=False,
        description="Older order: a pool's own limit cuts its guarantee before siblings are scaled.",
    )
    estimated_guarantee_counts_flow: bool = Field(
        default=False, description="Older rule: the estimated guarantee counts the flow of integral pools."
    )
    promised_fair_share: bool = Field(
        default=False, description="Older quantity `promised_fair_share` is computed."
    )

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, values: Any) -> Any:
        return under_own_names(values, cls.ALIASES)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with these fields changed; the result is validated.

        Parameters
        ----------
        **changes
            New values by field or by the system's name of it.

        Returns
        -------
        FairShareSettings

        Raises
        ------
        InputError
            If a field is unknown, or a value breaks a rule.
        """
        return type(self)(**{**self.model_dump(), **type(self)._renamed(changes)})
