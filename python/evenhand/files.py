"""Files that are read and replaced: regular ones only, no planted links, and as they were written."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["digest_of", "file_kind", "open_regular", "replace_file", "replace_files", "sealed", "unsealed"]

_Path = str | os.PathLike[str]

_KINDS = {
    "evenhand/snapshot/": "a snapshot",
    "evenhand/state/": "a state",
    "evenhand/plan/": "a saved plan",
}


def file_kind(data: object) -> str | None:
    """Say what a file of this package is by its schema: ``"a state"``; None if it does not tell."""
    schema = data.get("schema") if isinstance(data, Mapping) else None
    if not isinstance(schema, str):
        return None
    return next((kind for begin, kind in _KINDS.items() if schema.startswith(begin)), None)


def digest_of(*parts: str | bytes) -> str:
    """Return the digest that says whether a file is as it was written; 32 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
    return digest.hexdigest()


_SEAL = re.compile(r',\n "digest": "([^"\n]*)"\n}\n\Z')


def sealed(text: str) -> str:
    """Return an indented JSON object with a digest of its text as the last key."""
    head = text.removesuffix("\n}\n")
    return f'{head},\n "digest": "{digest_of(text)}"\n}}\n'


def unsealed(text: str) -> tuple[str, bool | None]:
    """Return the text that `sealed` was given, and whether that is as its digest says."""
    seal = _SEAL.search(text, max(len(text) - 100, 0))
    if seal is None:
        return text, None
    inner = text[: seal.start()] + "\n}\n"
    return inner, digest_of(inner) == seal[1]


def open_regular(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """Open a file that is there as what it is, or make one."""
    flags |= os.O_CLOEXEC | os.O_NONBLOCK
    if flags & os.O_CREAT:
        new = not os.path.lexists(path)
        flags = flags | os.O_EXCL | os.O_NOFOLLOW if new else flags & ~os.O_CREAT
    descriptor = os.open(path, flags, mode)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    return descriptor


def replace_file(path: str | os.PathLike[str], content: str | bytes, mode: int | None = None) -> None:
    """Replace a file at once or not at all; what is written is on the disk before."""
    replace_files([(path, content)], mode)


def replace_files(contents: Iterable[tuple[_Path, str | bytes]], mode: int | None = None) -> None:
    """Replace files, all of them or none: no file is touched before the last one is on the disk."""
    temporary: dict[Path, str] = {}
    path: _Path = ""
    files = [*contents]
    try:
        for path, content in files:
            target = Path(path)
            kept = _mode(target)
            handle, temporary[target] = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fchmod(handle, kept if mode is None else mode)
                os.fsync(handle)
        for (path, _), written in zip(files, temporary.values(), strict=True):
            Path(written).replace(path)
    except BaseException as error:
        for written in temporary.values():
            Path(written).unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = os.fspath(path), None
        raise


def _mode(target: Path) -> int:
    try:
        found = target.lstat().st_mode
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
    if stat.S_ISLNK(found):
        raise OSError(errno.ELOOP, "it is a link, which is not followed; name the file itself", str(target))
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "it is not a regular file", str(target))
    return stat.S_IMODE(found) & 0o777
