"""Whatever happens to a live cluster: it is as if its snapshot had been built afresh, for every system."""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cluster.kept import kept_of, text_of
from evenhand.testing import strategies as es
from tests.drawing import fewer
from tests.properties.histories import History, histories


def afresh(rows: History) -> eh.Snapshot | None:
    """Build the snapshot of the rows, or None if they break a rule."""
    try:
        return eh.Snapshot.from_dict(rows.data)
    except eh.InputError:
        return None


def applied(cluster: eh.Cluster, events: list[Any]) -> str:
    """Let events happen; what is wrong with them, or an empty text."""
    try:
        cluster.apply(events)
    except eh.InputError as error:
        return str(error)
    return ""


def planned(make: Any) -> str:
    """Return a plan's JSON, or what is wrong with its input."""
    try:
        return str(make().to_json())
    except eh.InputError as error:
        return str(error)


def elsewhere(cluster: eh.Cluster, way: int) -> eh.Cluster:
    """Return the cluster itself, or as it comes back from a file or another process."""
    if way == 1:
        kept = kept_of(json.loads(text_of(cluster._kept())))
        assert kept == cluster._kept()
        return eh.Cluster._made_of(kept)
    return pickle.loads(pickle.dumps(cluster)) if way == 2 else cluster  # type: ignore[no-any-return]


def sound(rows: History, events: list[Any]) -> bool:
    """Whether there is a snapshot after each of the events."""
    trial = rows.copied()
    for happening in events:
        trial.happens(happening)
        if afresh(trial) is None:
            return False
    return True


def live(data: dict[str, Any], drawn: list[list[bytes]], policy: Any, seed: int) -> None:
    """Let a history happen, batch by batch, and hold the cluster against rows that are edited by hand."""
    rows = History(eh.Snapshot.from_dict(data).to_dict())
    cluster = eh.Cluster(eh.Snapshot.from_dict(rows.data))
    chance = random.Random(seed)
    for batch in drawn:
        trial, events = rows.copied(), []
        for code in batch:
            happening = trial.event(code)
            if happening is None:
                continue
            trial.happens(happening)
            events.append(happening)
        problems = applied(cluster, events)
        if problems:
            assert not sound(rows, events), (events, problems)
            event("refused")
        else:
            rows = trial
            for happening in events:
                event(f"{type(happening).__name__} {getattr(happening, 'table', '')}")
        built = afresh(rows)
        assert built is not None, events
        if chance.random() < 0.5:
            continue
        snapshot = cluster.snapshot()
        assert snapshot.to_dict() == built.to_dict()
        assert snapshot == built
        for operation in snapshot.names("operations"):
            again = eh.Cluster(built)
            assert cluster.usage(operation) == again.usage(operation)
        cluster = elsewhere(cluster, chance.randrange(4))
        before = cluster.copy()
        found = planned(lambda: cluster.plan(policy))  # noqa: B023
        assert found == planned(lambda: eh.plan(built, policy, before.state(policy)))  # noqa: B023
    assert cluster.snapshot() == afresh(rows)


def heartbeats(snapshot: eh.Snapshot, policy: Any, chance: random.Random) -> Any:
    """Draw what a plan is made on: the policy's own trigger, one heartbeat, or several."""
    names = snapshot.names("nodes")
    if policy.period is None or not names or chance.random() < 0.2:
        return None
    drawn = [eh.Heartbeat(chance.choice(names)) for _ in range(chance.randrange(1, 4))]
    return drawn if len(drawn) > 1 else drawn[0]


def step(cluster: eh.Cluster, rows: History, drawn: list[bytes], policy: Any, chance: random.Random) -> str:
    """Let events happen, perhaps update, and plan; what the plan says, or what is wrong."""
    for code in drawn:
        happening = rows.event(code)
        if happening is None:
            continue
        if not applied(cluster, [happening]):  # what it takes wrongly makes no snapshot below
            rows.happens(happening)
    try:
        if chance.random() < 0.4:
            cluster.update(policy)
        plan = cluster.plan(policy, on=heartbeats(cluster.snapshot(), policy, chance))
    except eh.InputError as error:
        return str(error)
    quick = [d.to_dict() for d in plan.decisions]
    entire = plan.to_dict()
    assert quick == entire["decisions"]
    assert plan.snapshot == afresh(rows)
    assert cluster.state(policy) == plan.state
    return json.dumps(entire)


