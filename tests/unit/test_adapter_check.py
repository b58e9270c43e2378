"""The check of adapters: the one of the documentation passes, and each broken promise is found."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters import AdapterError, Answer, Standing
from evenhand.adapters.commands import Result
from evenhand.adapters.protocol import ACTIONS
from evenhand.systems.slurm.adapter.live import Slurm
from evenhand.testing.adapters import check_adapter
from tests.packaging.layers import ROOT
from tests.unit.act.slurm.cluster import T0, Clock, FakeSlurm, job

PAGE = ROOT / "docs" / "how-to" / "write-an-adapter.md"
MOST_LINES = 55  # of the template, imports and blank lines included
LOCKS = importlib.util.find_spec("fcntl") is not None


class Time:
    """A clock that goes on only while somebody waits, in place of the module `time`."""

    def __init__(self) -> None:
        self.now = T0

    def time(self) -> float:
        return self.now

    monotonic = time

    def sleep(self, seconds: float) -> None:
        self.now += seconds


TIME = Time()


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the check wait by the clock above, on which no machine is too slow."""
    monkeypatch.setattr("evenhand.testing.adapters.time", TIME)
    if LOCKS:
        from evenhand.act import Timing

        monkeypatch.setattr("evenhand.act.Timing", partial(Timing, clock=TIME.time, sleep=TIME.sleep))


locks = pytest.mark.skipif(not LOCKS, reason="acting needs POSIX locks")


