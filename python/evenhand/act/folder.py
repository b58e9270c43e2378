"""The folder of plans: what was seen and decided, a saved plan a file, whose names sort by time."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evenhand.accepted import checked
from evenhand.act.jobs import names_of
from evenhand.act.lock import Lock
from evenhand.errors import InputError, Problem, printable
from evenhand.files import open_regular, replace_file
from evenhand.packed import broken, unpacked
from evenhand.plans.saved import is_saved, opened, packed_as, saved

if TYPE_CHECKING:
    from evenhand.plans import Plan

__all__ = ["KEPT", "PlanFolder", "PlanWriter"]

#: Plans that a folder holds unless another number is given: a day of rounds of 30 seconds, and more.
KEPT = 3000

_NAME = re.compile(r"plan-(\d{8}T\d{6}\.\d{6}Z)(?:_([1-9]\d{0,8}))?\.json\.gz", re.ASCII)
_STAMP = "%Y%m%dT%H%M%S.%fZ"
_HOUR = len("yyyymmddThh")
_MODE = 0o640  # as of a journal: names of users and jobs


class PlanFolder:
    """The plans that were saved in a folder, oldest first.

    Parameters
    ----------
    path : str or path-like
        A folder that ``evenhand watch --plans`` or a `Driver` with ``plans=`` writes, or wrote.

    Notes
    -----
    A plan of the instant 2026-11-28 03:48:05 UTC is ``plan-20261128T034805.000000Z.json.gz``: the time of its
    snapshot, and ``_2``, ``_3`` and so on before the suffix of further plans of that instant. Each is what
    `Plan.save` writes, with the snapshot, the policy and the state that it was made from; `Plan.load`,
    ``evenhand explain`` and ``evenhand diff`` read it. Other files of the folder do not matter, and there is
    no index. Reading needs no lock: files come and go as a whole.

    Examples
    --------
    >>> folder = act.PlanFolder("/var/lib/evenhand/plans")  # doctest: +SKIP
    >>> name = folder.last("4711")  # doctest: +SKIP
    >>> print(folder.load(name).why("4711"))  # doctest: +SKIP
    """

    @checked("PlanFolder")
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def names(self) -> list[str]:
        """The names of its files, oldest first; `InputError` if the folder cannot be read."""
        try:
            found = [one.name for one in self.path.iterdir()]
        except OSError as error:
            raise _wrong(self.path, "unreadable", f"cannot be read: {error.strerror or error}") from error
        return sorted(filter(_NAME.fullmatch, found), key=_key)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _NAME.fullmatch(name) is not None and (self.path / name).is_file()

    @checked("PlanFolder.load")
    def load(self, name: str) -> Plan:
        """Return the plan of a file: made again, and equal to the one that was decided by.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        Plan

        Raises
        ------
        InputError
            If there is no such file, it is damaged or cut short, or this version decides otherwise.
        """
        try:
            return opened(self._text(name))
        except InputError as error:
            if error.problems[0].table == _TABLE:
                raise
            said = [_problem(self.path / name, one.rule, one.message) for one in error.problems]
            raise InputError(said, error.omitted) from error

    @checked("PlanFolder.last")
    def last(self, job: str) -> str | None:
        """Return the newest plan whose snapshot has a job.

        Parameters
        ----------
        job : str
            An operation, an allocation or a request; or an array, by the number before its tasks' own.

        Returns
        -------
        str or None
            One of `names`; None: no plan of the folder knows the job.

        Raises
        ------
        InputError
            If a file that has to be read is damaged.

        Notes
        -----
        O(files) at worst, of which only those with the job's name in them are more than unpacked.
        """
        found = self._last(job)
        return None if found is None else found[0]

    def _last(self, job: str) -> tuple[str, list[str]] | None:
        """Return the same with the jobs that are meant."""
        quoted = json.dumps(job)[1:-1]
        for name in reversed(self.names):
            try:
                text = self._text(name)
            except InputError:
                if (self.path / name).exists():
                    raise
                continue  # it was the oldest, and left meanwhile
            if not is_saved(text):
                raise _wrong(self.path / name, "damaged", "is not a complete saved plan")
            if quoted in text and (jobs := names_of(_snapshot_of(self.path / name, text), job)):
                return name, jobs
        return None

    def _text(self, name: str) -> str:
        """Return the text of a file, which is a regular one: no pipe of that name is waited for."""
        if not _NAME.fullmatch(name):
            raise _wrong(self.path, "unknown_name", f"has no plan {name!r}")
        path = self.path / name
        try:
            with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
                return unpacked(file).read().decode()
        except FileNotFoundError as error:
            raise _wrong(self.path, "unknown_name", f"has no plan {name} (any more)") from error
        except _damage() as error:
            raise _wrong(
                path, "damaged", f"cannot be unpacked: {error}; it is damaged or cut short"
            ) from error
        except OSError as error:
            raise _wrong(path, "unreadable", f"cannot be read: {error.strerror or error}") from error


class PlanWriter:
    """Adds plans to a folder, which only one writer does at a time, and removes the oldest."""

    def __init__(self, path: str | os.PathLike[str], keep: int = KEPT) -> None:
        self.path, self.keep = Path(path), keep
        with contextlib.suppress(FileExistsError):
            self.path.mkdir(mode=0o750)
        self._lock = Lock(self.path / ".lock", 0.0, "saves plans in this folder")
        for left in self.path.glob(".plan-*"):  # of a writer that was killed
            left.unlink(missing_ok=True)
        names = PlanFolder(self.path).names
        self._newest = names[-1] if names else None

    def wants(self, plan: Plan) -> bool:
        """Return whether a plan is to be added: it decided something, or is the first of its hour."""
        if len(plan.decisions) or self._newest is None:
            return True
        try:
            return not self._newest.startswith(f"plan-{_stamp(plan)[:_HOUR]}")
        except InputError:
            return True  # adding it says why it cannot be

    def add(self, plan: Plan) -> str:
        """Write a plan, whole or not at all."""
        stamp, number = _stamp(plan), 1
        while os.path.lexists(self.path / (name := _named(stamp, number))):
            number += 1
        replace_file(self.path / name, packed_as(name, saved(plan)), _MODE)
        self._newest = name
        return name

    def prune(self) -> None:
        """Remove the oldest plans beyond those that are kept; `OSError` if one cannot be removed."""
        names = PlanFolder(self.path).names
        # The last one that was added stays also where the clock was set back, and it sorts first.
        old = [name for name in names if name != self._newest]
        for name in old[: max(len(names) - self.keep, 0)]:
            (self.path / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Let others add plans."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_TABLE = "plans"


def _damage() -> tuple[type[Exception], ...]:
    return (*broken(), UnicodeDecodeError)


def _problem(path: Path, rule: str, said: str) -> Problem:
    return Problem(_TABLE, None, None, None, rule, None, printable(f"{path}: {said}"))


def _wrong(path: Path, rule: str, said: str) -> InputError:
    return InputError([_problem(path, rule, said)])


def _named(stamp: str, number: int) -> str:
    return f"plan-{stamp}{f'_{number}' if number > 1 else ''}.json.gz"


def _key(name: str) -> tuple[str, int]:
    match = _NAME.fullmatch(name)
    assert match is not None  # noqa: S101 - only names of plans are sorted
    return match[1], int(match[2] or 1)


def _stamp(plan: Plan) -> str:
    now = plan.snapshot.now
    try:
        when = datetime.fromtimestamp(now, UTC)
    except (OverflowError, OSError, ValueError):
        when = None
    if when is None or when.year < 1000:
        said = f"the plan's instant is {now:g} s, which no name of a file can say"
        raise InputError([Problem(_TABLE, None, None, "now", "out_of_range", None, said)])
    return when.strftime(_STAMP)


def _snapshot_of(path: Path, text: str) -> Any:
    """Return the tables of a saved plan's snapshot, which is not planned on."""
    try:
        data = json.loads(text)["snapshot"]
        iter(names_of(data, ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _wrong(path, "damaged", "is not a complete saved plan") from error
    return data
