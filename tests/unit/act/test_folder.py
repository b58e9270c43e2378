"""The folder of plans: names that sort, files that are whole, a bound that holds, one writer."""

from __future__ import annotations

import errno
import gzip
import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import LockedError, PlanFolder, watch
from evenhand.act.folder import KEPT, PlanWriter
from evenhand.act.journal import read
from evenhand.errors import InputError
from tests.unit.act.site import Site, SiteAdapter, driver_of
from tests.unit.act.world import World

T0 = 1_795_825_685.0  # 2026-11-28 00:28:05 UTC
HOUR = 3600.0


def plan(now: float = T0, **jobs: tuple[Any, ...]) -> Any:
    """A plan of a small site; by default it decides nothing."""
    site = Site({"a": 4, "b": 4}, **(jobs or {"1": (4, 5, "a")}))
    site.now = now
    adapter = SiteAdapter(site)
    return eh.plan(adapter.snapshot(), adapter.policy())


def deciding(now: float = T0) -> Any:
    found = plan(now, low=(4, 1, "a"), mid=(4, 3, "b"), high=(4, 5, None))
    assert len(found.decisions)
    return found


def filled(folder: Path, *instants: float, keep: int = KEPT) -> PlanFolder:
    with PlanWriter(folder, keep) as writer:
        for now in instants:
            writer.add(plan(now))
            writer.prune()
    return PlanFolder(folder)


def problem(caught: pytest.ExceptionInfo[InputError]) -> str:
    (one,) = caught.value.problems
    return one.message


# --- names


def test_names_are_the_time_of_the_snapshot(tmp_path: Path) -> None:
    folder = filled(tmp_path / "plans", T0, T0 + 0.25)
    assert folder.names == [
        "plan-20261128T002805.000000Z.json.gz",
        "plan-20261128T002805.250000Z.json.gz",
    ]
    assert [folder.load(name).snapshot.now for name in folder] == [T0, T0 + 0.25]
    assert len(folder) == 2
    assert (folder.path / folder.names[0]).stat().st_mode & 0o777 == 0o640


def test_plans_of_one_instant_are_counted_and_sort_by_number(tmp_path: Path) -> None:
    folder = filled(tmp_path, *[T0] * 11, T0 - 1)
    first = "plan-20261128T002805.000000Z"
    later = [f"{first}_{n}.json.gz" for n in range(2, 12)]
    assert folder.names == ["plan-20261128T002804.000000Z.json.gz", f"{first}.json.gz", *later]


def test_other_files_do_not_matter(tmp_path: Path) -> None:
    folder = filled(tmp_path, T0)
    (name,) = folder.names
    others = (
        "README",
        f".{name}.x1",
        name.removesuffix(".gz"),
        f"{name}~",
        "plan-1.json.gz",
        f"{name[:-8]}_0.json.gz",
    )
    for other in others:
        (tmp_path / other).write_text("{")
    assert folder.names == [name]
    assert name in folder
    assert not any(other in folder for other in others)
    assert len(filled(tmp_path, T0 + 1, keep=1)) == 1
    assert all((tmp_path / other).exists() for other in others if other[0] != ".")


@pytest.mark.parametrize("now", [-70_000_000_000.0, 253_402_300_800.0, 1e12])
def test_an_instant_that_no_name_can_say(now: float, tmp_path: Path) -> None:
    odd = eh.plan(eh.Snapshot.from_dict({"now": now, "resources": {"cpu": {}}}), eh.policies.BackendAI())
    with PlanWriter(tmp_path) as writer:
        with pytest.raises(InputError, match="no name of a file can say"):
            writer.add(odd)
        writer.add(plan(-1.0))
        assert writer.wants(odd), "adding it says why it cannot be"
    assert PlanFolder(tmp_path).names == ["plan-19691231T235959.000000Z.json.gz"]


# --- what it says


def test_what_is_read_is_the_plan_that_was_live(tmp_path: Path) -> None:
    live = [deciding(), eh.plan(eh.synthetic.demo(), eh.policies.YTsaurus(), as_if_waiting="10m")]
    with PlanWriter(tmp_path) as writer:
        names = [writer.add(one) for one in live]
    for one, name in zip(live, names, strict=True):
        again = PlanFolder(tmp_path).load(name)
        assert again == one
        assert again.decisions.to_list() == one.decisions.to_list()
        victims = [d.allocation for d in one.decisions.victims][:5]
        asked = [*victims, *one.snapshot.names("requests")[:5], *one.snapshot.names("operations")[:5]]
        assert victims
        for job in asked:
            assert again.why(job).text == one.why(job).text


