"""The check of adapters: the one of the documentation passes, and each broken promise is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evenhand.adapters import AdapterError, Answer, Standing
from evenhand.adapters.commands import Result
from evenhand.systems.slurm.adapter.live import Slurm
from evenhand.testing.adapters import check_adapter
from tests.packaging.layers import ROOT
from tests.unit.act.slurm.cluster import Clock, FakeSlurm, job

PAGE = ROOT / "docs" / "how-to" / "write-an-adapter.md"
MOST_LINES = 50  # of the template, imports and blank lines included


def cells() -> dict[str, str]:
    """Return the tagged cells of the page."""
    found = re.findall(
        r"^```\{code-cell\} ipython3\n:tags: \[(\w+)\]\n(.*?)^```$",
        PAGE.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    return dict(found)


def farm() -> Any:
    names: dict[str, Any] = {}
    for cell in cells().values():
        exec(cell, names)
    return names["FarmAdapter"](names["Farm"]())


def test_the_template_is_short() -> None:
    lines = cells()["adapter"].strip().split("\n")
    assert 30 <= len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("mode", [None, "requeue", "terminate"])
def test_the_adapter_of_the_page_passes(mode: str | None) -> None:
    checked = check_adapter(farm(), victim="low", mode=mode)
    assert checked[0] == "follows_the_protocol"
    assert checked[-1] == "evicts_and_releases"
    assert len(checked) == 12
    untouched = farm()
    assert check_adapter(untouched) == checked[:-1]
    assert [j["state"] for j in untouched.farm.jobs.values()] == ["running", "running", "pending"]


@pytest.mark.parametrize("mode", ["requeue", "suspend"])
def test_slurm_passes(mode: str) -> None:
    nodes = {"n1": 4, "n2": 4, "n3": 1, "n4": 1}
    fake = FakeSlurm(Clock(), nodes, [job(1, 4, node="n1"), job(2, 4, node="n2"), job(3, 4)])

    def run(arguments: Sequence[str], timeout: float) -> Result:
        acts = arguments[0] in ("scontrol", "scancel") and "show" not in arguments
        if acts and "999999999" in " ".join(arguments):  # the fake knows no such errors
            return Result(1, "", "slurm_update error: Invalid job id specified")
        return fake(arguments, timeout)

    adapter = Slurm(runner=run)
    adapter.identity = "fake"
    assert "evicts_and_releases" in check_adapter(adapter, victim="1", mode=mode, timeout=1.0)


def broken(**members: Any) -> Any:
    adapter = farm()
    made = type("Broken", (type(adapter),), members)
    return made(adapter.farm)


def once_more(adapter: Any, *_: Any) -> list[tuple[str, ...]]:
    adapter.farm.jobs["low"]["turn"] += 1
    return [("farmctl",)]


def without(field: str) -> Callable[..., Any]:
    """Leave a field out of what is said of allocations."""

    def standing(self: Any, job: Any, leaves_for: Any) -> dict[str, Any]:
        said = super(type(self), self).standing(job, leaves_for)
        return {key: value for key, value in said.items() if key != field}

    return standing


def drifts(self: Any, leaving: Any = None) -> Any:
    self.farm.nodes["n1"] += 1
    return super(type(self), self).snapshot(leaving)


def looks(**said: Any) -> Callable[..., Any]:
    def look(self: Any, names: Any) -> dict[str, Standing]:
        found = super(type(self), self).look(names)
        return {n: Standing(**{"name": n, "state": s.state, "turn": s.turn} | said) for n, s in found.items()}

    return look


PROMISES: dict[str, tuple[str, dict[str, Any]]] = {
    "no name": ("says_which_cluster: its name is empty", {"name": " "}),
    "drifting": ("snapshots_agree: .* differ, though nothing has happened: nodes", {"snapshot": drifts}),
    "another's": ("answers for 'x'", {"look": looks(name="x")}),
    "all run": ("the job 'urgent' is 'running', not pending", {"look": looks(state="running")}),
    "commands act": ("commands_change_nothing", {"commands": once_more}),
    "always done": ("is 'done'", {"do": lambda *_: Answer("done")}),
    "no Answer": ("the adapter's do returned", {"do": lambda *_: None}),
    "raises": (
        "the adapter's do failed: KeyError",
        {"do": lambda self, action, name, _: self.farm.jobs[name]},
    ),
    "for nobody": ("leaves for None, not for 'urgent'", {"standing": without("beneficiary")}),
}


@pytest.mark.parametrize("promise", PROMISES)
def test_broken_promises_are_named(promise: str) -> None:
    said, members = PROMISES[promise]
    with pytest.raises(AssertionError, match=said):
        check_adapter(broken(**members), victim="low", timeout=0.1)


def test_a_job_that_is_unknown_is_gone() -> None:
    def look(self: Any, names: Any) -> dict[str, Standing]:
        known = super(type(self), self).look(names)
        return {n: Standing(n, "ended") if s.state == "gone" else s for n, s in known.items()}

    with pytest.raises(AssertionError, match=r"unknown_jobs_are_gone: .* is 'ended'"):
        check_adapter(broken(look=look))


def test_members_that_lack_are_named() -> None:
    class Half:
        name = "half"

    with pytest.raises(AssertionError, match="it lacks identity, whole"):
        check_adapter(Half())  # type: ignore[arg-type]


def test_an_eviction_that_does_not_show_is_found() -> None:
    def do(self: Any, action: str, name: str, reason: str) -> Answer:
        known = name in self.farm.jobs
        return Answer("done" if known else "refused")

    with pytest.raises(
        AssertionError, match=r"evicts_and_releases: 0.1 s after requeue_hold of 'low', its turn"
    ):
        check_adapter(broken(do=do), victim="low", timeout=0.1)


def test_an_action_of_another_word_is_an_error() -> None:
    with pytest.raises(AdapterError, match="action"):
        check_adapter(broken(action=lambda *_: "evict"))
