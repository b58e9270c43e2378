"""What holds of clusters that have lived through 200 events, for every system."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import strategies as st

import evenhand as eh
from evenhand.testing import strategies as es
from tests.drawing import drawn, examples
from tests.properties.histories import History
from tests.properties.test_live_histories import afresh, applied, elsewhere, heartbeats, planned

EVENTS = 200
SYSTEMS = {
    "ytsaurus": (eh.policies.YTsaurus, es.crowded_dicts(), es.ytsaurus_settings()),
    "backendai": (eh.policies.BackendAI, es.session_groups(), es.backendai_settings()),
    "slurm": (eh.policies.Slurm, es.job_clusters(), es.slurm_settings()),
}
codes = st.binary(min_size=5 * EVENTS, max_size=5 * EVENTS)


def happens(cluster: eh.Cluster, rows: History, drawn: list[bytes]) -> None:
    """Let events happen in a cluster and to rows that are edited by hand; both refuse the same."""
    for code in drawn:
        happening = rows.event(code)
        if happening is None:
            continue
        trial = rows.copied()
        trial.happens(happening)
        if problems := applied(cluster, [happening]):
            assert afresh(trial) is None, (happening, problems)
        else:
            rows.happens(happening)


def nothing_before_due(cluster: eh.Cluster, policy: Any, plan: Any) -> bool:
    """Look in between: nothing is decided as long as nothing happens. Return whether there was anything."""
    now, due = cluster.now, plan.next_due
    if len(plan.decisions):
        assert due == now
    if due == now:
        return False
    waiting, last = cluster.copy(), now + 1000 if due is None else due - 1e-6
    for instant in ((now + last) / 2, last):
        if instant > waiting.now:
            waiting.apply([{"event": "time", "now": instant}])
            assert len(waiting.plan(policy).decisions) == 0, (now, due, instant)
    return True


def lives(data: dict[str, Any], policy: Any, drawn: bytes, seed: int) -> tuple[int, int]:
    """Let a history happen, and ask the cluster after every 20 events.

    Returns
    -------
    decisions, waits
        How many decisions were compared, and how often nothing was decided for a while.
    """
    rows = History(eh.Snapshot.from_dict(data).to_dict())
    cluster = eh.Cluster(eh.Snapshot.from_dict(rows.data))
    chance = random.Random(seed)
    decisions = waits = 0
    events = [drawn[i : i + 5] for i in range(0, len(drawn), 5)]
    for first in range(0, EVENTS, 20):
        batch = events[first : first + 20]
        mark = cluster.mark()
        if chance.random() < 0.5:  # undone = never done
            happens(cluster, rows.copied(), batch[::-1])
            planned(lambda: cluster.plan(policy))
            cluster.undo(mark)
        del mark
        happens(cluster, rows, batch)
        if chance.random() < 0.3:
            planned(lambda: cluster.update(policy) or cluster.plan(policy))
            happens(cluster, rows, [bytes(chance.randrange(256) for _ in range(5)) for _ in range(4)])
            on = heartbeats(cluster.snapshot(), policy, chance)
            # Saved and loaded = continued, between an update and the heartbeats that use it.
            again = [elsewhere(cluster, way) for way in (1, 2)]
            said = planned(lambda: cluster.plan(policy, on=on))  # noqa: B023
            for other in again:
                assert planned(lambda: other.plan(policy, on=on)) == said  # noqa: B023
        snapshot, other = afresh(rows), elsewhere(cluster, chance.randrange(1, 3))
        assert snapshot is not None
        assert cluster.snapshot() == other.snapshot() == snapshot
        state = cluster.state(policy)
        said = planned(lambda: cluster.plan(policy))
        # Live = frozen; and incremental = full, as the other one's planner is new.
        assert said == planned(lambda: eh.plan(snapshot, policy, state))  # noqa: B023
        assert said == planned(lambda: other.plan(policy))  # noqa: B023
        if said.startswith("{"):
            plan = cluster.plan(policy)
            decisions += len(plan.decisions)
            waits += nothing_before_due(cluster, policy, plan)
    return decisions, waits


@pytest.mark.parametrize("system", SYSTEMS)
def test_laws(system: str) -> None:
    make, data, settings = SYSTEMS[system]
    decisions = waits = 0
    for case in drawn(st.tuples(data, settings, codes, st.integers(0, 99)), max(4, examples(1 / 25))):
        policy = make(**case[1].model_dump())
        found = lives(case[0], policy, *case[2:])
        decisions, waits = decisions + found[0], waits + found[1]
    assert min(decisions, waits) > 0
