"""From the configuration of a pool tree to the settings of the policy."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from evenhand.accepted import checked
from evenhand.building.problems import kind_of, nearest, shorten
from evenhand.building.single import CellError, one_duration
from evenhand.config.fair_share import FairShareSettings
from evenhand.config.kinds import unit_of
from evenhand.errors import InputError, Problem, printable
from evenhand.frozen import freeze
from evenhand.systems import texts
from evenhand.systems.texts import Notes
from evenhand.systems.ytsaurus.settings import YTsaurusSettings

__all__ = ["Reading", "read"]

_TABLE: Final = "@config"
_COUNT: Final = "max_unpreemptible_running_allocation_count"
#: What older clusters call it, beside `YTsaurusSettings.ALIASES`.
_OLDER: Final = {
    "max_unpreemptable_running_job_count": _COUNT,
    "max_unpreemptible_running_job_count": _COUNT,
}
#: Of pools that are integral, which the tree's configuration has in a part of their own.
_INTEGRAL: Final = {
    "smooth_period": "integral_smooth_period_s",
    "pool_capacity_saturation_period": "integral_pool_capacity_saturation_period_s",
}


@dataclass(frozen=True, kw_only=True)
class Reading(texts.Reading):
    """What was read of a pool tree.

    Attributes
    ----------
    settings : mapping
        Settings of the policy that the configuration makes; durations are seconds.
    diagnostics : tuple of Diagnostic
        Keys that do not affect plans, or that Evenhand does not know.
    """

    system = "ytsaurus"


@checked("ytsaurus.read")
def read(config: str | os.PathLike[str] | Mapping[str, Any]) -> Reading:
    """Read the configuration of a pool tree, in which times are milliseconds.

    Parameters
    ----------
    config : str, path-like or mapping
        What ``yt get //sys/pool_trees/TREE/@config --format json`` prints: the text, (path-like) a file, or
        the data. Older names of its keys are read too. A time may also be text such as ``"30s"``.

    Returns
    -------
    Reading

    Raises
    ------
    InputError
        If it is no JSON object, or a time is none; settings that break a rule are refused by
        `Reading.policy`.
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> from evenhand.adapters import ytsaurus
    >>> reading = ytsaurus.read('{"fair_share_starvation_timeout": 30000, "nodes_filter": "gpu & !broken"}')
    >>> reading.policy().settings.fair_share_starvation_timeout
    30.0
    >>> [diagnostic.elements for diagnostic in reading.diagnostics]
    [('nodes_filter',)]
    """
    data = _loaded(config)
    notes, settings, fair = Notes(), {}, {}
    for key, value in data.items():
        name = _OLDER.get(key, YTsaurusSettings.ALIASES.get(key, key))
        if value is None:
            continue  # as if it were not there
        if name in YTsaurusSettings.model_fields and name != "fair_share":
            settings[key] = _value(YTsaurusSettings, name, key, value)
        elif name == _COUNT:
            if value != 0:  # which protects nothing
                settings[_COUNT] = value
        elif (own := FairShareSettings.ALIASES.get(key, key)) in FairShareSettings.model_fields:
            fair[own] = value
        elif key == "integral_guarantees" and isinstance(value, Mapping):
            for part, held in value.items():
                if part in _INTEGRAL and held is not None:
                    fair[_INTEGRAL[part]] = _seconds(f"{key}.{part}", held)
                elif part not in _INTEGRAL:
                    notes.add("ytsaurus_not_read", "They are", f"{key}.{part}")
        else:
            meant = nearest(key, YTsaurusSettings.model_fields)
            said = f"One of them is unknown{meant} It is" if meant else "They are"
            notes.add("ytsaurus_not_read", said, str(key))
    if fair:
        settings["fair_share"] = fair
    return Reading(settings=freeze(settings), diagnostics=tuple(notes.diagnostics()))


def _loaded(config: Any) -> Mapping[str, Any]:
    if isinstance(config, str | os.PathLike):
        text = config if isinstance(config, str) else Path(config).read_text(encoding="utf-8")
        try:
            config = json.loads(text)
        except (ValueError, RecursionError) as error:
            yson = '; it looks like YSON: add --format json to "yt get"' if "=" in text[:10_000] else ""
            raise _wrong(None, "json", None, f"the configuration is no JSON{yson}") from error
    if isinstance(config, Mapping) and set(config) == {"$value", "$attributes"}:
        config = config["$value"]
    if not isinstance(config, Mapping):
        raise _wrong(None, "type", config, f"the configuration is {kind_of(config)}; it must be an object")
    return config


def _value(model: type[BaseModel], name: str, place: str, value: Any) -> Any:
    """Return a value with its times in seconds, those of an object's parts too."""
    field = model.model_fields[name]
    if unit_of(name, field) == "seconds":
        return _seconds(place, value)
    inner = field.annotation
    if isinstance(inner, type) and issubclass(inner, BaseModel) and isinstance(value, Mapping):
        return {
            key: _value(inner, key, f"{place}.{key}", part) if key in inner.model_fields else part
            for key, part in value.items()
        }
    return value


def _seconds(place: str, value: Any) -> float:
    try:
        seconds = float(one_duration(value))
    except CellError as error:
        raise _wrong(place, error.rule, value, f"{place} {error}") from None
    return seconds if isinstance(value, str) else seconds / 1000


def _wrong(place: str | None, rule: str, value: Any, message: str) -> InputError:
    shown = None if value is None else printable(shorten(value))
    return InputError([Problem(_TABLE, None, None, place, rule, shown, printable(message))])
