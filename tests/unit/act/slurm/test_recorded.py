"""Every job, node and limit of a real 26.05.3, with a table by hand beside what was submitted.

The cluster: n1 and n4 to n7 with 4 cpus, n2 and n3 with 4 cores of two threads, each with 4000 MiB; n5 to n7
have two devices gpu:a; n6 is drained, n7 reserved now, n4 in an hour. Partitions are DOWN while jobs wait.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters import AdapterError
from evenhand.adapters.commands import Result
from evenhand.systems.slurm.adapter.live import Slurm
from evenhand.systems.slurm.adapter.nodes import nodes_of_json, nodes_of_text
from evenhand.systems.slurm.adapter.reading import Reader
from evenhand.systems.slurm.text.partitions import read_partitions, sharing_of
from evenhand.systems.slurm.text.shown import read_shown
from tests.unit.act.slurm.recorded import MORE, NOW, Recorded, adapter, with_job

#: Running jobs: what each holds (cpus, memory, devices of kind a, licences), and whether it may be a victim.
RUNNING: dict[str, tuple[dict[str, tuple[int, int, int]], dict[str, int], bool]] = {
    "1": ({"n1": (2, 100, 0)}, {}, True),  # plain
    "2": ({"n2": (4, 200, 0), "n3": (2, 100, 0)}, {}, True),  # 5 tasks: two cores and one, of two threads
    "3": ({"n5": (1, 10, 1)}, {}, False),  # --no-requeue
    "4": ({"n6": (1, 10, 0)}, {"ansys": 2}, True),
    "5_0": ({"n1": (1, 10, 0)}, {}, True),  # an array of four, two at a time
    "5_1": ({"n4": (1, 10, 0)}, {}, True),
    "6": ({"n2": (2, 20, 0)}, {}, False),  # both parts of a heterogeneous job
    "7": ({"n3": (2, 20, 0)}, {}, False),
    "8": ({"n4": (1, 10, 0)}, {}, True),  # suspended
    "9": ({"n7": (4, 40, 2)}, {}, True),  # --exclusive
    "10": ({"n1": (1, 10, 0)}, {}, True),  # QOS std, partition mid
}

#: Waiting jobs that could be planned for: cpus, memory, nodes, limit in minutes, and what else they say.
ASKS: dict[str, tuple[int, int, int, int | None, dict[str, Any]]] = {
    "13": (4, 40, 2, 30, {}),
    "14": (1, 10, 1, 30, {"time_min": 300}),
    "15": (
        4,
        40,
        1,
        30,
        {"pieces": [4, 2], "max_nodes": 6},
    ),  # -n6 without -N: n3 has four cpus left, n4 three
    "16": (1, 10, 1, 30, {"exclusive": True}),
    "18": (1, 10, 1, 30, {}),  # --oversubscribe
    "19": (1, 10, 1, 30, {"exclusive": True}),  # by its partition
    "20": (1, 10, 1, 30, {}),  # in a partition that shares by force
    "21": (3, 30, 1, 30, {"partition": "low,high"}),
    "22": (1, 10, 1, 30, {"gres/gpu": 2, "kind": "gres/gpu:a"}),
    "23": (1, 10, 1, 30, {"gres/gpu": 1}),
    "24": (1, 10, 1, 30, {"license/ansys": 3}),
    "27": (2, 20, 1, 30, {"max_nodes": 3}),  # -N1-3 with two tasks on each: one node is enough
    **{f"28_{task}": (1, 10, 1, 20, {}) for task in range(5)},
    "30": (1, 10, 1, 20, {}),  # begins in an hour
    "31": (1, 10, 1, None, {}),  # no limit
    "32": (1, 3000, 1, 30, {}),
    "33": (3, 30, 1, 30, {"cpus_per_task": 3}),  # -c 3: tres_per_task says cpu=3
    "34": (1, 10, 1, 20, {}),  # held
}
#: Waiting jobs that no plan can judge, were they waiting for room.
UNFIT = {
    "17": "nodes for one user",
    "25": "a combination of features",
    "26": "switches",
    "29": "a dependency",
    "35": "features that it prefers",
    "36": "a reservation",
}
#: And what all of them wait for in fact.
WAITS_FOR = {"5": "JobArrayTaskLimit", "29": "Dependency: afterany:1(unfulfilled)", "30": "BeginTime"}
WAITS_FOR |= {"34": "JobHeldUser", "36": "Reservation"}
#: What rules of Slurm alone read of a job.
OWN = ("time_min", "exclusive", "max_nodes", "cpus_per_task")


def test_every_job_that_holds_something() -> None:
    data = adapter().snapshot(released=["24"]).to_dict()
    assert data["root"]["settings"] == {"slurm_version": "26.05.3"}
    found: dict[str, dict[str, dict[str, float]]] = {}
    may: dict[str, bool] = {}
    for row in data["allocations"]:
        found.setdefault(row["operation"], {})[row.get("node") or "licences"] = row["resources"]
        may[row["operation"]] = row.get("preemptible", True)
    expected = {}
    for job, (parts, licences, _) in RUNNING.items():
        expected[job] = {
            node: {"cpu": c, "memory": m} | ({"gres/gpu": g} if g else {})
            for node, (c, m, g) in parts.items()
        }
        if licences:
            expected[job]["licences"] = {f"license/{name}": count for name, count in licences.items()}
    assert found == expected
    assert may == {job: free for job, (_, _, free) in RUNNING.items()}
    states = {row["operation"]: row.get("state") for row in data["allocations"]}
    assert [job for job, state in states.items() if state == "preempted"] == ["8"]
    own = {row["name"]: row.get("settings") for row in data["operations"]}
    assert own["9"] == {"exclusive": True}
    assert data["resources"]["license/ansys"]["capacity"] == 4
    assert "license/fluent" not in data["resources"]


def test_every_job_that_waits() -> None:
    slurm = adapter()
    data = slurm.snapshot(released=[*ASKS, *UNFIT, "28"]).to_dict()
    asked: dict[str, list[dict[str, Any]]] = {}
    for row in data["requests"]:
        asked.setdefault(row["operation"], []).append(row)
    jobs = {row["name"]: row for row in data["operations"]}
    assert set(asked) == set(ASKS)
    assert {job: (row.get("settings") or {}).get("waits_for") for job, row in jobs.items()} == {
        **dict.fromkeys((*RUNNING, *ASKS)),
        **UNFIT,
        "5": "JobArrayTaskLimit",
    }
    for job, (cpus, memory, count, minutes, more) in ASKS.items():
        rows = asked[job]
        assert [row["resources"]["cpu"] for row in rows] == more.get("pieces", [cpus]), job
        assert rows[0]["resources"]["memory"] == memory
        assert rows[0].get("count", 1) == count
        assert rows[0].get("duration") == (None if minutes is None else 60 * minutes)
        for name in ("gres/gpu", "license/ansys"):
            assert rows[0]["resources"].get(name) == more.get(name)
        assert more.get("kind") in (None, *rows[0]["node_tags"])
        own = jobs[job].get("settings") or {}
        assert own == {n: v for n, v in more.items() if n in OWN}
        assert jobs[job]["partition"] == more.get("partition", {"19": "excl", "20": "mid"}.get(job, "high"))
    assert {job for jobs in slurm.left_out.values() for job in jobs} == set(UNFIT)
    assert {job: why for why, jobs in slurm.left_out.items() for job in jobs} == UNFIT


def test_what_they_wait_for_is_found_by_explain() -> None:
    """Their partitions are down; some wait for something else as well. None asks for anything."""
    slurm = adapter()
    snapshot = slurm.snapshot()
    assert snapshot.request_count == 0
    assert not slurm.left_out, "none of them waits for room"
    waits = {str(n): WAITS_FOR.get(str(n), "PartitionDown") for n in range(13, 37) if n != 28}
    waits |= {f"28_{task}": "PartitionDown" for task in range(5)} | {"5": "JobArrayTaskLimit"}
    own = {row["name"]: row.get("settings") or {} for row in snapshot.to_dict()["operations"]}
    assert {job: said["waits_for"] for job, said in own.items() if "waits_for" in said} == waits
    plan = eh.plan(snapshot, slurm.policy())
    for job, why in waits.items():
        text = plan.why(job).text
        assert f"neither starts it nor preempts for it: {why}." in text
    other = eh.plan(adapter(own_rules=False).snapshot(), eh.policies.YTsaurus())
    assert "nor preempts for it: Dependency: afterany:1(unfulfilled)." in other.why("29").text


def test_rules_of_other_systems_know_of_no_entire_nodes() -> None:
    slurm = adapter(own_rules=False)
    snapshot = slurm.snapshot(released=["13", "14", "16", "19"])
    assert slurm.left_out == {"entire nodes": ["16", "19"]}
    eh.plan(snapshot, eh.policies.YTsaurus())
    rows = {row["name"]: row.get("settings") or {} for row in snapshot.to_dict()["operations"]}
    assert (rows["9"], rows["14"]) == ({}, {})


def test_every_node() -> None:
    nodes = {node["name"]: node for node in adapter().snapshot().to_dict()["nodes"]}
    parts = {"n1": "low mid high prio", "n3": "low mid high", "n4": "low mid excl usr high", "n7": "low high"}
    parts |= {"n2": parts["n1"], "n5": parts["n4"], "n6": parts["n4"]}
    for name, node in nodes.items():
        gpus = {"gres/gpu": 2} if name > "n4" else {}
        assert node["capacity"] == {"cpu": 8 if name in ("n2", "n3") else 4, "memory": 4000} | gpus
        assert node.get("schedulable", True) == (name not in ("n6", "n7"))
        features = {"ib", "big"} if name < "n4" else {"eth"}
        kinds = {"gres/gpu:a"} if gpus else set()
        own = {f"partition:{part}" for part in parts[name].split()} | features | kinds
        assert own <= set(node["tags"])
        assert ("reserved:never" in node["tags"]) == (name != "n4")
    assert len(nodes) == 7


def test_every_limit_of_partitions_and_qos() -> None:
    settings = adapter().policy().settings
    assert {
        name: (p.PriorityTier, p.PreemptMode, p.OverSubscribe) for name, p in settings.partitions.items()
    } == {
        "low": (1, "REQUEUE", "NO"),
        "mid": (5, "CANCEL", "FORCE:1"),
        "excl": (5, "REQUEUE", "EXCLUSIVE"),
        "usr": (2, "REQUEUE", "NO"),
        "high": (10, "OFF", "YES:2"),
        "prio": (20, "REQUEUE", "NO"),
    }
    assert all(partition.State == "DOWN" for partition in settings.partitions.values())
    low = settings.partitions["low"]
    assert (low.GraceTime, low.DefaultTime, low.MaxTime, low.Default) == (30, 3600, None, True)
    assert (settings.reorder_count, settings.youngest_first, settings.reclaim_licenses) == (2, True, True)
    assert (settings.min_exempt_priority, settings.PreemptExemptTime, settings.KillWait) == (5000, 5, 3)
    assert settings.qos["std"].PreemptExemptTime == 60
    assert settings.qos["qe"].Preempt == ("qb", "qc", "qd")
    assert settings.node_weights == {"n5": 5, "n6": 5, "n7": 5}
    shown = json.loads(Recorded().answers["scontrol", "show", "nodes", "--json"])["nodes"]
    assert settings.node_weights == {row["name"]: row["weight"] for row in shown if row["weight"] != 1}


@pytest.mark.parametrize(("weight", "node"), [(4, "n4"), (5, "n4"), (6, "n5")])
def test_nodes_of_little_weight_are_taken_first(weight: int, node: str) -> None:
    """Job 13, asking for one node with a cpu left: n4 has one, n5 has three and the weight 5."""
    slurm = adapter()
    answers = slurm.run.answers  # type: ignore[attr-defined]
    answers["squeue", "--json"] = with_job(
        13,
        {"cpus": 1, "node_count": 1, "max_nodes": 1, "tres_req_str": "cpu=1,mem=10M,node=1"}
        | {"tasks": 1, "tasks_per_node": 1, "minimum_cpus_per_node": 1, "time_limit": 1},
    )
    key = ("scontrol", "show", "node")
    n4 = answers[key].index("NodeName=n4")
    answers[key] = answers[key][:n4] + answers[key][n4:].replace("Weight=1 ", f"Weight={weight} ", 1)
    partitions = ("scontrol", "-o", "show", "partition")
    answers[partitions] = answers[partitions].replace("State=DOWN", "State=UP")
    policy = slurm.policy(node_weights={**slurm.policy().settings.node_weights, "n1": 9, "n2": 9, "n3": 9})
    plan = eh.plan(slurm.snapshot(released=["13"]), policy)
    assert [str(one.node) for one in plan.decisions.starts] == [node]


def test_the_commands_that_are_asked() -> None:
    """Nodes are in the JSON of scontrol, and whether a job takes entire nodes is in text."""
    runner = Recorded()
    slurm = Slurm(runner=runner, clock=lambda: NOW)
    slurm.snapshot()
    assert runner.asked == [
        ("squeue", "--json"),
        ("squeue", "-a", "-t", "all", "-O", "jobid:|,exclusive:|"),
        ("scontrol", "show", "nodes", "--json"),
        ("sinfo", "-a", "-T"),
        ("scontrol", "show", "lic"),
        ("scontrol", "-o", "show", "partition"),
    ]
    assert slurm.version == "26.05.3"
    assert slurm.identity == "slurm:emu9@head(127.0.0.1):21900"


@pytest.mark.parametrize(
    ("release", "first", "exclusive"),
    [
        ("22.05.8", "sinfo", False),
        ("23.01.9", "sinfo", False),
        ("23.02.0", "scontrol", False),
        ("26.02.0", "scontrol", False),
        ("26.05.0", "scontrol", True),
        ("26.11.0", "scontrol", True),
    ],
)
def test_which_command_says_what_by_release(release: str, first: str, exclusive: bool) -> None:
    runner = Recorded()
    key = ("squeue", "--json")
    runner.answers[key] = runner.answers[key].replace('"26.05.3"', f'"{release}"')
    reader = Reader(runner, 30.0)
    jobs, nodes = reader.cluster()
    assert reader.version == release
    asked = [call for call in runner.asked if "--json" in call and call != key]
    assert asked[0][0] == first
    assert asked[-1][0] == "scontrol", "where sinfo has no nodes"
    assert any("exclusive:|" in call[-1] for call in runner.asked) == exclusive
    assert (len(jobs), len(nodes)) == (40, 7)
    assert {job.name for job in jobs if job.sharing == "NODE"} == ({"9", "16", "19"} if exclusive else set())


def test_the_release_comes_from_the_controller_where_it_says_it() -> None:
    runner = Recorded()
    key = ("scontrol", "show", "config")
    runner.answers[key] = runner.answers[key].replace("26.05.3", "25.11.7")
    slurm = Slurm(runner=runner, clock=lambda: NOW)
    slurm.policy()
    slurm.snapshot()
    assert slurm.version == "25.11.7"
    del runner.answers["squeue", "--json"]
    with pytest.raises(AdapterError, match="not recorded"):
        slurm.snapshot()


@pytest.mark.parametrize(
    ("out", "version"),
    [
        ("slurm 22.05.8\n", "22.05.8"),
        ("slurm-wlm 24.11.5\n", "24.11.5"),
        ("slurm 23.11\n", "23.11"),
        ("?", None),
    ],
)
def test_a_release_of_the_commands_alone(out: str, version: str | None) -> None:
    """``squeue`` without JSON, or of a release whose JSON has no meta."""

    def run(arguments: Any, timeout: float) -> Result:
        if arguments == ("scontrol", "--version"):
            return Result(0, out)
        if "--json" in arguments:
            return Result(1, "", "unrecognized option '--json'")
        return Recorded()(arguments, timeout)

    slurm = Slurm(runner=run, clock=lambda: NOW)
    assert slurm.version is None
    snapshot = slurm.snapshot()
    assert slurm.version == version
    settings = snapshot.to_dict().get("root", {}).get("settings") or {}
    assert settings == ({"slurm_version": version} if version else {})


def test_text_and_json_say_the_same_of_what_is_held() -> None:
    """But for what text does not have: each node's own part, specialised memory, kinds of devices."""

    def run(arguments: Any, timeout: float) -> Result:
        if arguments == ("scontrol", "--version"):
            return Result(0, "slurm 26.05.3")
        if "--json" in arguments:
            return Result(1, "", "unrecognized option '--json'")
        return Recorded()(arguments, timeout)

    text, other_form = Reader(run, 1.0).cluster(), Reader(Recorded(), 1.0).cluster()
    for one, other in zip(
        sorted(text[0], key=lambda j: j.name), sorted(other_form[0], key=lambda j: j.name), strict=True
    ):
        assert (one.name, one.state, one.sharing, one.limit) == (
            other.name,
            other.state,
            other.sharing,
            other.limit,
        )
        assert (one.licences, one.held, one.requeue) == (other.licences, other.held, other.requeue)
        assert set(one.parts) == set(other.parts)
        if one.name != "2":
            assert one.parts == other.parts
    assert [(n.name, n.capacity, n.schedulable or n.name == "n7") for n in text[1]] == [
        (n.name, n.capacity, n.schedulable or n.name == "n7") for n in other_form[1]
    ], "text shows a reserved node as allocated; sinfo -T tells"


