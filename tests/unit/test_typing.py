"""Type checkers see the settings: they find exactly the marked mistakes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.policies import YTsaurus
from evenhand.systems import SYSTEMS
from tests.waiting import HANG

ROOT = Path(__file__).resolve().parents[2]
USES = ROOT / "tests" / "typing" / "settings_use.py"
POLICIES = [system.policy for system in SYSTEMS.values()]


@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_a_checker_finds_the_marked_mistakes(checker: str) -> None:
    beside = Path(sys.executable).with_name(checker)
    command = str(beside) if beside.exists() else shutil.which(checker)
    if command is None:
        pytest.skip(f"{checker} is not installed")
    strict = ["--strict", "--python-executable"]  # of the other checker the file itself says so
    python = [*(strict if checker == "mypy" else ["--pythonpath"]), sys.executable]
    done = subprocess.run(
        [command, *python, str(USES)], cwd=ROOT, capture_output=True, text=True, timeout=HANG, check=False
    )
    found = {int(line) for line in re.findall(r"settings_use\.py:(\d+)(?::\d+)?.*\berror\b", done.stdout)}
    lines = USES.read_text().split("\n")
    marked = {i for i, line in enumerate(lines, 1) if "# mistake" in line}
    assert marked
    assert found == marked, done.stdout


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_has_each_kind_of_mistake(policy: type[eh.policies.Policy]) -> None:
    marks = [line for line in USES.read_text().split("\n") if f".{policy.__name__}(" in line]
    for kind in ("misspelt", "no such preset", "no such choice", "a flag"):
        assert any(f"# mistake: {kind}" in line for line in marks), kind
    assert any("# mistake" not in line for line in marks)


def test_a_policy_shows_what_differs_from_its_preset() -> None:
    policy = YTsaurus("upstream", fair_share_starvation_timeout="1m")
    html = policy._repr_html_()
    assert html.index("fair_share_starvation_timeout") < html.index("settings as the preset has them")
    assert "60 s" in html
    assert "30 s" in html
    assert "39 settings as the preset has them" in html
    assert repr(policy) == "YTsaurus('upstream', fair_share_starvation_timeout=60.0)"
