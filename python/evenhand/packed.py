"""What is compressed, read as what it holds: gzip, xz and zstd, told by the first bytes."""

from __future__ import annotations

import gzip
import io
import lzma
import sys
import zlib
from typing import IO, Any

from evenhand.errors import require

__all__ = ["broken", "is_packed", "unpacked"]

_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"


def is_packed(begin: bytes) -> bool:
    """Return whether bytes begin as those of a compressed file do."""
    return begin.startswith((_GZIP, _XZ, _ZSTD))


def unpacked(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream of what a file holds; of one that is not compressed, the file itself.

    Parameters
    ----------
    raw : binary file
        It can go back to its beginning.

    Returns
    -------
    binary file
        Reading it raises one of `broken` where what is compressed is damaged or cut short.

    Raises
    ------
    MissingExtraError
        If it is compressed by zstd, and zstandard is not installed.
    """
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(_GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=raw))
    if magic == _XZ:
        return lzma.open(raw)
    if magic.startswith(_ZSTD):
        return io.BufferedReader(_Zstd(raw, require("zstandard", "zstd").ZstdDecompressor()))
    return raw


class _Zstd(io.RawIOBase):
    """What zstandard unpacks; unlike its own reader this one notices a file that is cut short."""

    def __init__(self, raw: IO[bytes], context: Any) -> None:
        self._raw, self._context = raw, context
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
            self._frame = self._frame or self._context.decompressobj()
            self._ready, self._unread = self._frame.decompress(packed), b""
            if self._frame.eof:
                self._unread, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


def broken() -> tuple[type[Exception], ...]:
    """Return what is raised for damaged files; zstandard's own error only where it is in use."""
    zstandard = sys.modules.get("zstandard")
    return (*_BROKEN, zstandard.ZstdError) if zstandard else _BROKEN