# Nodes that backfill has planned; PRIORITY


def test_planned_nodes_take_work_until_then() -> None:
    """n4 is idle, n1 and n3 have room, and are planned for later; n2 is full."""
    for nodes in (nodes_of_json(MORE["planned-nodes.json"]), nodes_of_text(MORE["planned-sinfo.txt"])):
        assert [node.schedulable for node in nodes] == [True] * 4


@pytest.mark.parametrize("word", ["blocked", "reserved", "maint", "inval", "planned*", "drained"])
def test_nodes_that_take_none(word: str) -> None:
    text = MORE["planned-sinfo.txt"].replace("|planned|", f"|{word}|")
    assert [node.name for node in nodes_of_text(text) if not node.schedulable] == ["n4"]


def test_modes_that_have_no_words() -> None:
    """PreemptMode=REQUEUE,WITHIN,PRIORITY is printed as WITHIN,UNKNOWN."""
    notes: list[str] = []
    settings = read_shown(MORE["within-priority-config.txt"], notes=notes)
    assert settings["PreemptMode"] == "REQUEUE,WITHIN,PRIORITY"
    assert ["REQUEUE is taken" in note for note in notes] == [True]
    notes.clear()
    partitions = read_partitions(MORE["within-priority-partition.txt"], notes=notes)
    assert {name: row["PreemptMode"] for name, row in partitions.items()} == {
        "low": "PRIORITY",  # alone: its own jobs have no mode
        "mid": "PRIORITY,CANCEL",
        "high": "OFF",
    }
    assert notes == []
    inherits = MORE["within-priority-partition.txt"].replace(
        "PreemptMode=PRIORITY ", "PreemptMode=WITHIN,UNKNOWN "
    )
    assert read_partitions(inherits)["low"]["PreemptMode"] is None
    eh.policies.Slurm(partitions=partitions, **settings)


