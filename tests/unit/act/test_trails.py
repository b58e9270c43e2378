"""The trail of a job: the steps that concerned it, the plan's own sentences, the cluster's answers."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, PlanFolder, Trail, TrailStep, trail, watch
from evenhand.act.folder import PlanWriter
from evenhand.act.jobs import MOST, explained, named
from evenhand.act.journal import read
from evenhand.act.trails import trail_of
from evenhand.adapters.protocol import Answer
from evenhand.cli import main
from evenhand.display.trails import trail_text
from evenhand.errors import InputError
from tests.shared import DATA
from tests.unit.act.site import Site, SiteAdapter, driver_of
from tests.unit.act.test_folder import T0, evicting, plan, problem


def happened(folder: Path, adapter: SiteAdapter, seconds: float = 0.0) -> Path:
    """Watch a round, and come by until so many seconds later; the folder of plans."""
    plans = folder / "plans"
    with driver_of(adapter, folder, plans=plans) as driver:
        watch(driver, adapter.policy(), once=True)
    for _ in range(int(seconds) // 30):
        adapter.site.sleep(30.0)
        driver_of(adapter, folder).close()
    return plans


def only(found: Trail) -> TrailStep:
    (step,) = found.steps
    return step


def events_of(step: TrailStep) -> list[tuple[str, str, str]]:
    return [(one.what, one.job, one.status) for one in step.events]


# --- roles


@pytest.mark.parametrize(("job", "role"), [("low", "victim"), ("high", "beneficiary")])
def test_a_step_with_what_the_live_plan_said(job: str, role: str, tmp_path: Path) -> None:
    adapter = evicting()
    live = eh.plan(adapter.snapshot(), adapter.policy())
    plans = happened(tmp_path, adapter)
    step = only(found := trail(tmp_path / "journal", job, plans))
    assert (step.role, step.step, step.outcome, step.why) == (role, 0, "started", "high started")
    assert (step.victims, step.beneficiary, step.times, step.when) == (("low",), "high", 1, T0)
    assert (step.action, step.reason) == (
        ("requeue_hold", "lower_priority") if role == "victim" else ("", "")
    )
    assert [one.text for one in step.said.explanations] == [live.why(job).text]
    assert step.said.explanations[0].numbers == live.why(job).numbers
    assert step.said.plan == PlanFolder(plans).names[0]
    assert events_of(step) == [
        ("requeue_hold", "low", "done"),
        ("became", "low", "left"),
        ("release", "low", "done"),
        ("became", "low", "freed"),
    ]
    assert found.last is None
    for line in live.why(job).text.splitlines():
        assert f"  {line}".rstrip() in found.text.splitlines()


def test_only_what_concerns_the_job(tmp_path: Path) -> None:
    site = Site({"a": 4, "b": 4}, one=(4, 1, "a"), two=(4, 1, "b"), big=(4, 5, None), next=(4, 6, None))
    site.now = T0
    plans = happened(tmp_path, SiteAdapter(site))
    found = {job: trail(tmp_path / "journal", job, plans) for job in site.jobs}
    pairs = {tuple(step.victims): step.beneficiary for one in found.values() for step in one.steps}
    assert len(pairs) == 2
    for job, one in found.items():
        assert one.steps
        assert all(job in (*step.victims, step.beneficiary) for step in one.steps)
        assert all(event.job in step.victims for step in one.steps for event in step.events)


def test_a_victim_has_its_own_events_and_the_beneficiary_all(tmp_path: Path) -> None:
    site = Site({"a": 4}, one=(2, 1, "a"), two=(2, 1, "a"), big=(4, 5, None))
    site.now = T0
    plans = happened(tmp_path, SiteAdapter(site))
    found = {job: only(trail(tmp_path / "journal", job, plans)) for job in site.jobs}
    assert found["one"].victims == found["big"].victims == ("one", "two")
    assert {event.job for event in found["one"].events} == {"one"}
    assert {event.job for event in found["two"].events} == {"two"}
    assert {event.job for event in found["big"].events} == {"one", "two"}
    assert "one, two were to leave for big" in trail(tmp_path / "journal", "big").text


def test_a_job_that_resumes_later(tmp_path: Path) -> None:
    adapter = evicting()
    adapter.evict = "suspend"
    site = adapter.site
    adapter.on["suspend", "low"] = lambda: (adapter.done("suspend", "low"), site.start("high", "a"))[0]
    site.later(100.0, lambda: site.end("high"))
    plans = happened(tmp_path, adapter, 300.0)
    step = only(trail(tmp_path / "journal", "low", plans))
    assert events_of(step)[-2:] == [("resume", "low", "done"), ("settled", "low", "running")]
    assert step.events[-1].when > T0 + 100.0
    assert "resume of low: done" in trail(tmp_path / "journal", "low", plans).text


def test_what_the_site_refused(tmp_path: Path) -> None:
    adapter = evicting()
    adapter.on["requeue_hold", "low"] = lambda: Answer("refused", "not yours")
    plans = happened(tmp_path, adapter)
    found = trail(tmp_path / "journal", "low", plans)
    assert events_of(only(found)) == [("requeue_hold", "low", "refused"), ("became", "low", "stays")]
    assert "requeue_hold of low: refused (not yours)" in found.text
    assert only(found).outcome == "not_started"


def test_an_intent_without_an_answer_says_so() -> None:
    lines = _journal("journal-open")
    job = next(line["job"] for line in lines if line["kind"] == "intent")
    cut = lines[: next(i for i, line in enumerate(lines) if line["kind"] == "intent") + 1]
    step = only(trail_of(cut, job))
    assert step.outcome == "open"
    assert step.events[-1].message == "no answer was written down"


@pytest.mark.parametrize("name", ["journal-ended", "journal-open", "journal-owed"])
def test_journals_of_before_have_trails_without_plans(name: str) -> None:
    lines = _journal(name)
    (begun, *_) = [line for line in lines if line["kind"] == "step"]
    for job in (begun["beneficiary"], *(victim["job"] for victim in begun["victims"])):
        found = trail_of(lines, job)
        assert only(found).said.missing == "no plan was saved"
        assert found.text.startswith("2023-1")


def _journal(name: str) -> list[dict[str, Any]]:
    return read(DATA / "act" / name)


# --- what the folder says is what the live plans said


def drawn(seed: int) -> tuple[SiteAdapter, Caps]:
    """A site where jobs that wait need others to leave, within caps that may not allow it."""
    chance = random.Random(seed)
    nodes = {f"n{i}": 4 for i in range(chance.randint(1, 3))}
    jobs = {
        f"r{i}": (chance.choice((2, 4)), chance.randint(1, 4), n, f"u{i % 2}") for i, n in enumerate(nodes)
    }
    jobs |= {
        f"w{i}": (chance.choice((2, 4)), chance.randint(2, 9), None) for i in range(chance.randint(1, 4))
    }
    site = Site(nodes, **jobs)
    site.now = T0
    caps = Caps(chance.choice((1, 2, None)), None, chance.choice((1, None)), None)
    return SiteAdapter(site, chance.choice(("requeue", "requeue_hold", "suspend"))), caps


def test_a_line_of_the_journal_and_its_plan_are_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = PlanWriter.add
    live: dict[str, Any] = {}

    def add(self: PlanWriter, plan: Any) -> str:
        name = plain(self, plan)
        live[name] = plan
        return name

    monkeypatch.setattr(PlanWriter, "add", add)
    kinds: Counter[str] = Counter()
    for seed in range(30):
        live.clear()
        folder = tmp_path / str(seed)
        folder.mkdir()
        adapter, caps = drawn(seed)
        with driver_of(adapter, folder, plans=folder / "plans", caps=caps) as driver:
            for _ in range(2):
                watch(driver, adapter.policy(), once=True)
                adapter.site.sleep(30.0)
        saved = PlanFolder(folder / "plans")
        assert saved.names == sorted(live)
        for line in read(folder / "journal"):
            if line["kind"] not in ("step", "refused"):
                continue
            kinds[line["kind"]] += 1
            plan = live[line["plan"]["file"]]
            assert saved.load(line["plan"]["file"]) == plan
            decided = plan.steps()[line["plan"]["step"]]
            victims = [v if isinstance(v, str) else v["job"] for v in line["victims"]]
            assert [str(d.operation) for d in decided.victims] == victims
            for job in victims:
                for step in trail(folder / "journal", job, folder / "plans").steps:
                    of = live[str(step.said.plan)]
                    assert [one.text for one in step.said.explanations] == [of.why(job).text]
    assert min(kinds["step"], kinds["refused"]) > 5


# --- refusals


def _refused(
    t: float, codes: tuple[str, ...] = ("cap",), victims: tuple[str, ...] = ("1",)
) -> dict[str, Any]:
    said = {"codes": list(codes), "why": f"at {t}", "victims": list(victims)}
    return {"n": 0, "t": t, "kind": "refused", "beneficiary": "2", **said}


def test_refusals_in_a_row_for_the_same_are_one() -> None:
    lines = [
        *map(_refused, (1.0, 2.0, 3.0)),
        _refused(4.0, ("busy",)),
        _refused(5.0),
        _refused(6.0, victims=("1", "3")),
    ]
    for job in ("1", "2"):
        found = trail_of(lines, job)
        assert [(one.times, one.first, one.when, one.reason) for one in found.steps] == [
            (3, 1.0, 3.0, "cap"),
            (1, 4.0, 4.0, "busy"),
            (1, 5.0, 5.0, "cap"),
            (1, 6.0, 6.0, "cap"),
        ]
        assert "(3 times since 1970-01-01 00:00:01 UTC)" in found.text
        assert f"No job left for {job}, and it was not asked to leave." in found.text
    assert len(trail_of(lines, "3").steps) == 1


def test_a_job_that_was_only_refused_has_the_last_plan_too(tmp_path: Path) -> None:
    with PlanWriter(tmp_path) as writer:
        name = writer.add(plan(**{"2": (4, 1, "a")}))
    found = trail_of([_refused(1.0)], "2", tmp_path)
    assert found.last is not None
    assert found.last.plan == name


# --- jobs that were never touched


def test_a_job_that_was_never_touched_has_what_the_last_plan_said(tmp_path: Path) -> None:
    adapter = evicting()
    live = eh.plan(adapter.snapshot(), adapter.policy())
    plans = happened(tmp_path, adapter)
    found = trail(tmp_path / "journal", "mid", plans)
    assert not found.steps
    assert found.last is not None
    assert [one.text for one in found.last.explanations] == [live.why_not("mid").text]
    assert live.why_not("mid").sentences[0] in found.text


def test_a_job_that_no_file_knows_is_one_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plans = happened(tmp_path, evicting())
    words = ["journal", str(tmp_path / "journal"), "--explain", "none"]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert said == (
        "evenhand: no step of the journal concerned a job 'none'; a folder of plans (--plans) may know it\n"
    )
    assert main([*words, "--plans", str(plans)]) == 1
    said = capsys.readouterr().err
    assert said == (
        f"evenhand: no step of the journal concerned a job 'none', and no plan of {plans} knows it\n"
    )


def test_a_plan_that_left_the_folder_is_said(tmp_path: Path) -> None:
    plans = happened(tmp_path, evicting())
    (name,) = PlanFolder(plans).names
    (plans / name).unlink()
    found = trail(tmp_path / "journal", "low", plans)
    assert only(found).said.missing == f"it is not in {plans} (any more)"
    assert f"  {name}: it is not in" in found.text
    assert only(found).events
    assert only(trail(tmp_path / "journal", "low")).said.missing == "no folder of plans was named"


def test_a_damaged_plan_is_one_error_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = happened(tmp_path, evicting())
    (name,) = PlanFolder(plans).names
    (plans / name).write_bytes((plans / name).read_bytes()[:-9])
    for job in ("low", "mid"):
        with pytest.raises(InputError) as caught:
            trail(tmp_path / "journal", job, plans)
        assert problem(caught).startswith(f"{plans / name}: ")
        assert main(["journal", str(tmp_path / "journal"), "--explain", job, "--plans", str(plans)]) == 1
        assert capsys.readouterr().err.startswith(f"evenhand: {plans / name}: ")


@pytest.mark.parametrize("file", ["../journal", "/etc/passwd", 3, None, ["x"]])
def test_a_journal_names_only_files_of_the_folder(file: Any, tmp_path: Path) -> None:
    with PlanWriter(tmp_path / "plans") as writer:
        writer.add(plan())
    found = trail_of([{**_refused(1.0), "plan": {"file": file}}], "1", tmp_path / "plans")
    assert not only(found).said.explanations
    assert only(found).said.missing


# --- names


def test_bare_numbers_and_tasks_of_arrays() -> None:
    known = ["4711", "12_3", "12_4", "366.2", "366.x", "7_1", 99, "12_3", "470_1"]
    assert named(known, "4711") == ["4711"]
    assert named(known, "99") == ["99"]
    assert named(known, "12") == ["12_3", "12_4"]
    assert named(known, "12_3") == ["12_3"]
    assert named(known, "366") == ["366.2"]
    assert named(known, "7") == ["7_1"]
    assert named(known, "47") == named(known, "1") == named(known, "") == named(known, "12_") == []
    assert named(["a_1"], "a") == []


def test_an_array_of_several_tasks_asks_for_one() -> None:
    lines = [_refused(1.0, victims=tuple(f"12_{n}" for n in range(8)))]
    with pytest.raises(InputError) as caught:
        trail_of(lines, "12")
    assert problem(caught) == (
        "12 is an array; name one of its tasks: 12_0, 12_1, 12_2, 12_3, 12_4 and 3 more"
    )
    assert trail_of([_refused(1.0, victims=("12_0",))], "12").job == "12_0"


def test_parts_of_a_job_that_were_decided_on_come_first() -> None:
    demo = eh.plan(eh.synthetic.demo(), eh.policies.YTsaurus(), as_if_waiting="10m")
    by_operation: dict[str, list[str]] = {}
    for decision in demo.decisions.victims:
        by_operation.setdefault(str(decision.operation), []).append(str(decision.allocation))
    requests = {
        str(demo.snapshot.names("operations")[i]) for i in demo.snapshot._core.column("requests", "operation")
    }
    job, own = next((j, own) for j, own in by_operation.items() if j not in requests and len(own) > MOST)
    shown, more = explained(demo, job)
    order = [name for name in map(str, demo.snapshot.names("allocations")) if name in own]
    assert [one.name for one in shown] == order[:MOST]
    assert shown[0].text == demo.why(order[0]).text
    assert len(shown) + more == len(own)


def test_a_part_is_explained_as_the_plan_does() -> None:
    demo = eh.plan(eh.synthetic.demo(), eh.policies.YTsaurus())
    for table in ("allocations", "requests"):
        name = str(demo.snapshot.names(table)[0])
        assert explained(demo, name)[0][0].text == demo.why(name).text
    with pytest.raises(KeyError):
        explained(demo, "none")


# --- forms


def test_forms_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plans = happened(tmp_path, evicting())
    words = ["journal", str(tmp_path / "journal"), "--explain", "low", "--plans", str(plans)]
    found = trail(tmp_path / "journal", "low", plans)
    assert main(words) == 0
    assert capsys.readouterr().out == found.text + "\n" == trail_text(found) + "\n"
    assert main([*words, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads(json.dumps(found.to_dict()))
    said = data["steps"][0]["said"]["explanations"][0]
    assert said == json.loads(json.dumps(only(found).said.explanations[0].to_dict()))
    assert main([*words, "--format", "csv"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head == "UTC,step,role,victims,for,reason,outcome,why,times,plan,part,explanation"
    assert re.match(
        r"2026-11-28 00:28:05 UTC,0,victim,low,high,lower_priority,started,high started,1,plan-", row
    )


def test_plans_only_with_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["journal", "j", "--plans", "p"])
    assert "argument --plans: only with --explain" in capsys.readouterr().err
    for name in ("-", ""):
        with pytest.raises(SystemExit, match="2"):
            main(["watch", "--journal", "j", "--plans", name])
        assert "is no name of a folder" in capsys.readouterr().err
