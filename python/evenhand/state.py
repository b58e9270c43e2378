"""State: what one update leaves for the next, kept by names."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from evenhand.errors import InputError, Problem

__all__ = ["SCHEMA", "State"]

SCHEMA = "evenhand/state/1"
_KEYS = {"schema", "time", "settings", "pools"}


@dataclass(frozen=True, slots=True)
class State:
    """Volumes of integral pools at an instant.

    Attributes
    ----------
    time : float
        Instant of the update that left it, in the snapshot's seconds.
    pools : mapping
        Name of an integral pool to ``accumulated_volume`` (resource to amount × seconds) and
        ``last_share_ratio`` (largest component of the integral share given last).
    settings : str
        Fingerprint of the settings of that update.
    """

    time: float
    pools: Mapping[str | int, Mapping[str, Any]] = field(default_factory=dict)
    settings: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain values; pools are a list because names may be integers."""
        return {
            "schema": SCHEMA,
            "time": self.time,
            "settings": self.settings,
            "pools": [{"name": name, **values} for name, values in self.pools.items()],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build a state from what `to_dict` gave.

        Parameters
        ----------
        data : mapping
            As `to_dict` returns it, or read from its JSON.

        Returns
        -------
        State

        Raises
        ------
        InputError
            If the schema is another one, or a field is missing, unknown or of a wrong type.
        """
        if not isinstance(data, Mapping):
            raise _wrong(None, "type", f"a state is an object, not {type(data).__name__}")
        schema = data.get("schema")
        if schema != SCHEMA:
            raise _wrong("schema", "schema", f"schema is {schema!r}; this version reads {SCHEMA!r}")
        for key in data:
            if key not in _KEYS:
                raise _wrong(str(key), "unknown_field", f"field {key!r} is unknown")
        time = _number(data.get("time"), None, "time")
        settings = data.get("settings", "")
        if not isinstance(settings, str):
            raise _wrong("settings", "type", f"settings is a text, not {settings!r}")
        rows = data.get("pools", [])
        if not isinstance(rows, list):
            raise _wrong("pools", "type", "pools is a list")
        pools: dict[str | int, Mapping[str, Any]] = {}
        for row, pool in enumerate(rows):
            name, values = _pool(pool, row)
            if name in pools:
                raise _wrong("name", "unique", f"pool {name!r} stands twice", row)
            pools[name] = values
        return cls(time, pools, settings)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a state file.

        Parameters
        ----------
        path : str or path-like
            What `save` wrote.

        Returns
        -------
        State

        Raises
        ------
        InputError
            If the file is not a whole state of this version.
        OSError
            If it cannot be read.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse_constant)
        except UnicodeDecodeError as error:
            raise _wrong(None, "utf8", f"is not UTF-8 text: {error.reason}") from error
        except (json.JSONDecodeError, RecursionError) as error:
            raise _wrong(None, "json", f"is not a whole JSON text: {error}") from error
        return cls.from_dict(data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state; the file is replaced at once or not at all.

        Parameters
        ----------
        path : str or path-like
            A JSON file; its folder must exist.

        Raises
        ------
        OSError
            If it cannot be written; the old file is then as it was.
        """
        target = Path(path).resolve()  # a link stays a link
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(self.to_dict(), file, allow_nan=False, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
            Path(temporary).chmod(mode)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink()
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _pool(pool: Any, row: int) -> tuple[str | int, Mapping[str, Any]]:
    if not isinstance(pool, Mapping):
        raise _wrong(None, "type", "a pool is an object", row)
    name = pool.get("name")
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise _wrong("name", "type", f"a name is a text or an integer, not {name!r}", row)
    for key in pool:
        if key not in {"name", "accumulated_volume", "last_share_ratio"}:
            raise _wrong(str(key), "unknown_field", f"field {key!r} is unknown", row)
    volume = pool.get("accumulated_volume", {})
    if not isinstance(volume, Mapping):
        raise _wrong("accumulated_volume", "type", "accumulated_volume is an object", row)
    return name, {
        "accumulated_volume": {str(r): _number(v, row, f"accumulated_volume.{r}") for r, v in volume.items()},
        "last_share_ratio": _number(pool.get("last_share_ratio", 0.0), row, "last_share_ratio"),
    }


def _number(value: Any, row: int | None, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(where, "type", f"{where} is a number, not {value!r}", row)
    try:
        number = float(value)
    except OverflowError:
        raise _wrong(where, "range", f"{where} is too large", row) from None
    if row is not None and number < 0:
        raise _wrong(where, "non_negative", f"{where} is {value}, below 0", row)
    return number


def _refuse_constant(text: str) -> float:
    raise _wrong(None, "finite", f"{text} is not a number of JSON")


def _wrong(where: str | None, rule: str, message: str, row: int | None = None) -> InputError:
    return InputError([Problem("state", row, None, where, rule, None, message)])
