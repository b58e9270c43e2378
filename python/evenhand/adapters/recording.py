"""What a cluster answered: written down, and played back."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.accepted import checked
from evenhand.adapters.commands import Result, Runner, reading
from evenhand.adapters.protocol import AdapterError

__all__ = ["SCHEMA", "Recorder", "Replay"]

SCHEMA = "evenhand/recording/1"


class _Around:
    """Runs commands by another runner, to which descriptors that are to be inherited are handed on."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    @property
    def inherited(self) -> tuple[int, ...]:
        """Descriptors that the processes keep open."""
        return getattr(self._runner, "inherited", ())

    @inherited.setter
    def inherited(self, descriptors: tuple[int, ...]) -> None:
        if hasattr(self._runner, "inherited"):
            self._runner.inherited = descriptors


class Recorder(_Around):
    """Runs commands and writes every one with its answer to a file, one JSON line each.

    Parameters
    ----------
    runner : Runner
        What runs them.
    path : str or path-like
        Where they are written; appended to.

    Notes
    -----
    For audits, and for tests that play the file back with `Replay`.
    """

    def __init__(self, runner: Runner, path: str | os.PathLike[str]) -> None:
        super().__init__(runner)
        self._path = Path(path)

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        """Run a command and write down what came of it."""
        return self._recorded(self._runner, arguments, timeout)

    @checked("Recorder.read")
    def read(self, arguments: Sequence[str], timeout: float) -> Result:
        """Do likewise with one that only reads."""
        return self._recorded(reading(self._runner), arguments, timeout)

    def _recorded(self, runner: Runner, arguments: Sequence[str], timeout: float) -> Result:
        result = runner(arguments, timeout)
        line = {
            "schema": SCHEMA,
            "arguments": list(arguments),
            "status": result.status,
            "out": result.out,
            "err": result.err,
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return result


class Replay:
    """Answers commands from a recording: the n-th time a command is asked, its n-th answer, then its last.

    Parameters
    ----------
    path : str or path-like
        What `Recorder` wrote.

    Raises
    ------
    AdapterError
        If it is no complete recording of this version.
    """

    @checked("Replay")
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._answers: dict[tuple[str, ...], list[Result]] = {}
        self.asked: list[tuple[str, ...]] = []
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, 1):
                row: dict[str, Any] = json.loads(line)
                if row.get("schema") != SCHEMA:
                    raise ValueError(f"line {number} is of {row.get('schema')!r}, not {SCHEMA!r}")
                answer = Result(row["status"], row["out"], row["err"])
                self._answers.setdefault(tuple(row["arguments"]), []).append(answer)
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise AdapterError(f"recording {path}: {error}") from error

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        """Return the recorded answer; a command that was never recorded cannot be run."""
        del timeout
        key = tuple(arguments)
        answers = self._answers.get(key)
        if not answers:
            return Result(None, "", "not in the recording")
        self.asked.append(key)
        return answers.pop(0) if len(answers) > 1 else answers[0]