def test_a_file_is_a_saved_plan_like_any_other(tmp_path: Path) -> None:
    one = deciding()
    with PlanWriter(tmp_path / "plans") as writer:
        name = writer.add(one)
    one.save(tmp_path / "saved.json.gz")
    assert (tmp_path / "plans" / name).read_bytes() == (tmp_path / "saved.json.gz").read_bytes()
    data = json.loads(gzip.decompress((tmp_path / "plans" / name).read_bytes()))
    assert data["provenance"] == one.provenance


# --- the bound


@pytest.mark.parametrize(("count", "first"), [(2, 0), (3, 0), (4, 1), (7, 4)])
def test_the_oldest_leave_beyond_the_bound(count: int, first: int, tmp_path: Path) -> None:
    folder = filled(tmp_path, *(T0 + n for n in range(count)), keep=3)
    assert [folder.load(name).snapshot.now for name in folder] == [T0 + n for n in range(first, count)]


def test_a_smaller_bound_holds_from_the_first_plan_on(tmp_path: Path) -> None:
    filled(tmp_path, *(T0 + n for n in range(5)))
    folder = filled(tmp_path, T0 + 5, keep=2)
    assert [folder.load(name).snapshot.now for name in folder] == [T0 + 4, T0 + 5]


def test_the_newest_stays_where_the_clock_was_set_back(tmp_path: Path) -> None:
    folder = filled(tmp_path, T0 + 10, T0 + 20, T0, keep=2)
    assert [folder.load(name).snapshot.now for name in folder] == [T0, T0 + 20]


def test_the_bound_of_the_command_line_is_that_of_python() -> None:
    from evenhand.cli import parser

    args = parser().parse_args(["watch", "--journal", "j", "--plans", "p"])
    assert args.keep_plans is None
    assert f"default: {KEPT}" in parser().commands["watch"].format_help()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("seconds", "wanted"), [(0.0, False), (1914.999999, False), (1915.0, True)])
def test_what_decides_nothing_is_kept_once_an_hour(seconds: float, wanted: bool, tmp_path: Path) -> None:
    with PlanWriter(tmp_path) as writer:
        assert writer.wants(plan()), "the folder is empty"
        writer.add(plan())
        assert writer.wants(plan(T0 + seconds)) is wanted
        assert writer.wants(deciding(T0 + seconds))
    with PlanWriter(tmp_path) as writer:  # another writer sees what there is
        assert writer.wants(plan(T0 + seconds)) is wanted


def test_the_hour_is_that_of_the_last_one_written(tmp_path: Path) -> None:
    with PlanWriter(tmp_path) as writer:
        writer.add(plan(T0 + HOUR))
        assert writer.wants(plan(T0))
        writer.add(plan(T0))  # the clock was set back
        assert not writer.wants(plan(T0 + 1))


# --- whole files, and one writer


def test_a_writer_killed_before_the_rename_leaves_nothing(tmp_path: Path) -> None:
    process = os.fork()
    if not process:
        Path.replace = lambda *_: os._exit(9)  # type: ignore[assignment, method-assign]
        PlanWriter(tmp_path).add(deciding())
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9
    assert [one for one in tmp_path.iterdir() if one.name.startswith(".plan-")]
    assert not PlanFolder(tmp_path).names
    assert PlanFolder(tmp_path).last("low") is None
    with PlanWriter(tmp_path) as writer:
        assert [one.name for one in tmp_path.iterdir()] == [".lock"]
        writer.add(deciding())
    assert len(PlanFolder(tmp_path)) == 1


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.99])
def test_a_file_that_is_cut_short_is_one_error_with_its_name(part: float, tmp_path: Path) -> None:
    folder = filled(tmp_path, T0, T0 + 1)
    name = folder.names[1]
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: int(part * len(data))])
    for ask in (lambda: folder.load(name), lambda: folder.last("1")):
        with pytest.raises(InputError) as caught:
            ask()
        assert problem(caught).startswith(f"{tmp_path / name}: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "is not a complete saved plan"),
        ('{"schema": "evenhand/plan/1", "snapshot": 3}', "is not a complete saved plan"),
        ('{"schema": "evenhand/plan/1"', "is not a complete saved plan"),
        ("\udce4", "damaged"),
    ],
)
def test_a_file_of_something_else_is_one_error_with_its_name(text: str, said: str, tmp_path: Path) -> None:
    folder = filled(tmp_path, T0)
    (name,) = folder.names
    (tmp_path / name).write_bytes(gzip.compress(f"{text} 1".encode("utf-8", "surrogateescape")))
    for ask in (folder.load, lambda _: folder.last("1")):
        with pytest.raises(InputError) as caught:
            ask(name)
        assert problem(caught).startswith(f"{tmp_path / name}: ")
        assert said in problem(caught)


