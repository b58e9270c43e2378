"""Slurm's rules as the cluster itself has them: its configuration, its partitions, its accounting."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.adapters.protocol import AdapterError
from evenhand.building.problems import nearest
from evenhand.config.rows import raise_found
from evenhand.errors import InputError, Problem
from evenhand.systems.slurm.text.accounting import parse_limits, parse_qos, parse_shares
from evenhand.systems.slurm.text.nodes import weights_of
from evenhand.systems.slurm.text.partitions import read_partitions, sharing_of
from evenhand.systems.slurm.text.shown import HEAD, read_shown, shown

if TYPE_CHECKING:
    from evenhand.history import ShareTree

__all__ = ["Ask", "identity_of", "live_settings", "merged", "notices_of", "read_shares", "read_sharing"]

#: Runs a command that only reads and returns its answer; raises `AdapterError` if it fails.
Ask = Callable[..., str]

_CONFIG = ("scontrol", "show", "config")
_PARTITIONS = ("scontrol", "-o", "show", "partition")
_NODES = ("scontrol", "show", "node")
_QOS = ("sacctmgr", "-P", "show", "qos")
_ASSOCIATIONS = (
    *("sacctmgr", "-P", "show", "assoc"),
    "format="
    + ",".join(
        (
            *("Cluster", "Account", "User", "Partition", "ParentName", "GrpJobs", "GrpTRES", "GrpTRESMins"),
            *("GrpTRESRunMins", "GrpWall", "MaxJobs", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall"),
        )
    ),
)
_SHARES = ("sshare", "-a", "-m", "-P")
_SETTING = re.compile(r"^(\S+) *= (.*\S)", re.MULTILINE)


def identity_of(ask: Ask) -> str:
    """Return what tells a cluster from others: its name and its controller, however it was reached."""
    found = dict(_SETTING.findall(ask(*_CONFIG)))
    host = found.get("SlurmctldHost[0]")
    if not host or "ClusterName" not in found:
        raise AdapterError("scontrol show config: it does not say which cluster this is")
    return f"slurm:{found['ClusterName']}@{host}:{found.get('SlurmctldPort', '')}"


def live_settings(ask: Ask, notes: list[str] | None = None) -> dict[str, Any]:
    """Return the settings of `evenhand.systems.slurm.settings.SlurmSettings` that a cluster lives by."""
    config = ask(*_CONFIG)
    if not config.startswith(HEAD) or "\nSlurmctld(" not in config:
        raise AdapterError("scontrol show config: the answer is cut off")
    try:
        settings = read_shown(config, notes=notes)
        partitions = read_partitions(_whole(_PARTITIONS, ask(*_PARTITIONS)), notes=notes)
        if not settings.get("PreemptType"):
            # Slurm shows the mode of the cluster, OFF, as every partition's.
            for partition in partitions.values():
                partition.pop("PreemptMode", None)
        settings["partitions"] = partitions
        settings["node_weights"] = weights_of(_whole(_NODES, ask(*_NODES)))
        if keeps_accounts(config):
            settings["qos"] = parse_qos(_whole(_QOS, ask(*_QOS)), notes=notes)
            if {"limits", "safe", "all"} & set(settings.get("AccountingStorageEnforce", ())):
                text = _whole(_ASSOCIATIONS, ask(*_ASSOCIATIONS))
                settings["association_limits"] = parse_limits(text, cluster=shown(config).get("ClusterName"))
    except InputError as error:
        raise AdapterError(f"the cluster's configuration cannot be read: {error.problems[0]}") from error
    return settings


def keeps_accounts(config: str) -> bool:
    """Whether there is a database, by what ``scontrol show config`` says."""
    kind = shown(config).get("AccountingStorageType", "")
    return bool(kind) and not kind.endswith("/none")


def read_shares(ask: Ask) -> ShareTree | None:
    """Return the tree of accounts and users, or None if the cluster keeps no accounting."""
    if not keeps_accounts(ask(*_CONFIG)):
        return None
    try:
        return parse_shares(_whole(_SHARES, ask(*_SHARES)))
    except InputError as error:
        raise AdapterError(f"sshare's answer cannot be read: {error.problems[0]}") from error


def read_sharing(ask: Ask) -> dict[str, str]:
    """Return the partitions of which each node, or block of nodes, is for one user or job at a time."""
    return sharing_of(_whole(_PARTITIONS, ask(*_PARTITIONS)))


def merged(live: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with a person's changes; partitions and QOS are changed field by field."""
    found = {**live, **changes}
    problems = []
    for table in ("partitions", "qos"):
        if not isinstance(changes.get(table), Mapping) or table not in live:
            continue
        found[table] = dict(live[table])
        for name, row in changes[table].items():
            if name not in live[table]:
                field, known = f"{table}.{name}", [str(other) for other in live[table]]
                message = f"the cluster has no {field}{nearest(str(name), known)}"
                problems.append(Problem("settings", None, None, field, "exists", None, message))
            known_row = live[table].get(name, {})
            found[table][name] = {**known_row, **row} if isinstance(row, Mapping) else row
    raise_found(problems)
    return found


def notices_of(live: Mapping[str, Any], rules: Mapping[str, Any]) -> list[str]:
    """Return what a person should know of a cluster's settings and those that are planned by."""
    found = []
    if live.get("PreemptType"):
        kind = live["PreemptType"]
        found.append(f"the cluster preempts by itself (PreemptType={kind}), and chooses victims of its own")
    elif rules.get("PreemptType") in (None, "preempt/none"):
        found.append(
            "no job will be preempted: the cluster's own preemption is off (PreemptType=preempt/none), and "
            "the settings of the policy do not say which jobs may preempt which"
        )
    if "qos" not in live:
        found.append("the cluster keeps no accounting: it has no QOS by which to preempt")
    return found


def _whole(command: tuple[str, ...], text: str) -> str:
    if not text.endswith("\n"):
        raise AdapterError(f"{' '.join(command)}: the answer is cut off")
    return text
