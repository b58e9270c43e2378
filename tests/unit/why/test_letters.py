"""Letters: what those are told in three sentences whose work leaves, or who wait."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import evenhand as eh

#: Whose partition, or queue, is above that of others.
HIGH = ("kept", "u")
TIERS = {
    "low": {"PriorityTier": 1, "OverSubscribe": "FORCE"},
    "high": {"PriorityTier": 10, "OverSubscribe": "FORCE"},
}
SLURM: dict[str, Any] = {"PreemptType": "preempt/partition_prio", "partitions": TIERS}
RESERVED: dict[str, Any] = {"max_reservation": 9, "max_preemptees": 9, "automatic_preemption": True}
GRACE = {"low": {"PriorityTier": 1, "GraceTime": 60}, "high": {"PriorityTier": 10}}


def data(**more: Any) -> dict[str, Any]:
    """A full node of `old`, one of `kept`, and requests of `u` for half of it and of `big` for too much."""
    pools = [{"name": "low"}, {"name": "high", "strong_guarantee": {"cpu": 4}}]
    operations = [
        {"name": name, "priority": priority, "partition": "high" if name in HIGH else "low"}
        for name, priority in (("old", 1), ("kept", 9), ("u", 5), ("big", 4), ("none", 1))
    ]
    return {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}}, {"name": "n2", "capacity": {"cpu": 1}}],
        "pools": pools,
        "operations": [row | {"pool": row["partition"]} for row in operations],
        "allocations": [
            {"name": name, "operation": name[:-2], "node": node, "resources": {"cpu": cpu}, "start_time": 10}
            | {"rerunnable": True, "checkpointable": True}
            for name, node, cpu in (("old-1", "n1", 2), ("old-2", "n1", 2), ("kept-1", "n2", 1))
        ],
        "requests": [
            {"name": "u-r", "operation": "u", "resources": {"cpu": 2}, "reserve": True},
            {"name": "big-r", "operation": "big", "resources": {"cpu": 9}, "order": 2},
        ],
    } | more  # fmt: skip


POLICIES: dict[str, Any] = {
    "slurm": eh.policies.Slurm(**SLURM, PreemptMode="REQUEUE"),
    "slurm: suspended": eh.policies.Slurm(**SLURM, PreemptMode="SUSPEND,GANG"),
    "slurm: grace": eh.policies.Slurm(**{**SLURM, "partitions": GRACE}, PreemptMode="CANCEL"),
    "gridengine": eh.policies.GridEngine(**RESERVED, preemption_action="R"),
    "gridengine: checkpointed": eh.policies.GridEngine(**RESERVED, preemption_action="C"),
    "backendai": eh.policies.BackendAI(),
    "backendai: again": eh.policies.BackendAI(preemption_mode="reschedule"),
    "yunikorn": eh.policies.YuniKorn(mode="sniper"),
    "ytsaurus": eh.policies.YTsaurus(),
}


@cache
def plan(which: str) -> eh.Plan:
    snapshot = eh.Snapshot.from_dict(data())
    if which == "ytsaurus":
        given = {"starvation": {"u": "starving"}, "groups": {"old-2": "preemptible"}}
        return eh.plan(snapshot, POLICIES[which], given=given)
    return eh.plan(snapshot, POLICIES[which])


TIER = "Jobs of partition high (PriorityTier 10) preempt those of partition low (PriorityTier 1)."
LOST = "what it has not saved is lost, and it does not start again by itself."


@pytest.mark.parametrize(
    ("which", "sentences"),
    [
        (
            "slurm",
            (
                "Job old has to leave node n1 to make room for job u.",
                TIER,
                (
                    "It is requeued at once: it waits again and starts anew, from its last"
                    " checkpoint if it writes"
                    " any."
                ),
            ),
        ),
        (
            "slurm: suspended",
            (
                "Job old is stopped on node n1 to make room for job u.",
                TIER,
                "It is suspended and stays in memory there, to resume once it may: none of its work is lost.",
            ),
        ),
        (
            "slurm: grace",
            (
                "Job old has to leave node n1 to make room for job u.",
                TIER,
                f"It is cancelled within 60 s, by 1,060 s (in 60 s): {LOST}",
            ),
        ),
        (
            "gridengine",
            (
                "Job old has to leave node n1 to make room for job u.",
                "Job u has a higher priority (5, and this one 1) and would have to wait otherwise.",
                "It is rescheduled at once: it waits again and starts anew.",
            ),
        ),
        (
            "gridengine: checkpointed",
            (
                "Job old has to leave node n1 to make room for job u.",
                "Job u has a higher priority (5, and this one 1) and would have to wait otherwise.",
                "It is checkpointed at once and waits again, to start from its checkpoint.",
            ),
        ),
        (
            "backendai",
            (
                "Session old has to leave node n1 to make room for session u.",
                "Session u has a higher priority: 5, and this one 1.",
                f"It ends: {LOST}",
            ),
        ),
        (
            "backendai: again",
            (
                "Session old has to leave node n1 to make room for session u.",
                "Session u has a higher priority: 5, and this one 1.",
                "It ends and waits in the queue again: it starts anew, and what it has not saved is lost.",
            ),
        ),
        (
            "yunikorn",
            (
                "Allocation old-1 of application old has to leave node n1 to make room for application u.",
                (
                    "Its queue has more than its ideal share and its guarantee, the asking queue"
                    " less than its"
                    " share."
                ),
                (
                    "It is ended at once: what it has not saved is lost, and its application has to"
                    " ask for it"
                    " again."
                ),
            ),
        ),
        (
            "ytsaurus",
            (
                "Job old-2 of operation old has to leave node n1 to make room for operation u.",
                "Operation u, or a pool above it, starves below its fair share, and this job is preemptible.",
                (
                    "It is to end within 30 s, by 1,030 s (in 30 s), and its operation starts this"
                    " work again: what"
                    " it has not handed over by then is lost."
                ),
            ),
        ),
    ],
)
def test_whose_work_leaves(which: str, sentences: tuple[str, ...]) -> None:
    """What, for whom, by which rule, and what becomes of it; of a job as of what it has."""
    made = plan(which)
    told = made.letter("old")
    assert told.sentences == sentences
    assert [claim.code for claim in told.claims] == [made.decisions.victims[0].reason, "rule", "fate"]
    assert made.letter(made.decisions.victims[0].allocation) == told


@pytest.mark.parametrize(
    ("which", "first"),
    [
        ("slurm", "Job u (2 cpu) did not start: it fits once old-1 and old-2 have left."),
        ("slurm: suspended", "Job u starts on node n1 once old-1 and old-2 are stopped there."),
        ("gridengine", "Job u (2 cpu) did not start: it fits once job old has left for it."),
        ("yunikorn", "Application u starts on node n1 once old-1 has left."),
        ("ytsaurus", "Operation u starts on node n1 once old-2 has left."),
    ],
)
def test_for_whom_it_leaves(which: str, first: str) -> None:
    told = plan(which).letter("u")
    assert told.summary == first
    assert told.sentences[1:] == (("The request stays in the queue.",) if "did not" in first else ())
    assert plan(which).letter("u-r") == told


@pytest.mark.parametrize(
    ("which", "first"),
    [
        (
            "slurm",
            (
                "Job kept was not preempted: its partition high has tier 10, not below tier 10 of"
                " partition high,"
                " in which request u-r of job u waits."
            ),
        ),
        (
            "backendai",
            (
                "Session kept was not preempted for request u-r of session u: its priority (9) is above"
                " preemptible_priority (5); it may be preempted only where that is 9 or more."
            ),
        ),
        (
            "ytsaurus",
            (
                "Job kept-1 of operation kept was not preempted: in the preemptive stage on node n2"
                " allocations of"
                " its group may not be preempted."
            ),
        ),
    ],
)
def test_whose_work_stays(which: str, first: str) -> None:
    """The reason is that of `why`, in the words of the system's users and without marks."""
    made = plan(which)
    told = made.letter("kept")
    assert told.sentences == (first, "None of its work is lost.")
    assert (told.code, told.numbers) == (made.why("kept-1").code, made.why("kept-1").claims[0].numbers)


