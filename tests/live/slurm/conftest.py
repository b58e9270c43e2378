"""A real Slurm on this machine with emulated nodes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.live.slurm.accounting import Database, lacking, with_users
from tests.shared import shared

PROGRAMS = ("slurmctld", "slurmd", "squeue", "sinfo", "scontrol", "sbatch", "scancel")
PARTITIONS = (
    "PartitionName=low Nodes=n[1-8] Default=YES MaxTime=INFINITE State=UP\n"
    "PartitionName=high Nodes=n[1-8] MaxTime=INFINITE State=UP PriorityTier=10"
)


OWN_PREEMPTION_OFF = "# preemption is off"


class Cluster:
    """Nodes with four cpus each; Slurm's own preemption is off unless it is asked for.

    It takes a port more than it has nodes from ``port`` on, of forty: beside the session's give it 10.
    """

    def __init__(
        self,
        folder: Path,
        script: Path,
        *,
        partitions: str = PARTITIONS,
        preemption: str = OWN_PREEMPTION_OFF,
        parameters: str = "",
        expiry: int = 4,
        port: int = 0,
        nodes: int = 8,
        extra: str = "",
        files: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.script = folder, script
        for name, text in (files or {}).items():
            (folder / name).write_text(text)
        self.conf = str(folder / "slurm.conf")
        self.completions = folder / "jobcomp.log"
        self.environment = dict(
            os.environ,
            EMU_DIR=str(folder),
            EMU_PORT=str(21000 + os.getpid() % 250 * 40 + port),
            EMU_AUTH="none",
            EMU_NODES=str(nodes),
            EMU_PARTS=partitions,
            EMU_PREEMPT=preemption,
            EMU_SCHED=parameters,
            EMU_EXTRA=f"AuthInfo=cred_expire={expiry}\nJobCompType=jobcomp/filetxt\n"
            f"JobCompLoc={self.completions}\nMaxJobCount=20000\n{extra}",
            SLURM_CONF=self.conf,
        )

    def emulate(self, what: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(self.script), what],
            env=self.environment,
            text=True,
            capture_output=True,
            check=False,
        )

    def run(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            arguments, env=self.environment, capture_output=True, check=False, stdin=subprocess.DEVNULL
        )
        if check and done.returncode:
            raise AssertionError(f"{arguments}: {done.stderr!r}")
        return done.stdout.decode("utf-8", "replace")

    def said(self, *arguments: str) -> str:
        """Return what a command says beside its answer."""
        done = subprocess.run(
            arguments, env=self.environment, capture_output=True, check=False, stdin=subprocess.DEVNULL
        )
        return done.stderr.decode("utf-8", "replace")

    def submit(self, cpus: int = 2, *more: str, partition: str = "low", seconds: float = 600) -> str:
        return self.run(
            *("sbatch", "--parsable", "-p", partition, "-N1", "-n", str(cpus), "--mem=50", "-t", "60"),
            *("-o", "/dev/null", "-D", "/tmp", *more, "--wrap", f"sleep {seconds}"),
        ).strip()

    def stop_controller(self) -> None:
        """End the controller, which writes its state down; daemons of nodes and their jobs stay."""
        place = self.folder / "slurmctld.pid"
        pid = int(place.read_text())
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + 120
        while place.exists() or Path(f"/proc/{pid}").exists():
            assert time.monotonic() < until, "slurmctld does not end"
            time.sleep(0.05)

    def start_controller(self) -> None:
        """Start it again, and wait until it answers."""
        self.run("slurmctld", "-f", self.conf)
        until = time.monotonic() + 120
        while "UP" not in self.run("scontrol", "ping", check=False):
            assert time.monotonic() < until, "slurmctld does not answer"
            time.sleep(0.2)

    def jobs(self) -> dict[str, dict[str, Any]]:
        import json

        return {str(j["job_id"]): j for j in json.loads(self.run("squeue", "--json"), strict=False)["jobs"]}

    def wait(self, names: list[str], *states: str, seconds: float = 120) -> None:
        until = time.monotonic() + seconds
        while True:
            jobs = self.jobs()
            found = {name: jobs[name]["job_state"] for name in names}
            if all(state in states for state in found.values()):
                return
            assert time.monotonic() < until, found
            time.sleep(0.1)

    def table(self) -> str:
        """All that a dry run could change and time alone does not."""
        fields = ("jobid", "name", "state", "reasonlist", "prioritylong", "nodelist", "restartcnt", "comment")
        text = self.run("squeue", "-a", "-t", "all", "-O", ",".join(f"{f}:|" for f in fields))
        accounting = self.completions.read_text() if self.completions.exists() else ""
        return text + accounting

    def clear(self) -> None:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            busy = [
                name
                for name, job in self.jobs().items()
                if job["job_state"] in ("RUNNING", "PENDING", "SUSPENDED", "COMPLETING")
            ]
            if not busy:
                return
            self.run("scancel", "-f", *busy, check=False)
            time.sleep(0.2)
        raise AssertionError("jobs do not end")


def emulator() -> Path:
    """Return the script that starts clusters; skip the test where it, or Slurm, is absent."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)}: install slurmctld, slurmd and slurm-client")
    return shared("live", "slurm", "emu_slurm.sh")


