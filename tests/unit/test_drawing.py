"""What the suite draws is the same in every process, however the package is installed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st

from evenhand.testing import strategies as es
from tests.drawing import drawn
from tests.packaging.layers import ROOT
from tests.waiting import HANG


def digest() -> str:
    """Of what constants of a loaded source would change: numbers and texts without bounds, and a cluster."""
    free = st.tuples(st.integers(), st.floats(), st.text(), st.binary())
    found = [drawn(free, 200), drawn(es.plan_inputs().map(lambda one: one.snapshot), 20)]
    return hashlib.sha256(repr(found).encode()).hexdigest()


def test_draws_are_the_same_in_another_process(tmp_path: Path) -> None:
    """In one with another module that is no test and full of constants, as if a CI server ran it."""
    constants = [f"A{i} = {i * i + 10**6}, {i}.0625, 'word{i}', b'{i}'" for i in range(200)]
    (tmp_path / "own_module.py").write_text("\n".join(constants))
    code = "import own_module, tests.profiles, tests.unit.test_drawing as t; print(t.digest())"
    variables = {name: value for name, value in os.environ.items() if not name.startswith("EVENHAND_HYP")}
    variables |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "CI": "true", "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, env=variables, check=True, capture_output=True, text=True, timeout=HANG)
    assert out.stdout.strip() == digest()


def test_profiles_are_the_same_on_a_server() -> None:
    for name in ("suite", "nightly", "mutants", "search"):
        profile = settings.get_profile(name)
        assert profile.derandomize == (name != "nightly")
        assert profile.database is None
        assert profile.deadline is None
