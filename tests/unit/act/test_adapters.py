"""Reading Slurm's answers, recordings, and finding adapters."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from evenhand import adapters
from evenhand.adapters import AdapterError
from evenhand.adapters.commands import Result, Subprocesses
from evenhand.adapters.recording import Recorder, Replay
from evenhand.systems.slurm.adapter import jobs as slurm_jobs
from evenhand.systems.slurm.adapter import nodes as slurm_nodes
from evenhand.systems.slurm.adapter import text as slurm_text
from evenhand.systems.slurm.adapter.live import Slurm
from evenhand.systems.slurm.adapter.snapshot import build
from tests.unit.act.faults import Fault, Faults
from tests.unit.act.slurm.cluster import T0, Clock, FakeSlurm, job
from tests.waiting import HANG

#: A job of squeue --json of Slurm 22.05.8: 5 cpus, 2 on one node and 3 on the other.
JOB: dict[str, Any] = {
    "job_id": 4,
    "array_job_id": 0,
    "array_task_id": None,
    "array_task_string": "",
    "account": "",
    "batch_flag": True,
    "comment": 'a "b" c',
    "cpus": 5,
    "dependency": "",
    "end_time": 1826819814,
    "excluded_nodes": "",
    "features": "",
    "het_job_id": 0,
    "job_resources": {
        "nodes": "n[2-3]",
        "allocated_nodes": [
            {
                "sockets": {"2": {"cores": {"0": "allocated"}}, "3": {"cores": {"0": "allocated"}}},
                "nodename": "n2",
                "cpus_used": 0,
                "memory_allocated": 100,
            },
            {
                "sockets": {str(i): {"cores": {"0": "allocated"}} for i in range(3)},
                "nodename": "n3",
                "cpus_used": 0,
                "memory_allocated": 100,
            },
        ],
    },
    "job_state": "RUNNING",
    "licenses": "",
    "name": "wrap",
    "node_count": 2,
    "nodes": "n[2-3]",
    "partition": "main",
    "priority": 4294901756,
    "qos": "",
    "requeue": True,
    "required_nodes": "",
    "restart_cnt": 0,
    "shared": None,
    "start_time": 1795283814,
    "state_reason": "None",
    "submit_time": 1795283814,
    "tres_alloc_str": "cpu=5,mem=200M,node=2,billing=5",
    "tres_req_str": "cpu=5,mem=200M,node=2,billing=5",
    "user_id": 0,
    "user_name": "root",
}
LATER = {
    "job_state": ["RUNNING"],
    "priority": {"set": True, "infinite": False, "number": 77},
    "node_count": {"set": True, "infinite": False, "number": 2},
    "cpus": {"set": True, "infinite": False, "number": 5},
    "start_time": {"set": True, "infinite": False, "number": 1795283814},
    "end_time": {"set": True, "infinite": True, "number": 0},
    "array_task_id": {"set": False, "infinite": False, "number": 0},
    "job_resources": {"nodes": {"list": "n[2-3]"}},
}


def read(**changes: Any) -> slurm_jobs.Job:
    (found,) = slurm_jobs.jobs_of_json(json.dumps({"errors": [], "jobs": [JOB | changes]}))
    return found


def test_a_job_of_22_05() -> None:
    found = read()
    assert found.parts == {"n2": {"cpu": 2, "memory": 100}, "n3": {"cpu": 3, "memory": 100}}
    assert (found.name, found.state, found.unfit, found.user) == ("4", "RUNNING", "", "root")


def test_the_numbers_of_later_versions() -> None:
    found = read(**LATER)
    assert (found.priority, found.count, found.started, found.ends) == (77, 2, 1795283814.0, None)
    assert found.parts == {"n2": {"cpu": 3, "memory": 100}, "n3": {"cpu": 3, "memory": 100}}


#: The same from 24.05 on: what each node gives is said.
LATEST = {
    "nodes": "n[2-3]",
    "job_resources": {
        "nodes": {
            "list": "n[2-3]",
            "allocation": [
                {"name": "n2", "cpus": {"count": 4, "used": 0}, "memory": {"used": 0, "allocated": 120}},
                {"name": "n3", "cpus": {"count": 1, "used": 0}, "memory": {"used": 0, "allocated": 80}},
            ],
        }
    },
}


def test_each_nodes_own_part() -> None:
    """Uneven parts; devices where they stand; cores of two threads are two cpus each."""
    assert read(**LATER | LATEST).parts == {"n2": {"cpu": 4, "memory": 120}, "n3": {"cpu": 1, "memory": 80}}
    tres = {
        "tres_alloc_str": "cpu=5,mem=200M,node=2,gres/gpu=3",
        "gres_detail": ["gpu:a:2(IDX:0-1)", "gpu:a:1(IDX:0)"],
    }
    assert [part["gres/gpu"] for part in read(**LATER | LATEST | tres).parts.values()] == [2, 1]
    tres["gres_detail"] = ["gpu:a(CNT:2)", "gpu:a(CNT:1)"]  # as of devices without files
    assert [part["gres/gpu"] for part in read(**LATER | LATEST | tres).parts.values()] == [2, 1]
    for untold in (["gpu", "gpu:a(CNT:1)"], ["gpu:a(CNT:2)", "gpu:a(CNT:2)"]):
        assert [
            part["gres/gpu"]
            for part in read(**LATER | LATEST | tres | {"gres_detail": untold}).parts.values()
        ] == [2, 2], "no node's devices count as free by what is not told"
    tres["gres_detail"] = []
    assert [part["gres/gpu"] for part in read(**LATER | LATEST | tres).parts.values()] == [2, 2]
    cores = {"cpus": 10, "tres_alloc_str": "cpu=10,mem=200M,node=2"}  # two cores and three, of JOB
    assert [part["cpu"] for part in read(**cores).parts.values()] == [4, 6]
    (mixed,) = slurm_jobs.jobs_of_json(
        json.dumps({"jobs": [JOB | {"cpus": 8, "tres_alloc_str": "cpu=8,node=2"}]}), {"n2": 1, "n3": 2}
    )
    assert [part["cpu"] for part in mixed.parts.values()] == [2, 6]
    odd = {"cpus": 7, "tres_alloc_str": "cpu=7,mem=200M,node=2"}  # no whole number of cpus a core
    assert [part["cpu"] for part in read(**odd).parts.values()] == [4, 4]


def test_specialised_cores_and_memory_are_not_for_jobs() -> None:
    row = {"name": "n1", "cpus": 8, "effective_cpus": 6, "real_memory": 1000, "specialized_memory": 100}
    row |= {"tres": "cpu=8,mem=1000M,billing=8", "state": ["IDLE"], "partitions": ["a", "b"], "threads": 2}
    (node,) = slurm_nodes.nodes_of_json(json.dumps({"nodes": [row | {"active_features": ["ib", "big"]}]}))
    assert node.capacity == {"cpu": 6, "memory": 900}
    assert (node.tags, node.threads) == (("partition:a", "partition:b", "ib", "big"), 2)


def test_jobs_and_nodes_stand_in_slurms_order() -> None:
    jobs = [read(job_id=name) for name in (12, 9, 10)]
    nodes = [slurm_nodes.Node(f"n{i}", {"cpu": 8, "memory": 1000}, (), True) for i in (2, 3, 10)]
    snapshot = build(jobs, nodes, T0, "partition", None, {})
    assert list(snapshot.names("operations")) == ["9", "10", "12"]
    assert list(snapshot.names("nodes")) == ["n2", "n3", "n10"]


def test_a_held_job_may_be_read_as_released() -> None:
    changes = {"job_id": 9, "job_state": "PENDING", "state_reason": "JobHeldUser", "priority": 0, "nodes": ""}
    held = read(**changes, node_count=1)
    node = slurm_nodes.Node("n1", {"cpu": 8, "memory": 1000}, (), True)
    for released, count in (((), 0), (("9",), 1), (("8",), 0)):
        assert build([held], [node], T0, "partition", None, {}, released).request_count == count


def test_array_tasks_are_called_by_array_and_task() -> None:
    """The last task has the number of its array: requeueing that number would requeue the whole array."""
    assert read(job_id=6, array_job_id=6, array_task_id=50).name == "6_50"
    assert Slurm(runner=lambda a, t: Result(0)).commands("requeue_hold", "6_50", "") == [
        ("scontrol", "requeuehold", "Incomplete", "6_50")
    ]


@pytest.mark.parametrize("name", ["", "1;rm", "-1", "all", "1,2", "$(id)", "1_", "1 2", "1\n", "٣x"])
def test_only_numbers_become_part_of_commands(name: str) -> None:
    adapter = Slurm(runner=lambda a, t: pytest.fail("it was run"))
    with pytest.raises(AdapterError, match="not the number"):
        adapter.commands("cancel", name, "")
    with pytest.raises(AdapterError):
        adapter.look([name])


def test_notes_are_plain_and_never_replace_anothers() -> None:
    clock = Clock()
    fake = FakeSlurm(clock, {"n1": 4}, [job(1, 1, node="n1", comment="mine"), job(2, 1, node="n1")])
    adapter = Slurm(runner=fake, clock=clock)
    adapter.snapshot()
    assert adapter.commands("note", "1", "gives way") == []
    ((*_, text),) = adapter.commands("note", "2", "to \x1b[31m $(id) `x` é\n" + "y" * 500)
    assert text.startswith("Comment=evenhand: to ?")
    assert not set("\x1b$`\né") & set(text)
    assert len(text) < 230


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1", ["n1"]),
        ("n[1-3,07]", ["n1", "n2", "n3", "n07"]),
        ("a[09-11]-x,b", ["a09-x", "a10-x", "a11-x", "b"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("", []),
    ],
)
def test_host_lists(text: str, hosts: list[str]) -> None:
    assert slurm_text.split_hosts(text) == hosts


@pytest.mark.parametrize("text", ["n[1-", "n[a-b]", "n[1-99999999]"])
def test_wrong_host_lists(text: str) -> None:
    with pytest.raises(AdapterError):
        slurm_text.split_hosts(text)


def test_amounts() -> None:
    found = slurm_text.amounts("cpu=4,mem=1.5G,node=1,billing=4,gres/gpu=2,gres/gpu:a100=2")
    assert found == {"cpu": 4, "memory": 1536, "gres/gpu": 2}
    assert slurm_text.amounts("mem=512K") == {"memory": 1}


def fake() -> tuple[Clock, FakeSlurm]:
    clock = Clock()
    return clock, FakeSlurm(clock, {"n1": 4}, [job(1, 2, node="n1"), job(2, 4, priority=50)])


def test_every_truncation_is_noticed() -> None:
    """JSON or text, wherever it is cut: an error, or, in text, rows less but never a wrong one."""
    _, cluster = fake()
    jobs = cluster.squeue(["--json"]).out
    for length in range(len(jobs)):
        with pytest.raises(AdapterError):
            slurm_jobs.jobs_of_json(jobs[:length])
    rows = cluster.squeue(["-O", ",".join(f"{c}:|" for c in slurm_jobs.COLUMNS)]).out
    whole = slurm_jobs.jobs_of_text(rows)
    assert len(whole) == 2
    for length in range(len(rows)):
        try:
            found = slurm_jobs.jobs_of_text(rows[:length])
        except AdapterError:
            continue
        assert rows[:length].endswith("\n")
        assert found == whole[: len(found)]


def test_a_recording_plays_back(tmp_path: Path) -> None:
    clock, cluster = fake()
    recorder = Recorder(cluster, tmp_path / "recording")
    first = Slurm(runner=recorder, clock=clock)
    seen = [
        first.snapshot(),
        first.look(["1", "2"]),
        first.do("requeue_hold", "1", ""),
        first.look(["1", "2"]),
    ]
    replay = Replay(tmp_path / "recording")
    again = Slurm(runner=replay, clock=clock)
    assert [again.snapshot(), again.look(["1", "2"]), again.do("requeue_hold", "1", "")] == seen[:3]
    assert again.look(["1", "2"]) == seen[3] != seen[1]
    assert again.do("cancel", "1", "").status == "unknown"
    assert replay.asked[-2][0] == "scontrol"


def test_recordings_that_cannot_be_read(tmp_path: Path) -> None:
    for text in ("{}\n", "nothing\n", '{"schema": "evenhand/recording/2"}\n'):
        (tmp_path / "recording").write_text(text)
        with pytest.raises(AdapterError, match="recording"):
            Replay(tmp_path / "recording")
    with pytest.raises(AdapterError):
        Replay(tmp_path / "absent")


def test_late_commands_arrive() -> None:
    _, cluster = fake()
    faults = Faults(cluster, {0: Fault("late", delay=1)}, lambda: None)
    assert faults(["scancel", "1"], 1.0).status is None
    assert cluster.jobs["1"]["state"] == "RUNNING"
    faults(["squeue", "--json"], 1.0)
    faults(["squeue", "--json"], 1.0)
    assert cluster.jobs["1"]["state"] == "CANCELLED"


def test_processes_have_no_shell_and_a_time_limit(tmp_path: Path) -> None:
    run = Subprocesses()
    code = "import sys; sys.stdout.buffer.write(sys.argv[1].encode() + b'\\xff'); sys.exit(3)"
    found = run([sys.executable, "-c", code, f"$(touch {tmp_path / 'x'})"], 30.0)
    assert (found.status, found.out) == (3, f"$(touch {tmp_path / 'x'})\ufffd")
    assert not (tmp_path / "x").exists()
    assert run(["/nowhere/at-all"], 1.0).status is None
    assert run([sys.executable, "-c", "import signal; signal.pause()"], 0.2).err == "no answer within 0.2 s"
    assert run(["echo", "a\0b"], 1.0).status is None


def test_adapters_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert adapters.load("slurm").name == "slurm"
    with pytest.raises(AdapterError, match=r"there are .*slurm"):
        adapters.load("lsf")
    values = {"mine": "evenhand.adapters.slurm:Slurm", "broken": "no.such:thing", "other": "builtins:dict"}
    entries = [EntryPoint(name, value, adapters.GROUP) for name, value in values.items()]
    monkeypatch.setattr(adapters, "entry_points", lambda group: entries)
    assert adapters.load("mine").name == "slurm"
    assert set(adapters.available()) == {"slurm", "gridengine", *values}
    with pytest.raises(AdapterError, match="cannot be loaded"):
        adapters.load("broken")
    with pytest.raises(AdapterError, match="protocol"):
        adapters.load("other")


class Bad:
    """An adapter by somebody who did not read the protocol's last words."""

    name, identity, whole = "bad", "bad:1", True
    notices = ()

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise ConnectionError("no\nroute\x1b[31m")

    policy = snapshot = look = action = commands = do = room = keep = _fail


