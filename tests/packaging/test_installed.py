"""What a user of the installed package relies on."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import evenhand as eh

HEAVY = {"pydantic", "narwhals", "pandas", "polars", "pyarrow", "matplotlib", "hypothesis", "argparse"}


@pytest.fixture
def distribution() -> importlib.metadata.Distribution:
    """The installed distribution; tests of it are skipped when run on the bare source tree."""
    try:
        return importlib.metadata.distribution("evenhand")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("run on the source tree, not on an installed package")


def run(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, env=os.environ | variables, check=False
    )


def test_import_leaves_heavy_modules_alone() -> None:
    """Beyond NumPy, which the extension needs, nothing slow is imported before it is used."""
    code = "import sys, numpy; before = set(sys.modules); import evenhand; print(*set(sys.modules) - before)"
    done = run(sys.executable, "-W", "error", "-c", code)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.split())
    assert "evenhand._core" in imported
    assert not HEAVY & imported


def test_every_public_name_resolves() -> None:
    assert eh.__all__ == sorted(set(eh.__all__))
    assert set(eh.__all__) <= set(dir(eh))
    for name in eh.__all__:
        assert getattr(eh, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = eh.no_such_name


def test_every_module_is_imported_in_the_order_of_names() -> None:
    """As tools that walk a package do; hypothesis then calls its entry point amid an import of ours."""
    code = (
        "import importlib, pkgutil, evenhand\n"
        "for module in pkgutil.walk_packages(evenhand.__path__, 'evenhand.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)"
    )
    done = run(sys.executable, "-W", "error", "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_import_says_what_to_do_without_the_extension() -> None:
    code = "import sys; sys.modules['evenhand._core'] = None; import evenhand"
    done = run(sys.executable, "-c", code)
    assert done.returncode != 0
    assert "pip install" in done.stderr


def test_versions_agree(distribution: importlib.metadata.Distribution) -> None:
    assert distribution.version == eh.__version__


def test_package_is_typed() -> None:
    folder = Path(eh.__file__).parent
    assert (folder / "py.typed").exists()
    assert (folder / "_core.pyi").exists()


def test_licences_are_installed(distribution: importlib.metadata.Distribution) -> None:
    names = {f.name for f in distribution.files or [] if "licenses" in f.parts}
    assert {"LICENSE", "eigen.txt", "pybind11.txt"} <= names


def test_console_script_is_installed(distribution: importlib.metadata.Distribution) -> None:
    assert "evenhand" in {e.name for e in distribution.entry_points.select(group="console_scripts")}
    check_command_line(Path(sysconfig.get_path("scripts")) / "evenhand")


def test_every_entry_point_loads(distribution: importlib.metadata.Distribution) -> None:
    groups = {e.group for e in distribution.entry_points if callable(e.load())}
    assert groups == {"console_scripts", "evenhand.adapters", "hypothesis"}


def test_package_runs_as_a_module() -> None:
    check_command_line(sys.executable, "-m", "evenhand")


def check_command_line(*prefix: str | Path) -> None:
    done = run(*prefix, "--help")
    assert done.returncode == 0, done.stderr
    assert "shares" in done.stdout
    assert run(*prefix, "no-such-command").returncode == 2
