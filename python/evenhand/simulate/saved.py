"""A run as a file: a head with version, length and digest, its provenance, then the pickle of what it is."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand import _core
from evenhand.errors import InputError, printable
from evenhand.files import replace_file

__all__ = ["read_run", "write_run"]

_HEAD = re.compile(rb"evenhand simulation ([^\n ]{1,100})(?: (\d{1,18}) ([0-9a-f]{64}))?\n")


def write_run(path: str | os.PathLike[str], run: Any, provenance: Mapping[str, Any]) -> None:
    """Write a run into a file, which is replaced at once or not at all; its second line says what made it."""
    body = json.dumps(provenance).encode() + b"\n" + pickle.dumps(run)
    head = f"evenhand simulation {_core.__version__} {len(body)} {hashlib.sha256(body).hexdigest()}\n"
    replace_file(path, head.encode() + body)


def read_run(path: str | os.PathLike[str]) -> Any:
    """Return what was pickled into a file."""
    content = Path(path).read_bytes()
    head = _HEAD.match(content)
    if head is None or head[1] != _core.__version__.encode():
        raise _wrong(path, "format", f"is no saved simulation of version {_core.__version__}")
    body = content[head.end() :]
    if head[2] is not None:  # the version before wrote neither
        if len(body) != int(head[2]):
            raise _wrong(
                path, "length", f"has {len(body):,} of {int(head[2]):,} bytes: it was cut or added to"
            )
        if hashlib.sha256(body).hexdigest().encode() != head[3]:
            raise _wrong(path, "digest", "is not as it was written: some of its bytes have changed")
    if body.startswith(b"{"):  # a pickle does not; the version before wrote no such line
        body = body.partition(b"\n")[2]
    try:
        return pickle.loads(body)  # noqa: S301 - see Simulation.load
    except Exception as error:  # a pickle that is damaged may raise anything
        said = f"is a saved simulation that is damaged ({type(error).__name__})"
        raise _wrong(path, "format", said) from error


def _wrong(path: str | os.PathLike[str], rule: str, predicate: str) -> InputError:
    shown = printable(os.fspath(path))
    return InputError.about("simulation", "path", rule, f"{shown} {predicate}", shown)