def test_partitions_for_one_user_or_block() -> None:
    line = "PartitionName={} Nodes=n1 {} PriorityTier=1 OverSubscribe=NO\n"
    words = {"a": "Exclusive=USER", "b": "Exclusive=TOPO", "c": "Exclusive=MCS", "d": "Exclusive=NODE"}
    words |= {
        "e": "Exclusive=NO",
        "f": "ExclusiveUser=YES",
        "g": "ExclusiveUser=NO",
        "h": "ExclusiveTopo=YES",
    }
    text = "".join(line.format(name, word) for name, word in words.items())
    assert sharing_of(text) == {"a": "USER", "b": "TOPO", "c": "MCS", "f": "USER", "h": "TOPO"}
    notes: list[str] = []
    read = read_partitions(text, notes=notes)
    assert {name: row["OverSubscribe"] for name, row in read.items()} == {
        name: "EXCLUSIVE" if name == "d" else "NO" for name in words
    }
    assert len(notes) == 5


def test_nodes_of_one_user_take_no_other_work() -> None:
    """Job 1 runs in a partition of which each node is for one user's jobs, and with that on n1."""
    runner = Recorded()
    key = ("scontrol", "-o", "show", "partition")
    runner.answers[key] = runner.answers[key].replace(
        "Exclusive=NO GraceTime=30", "Exclusive=USER GraceTime=30"
    )
    slurm = Slurm(runner=runner, clock=lambda: NOW)
    data = slurm.snapshot(released=["13", "21"]).to_dict()
    assert {n["name"] for n in data["nodes"] if n.get("schedulable", True)} == set()
    assert slurm.left_out == {"nodes for one user": ["21"]}
