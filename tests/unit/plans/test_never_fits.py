"""What can never start is found by what its system reads, and by nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.plans.hopeless import reasons_never_to_start
from evenhand.systems import SYSTEMS
from evenhand.testing import strategies as es

EVERY = pytest.mark.parametrize("system", SYSTEMS)
WHOLE = {word for word, system in SYSTEMS.items() if system.preempts_operations}
LIMITED = {"ytsaurus", "yunikorn"}
NODES = [
    {"name": "n1", "capacity": {"cpu": 4, "gpu": 0}, "tags": ["x", "y"]},
    {"name": "n2", "capacity": {"cpu": 2, "gpu": 4}, "schedulable": False},
]


def snapshot(system: str, nodes: Any = NODES, **request: Any) -> eh.Snapshot:
    pools = [{"name": "top", "limits": {"cpu": 3}}, {"name": "p", "parent": "top"}, {"name": "q"}]
    pool = request.pop("pool", "q")
    return eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {}, "gpu": {}, "licence": {"scope": "cluster", "capacity": 2}},
            "nodes": nodes,
            "pools": pools,
            "operations": [{"name": "o", "pool": pool, "limits": request.pop("limits", {})}],
            "requests": [{"name": "r", "operation": "o", **request}],
        }
    )


CASES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "as much as the largest": ({"resources": {"cpu": 4}}, set()),
    "one more": ({"resources": {"cpu": 5}}, set(SYSTEMS)),
    "a node that is drained": ({"resources": {"gpu": 4}}, set()),
    "of two nodes": ({"resources": {"cpu": 3, "gpu": 1}}, set(SYSTEMS)),
    "a tag": ({"resources": {"cpu": 4}, "node_tags": ["x", "y"]}, set()),
    "a tag of the smaller": ({"resources": {"gpu": 1}, "node_tags": ["x"]}, set(SYSTEMS)),
    "one of two tags": ({"resources": {"cpu": 1}, "node_tags": ["x", "z"]}, set(SYSTEMS)),
    "a tag of none": ({"resources": {"cpu": 1}, "node_tags": ["z"]}, set(SYSTEMS)),
    "a node": ({"resources": {"cpu": 2}, "required_node": "n2"}, set()),
    "a smaller node": ({"resources": {"cpu": 3}, "required_node": "n2"}, set(SYSTEMS)),
    "copies": ({"resources": {"cpu": 2}, "count": 3}, set()),
    "one copy more": ({"resources": {"cpu": 2}, "count": 4}, WHOLE),
    "licences": ({"resources": {"cpu": 1, "licence": 2}}, set()),
    "a licence more": ({"resources": {"cpu": 1, "licence": 3}}, set(SYSTEMS)),
    "a limit of a pool": ({"resources": {"cpu": 3}, "pool": "p"}, set()),
    "more than that": ({"resources": {"cpu": 4}, "pool": "p"}, LIMITED),
    "a limit of its own": ({"resources": {"cpu": 2}, "limits": {"cpu": 2}}, set()),
    "more than its own": ({"resources": {"cpu": 3}, "limits": {"cpu": 2}}, {"ytsaurus"}),
    "no limit of this": ({"resources": {"cpu": 3}, "limits": {"gpu": 0}}, set()),
}


@pytest.mark.parametrize("case", CASES)
@EVERY
def test_what_each_system_reads_decides(system: str, case: str) -> None:
    request, never = CASES[case]
    found = snapshot(system, **request)
    policy = SYSTEMS[system].policy()
    said = [d for d in eh.plan(found, policy).diagnostics if d.code == "never_fits"]
    assert bool(said) == (system in never)
    if said:
        assert said[0].elements == ("o",)
        assert said[0].numbers["names"] == ["r"]
        assert said[0].message.startswith("1 of 1 requests can never start (r): 1 needs more ")


def test_they_are_counted_and_the_first_are_named() -> None:
    rows = [{"name": f"r{i}", "operation": "o", "resources": {"cpu": 5 if i < 7 else 1}} for i in range(9)]
    rows.append({"name": "s", "operation": "p", "resources": {"cpu": 1}, "count": 9})
    found = eh.Snapshot.from_dict(
        {
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
            "operations": [{"name": "o"}, {"name": "p"}],
            "requests": rows,
        }
    )
    (said,) = [d for d in eh.plan(found, eh.policies.Slurm()).diagnostics if d.code == "never_fits"]
    assert said.message == (
        "8 of 10 requests can never start (r0, r1, r2, r3, r4, ...): 7 need more than any node has on which"
        " they may run; 1 needs more room at once than all nodes have."
    )
    numbers = {"requests": 8, "of": 10, "names": ["r0", "r1", "r2", "r3", "r4"], "node": 7, "copies": 1}
    assert dict(said.numbers) == numbers
    assert said.elements == ("o", "p")


@EVERY
def test_a_run_says_it_too(system: str) -> None:
    """By the most that nodes ever have; what waits at the beginning counts, too."""
    rows = {
        "name": ["a", "b", "c"],
        "resources.cpu": [2, 9, 7],
        "submit_time": [0, 1, 1],
        "run_time": [9] * 3,
    }
    events = {"time": [5], "node": ["n1"], "event": ["capacity"], "capacity.cpu": [8]}
    work = eh.simulate.Workload(rows, nodes=events)
    start = eh.Snapshot.from_dict(
        {
            "now": 0,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
            "operations": [{"name": "old"}],
            "requests": [{"name": "old", "operation": "old", "resources": {"cpu": 10}}],
        }
    )
    result = eh.simulate(start, SYSTEMS[system].policy(), work, until=100)
    (said,) = [d for d in result.diagnostics if d.code == "never_fits"]
    assert (said.code, said.elements) == ("never_fits", ("old", "b"))
    assert repr(result).split("\n")[0].endswith("; 2 requests can never start (diagnostics)>")
    fits = eh.simulate(start.replace(requests=[]), SYSTEMS[system].policy(), work.head(1), until=100)
    assert "never_fits" not in [d.code for d in fits.diagnostics]
    assert "never" not in repr(fits)


@EVERY
@given(data=st.data())
def test_what_is_said_never_to_start_does_not(system: str, data: st.DataObject) -> None:
    """Alone on a cluster that is empty and whole, under the system's own rules."""
    rows = data.draw(es.system_cluster_dicts(system))
    policy = SYSTEMS[system].policy()
    found = eh.Snapshot.from_dict(rows)
    why = reasons_never_to_start(found, policy)
    empty = found.replace(
        allocations=[], reservations=[], nodes=[{**n, "schedulable": True} for n in rows.get("nodes", [])]
    )
    owner = np.asarray(found._core.column("requests", "operation"))
    names = found.names("requests")
    for row in np.flatnonzero(why).tolist():
        alone = [r for r in rows["requests"] if r["operation"] == found.names("operations")[owner[row]]]
        plan = eh.plan(empty.replace(requests=alone), policy, as_if_waiting="1d")
        assert names[row] not in [d.request for d in plan.decisions.starts]
