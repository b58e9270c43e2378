"""What a policy says that it reads of a snapshot is what its plans depend on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st

import evenhand as eh
from evenhand.fields import TABLES
from evenhand.policies import BackendAI, GridEngine, Slurm, YTsaurus, YuniKorn
from evenhand.systems import SYSTEMS, System
from evenhand.testing import strategies as es
from evenhand.testing.strategies._perturbing import FIELDS, enriched, perturbed
from evenhand.testing.strategies._picking import Pick, picks
from tests.drawing import drawn as sample
from tests.drawing import examples
from tests.properties.pace import drawn_pace
from tests.properties.reading import ASIDE, WITNESSES

DRAWN = examples()
MOST = 5000
"""A search ends as soon as all is found, mostly after 200: so many are drawn only if something is wrong."""
AT_ONCE = 60
"""So many are drawn before they are looked at: mostly a few are enough."""
TOGETHER = 4
NOT_TRIED = {("operations", "demand"), ("reservations", "allocation")}
NOT_SEEN = {
    "nodes.physical": "seldom drawn",
    "requests.preemptible": "passed on to what starts",
}
"""Why a field may be read and yet change no drawn plan; it has a test below, or is shared code."""


class Drawn(NamedTuple):
    """A snapshot in the file format, with what else a plan is made of."""

    data: dict[str, Any]
    policy: Any
    state: Any = None
    on: Any = None
    given: Any = None


def _ytsaurus() -> st.SearchStrategy[Drawn]:
    def made(both: tuple[Any, Any]) -> Drawn:
        x, shares = both
        policy = YTsaurus(**{**x.settings.model_dump(), "fair_share": shares})
        state = eh.State.from_dict(x.state) if x.state else None
        return Drawn(x.snapshot, policy, state, x.on, x.given)

    return st.tuples(es.plan_inputs(), es.fair_share_settings()).map(made)


def _slurm() -> st.SearchStrategy[Drawn]:
    found = st.one_of(es.slurm_settings(), es.slurm_settings(SchedulerType="sched/backfill"))
    drawn = st.tuples(es.job_clusters(), found, picks(96))
    return drawn.map(lambda x: _paced(x[0], Slurm(**x[1].model_dump()), x[2]))


def _backendai() -> st.SearchStrategy[Drawn]:
    drawn = st.tuples(es.session_groups(), es.backendai_settings(), picks(96))
    return drawn.map(lambda x: _paced(x[0], BackendAI(**x[1].model_dump()), x[2]))


def _paced(data: dict[str, Any], policy: Any, pick: Pick) -> Drawn:
    """Every other draw has a pace."""
    if pick((False, True)):
        return Drawn(data, policy)
    data, pace, kept = drawn_pace(data, pick)
    return Drawn(data, policy.replace(pace=pace), eh.State.from_dict(kept))


def _yunikorn() -> st.SearchStrategy[Drawn]:
    def made(x: tuple[dict[str, Any], Any, Pick]) -> Drawn:
        one = _paced(x[0], YuniKorn(**x[1].model_dump()), x[2])
        return one._replace(on=eh.Cycle(x[2](("preemption", "both", "allocation", "quota"))))

    return st.tuples(es.queue_partitions(), es.yunikorn_settings(), picks(96)).map(made)


def _gridengine() -> st.SearchStrategy[Drawn]:
    def made(x: tuple[dict[str, Any], Any, Pick]) -> Drawn:
        one = _paced(x[0], GridEngine(**x[1].model_dump()), x[2])
        if x[2](range(4)):
            return one
        jobs = [row["operation"] for row in x[0]["allocations"]]
        asked = {"consumer": x[0]["requests"][0]["operation"], "user": "ann", "action": x[2](("T", "C", "R"))}
        return one._replace(on=eh.Commands(({**asked, "providers": [x[2](jobs)]},)))

    return st.tuples(es.gridengine_clusters(), es.gridengine_settings(), picks(100)).map(made)


STRATEGIES = {
    "ytsaurus": _ytsaurus,
    "slurm": _slurm,
    "backendai": _backendai,
    "yunikorn": _yunikorn,
    "gridengine": _gridengine,
}
WORDS = {"partition": ["low", "mid", "high"], "qos": ["bronze", "silver", "gold"]}


def drawn(system: str, count: int, rng: random.Random) -> Iterator[tuple[Drawn, Any]]:
    """Yield varied snapshots and their plans: what the strategy draws, and then some other fields changed."""
    strategy = STRATEGIES[system]()
    for start in range(0, count, AT_ONCE):
        for one in sample(strategy, min(AT_ONCE, count - start), start=start):
            one = one._replace(data=enriched(one.data, rng))
            said = None
            for _ in range(4):
                other = one._replace(data=perturbed(one.data, rng.sample(sorted(FIELDS), 3), rng, WORDS))
                found = essence(other)
                if found is not None:
                    one, said = other, found
            said = essence(one) if said is None else said
            if said is not None:
                yield one, said


def essence(one: Drawn) -> Any:
    """All that a plan says but for its diagnostics and texts; None if the snapshot is invalid."""
    try:
        snapshot = eh.Snapshot.from_dict(one.data)
        plan = eh.plan(snapshot, one.policy, one.state, on=one.on, given=one.given)
    except eh.InputError:
        return None
    said = {
        "decisions": plan.decisions.to_list(),
        "refusals": plan.refusals.to_list(),
        "statuses": plan.job_states.to_dict() or plan.statuses.to_dict(),
        "groups": plan.groups.to_dict(),
        "state": plan.state.to_dict(),
    }
    for refusal in said["refusals"]:
        refusal.pop("message", None)  # rule and numbers in words, with units
    if one.policy.system == "ytsaurus":
        said["shares"] = plan.shares.to_dict()["elements"]
    return said


def reads(system: str) -> set[tuple[str, str]]:
    return {(table, name) for table, names in SYSTEMS[system].reads.items() for name in names} & set(FIELDS)


def changes_nothing(
    one: Drawn, expected: Any, fields: list[tuple[str, str]], rng: random.Random
) -> list[tuple[str, str]]:
    """Change fields together, and in halves where that makes no valid snapshot; return those changed."""
    data, changed = one.data, []
    for field in fields:
        other = perturbed(data, [field], rng, WORDS)
        if other != data:
            data, changed = other, [*changed, field]
    found = essence(one._replace(data=data)) if changed else None
    if found is not None:
        assert found == expected, changed
        return changed
    if len(changed) < 2:
        return []
    half = len(changed) // 2
    return [
        field
        for part in (changed[:half], changed[half:])
        for field in changes_nothing(one, expected, part, rng)
    ]


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_is_not_read_changes_nothing(system: str) -> None:
    rng = random.Random(9)
    tried = dict.fromkeys(sorted(set(FIELDS) - reads(system)), 0)
    for i, (one, expected) in enumerate(drawn(system, MOST, rng)):
        if i >= DRAWN and all(times for field, times in tried.items() if field not in NOT_TRIED):
            break
        read = {(table, name) for table, names in one.policy.reads.items() for name in names}
        some = [field for field in sorted(set(FIELDS) - read) if rng.random() < 0.4]
        for i in range(0, len(some), TOGETHER):
            for field in changes_nothing(one, expected, some[i : i + TOGETHER], rng):
                tried[field] = tried.get(field, 0) + 1
    assert {field for field, times in tried.items() if not times} <= NOT_TRIED
    # What only some settings read was tried with others, too.
    assert {(system, *key) for key in SYSTEMS[system].only_if} <= {(system, *f) for f in tried} | set(ASIDE)


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_is_read_matters(system: str) -> None:
    rng = random.Random(5)
    by_hand = {(table, field) for of, table, field in WITNESSES if of == system}
    wanted = {(table, name) for table, name in reads(system) - by_hand if f"{table}.{name}" not in NOT_SEEN}
    for one, expected in drawn(system, MOST, rng):
        if not wanted:
            break
        for field in sorted(wanted):
            other = one._replace(data=perturbed(one.data, [field], rng, WORDS))
            found = essence(other)
            if found is not None and found != expected:
                wanted.discard(field)
    assert wanted == set()


@pytest.mark.parametrize("case", WITNESSES, ids="-".join)
def test_a_field_that_seldom_matters(case: tuple[str, str, str]) -> None:
    _, table, field = case
    policy, one, other = WITNESSES[case]
    assert field in policy.reads[table]
    before, after = essence(Drawn(one, policy)), essence(Drawn(other, policy))
    assert before is not None
    assert after is not None
    assert before != after


@pytest.mark.parametrize("case", ASIDE, ids="-".join)
def test_a_field_that_settings_leave_aside(case: tuple[str, str, str]) -> None:
    system, table, field = case
    policy, one, other = ASIDE[case]
    assert field not in policy.reads[table]
    assert field in SYSTEMS[system].reads[table]
    assert essence(Drawn(one, policy)) == essence(Drawn(other, policy))


def test_logical_nodes_are_checked() -> None:
    data = {
        "resources": {"cpu": {}},
        "nodes": [
            {"name": "host", "capacity": {"cpu": 4}},
            {"name": "part", "capacity": {"cpu": 5}, "physical": "host"},
        ],
    }
    assert essence(Drawn(data, YTsaurus())) is not None
    assert essence(Drawn(data, Slurm())) is not None
    with pytest.raises(eh.InputError, match="logical"):
        eh.plan(eh.Snapshot.from_dict(data), BackendAI())


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_starts_may_be_spared(system: str) -> None:
    data = {
        "now": 10,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "operations": [{"name": "o"}],
        "requests": [{"name": "r", "operation": "o", "resources": {"cpu": 1}, "preemptible": False}],
    }
    snapshot = eh.Snapshot.from_dict(data)
    after = snapshot.after(eh.plan(snapshot, SYSTEMS[system].policy()))
    assert [row["preemptible"] for row in after.to_dict()["allocations"]] == [False]


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.word)
def test_the_record_has_no_field_that_is_none(system: System) -> None:
    for table, fields in system.reads.items():
        assert set(fields) <= set(TABLES[table].names)
        assert all(fields.values())
    for table, field in system.only_if:
        assert field in system.reads[table]
