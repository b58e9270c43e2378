"""Files of text, compressed or not, as blocks of whole lines."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from evenhand.errors import InputError, Problem, require

BLOCK = 1 << 23
"""Bytes of a block: large enough for columns, small beside any machine's memory."""

_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


def file_name(path: str | os.PathLike[str]) -> str:
    """Return how a file is called in messages."""
    return Path(path).name


def blocks(path: str | os.PathLike[str], size: int = BLOCK) -> Iterator[tuple[int, bytes]]:
    """Yield the number of a block's first line, from 1, and the block: whole lines that end in a newline.

    Parameters
    ----------
    path : str or path-like
        A file as it is, or compressed by gzip, xz or zstd, which its first bytes tell.
    size : int
        Bytes read at once.

    Raises
    ------
    InputError
        If what is compressed is damaged or cut short.
    MissingExtraError
        If it is compressed by zstd, and zstandard is not installed.
    OSError
        If it cannot be read.
    """
    line, rest = 1, b""
    try:
        with Path(path).open("rb") as raw, _unpacked(raw) as stream:
            while block := stream.read(size):
                end = block.rfind(b"\n") + 1
                if not end:
                    rest += block
                    continue
                whole, rest = rest + block[:end], block[end:]
                yield line, _newlines(whole, line)
                line += whole.count(b"\n")
    except _broken() as error:
        message = f"line {line} or later cannot be unpacked: {error}; the file is damaged or cut short"
        raise InputError([Problem(file_name(path), line, None, None, "damaged", None, message)]) from error
    if rest:
        yield line, _newlines(rest + b"\n", line)


def _newlines(text: bytes, line: int) -> bytes:
    """Return a block with plain newlines, and without the byte order mark that a file may begin with."""
    text = text.removeprefix(BOM_UTF8) if line == 1 else text
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


def _unpacked(raw: IO[bytes]) -> IO[bytes]:
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return io.BufferedReader(gzip.GzipFile(fileobj=raw))
    if magic == b"\xfd7zXZ\x00":
        return lzma.open(raw)
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
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


def _broken() -> tuple[type[Exception], ...]:
    """Return what is raised for damaged files; zstandard's own error only where it is in use."""
    import sys

    zstandard = sys.modules.get("zstandard")
    return (*_BROKEN, zstandard.ZstdError) if zstandard else _BROKEN
