"""Reading what commands are given: snapshots and states, and what is wrong with them as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.cli.streams import Failure, label, read_text, reason
from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.state import State

__all__ = ["lines_of", "read_snapshot", "read_state", "write_state"]


def read_snapshot(path: str) -> Snapshot:
    """Read a snapshot; what is wrong with it is raised as `InputError`."""
    from evenhand.model import Snapshot

    return Snapshot.from_json(read_text(path))


def read_state(path: str | None) -> State | None:
    """Read a state if there is one."""
    if path is None:
        return None
    from evenhand.state import State

    try:
        return State.load(path)
    except FileNotFoundError:
        return None
    except InputError as error:
        raise Failure(*lines_of(path, error)) from error
    except (OSError, ValueError) as error:
        raise Failure(f"{label(path)}: cannot be read: {reason(error)}") from error


def write_state(path: str, state: State) -> None:
    """Replace a state file."""
    try:
        state.save(path)
    except OSError as error:
        raise Failure(f"{label(path)}: cannot be written: {reason(error)}") from error


def lines_of(path: str, error: InputError) -> list[str]:
    """Return a line a problem, each with the file that has it."""
    lines = [f"{label(path)}: {problem}" for problem in error.problems]
    return lines + ([f"{label(path)}: at least {error.omitted:,} more problems"] if error.omitted else [])