def test_a_plan_that_would_decide_otherwise_is_named(tmp_path: Path) -> None:
    with PlanWriter(tmp_path) as writer:
        name = writer.add(deciding())
    data = json.loads(gzip.decompress((tmp_path / name).read_bytes()))
    data["decisions"].clear()
    (tmp_path / name).write_bytes(gzip.compress(json.dumps(data).encode()))
    with pytest.raises(InputError) as caught:
        PlanFolder(tmp_path).load(name)
    assert problem(caught).startswith(f"{tmp_path / name}: the plan decides otherwise now")


@pytest.mark.parametrize("name", ["", "x", "../plan-20261128T002805.000000Z.json.gz", ".lock", "/etc/passwd"])
def test_only_its_own_files_are_read(name: str, tmp_path: Path) -> None:
    folder = filled(tmp_path / "plans", T0)
    with pytest.raises(InputError, match="has no plan"):
        folder.load(name)
    with pytest.raises(InputError, match=r"has no plan .* \(any more\)"):
        folder.load("plan-20261128T002806.000000Z.json.gz")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    name = "plan-20261128T002805.000000Z.json.gz"
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="not a regular file"):
        PlanFolder(tmp_path).load(name)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        PlanFolder(tmp_path / "none").last("1")
    with pytest.raises(FileNotFoundError):
        PlanWriter(tmp_path / "none" / "plans")
    (tmp_path / "file").write_text("")
    with pytest.raises(LockedError, match="file"):
        PlanWriter(tmp_path / "file")


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with PlanWriter(tmp_path) as writer:
        with pytest.raises(
            LockedError, match=f"another driver .* saves plans in this folder: lock {tmp_path}/.lock"
        ):
            PlanWriter(tmp_path)
        writer.add(plan())
    filled(tmp_path, T0 + 1)


# --- the newest that knows a job


def test_the_newest_plan_that_knows_a_job(tmp_path: Path) -> None:
    with PlanWriter(tmp_path) as writer:
        old = writer.add(plan(T0, **{"17": (4, 1, "a"), "9_1": (2, 1, "b"), "9_2": (2, 1, "b")}))
        new = writer.add(plan(T0 + 1, **{"17": (4, 1, "a")}))
    folder = PlanFolder(tmp_path)
    assert folder.last("17") == new
    assert folder.last("9_1") == folder.last("9") == old
    assert folder.last("1") is None, "which is part of other names and numbers"
    assert folder.last("4") is None, "which is an amount"


def test_a_file_that_leaves_while_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = filled(tmp_path, T0)
    names = [*folder.names, "plan-20261128T002806.000000Z.json.gz"]
    monkeypatch.setattr(PlanFolder, "names", names)
    assert folder.last("1") == names[0]
    assert folder.last("2") is None


# --- a driver that saves


def evicting() -> SiteAdapter:
    """A site where `low` gives way to `high`, which starts at once."""
    site = Site({"a": 4, "b": 4}, low=(4, 1, "a"), mid=(4, 3, "b"), high=(4, 5, None))
    site.now = T0
    leave = site.leave

    def left(name: str, state: str = "held") -> None:
        leave(name, state)
        site.start("high", "a")

    site.leave = left  # type: ignore[method-assign]
    return SiteAdapter(site)


def lines_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in read(folder / "journal") if line["kind"] == kind]


def test_the_journal_names_the_plan_that_a_step_was_decided_by(tmp_path: Path) -> None:
    adapter = evicting()
    with driver_of(adapter, tmp_path, plans=tmp_path / "plans") as driver:
        watch(driver, adapter.policy(), once=True)
    (step,), (name,) = lines_of(tmp_path, "step"), PlanFolder(tmp_path / "plans").names
    assert step["plan"]["file"] == name
    found = PlanFolder(tmp_path / "plans").load(name)
    assert [str(d.operation) for d in found.decisions.victims] == ["low"]
    assert found.snapshot.now == step["plan"]["now"]


