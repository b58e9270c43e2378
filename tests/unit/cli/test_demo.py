"""The bundled cluster."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.display.text import width
from evenhand.reasons import OUTCOMES, REASONS
from tests.unit.cli.cases import process, rows_of

WIDE = {"COLUMNS": "160"}


def printed(*arguments: str, columns: str = WIDE["COLUMNS"]) -> str:
    """What the demo prints on a screen of so many columns."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", columns)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        assert main(["demo", *arguments]) == 0
        out.flush()
    assert err.getvalue() == ""
    data: bytes = out.buffer.getvalue()  # type: ignore[attr-defined]
    return data.decode()


@pytest.fixture(scope="module")
def demo() -> dict[str, str]:
    """What the demo prints, by arguments; each run once."""
    calls = ("", "--all", "--depth 1", "--top 5", "--resource gpu --depth 0", "--operations --top 3")
    return {call: printed(*call.split()) for call in calls}


def test_demo_says_what_it_shows(demo: dict[str, str]) -> None:
    text = demo[""]
    assert text.startswith(
        "Synthetic cluster: 1,500 nodes, 300 pools, 4,000 operations, 40,000 allocations\n"
    )
    assert re.search(r"^pool +resource +fair share +usage +guarantee ", text, re.MULTILINE)
    assert re.search(r"^[\d,]+ of 4,000 operations below their fair share", text, re.MULTILINE)
    assert re.search(r"^pool +mode +resource .* satisfied +pending$", demo["--all"], re.MULTILINE)
    assert "fifo" in demo["--all"]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert not any(line != line.rstrip() for line in text.split("\n"))


def test_demo_goes_on_to_a_plan(demo: dict[str, str]) -> None:
    text = demo[""].partition("\n\nThe plan, as if nothing had changed for ten minutes\n")[2]
    snapshot = eh.synthetic.demo()
    policy = eh.policies.YTsaurus()
    earlier = eh.plan(snapshot.replace(now=snapshot.now - 600, previous_update=None), policy)
    plan = eh.plan(snapshot, policy, earlier.state)
    victims, starts = len(plan.decisions.victims), len(plan.decisions.starts)
    assert victims > 100
    found = re.search(
        r"^([\d,]+) preempted, ([\d,]+) started in free room, ([\d,]+) started after", text, re.MULTILINE
    )
    assert found
    preempted, free, after = (int(number.replace(",", "")) for number in found.groups())
    assert (preempted, free + after) == (victims, starts)
    assert f"and {victims + starts - 5:,} more decisions" in text
    first = plan.decisions.victims[0].allocation
    told = text.split(f"Why does {first} leave?\n")[1].split("\n\n")
    assert told[0].startswith(f"Allocation {first} of operation ")
    assert " ".join(told[0].split("\n")) == " ".join(plan.why(str(first)).sentences)
    beside = re.match(r"Why does (\S+) stay\?\n", told[1])
    assert beside
    assert " ".join(told[1].split("\n")[1:]) == " ".join(plan.why(beside[1]).sentences[:2])


@pytest.mark.parametrize("columns", [80, 120])
def test_demo_fits_a_screen(columns: int) -> None:
    """No name is cut, no column says the same in each row, and a victim's reason stands above the fold."""
    text = printed(columns=str(columns))
    lines = text.rstrip("\n").split("\n")
    assert len(lines) <= 60
    assert max(map(width, lines)) <= columns
    why = next(i for i, line in enumerate(lines) if re.fullmatch(r"Why does \S+ leave\?", line))
    assert lines.index("", why) < 30
    assert "…" not in text
    codes = {code for code in (*REASONS, *OUTCOMES) if "_" in code}
    assert not codes & {*re.findall(r"\w+", text)}
    head = next(line for line in lines if line.startswith("pool  "))
    assert "mode" not in head
    assert "satisfied" not in head
    top = next(i for i, line in enumerate(lines) if line.startswith("do  "))
    starts = [found.start() for found in re.finditer(r"(?:^|(?<=  ))\S", lines[top])]
    for begin, end in zip(starts, [*starts[1:], None], strict=True):
        assert len({line[begin:end].strip() for line in lines[top + 1 : -1]}) > 1, lines[top][begin:end]


def test_demo_is_stable(demo: dict[str, str]) -> None:
    """In a process of its own, and again in this one."""
    finished = process("demo", env=os.environ | WIDE)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout == demo[""] == printed()


def test_demo_limits(demo: dict[str, str]) -> None:
    def depths(call: str) -> list[int]:
        return [re.search(r"[^│├└ ]", row).start() // 2 for row in rows_of(demo[call])]  # type: ignore[union-attr]

    def shown(call: str) -> list[str]:
        return [row for row in rows_of(demo[call]) if "…" not in row.partition("  ")[0]]

    assert max(depths("")) == 1
    assert len(shown("")) == 13
    assert max(depths("--all")) == 5
    assert len(rows_of(demo["--all"])) == 301
    assert max(depths("--depth 1")) == 1
    assert len(shown("--top 5")) == 5
    assert len(rows_of(demo["--resource gpu --depth 0"])) == 1
    assert "% of gpu" in demo["--resource gpu --depth 0"]


def test_what_the_table_leaves_out_is_counted(demo: dict[str, str]) -> None:
    for call in ("", "--depth 1", "--top 5", "--resource gpu --depth 0"):
        left = shown = 0
        for row in rows_of(demo[call]):
            name = re.match(r"[│├└ ]*(.*?)(?:  |$)", row)
            assert name
            rest = re.fullmatch(r"… ([\d,]+) more pools?", name[1])
            more = re.search(r" \+([\d,]+)$", name[1])
            shown += not rest
            left += int((rest or more)[1].replace(",", "")) if rest or more else 0  # type: ignore[index]
        assert shown + left == 301, call


def test_demo_numbers_are_those_of_the_library(demo: dict[str, str]) -> None:
    shares = eh.fair_share(eh.synthetic.demo())
    roots = re.findall(r"^(\w+) +\S+(?: [A-Z])? +([\d.]+)% +([\d.]+)% +([\d.]+)%$", demo[""], re.MULTILINE)
    assert [root[0] for root in roots] == list(shares.resources)
    for r, root in enumerate(roots):
        quantities = ("usage_share", "fair_share", "demand_share")
        assert [float(x) for x in root[1:]] == [round(100 * float(shares[q][0, r]), 1) for q in quantities]
    first = shares.snapshot.pool_count
    assert first == 301


def test_demo_as_data(run: Any) -> None:
    status, out, _ = run("demo", "--format", "json")
    assert status == 0
    data = json.loads(out)
    assert len(data["elements"]) == 4301
    assert len(data["plan"]["statuses"]) == 4301
    assert data["plan"]["decisions"]
    status, out, _ = run("demo", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 4301
    assert rows[0]["name"] == "<Root>"
    shares = eh.fair_share(eh.synthetic.demo())
    column = [float(row["fair_share.gpu"]) for row in rows]
    assert column == shares["fair_share"][:, shares.resources.index("gpu")].tolist()


def test_demo_snapshot_is_a_file_for_the_other_commands(
    demo: dict[str, str], tmp_path: Path, run: Any
) -> None:
    path = tmp_path / "demo.json"
    path.write_text(printed("--snapshot"), encoding="utf-8")
    status, out, _ = run("shares", path, "--depth", 1, "--no-operations")
    assert status == 0
    assert out.split("\n")[2:6] == demo[""].split("\n")[1:5], "the totals"
    assert run("validate", path)[:2] == (
        0,
        f"{path}: valid; 1,500 nodes, 300 pools, 4,000 operations, 40,000 allocations\n",
    )
