"""What is compressed, read as what it holds: gzip, bzip2, xz and zstd, told by the first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable
from typing import IO, Any

from evenhand.errors import require

__all__ = ["broken", "is_packed", "unpacked"]

_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_BZIP2 = re.compile(rb"BZh[1-9](?:1A|\x17r)")  # a block, or the end of an empty file


def is_packed(begin: bytes) -> bool:
    """Return whether bytes begin as those of a compressed file do."""
    return begin.startswith((_GZIP, _XZ, _ZSTD)) or _BZIP2.match(begin) is not None


def unpacked(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream of what a file holds; of one that is not compressed, the file itself."""
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(_GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=raw))
    if magic == _XZ:
        return lzma.open(raw)
    if magic.startswith(_ZSTD):
        return io.BufferedReader(_Frames(raw, require("zstandard", "zstd").ZstdDecompressor().decompressobj))
    if _BZIP2.match(magic):
        return io.BufferedReader(_Frames(raw, bz2.BZ2Decompressor))
    return raw


class _Frames(io.RawIOBase):
    """What is unpacked frame by frame, so that a file that is cut short or damaged raises one of `broken`.

    The reader of zstandard takes one that is cut short as whole; bz2 says damage as an OSError, as a file
    that cannot be read does.
    """

    def __init__(self, raw: IO[bytes], begin: Callable[[], Any]) -> None:
        self._raw, self._begin = raw, begin
        self._frame: Any = None
        self._unread, self._ready = b"", b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what comes next; 0 at the end."""
        while not self._ready:
            packed = self._unread or self._raw.read(1 << 17)
            if not packed:
                if self._frame is not None:
                    raise EOFError("its last frame has no end")
                return 0
            self._frame = self._frame or self._begin()
            try:
                self._ready, self._unread = self._frame.decompress(packed), b""
            except OSError as error:  # of bz2: nothing is read here
                raise EOFError(str(error)) from error
            if self._frame.eof:
                self._unread, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


def broken() -> tuple[type[Exception], ...]:
    """Return what is raised for damaged files; zstandard's own error only where it is in use."""
    zstandard = sys.modules.get("zstandard")
    return (*_BROKEN, zstandard.ZstdError) if zstandard else _BROKEN
