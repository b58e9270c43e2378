"""The process: pipes, terminals, encodings, interruptions."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import commands
from tests.unit.cli.cases import process
from tests.waiting import HANG


def test_interrupted(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "schema", interrupt)
    assert run("schema") == (130, "", "")


def test_a_reader_that_leaves() -> None:
    command = [sys.executable, "-m", "evenhand", "demo", "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout
        assert child.stderr
        child.stdout.read(10)
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        finished = subprocess.run(
            [sys.executable, "-m", "evenhand", "schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=HANG,
            check=False,
        )
    assert finished.returncode == 1
    assert finished.stderr == b"evenhand: standard output: cannot be written: No space left on device\n"


def test_closed_streams() -> None:
    command = f"{sys.executable} -m evenhand"
    for closed, status in (("schema >&-", 0), ("validate nowhere 2>&-", 1), ("validate - <&-", 1)):
        finished = subprocess.run(
            f"{command} {closed}", shell=True, capture_output=True, timeout=HANG, check=False
        )
        assert finished.returncode == status, closed
        assert b"Traceback" not in finished.stderr


def test_a_terminal_without_unicode(cluster: Path) -> None:
    data = cluster.read_text().replace('"web"', '"wëb"')
    cluster.write_text(data, encoding="utf-8")
    finished = process("shares", str(cluster), env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert finished.returncode == 0
    assert finished.stdout.isascii()
    assert "w\\xebb" in finished.stdout
    assert "+ lab " in finished.stdout


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_on_a_terminal(cluster: Path, environment: dict[str, str], coloured: bool) -> None:
    inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "evenhand", "shares", str(cluster)], stdout=theirs, env=inherited | environment
    ) as child:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the terminal is gone with its last user
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert child.returncode == 0
    assert (b"\x1b[1m" in shown) == coloured
    assert b"satisfied" in shown


def test_help_does_not_wait_for_numpy() -> None:
    code = """
import sys
from evenhand.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
heavy = {"numpy", "pydantic", "narwhals"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, timeout=HANG)