def cells() -> dict[str, str]:
    """Return the tagged cells of the page."""
    found = re.findall(
        r"^```\{code-cell\} ipython3\n:tags: \[(\w+)\]\n(.*?)^```$",
        PAGE.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    return dict(found)


def page(*tags: str) -> dict[str, Any]:
    """What cells of the page leave behind."""
    names: dict[str, Any] = {}
    for tag in tags:
        exec(cells()[tag], names)
    return names


def farm() -> Any:
    names = page("farm", "adapter")
    names["time"] = TIME
    return names["FarmAdapter"](names["Farm"]())


@locks
def test_the_code_of_the_page_acts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page teaches is carried out to its end: one job leaves, and the beneficiary starts."""
    monkeypatch.setattr("evenhand.act.driver.place_of", lambda _: tmp_path / "lock")  # of this run alone
    names = page(*cells())
    assert list(cells()) == ["farm", "adapter", "use", "acts"]
    assert [(row.beneficiary, row.victims, row.outcome) for row in names["report"].rows] == [
        ("urgent", ("low",), "started")
    ]
    assert names["adapter"].farm.jobs["urgent"]["state"] == "running"


def test_the_page_lists_the_actions() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert rows == list(ACTIONS)


def test_the_template_is_short() -> None:
    lines = cells()["adapter"].strip().split("\n")
    assert 30 <= len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("mode", [None, "requeue", "terminate"])
def test_the_adapter_of_the_page_passes(mode: str | None) -> None:
    checked = check_adapter(farm(), victim="low", mode=mode)
    assert checked[0] == "follows_the_protocol"
    assert checked[-1] == "evicts_and_releases"
    assert len(checked) == 13
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
    assert "evicts_and_releases" in check_adapter(adapter, victim="1", mode=mode)


@locks
def test_a_step_of_the_page_comes_to_its_end() -> None:
    adapter = farm()
    assert check_adapter(adapter, beneficiary="urgent")[-1] == "steps_come_to_their_end"
    assert [j["state"] for j in adapter.farm.jobs.values()] == ["ended", "running", "running"]


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
        return {n: replace(s, **said) for n, s in found.items()}

    return look


PROMISES: dict[str, tuple[str, dict[str, Any]]] = {
    "no name": ("says_which_cluster: its name is empty", {"name": " "}),
    "drifting": ("snapshots_agree: .* differ, though nothing has happened: nodes", {"snapshot": drifts}),
    "another's": ("answers for 'x'", {"look": looks(name="x")}),
    "all run": ("the job 'urgent' is 'running', not pending", {"look": looks(state="running", started=True)}),
    "never started": ("'low' is running, and not started", {"look": looks(started=False)}),
    "always started": ("'urgent' is pending, and started", {"look": looks(started=True)}),
    "one owner of all": (
        "owners_are_its_users: jobs of 3 users have the owner 'x'",
        {"look": looks(owner="x")},
    ),
    "no owner": ("the job 'low' has no owner", {"look": looks(owner=" ")}),
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
        check_adapter(broken(**members), victim="low")


@pytest.mark.parametrize("field", ["turn", "started", "owner"])
def test_nothing_that_acting_relies_on_has_a_default(field: str) -> None:
    said = {"name": "low", "state": "running", "turn": 0, "started": True, "owner": "ann"}
    assert Standing(**said) == replace(Standing(**said), detail="")  # type: ignore[arg-type]
    del said[field]

    def look(self: Any, names: Any) -> dict[str, Standing]:
        return {name: Standing(**said) for name in names}  # type: ignore[arg-type]

    with pytest.raises(AdapterError, match=f"look failed: TypeError: .* argument: '{field}'"):
        check_adapter(broken(look=look))


def test_a_user_with_two_owners_is_found() -> None:
    def look(self: Any, names: Any) -> dict[str, Standing]:
        return {n: replace(s, owner=n) for n, s in super(type(self), self).look(names).items()}

    adapter = broken(look=look)
    check_adapter(adapter)
    adapter.farm.jobs["middle"]["user"] = "ann"
    with pytest.raises(AssertionError, match="of the user 'ann' have the owners 'low', 'middle'"):
        check_adapter(adapter)


def later(field: str, value: Any) -> Callable[..., Any]:
    """Say something else of jobs that have moved since the beginning."""

    def look(self: Any, names: Any) -> dict[str, Standing]:
        found = super(type(self), self).look(names)
        moved = {n for n, job in self.farm.jobs.items() if self.begun[n] != (job["state"], job["turn"])}
        return {n: replace(s, **{field: value}) if n in moved else s for n, s in found.items()}

    return look


@locks
@pytest.mark.parametrize(("cap", "outcome"), [(0, "refused"), (1, "started")])
@pytest.mark.parametrize("owner", ["", "ann"])
def test_jobs_without_an_owner_count_as_those_of_one(
    cap: int, outcome: str, owner: str, tmp_path: Path
) -> None:
    from evenhand.act import Caps, Driver, Timing

    adapter = broken(look=looks(owner=owner))
    plan = eh.plan(adapter.snapshot(), adapter.policy())
    files = {"journal": tmp_path / "journal", "lock": tmp_path / "lock"}
    with Driver(adapter, **files, caps=Caps(per_owner=cap), timing=Timing()) as driver:
        (row,) = driver.act(plan).rows
    assert row.outcome == outcome
    whose = f"owner {owner}" if owner else "jobs without an owner"
    assert (f"per_owner=0: there would be 1 victims of {whose} within an hour" in row.why) == (cap == 0)


LATER: dict[str, tuple[str, dict[str, Any]]] = {
    "not started": ("urgent did not start within", {"look": later("started", value=False)}),
    "held": ("its step has ended, and 'urgent' is held", {"look": later("state", "held")}),
    "caps do nothing": ("jobs stand otherwise", {"commands": once_more}),
}


@locks
@pytest.mark.parametrize("promise", LATER)
def test_steps_that_do_not_come_to_their_end_are_found(promise: str) -> None:
    said, members = LATER[promise]
    adapter = broken(**members)
    adapter.begun = {n: (job["state"], job["turn"]) for n, job in adapter.farm.jobs.items()}
    with pytest.raises(AssertionError, match=said):
        check_adapter(adapter, beneficiary="urgent")


@locks
def test_drivers_act_on_clusters_where_things_go_wrong() -> None:
    checked = check_adapter(farm(), fresh=farm, histories=8)
    assert checked[-1] == "histories_keep_the_laws"


def keeps(self: Any, action: str, name: str, reason: str) -> Answer:
    """Release nothing, whatever is said."""
    if action == "release" and name in self.farm.jobs:
        return Answer("done")
    return super(type(self), self).do(action, name, reason)  # type: ignore[no-any-return]


@locks
def test_histories_find_jobs_that_stay_held() -> None:
    made: list[Any] = []

    def fresh() -> Any:
        made.append(broken(action=lambda *_: "requeue_hold", do=keeps))
        return made[-1]

    with pytest.raises(AssertionError, match=r"histories_keep_the_laws: history \d: "):
        check_adapter(farm(), fresh=fresh, histories=8)
    assert any(job["state"] == "held" for job in made[-1].farm.jobs.values())


def test_a_beneficiary_that_nothing_is_preempted_for_is_named() -> None:
    with pytest.raises(AssertionError, match="preempts nothing for 'middle'; it does for urgent"):
        check_adapter(farm(), beneficiary="middle")


def test_a_job_that_is_unknown_is_gone() -> None:
    def look(self: Any, names: Any) -> dict[str, Standing]:
        known = super(type(self), self).look(names)
        return {n: replace(s, state="ended") if s.state == "gone" else s for n, s in known.items()}

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
        AssertionError, match=r"evicts_and_releases: 10 s after requeue_hold of 'low', its turn"
    ):
        check_adapter(broken(do=do), victim="low")


def test_an_action_of_another_word_is_an_error() -> None:
    with pytest.raises(AdapterError, match="action"):
        check_adapter(broken(action=lambda *_: "evict"))
