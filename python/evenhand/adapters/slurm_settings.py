"""Slurm's rules as the cluster itself has them: its configuration, its partitions, its accounting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.adapters.protocol import AdapterError
from evenhand.config.slurm_accounting import parse_qos, parse_shares
from evenhand.config.slurm_shown import HEAD, read_shown, shown
from evenhand.config.slurm_text import read_partitions
from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.history import ShareTree

__all__ = ["Ask", "live_settings", "merged", "read_shares"]

#: Runs a command that only reads and returns its answer; raises `AdapterError` if it fails.
Ask = Callable[..., str]

_CONFIG = ("scontrol", "show", "config")
_PARTITIONS = ("scontrol", "-o", "show", "partition")
_QOS = ("sacctmgr", "-P", "show", "qos")
_SHARES = ("sshare", "-a", "-m", "-P")


def live_settings(ask: Ask) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of `evenhand.config.slurm.SlurmSettings` that a cluster lives by.

    Parameters
    ----------
    ask : Ask

    Returns
    -------
    settings : dict
    notices : list of str
        What could not be read, or does not mean what it says.

    Raises
    ------
    AdapterError
        If a command fails or its answer cannot be read.
    """
    config = ask(*_CONFIG)
    if not config.startswith(HEAD) or "\nSlurmctld(" not in config:
        raise AdapterError("scontrol show config: the answer is cut off")
    notices = []
    try:
        settings = read_shown(config)
        partitions = read_partitions(_whole(_PARTITIONS, ask(*_PARTITIONS)))
        kind = settings.get("PreemptType")
        if kind:
            notices.append(
                f"the cluster preempts by itself (PreemptType={kind}), and chooses victims of its own"
            )
        else:
            notices.append(
                "the cluster preempts nobody (PreemptType=preempt/none): the policy's settings have to say "
                "who may preempt whom"
            )
            # Slurm shows the mode of the whole cluster, OFF, as every partition's.
            partitions = {
                name: {k: v for k, v in part.items() if k != "PreemptMode"}
                for name, part in partitions.items()
            }
        settings["partitions"] = partitions
        if keeps_accounts(config):
            settings["qos"] = parse_qos(_whole(_QOS, ask(*_QOS)))
        else:
            notices.append("the cluster keeps no accounting: no QOS were read")
    except InputError as error:
        raise AdapterError(f"the cluster's configuration cannot be read: {error.problems[0]}") from error
    return settings, notices


def keeps_accounts(config: str) -> bool:
    """Whether there is a database, by what ``scontrol show config`` says."""
    kind = shown(config).get("AccountingStorageType", "")
    return bool(kind) and not kind.endswith("/none")


def read_shares(ask: Ask) -> ShareTree | None:
    """Return the tree of accounts and users, or None if the cluster keeps no accounting.

    Parameters
    ----------
    ask : Ask

    Returns
    -------
    ShareTree or None

    Raises
    ------
    AdapterError
        If a command fails or its answer cannot be read.
    """
    if not keeps_accounts(ask(*_CONFIG)):
        return None
    try:
        return parse_shares(_whole(_SHARES, ask(*_SHARES)))
    except InputError as error:
        raise AdapterError(f"sshare's answer cannot be read: {error.problems[0]}") from error


def merged(live: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with a person's changes; partitions and QOS are changed field by field.

    Parameters
    ----------
    live, changes : mapping

    Returns
    -------
    dict
    """
    found = {**live, **changes}
    for table in ("partitions", "qos"):
        if isinstance(changes.get(table), Mapping):
            rows = dict(live.get(table, {}))
            for name, row in changes[table].items():
                rows[name] = {**rows.get(name, {}), **row} if isinstance(row, Mapping) else row
            found[table] = rows
    return found


def _whole(command: tuple[str, ...], text: str) -> str:
    if not text.endswith("\n"):
        raise AdapterError(f"{' '.join(command)}: the answer is cut off")
    return text
