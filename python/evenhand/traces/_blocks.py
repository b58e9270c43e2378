"""Files of text, compressed or not, as blocks of whole lines."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path

from evenhand.errors import InputError, Problem
from evenhand.packed import broken, unpacked

BLOCK = 1 << 23
"""Bytes of a block: large enough for columns, small beside any machine's memory."""


def file_name(path: str | os.PathLike[str]) -> str:
    """Return how a file is called in messages."""
    return Path(path).name


def blocks(path: str | os.PathLike[str], size: int = BLOCK) -> Iterator[tuple[int, bytes]]:
    """Yield the number of a block's first line, from 1, and the block: whole lines that end in a newline."""
    line, rest = 1, b""
    try:
        with Path(path).open("rb") as raw, unpacked(raw) as stream:
            while block := stream.read(size):
                end = block.rfind(b"\n") + 1
                if not end:
                    rest += block
                    continue
                whole, rest = rest + block[:end], block[end:]
                yield line, _newlines(whole, line)
                line += whole.count(b"\n")
    except broken() as error:
        message = f"line {line} or later cannot be unpacked: {error}; the file is damaged or cut short"
        raise InputError([Problem(file_name(path), line, None, None, "damaged", None, message)]) from error
    if rest:
        yield line, _newlines(rest + b"\n", line)


def _newlines(text: bytes, line: int) -> bytes:
    """Return a block with plain newlines, and without the byte order mark that a file may begin with."""
    text = text.removeprefix(BOM_UTF8) if line == 1 else text
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text
