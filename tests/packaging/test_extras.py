"""Without an extra, everything else works, and what needs it says how to install it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PREPARE = """
import sys
sys.modules.update(dict.fromkeys({blocked!r}))  # None: importing it fails
import evenhand as eh
operation = {{"name": "etl", "demand": {{"cpu": 2}}}}
snapshot = eh.Snapshot.from_dict(
    {{"resources": {{"cpu": {{}}}}, "total": {{"cpu": 8}}, "operations": [operation]}}
)
shares = eh.fair_share(snapshot)
"""
ZSTD = """
import pathlib, tempfile
path = pathlib.Path(tempfile.mkdtemp()) / "log.swf.zst"
path.write_bytes(bytes.fromhex("28b52ffd0000"))
eh.traces.swf(path)
"""
ALL = ("pandas", "polars", "pyarrow", "matplotlib", "zstandard", "yaml", "hypothesis", "pytest", "IPython")


def run(code: str, blocked: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    source = PREPARE.format(blocked=blocked) + code
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)


def test_base_install_is_enough() -> None:
    code = "print(shares, shares['fair_share'], shares.to_dict(), shares._repr_html_(), snapshot.to_json())"
    done = run(code, ALL)
    assert done.returncode == 0, done.stderr
    assert "etl" in done.stdout


@pytest.mark.parametrize(
    ("code", "module", "extra"),
    [
        ("shares.to_pandas()", "pandas", "pandas"),
        ("shares.to_polars()", "polars", "polars"),
        ("shares.to_arrow()", "pyarrow", "arrow"),
        ("from evenhand import plot; plot.pool_tree(shares)", "matplotlib", "plot"),
        ("import evenhand.testing.strategies", "hypothesis", "test"),
        (ZSTD, "zstandard", "zstd"),
        ("from evenhand.adapters import yunikorn; yunikorn.read('')", "yaml", "yunikorn"),
    ],
)
def test_missing_extra_names_the_command(code: str, module: str, extra: str) -> None:
    done = run(code, (module,))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "MissingExtraError" in last
    assert f'pip install "evenhand[{extra}]"' in last
