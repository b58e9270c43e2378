"""What Slurm's accounting prints with ``-P``: ``sacctmgr show qos``, ``sacctmgr show assoc``, ``sshare``."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.building.problems import nearest, nearest_of, shorten
from evenhand.systems.slurm.text.values import amounts, grace, read_value, seconds, whole
from evenhand.systems.texts import Found

if TYPE_CHECKING:
    from evenhand.history.tree import ShareTree

__all__ = ["association_name", "parse_associations", "parse_limits", "parse_qos", "parse_shares"]

_QOS_NAMES = """
    Description Flags GrpJobs GrpJobsAccrue GrpSubmit GrpSubmitJobs GrpTRES GrpTRESMins GrpTRESRunMins GrpWall
    ID LimitFactor MaxJobsAccruePA MaxJobsAccruePU MaxJobsPA MaxJobsPU MaxSubmitJobsPA MaxSubmitJobsPU
    MaxSubmitPA MaxSubmitPU MaxTRES MaxTRESMins MaxTRESPA MaxTRESPU MaxTRESPerNode MaxTRESRunMinsPA
    MaxTRESRunMinsPU MaxWall MinPrio MinPrioThresh MinTRES Name UsageFactor UsageThres
"""
_ASSOC_NAMES = """
    Account Cluster Comment DefaultQOS Fairshare Flags GrpJobs GrpJobsAccrue GrpSubmit GrpSubmitJobs GrpTRES
    GrpTRESMins GrpTRESRunMins GrpWall ID LFT Lineage MaxJobs MaxJobsAccrue MaxSubmit MaxSubmitJobs MaxTRES
    MaxTRESMins MaxTRESMinsPJ MaxTRESPJ MaxTRESPN MaxTRESPerNode MaxTRESRunMins MaxWall MinPrioThresh ParentID
    ParentName Partition Priority QOS RGT Share User
"""
_SHARE_NAMES = """
    Account Cluster EffectvUsage FairShare GrpTRESMins GrpTRESRaw ID LevelFS NormShares NormUsage Partition
    RawShares RawUsage TRESRunMins User
