"""Watching, its figures, and the two commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.act import watch
from evenhand.act.metrics import metrics_text, write_metrics
from evenhand.act.watching import Cycle
from evenhand.cli import main
from evenhand.cli.arguments import parser
from tests.unit.act.faults import Fault
from tests.unit.act.world import World
from tests.waiting import HANG, until

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)?\}})? (\S+)")


def exposition(text: str) -> dict[str, str]:
    """Read Prometheus' text format as its description has it; return the kind of every family."""
    families: dict[str, str] = {}
    seen: set[tuple[str, str | None]] = set()
    assert text.endswith("\n")
    lines = iter(text[:-1].split("\n"))
    for line in lines:
        if line.startswith("# HELP "):
            _, _, name, doc = line.split(" ", 3)
            assert re.fullmatch(_NAME, name)
            assert doc
            assert name not in families, "a family stands in one place"
            hash_, word, of, kind = next(lines).split(" ")
            assert (hash_, word, of) == ("#", "TYPE", name)
            assert kind in ("counter", "gauge", "histogram", "summary", "untyped")
            families[name] = kind
            continue
        match = _SAMPLE.fullmatch(line)
        assert match, line
        assert match[1] == list(families)[-1], "samples follow their family"
        assert (match[1], match[2]) not in seen
        seen.add((match[1], match[2]))
        assert float(match[3]) >= 0
    return families


def test_the_grammar_refuses_what_is_wrong() -> None:
    good = "# HELP a_total Words.\n# TYPE a_total counter\na_total 1\n"
    assert exposition(good) == {"a_total": "counter"}
    for bad in (
        good[:-1],
        good + "b 1\n",
        good + "a_total 2\n",
        good.replace(" 1\n", '{x="1} 1\n'),
        good * 2,
    ):
        with pytest.raises(AssertionError):
            exposition(bad)


def test_a_cluster_that_does_not_answer_ends_a_round_only(tmp_path: Path) -> None:
    world = World(tmp_path, faults={n: Fault("fail") for n in range(6)})  # a listing and its jobs
    cycles: list[Cycle] = []

    def each(cycle: Cycle) -> None:
        cycles.append(cycle)
        if not cycle.error:
            driver.stop.set()

    with world.driver() as driver:
        watch(driver, world.policy, interval=1e-3, each=each)
        text = metrics_text(driver.book, cycles[-1], world.clock())
    assert [bool(cycle.error) for cycle in cycles] == [True, True, True, False]
    assert cycles[-1].report.counts == {"started": 2}
    assert 'evenhand_steps_total{outcome="started"} 2\n' in text
    assert "evenhand_round_failed 0\n" in text
    assert f"evenhand_round_timestamp_seconds {world.clock()!r}\n" in text
    families = exposition(text)
    assert len(families) == 11
    assert set(families.values()) <= {"counter", "gauge"}
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in families.items())
    write_metrics(tmp_path / "metrics", text)
    assert (tmp_path / "metrics").read_text() == text
    world.check()


