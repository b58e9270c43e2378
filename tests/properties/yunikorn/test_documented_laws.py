"""The laws of the seed's design hold in the readable reference, whatever the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given, target
from hypothesis import strategies as st

import evenhand as eh
from tests.reference.yunikorn.documented import Rules, reference_plan

RESOURCES = ("cpu", "gpu")
Amounts = dict[str, int]


def amounts(most: int, least: int = 0) -> st.SearchStrategy[Amounts]:
    return st.fixed_dictionaries(dict.fromkeys(RESOURCES, st.integers(least, most)))


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    """Draw two to five queues, some below others, with more asked for than there is."""
    pools: list[dict[str, Any]] = []
    for place in range(draw(st.integers(3, 5))):
        above = draw(st.sampled_from([None, None, None, *(p["name"] for p in pools)])) if pools else None
        pool = {"name": f"q{place}", "parent": above, "strong_guarantee": draw(amounts(6))}
        if draw(st.integers(0, 3)) == 0:
            pool["limits"] = draw(amounts(12, 1))
        pools.append(pool)
    above = {pool["parent"] for pool in pools}
    leaves = [pool["name"] for pool in pools if pool["name"] not in above]
    operations = [
        {"name": f"app{i}", "pool": leaves[i % len(leaves)], "priority": draw(st.integers(0, 2))}
        for i in range(draw(st.integers(2, 6)))
    ]
    names = [op["name"] for op in operations]
    nodes, allocations = [], []
    for place in range(draw(st.integers(1, 3))):
        capacity = draw(amounts(8, 4))
        nodes.append({"name": f"n{place}", "capacity": capacity})
        left = dict(capacity)
        for _ in range(draw(st.integers(3, 9))):
            wanted = {r: min(v, left[r]) for r, v in draw(amounts(3)).items()}
            if not any(wanted.values()):
                continue
            left = {r: left[r] - wanted[r] for r in RESOURCES}
            allocations.append(
                {
                    "name": f"a{len(allocations)}",
                    "operation": draw(st.sampled_from(names[: 1 + len(names) // 2])),
                    "node": f"n{place}",
                    "resources": wanted,
                    "start_time": draw(st.integers(0, 9)),
                    "priority": draw(st.integers(0, 2)),
                    "preemptible": draw(st.booleans()),
                    "originator": draw(st.booleans()),
                }
            )
    requests = [
        {
            "name": f"r{i}",
            "operation": draw(st.sampled_from(names[len(names) // 3 :])),
            "resources": draw(amounts(5, 1)),
            "count": draw(st.integers(1, 3)),
        }
        for i in range(draw(st.integers(1, 4)))
    ]
    return {
        "now": 10,
        "resources": {name: {"quantum": 1} for name in RESOURCES},
        "nodes": nodes,
        "pools": pools,
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
    }


RULES = st.builds(
    Rules,
    ask_candidates=st.integers(1, 3),
    limit=st.sampled_from([None, None, 0.5, {"cpu": 3}]),
    policies=st.sampled_from([("inter_queue",), ("intra_queue",), ("inter_queue", "intra_queue")]),
    cost=st.sampled_from(["default", "live_time", "priority", "kind"]),
)


class Replay:
    """A plan carried out step by step, counted by other means than the reference's."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.pools = {row["name"]: row for row in data["pools"]}
        self.pool_of = {row["name"]: row["pool"] for row in data["operations"]}
        self.allocations = {row["name"]: row for row in data["allocations"]}
        self.requests = {row["name"]: row for row in data["requests"]}
        self.used = {name: dict.fromkeys(RESOURCES, 0) for name in self.pools}
        self.free = {row["name"]: dict(row["capacity"]) for row in data["nodes"]}
        for row in data["allocations"]:
            self.count(self.pool_of[row["operation"]], row["resources"], 1)
            for r in RESOURCES:
                self.free[row["node"]][r] -= row["resources"][r]

    def above(self, pool: str | None) -> list[str]:
        found = []
        while pool is not None:
            found.append(pool)
            pool = self.pools[pool]["parent"]
        return found

    def count(self, pool: str, given_amounts: Mapping[str, int], sign: int) -> None:
        for name in self.above(pool):
            for r in RESOURCES:
                self.used[name][r] += sign * given_amounts[r]

    def fits(self, ask: Mapping[str, Any], node: str, victims: list[dict[str, Any]]) -> bool:
        """Whether an ask fits when victims have gone, on the node and in limits."""
        gone = {r: sum(v["resources"][r] for v in victims) for r in RESOURCES}
        wanted = ask["resources"]
        if any(wanted[r] > self.free[node][r] + gone[r] for r in RESOURCES if wanted[r]):
            return False
        for name in self.above(self.pool_of[ask["operation"]]):
            below = [v for v in victims if name in self.above(self.pool_of[v["operation"]])]
            for r, most in self.pools[name].get("limits", {}).items():
                left = self.used[name][r] - sum(v["resources"][r] for v in below)
                if wanted[r] and left + wanted[r] > most:
                    return False
        return True


