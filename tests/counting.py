"""What a call costs, counted: the same on every machine, however busy."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any


def calls(call: Callable[[], Any]) -> int:
    """Count the Python functions that are called."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    gc.disable()  # hypothesis has a function called at each collection
    sys.setprofile(counted)
    try:
        call()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def steps(call: Callable[[], Any]) -> int:
    """Count the steps of the interpreter; what native code does in one of them is not seen."""
    count = 0

    def counted(frame: Any, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return counted

    gc.disable()
    before = sys.gettrace()
    sys.settrace(counted)
    try:
        call()
    finally:
        sys.settrace(before)
        gc.enable()
    return count
