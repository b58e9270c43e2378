"""Plans that reserve, suspend and resume, carried out on a living cluster."""

from __future__ import annotations

import pytest

import evenhand as eh
from evenhand.cluster.events import End, Start
from tests.unit.slurm.test_plan import TIERS, cluster, policy, said

GANG = policy(
    "SUSPEND,GANG", partitions={name: {**tier, "OverSubscribe": "FORCE:1"} for name, tier in TIERS.items()}
)


def test_reserved_room_waits_until_the_victims_have_gone() -> None:
    live = eh.Cluster(cluster({"wide": ("low", [1, 2], 4)}))
    plan = live.plan(policy())
    assert [d.action for d in plan.decisions] == ["preempt", "preempt", "reserve"]
    done = live.carry_out(plan)
    assert (done.started, done.ended, set(done.requeued)) == ((), (), {"wide@n1", "wide@n2"})
    assert live.snapshot() == plan.snapshot.after(plan)
    (reserved,) = live.snapshot().to_dict()["reservations"]
    assert (reserved["request"], reserved["node"], reserved["soft"]) == ("p-r", "n1", True)
    assert said(live.plan(policy())) == []
    live.apply([End("wide@n1"), End("wide@n2")])
    started = live.plan(policy())
    assert said(started) == [("start", "p-r", "n1", None)]
    assert live.carry_out(started).started == ("p-r/1",)
    assert live.usage("p")["cpu"] == 4
    assert not live.snapshot().to_dict().get("requests")


def test_suspended_jobs_go_on_when_their_room_is_free() -> None:
    live = eh.Cluster(cluster({"j": ("low", [1], 4)}, {"cpu": 4, "memory": 4}, nodes=1))
    plan = live.plan(GANG)
    done = live.carry_out(plan)  # the suspended job stays
    assert (done.started, done.ended, done.requeued) == (("p-r/1",), (), ())
    assert live.snapshot() == plan.snapshot.after(plan)
    states = {a["name"]: a.get("state", "running") for a in live.snapshot().to_dict()["allocations"]}
    assert states == {"j@n1": "preempted", "p-r/1": "running"}
    assert live.usage("j") == {"cpu": 0, "memory": 4, "lic": 0}
    assert said(live.plan(GANG)) == []
    live.apply([End("p-r/1")])
    resumed = live.plan(GANG)
    assert said(resumed) == [("resume", "j@n1", "n1", None)]
    assert live.carry_out(resumed).started == ("j@n1",)
    assert live.snapshot() == resumed.snapshot.after(resumed)
    assert live.usage("j") == {"cpu": 4, "memory": 4, "lic": 0}
    assert said(live.plan(GANG)) == []


def test_cancelled_jobs_are_named_as_ended() -> None:
    live = eh.Cluster(cluster({"j": ("low", [1], 4)}, {"cpu": 4, "memory": 4}, nodes=1))
    done = live.carry_out(live.plan(policy("CANCEL")))
    assert (done.started, done.ended, done.requeued) == ((), ("j@n1",), ())


@pytest.mark.parametrize("of", ["reserve", "resume"])
def test_an_old_plan_is_carried_out_as_long_as_it_can_be(of: str) -> None:
    live = eh.Cluster(cluster({"j": ("low", [1], 4)}, {"cpu": 4, "memory": 4}, nodes=1))
    rules = policy() if of == "reserve" else GANG
    if of == "resume":
        live.carry_out(live.plan(rules))
        live.apply([End("p-r/1")])
    plan = live.plan(rules)
    assert of in {d.action for d in plan.decisions}
    live.apply([Start({"name": "x", "operation": "p", "resources": {"cpu": 1}})])
    late = live.copy()
    live.carry_out(plan)
    expected = plan.snapshot.after(plan).to_dict()
    found = live.snapshot().to_dict()
    found["allocations"] = [row for row in found["allocations"] if row["name"] != "x"]
    assert found == expected
    late.apply([End("j@n1")])
    before = late.snapshot()
    with pytest.raises(eh.InputError, match="there is no allocation 'j@n1'"):
        late.carry_out(plan)
    assert late.snapshot() == before
