"""Two drivers never act at once: a lock that lives as long as the driver and the commands it started."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import tempfile
import time
from pathlib import Path

from evenhand.errors import EvenhandError

__all__ = ["Lock", "LockedError", "place_of"]


_SHARED = Path("/run/lock")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class LockedError(EvenhandError):
    """Another driver acts on this cluster, or it cannot be known whether one does."""


def place_of(identity: str) -> Path:
    """Return where the lock of a cluster is on this machine.

    In /run/lock if it can be written, which all users of the machine share; else in the service manager's
    ``$RUNTIME_DIRECTORY``, else in the folder for temporary files.
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
    """A file that one driver holds; a link is not followed.

    Commands inherit its descriptor (`Adapter.keep`). So the lock of a driver that was killed is free only
    when the last command that it started has ended: nothing of it can arrive behind the next one's back.
    """

    def __init__(
        self, path: str | os.PathLike[str], patience: float = 35.0, does: str = "acts on this cluster"
    ) -> None:
        self.path = Path(path)
        self.descriptor = _open(self.path)
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                holder = os.pread(self.descriptor, 32, 0).decode("ascii", "replace").strip()
                if _lives(holder) or time.monotonic() > until:
                    os.close(self.descriptor)
                    other = f"process {holder}" if holder.isdecimal() else "another process"
                    raise LockedError(f"another driver ({other}) {does}: lock {self.path}") from None
                time.sleep(0.05)
        number = f"{os.getpid()}\n".encode()
        try:  # over the old one, which needs no room
            os.pwrite(self.descriptor, number, 0)
            os.ftruncate(self.descriptor, len(number))
        except OSError:  # only for messages
            with contextlib.suppress(OSError):
                os.ftruncate(self.descriptor, 0)

    def leave_to(self, path: str | os.PathLike[str]) -> None:
        """Let a lock that root took belong to the owner of a file, who could not open it else."""
        with contextlib.suppress(OSError):
            owner = Path(path).stat()
            if os.geteuid() == 0 and os.fstat(self.descriptor).st_uid != owner.st_uid:
                os.fchown(self.descriptor, owner.st_uid, owner.st_gid)

    @property
    def token(self) -> str:
        """What distinguishes it: the file, and the machine since it was started; empty where none is known.

        Who holds a lock of the same token knows that all commands that inherited it have ended.
        """
        try:
            boot = _BOOT.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""
        found = os.fstat(self.descriptor)
        return f"{boot}:{found.st_dev}:{found.st_ino}" if boot else ""

    def release(self) -> None:
        """Let others have it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _open(path: Path) -> int:
    while True:
        try:
            # A file that is there is opened as such: in folders for all, kernels refuse to make another's.
            descriptor = os.open(path, os.O_RDWR | _FLAGS)
        except FileNotFoundError:
            try:
                return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
            except FileExistsError:
                continue  # made in between
            except OSError as error:
                raise LockedError(f"lock {path}: cannot be made: {error.strerror or error}") from error
        except OSError as error:
            raise LockedError(f"lock {path}: cannot be opened: {_why(path, error)}") from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            os.close(descriptor)
            raise LockedError(
                f"lock {path}: cannot be opened: it is not a regular file, or has a second link"
            )
        return descriptor


def _why(path: Path, error: OSError) -> str:
    import pwd

    if not isinstance(error, PermissionError):
        return error.strerror or str(error)
    try:
        owner = path.lstat().st_uid
    except OSError:
        return error.strerror or str(error)
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = str(owner)
    return (
        f"it belongs to user {name}; while no driver of that user runs it may be removed, or name a file "
        "that both users can write (--lock)"
    )


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