def test_whatever_another_adapter_raises_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("bad", f"{__name__}:Bad", adapters.GROUP)
    monkeypatch.setattr(adapters, "entry_points", lambda group: [entry])
    bad = adapters.load("bad")
    assert (bad.name, bad.identity, bad.whole, bad.notices) == ("bad", "bad:1", True, ())
    calls = [bad.policy, bad.snapshot, lambda: bad.look(["1"]), lambda: bad.action("requeue")]
    calls += [lambda: bad.commands("cancel", "1", ""), lambda: bad.room("1"), lambda: bad.keep(3)]
    for call in calls:
        with pytest.raises(AdapterError, match=r"failed: ConnectionError: no route\S*$"):
            call()
    answer = bad.do("cancel", "1", "")
    assert (answer.status, "\x1b" in answer.message) == ("unknown", False)
    monkeypatch.setattr(Bad, "look", lambda self, names: {})
    with pytest.raises(AdapterError, match="no answer for 1"):
        bad.look(["1"])


def test_commands_do_not_hear_the_drivers_signals() -> None:
    """Whoever stops a whole process group stops the driver, not the release that it waits for."""
    code = "import os; print(os.getpgrp(), os.getsid(0))"
    group, session = Subprocesses()([sys.executable, "-c", code], 30.0).out.split()
    assert group == session != str(os.getpgrp())


