"""Run each room's tests without a defect, then with each: python -m tests.mutants BUILD [ROOM[/NAME]...].

BUILD is the build folder of the CMake preset `mutants`. Without a defect all must pass. A defect is caught if
a C++ or Python test of its room fails (the first failure ends it) or crashes, or if they take SLOWER times as
long as without. Exit code 0: all are caught; 1: one survived; 2: the tests fail without any.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.plant import main as plant
from tests.mutants.table import ROOT, Defect, Runs, defects

LIMIT = 300.0  # seconds for the tests of a room
LEAST, SLOWER = 60.0, 5.0  # with a defect: seconds that they have at least, and times as long
NO_TESTS_RAN = {4, 5}  # pytest: wrong usage, nothing collected
PYTEST = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not live", "--no-header"]


@dataclass(frozen=True)
class Outcome:
    caught: str | None  # by what; None: it survived
    seconds: float
    log: str


class Runner:
    """Runs tests with one defect picked."""

    def __init__(self, build: Path) -> None:
        self.build = build.resolve()
        self.python = self._python()

    def _python(self) -> Path:
        """An interpreter with the packages of this one, which imports the planted package."""
        package, place = self.build / "package", self.build / "venv"
        plant("python", package)
        for extension in (self.build / "cpp" / "bindings").glob("_*.so"):
            shutil.copy2(extension, package / "evenhand")
        venv.create(place, symlinks=True)
        # Paths in a .pth file are searched, but not for .pth files: no editable install comes first.
        others = [p for p in sys.path if Path(p).name in {"site-packages", "dist-packages"}]
        site = next(place.glob("lib/python*/site-packages"))
        (site / "planted.pth").write_text("\n".join([str(package), *others]) + "\n")
        return place / "bin" / "python"

    def commands(self, runs: Runs, folder: str) -> list[list[str]]:
        binaries = [
            [str(self.build / "cpp" / "tests" / f"{layer}_test"), "--gtest_fail_fast", "--gtest_brief=1"]
            for layer in runs.binaries
        ]
        python = [str(self.python), *PYTEST, f"--basetemp={folder}/tests", *runs.tests]
        return [*binaries, python] if runs.tests else binaries

    def run(self, runs: Runs, number: int, limit: float) -> Outcome:
        """Run them until one fails; each run has its own folder for temporary files."""
        with tempfile.TemporaryDirectory(prefix="evenhand-", ignore_cleanup_errors=True) as folder:
            return self._run(runs, number, limit, folder)

    def _run(self, runs: Runs, number: int, limit: float, folder: str) -> Outcome:
        begin = time.monotonic()
        variables = {**os.environ, "EVENHAND_MUTANT": str(number), "EVENHAND_HYPOTHESIS_PROFILE": "mutants"}
        log = ""
        caught = None
        for command in self.commands(runs, folder):
            left = limit - (time.monotonic() - begin)
            code, text = finished(command, variables, left)
            log += f"$ {' '.join(command)}\n{text}\nexit code {code}\n"
            if "pytest" in command and code in NO_TESTS_RAN:
                raise SystemExit(f"these tests do not run: {' '.join(command)}\n{text}")
            if code != 0:
                caught = "no end" if code is None else by_which(text) or f"exit code {code}"
                break
        return Outcome(caught, time.monotonic() - begin, log)


def finished(command: Sequence[str], variables: dict[str, str], limit: float) -> tuple[int | None, str]:
    """Exit code (None: stopped at the limit) and output of a command."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=variables,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as child:
        try:
            out, _ = child.communicate(timeout=max(limit, 1))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # and what it started
            return None, child.communicate()[0]
        return child.returncode, out


def by_which(text: str) -> str | None:
    """The test that failed, as pytest or GoogleTest names it."""
    found = re.search(r"^(?:FAILED|ERROR) (\S+)|^\[  FAILED  \] (\S+)", text, re.MULTILINE)
    return (found[1] or found[2]).rstrip(",") if found else None


def chosen(names: Sequence[str]) -> list[Defect]:
    every = defects()
    if unknown := [n for n in names if not any(n in (d.room, d.label) for d in every)]:
        raise SystemExit(f"no such room or defect: {', '.join(unknown)}")
    return [d for d in every if not names or d.room in names or d.label in names]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("names", nargs="*", help="rooms, or room/name; default: all")
    parser.add_argument("--logs", type=Path, help="default: BUILD/logs")
    parser.add_argument("--no-baseline", action="store_true", help="do not run without a defect first")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    given = parser.parse_intermixed_args(arguments)
    logs = given.logs or given.build / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    planted = chosen(given.names)
    runner = Runner(given.build)
    printing = threading.Lock()
    begin = time.monotonic()

    def say(text: str) -> None:
        with printing:
            print(text, flush=True)

    limits: dict[Runs, float] = {}

    def one(task: tuple[str, Runs, int]) -> Outcome:
        label, runs, number = task
        done = runner.run(runs, number, limits.get(runs, LIMIT))
        (logs / f"{label.replace('/', '.')}.txt").write_text(done.log)
        if number == 0:
            say(f"without a defect  {done.seconds:6.1f} s  {label}: {done.caught or 'passes'}")
        else:
            say(f"{'caught' if done.caught else 'SURVIVED':8}  {done.seconds:6.1f} s  {label}: {done.caught}")
        return done

    with ThreadPoolExecutor(given.jobs) as pool:
        if not given.no_baseline:
            rooms: dict[Runs, str] = {}
            for d in planted:
                rooms.setdefault(d.runs, f"{d.room}-{len(rooms)}")
            clean = list(pool.map(one, [(label, runs, 0) for runs, label in rooms.items()]))
            if any(done.caught for done in clean):
                say(f"Tests fail without a defect; see {logs}")
                return 2
            for runs, done in zip(rooms, clean, strict=True):
                limits[runs] = max(LEAST, SLOWER * done.seconds)
        outcomes = list(pool.map(one, [(d.label, d.runs, d.number) for d in planted]))
    survived = [d.label for d, done in zip(planted, outcomes, strict=True) if not done.caught]
    seconds = sorted(done.seconds for done in outcomes)
    say(
        f"\n{len(planted) - len(survived)} of {len(planted)} caught; seconds until caught: median "
        f"{seconds[len(seconds) // 2]:.1f}, most {seconds[-1]:.1f}; {time.monotonic() - begin:.0f} s in all"
    )
    for label in survived:
        say(f"survived: {label}")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
