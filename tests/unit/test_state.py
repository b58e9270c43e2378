"""States: what a file may hold, and what is said of one that does not fit."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.plans.memory import fingerprint, mark, next_state, read_memory
from tests.unit.plans.fake import NO_TIME, POLICY, SECOND, FakePolicy, make

WHOLE: dict[str, Any] = {
    "schema": "evenhand/state/1",
    "time": 100.0,
    "settings": "abc",
    "pools": [{"name": "flow", "accumulated_volume": {"cpu": 1.5}, "last_share_ratio": 0.25}],
    "policy": "def",
    "elements": [
        {"name": "x", "kind": "pool", "since": 40.000001, "starvation": "starving"},
        {"name": "x", "kind": "operation", "since": None, "starvation": "aggressively_starving"},
        {"name": 7, "kind": "operation", "since": -3.5, "starvation": "non_starving"},
    ],
    "nodes": [{"name": "n1", "last_preemptive": 99.5, "overcommitted_since": None}],
}


def test_a_state_is_its_file(tmp_path: Path) -> None:
    state = eh.State.from_dict(WHOLE)
    assert state.to_dict() == WHOLE
    path = tmp_path / "state.json"
    state.save(path)
    assert eh.State.load(path) == state
    assert list(tmp_path.iterdir()) == [path]
    assert state.elements["operation", 7] == {"since": -3.5, "starvation": "non_starving"}


def test_whatever_bit_flips_in_a_file_it_is_refused(tmp_path: Path) -> None:
    path, chance = tmp_path / "state.json", Random(1)
    eh.State.from_dict(WHOLE).save(path)
    written = path.read_bytes()
    for place in range(len(written)):
        flipped = bytearray(written)
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(eh.InputError):
            eh.State.load(path)


def test_a_file_without_a_digest_is_read_and_one_that_was_changed_on_purpose_can_be(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    state = eh.State.from_dict(WHOLE)
    path.write_text(json.dumps(WHOLE, indent=1) + "\n")
    assert eh.State.load(path) == state
    state.save(path)
    written = json.loads(path.read_text())
    assert set(written) == {*WHOLE, "digest"}
    assert eh.State.from_dict(written) == state
    for text in (json.dumps(written), path.read_text().replace("100.0", "100.5")):
        path.write_text(text)
        with pytest.raises(eh.InputError) as error:
            eh.State.load(path)
        assert error.value.problems[0].field == "digest"
    path.write_text(json.dumps({**WHOLE, "time": 100.5}))
    assert eh.State.load(path).time == 100.5


def test_what_is_absent_is_empty() -> None:
    state = eh.State.from_dict({"schema": "evenhand/state/1", "time": 5})
    assert (state.pools, state.elements, state.nodes, state.settings, state.policy) == ({}, {}, {}, "", "")
    assert set(state.to_dict()) == {"schema", "time", "settings", "pools"}, "as before there were plans"


def broken(*path: Any, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(WHOLE)
    inside: Any = data
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (broken("schema", value="evenhand/state/2"), r"state: schema is 'evenhand/state/2'; .*\[schema\]"),
        (broken("extra", value=1), r"state: field 'extra' is unknown \[unknown_field\]"),
        (broken("policy", value=3), r"state: policy is a text, not 3 \[type\]"),
        (broken("elements", value={}), r"state: elements is a list \[type\]"),
        (broken("elements", 0, value=5), r"state\[0\]: an element is an object \[type\]"),
        (broken("operations", value=[5]), r"state\[0\]: an operation is an object \[type\]"),
        (broken("nodes", 0, value=5), r"state\[0\]: a node is an object \[type\]"),
        (broken("elements", 1, "kind", value="pool"), r"state\[1\]: pool 'x' appears twice \[unique\]"),
        (broken("elements", 1, "kind", value="node"), r"state\[1\]: kind is 'node'; .*\[word\]"),
        (broken("elements", 2, "starvation", value=1), r"state\[2\]: starvation is 1; it must be .*\[word\]"),
        (broken("elements", 2, "since", value=100.5), r"state\[2\]: since is 100.5, after .*\[clock\]"),
        (broken("elements", 2, "since", value="x"), r"state\[2\]: since is a number, not 'x' \[type\]"),
        (broken("elements", 2, "until", value=1), r"state\[2\]: field 'until' is unknown \[unknown_field\]"),
        (broken("nodes", 0, "name", value=None), r"state\[0\]: a name is a text or an integer, .*\[type\]"),
        (broken("nodes", 0, "last_preemptive", value=True), r"last_preemptive is a number, not true"),
        (broken("nodes", 0, "last_preemptive", value=200), r"last_preemptive is 200.0, after .*\[clock\]"),
    ],
)
def test_a_wrong_state_is_refused_with_one_message(data: dict[str, Any], message: str) -> None:
    with pytest.raises(eh.InputError, match=message) as caught:
        eh.State.from_dict(data)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("after", [-1e-6, 0.0, 1e-6])
@pytest.mark.parametrize("place", [("elements", 2, "since"), ("nodes", 0, "overcommitted_since")])
def test_a_clock_is_not_after_the_state(place: Any, after: float) -> None:
    data = broken(*place, value=WHOLE["time"] + after)
    if after <= 0:
        assert eh.State.from_dict(data).to_dict() == data
    else:
        with pytest.raises(eh.InputError, match="after the state itself"):
            eh.State.from_dict(data)


@pytest.mark.parametrize("volume", [-1e-9, 0.0, 1e-9])
def test_a_volume_is_not_below_nothing(volume: float) -> None:
    data = broken("pools", 0, "accumulated_volume", "cpu", value=volume)
    if volume >= 0:
        assert eh.State.from_dict(data).to_dict() == data
    else:
        with pytest.raises(eh.InputError, match="below 0"):
            eh.State.from_dict(data)


def test_a_state_goes_on_from_its_own_instant() -> None:
    state = eh.State(100.0)
    for now in (100.0, 100.000001):
        state.check_clock(now)
    with pytest.raises(eh.InputError, match="did its clock run back"):
        state.check_clock(99.999999)


def test_a_state_that_is_replaced_stays_readable_for_whom_it_was(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    eh.State.from_dict(WHOLE).save(path)
    for mode in (0o600, 0o640, 0o664):
        path.chmod(mode)
        eh.State.from_dict(WHOLE).save(path)
        assert path.stat().st_mode & 0o777 == mode


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    text = json.dumps(WHOLE)
    for length in (0, 1, len(text) // 2, len(text) - 1):
        path.write_text(text[:length])
        with pytest.raises(eh.InputError, match=r"state: is not a complete JSON text"):
            eh.State.load(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"time": 100.0', '"time": 1e999', r"state: 1e999 is not a number of JSON, or too large.*\[finite\]"),
        ('"time": 100.0', '"time": -1e999', r"state: -1e999 is not a number .*\[finite\]"),
        ('"time": 100.0', '"time": NaN', r"state: NaN is not a number .*\[finite\]"),
        ('"cpu": 1.5', '"cpu": Infinity', r"state: Infinity is not a number .*\[finite\]"),
        ('"since": -3.5', '"since": -Infinity', r"state: -Infinity is not a number .*\[finite\]"),
        ('"cpu": 1.5', '"cpu": 1.7976931348623159e308', r"too large for one \[finite\]"),
        ('"cpu": 1.5', '"cpu": 1' + "0" * 400, r"accumulated_volume.cpu is too large \[range\]"),
        ('"cpu": 1.5', '"cpu": 1' + "0" * 5000, r"state: is not a complete JSON text: .*\[json\]"),
        ('"time": 100.0', '"time": 100.0, "time": 1.0', r"state: field 'time' appears twice .*\[unique\]"),
        ('"cpu": 1.5', '"cpu": 1.5, "cpu": 1.5', r"state: field 'cpu' appears twice .*\[unique\]"),
        ('"cpu": 1.5', '"a": 1, "b": 2, "b": 3', r"state: field 'b' appears twice .*\[unique\]"),
        ('"name": "n1"', '"name": "n1", "name": "n2"', r"state: field 'name' appears twice .*\[unique\]"),
    ],
)
def test_a_file_whose_numbers_or_fields_are_none(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    text = json.dumps(WHOLE)
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(eh.InputError, match=message) as caught:
        eh.State.load(path)
    assert len(caught.value.problems) == 1
    assert "\n" not in str(caught.value)


def test_the_largest_number_is_one(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps(WHOLE).replace('"cpu": 1.5', '"cpu": 1.7976931348623157e308'))
    assert eh.State.load(path).pools["flow"]["accumulated_volume"] == {"cpu": 1.7976931348623157e308}


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -float("inf")])
def test_numbers_that_are_none_are_refused_wherever_they_come_from(value: float) -> None:
    for path in (("time",), ("pools", 0, "last_share_ratio"), ("nodes", 0, "last_preemptive")):
        with pytest.raises(eh.InputError, match=r"it must be finite \[finite\]"):
            eh.State.from_dict(broken(*path, value=value))


def test_states_written_before_are_read() -> None:
    path = Path(__file__).parents[1] / "data" / "act" / "state.json"
    assert eh.State.load(path).to_dict() == json.loads(path.read_text())


def test_a_state_from_the_future_is_refused() -> None:
    state = make().state
    assert state.time == 100
    early = make().snapshot.replace(now=99)
    with pytest.raises(eh.InputError, match=r"the snapshot is of 99.0, before the state \(100.0\)"):
        read_memory(early, POLICY, state)
    with pytest.raises(eh.InputError, match="did its clock run back"):
        eh.fair_share(early, state=state)


def test_a_plan_remembers_who_is_below_and_when_nodes_tried() -> None:
    plan = make()
    state = plan.state
    assert state.to_dict()["elements"] == [
        {"name": "B", "kind": "operation", "since": 0.0, "starvation": "starving"}
    ]
    assert [node["name"] for node in state.to_dict()["nodes"]] == ["n1", "n2"]
    assert state.to_dict()["nodes"][0] == {
        "name": "n1",
        "last_preemptive": 100.0,
        "overcommitted_since": None,
    }
    assert state.settings == plan.shares.state.settings
    assert state.policy == mark(POLICY) == f"ytsaurus/{fingerprint(POLICY)}"


def test_there_and_back_is_exact() -> None:
    plan = make()
    snapshot = plan.snapshot
    elements, nodes = len(snapshot.element_names), snapshot.node_count
    memory = {
        "since": np.array([NO_TIME, 1, 99 * SECOND + 7, -5, 0][:elements], np.int64),
        "starvation": np.array([0, 1, 2, 0, 1][:elements], np.uint8),
        "last_preemptive": np.array([NO_TIME, 12_345_678, 0][:nodes], np.int64),
        "overcommitted_since": np.array([3, NO_TIME, NO_TIME][:nodes], np.int64),
    }
    state = next_state(snapshot, POLICY, plan.shares.state, memory)
    state = eh.State.from_dict(json.loads(json.dumps(state.to_dict())))
    read, found = read_memory(snapshot, POLICY, state)
    assert found == ()
    for name, column in memory.items():
        assert np.array_equal(read[name], column), name


def test_names_that_left_are_dropped_and_said() -> None:
    state = eh.State.from_dict(WHOLE)
    columns, found = read_memory(make().snapshot, POLICY, state)
    codes = {diagnostic.code: diagnostic for diagnostic in found}
    assert set(codes) == {"state_element_left", "state_node_left", "state_settings_changed"} - {
        "state_node_left"
    }
    assert codes["state_element_left"].elements == ("x", "x", 7)
    assert "3 pools and operations of the state have left" in codes["state_element_left"].message
    assert (columns["since"] == NO_TIME).all()
    assert columns["last_preemptive"][0] == 99_500_000
    gone = broken("nodes", 0, "name", value="n9")
    _, found = read_memory(make().snapshot, POLICY, eh.State.from_dict(gone))
    assert [d.elements for d in found if d.code == "state_node_left"] == [("n9",)]
    assert all(d.code in eh.diagnostics.CODES for d in found)


def test_changed_settings_are_said() -> None:
    state = make().state
    assert read_memory(make().snapshot, POLICY, state)[1] == ()
    other = FakePolicy()
    other.to_dict = lambda: {"policy": "another"}  # type: ignore[method-assign]
    assert [d.code for d in read_memory(make().snapshot, other, state)[1]] == ["state_settings_changed"]


def test_a_nodes_own_clock_stands_before_that_of_the_state() -> None:
    def clock(own: float | None, remembered: float | None) -> float | None:
        full = {"name": "n", "capacity": {"cpu": 1}, "overcommitted_since": own}
        snapshot = eh.Snapshot.from_dict(
            {
                "now": 100,
                "resources": {"cpu": {}},
                "nodes": [full],
                "operations": [{"name": "o"}],
                "allocations": [{"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 2}}],
            }
        )
        policy = eh.policies.YTsaurus(node_overcommit_delay="1h")
        kept = {"last_preemptive": None, "overcommitted_since": remembered}
        state = eh.State(90, nodes={} if remembered is None else {"n": kept})
        return eh.plan(snapshot, policy, state).state.nodes["n"]["overcommitted_since"]

    assert clock(55, None) == 55
    assert clock(None, 20) == 20
    assert clock(55, 20) == 55
    assert clock(None, None) == 100


def test_a_state_says_when_it_was_left() -> None:
    assert repr(eh.State(100.0)) == "<State left at 100 s: nothing is remembered>"
    state = eh.State(1.5, nodes={"n": {"last_preemptive": 1.0, "overcommitted_since": None}})
    assert repr(state) == "<State left at 1.5 s: 1 node>"
