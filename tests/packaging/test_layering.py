"""Arrows go one way, and only the bindings know Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.packaging import layers

CPP = [p for p in (layers.ROOT / "cpp").rglob("*") if p.suffix in {".h", ".cpp"}]
PACKAGE = layers.ROOT / "python" / "evenhand"
PYTHON = sorted(PACKAGE.rglob("*.py"))


def test_cpp_includes_point_down() -> None:
    uses = [u for p in CPP for u in layers.cpp_uses(p.relative_to(layers.ROOT), p.read_text())]
    assert uses, "no include of the project's own headers was found"
    unknown = [str(u) for u in uses if u.used is None]
    assert not unknown, "\n".join(unknown)
    upward = [str(u) for u in uses if u.points_up]
    assert not upward, "\n".join(upward)


def test_python_imports_point_down() -> None:
    uses = [u for p in PYTHON for u in layers.python_uses(p.relative_to(PACKAGE), p.read_text())]
    assert uses, "no import of the package's own modules was found"
    upward = [str(u) for u in uses if u.points_up]
    assert not upward, "\n".join(upward)


def test_only_the_bindings_include_python() -> None:
    found = []
    for path in CPP:
        name = path.relative_to(layers.ROOT).as_posix()
        targets = [t for _, t in layers.includes(path.read_text())]
        python = [t for t in targets if t.startswith("pybind11/") or t == "Python.h"]
        if python and name != layers.PYBIND_HEADER:
            found.append(name)
        if "pybind.h" in targets and not name.startswith("cpp/bindings/"):
            found.append(name)
    assert not found


def test_no_two_layers_share_a_cmake_library() -> None:
    """The linker enforces the order too: the libraries are declared in it, each linking those before."""
    text = (layers.ROOT / "cpp" / "CMakeLists.txt").read_text()
    declared = text.split("set(EVENHAND_LAYERS ")[1].split(")")[0].split()
    assert declared == [layer for layer in layers.ORDER if layer in declared]
    folders = {p.name for p in (layers.ROOT / "cpp" / "src").iterdir()}
    assert folders == set(declared)


@pytest.mark.parametrize(
    ("path", "text", "upward"),
    [
        ("cpp/src/core/a.cpp", '#include "evenhand/share/fair_share.h"', 1),
        ("cpp/include/evenhand/model/a.h", '//\n  #  include "evenhand/share/fair_share.h"\n', 1),
        ("cpp/src/share/a.cpp", '#include "evenhand/model/tables.h"\n#include <vector>\n', 0),
        ("cpp/bindings/a.cpp", '#include "evenhand/share/fair_share.h"', 0),
    ],
)
def test_an_upward_include_is_seen(path: str, text: str, upward: int) -> None:
    assert sum(u.points_up for u in layers.cpp_uses(Path(path), text)) == upward


@pytest.mark.parametrize(
    ("path", "text", "upward"),
    [
        ("model.py", "from evenhand.shares import fair_share", 1),
        ("model.py", "import evenhand.plot", 1),
        ("model.py", "from evenhand import shares", 1),
        ("building/cells.py", "def f():\n    from evenhand.shares import fair_share", 1),
        ("model.py", "def f():\n    from evenhand.display import tree", 0),
        ("model.py", "from evenhand.display import tree", 1),
        ("model.py", "def f():\n    from evenhand.cli import main", 1),
        ("model.py", "if TYPE_CHECKING:\n    from evenhand.shares import Shares", 0),
        ("shares.py", "from evenhand.model import Snapshot\nimport json", 0),
        ("act/driver.py", "from evenhand import __version__, fair_share", 2),
        ("cli/plans.py", "from evenhand import __version__, fair_share", 0),
        ("plans/plan.py", "from evenhand.explain import Explanation", 1),
        ("plans/plan.py", "def f():\n    from evenhand.explain.dispatch import why", 0),
        ("plans/plan.py", "from evenhand.systems.base import Policy", 1),
        ("state.py", "from evenhand.systems import SYSTEMS", 0),
        ("state.py", "from evenhand.systems.slurm import policy", 1),
        ("systems/slurm/record.py", "from evenhand.systems.slurm.settings import SlurmSettings", 1),
        ("systems/slurm/policy.py", "from evenhand.systems.slurm.adapter.live import Slurm", 1),
        ("systems/slurm/adapter/live.py", "from evenhand.systems.slurm.policy import Slurm", 0),
        ("adapters/protocol.py", "from evenhand.adapters.slurm import Slurm", 1),
    ],
)
def test_an_upward_import_is_seen(path: str, text: str, upward: int) -> None:
    assert sum(u.points_up for u in layers.python_uses(Path(path), text)) == upward


def test_an_unknown_module_must_be_placed() -> None:
    with pytest.raises(LookupError, match="where is its place"):
        list(layers.python_uses(Path("mystery.py"), "import json"))


def test_nothing_looks_for_what_a_policy_may_have() -> None:
    """Every hook has a default in `evenhand.systems.base.Policy`; settings are asked by `Policy.setting`."""
    asks = re.compile(r"\b(?:get|has)attr\(\s*(?:type\()?(?:[\w.]*\.)?_?policy\b")
    assert asks.search('getattr(self._policy, "told", None)')
    assert asks.search("hasattr(type(plan.policy), x)")
    assert not asks.search("getattr(policies, name)")
    found = [p.relative_to(PACKAGE).as_posix() for p in PYTHON if asks.search(p.read_text())]
    assert not found


def test_what_tells_reasons_imports_no_snapshot() -> None:
    """It says what was recorded, and cells of rows that facts are; it reads no table whole."""
    tellers = [p for p in PYTHON if p.parent.name == "explain" or p.name in ("says.py", "says_of_limits.py")]
    assert len(tellers) > len({p.parent for p in tellers}) > 5
    imports = re.compile(r"^\s*(?:from|import) evenhand(?:\.model\b| import .*Snapshot)", re.MULTILINE)
    assert imports.search("if TYPE_CHECKING:\n    from evenhand.model import Snapshot\n")
    found = [p.relative_to(PACKAGE).as_posix() for p in tellers if imports.search(p.read_text())]
    assert not found


def test_no_shared_room_names_a_system() -> None:
    named = [where for p in PYTHON for where in layers.systems_named(p.relative_to(PACKAGE), p.read_text())]
    assert not named, "\n".join(named)


def test_each_exception_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = dict(layers.NAMES_A_SYSTEM)
    monkeypatch.setattr(layers, "NAMES_A_SYSTEM", {})
    paths = [p.relative_to(PACKAGE) for p in PYTHON]
    naming = [p.as_posix() for p in paths if layers.systems_named(p, (PACKAGE / p).read_text())]
    assert [known for known in allowed if not any(name.startswith(known) for name in naming)] == []


@pytest.mark.parametrize(
    ("path", "text", "named"),
    [
        ("plans/plan.py", "_core.ytsaurus_apart(planner)", 1),
        ("plans/plan.py", "def f():\n    return word == 'slurm'", 1),
        ("plans/plan.py", "from evenhand.systems.gridengine.settings import Queue", 1),
        ("plans/plan.py", "class SlurmPlan:\n    pass", 1),
        ("plans/plan.py", '"""As Slurm does."""\n\ndef f():\n    """As YuniKorn."""  # or Backend.AI', 0),
        ("systems/slurm/policy.py", "word = 'slurm'", 0),
        ("systems/base.py", "word = 'slurm'", 1),
    ],
)
def test_a_system_that_is_named_is_seen(path: str, text: str, named: int) -> None:
    assert len(layers.systems_named(Path(path), text)) == named
