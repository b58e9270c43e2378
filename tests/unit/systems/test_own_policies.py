"""Subclasses of a system's policy, and policies of one's own: what takes them, what refuses them by name."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.plans.own import base_of, overridden
from evenhand.plans.saved import saved
from evenhand.systems import SYSTEMS
from evenhand.systems.base import Policy
from tests.unit.systems.toy.policy import Toy

WORK = eh.simulate.Workload(
    {"name": ["a", "b"], "resources.cpu": [2, 4], "submit_time": [0, 5], "run_time": [60, 30]}
)
SNAPSHOT = WORK.snapshot(nodes=1, cpu=4)
SPACE = {"pace.victim_cooldown": [0, 60]}

#: What would decide, keep or write a policy without asking what a subclass has of its own.
REFUSING: dict[str, Callable[[Any, Path], Any]] = {
    "Cluster": lambda policy, _: eh.Cluster(SNAPSHOT, policy),
    "Cluster.plan": lambda policy, _: eh.Cluster(SNAPSHOT).plan(policy),
    "Cluster.update": lambda policy, _: eh.Cluster(SNAPSHOT).update(policy),
    "Cluster.state": lambda policy, _: eh.Cluster(SNAPSHOT).state(policy),
    "simulate": lambda policy, _: eh.simulate(SNAPSHOT, policy, WORK),
    "Simulation": lambda policy, _: eh.simulate.Simulation(SNAPSHOT, policy, WORK),
    "sweep": lambda policy, _: eh.sweep(SNAPSHOT, policy, WORK, SPACE),
    "sweep of policies": lambda policy, _: eh.sweep(SNAPSHOT, None, WORK, {"policy": [policy]}),
    "tune": lambda policy, _: eh.tune(SNAPSHOT, policy, WORK, SPACE, "waiting.p95 < 9"),
    "objective": lambda policy, _: eh.sweep.objective(SNAPSHOT, policy, WORK, SPACE, "waiting.p95"),
}
#: Likewise, of subclasses alone: policies of one's own are asked there.
OF_SUBCLASSES: dict[str, Callable[[Any, Path], Any]] = {
    "sweep of plans": lambda policy, _: eh.sweep(SNAPSHOT, policy, None, SPACE),
    "pickle": lambda policy, _: pickle.dumps(policy),
    "pickle of a plan": lambda policy, _: pickle.dumps(eh.plan(SNAPSHOT, policy)),
    "saved plan": lambda policy, _: saved(eh.plan(SNAPSHOT, policy)),
}

EVERY_SYSTEM = pytest.mark.parametrize("base", [s.policy for s in SYSTEMS.values()], ids=[*SYSTEMS])


def planning(base: type[Policy]) -> type[Policy]:
    """A subclass whose plan spares all there is."""

    class Spare(base):  # type: ignore[misc, valid-type]
        def plan(self, snapshot: Any, state: Any = None, on: Any = None, given: Any = None) -> Any:
            return super().plan(snapshot.replace(requests=[]), state, on, given)

    return Spare


@pytest.mark.parametrize("where", [*REFUSING, *OF_SUBCLASSES])
@EVERY_SYSTEM
def test_an_overridden_plan_is_refused_by_name(base: type[Policy], where: str, tmp_path: Path) -> None:
    policy = planning(base)()
    assert eh.plan(SNAPSHOT, policy).decisions is not None
    with pytest.raises(eh.InputError, match=r"overrides Spare\.plan") as caught:
        (REFUSING | OF_SUBCLASSES)[where](policy, tmp_path)
    assert [(p.field, p.value) for p in caught.value.problems] in (
        [("policy", "Spare.plan")],
        [("policy", "Spare")],
    )


#: What a policy has that decides: all of it but what makes, shows or says something.
HOOKS = sorted(
    {
        name
        for system in SYSTEMS.values()
        for kind in system.policy.__mro__[:-1]
        for name in vars(kind)
        if not name.startswith("__")
    }
    - {"standing", "_repr_html_", "system", "ROUNDS"}
)


@pytest.mark.parametrize("name", [*HOOKS, "__eq__", "__hash__", "__getattribute__"])
@EVERY_SYSTEM
def test_every_hook_is_found(base: type[Policy], name: str) -> None:
    here = getattr(base, name, None)
    mixin = type("Mixin", (), {"__slots__": (), name: here})
    kind = type("Mine", (mixin, base), {"__slots__": ()})
    found = overridden(object.__new__(kind))
    assert found == (f"Mixin.{name}" if hasattr(base, name) else None)
    if hasattr(base, name) and name not in ("preset", "settings", "__getattribute__"):
        with pytest.raises(eh.InputError, match=f"overrides Mixin.{name}"):
            eh.Cluster(SNAPSHOT, kind())


def test_what_an_object_has_of_its_own_is_found_too() -> None:
    class Plain(eh.policies.YTsaurus):
        pass

    policy = Plain()
    assert overridden(policy) is None
    object.__setattr__(policy, "team", "vision")
    assert overridden(policy) is None
    assert policy.replace(victim_selection="minimum").team == "vision"  # type: ignore[attr-defined]
    object.__setattr__(policy, "plan", lambda *_: None)
    assert overridden(policy) == "Plain.plan"
    with pytest.raises(eh.InputError, match=r"overrides Plain\.plan"):
        eh.simulate(SNAPSHOT, policy, WORK)


class Wordy(eh.policies.Slurm):
    """It says something else of operations, and decides as Slurm does."""

    def standing(self, snapshot: eh.Snapshot, row: int) -> str:
        return f"{super().standing(snapshot, row)}, as ever"

    def of_mine(self) -> int:
        return 1


def test_a_subclass_that_decides_as_its_base_is_taken_but_not_written(tmp_path: Path) -> None:
    policy = Wordy()
    assert base_of(policy) is eh.policies.Slurm
    assert overridden(policy) is None
    cluster = eh.Cluster(SNAPSHOT, policy)
    cluster.plan()
    assert eh.simulate(SNAPSHOT, policy, WORK).metrics["jobs.finished"] == 2
    assert type(pickle.loads(pickle.dumps(policy))) is Wordy
    assert copy.deepcopy(policy) is policy is copy.copy(policy)
    with pytest.raises(eh.InputError, match=r"the policy Wordy cannot be written to a file: .* as Slurm"):
        cluster.save(tmp_path / "cluster.json")
    assert not list(tmp_path.iterdir())


@EVERY_SYSTEM
def test_classes_tell_policies_apart(base: type[Policy]) -> None:
    class Other(base):  # type: ignore[misc, valid-type]
        pass

    class Another(base):  # type: ignore[misc, valid-type]
        pass

    assert base() == base()
    assert hash(base()) == hash(base())
    assert len({base(), base(), Other(), Other(), Another()}) == 3
    assert base() != Other() != Another() != base()
    assert Other() != base()


def test_equal_settings_are_equal_whatever_the_preset_is_called() -> None:
    upstream = eh.policies.YuniKorn("upstream")
    same = eh.policies.YuniKorn(**upstream.settings.model_dump())
    assert upstream == same
    assert hash(upstream) == hash(same)


class Alone:
    """It plans, and is no subclass of a policy."""

    settings = eh.policies.Slurm().settings

    def plan(self, *args: Any) -> Any:
        return eh.policies.Slurm().plan(*args)


@pytest.mark.parametrize("where", [name for name in REFUSING if "Cluster" not in name])
def test_policies_of_ones_own_are_not_simulated(where: str, tmp_path: Path) -> None:
    policy, said = Toy(), "policy is Toy, a policy of your own"
    with pytest.raises(eh.InputError, match=said) as caught:
        REFUSING[where](policy, tmp_path)
    assert len(caught.value.problems) == 1


def test_policies_of_ones_own_plan_and_live(tmp_path: Path) -> None:
    plan = eh.plan(SNAPSHOT, Toy())
    assert (len(plan.decisions), plan.provenance["snapshot"]) == (0, SNAPSHOT.fingerprint)
    cluster = eh.Cluster(SNAPSHOT, Toy())
    assert len(cluster.plan().decisions) == 0
    with pytest.raises(eh.InputError, match="the policy Toy cannot be written to a file: it is of none"):
        cluster.save(tmp_path / "cluster.json")


PLANNING: dict[str, Callable[[Any], Any]] = {
    "plan": lambda policy: eh.plan(SNAPSHOT, policy),
    "victims": lambda policy: eh.victims(SNAPSHOT, policy, "a"),
    "Cluster": lambda policy: eh.Cluster(SNAPSHOT, policy),
    "simulate": lambda policy: eh.simulate(SNAPSHOT, policy, WORK),
    "sweep": lambda policy: eh.sweep(SNAPSHOT, None, None, {"policy": [policy]}),
}


@pytest.mark.parametrize("where", PLANNING)
@pytest.mark.parametrize(
    "policy", [Alone(), Alone, Toy, eh.policies.Slurm], ids=["alone", "it", "toy", "slurm"]
)
def test_what_is_no_policy_is_refused(policy: Any, where: str) -> None:
    with pytest.raises(eh.InputError, match=r"must be one of evenhand\.policies"):
        PLANNING[where](policy)


def test_domains_that_share_something_are_not_planned_past_a_subclass() -> None:
    kinds = {kind for s in SYSTEMS.values() if (kind := s.policy).together}
    assert kinds == {eh.policies.GridEngine}
    other = SNAPSHOT.replace(nodes=[{"name": "other", "capacity": {"cpu": 4}}])
    with pytest.raises(eh.InputError, match=r"overrides Spare\.plan"):
        eh.plan({"a": SNAPSHOT, "b": other}, planning(eh.policies.GridEngine)())
