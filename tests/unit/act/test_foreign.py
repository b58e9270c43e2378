"""Adapters by other people, handed to a driver as they are: whatever they return, the journal stays whole."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.act.journal import read
from evenhand.adapters.protocol import EVICTIONS, Adapter, AdapterError, Answer, Standing
from evenhand.errors import EvenhandError
from tests.unit.act.test_debts import one_step
from tests.unit.act.world import World

MEMBERS = ("snapshot", "look", "action", "commands", "do", "room")
_STANDING = Standing("1", "running", 0, started=True, owner="ann")
VALUES: list[Any] = [
    None,
    5,
    "requeue",
    True,
    [],
    {},
    ["scontrol requeue 1"],
    [("scontrol", 1)],
    [(Path("x"),)],
]
VALUES += [Answer("fine"), Answer("done", None), {"1": None, "9": None}]  # type: ignore[arg-type]
VALUES += [
    {name: dataclasses.replace(_STANDING, name=name, **change) for name in ("1", "9")}
    for change in (
        *(
            {"state": "queued"},
            {"turn": -1},
            {"turn": None},
            {"turn": 2**70},
            {"turn": True},
            {"owner": 1000},
        ),
        *({"owner": None}, {"detail": b"x"}, {"started": None}, {"held": "no"}, {"requeueable": None}),
    )
]


pytestmark = pytest.mark.usefixtures("quiet")


class Foreign:
    """An adapter of which one member, from its n-th call on, returns something else."""

    def __init__(self, adapter: Adapter, member: str, call: int, value: Any) -> None:
        self._adapter, self._member, self._value, self._left = adapter, member, value, call

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._adapter, name)
        if name != self._member:
            return found

        def answer(*arguments: Any) -> Any:
            self._left -= 1
            return found(*arguments) if self._left >= 0 else copy.deepcopy(self._value)

        return answer


class Elsewhere(World):
    """A world whose adapter is somebody else's."""

    spoilt: tuple[str, int, Any] | None = None

    def adapter(self) -> Any:
        return Foreign(super().adapter(), *self.spoilt) if self.spoilt else super().adapter()


def elsewhere(folder: Path, mode: str = "requeue") -> Elsewhere:
    world = one_step(folder, mode=mode)
    world.__class__ = Elsewhere
    return world  # type: ignore[return-value]


@given(
    st.sampled_from(MEMBERS),
    st.integers(0, 6),
    st.sampled_from(VALUES),
    st.sampled_from(["requeue", "suspend"]),
)
def test_whatever_an_adapter_returns(member: str, call: int, value: Any, mode: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = elsewhere(Path(folder), mode)
        world.spoilt = (member, call, value)
        with contextlib.suppress(EvenhandError), world.driver() as driver:
            driver.act(eh.plan(driver.snapshot(), world.policy))
        lines = read(world.journal)
        asked = [x["job"] for x in lines if x["kind"] == "intent" and x["action"] in EVICTIONS]
        evicted = [name for what, name, _ in world.cluster.events if what == "evict"]
        assert set(evicted) <= set(asked)
        world.spoilt = None
        world.cluster.jobs["9"]["state"] = "COMPLETED"  # it has had what it wanted
        world.calm()
        world.check()


def test_what_is_no_adapter(tmp_path: Path) -> None:
    world = one_step(tmp_path)
    plan = eh.plan(world.adapter().snapshot(), world.policy)
    for wrong in ("slurm", None):
        with pytest.raises(AdapterError, match=r"is not an adapter.*load"):
            eh.act.act(plan, wrong, journal=world.journal)  # type: ignore[arg-type]


def test_an_adapter_without_commands(tmp_path: Path) -> None:
    """It calls an interface of programs: there is nothing to show, and all is written down the same."""
    world = elsewhere(tmp_path)
    world.spoilt = ("commands", 0, [])
    with world.driver() as driver:
        (row,) = driver.act(eh.plan(driver.snapshot(), world.policy)).rows
        assert row.outcome == "started"
        assert driver.book.evicted == 1
    kinds = [(x["action"], x["job"]) for x in read(world.journal) if x["kind"] == "intent"]
    assert kinds == [("requeue_hold", "1"), ("release", "1")]
    assert world.cluster.jobs["1"]["priority"] > 0