def test_a_job_leaves_all_its_nodes() -> None:
    nodes = [{"name": name, "capacity": {"cpu": cpu}} for name, cpu in (("n1", 2), ("n2", 1), ("n3", 2))]
    rows = [row | {"node": "n3"} if row["name"] == "old-2" else row for row in data()["allocations"]]
    made = eh.plan(eh.Snapshot.from_dict(data(nodes=nodes, allocations=rows)), POLICIES["slurm"])
    assert made.letter("old").summary == "Job old has to leave nodes n1 and n3 to make room for job u."


def test_of_work_that_was_asked_to_leave_before_nothing_is_promised() -> None:
    rows = [row | {"state": "preempting"} for row in data()["allocations"]]
    made = eh.plan(eh.Snapshot.from_dict(data(allocations=rows)), POLICIES["slurm"])
    assert made.letter("old").sentences == (
        "Job old has been asked to leave already, so it is not asked again.",
    )


def test_what_resumes_what_asks_for_nothing_and_what_is_left_out() -> None:
    rows = [row | {"state": "preempted"} for row in data()["allocations"] if row["name"] == "kept-1"]
    asks = [row | {"count": 0} for row in data()["requests"]]
    jobs = [
        row | {"settings": {"waits_for": "a reservation"} if row["name"] == "none" else {}}
        for row in data()["operations"]
    ]
    snapshot = eh.Snapshot.from_dict(data(allocations=rows, requests=asks, operations=jobs))
    made = eh.plan(snapshot, POLICIES["slurm: suspended"])
    assert made.letter("kept").text == "Job kept resumes on node n2."
    assert made.letter("u").text == "Job u asks for nothing: its count is 0."
    assert made.letter("old").text == "Nothing of job old runs, and nothing of it waits."
    left = made.letter("none")
    assert left.text == "Job none waits, and this plan neither starts it nor preempts for it: a reservation."
    assert (left.table, left.code) == ("operations", "left_out")


def test_names_are_never_taken_for_words() -> None:
    """An operation may be called so."""
    text = data()
    for table in ("operations", "allocations", "requests"):
        for row in text[table]:
            for field in ("name", "operation"):
                row.update({field: "my operation"} if row.get(field) == "u" else {})
    made = eh.plan(eh.Snapshot.from_dict(text), POLICIES["slurm"])
    assert made.letter("old").summary == "Job old has to leave node n1 to make room for job my operation."
    assert "of job my operation waits" in made.letter("kept").summary


def test_a_system_without_words_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = POLICIES["backendai"]
    made = eh.plan(eh.Snapshot.from_dict(data()), policy)
    monkeypatch.setattr(type(policy), "RECORD", replace(policy.RECORD, says={}))
    assert made.letter("old").sentences == (
        "Allocation old-1 of operation old has to leave node n1 to make room for operation u.",
        "A session or job of higher priority is first in the queue and does not fit.",
    )


def test_names_that_are_not_there() -> None:
    with pytest.raises(KeyError, match="among operations, allocations, requests"):
        plan("slurm").letter("nobody")
