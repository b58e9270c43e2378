"""Files stay small, and what must not be in the repository is not."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.packaging.layers import ROOT

SOURCES = {".py", ".h", ".cpp", ".txt", ".sh", ".md"}
MAX_LINES = 500
MAX_CMAKE_LINES = 120
MAX_MODULE_LINES = 40


def tracked() -> list[Path]:
    """Files under version control, or everything outside build folders where there is none."""
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        names = [n for n in listing.stdout.decode().split("\0") if n]
    except (OSError, subprocess.CalledProcessError):
        names = [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if p.is_file()]
        names = [n for n in names if not _made(Path(n))]
    return [Path(n) for n in names if (ROOT / n).is_file()]


def _made(path: Path) -> bool:
    """Whether a build, the documentation or a tool wrote it."""
    folders = path.parts[:-1]
    hidden = any(folder.startswith(".") for folder in folders) and folders[0] != ".ci"
    return hidden or bool({"build", "_build", "__pycache__", "generated", "jupyter_execute"} & set(folders))


def lines(path: Path) -> int:
    return (ROOT / path).read_bytes().count(b"\n")


def test_sources_stay_small() -> None:
    checked = {p: lines(p) for p in tracked() if p.suffix in SOURCES and p.parts[0] != "licenses"}
    assert len(checked) > 20
    large = {str(p): n for p, n in checked.items() if n > MAX_LINES}
    assert not large, f"more than {MAX_LINES} lines: {large}"


@pytest.mark.parametrize(
    ("name", "limit"),
    [("CMakeLists.txt", MAX_CMAKE_LINES), ("cpp/bindings/module.cpp", MAX_MODULE_LINES)],
)
def test_entry_points_stay_short(name: str, limit: int) -> None:
    assert lines(Path(name)) <= limit


def test_notebooks_store_no_output() -> None:
    for path in tracked():
        if path.suffix != ".ipynb":
            continue
        notebook = json.loads((ROOT / path).read_text())
        code = [c for c in notebook["cells"] if c["cell_type"] == "code"]
        assert not any(c["outputs"] or c["execution_count"] for c in code), path
        assert len(notebook["cells"]) <= 15, path


def test_no_large_files() -> None:
    large = {str(p): (ROOT / p).stat().st_size for p in tracked() if (ROOT / p).stat().st_size > 2_000_000}
    assert not large


def test_a_plain_run_leaves_out_nothing_but_live_systems() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = set(settings["tool"]["pytest"]["ini_options"]["testpaths"])
    there = {p.parts[1] for p in tracked() if p.parts[0] == "tests" and p.name.startswith("test_")}
    assert named == {f"tests/{folder}" for folder in there - {"live"}}
