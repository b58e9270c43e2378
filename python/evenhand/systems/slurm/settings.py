"""Settings of Slurm's preemption, under the names of slurm.conf and of the QOS table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le
from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from evenhand.config.checked import Settings, broken
from evenhand.config.costs import VictimCost, victim_cost
from evenhand.config.kinds import Duration, Texts
from evenhand.config.pace import PaceSettings, pace
from evenhand.systems.slurm.limit_settings import AssociationLimits, QosLimits, SlurmAssociation
from evenhand.systems.slurm.pass_settings import PASSES_UNREAD, SlurmPasses
from evenhand.systems.slurm.priority_settings import YesOrNo, rule
from evenhand.systems.slurm.releases import RELEASES, release_of
from evenhand.systems.slurm.text.hostlist import expand_hostlist

__all__ = [
    "BASES",
    "FLAGS",
    "SlurmAssociation",
    "SlurmPartition",
    "SlurmQos",
    "SlurmSettings",
    "flags_of",
    "partitions_named",
    "split_mode",
]

#: What becomes of a victim; exactly one of these, beside flags.
BASES = ("OFF", "CANCEL", "REQUEUE", "SUSPEND")
#: Flags beside it.
FLAGS = ("GANG", "WITHIN", "PRIORITY")
_SAME = {"CLUSTER": "OFF", "ON": "SUSPEND"}
_TYPES = ("preempt/none", "preempt/partition_prio", "preempt/qos")


def split_mode(mode: str) -> tuple[str, frozenset[str]]:
    """Return the base and the flags of a ``PreemptMode``; without a base it is OFF."""
    words = mode.split(",")
    return next((word for word in words if word in BASES), "OFF"), frozenset(words) & frozenset(FLAGS)


def flags_of(s: SlurmSettings, part: SlurmPartition | SlurmQos | None) -> frozenset[str]:
    """Return the flags that count where jobs of a partition or a QOS preempt others."""
    own = None if part is None else part.PreemptMode
    return split_mode(s.PreemptMode)[1] | split_mode(own or "")[1]


def partitions_named(text: str) -> tuple[str, ...]:
    """Return the partitions that a job names: ``"low,high"`` is two."""
    return tuple(dict.fromkeys(part for part in map(str.strip, text.split(",")) if part))


def _mode(value: Any) -> Any:
    if value is None or not isinstance(value, str):
        return value
    words = [_SAME.get(word, word) for word in (part.strip().upper() for part in value.split(","))]
    for word in words:
        if word not in BASES + FLAGS:
            known = ", ".join(BASES + FLAGS)
            raise rule("choice", f"is {value!r}; {word!r} is none of {known}")
    if len({word for word in words if word in BASES}) > 1:
        raise rule("choice", f"is {value!r}; it must name one of {', '.join(BASES)} only")
    return ",".join(dict.fromkeys(words))


def _mode_of_partition(value: Any) -> Any:
    mode = _mode(value)
    flags = (split_mode(mode)[1] if isinstance(mode, str) else frozenset()) - {"PRIORITY"}
    if flags:
        raise rule("choice", f"is {value!r}; {' and '.join(sorted(flags))} cannot be set for a partition")
    return mode


def _mode_of_qos(value: Any) -> Any:
    """As the database keeps it: OFF, CLUSTER and nothing at all are one, the cluster's mode."""
    if isinstance(value, str) and value.strip().upper() in ("", "CLUSTER", "OFF"):
        return None
    mode = _mode(value)
    if isinstance(mode, str) and "GANG" in mode.split(","):
        raise rule("choice", f"is {value!r}; GANG is a mode of the cluster as a whole")
    return mode


