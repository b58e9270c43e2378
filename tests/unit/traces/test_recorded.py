"""The readers on whole public traces: what their folders say is what is read."""

from __future__ import annotations

import pytest

import evenhand as eh
from tests.counting import calls
from tests.shared import shared

pytestmark = pytest.mark.shared


def test_sdsc_blue() -> None:
    path = shared("traces", "sdsc-blue-2000", "SDSC-BLUE-2000-4.2-cln.swf.gz")
    read: list[eh.simulate.Workload] = []
    assert calls(lambda: read.append(eh.traces.swf(path, "queue/user", cancelled="keep"))) < 4 * 243_306
    (w,) = read
    assert w.notes["lines"] == 243_306
    kept = w.notes["jobs"] + w.notes["no_processors"] + w.notes["no_run_time"]
    assert kept == 243_306
    assert w.snapshot().total == {"cpu": 1152}
    # Processor-hours by queue, in millions: the folder's README has them of the processors that jobs got.
    t, o = w.table(), w.operations()
    work: dict[str, float] = {}
    hours = (t["count"] * t["resources.cpu"] * t["run_time"] / 3600e6).tolist()
    for queue, amount in zip(o["qos"], hours, strict=True):
        work[queue] = work.get(queue, 0) + amount
    expected = {"high": 3.03, "normal": 12.34, "low": 3.97, "express": 0.54, "interactive": 0.17}
    assert {queue: work[queue] for queue in expected} == pytest.approx(expected, abs=0.06)


def test_ricc() -> None:
    path = shared("traces", "ricc-2010", "RICC-2010-2_d00-90.swf.gz")
    w = eh.traces.swf(path, "group/user", memory_per_node=12)
    assert w.notes["lines"] == 168_499
    assert w.snapshot().total == {"cpu": 8192, "memory": 12 * 1024}
    assert sum(name.count("/") == 0 for name in w.pools()["name"]) == 105


def test_google_2011() -> None:
    folder = ("traces", "google-borg-2011")
    tasks = shared(*folder, "task_events_00000s-50712s.csv.xz")
    machines = shared(*folder, "machine_events.csv.gz")
    w = eh.traces.google2011(tasks, machines)
    assert w.recorded is not None
    assert w.recorded["evicted"].tolist() == [143_211, 2_071, 268]  # type: ignore[union-attr]
    sums = {name: int(w.recorded[name].sum()) for name in w.recorded.columns[1:]}  # type: ignore[union-attr]
    assert sums == {
        "submitted": 675_721,
        "scheduled": 639_729,
        "evicted": 145_550,
        "failed": 13_267,
        "finished": 230_982,
        "killed": 122_562,
        "lost": 0,
    }
    assert (w.notes["events"], w.notes["tasks"]) == (1_827_856, 464_004)
    total = w.snapshot().total
    assert (round(total["cpu"], 2), round(total["memory"], 2)) == (6603.25, 5862.75)
    # Every spell ended in one way, or waits still, or was left out.
    assert len(w) + w.notes["still_waiting"] + w.notes["never_started"] == 675_721 - 145_542


def test_philly() -> None:
    w = eh.traces.philly(shared("traces", "philly-vc-2017", "philly_vc_jobs_d00-50.csv.gz"))
    assert {vc: round(gpus) for vc, gpus in w.notes["offered_gpus"].items()} == {
        "vc1": 161,
        "vc2": 327,
        "vc3": 69,
        "vc4": 132,
    }
    assert len(w) == 5_842
    assert len(w.slice(20 * 86_400, 30 * 86_400)) == 1_509
    assert w.snapshot().total == {"gpu": 576}