def test_a_refused_step_names_its_plan_too(tmp_path: Path) -> None:
    adapter = evicting()
    adapter.site.set("low", protected=False)
    live = eh.plan(adapter.snapshot(), adapter.policy())
    adapter.site.set("low", held=True)
    with driver_of(adapter, tmp_path, plans=tmp_path / "plans") as driver:
        driver.act(live)
    (refused,) = lines_of(tmp_path, "refused")
    assert PlanFolder(tmp_path / "plans").load(refused["plan"]["file"]) == live


def test_without_a_folder_and_in_a_dry_run_nothing_is_written(tmp_path: Path) -> None:
    adapter = evicting()
    with driver_of(adapter, tmp_path, dry_run=True, plans=tmp_path / "plans") as driver:
        watch(driver, adapter.policy(), once=True)
    assert not (tmp_path / "plans").exists()
    with driver_of(adapter, tmp_path) as driver:
        watch(driver, adapter.policy(), once=True)
    assert "file" not in lines_of(tmp_path, "step")[0]["plan"]
    assert not (tmp_path / "plans").exists()


def test_acting_once_saves_its_plan(tmp_path: Path) -> None:
    import asyncio

    from evenhand.act import act, act_async

    live: dict[str, Any] = {}
    for name in ("plain", "async"):
        adapter, folder = evicting(), tmp_path / name
        folder.mkdir()
        live[name] = eh.plan(adapter.snapshot(), adapter.policy())
        options: dict[str, Any] = {
            "journal": folder / "journal",
            "timing": adapter.site.timing(),
            "plans": folder / "plans",
        }
        if name == "plain":
            act(live[name], adapter, **options)
        else:
            asyncio.run(act_async(live[name], adapter, **options))
        (file,) = PlanFolder(folder / "plans").names
        assert PlanFolder(folder / "plans").load(file) == live[name]


def test_idle_rounds_leave_a_plan_an_hour(tmp_path: Path) -> None:
    adapter = SiteAdapter(Site({"a": 4}, only=(4, 1, "a")))
    adapter.site.now = T0
    with driver_of(adapter, tmp_path, plans=tmp_path / "plans") as driver:
        for _ in range(5):
            watch(driver, adapter.policy(), once=True)
            adapter.site.sleep(900.0)
    times = [name[5:20] for name in PlanFolder(tmp_path / "plans")]
    assert times == ["20261128T002805", "20261128T011305"]


def test_a_full_disk_is_said_once_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full = [True]
    plain = PlanWriter.add

    def add(self: PlanWriter, plan: Any) -> str:
        if full[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return plain(self, plan)

    monkeypatch.setattr(PlanWriter, "add", add)
    adapter = evicting()
    caplog.set_level(logging.WARNING, "evenhand.act")
    with driver_of(adapter, tmp_path, plans=tmp_path / "plans") as driver:
        for full[0] in (True, True, False, True):
            watch(driver, adapter.policy(), once=True)
            adapter.site.sleep(HOUR)
    assert adapter.site.evicted() == ["low"]
    assert "file" not in lines_of(tmp_path, "step")[0]["plan"]
    said = f"plans {tmp_path / 'plans'}: cannot be written: No space left on device; the driver continues"
    assert [record.getMessage() for record in caplog.records] == [said, said]
    assert len(PlanFolder(tmp_path / "plans")) == 1


def test_a_plan_of_a_policy_that_no_file_names_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path)
    with world.driver(plans=tmp_path / "plans") as driver:
        watch(driver, world.policy, once=True)
        assert driver.report.counts == {"started": 2}
    assert caplog.text.count("cannot be written: the plan cannot be saved") == 1
    assert not PlanFolder(tmp_path / "plans").names
    world.check()


def test_two_drivers_do_not_save_in_one_folder(tmp_path: Path) -> None:
    first, second = evicting(), evicting()
    (tmp_path / "second").mkdir()
    with driver_of(first, tmp_path, plans=tmp_path / "plans"):
        with pytest.raises(LockedError):
            driver_of(second, tmp_path / "second", plans=tmp_path / "plans")
        driver_of(second, tmp_path / "second").close()
    driver_of(second, tmp_path / "second", plans=tmp_path / "plans").close()