def _release(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    release = release_of(value)
    if release is None:
        raise rule("choice", f"is {value!r}; it must be a version such as {RELEASES[-1]}.1, or a release")
    return release


def _type(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _sharing(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    word, colon, count = value.strip().upper().partition(":")
    if word not in ("NO", "YES", "FORCE", "EXCLUSIVE") or (colon and not count.isdecimal()):
        raise rule("choice", f"is {value!r}; it must be NO, EXCLUSIVE, YES[:n] or FORCE[:n]")
    return word + colon + count


def _nodes(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return expand_hostlist(value)
    except ValueError as error:
        raise rule("host_list", f"is {value!r}; {error}") from None


def _state(value: Any) -> Any:
    return value.strip().upper() if isinstance(value, str) else value


class _Part(Settings):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    GraceTime: Duration = Field(0.0, description="Time that a victim has to end.")


class SlurmPartition(_Part):
    """A partition: its jobs have it as the ``partition`` of their operations."""

    PreemptMode: Annotated[str | None, BeforeValidator(_mode_of_partition)] = Field(
        None,
        description="What becomes of its jobs, OFF: nothing; none: as in the cluster. With the flag PRIORITY"
        " its jobs preempt none of higher priority; the flag alone is OFF.",
    )
    PriorityTier: Annotated[int, Ge(0), Le(65533)] = Field(1, description="Higher preempts lower.")
    PriorityJobFactor: Annotated[int, Ge(0), Le(65533)] = Field(
        1, description="Of its jobs' priority, as a part of the highest of all partitions."
    )
    OverSubscribe: Annotated[str, BeforeValidator(_sharing)] = Field(
        "NO", description="NO, EXCLUSIVE (entire nodes), YES or FORCE; jobs are suspended under the last two."
    )
    Nodes: Annotated[Texts, BeforeValidator(_nodes)] = Field(
        ("ALL",), description='Names of its nodes, as a list or a host list; "ALL".'
    )
    State: Annotated[Literal["UP", "DOWN", "DRAIN", "INACTIVE"], BeforeValidator(_state)] = Field(
        "UP", description="DOWN and INACTIVE: its jobs that wait do not start; DRAIN: no new ones come."
    )
    Default: YesOrNo = Field(False, description="Takes jobs that name no partition.")
    QOS: str | None = Field(None, description="QOS of the partition, for `PreemptExemptTime`.")
    MaxTime: Duration | None = Field(
        None, description="Longest time limit of its jobs; one that asks for more does not start."
    )
    DefaultTime: Duration | None = Field(
        None, description="Time limit of jobs whose requests have no duration; none: `MaxTime`."
    )


class SlurmQos(QosLimits, _Part):
    """A quality of service: its jobs have it as the ``qos`` of their operations."""

    PreemptMode: Annotated[str | None, BeforeValidator(_mode_of_qos)] = Field(
        None, description="What becomes of its jobs; none, OFF or CLUSTER: as in the cluster."
    )
    Preempt: Texts = Field((), description="QOS whose jobs it may preempt.")
    Priority: Annotated[int, Ge(0)] = Field(
        0, description="Orders victims, lower first; a factor of priority."
    )
    PreemptExemptTime: Duration | None = Field(None, description="Instead of the cluster's.")


class SlurmSettings(SlurmPasses):
    """Settings of Slurm's preemption and of the order of pending jobs.

    Names of slurm.conf and of its ``PreemptParameters`` are the system's. Durations are seconds.
    """

    UPSTREAM: ClassVar[Mapping[str, Any]] = {"gang_exempt_time": "by_release", "tied_accounts": "upstream"}
    UNREAD: ClassVar[tuple[str, ...]] = ("send_user_signal", "suspend_grace_time", *PASSES_UNREAD)

    release: Annotated[str | None, BeforeValidator(_release)] = Field(
        None,
        description="Whose rules are followed, where releases differ: of a version, the latest that is known"
        " and not later. None: that of the snapshot (`slurm_version` of its root), else the newest.",
    )
    PreemptType: Annotated[str | None, BeforeValidator(_type)] = Field(
        None, description="preempt/none, preempt/partition_prio or preempt/qos: which jobs may preempt which."
    )
    PreemptMode: Annotated[str, BeforeValidator(_mode)] = Field(
        "OFF", description="OFF, CANCEL, REQUEUE or SUSPEND, and flags GANG, WITHIN, PRIORITY."
    )
    PreemptExemptTime: Duration | None = Field(None, description="Run time before which a job is no victim.")
    reorder_count: Annotated[int, Le(2**31 - 1)] = Field(
        1, description="Attempts to reorder victims; below 0 it is 1."
    )
    strict_order: bool = Field(False, description="Reordering moves the last candidate only.")
    youngest_first: bool = Field(False, description="Victims are taken latest start first.")
    reclaim_licenses: bool = Field(False, description="Jobs are preempted for their licences, too.")
    min_exempt_priority: float | None = Field(None, description="Jobs above this priority are no victims.")
    send_user_signal: bool = Field(
        False,
        description="A victim gets the signal that it asked for. No plan reads it: it sends none.",
    )
    suspend_grace_time: Duration = Field(
        2.0, description="Between the two signals that suspend. No plan reads it: a job suspends at once."
    )
    JobRequeue: bool = Field(True, description="Whether jobs that do not say may be started anew.")
    KillWait: Duration = Field(30.0, description="Between the signals that end a job.")
    MessageTimeout: Duration = Field(10.0, description="With `KillWait`: before a job preempts again.")
    SelectType: Literal["select/cons_tres", "select/cons_res", "select/linear"] = Field(
        "select/cons_tres", description="select/linear gives jobs entire nodes."
    )
    partitions: dict[str, SlurmPartition] = Field(
        default_factory=dict, description="By name; without any there is one of all nodes."
    )
    qos: dict[str, SlurmQos] = Field(default_factory=dict, description="By name.")
    node_weights: dict[str, Annotated[int, Ge(0), Le(2**32 - 1)]] = Field(
        default_factory=dict,
        description="`Weight` of nodes by name; others have 1. Nodes of little weight are taken first.",
    )
    association_limits: AssociationLimits = Field(
        default_factory=dict,
        description="Limits of accounts (`account`) and users in them (`account/user`, or"
        " `account/user/partition`), by name.",
    )
    AccountingStorageEnforce: Texts | None = Field(
        None, description='Limits are enforced if it has "limits" or "safe", or is not said.'
    )

    victim_selection: Literal["reorder", "prefix", "irreducible", "minimum", "test_only"] = Field(
        "reorder",
        description="The system's reordered passes; in order until it fits (prefix); of these, only those"
        " that are needed (irreducible); the fewest jobs (minimum); what the dry run would print.",
    )
    victim_cost: VictimCost = victim_cost()
    minimum_budget: Annotated[int, Ge(1), Le(10**9)] = Field(
        20_000, description="Branches that the search for the fewest victims may look at."
    )
    pace: PaceSettings = pace()
    gang_exempt_time: Literal["honoured", "ignored", "by_release"] = Field(
        "honoured",
        description="Whether `PreemptExemptTime` shields jobs from being suspended by tier; by release: from"
        " 26.05 on.",
    )

    @field_validator("PreemptType")
    @classmethod
    def _known_type(cls, value: str | None) -> str | None:
        if value is not None and value not in _TYPES:
            raise rule("choice", f"is {value!r}; it must be {', '.join(_TYPES)}")
        return None if value == "preempt/none" else value

    @field_validator("reorder_count")
    @classmethod
    def _not_negative(cls, value: int) -> int:
        return value if value >= 0 else 1

    @model_validator(mode="after")
    def _check(self) -> SlurmSettings:
        broken(_cross_checks(self))
        return self


def _cross_checks(s: SlurmSettings) -> list[tuple[str, str, str]]:
    found = []
    base, flags = split_mode(s.PreemptMode)
    if base == "SUSPEND" and "GANG" not in flags:
        found.append(("PreemptMode", "needs", f"is {s.PreemptMode}; SUSPEND needs GANG"))
    if "GANG" in flags and len(flags) > 1:
        said = f"is {s.PreemptMode}; GANG excludes WITHIN and PRIORITY"
        found.append(("PreemptMode", "needs", said))
    if s.PreemptType is None and base != "OFF":
        found.append(("PreemptMode", "needs", f"is {s.PreemptMode}; it needs a PreemptType"))
    if s.PreemptType is not None and base == "OFF":
        said = f"is {s.PreemptMode}; {s.PreemptType} needs CANCEL, REQUEUE or SUSPEND"
        found.append(("PreemptMode", "needs", said))
    for name, qos in s.qos.items():
        found += [
            (f"qos.{name}.Preempt", "exists", f"names {other!r}, which is no QOS")
            for other in qos.Preempt
            if other not in s.qos
        ]
    for name, partition in s.partitions.items():
        if partition.QOS is not None and partition.QOS not in s.qos:
            hint = "" if s.qos else "; QOS are not in slurm.conf: give them as qos"
            found.append((f"partitions.{name}.QOS", "exists", f"is {partition.QOS!r}, which is no QOS{hint}"))
    found += [
        (f"association_limits.{name}.parent", "exists", f"is {one.parent!r}, which has no limits here")
        for name, one in s.association_limits.items()
        if one.parent is not None and one.parent not in s.association_limits
    ]
    found += _circles(s)
    defaults = [name for name, partition in s.partitions.items() if partition.Default]
    if len(defaults) > 1:
        found.append(("partitions", "unique", f"has several defaults: {', '.join(defaults)}"))
    return found


def _circles(s: SlurmSettings) -> list[tuple[str, str, str]]:
    """Find accounts that stand above themselves."""
    for name in s.association_limits:
        above, seen = s.association_limits[name].parent, {name}
        while above is not None and above in s.association_limits:
            if above in seen:
                return [(f"association_limits.{name}.parent", "tree", "leads back to itself")]
            seen.add(above)
            above = s.association_limits[above].parent
    return []
