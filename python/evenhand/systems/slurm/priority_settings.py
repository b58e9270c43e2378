"""Settings of Slurm's multifactor priority, under the names of slurm.conf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator, Field, InstanceOf, PlainSerializer
from pydantic_core import PydanticCustomError

from evenhand.config.checked import CheckedSettings
from evenhand.config.kinds import Duration, NonNegative, Texts
from evenhand.errors import InputError
from evenhand.history.tree import ShareTree

__all__ = ["PRIORITY_FLAGS", "SlurmPriority", "YesOrNo", "rule"]

#: Flags of ``PriorityFlags``; NO_NORMAL_ALL stands for the four behind it. Some play no part here.
PRIORITY_FLAGS = (
    *("ACCRUE_ALWAYS", "CALCULATE_RUNNING", "DEPTH_OBLIVIOUS", "FAIR_TREE", "INCR_ONLY", "MAX_TRES"),
    *("MAX_TRES_GRES", "NO_FAIR_TREE"),
    *("NO_NORMAL_ALL", "NO_NORMAL_ASSOC", "NO_NORMAL_PART", "NO_NORMAL_QOS", "NO_NORMAL_TRES"),
    "SMALL_RELATIVE_TO_TIME",
)
_TRES = ("cpu", "mem", "node", "gres/")
_OTHER_TRES = ("bb/", "billing", "energy", "fs/", "ic/", "license/", "pages", "vmem")
_DAY = 86_400.0


def rule(name: str, said: str) -> PydanticCustomError:
    """Return the error of a value that breaks a rule, in words that follow the field's name."""
    return PydanticCustomError("rule", "{said}", {"rule": name, "said": said})


def _yes_or_no(value: Any) -> Any:
    words = {"yes": True, "up": True, "true": True, "no": False, "false": False}
    return words.get(value.lower(), value) if isinstance(value, str) else value


def _flags(value: Any) -> Any:
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
        return value
    flags = tuple(dict.fromkeys(part.strip().upper() for part in value))
    for flag in flags:
        if flag not in PRIORITY_FLAGS:
            raise rule("choice", f"has {flag!r}, which is none of {', '.join(PRIORITY_FLAGS)}")
    if {"FAIR_TREE", "NO_FAIR_TREE"} <= set(flags):
        raise rule("needs", "has both FAIR_TREE and NO_FAIR_TREE")
    return flags


def _weights(value: Any) -> Any:
    if isinstance(value, str):
        value = dict(_pair(part) for part in value.split(",") if part.strip())
    if not isinstance(value, Mapping):
        return value
    weights = {str(name).lower(): weight for name, weight in value.items()}
    for name in weights:
        if not any(_is(name, kind) for kind in (*_TRES, *_OTHER_TRES)):
            raise rule("choice", f"has {name!r}; it may have cpu, mem, node and gres/<name>")
    return weights


def _is(name: str, kind: str) -> bool:
    return name.startswith(kind) if kind.endswith("/") else name == kind


def _pair(part: str) -> tuple[str, float]:
    name, _, weight = part.strip().partition("=")
    try:
        return name, float(weight)
    except ValueError:
        raise rule("type", f"has {part.strip()!r}, which is no name=weight") from None


def _tree(value: Any) -> Any:
    if not (isinstance(value, Mapping) and all(isinstance(row, Mapping) for row in value.values())):
        return value
    try:
        return ShareTree.from_dict(value)
    except InputError as error:
        raise rule("share_tree", f"is no tree of shares: {error.problems[0].message}") from None


YesOrNo = Annotated[bool, BeforeValidator(_yes_or_no)]
_Weight = Annotated[int, Ge(0), Le(2**32 - 1)]


class SlurmPriority(CheckedSettings):
    """Settings of the order of pending jobs."""

    PriorityType: Literal["priority/basic", "priority/multifactor"] = Field(
        "priority/basic",
        description="Where a job's priority comes from if it has none of its own: it is 1, so that the first"
        " submitted comes first; or the weighted sum of factors.",
    )
    PriorityWeightAge: _Weight = Field(0, description="Of the time that a job has been eligible.")
    PriorityWeightAssoc: _Weight = Field(0, description="Of `association_priority`.")
    PriorityWeightFairshare: _Weight = Field(0, description="Of the fair share factor of its association.")
    PriorityWeightJobSize: _Weight = Field(0, description="Of its part of the cluster's nodes and cpus.")
    PriorityWeightPartition: _Weight = Field(0, description="Of `PriorityJobFactor`.")
    PriorityWeightQOS: _Weight = Field(0, description="Of the QOS's `Priority`.")
    PriorityWeightTRES: Annotated[dict[str, NonNegative], BeforeValidator(_weights)] = Field(
        default_factory=dict,
        description="Of its part of what its partition has: cpu, mem, node, gres/<name>; or text as in"
        " slurm.conf.",
    )
    PriorityMaxAge: Annotated[Duration, Gt(0)] = Field(7 * _DAY, description="Age that counts as 1.")
    PriorityFavorSmall: YesOrNo = Field(False, description="The size factor is higher for small jobs.")
    PriorityFlags: Annotated[Texts, BeforeValidator(_flags)] = Field(
        (), description=f"Of {', '.join(PRIORITY_FLAGS)}; or text as in slurm.conf."
    )
    FairShareDampeningFactor: Annotated[int, Ge(1)] = Field(
        1, description="With NO_FAIR_TREE: a higher one distinguishes heavy users less."
    )
    tied_accounts: Literal["documented", "upstream"] = Field(
        "documented",
        description="Fair Tree: whether the children of tied accounts are ranked as one list, or account by"
        " account.",
    )
    shares: Annotated[
        InstanceOf[ShareTree] | None,
        BeforeValidator(_tree),
        PlainSerializer(lambda tree: None if tree is None else tree.to_dict()),
    ] = Field(
        None,
        description="Accounts (``account``) and users in them (``account/user``, or"
        " ``account/user/partition``) with shares and decayed usage, as `parse_shares` reads them from"
        " sshare: a `ShareTree` or its rows by name.",
    )
    association_priority: dict[str, Annotated[int, Ge(0)]] = Field(
        default_factory=dict, description="Priority of associations, by their names in `shares`."
    )

    def not_computed(self) -> list[tuple[str, str]]:
        """Return fields that ask for a factor that is not computed, and what it is.

        Returns
        -------
        list of (field, name)
        """
        if self.PriorityType == "priority/basic":
            return []
        oblivious = "DEPTH_OBLIVIOUS" in self.PriorityFlags and self.PriorityWeightFairshare > 0
        found = [("PriorityFlags", "DEPTH_OBLIVIOUS")] if oblivious else []
        return found + [
            ("PriorityWeightTRES", name)
            for name, weight in self.PriorityWeightTRES.items()
            if weight and not any(_is(name, kind) for kind in _TRES)
        ]
