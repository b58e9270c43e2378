"""No outcome of the suite depends on a clock, the load, the cores, or on what is drawn by chance."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.packaging.clocks import uses
from tests.packaging.layers import ROOT

INSTEAD = """
A test must give the same result on any machine, however busy:
- costs: compare what was counted (calls, rows, bytes, steps of the interpreter), not seconds;
- time: hand a clock of your own to what is tested;
- another process or thread: wait for a sign that it gives, with tests.waiting (until, soon, HANG);
- draws: random.Random(seed), default_rng(seed), hypothesis as the profile has it (tests/profiles.py).
An exception stands in tests/packaging/test_clocks.py, with its reason."""

FOLDERS = {
    "tests/live": "real schedulers, whose clocks are their own; not part of a plain run",
    "tests/bench": "benchmarks print seconds; what pytest collects there compares only results",
    "tests/mutants": "stops what a planted defect has made endless; not collected",
}
FILES = {
    "tests/packaging/test_clocks.py": "what is forbidden, as examples",
    "tests/profiles.py": "the profile for searching at night",
    "tests/properties/certifying.py": "a command that prints how long it took; not collected",
    "tests/properties/explaining.py": "a command that prints how long it took; not collected",
    "tests/waiting.py": "pauses between two looks, and nothing else",
}


def sources() -> list[Path]:
    return sorted(p for p in (ROOT / "tests").rglob("*.py") if "__pycache__" not in p.parts)


@pytest.mark.parametrize(
    "source",
    [
        "import time; time.monotonic()",
        "from time import sleep",
        "import time as t; t.sleep(1)",
        "import datetime; datetime.datetime.now()",
        "from datetime import datetime; datetime.now()",
        "import random; random.shuffle(x)",
        "from random import choice",
        "import random; random.Random()",
        "from random import Random; Random()",
        "import numpy as np; np.random.default_rng()",
        "import numpy as np; np.random.rand(3)",
        "import os; os.cpu_count()",
        "import threading; threading.Timer(1, f)",
        "import subprocess; subprocess.run(x, timeout=119.9)",
        "thread.join(60)",
        "event.wait(30.0)",
        "import asyncio; asyncio.sleep(0.1)",
        "settings(derandomize=False)",
        "import secrets; secrets.token_bytes(4)",
        "run('import time; time.sleep(9)')",
        "import signal; signal.setitimer(signal.ITIMER_REAL, 0.1)",
    ],
)
def test_what_is_forbidden_is_seen(source: str) -> None:
    assert list(uses(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "import random; random.Random(3).shuffle(x)",
        "import numpy as np; np.random.default_rng(0).random()",
        "import subprocess; subprocess.run(x, timeout=120)",
        "from tests.waiting import HANG; thread.join(HANG)",
        "', '.join(names)",
        "Lock(path, patience=0.0)",
        "import asyncio; asyncio.sleep(0)",
        "from datetime import timedelta; timedelta(seconds=3)",
        "cluster.now; snapshot.time",
    ],
)
def test_what_is_allowed_is_not(source: str) -> None:
    assert not list(uses(ast.parse(source)))


def test_the_suite_has_no_clock_and_no_chance() -> None:
    found = {}
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        lines = [f"{name}:{line}: {what}" for line, what in uses(ast.parse(path.read_text()))]
        if lines and "/".join(path.relative_to(ROOT).parts[:2]) not in FOLDERS:
            found[name] = lines
    new = [line for name, lines in found.items() if name not in FILES for line in lines]
    assert not new, "\n".join(new) + INSTEAD
    assert set(FILES) <= set(found), "exceptions that nothing needs"
