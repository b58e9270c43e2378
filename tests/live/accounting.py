"""Slurm's accounting for a throw-away cluster: a database and its daemon, in a folder of their own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb", "slurmdbd", "sacctmgr", "sacct", "sshare")


def lacking() -> str:
    """Why there can be no accounting on this machine; empty if there can."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if not missing and os.getuid() == 0:
        return ""
    return f"no {', '.join(missing)}: install slurmdbd and mariadb-server" if missing else "only root may"


class Database:
    """MariaDB on ``port`` + 1 and slurmdbd on ``port``; `lines` go into slurm.conf.

    Start it before Slurm, stop it after.
    """

    def __init__(self, folder: Path, port: int, *, auth: str = "auth/none") -> None:
        self.folder, self.port = folder, port
        self.lines = (
            "AccountingStorageType=accounting_storage/slurmdbd\n"
            f"AccountingStorageHost=127.0.0.1\nAccountingStoragePort={port}"
        )
        self._auth = auth
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        data, own = self.folder / "data", str(self.folder / "socket")
        self.folder.mkdir(parents=True, exist_ok=True)
        plain = ["--no-defaults", "--user=root", f"--datadir={data}"]
        with (self.folder / "install.log").open("wb") as log:
            subprocess.run(
                ["mariadb-install-db", *plain, "--auth-root-authentication-method=normal"],
                stdout=log,
                stderr=log,
                check=True,
            )
        small = ["--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0"]
        own_port = self.port + 1
        self._spawn(
            *("mariadbd", *plain, *small, f"--socket={own}", f"--port={own_port}", "--bind-address=127.0.0.1")
        )
        self._until("mariadbd", lambda: Path(own).exists() and _listens(own_port))
        said = (
            "CREATE USER slurm@'127.0.0.1' IDENTIFIED BY 'slurm'; GRANT ALL ON slurm.* TO slurm@'127.0.0.1';"
        )
        subprocess.run(["mariadb", "--no-defaults", f"--socket={own}", "-e", said], check=True)
        conf = self.folder / "slurmdbd.conf"
        conf.write_text(
            f"AuthType={self._auth}\nDbdHost=localhost\nDbdAddr=127.0.0.1\nDbdPort={self.port}\n"
            f"SlurmUser=root\nLogFile={self.folder}/slurmdbd.log\nPidFile={self.folder}/slurmdbd.pid\n"
            f"StorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\nStoragePort={own_port}\n"
            "StorageUser=slurm\nStoragePass=slurm\nStorageLoc=slurm\n"
        )
        conf.chmod(0o600)
        self._spawn("slurmdbd", "-D", SLURM_CONF=str(self.folder / "slurm.conf"))  # its folder has the other
        self._until("slurmdbd", lambda: _listens(self.port))

    def stop(self) -> None:
        for process in reversed(self._running):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _spawn(self, *arguments: str, **environment: str) -> None:
        with (self.folder / f"{arguments[0]}.out").open("wb") as log:
            self._running.append(
                subprocess.Popen(
                    arguments,
                    env={**os.environ, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            )

    def _until(self, what: str, ready: Callable[[], bool]) -> None:
        until = time.monotonic() + 60
        while not ready():
            log = (self.folder / f"{what}.out").read_text(errors="replace")[-500:]
            assert self._running[-1].poll() is None, f"{what} ended: {log}"
            assert time.monotonic() < until, f"{what} does not answer: {log}"
            time.sleep(0.1)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
