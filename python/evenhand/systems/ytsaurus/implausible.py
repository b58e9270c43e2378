"""Settings in milliseconds: so YTsaurus' own configuration has them, and here they would be seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenhand.config.kinds import unit_of
from evenhand.diagnostics import CODES, Diagnostic
from evenhand.systems.ytsaurus.rows import YTsaurusPoolSettings
from evenhand.units.text import duration

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["implausible"]

#: From here on a duration of whole thousands is taken for milliseconds; nearly three hours.
_LONG: Final = 10_000.0
_CODE: Final = "setting_in_milliseconds"


def implausible(snapshot: Snapshot, settings: Any) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if timeouts and delays look like milliseconds."""
    fields = getattr(type(settings), "model_fields", {})
    found = {
        name: getattr(settings, name)
        for name, field in fields.items()
        if unit_of(name, field) == "seconds" and _thousands(getattr(settings, name))
    }
    timed = [
        name for name, field in YTsaurusPoolSettings.model_fields.items() if unit_of(name, field) == "seconds"
    ]
    pools = [
        row
        for row, own in snapshot.settings("pools").items()
        if any(_thousands(own.get(name)) for name in timed)
    ]
    if not found and not pools:
        return ()
    names = [snapshot.names("pools")[row] for row in pools]
    listed = [f"{name} is {duration(value)}" for name, value in found.items()]
    listed += [f"pool {name}" for name in names[:5]]
    message = f"{CODES[_CODE]} {', '.join(listed)}; evenhand.adapters.ytsaurus reads a tree's configuration."
    return (Diagnostic(_CODE, tuple(names), message, {"settings": found}),)


def _thousands(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and value >= _LONG and value % 1000 == 0
