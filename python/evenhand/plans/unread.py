"""What a snapshot or a policy says that plays no part in a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import read_back
from evenhand.config.pace import pools_have_pace
from evenhand.config.rows import FOR_OWN_RULES
from evenhand.diagnostics import Diagnostic

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["unread_fields", "unread_settings"]

_ALWAYS = frozenset({"name", "order", "settings"})
#: What plans themselves leave in the snapshot after them (`Snapshot.after`): no news to their caller.
_LEFT = {
    "allocations": frozenset({"deadline", "beneficiary.operation", "beneficiary.request", "held"}),
    "reservations": frozenset({"request", "allocation"}),
}


def unread_fields(snapshot: Snapshot, policy: Any) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if rows have values that the policy does not read."""
    reads = policy.reads
    if not reads:
        return ()
    found: dict[str, list[str]] = {}
    listed = []
    # Where nothing but the tree is read of pools they matter for their own pace, or by what they are called.
    paced, unused = pools_have_pace(snapshot), set()
    if reads.get("pools", frozenset()) <= {"parent"}:
        called = not _called(policy).isdisjoint(map(str, snapshot.names("pools")[1:]))
        unused = {*([] if paced else ["parent"]), *([] if paced or called else ["pool"])}
    for table, given in snapshot._once("given fields", lambda: _given(snapshot)).items():
        read = reads.get(table, frozenset())
        read -= unused & {"pools": {"parent"}, "operations": {"pool"}}.get(table, set())
        strange = sorted(given - read - _ALWAYS - _LEFT.get(table, frozenset()))
        strange += _said_for_others(snapshot, table, policy.system)
        if strange:
            found[table] = strange
            listed.append(f"{table}: {', '.join(strange)}" if read else table)
    if not found:
        return ()
    message = f"The policy {policy.system} does not read {'; '.join(listed)}."
    return (Diagnostic("fields_not_read", (), message, found),)


def _said_for_others(snapshot: Snapshot, table: str, system: str) -> list[str]:
    """Return what readers said of a table's rows for the policies of other systems alone."""
    names = {name for word, of in FOR_OWN_RULES.items() if word != system for name in of.get(table, ())}
    said = {name for row in snapshot.settings(table).values() for name in row} if names else set()
    return [f"settings.{name}" for name in sorted(names & said)]


def unread_settings(policy: Any) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if a policy has settings that no plan reads, other than the defaults."""
    fields = policy.model.model_fields
    names = [
        name for name in policy.setting("UNREAD", ()) if policy.setting(name) != fields[name].get_default()
    ]
    if not names:
        return ()
    message = f"No plan of the policy {policy.system} reads its settings {', '.join(names)}."
    return (Diagnostic("settings_not_read", (), message, {"settings": names}),)


def _called(policy: Any) -> frozenset[str]:
    """Return names by which a pool means something to a policy."""
    called: frozenset[str] = policy.RECORD.called_pools(policy.settings)
    return called


def _given(snapshot: Snapshot) -> dict[str, set[str]]:
    """Return the fields by table in which a row has anything but the default."""
    raw = read_back(snapshot)
    given = {
        table: {name.removesuffix("_index") for name in columns} for table, columns in raw.tables.items()
    }
    if not np.asarray(snapshot._head["available_after_preemption"]).all():
        given["resources"] = {"available_after_preemption"}
    if raw.commands:
        given["commands"] = set().union(*raw.commands)
    return given
