"""Ctrl-C at each moment of a command: status 130, and no word of Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Sends the signal to itself when a module is looked for, from the first one of the command line on.
INTERRUPTED = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)

class Finder:
    def __init__(self, name):
        self.name, self.sent = name, False
    def find_spec(self, name, path=None, target=None):
        if name == self.name and not self.sent:
            self.sent = True
            print("sent", flush=True)
            os.kill(os.getpid(), signal.SIGINT)

import evenhand
from evenhand.cli import main
sys.meta_path.insert(0, Finder(sys.argv.pop(1)))
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module",
    [
        *("evenhand.cli.running", "argparse", "evenhand.cli.commands", "evenhand.display.plans"),
    ],
)
def test_control_c_while_modules_are_read(cluster: Path, module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, "plan", str(cluster)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.stdout.startswith("sent\n"):
        assert (done.returncode, done.stdout, done.stderr) == (130, "sent\n", "")
    else:  # something had it before
        assert done.returncode == 0


def test_some_of_these_moments_come(cluster: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, "evenhand.cli.commands", "plan", str(cluster)]
    assert subprocess.run(command, capture_output=True, timeout=600, check=False).stdout == b"sent\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("words", "status"), [("--version", 1), ("plan --help", 1), ("schema", 1)])
def test_the_last_flush_of_a_process(words: str, status: int, unbuffered: str) -> None:
    """It is Python's own, after all that the command does."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "evenhand", *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            env={"PYTHONUNBUFFERED": unbuffered},
            timeout=600,
            check=False,
        )
    assert done.returncode == status
    assert done.stderr == b"evenhand: standard output: cannot be written: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_messages_to_a_full_disk() -> None:
    for words, status in (("validate nowhere", 1), ("validate", 2)):
        with Path("/dev/full").open("w") as full:
            command = [sys.executable, "-m", "evenhand", *words.split()]
            # Without it what is printed waits in a buffer, which the interpreter writes again when it ends.
            env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
            done = subprocess.run(command, stderr=full, timeout=600, check=False, env=env)
            assert done.returncode == status
