"""Drawn histories whose drivers die of SIGKILL at a system call by which they change something.

``python -m tests.unit.act.killing HISTORIES [SEED]`` plays and judges so many from a seed on, and prints at
which calls their drivers died. Each of these runs in a process of its own under strace(1), which kills it
before the call is made.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from evenhand.testing.acting import History, SiteAdapter, judge, play
from evenhand.testing.acting.histories import live
from tests.unit.act.processes import alone
from tests.waiting import HANG

#: Kinds of system calls, and how many of the same call the longest-lived driver has made when it dies. What a
#: kernel does not have (?), strace passes over.
KINDS = {
    "pwrite64,pwritev,truncate,fallocate": 12,
    "fsync,fdatasync,ftruncate": 8,
    "flock,fcntl,fchmod,fchown,?rename,renameat,renameat2,?unlink,unlinkat,?link,linkat,?mkdir,mkdirat": 2,
    "?open,openat,?creat,close": 12,
    "write,writev,sendto,sendmsg,connect,execve,?fork,?vfork,clone,?clone3,kill": 50,
}


def main() -> None:
    """Play and judge histories; the first that breaks a law ends it."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    if shutil.which("strace") is None:
        sys.exit("strace is not installed: no driver can be killed at a system call")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    logging.getLogger("evenhand.act").setLevel(logging.CRITICAL)
    died: Counter[str] = Counter()
    play(first)  # loads all modules that a driver needs: none of its calls is for one of them
    for seed in range(first, first + count):
        random = Random(seed)
        judge(play(seed, lives=partial(lives, random, died)))
    where = ", ".join(f"{call} {times:,}" for call, times in died.most_common())
    print(f"{count:,} histories, {died.total():,} kills ({where}): no law is broken")
    if died.total() < count // 2:
        sys.exit("too few drivers were killed")


def lives(
    random: Random,
    died: Counter[str],
    history: History,
    adapter: SiteAdapter,
    journal: Path,
    last: int | None,
    carry_out: Any,
) -> None:
    """Let a driver live, under strace if it is to be killed; see `evenhand.testing.acting`."""
    if last is None:
        live(history, adapter, journal, last, carry_out)
        return
    calls = random.choice(list(KINDS))
    alone(history, adapter, journal, None, partial(killer, calls, random.randint(1, KINDS[calls]), died))


@contextlib.contextmanager
def killer(calls: str, last: int, died: Counter[str], process: int) -> Iterator[None]:
    """Kill a process at one of its calls; count which it was."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        what = ["-e", f"trace={calls}", "-e", f"inject={calls}:signal=SIGKILL:when={last}"]
        command = ["strace", "-f", "-o", str(log), *what, "-p", str(process)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            assert strace.stderr is not None
            said = strace.stderr.readline()
            if "attached" not in said:
                raise RuntimeError(f"strace cannot follow a process: {said.strip()}")
            yield
            strace.wait(HANG)
        made = log.read_text()
        if "killed by SIGKILL" in made:
            died[re.findall(r"^\d+ +(\w+)\(", made, re.MULTILINE)[-1]] += 1


if __name__ == "__main__":
    main()