@contextmanager
def started(script: Path, **options: Any) -> Iterator[Cluster]:
    """Run a cluster; see `Cluster` for the options."""
    with tempfile.TemporaryDirectory(prefix="evenhand-slurm-") as folder:
        cluster = Cluster(Path(folder), script, **options)
        begun = cluster.emulate("start")
        try:
            assert begun.returncode == 0, begun.stderr
            yield cluster
        finally:
            cluster.emulate("stop")


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    with started(emulator(), parameters="permit_job_expansion") as cluster:
        yield cluster


@pytest.fixture
def cluster(slurm: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("SLURM_CONF", slurm.conf)
    slurm.clear()
    yield slurm
    slurm.clear()


class Accounted:
    """A cluster that keeps accounting, preempts by QOS, and knows users with names that no system allows."""

    def __init__(self, cluster: Cluster, database: Database, names: dict[str, str]) -> None:
        self.cluster, self.database, self.names = cluster, database, names


@contextmanager
def started_with_accounts(
    port: int,
    *,
    nasty: bool,
    lines: str,
    beyond: int = 12,
    files: Mapping[str, str] | None = None,
    **environment: str,
) -> Iterator[Accounted]:
    """Run a cluster with a database; `lines` go into its slurm.conf, the database's ports lie `beyond`."""
    script = emulator()
    if lacking():
        pytest.skip(lacking())
    with tempfile.TemporaryDirectory(prefix="evenhand-accounting-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        names = with_users(folder) if nasty else {}
        database = Database(folder / "database", port + beyond, **names)
        cluster = Cluster(folder, script, files=files)
        extra = f"{cluster.environment['EMU_EXTRA']}\n{database.lines}\n{lines}"
        cluster.environment |= {**names, "EMU_PORT": str(port), "EMU_EXTRA": extra, **environment}
        try:
            database.start()
            begun = cluster.emulate("start")
            assert begun.returncode == 0, begun.stderr
            yield Accounted(cluster, database, names)
        finally:
            cluster.emulate("stop")
            database.stop()


@pytest.fixture(scope="session")
def accounting() -> Iterator[Accounted]:
    with started_with_accounts(
        11000 + os.getpid() % 400 * 20,
        nasty=True,
        lines="AccountingStoreFlags=job_comment",
        EMU_PREEMPT="PreemptType=preempt/qos\nPreemptMode=REQUEUE",
    ) as accounted:
        yield accounted


@pytest.fixture
def accounted(accounting: Accounted, monkeypatch: pytest.MonkeyPatch) -> Iterator[Accounted]:
    for name, value in {"SLURM_CONF": accounting.cluster.conf, **accounting.names}.items():
        monkeypatch.setenv(name, value)
    accounting.cluster.clear()
    yield accounting
    accounting.cluster.clear()
