"""What a snapshot says that a policy does not look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.building.readback import read_back
from evenhand.diagnostics import CODES, Diagnostic

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["unread_fields"]

_ALWAYS = frozenset({"name", "order", "settings"})


def unread_fields(snapshot: Snapshot, policy: Any) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if rows have values that the policy does not read.

    Parameters
    ----------
    snapshot : Snapshot
    policy : policy
        Its ``READS`` has the fields that it reads, by table; empty or absent: nothing is told.

    Returns
    -------
    tuple of Diagnostic
        One for all, ``numbers`` having the fields by table; values that equal their defaults do not count.

    Notes
    -----
    O(cells of the snapshot).
    """
    reads = getattr(policy, "READS", {})
    if not reads:
        return ()
    found: dict[str, list[str]] = {}
    for table, columns in read_back(snapshot).tables.items():
        given = {name.removesuffix("_index") for name in columns}
        strange = sorted(given - reads.get(table, frozenset()) - _ALWAYS)
        if strange:
            found[table] = strange
    if not found:
        return ()
    listed = "; ".join(f"{table}: {', '.join(names)}" for table, names in found.items())
    message = f"{CODES['fields_not_read']} The policy {policy.system} does not read {listed}."
    return (Diagnostic("fields_not_read", (), message, found),)
