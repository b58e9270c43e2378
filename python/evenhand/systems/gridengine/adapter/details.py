"""What ``qstat -j`` says of jobs, and of which of them it cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from evenhand.adapters.protocol import AdapterError
from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.systems.gridengine.text.jobs import Details

__all__ = ["DETAILS", "Ask", "all_details", "details_of", "details_of_each", "some_details"]

#: Runs a command that only reads and returns its answer; raises `AdapterError` if it fails.
Ask = Callable[..., str]

#: The command, without the jobs.
DETAILS: Final = ("qstat", "-xml", "-j")

_MOST_UNREAD = 8  # jobs whose text can be no XML; where there are more, it is not the jobs
_ASKED_AT_ONCE = 500  # jobs of a command


def details_of(ask: Ask, names: list[str]) -> dict[str, Details]:
    """Return the details of jobs by number."""
    from evenhand.systems.gridengine.text.jobs import read_details

    numbers = ",".join(dict.fromkeys(name.partition(".")[0] for name in names))
    try:
        return read_details(ask(*DETAILS, numbers))
    except InputError as error:
        raise AdapterError(f"qstat -j: {error.problems[0]}") from error


def details_of_each(ask: Ask, names: list[str]) -> tuple[dict[str, Details], set[str]]:
    """Return details by number, and the numbers of jobs of which they cannot be read."""
    numbers = [*dict.fromkeys(name.partition(".")[0] for name in names)]
    try:
        return details_of(ask, numbers), set()
    except AdapterError as error:
        if not isinstance(error.__cause__, InputError):
            raise
    if len(numbers) == 1:
        return {}, set(numbers)
    each = [details_of_each(ask, [number]) for number in numbers]
    return {n: one for found, _ in each for n, one in found.items()}, {n for _, no in each for n in no}


def all_details(ask: Ask, numbers: list[str]) -> tuple[dict[str, Details], dict[str, str]]:
    """Return details of all jobs by number, and of which they cannot be read, with why not."""
    from evenhand.systems.gridengine.text.jobs import read_details

    unread: dict[str, str] = {}
    try:
        return read_details(ask(*DETAILS, "*"), unread), unread
    except InputError:
        return some_details(ask, numbers)


def some_details(ask: Ask, numbers: list[str]) -> tuple[dict[str, Details], dict[str, str]]:
    """Return the same of some jobs, also where their text in one is no XML."""
    from evenhand.systems.gridengine.text.jobs import read_details

    details: dict[str, Details] = {}
    unread: dict[str, str] = {}
    broken: list[str] = []

    def read(numbers: list[str]) -> None:
        text = ask(*DETAILS, ",".join(numbers))
        try:
            details.update(read_details(text, unread))
        except InputError as error:
            if len(numbers) > 1:
                read(numbers[: len(numbers) // 2])
                read(numbers[len(numbers) // 2 :])
                return
            broken.append(numbers[0])
            unread[numbers[0]] = error.problems[0].message
            if len(broken) > _MOST_UNREAD:
                raise

    for begin in range(0, len(numbers), _ASKED_AT_ONCE):
        read(numbers[begin : begin + _ASKED_AT_ONCE])
    return details, unread
