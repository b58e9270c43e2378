"""Checksums of a journal's lines: each covers its line and all before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

__all__ = ["encoded", "seal", "unseal"]

_HEAD, _TAIL = b'{"sum": "', b'", '
_DIGITS = 16
_BODY = len(_HEAD) + _DIGITS + len(_TAIL)


def seal(line: dict[str, Any], before: bytes) -> tuple[bytes, bytes]:
    """Return a line as it is written, and its checksum.

    It begins with its checksum, so that no damaged byte makes it look like a line of the versions that wrote
    none: those begin with the line's number.
    """
    body = json.dumps(line, allow_nan=False).encode()
    total = _sum(before, body)
    return _HEAD + total + _TAIL + body[1:], total


def unseal(text: bytes, before: bytes, *, plain: bool) -> tuple[dict[str, Any], bytes, bool]:
    """Return what a line says, its checksum, and whether that stood in it.

    A line that may be without a checksum (`plain`) is covered by that of the next line that has one.
    """
    sealed = text.startswith(_HEAD)
    body = b"{" + text[_BODY:] if sealed else text
    try:
        line = json.loads(body)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(line, dict):
        raise ValueError("no object")
    total = _sum(before, body)
    if sealed:
        return line, total, text[:_BODY] == _HEAD + total + _TAIL
    return line, total, plain and text.startswith(b'{"n": ')


def encoded(lines: Iterable[dict[str, Any]]) -> bytes:
    """Return the full text of a journal with these lines."""
    texts, total = [], b""
    for line in lines:
        text, total = seal(line, total)
        texts.append(text + b"\n")
    return b"".join(texts)


def _sum(before: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(before + b"\n" + body, digest_size=_DIGITS // 2).hexdigest().encode()
