"""Fair shares of a file, with settings and a state."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from tests.unit.cli.cases import CLUSTER, rows_of


def test_shares_table(cluster: Path, run: Any) -> None:
    status, out, err = run("shares", cluster)
    assert (status, err) == (0, "")
    assert out.startswith(f"{cluster}: 1 node, 4 pools, 3 operations, 0 allocations\n")
    assert [row.split()[0] for row in rows_of(out)] == ["<Root>", "├", "│", "├", "│", "└"] or len(
        rows_of(out)
    ) == 8
    for name in ("lab", "/nlp", "train", "web", "serve", "flow", "nightly"):
        assert any(re.match(rf"[│├└ ]*{name} ", row) for row in rows_of(out)), name


def test_shares_without_operations(cluster: Path, run: Any) -> None:
    _, out, _ = run("shares", cluster, "--no-operations", "--resource", "gpu")
    assert len(rows_of(out)) == 5
    assert "train" not in "\n".join(rows_of(out))


def test_shares_json_is_the_result_as_a_dict(cluster: Path, run: Any) -> None:
    status, out, _ = run("shares", cluster, "--format", "json")
    expected = eh.fair_share(eh.Snapshot.from_dict(CLUSTER)).to_dict()
    assert status == 0
    assert json.loads(out) == json.loads(json.dumps(expected))


def test_shares_csv_reads_back_exactly(cluster: Path, run: Any) -> None:
    _, out, _ = run("shares", cluster, "--format", "csv")
    table = eh.fair_share(eh.Snapshot.from_dict(CLUSTER)).table()
    rows = list(csv.reader(io.StringIO(out)))
    assert tuple(rows[0]) == table.columns
    for name, *values in zip(rows[0], *rows[1:], strict=True):
        column = table[name]
        if isinstance(column, np.ndarray) and column.dtype == np.float64:
            assert [float(v) for v in values] == column.tolist()


def test_standard_input(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\xef\xbb\xbf" + json.dumps(CLUSTER).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    status, out, _ = run("shares", "-")
    assert status == 0
    assert out.startswith("standard input: 1 node")


def test_config(cluster: Path, tmp_path: Path, run: Any) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('main_resource = "gpu"\n')
    status, out, _ = run("shares", cluster, "--config", config, "--format", "json")
    assert status == 0
    settings = eh.FairShareSettings(main_resource="gpu")
    expected = eh.fair_share(eh.Snapshot.from_dict(CLUSTER), settings).to_dict()
    assert json.loads(out) == json.loads(json.dumps(expected))


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            'improved = 7\nnothing = 1\nmain_resource = ""',
            [
                r"improved is 7; it must be true",
                r"nothing is unknown",
                r"main_resource is empty; it must be at least 1",
            ],
        ),
        ("improved = ", [r"is not TOML: "]),
        ("\x00", [r"is not TOML: "]),
        ('main_resource = "tpu"', [r"main_resource.*tpu"]),
    ],
)
def test_wrong_config(cluster: Path, tmp_path: Path, run: Any, text: str, problems: list[str]) -> None:
    config = tmp_path / "settings.toml"
    config.write_text(text)
    status, out, err = run("shares", cluster, "--config", config)
    assert (status, out) == (1, "")
    assert len(err.splitlines()) == len(problems)
    for problem in problems:
        assert re.search(f"^evenhand: {re.escape(str(config))}: .*{problem}", err, re.MULTILINE), problem


def test_state_goes_on_from_the_last_run(tmp_path: Path, run: Any) -> None:
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    first.write_text(json.dumps(CLUSTER | {"previous_update": None}))
    second.write_text(json.dumps(CLUSTER | {"previous_update": None, "now": 3600.0}))
    state = tmp_path / "state.json"
    assert run("shares", first, "--state", state)[0] == 0
    left = json.loads(state.read_text())
    assert run("shares", second, "--state", state, "--format", "json")[0] == 0
    gained = json.loads(state.read_text())

    def volume(data: Any) -> float:
        return float(data["pools"][0]["accumulated_volume"]["cpu"])

    assert left["time"] == 600.0
    assert gained["time"] == 3600.0
    assert volume(gained) > volume(left)
    remembered = eh.State.from_dict(left)
    expected = eh.fair_share(eh.Snapshot.from_json(second.read_text()), state=remembered).state
    assert eh.State.load(state) == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.json", "2.json", "state.json"], (
        "nothing left over"
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "evenhand/state/9"}', "", "\x00"])
def test_a_broken_state_is_left_alone(cluster: Path, tmp_path: Path, run: Any, text: str) -> None:
    state = tmp_path / "state.json"
    state.write_text(text)
    status, out, err = run("shares", cluster, "--state", state)
    assert (status, out) == (1, "")
    assert err.startswith(f"evenhand: {state}: ")
    assert state.read_text() == text


def test_a_state_from_the_future(cluster: Path, tmp_path: Path, run: Any) -> None:
    state = tmp_path / "state.json"
    assert run("shares", cluster, "--state", state)[0] == 0
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(CLUSTER | {"now": 10.0, "previous_update": None}))
    status, _, err = run("shares", earlier, "--state", state)
    assert status == 1
    assert "before the state" in err


def test_a_state_that_cannot_be_written(cluster: Path, tmp_path: Path, run: Any) -> None:
    status, out, err = run("shares", cluster, "--state", tmp_path / "no folder" / "state.json")
    assert (status, out) == (1, "")
    assert err.endswith("cannot be written: No such file or directory\n")
    assert run("shares", cluster, "--state", tmp_path)[0] == 1