@given(clusters(), RULES)
def test_every_law_of_the_design(data: dict[str, Any], rules: Rules) -> None:
    plan = reference_plan(eh.Snapshot.from_dict(data), rules)
    replay = Replay(data)
    victims = list(plan["victims"])
    target(float(len(victims)))
    assert len({v["allocation"] for v in victims}) == len(victims)
    total = dict.fromkeys(RESOURCES, 0)
    size = {r: sum(n["capacity"][r] for n in data["nodes"]) for r in RESOURCES}
    for start in plan["starts"]:
        ask = replay.requests[start["request"]]
        asker = replay.pool_of[ask["operation"]]
        mine = victims[: start["victims"]]
        del victims[: start["victims"]]
        rows = [replay.allocations[v["allocation"]] for v in mine]
        # Sniper: each victim leaves for this ask, on its node; it fits then, and not if one of them stays.
        assert all(
            v["request"] == ask["name"] and row["node"] == start["node"]
            for v, row in zip(mine, rows, strict=True)
        )
        assert replay.fits(ask, start["node"], rows)
        assert not any(replay.fits(ask, start["node"], [v for v in rows if v is not row]) for row in rows)
        for row in rows:
            giver = replay.pool_of[row["operation"]]
            assert row["operation"] != ask["operation"]  # law 3
            if giver == asker:
                assert "intra_queue" in rules.policies
                assert row["priority"] < ask.get("priority", priority_of(data, ask))
            else:
                assert "inter_queue" in rules.policies
        # Laws 2 and 5: who gives was above its guarantee in what it gives, and is not below it after.
        shared = set(replay.above(asker))
        for row in rows:
            replay.count(replay.pool_of[row["operation"]], row["resources"], -1)
        for row in rows:
            for name in set(replay.above(replay.pool_of[row["operation"]])) - shared:
                owed = replay.pools[name]["strong_guarantee"]
                assert all(replay.used[name][r] >= owed[r] for r in RESOURCES if row["resources"][r])
        # Pace: looked at before each ask.
        if isinstance(rules.limit, float):
            assert all(total[r] < rules.limit * size[r] for r in RESOURCES) or len(rules.policies) > 1
        if isinstance(rules.limit, Mapping):
            assert total["cpu"] < rules.limit["cpu"] or len(rules.policies) > 1
        replay.count(asker, ask["resources"], 1)
        for r in RESOURCES:
            total[r] += ask["resources"][r]
            gone = sum(row["resources"][r] for row in rows)
            replay.free[start["node"]][r] -= max(0, ask["resources"][r] - gone)
    assert not victims
    # Missed opportunities are of asks that were tried in vain, once a policy.
    assert all(1 <= count <= len(rules.policies) for count, _ in plan["missed"].values())


def priority_of(data: Mapping[str, Any], ask: Mapping[str, Any]) -> int:
    return int(next(op["priority"] for op in data["operations"] if op["name"] == ask["operation"]))


@given(clusters(), RULES)
def test_an_empty_cluster_has_no_victims(data: dict[str, Any], rules: Rules) -> None:
    empty = {**data, "allocations": []}
    assert not reference_plan(eh.Snapshot.from_dict(empty), rules)["victims"]
