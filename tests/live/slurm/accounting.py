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

WRAPPER = "libnss_wrapper.so"
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

    def __init__(self, folder: Path, port: int, *, auth: str = "auth/none", **environment: str) -> None:
        self.folder, self.port, self._environment = folder, port, environment
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

    def dump(self, *tables: str) -> str:
        """Return the rows of tables as the database has them."""
        done = subprocess.run(
            [
                "mariadb-dump",
                "--no-defaults",
                f"--socket={self.folder / 'socket'}",
                "--skip-comments",
                "slurm",
                *tables,
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

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
                    env={**os.environ, **self._environment, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            )

    def _until(self, what: str, ready: Callable[[], bool]) -> None:
        until = time.monotonic() + 120
        while not ready():
            log = (self.folder / f"{what}.out").read_text(errors="replace")[-500:]
            assert self._running[-1].poll() is None, f"{what} ended: {log}"
            assert time.monotonic() < until, f"{what} does not answer: {log}"
            time.sleep(0.1)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


#: Names that ``useradd`` refuses and a directory service, or another system's import, may still have.
NASTY_USERS = (
    "two words",
    "o'neil",
    'quo"te',
    "$(touch {canary})",
    "`touch {canary}`",
    "; touch {canary}",
    "| touch {canary}",
    "&& reboot",
    "> {canary}",
    "a|b|c",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\u202egnp",
    "zero\u200bwidth",
    "tab\there",
    "-rf",
    "--help",
    "root(0)",
    "JobState=COMPLETED",
    "UserId=root",
    "%s%n",
    "{json}",
    '","user_name","root',
    "\\u0000\\",
    "<script>",
    "\u00e9t\u00e9",
    "dots.and-dashes",
    "machine$",
    "x" * 32,
    "12345",
)
FIRST_UID = 60001


def with_users(folder: Path) -> dict[str, str]:
    """Write files of nasty users; return what lets every program know them, empty where it cannot be done.

    Nothing of the machine's own users changes: the programs read other files in the place of /etc/passwd.
    """
    if not any(Path("/usr/lib").glob(f"*/{WRAPPER}")):
        return {}
    names = [name.format(canary=folder / "canary") if "{canary}" in name else name for name in NASTY_USERS]
    users = [
        (f"{name}:x:{uid}:{uid}::/tmp:/bin/sh", f"g{uid}:x:{uid}:")
        for uid, name in enumerate(names, FIRST_UID)
    ]
    root = ("root:x:0:0:root:/root:/bin/sh", "root:x:0:")
    files = {}
    for place, name in enumerate(("passwd", "group")):
        files[name] = folder / name
        files[name].write_text("".join(row[place] + "\n" for row in (root, *users)))
    return {
        "LD_PRELOAD": WRAPPER,
        "NSS_WRAPPER_PASSWD": str(files["passwd"]),
        "NSS_WRAPPER_GROUP": str(files["group"]),
    }
