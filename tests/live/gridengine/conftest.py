"""A real Grid Engine on this machine: one host, a low and a high queue, a license."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.systems.gridengine.text.jobs import Task, read_tasks
from tests.shared import shared

PROGRAMS = ("qstat", "qmod", "qconf", "qsub", "qhost", "qdel", "qhold", "setpriv")
DAEMONS = ("sge_qmaster", "sge_execd", "spoolinit")
SCHEDULER = {
    "schedule_interval": "0:0:1",
    "weight_priority": "1.0",
    "weight_urgency": "0",
    "weight_ticket": "0",
    "weight_waiting_time": "0",
}
USER = "nobody"


class Cell:
    """A cell of its own: ``low.q`` and ``high.q`` with four slots each on this host.

    By itself ``high.q`` does not suspend: `subordinate` sets a list.
    """

    def __init__(self, folder: Path, script: Path, port: int) -> None:
        self.folder, self.script = folder, script
        self.environment = dict(
            os.environ, EMU_GE_DIR=str(folder), EMU_GE_PORT=str(port), LC_ALL="C.UTF-8", TZ="UTC0"
        )
        said = self.emulate("env").stdout
        self.names = dict(re.findall(r"(SGE_\w+)=(\S+)", said))
        self.environment |= self.names

    def emulate(self, what: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(self.script), what, str(self.folder)],
            env=self.environment,
            text=True,
            capture_output=True,
            check=False,
        )

    def start(self) -> None:
        begun = self.emulate("start")
        assert begun.returncode == 0, begun.stderr
        self.folder.chmod(0o755)  # jobs of other users read it
        self.edit("-ssconf", "-Msconf", "scheduler", SCHEDULER)
        self.edit("-sconf", "-Mconf", "global", {"load_report_time": "0:0:1"}, "global")
        self.complexes("license lic INT <= YES YES 0 0")
        self.run("qconf", "-mattr", "exechost", "complex_values", "license=2", "global")
        place = self.folder / "environment"
        place.write_text(
            "ckpt_name saves\ninterface userdefined\nckpt_command none\nmigr_command none\n"
            "restart_command none\nclean_command none\nckpt_dir /tmp\nsignal none\nwhen x\n"
        )
        self.run("qconf", "-Ackpt", str(place))
        place.write_text(
            "pe_name threads\nslots 8\nuser_lists NONE\nxuser_lists NONE\nstart_proc_args /bin/true\n"
            "stop_proc_args /bin/true\nallocation_rule $pe_slots\ncontrol_slaves FALSE\n"
            "job_is_first_task TRUE\nurgency_slots min\naccounting_summary FALSE\nqsort_args NONE\n"
        )
        self.run("qconf", "-Ap", str(place))
        for queue in ("low.q", "high.q"):
            self.run("qconf", "-aattr", "queue", "ckpt_list", "saves", queue)
            self.run("qconf", "-aattr", "queue", "pe_list", "threads", queue)
        self.subordinate("NONE")

    def stop_master(self) -> None:
        """End the qmaster, as a crash does; daemons of hosts and their jobs stay."""
        places = (self.folder / "qmaster.pid", self.folder / "spool" / "qmaster" / "qmaster.pid")
        (place, *_) = [place for place in places if place.exists() and place.read_text().strip()]
        pid = int(place.read_text())
        os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + 120
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < until, "qmaster does not end"
            time.sleep(0.05)

    def start_master(self) -> None:
        """Start it again, and wait until it answers."""
        pid = str(self.folder / "qmaster.pid")
        subprocess.run(
            ["/usr/lib/gridengine/sge_qmaster"],
            env=self.environment | {"SGE_MASTER_PIDFILE": pid},
            stdin=subprocess.DEVNULL,
            check=True,
            cwd="/",
        )
        until = time.monotonic() + 120
        while "error" in self.run("qconf", "-sh", check=False):
            assert time.monotonic() < until, "qmaster does not answer"
            time.sleep(0.2)

    def edit(self, shows: str, takes: str, name: str, changes: dict[str, str], *more: str) -> None:
        text = self.run("qconf", shows, *more)
        for key, value in changes.items():
            text = re.sub(rf"(?m)^{key}\s.*$", f"{key} {value}", text)
        place = self.folder / name
        place.write_text(text)
        self.run("qconf", takes, str(place))

    def complexes(self, line: str) -> None:
        place = self.folder / "complexes"
        place.write_text(f"{self.run('qconf', '-sc')}\n{line}\n")
        self.run("qconf", "-Mc", str(place))

    def subordinate(self, listed: str) -> None:
        self.run("qconf", "-rattr", "queue", "subordinate_list", listed, "high.q")

    def run(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            arguments,
            env=self.environment,
            text=True,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd="/tmp",
            errors="replace",
        )
        if check and done.returncode:
            raise AssertionError(f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def submit(self, *more: str, queue: str = "low.q", seconds: float = 600, user: str | None = None) -> str:
        command = ["qsub", "-b", "y", "-N", "job", "-o", "/dev/null", "-e", "/dev/null", "-wd", "/tmp"]
        command += ["-q", queue, *more, "sleep", str(seconds)]
        if user is not None:
            command = [*as_user(user), *command]
        found = re.search(r"Your job(?:-array)? (\d+)", said := self.run(*command))
        assert found, said
        return found[1]

    def tasks(self) -> dict[str, Task]:
        text = self.run("qstat", "-xml", "-u", "*", "-r", "-g", "t")
        return {task.key: task for task in read_tasks(text, utc=True)}

    def states(self) -> dict[str, str]:
        return {name: task.state for name, task in self.tasks().items()}

    def wait(self, names: list[str], *states: str, seconds: float = 120) -> None:
        until = time.monotonic() + seconds
        while True:
            found = {name: state for name, state in self.states().items() if name in names}
            if len(found) == len(names) and set(found.values()) <= set(states):
                return
            assert time.monotonic() < until, found
            time.sleep(0.1)

    def wait_gone(self, names: list[str], seconds: float = 120) -> None:
        until = time.monotonic() + seconds
        while found := set(names) & set(self.states()):
            assert time.monotonic() < until, found
            time.sleep(0.2)

    def clear(self) -> None:
        """Delete all jobs; by force, which leaves processes behind, only those that do not end."""
        begin = time.monotonic()
        while names := list(self.states()):
            late = time.monotonic() - begin
            assert late < 120, "jobs do not end"
            self.run("qdel", *(["-f"] if late > 30 else []), *names, check=False)
            time.sleep(0.3)


def as_user(user: str) -> list[str]:
    return [
        "setpriv",
        f"--reuid={user}",
        "--regid=nogroup",
        "--clear-groups",
        "env",
        "HOME=/tmp",
        f"USER={user}",
    ]


def _free_port() -> int:
    for port in range(17000 + os.getpid() % 500 * 2, 19000, 2):
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("", port))
                other.bind(("", port + 1))
            except OSError:
                continue
            return port
    pytest.skip("no two ports in a row are free")


@pytest.fixture(scope="session")
def engine() -> Iterator[Cell]:
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/lib/gridengine"))
    missing = [name for name in (*PROGRAMS, *DAEMONS) if shutil.which(name, path=path) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)}: install gridengine-master, -exec and -client")
    if os.geteuid() != 0:
        pytest.skip("the daemons of Grid Engine need root")
    script = shared("live", "gridengine", "emu_ge.sh")
    with tempfile.TemporaryDirectory(prefix="evenhand-gridengine-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        place.chmod(0o755)
        cell = Cell(place / "cell", script, _free_port())
        try:
            cell.start()
            yield cell
            cell.clear()
        finally:
            cell.emulate("stop")


@pytest.fixture
def cell(engine: Cell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cell]:
    for name, value in engine.names.items():
        monkeypatch.setenv(name, value)
    engine.subordinate("NONE")
    engine.clear()
    yield engine
    engine.clear()