def heard(data: dict[str, Any], drawn: list[list[bytes]], policy: Any, seed: int) -> None:
    """Update now and then, and plan on heartbeats between: whoever goes away and comes back says the same."""
    rows = History(eh.Snapshot.from_dict(data).to_dict())
    cluster = eh.Cluster(eh.Snapshot.from_dict(rows.data))
    chance = random.Random(seed)
    for batch in drawn:
        mark, place = cluster.mark(), chance.getrandbits(32)
        other = elsewhere(cluster, chance.randrange(1, 3)) if chance.random() < 0.5 else cluster.copy()
        for _ in range(chance.randrange(2)):
            step(cluster, rows.copied(), batch[::-1], policy, random.Random(place + 1))
            cluster.undo(mark)
        del mark
        before = rows.copied()
        said = step(cluster, rows, batch, policy, random.Random(place))
        assert said == step(other, before, batch, policy, random.Random(place))
        assert cluster.snapshot() == other.snapshot() == afresh(rows)
        assert cluster.state(policy) == other.state(policy)


for_all = pytest.mark.parametrize("law", [live, heard])
# Longer histories are in test_long_histories.py; at night there is time for as many as elsewhere.
few = fewer(0.5)


@for_all
@few
@given(data=es.crowded_dicts(), settings=es.ytsaurus_settings(), drawn=histories, seed=st.integers(0, 99))
def test_ytsaurus(data: dict[str, Any], settings: Any, drawn: list[list[bytes]], seed: int, law: Any) -> None:
    law(data, drawn, eh.policies.YTsaurus(**settings.model_dump()), seed)


@for_all
@few
@given(data=es.session_groups(), settings=es.backendai_settings(), drawn=histories, seed=st.integers(0, 99))
def test_backendai(
    data: dict[str, Any], settings: Any, drawn: list[list[bytes]], seed: int, law: Any
) -> None:
    law(data, drawn, eh.policies.BackendAI(**settings.model_dump()), seed)


@for_all
@few
@given(data=es.job_clusters(), settings=es.slurm_settings(), drawn=histories, seed=st.integers(0, 99))
def test_slurm(data: dict[str, Any], settings: Any, drawn: list[list[bytes]], seed: int, law: Any) -> None:
    law(data, drawn, eh.policies.Slurm(**settings.model_dump()), seed)


@for_all
@few
@given(
    data=es.gridengine_clusters(),
    settings=es.gridengine_settings(licences=False),
    drawn=histories,
    seed=st.integers(0, 99),
)
def test_gridengine(
    data: dict[str, Any], settings: Any, drawn: list[list[bytes]], seed: int, law: Any
) -> None:
    law(data, drawn, eh.policies.GridEngine(**settings.model_dump()), seed)


@for_all
@few
@given(data=es.queue_partitions(), settings=es.yunikorn_settings(), drawn=histories, seed=st.integers(0, 99))
def test_yunikorn(data: dict[str, Any], settings: Any, drawn: list[list[bytes]], seed: int, law: Any) -> None:
    law(data, drawn, eh.policies.YuniKorn(**settings.model_dump()), seed)


@pytest.mark.parametrize("between", [(), ({"event": "time", "now": 1},)])
def test_a_request_that_is_put_twice_is_there_once(between: tuple[Any, ...]) -> None:
    rows: dict[str, Any] = {
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "operations": [{"name": "o"}],
    }
    cluster = eh.Cluster(eh.Snapshot.from_dict(rows))
    z = {"name": "z", "operation": "o", "resources": {"cpu": 1}}
    node = {"name": "m", "capacity": {"cpu": 1}}
    cluster.apply([{"event": "put", "table": "requests", "row": z}])
    put = [{"event": "put", "table": table, "row": row} for table, row in (("nodes", node), ("requests", z))]
    cluster.apply([put[0], *between, put[1]])
    expected = {**rows, "now": len(between), "nodes": [*rows["nodes"], node], "requests": [z]}
    assert cluster.snapshot() == eh.Snapshot.from_dict(expected)
    assert len(cluster.plan(eh.policies.BackendAI()).decisions.starts) == 1