def test_unreadable_state_stops_before_anything(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("{", '{"schema": "evenhand/state/2"}'):
        (tmp_path / "state").write_text(text)
        status = main(
            ["watch", "--once", "--journal", str(world.journal), "--state", str(tmp_path / "state")]
        )
        assert status == 1
        assert capsys.readouterr().err.count("\n") == 1
    assert not world.cluster.asked
    assert not world.journal.exists()


def test_watch_once_and_its_journal(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.round()
    assert main(["journal", str(world.journal)]) == 0
    out = capsys.readouterr().out
    assert "steps ended: 2 started" in out
    assert "nothing is open" in out
    assert main(["journal", str(world.journal), "--format", "json"]) == 0
    lines = json.loads(capsys.readouterr().out)
    assert lines[0]["schema"] == "evenhand/journal/2"
    released = {line["kind"]: line["version"] for line in lines if "version" in line}
    assert released == {"step": "22.05.8"}, "the first line is written before the cluster is read"
    assert main(["journal", str(world.journal), "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("UTC,step,victim,owner,action,for,reason,became,outcome,why\n")
    assert main(["watch", "--once", "--dry-run", "--journal", str(world.journal.parent / "none")]) == 0
    assert "round 0:" in capsys.readouterr().out


def test_an_open_step_is_shown(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.round()
    lines = world.journal.read_text().splitlines(keepends=True)
    world.journal.write_text("".join(lines[:6]))
    assert main(["journal", str(world.journal)]) == 0
    assert "open: step 0 for" in capsys.readouterr().out


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for more in (
        *(["--interval", "0"], ["--per-run", "-1"], ["--evict", "kill"], ["--policy", "nobody"]),
        *(["--once", "--adapter", "nobody"], ["--adapter", "gridengine", "--pools", "user"]),
        ["--adapter", "gridengine", "--evict", "requeue"],
    ):
        with pytest.raises(SystemExit) as caught:
            main(["watch", "--journal", "j", *more])
        assert caught.value.code == 2
        said = "only with --adapter slurm" if "gridengine" in more else f"'{more[-1]}' is "
        assert f"argument {more[-2]}: {said}" in capsys.readouterr().err


def test_figures_that_cannot_be_written_stop_nothing(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["watch", "--once", "--journal", str(world.journal), "--metrics", str(tmp_path / "no" / "m")]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert f"{tmp_path / 'no' / 'm'}: cannot be written: No such file" in said.err
    assert "round 0:" in said.out


ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
WATCHING = f"""
import signal, sys
from pathlib import Path
from evenhand import adapters
from evenhand.cli import main
from tests.unit.act.world import World
adapter = World(Path(sys.argv[1])).adapter()
adapter.identity = "fake " + sys.argv[1]  # its own: other suites run beside it
adapters.load = lambda name, **options: adapter
before = [signal.getsignal(number) for number in {tuple(map(int, ENDING))}]
for _ in before:
    print("status", main(["watch", "--journal", sys.argv[1] + "/journal", "--interval", "86400"]), flush=True)
assert [signal.getsignal(number) for number in {tuple(map(int, ENDING))}] == before
"""


def test_signals_end_a_watch_cleanly(tmp_path: Path) -> None:
    """Asleep between two rounds or not, it ends at once with status 0, and the handlers are as before."""
    said = tmp_path / "said"
    command = [sys.executable, "-u", "-c", WATCHING, str(tmp_path)]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with said.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file, env=variables) as child:
        for i, number in enumerate(ENDING):
            until(lambda i=i: child.poll() is not None or said.read_bytes().count(b"round 0:") > i)
            child.send_signal(number)
            until(lambda i=i: child.poll() is not None or said.read_bytes().count(b"status 0") > i)
        status = child.wait(HANG)
    assert status == 0, said.read_text()
    assert said.read_bytes().count(b"status 0") == len(ENDING)


def test_the_unit_of_systemd_is_one(tmp_path: Path) -> None:
    """The example of the page, with a program that exists here."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    page = Path(__file__).parents[3] / "docs" / "how-to" / "preempt-on-a-live-slurm.md"
    unit = page.read_text(encoding="utf-8").split("```ini\n")[1].split("```")[0]
    command = unit.split("ExecStart=")[1].replace("\\\n", " ").split("\n")[0]
    parser().parse_args(command.split()[1:])
    file = tmp_path / "evenhand.service"
    file.write_text(unit.replace("/opt/evenhand/bin/evenhand", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(file) not in done.stderr, done.stderr


def test_log_records_have_their_facts(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="evenhand.act"):
        assert world.round()
    assert {record.name for record in caplog.records} == {"evenhand.act"}
    facts = [getattr(record, "evenhand", {}) for record in caplog.records]
    assert {fact["action"] for fact in facts if "action" in fact} == {"note", "requeue_hold", "release"}
    assert sum(fact.get("outcome") == "started" for fact in facts) >= 2
    assert not [record for record in caplog.records if "\n" in record.getMessage()]
