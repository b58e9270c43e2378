"""The bundled cluster."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.display.text import width
from tests.unit.cli.cases import process, rows_of


@pytest.fixture(scope="module")
def demo() -> dict[str, str]:
    """What the demo prints, by arguments; each run once."""
    calls = ("", "--all", "--depth 1", "--top 5", "--resource gpu --depth 0", "--operations --top 3")
    results = {}
    for call in calls:
        finished = process("demo", *call.split())
        assert (finished.returncode, finished.stderr) == (0, "")
        results[call] = finished.stdout
    return results


def test_demo_says_what_it_shows(demo: dict[str, str]) -> None:
    text = demo[""]
    assert text.startswith(
        "Synthetic cluster: 1,500 nodes, 300 pools, 4,000 operations, 40,000 allocations\n"
    )
    assert re.search(r"^pool +mode +resource +fair share +usage +guarantee ", text, re.MULTILINE)
    assert re.search(r"^[\d,]+ of 4,000 operations below their fair share", text, re.MULTILINE)
    assert "fifo" in text
    assert max(map(width, text.split("\n"))) <= 110
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert not any(line != line.rstrip() for line in text.split("\n"))


def test_demo_goes_on_to_a_plan(demo: dict[str, str]) -> None:
    shares, _, text = demo[""].partition(
        "\n\nPlan for the same cluster, had nothing changed for ten minutes\n"
    )
    assert "lack the largest part" in shares
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
    assert f"and {victims + starts - 12:,} more decisions" in text
    first = plan.decisions.victims[0].allocation
    told = text.split("Why does it leave?\n")[1].split("\n\nWhy not the one beside it?\n")
    assert told[0].startswith(f"Allocation {first} of operation ")
    assert " ".join(told[0].split("\n")) == " ".join(plan.why(str(first)).sentences)
    assert "was not preempted." in told[1]


def test_demo_is_stable(demo: dict[str, str]) -> None:
    assert process("demo").stdout == demo[""]


def test_demo_limits(demo: dict[str, str]) -> None:
    def depths(call: str) -> list[int]:
        return [re.search(r"[^│├└ ]", row).start() // 2 for row in rows_of(demo[call])]  # type: ignore[union-attr]

    def shown(call: str) -> list[str]:
        return [row for row in rows_of(demo[call]) if "…" not in row.partition("  ")[0]]

    assert max(depths("")) == 2
    assert len(shown("")) <= 40
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
    below = int((shares["satisfaction"][first:] < 1 - 1e-6).sum())
    assert f"{below:,} of 4,000 operations below their fair share" in demo[""]
    assert below > 0


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
    path.write_text(process("demo", "--snapshot").stdout, encoding="utf-8")
    status, out, _ = run("shares", path, "--depth", 2, "--no-operations")
    assert status == 0
    shares = out.rstrip("\n").split("\n")
    assert shares[1:] == demo[""].split("\n")[1 : len(shares)]
    assert run("validate", path)[:2] == (
        0,
        f"{path}: valid; 1,500 nodes, 300 pools, 4,000 operations, 40,000 allocations\n",
    )
