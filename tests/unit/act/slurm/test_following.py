"""A cluster that is read again by what has changed: the same as if all of it were read, for less."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, Driver, Timing
from evenhand.adapters.commands import Result
from evenhand.adapters.guarded import guarded
from evenhand.systems.slurm.adapter.live import Slurm
from tests.drawing import examples
from tests.unit.act.scripted import Scripted
from tests.unit.act.slurm.cluster import T0, Clock, FakeSlurm, job
from tests.unit.act.slurm.recorded import NOW, Recorded

WHOLE = ("squeue", "--json")


class Still(FakeSlurm):
    """Nothing starts or ends by itself; more columns, and how many bytes each command answered."""

    silent = False

    def __init__(self, clock: Clock, nodes: dict[str, int], jobs: Sequence[dict[str, Any]]) -> None:
        super().__init__(clock, nodes, jobs)
        self.bytes: Counter[str] = Counter()

    def schedule(self) -> None:
        pass

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        found = super().__call__(arguments, timeout)
        part = any(word.startswith("--jobs=") for word in arguments)
        self.bytes[" ".join(arguments[:2]) + (" some" if part else "")] += len(found.out)
        return found

    def _json(self, j: dict[str, Any]) -> dict[str, Any]:
        return super()._json(j) | {"time_minimum": j.get("least", 0), **j.get("json", {})}

    def squeue(self, rest: list[str]) -> Result:
        if self.silent and rest[0] == "--json" and rest[1:]:
            names = [n for n in rest[1].removeprefix("--jobs=").split(",") if n in self.jobs]
            rest = ["--json", f"--jobs={','.join(names or ['1'])}"]
        return super().squeue(rest)

    def wholes(self) -> int:
        return self.asked.count(WHOLE)

    def parts(self) -> list[str]:
        return [one[2].removeprefix("--jobs=") for one in self.asked if one[:2] == WHOLE and len(one) == 3]


def cluster(count: int = 30) -> Still:
    """Some nodes, some jobs that run, and some that wait."""
    nodes = {f"n{n}": 8 for n in range(5)}
    runs = [job(n + 1, 4, node=f"n{n // 2}", priority=10 + n) for n in range(10)]
    return Still(Clock(), nodes, [*runs, *(job(100 + n, 2, priority=50 + n) for n in range(count))])


def adapter_of(fake: Any) -> Slurm:
    made = Slurm(runner=fake, clock=fake.clock)
    made.identity = "fake"
    return made


def rows(snapshot: eh.Snapshot) -> dict[str, Any]:
    """What a snapshot says, in the order of names; ties of order go by it."""
    data = snapshot.to_dict()
    return {
        table: sorted(of, key=lambda row: str(row["name"])) if isinstance(of, list) else of
        for table, of in data.items()
    }


def same(fake: Still, follower: Slurm, about: Sequence[str] = ()) -> eh.Snapshot:
    """A snapshot by changes, held against one that another adapter reads as a whole."""
    found = follower.follow({}, about)
    asked = list(fake.asked)
    whole = adapter_of(fake).snapshot()
    fake.asked = asked
    assert rows(found) == rows(whole)
    return found


def test_what_has_not_changed_is_not_read_again() -> None:
    fake = cluster()
    follower = adapter_of(fake)
    follower.follow({})
    assert (fake.wholes(), fake.parts()) == (1, [])
    for _ in range(3):
        same(fake, follower)
    assert (fake.wholes(), fake.parts()) == (1, [])


CHANGES: dict[str, tuple[dict[str, Any], bool]] = {
    "state": ({"state": "COMPLETED"}, True),
    "node": ({"state": "RUNNING", "node": "n4", "start": T0}, True),
    "cpus": ({"cpus": 3}, True),
    "held": ({"priority": 0}, True),
    "turn": ({"turn": 2}, True),
    "may not be requeued": ({"requeue": False}, True),
    "waits for something else": ({"eligible": T0 + 500.0}, True),
    "priority": ({"priority": 77}, False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_read(change: str) -> None:
    """Another priority is taken from the listing, as all of them change at once by age."""
    more, again = CHANGES[change]
    fake = cluster()
    follower = adapter_of(fake)
    follower.follow({})
    fake.jobs["105"].update(more)
    same(fake, follower)
    assert (fake.wholes(), fake.parts()) == (1, ["105"] if again else [])
    same(fake, follower)
    assert len(fake.parts()) == again, "once"


def test_the_step_s_own_jobs_are_read_in_any_case() -> None:
    """Their comments and what the listing has no column for."""
    fake = cluster()
    follower = adapter_of(fake)
    follower.follow({})
    fake.jobs["3"]["comment"] = "mine"
    fake.jobs["105"]["json"] = {"features": "fast"}
    same(fake, follower, ["3", "105"])
    assert fake.parts() == ["3,105"]
    assert follower.commands("note", "3", "because") == [], "a comment of another person stays"
    assert follower.commands("note", "4", "because") != []


def test_jobs_come_and_go() -> None:
    fake = cluster()
    follower = adapter_of(fake)
    follower.follow({})
    del fake.jobs["104"]
    fake.jobs["300"] = job(300, 2, priority=500)
    found = same(fake, follower)
    assert {"104", "300"} & set(map(str, found.names("operations"))) == {"300"}
    assert fake.parts() == ["300"]


def test_a_hold_is_read_whatever_reason_the_listing_gives() -> None:
    fake = cluster()
    fake._said = lambda j: "Resources"  # type: ignore[method-assign]
    follower = adapter_of(fake)
    follower.follow({})
    for priority in (0, 50):
        fake.jobs["105"]["priority"] = priority
        same(fake, follower)
    assert fake.parts() == ["105", "105"]


@pytest.mark.parametrize("said", [True, False])
def test_a_job_that_is_gone_before_it_is_read_has_all_read(said: bool) -> None:
    """Whether Slurm says so or passes over its number."""
    fake = cluster()
    fake.silent = not said
    follower = adapter_of(fake)
    follower.follow({})
    fake.jobs["104"]["cpus"] = 3
    plain = fake.squeue

    def gone(rest: list[str]) -> Result:
        found = plain(rest)
        if "-O" in rest:
            fake.jobs.pop("104", None)
        return found

    fake.squeue = gone  # type: ignore[method-assign]
    same(fake, follower)
    assert fake.wholes() == 2
    same(fake, follower)
    assert fake.wholes() == 2, "then by changes again"


def test_what_changes_between_the_listing_and_the_jobs_is_read_the_next_time() -> None:
    """The listing comes first: what it does not have yet shows as a change."""
    fake = cluster()
    follower = adapter_of(fake)
    plain = fake.squeue

    def changes(rest: list[str]) -> Result:
        found = plain(rest)
        if "-O" in rest:
            fake.jobs["104"]["cpus"] = 3
        return found

    fake.squeue = changes  # type: ignore[method-assign]
    follower.follow({})
    fake.squeue = plain  # type: ignore[method-assign]
    same(fake, follower)
    assert fake.parts() == ["104"]


def test_commands_that_answer_with_all_jobs_are_right_too() -> None:
    """As those of 22.05 do, whatever jobs are named."""
    fake = cluster()
    follower = adapter_of(fake)
    plain = fake.squeue
    fake.squeue = lambda rest: plain(rest[:1] if rest[0] == "--json" else rest)  # type: ignore[method-assign]
    follower.follow({})
    fake.jobs["104"]["cpus"] = 3
    same(fake, follower)
    assert fake.wholes() == 1


@pytest.mark.parametrize(("changed", "whole"), [(199, 1), (200, 1), (201, 2)])
def test_where_many_have_changed_all_are_read(changed: int, whole: int) -> None:
    fake = cluster(400)
    follower = adapter_of(fake)
    follower.follow({})
    for n in range(changed):
        fake.jobs[str(100 + n)]["cpus"] = 3
    same(fake, follower)
    assert fake.wholes() == whole


@pytest.mark.parametrize(("changed", "whole"), [(302, 1), (303, 2)])
def test_or_where_a_quarter_has(changed: int, whole: int) -> None:
    """Of 1,210 jobs."""
    fake = cluster(1200)
    follower = adapter_of(fake)
    follower.follow({})
    for n in range(changed):
        fake.jobs[str(100 + n)]["cpus"] = 3
    follower.follow({}, [])
    assert fake.wholes() == whole


@pytest.mark.parametrize(("later", "whole"), [(59.0, 1), (60.0, 2), (61.0, 2), (-1.0, 2)])
def test_a_minute_later_all_is_read(later: float, whole: int) -> None:
    """As not all that matters is in the listing; so if the clock was set back."""
    fake = cluster()
    follower = adapter_of(fake)
    follower.follow({})
    fake.clock.now += later / 2
    follower.follow({}, [])
    assert fake.wholes() == (2 if later < 0 else 1)
    fake.clock.now += later - later / 2
    follower.follow({}, [])
    assert fake.wholes() == (3 if later < 0 else whole), "counted from when all was read"


@pytest.mark.parametrize(
    "listing", [Result(1, "", "no such field"), Result(0, "JOBID|\n1|\n"), Result(0, "")]
)
def test_without_a_listing_all_is_read(listing: Result) -> None:
    fake = cluster()
    follower = adapter_of(fake)
    plain = fake.squeue
    fake.squeue = lambda rest: listing if {"-O", "all"} <= {*rest} else plain(rest)  # type: ignore[method-assign]
    for count in (1, 2, 3):
        follower.follow({}, [])
        assert fake.wholes() == count


def test_text_is_a_listing_itself() -> None:
    fake = cluster()
    plain = fake.squeue
    no_json = Result(1, "", "unrecognized option '--json'")
    fake.squeue = lambda rest: no_json if rest[0] == "--json" else plain(rest)  # type: ignore[method-assign]
    follower = adapter_of(fake)
    follower.follow({})
    fake.jobs["104"]["cpus"] = 3
    found = follower.follow({}, [])
    assert rows(found) == rows(adapter_of(fake).snapshot())


def test_a_recorded_release_comes_out_the_same() -> None:
    """26.05: whom jobs share nodes with is in the text; arrays that wait, a heterogeneous job, licences."""
    runner = Recorded()
    follower = Slurm(runner=runner, clock=lambda: NOW)
    follower.follow({})
    runner.asked.clear()
    found = follower.follow({}, [])
    assert WHOLE not in runner.asked
    assert rows(found) == rows(Slurm(runner=Recorded(), clock=lambda: NOW).snapshot())


def test_tasks_of_arrays_are_read_by_their_own_numbers_and_by_their_array() -> None:
    runner = Recorded()
    all_of = {row["job_id"]: row for row in json.loads(runner.answers[WHOLE])["jobs"]}
    follower = Slurm(runner=runner, clock=lambda: NOW)
    follower.follow({})
    for about, numbers in ((["5_0"], "11"), (["5_2"], "5"), (["28_3"], "28"), (["28"], "28"), (["1"], "1")):
        runner.asked.clear()
        part = {"jobs": [all_of[int(numbers)]], "errors": []}
        runner.answers[*WHOLE, f"--jobs={numbers}"] = json.dumps(part)
        follower.follow({}, about)
        assert (*WHOLE, f"--jobs={numbers}") in runner.asked
        assert WHOLE not in runner.asked


def test_drawn_changes() -> None:
    """Whatever happens between two looks, but for what no listing shows of jobs that are not asked about."""
    draw = random.Random(5)
    for _ in range(examples(0.05)):
        fake = cluster(20)
        follower = adapter_of(fake)
        follower.follow({})
        for _ in range(6):
            for _ in range(draw.randrange(6)):
                name = draw.choice([*fake.jobs])
                fake.jobs[name].update(draw.choice([more for more, _ in CHANGES.values()]))
            if draw.random() < 0.3:
                number = draw.randrange(400, 500)
                fake.jobs[str(number)] = job(number, draw.randint(1, 4), priority=draw.randint(1, 99))
            if draw.random() < 0.3:
                del fake.jobs[draw.choice([*fake.jobs])]
            about = draw.sample([*fake.jobs], 2)
            fake.jobs[about[0]]["json"] = {"features": draw.choice(["", "fast", "big"])}
            same(fake, follower, about)
        assert fake.wholes() >= 1


def test_adapters_that_cannot_tell_are_read_as_a_whole() -> None:
    fake = cluster()

    class Plain:
        def __getattr__(self, name: str) -> Any:
            if name == "follow":
                raise AttributeError(name)
            return getattr(made, name)

    made = adapter_of(fake)
    for count in (1, 2):
        guarded(Plain()).follow({}, ["1"])  # type: ignore[arg-type]
        assert fake.wholes() == count


def steps(fake: Still, folder: Any, *, dry_run: bool) -> Any:
    """Four steps, one after the other, as their victims have one owner."""
    made = adapter_of(fake)
    timing = Timing(clock=fake.clock, sleep=fake.clock.sleep, poll=1.0)
    options: dict[str, Any] = {"caps": Caps(None, None, None, None), "timing": timing, "dry_run": dry_run}
    with Driver(made, folder / "journal", lock=folder / "lock", **options) as driver:
        return driver.act(eh.plan(driver.snapshot(), Scripted())).rows


def test_a_dry_run_reads_all_jobs_once(tmp_path: Any) -> None:
    """500 jobs wait: four steps take one look at all of them, and four at a listing and their own jobs."""
    fake = cluster(0)
    fake.jobs |= {str(n): job(n, 8, priority=5) for n in range(1000, 1500)}
    fake.jobs |= {str(n): job(n, 8, priority=900) for n in range(200, 204)}
    rows = steps(fake, tmp_path, dry_run=True)
    assert [row.outcome for row in rows] == ["dry_run"] * 4
    assert fake.wholes() == 1
    assert [len(part.split(",")) for part in fake.parts()] == [3] * 4
    assert fake.bytes["squeue --json some"] < fake.bytes["squeue --json"] / 20


def test_acting_reads_all_jobs_once(tmp_path: Any) -> None:
    fake = cluster(0)
    fake.__class__ = type("Moving", (Still,), {"schedule": FakeSlurm.schedule})
    fake.jobs |= {str(n): job(n, 8, priority=900 - n) for n in range(200, 204)}
    rows = steps(fake, tmp_path, dry_run=False)
    assert [row.outcome for row in rows] == ["started"] * 4
    assert fake.wholes() == 1
    assert len(fake.parts()) >= 3
