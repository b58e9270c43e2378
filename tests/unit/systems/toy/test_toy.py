"""A system that was added by its folder alone is in every list, and answers wherever systems do."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import evenhand as eh
from evenhand import reasons
from evenhand.cli import main
from evenhand.cli.arguments import parser
from evenhand.config.triggers import SchedulingRun
from evenhand.systems import SYSTEMS
from evenhand.systems.files import from_dict
from evenhand.systems.reason import Reason
from evenhand.systems.record import System
from evenhand.systems.registry import register
from tests.packaging.layers import ROOT
from tests.unit.systems.toy.policy import Toy
from tests.unit.systems.toy.record import TOY

GROWING = (reasons.TABLE, reasons.REASONS, reasons.STAGES, reasons.OUTCOMES, reasons.CHECKS)

#: One node for two; the newer of the two that run leaves for the one that waits.
CLUSTER: dict[str, Any] = {
    "now": 100,
    "resources": {"cpu": {}},
    "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
    "operations": [{"name": "old", "priority": 1}, {"name": "new", "priority": 5}],
    "allocations": [
        {"name": name, "operation": "old", "node": "n", "resources": {"cpu": 2}, "start_time": start}
        for name, start in (("first", 10), ("second", 20))
    ],
    "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 2}}],
}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = [list(words) for words in GROWING]
    rows = dict(reasons._ROWS)
    register(TOY)
    yield
    del SYSTEMS["toy"]
    for words, kept in zip(GROWING, before, strict=True):
        words[:] = kept  # type: ignore[index]
    reasons._ROWS.clear()
    reasons._ROWS.update(rows)


def snapshot(**changes: Any) -> eh.Snapshot:
    return eh.Snapshot.from_dict({**deepcopy(CLUSTER), **changes})


def done(plan: eh.Plan) -> list[tuple[Any, ...]]:
    return [(d.action, d.allocation or d.request, d.reason) for d in plan.decisions]


def test_it_plans() -> None:
    plan = eh.plan(snapshot(), Toy())
    assert done(plan) == [("preempt", "second", "newest_leaves")]
    assert [(r.request, r.rule) for r in plan.refusals] == [("r", "waits_for_victims")]
    assert plan.counts == {"scheduling_run.no_free_room": 1, "scheduling_run.taken": 1}
    assert done(eh.plan(snapshot(allocations=[]), Toy())) == [("start", "r", "fits_free_room")]
    assert plan.check(snapshot())
    assert not plan.statuses
    with pytest.raises(AttributeError, match="no fair shares"):
        _ = plan.shares


@pytest.mark.parametrize(("after", "clears"), [(59.999999, False), (60, True), (60.000001, True)])
def test_its_memory_is_kept_in_states_and_files(after: float, clears: bool, tmp_path: Path) -> None:
    state = eh.plan(snapshot(), Toy()).state
    assert state.to_dict()["nodes"] == [{"name": "n", "last_cleared": 100}]
    state.save(tmp_path / "state.json")
    state = eh.State.load(tmp_path / "state.json")
    plan = eh.plan(snapshot(now=100 + after), Toy(), state)
    assert [d.reason for d in plan.decisions] == ["newest_leaves"] * clears
    assert [r.rule for r in plan.refusals] == ["waits_for_victims" if clears else "node_rests"]


def test_states_of_others_have_what_they_had() -> None:
    node = {"name": "n", "last_preemptive": 5.0}
    read = eh.State.from_dict({"schema": "evenhand/state/1", "time": 9, "nodes": [node]})
    assert read.nodes["n"] == {"last_preemptive": 5.0, "overcommitted_since": None}


def test_a_cluster_lives_by_it(tmp_path: Path) -> None:
    cluster = eh.Cluster(snapshot(), Toy())
    cluster.carry_out(cluster.plan())
    assert done(cluster.plan()) == []
    cluster.apply([{"event": "end", "allocation": "second"}, {"event": "time", "now": 130}])
    cluster.save(tmp_path / "cluster.json")
    cluster = eh.Cluster.load(tmp_path / "cluster.json")
    assert done(cluster.plan()) == [("start", "r", "fits_free_room")]


def test_it_says_why() -> None:
    plan = eh.plan(snapshot(), Toy())
    taken = plan.why("second").text
    assert "second of operation old leaves node n: 2 cpu" in taken
    assert "Operation old has priority 1." in taken
    assert "nothing looked" not in plan.why("first").text
    rests = eh.plan(snapshot(now=130), Toy(), plan.state)
    assert "node n was cleared too recently" in rests.why("r").text
    assert rests.why_not("r").code == "node_rests"


def test_the_command_line_knows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(CLUSTER))
    args = [str(path), "--policy", "toy", "--state", str(tmp_path / "state.json")]
    assert main(["plan", *args, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [decision["reason"] for decision in said["decisions"]] == ["newest_leaves"]
    assert main(["explain", str(path), "second", "--policy", "toy"]) == 0
    assert "leaves node n" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        parser().parse_args(["plan", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "ytsaurus (the default), backendai, slurm, yunikorn, gridengine or toy" in said
    assert "run (a scheduling run) with backendai and toy" in said, said
    with pytest.raises(
        eh.InputError, match="there are ytsaurus, backendai, slurm, yunikorn, gridengine, toy"
    ):
        from_dict({"system": "lsf"})


def test_it_is_described_by_its_name() -> None:
    policy = Toy(rest="2m")
    assert from_dict(policy.to_dict()) == policy == from_dict({"system": "toy", "rest": 120})
    assert policy.system == "toy"


@pytest.fixture
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_a_column_for_it(pages: ModuleType) -> None:
    reading = pages.reading_page()
    assert "| field | YTsaurus | Backend.AI | Slurm | YuniKorn | Grid Engine | Toy |" in reading
    [row] = [line for line in reading.splitlines() if "which jobs may preempt which \\* |" in line]
    assert row.startswith("| `priority` |")
    assert "`newest_leaves` (Toy)" in pages.reasons_page()
    assert "## ToySettings" in pages.settings_page()


OTHERS: dict[tuple[str, str], Any] = {
    ("nodes", "capacity"): {"cpu": 6},
    ("operations", "priority"): 9,
    ("allocations", "operation"): "new",
    ("allocations", "node"): None,
    ("allocations", "resources"): {"cpu": 1},
    ("allocations", "start_time"): 30,
    ("allocations", "state"): "preempting",
    ("requests", "operation"): "old",
    ("requests", "resources"): {"cpu": 1},
}


@pytest.mark.parametrize(("table", "field"), OTHERS, ids=".".join)
def test_what_it_reads_matters(table: str, field: str) -> None:
    """The one that leaves is changed, or else the first row of the table."""
    rows = deepcopy(CLUSTER[table])
    rows[-1 if table == "allocations" else 0][field] = OTHERS[table, field]
    if (table, field) == ("allocations", "start_time"):
        rows[-1][field] = 5
    before, after = (eh.plan(made, Toy()) for made in (snapshot(), snapshot(**{table: rows})))
    assert before.decisions.to_list() != after.decisions.to_list()
    assert not [d for d in before.diagnostics if d.code == "fields_not_read"]


def test_each_field_that_it_reads_is_tried() -> None:
    assert {(table, field) for table, fields in TOY.reads.items() for field in fields} == set(OTHERS)


def test_what_settings_leave_aside_is_said() -> None:
    [said] = eh.plan(snapshot(), Toy(preempts=False)).diagnostics
    assert (said.code, said.numbers) == ("fields_not_read", {"operations": ["priority"]})


def test_a_word_and_a_code_are_one_systems() -> None:
    with pytest.raises(ValueError, match="there is a system 'toy' already"):
        register(TOY)
    twice = System(
        "toy2", "Toy 2", "", (SchedulingRun,), {}, reasons=(Reason("backoff", "request", "x", "X."),)
    )
    count = len(reasons.TABLE)
    with pytest.raises(ValueError, match="there are codes backoff already"):
        register(twice)
    assert "toy2" not in SYSTEMS
    assert len(reasons.TABLE) == count


def test_numbers_of_codes_stay() -> None:
    assert reasons.REASONS[-1] == "newest_leaves"
    assert reasons.REASONS.index("preemption") == 0
    assert reasons.OUTCOMES[-1] == "node_rests"
