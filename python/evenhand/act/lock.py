"""Two drivers never act at once: a lock that lives as long as the driver and the commands it started."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import time
from pathlib import Path

from evenhand.errors import EvenhandError

__all__ = ["Lock", "LockedError", "place_of"]


_SHARED = Path("/run/lock")


class LockedError(EvenhandError):
    """Another driver acts on this cluster, or it cannot be known whether one does."""


def place_of(identity: str) -> Path:
    """Return where the lock of a cluster is on this machine.

    Parameters
    ----------
    identity : str
        Of the cluster.

    Returns
    -------
    pathlib.Path
        In /run/lock if it can be written, which all users of the machine share; else in the service manager's
        ``$RUNTIME_DIRECTORY``, else in the folder for temporary files.

    Raises
    ------
    LockedError
        If there is no folder for it.
    """
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return _folder() / f"evenhand-{digest}.lock"


def _folder() -> Path:
    if os.access(_SHARED, os.W_OK | os.X_OK):
        return _SHARED
    for place in filter(None, os.environ.get("RUNTIME_DIRECTORY", "").split(":")):
        if os.access(place, os.W_OK | os.X_OK):
            return Path(place)
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        raise LockedError(
            f"no folder for the lock: neither {_SHARED} nor one for temporary files can be written; name a "
            "file that all drivers of this cluster share (--lock)"
        ) from error


class Lock:
    """A file that one driver holds.

    Commands inherit its descriptor (`Adapter.keep`). So the lock of a driver that was killed is free only
    when the last command that it started has ended: nothing of it can arrive behind the next one's back.

    Parameters
    ----------
    path : path-like
        Made if it does not exist; a link is not followed.
    patience : float
        How long to wait, in seconds, for commands of a driver that is dead. For one that lives nobody waits.

    Raises
    ------
    LockedError
        If another driver holds it, or the file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str], patience: float = 35.0) -> None:
        self.path = Path(path)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self.descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            why = "it is another user's" if isinstance(error, PermissionError) else error.strerror or error
            raise LockedError(f"lock {path}: cannot be opened: {why}") from error
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                holder = os.pread(self.descriptor, 32, 0).decode("ascii", "replace").strip()
                if _lives(holder) or time.monotonic() > until:
                    os.close(self.descriptor)
                    who = f"process {holder}" if holder.isdecimal() else "another process"
                    raise LockedError(
                        f"another driver ({who}) acts on this cluster: lock {self.path}"
                    ) from None
                time.sleep(0.05)
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _lives(holder: str) -> bool:
    if not holder.isdecimal() or int(holder) == 0:
        return True  # between locking and writing its number
    try:
        os.kill(int(holder), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _zombie(int(holder))


def _zombie(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False