"""


#: What prints each table with its columns.
_COMMANDS = {
    "sacctmgr show qos": "sacctmgr -P show qos",
    "sacctmgr show assoc": "sacctmgr -P show assoc",
    "sshare": "sshare -a -m -P",
}
_DUMPED = re.compile(r"(# To edit this file|(Cluster|Parent|Account|User|QOS) - ')")


def _mode(text: str) -> str | None:
    return None if text.lower() in ("", "cluster", "off") else text


def _texts(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _priority(text: str) -> int:
    return whole(text) if text else 0


def _shares(text: str) -> float | str:
    return "parent" if text == "parent" else float(whole(text)) if text else 1.0


_QOS: Mapping[str, Callable[[str], Any]] = {
    "Priority": _priority,
    "GraceTime": lambda text: grace(text) if text else 0.0,
    "Preempt": _texts,
    "PreemptExemptTime": lambda text: seconds(text) if text else None,
    "PreemptMode": _mode,
}


def _count(text: str) -> int | None:
    return whole(text) if text else None


_LIMITS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(("GrpTRES", "GrpTRESRunMins", "MaxTRES", "MaxTRESPerNode"), amounts),
    "GrpJobs": _count,
    "MaxWall": lambda text: seconds(text) if text else None,
}
_QOS_LIMITS: Mapping[str, Callable[[str], Any]] = {
    **_LIMITS,
    **dict.fromkeys(("MaxTRESPU", "MaxTRESPA", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA", "MinTRES"), amounts),
    **dict.fromkeys(("MaxJobsPU", "MaxJobsPA"), _count),
}
_ASSOC_LIMITS: Mapping[str, Callable[[str], Any]] = {**_LIMITS, "MaxJobs": _count}
#: Other words of a column, by what it is called here.
_ALIASES: Mapping[str, str] = {
    "MaxTRESPJ": "MaxTRES",
    "MaxTRESPN": "MaxTRESPerNode",
    "Par Name": "ParentName",
}
#: Limits that count what was used, which no list of limits says.
_UNREAD = ("GrpTRESMins", "GrpWall", "MaxTRESMins", "MaxTRESMinsPJ")
_ASSOC: Mapping[str, Callable[[str], Any]] = {"Priority": _priority}
_SHARE: Mapping[str, Callable[[str], Any]] = {"RawShares": _shares, "RawUsage": whole}


def association_name(account: str, user: str = "", partition: str = "") -> str:
    """Return the name of a row of the share tree: ``account/user/partition``, or a part of it."""
    return "/".join(filter(None, (account, user, partition)))


def parse_qos(text: str, *, notes: list[str] | None = None) -> dict[str, dict[str, Any]]:
    r"""Return the QOS that ``sacctmgr show qos -P`` prints."""
    found = Found("sacctmgr show qos")
    qos: dict[str, dict[str, Any]] = {}
    for line, row in _rows(
        text, ("Name",), [*_QOS, *_QOS_NAMES.split()], found, ("Name", *_QOS, *_QOS_LIMITS)
    ):
        _once(row["Name"], qos, line, "Name", found)
        qos[row["Name"]] = _values(_QOS, row, line, found) | _limits(_QOS_LIMITS, row, line, found)
        flags = {flag.lower() for flag in row.get("Flags", "").split(",")}
        if "overpartqos" in flags:
            qos[row["Name"]]["OverPartQOS"] = True
        unread = [*(("Relative",) if "relative" in flags else ())]
        if "enforceusagethreshold" in flags and row.get("UsageThres"):
            unread.append("UsageThres")
        if unread:
            qos[row["Name"]].setdefault("unread_limits", []).extend(unread)
        if "noreserve" in flags:
            found.note(line, f"no plan reads the flag NoReserve of QOS {shorten(row['Name'])}")
    found.complain()
    for name, fields in qos.items():
        if lacking := [other for other in fields.get("Preempt", ()) if other not in qos]:
            found.notes.append(f"QOS {name} may preempt {', '.join(lacking)}, which the list lacks")
            fields["Preempt"] = [other for other in fields["Preempt"] if other in qos]
    if notes is not None:
        notes += found.notes
    return qos


def parse_associations(text: str, *, cluster: str | None = None) -> dict[str, int]:
    """Return the priorities of associations that ``sacctmgr show assoc -P`` prints."""
    found = Found("sacctmgr show assoc")
    priorities: dict[str, int] = {}
    for line, row in _rows(
        text,
        ("Account", "User", "Priority"),
        [*_ASSOC_NAMES.split(), "Def QOS", "Par Name"],
        found,
        ("Account", "User", "Partition", "Priority"),
    ):
        if _of_another(row, cluster):
            continue
        name = association_name(row["Account"], row["User"], row.get("Partition", ""))
        _once(name, priorities, line, "Account", found)
        priorities[name] = _values(_ASSOC, row, line, found).get("Priority", 0)
    found.complain()
    return {name: priority for name, priority in priorities.items() if priority}


def parse_limits(text: str, *, cluster: str | None = None) -> dict[str, dict[str, Any]]:
    """Return the limits of associations that ``sacctmgr show assoc -P`` prints."""
    found = Found("sacctmgr show assoc")
    limits: dict[str, dict[str, Any]] = {}
    above: dict[str, str] = {}
    known = [*_ASSOC_NAMES.split(), "Def QOS", "Par Name"]
    for line, row in _rows(text, ("Account", "User"), known, found, (*_ASSOC_LIMITS, "Account", "User")):
        if _of_another(row, cluster):
            continue
        name = association_name(row["Account"], row["User"], row.get("Partition", ""))
        own = _limits(_ASSOC_LIMITS, row, line, found)
        if not row["User"]:  # what it says of one job or user is only the default of those below
            own.pop("MaxJobs", None)
            above[name] = row.get("ParentName", row.get("Par Name", ""))
        else:
            above[name] = row["Account"]
        if own:
            limits[name] = own
    found.complain()
    for name, own in limits.items():
        parent, seen = above[name], {name}
        while parent and parent not in limits and parent not in seen:
            seen.add(parent)
            parent = above.get(parent, "")
        if parent in limits and parent != name:
            own["parent"] = parent
    return limits


def parse_shares(text: str) -> ShareTree:
    r"""Return the tree of shares and usage that ``sshare -a -P`` prints."""
    from evenhand.history.tree import ShareTree

    found = Found("sshare")
    tree: dict[str | int, dict[str, Any]] = {}
    above: list[str] = []
    needed = ("Account", "User", "RawShares", "RawUsage")
    for line, row in _rows(text, needed, _SHARE_NAMES.split(), found, (*needed, "Partition")):
        account = row["Account"].lstrip(" ")
        depth = len(row["Account"]) - len(account)
        name = association_name(account, row["User"], row.get("Partition", ""))
        if depth > len(above) or (not depth and (above or account != "root")):
            message = f"{shorten(name)} has no account above it: print all rows from root on, with -a"
            found.add(line, "Account", "tree", shorten(name), message)
            break
        _once(name, tree, line, "Account", found)
        values = _values(_SHARE, row, line, found)
        tree[name] = {
            "parent": above[depth - 1] if depth else None,
            "shares": values.get("RawShares", 1.0),
            "usage": float(values.get("RawUsage", 0)),
            "user": bool(row["User"]),
            "total": not row["User"],
        }
        if not row["User"]:
            above[depth:] = [name]
    found.complain()
    return ShareTree.from_dict(tree)


def _of_another(row: Mapping[str, str], cluster: str | None) -> bool:
    """Whether a row is of another cluster of the same database."""
    return cluster is not None and row.get("Cluster", cluster) != cluster


def _values(
    readers: Mapping[str, Callable[[str], Any]], row: Mapping[str, str], line: int, found: Found
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in readers:
        if name in row:
            values |= read_value(readers, name, row[name], line, found)
    return values


def _limits(
    readers: Mapping[str, Callable[[str], Any]], row: Mapping[str, str], line: int, found: Found
) -> dict[str, Any]:
    """Return the limits of a row that are set, and the names of those that cannot be judged."""
    said = {_ALIASES.get(name, name): value for name, value in row.items() if value}
    values: dict[str, Any] = {}
    for name in readers:
        if name in said:
            values |= read_value(readers, name, said[name], line, found)
    unread = [name for name in _UNREAD if said.get(name)]
    values = {name: value for name, value in values.items() if value not in (None, {})}
    return values | ({"unread_limits": unread} if unread else {})


def _once(name: str, known: Container[Any], line: int, field: str, found: Found) -> None:
    if name in known:
        message = f"{shorten(name)} is there twice; sshare -m lists partitions separately"
        found.add(line, field, "unique", shorten(name), message)


def _rows(
    text: str, needed: tuple[str, ...], known: list[str], found: Found, read: Container[str | None] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each line and its cells by column; the first line names the columns."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    first, head = lines[0] if lines else (1, "")
    names = head.split("|")
    trailing = names[-1] == ""  # of -p
    columns = names[:-1] if trailing else names
    wanted = _COMMANDS[found.table]
    if any(_DUMPED.match(line) for _, line in lines[:20]):
        message = f"this is what sacctmgr dump writes; wanted is what {wanted} prints"
        found.add(first, columns[0], "syntax", shorten(head), message)
        return
    if "JobID" in columns:
        message = f"this is what sacct prints, of jobs; wanted is what {wanted} prints"
        found.add(first, "JobID", "syntax", shorten(head), message)
        return
    for name in columns:
        if name in known:
            continue
        message = f"column {shorten(name)} is unknown{nearest(name, known)}"
        if nearest_of(name, known) in read:
            found.add(first, name, "unknown_field", None, message)
        else:
            found.note(first, message)
    for name in needed:
        if name not in columns:
            message = f"there is no column {name}; the first line has the columns, as {wanted} prints them"
            found.add(first, name, "required", None, message)
    if found.problems:
        return
    for number, line in lines[1:]:
        cells = line.split("|")
        if len(cells) != len(names):
            message = f"{len(cells)} cells, the header has {len(names)}"
            found.add(number, columns[0], "length", shorten(line), message)
        else:
            yield number, dict(zip(columns, cells, strict=False))