def test_what_a_command_started_is_killed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that has the writing end of a pipe ends, though none of it would by itself."""
    reading, writing = os.pipe()
    last = f"import os, signal; os.write({writing}, b'x'); signal.pause()"
    code = (
        f"import signal, subprocess, sys; subprocess.Popen([sys.executable, '-c', {last!r}], close_fds=False)"
    )
    begun: list[bytes] = []

    def late(process: subprocess.Popen[bytes], timeout: float) -> Any:
        assert select.select([reading], [], [], HANG)[0]
        begun.append(os.read(reading, 1))
        raise subprocess.TimeoutExpired(process.args, timeout)

    monkeypatch.setattr(subprocess.Popen, "communicate", late)
    run = Subprocesses()
    run.inherited = (writing,)
    found = run([sys.executable, "-c", f"{code}; signal.pause()"], 1.0)
    os.close(writing)
    assert (found.status, begun) == (None, [b"x"])
    assert select.select([reading], [], [], HANG)[0]
    assert os.read(reading, 1) == b""
    os.close(reading)


def test_nobodys_own_variables_change_what_slurm_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = ("SQUEUE_STATES", "SINFO_PARTITION", "SCANCEL_STATE", "SCONTROL_FUTURE", "SLURM_CLUSTERS")
    for name in (*mine, "SQUEUE_ALL", "SLURM_CONF"):
        monkeypatch.setenv(name, "mine")
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    found = json.loads(Subprocesses()([sys.executable, "-c", code], 30.0).out)
    assert not set(mine) & set(found)
    assert found["SLURM_CONF"] == "mine"
    assert {found[name] for name in ("SQUEUE_ALL", "SINFO_ALL", "SCONTROL_ALL")} == {"1"}


def test_a_cluster_is_told_by_its_name_and_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, cluster = fake()
    adapter = Slurm(runner=cluster, clock=clock)
    assert not cluster.asked
    assert adapter.identity == "slurm:fake@vm(127.0.0.1):6817"
    monkeypatch.setenv("SLURM_CONF", "/etc/./slurm/slurm.conf")
    assert Slurm(runner=cluster, clock=clock).identity == adapter.identity
    cluster.shows["config"] = "Configuration data as of 2026-11-21T19:47:56\nKillWait = 3 sec\n"
    with pytest.raises(AdapterError, match="which cluster"):
        _ = Slurm(runner=cluster, clock=clock).identity
