"""Drawn histories of a site with people, lags, faults and kills; and drivers that are wrong on purpose."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

from evenhand.act import asking, course, judging
from evenhand.act.asking import Asking
from evenhand.act.caps import Caps
from evenhand.act.carry import Carrier
from evenhand.act.course import Course
from evenhand.act.driver import Driver
from evenhand.act.journal import Journal
from evenhand.adapters.protocol import EVICTIONS, Answer
from evenhand.testing.acting import LAWS, History, judge, play
from tests.drawing import examples
from tests.unit.act.processes import lives

pytestmark = pytest.mark.usefixtures("quiet")

PARTS = 5
WITHIN = 100
"""Histories within which a wrong driver is caught."""


@pytest.mark.parametrize("part", range(PARTS))
def test_no_law_is_broken(part: int) -> None:
    """At night 5,000 histories."""
    counts: Counter[str] = Counter()
    for seed in range(part, examples(2.5), PARTS):
        history = play(seed)
        judge(history)
        counts["kills"] += history.kills
        counts.update(line["outcome"] for line in history.lines if line["kind"] == "end")
        counts.update(line.get("answer") for line in history.lines if line["kind"] == "victim")
    assert counts["kills"] >= examples(2.5) // PARTS // 4
    counts["did not leave at once"] = sum(counts[word] for word in ("unknown", "restarted", "stays"))
    for word in ("started", "not_started", "left", "did not leave at once"):
        assert counts[word] >= 1, (word, counts)


def test_no_law_is_broken_where_drivers_are_killed_at_any_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Processes of their own, killed by SIGKILL; at any system call: see `tests.unit.act.killing`."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    kills = 0
    for seed in range(10_000, 10_000 + examples(0.25)):
        history = play(seed, lives=lives)
        judge(history)
        kills += history.kills
    assert kills >= examples(0.25) // 2


@pytest.mark.parametrize("seed", [862, 1060, 1286, 2417, 4582, 20_026, 21_167])
def test_no_law_is_broken_where_one_was(seed: int) -> None:
    """What drawn histories once found, of drivers and of laws."""
    judge(play(seed))


def test_the_same_history_every_time() -> None:
    one, other = play(7), play(7)
    assert one.site.log == other.site.log
    assert len(one.lines) == len(other.lines) > 1


def test_what_a_caller_does_with_a_driver_is_judged_too() -> None:
    """It asks a job to leave that no step names."""

    def meddles(driver: Driver, rules: Any) -> None:
        driver.adapter.do("requeue_hold", "low0", "because")

    with pytest.raises(AssertionError, match="history 3: written_before_asked: requeue_hold of low0"):
        judge(play(3, meddles))


Planted = Callable[[contextlib.ExitStack], object]


def put(stack: contextlib.ExitStack, where: Any, name: str, new: Any) -> None:
    stack.enter_context(mock.patch.object(where, name, new))


def no_caps(stack: contextlib.ExitStack) -> None:
    put(stack, Caps, "exceeded", lambda *_, **__: None)
    put(stack, Caps, "spent", lambda *_: (set(), set()))


def no_look_at_later_victims(stack: contextlib.ExitStack) -> None:
    put(stack, Asking, "__call__", lambda *_, **__: "")


def no_look_at_all(stack: contextlib.ExitStack) -> None:
    for where in (judging, asking):
        put(stack, where, "standing_refusals", lambda *_: [])


def no_look_at_the_beneficiary(stack: contextlib.ExitStack) -> None:
    """Further victims, whatever the beneficiary does."""
    plain = asking.standing_refusals
    put(stack, Course, "_waits", lambda *_: True)
    put(stack, asking, "rest_refusals", lambda *_: [])
    put(
        stack,
        asking,
        "standing_refusals",
        lambda *given: [r for r in plain(*given) if r.code != "beneficiary_not_pending"],
    )


def no_release(stack: contextlib.ExitStack) -> None:
    plain = Carrier.do

    def do(self: Carrier, step: int, action: str, *more: Any) -> Answer:
        return Answer("done") if action in ("release", "resume") else plain(self, step, action, *more)

    put(stack, Carrier, "do", do)


def started_before_it_has(stack: contextlib.ExitStack) -> None:
    put(stack, Course, "_judge", lambda *_: ("started", "it will", True))


def no_intent(stack: contextlib.ExitStack) -> None:
    plain = Journal.append

    def append(self: Journal, kind: str, **fields: Any) -> Any:
        return {} if kind == "intent" else plain(self, kind, **fields)

    put(stack, Journal, "append", append)


def asks_again(stack: contextlib.ExitStack) -> None:
    plain = Carrier.do

    def do(self: Carrier, step: int, action: str, victim: Any, reason: str) -> Answer:
        answer = plain(self, step, action, victim, reason)
        if action in EVICTIONS and answer.status == "unknown":
            return self.adapter.do(action, victim.name, reason)
        return answer

    put(stack, Carrier, "do", do)


def forgets_what_was_open(stack: contextlib.ExitStack) -> None:
    put(stack, Driver, "_recover", lambda *_: None)


def a_restart_is_an_eviction(stack: contextlib.ExitStack) -> None:
    plain = course._fate
    put(stack, course, "_fate", lambda v, s: plain(v, s) or ("left" if s.turn > v.turn else None))
    put(stack, course, "_free", lambda v, s, _: s.state in ("pending", "running"))


def a_look_that_lies_behind_is_a_release(stack: contextlib.ExitStack) -> None:
    states = ("held", "leaving", "unknown")
    put(stack, course, "_free", lambda victim, standing, release: standing.state not in states)


def what_counts_as_lost_is_never_found(stack: contextlib.ExitStack) -> None:
    put(stack, Carrier, "reconcile", lambda _: None)


def releases_what_others_hold(stack: contextlib.ExitStack) -> None:
    def pay(self: Carrier) -> None:
        for name in self.adapter.site.jobs:  # type: ignore[attr-defined]
            self.adapter.do("release", name, "")

    put(stack, Carrier, "pay", pay)


def steps_without_an_end(stack: contextlib.ExitStack) -> None:
    plain = Journal.note

    def note(self: Journal, kind: str, **fields: Any) -> None:
        if kind != "end":
            plain(self, kind, **fields)

    put(stack, Journal, "note", note)


PLANTED = [
    no_caps,
    no_look_at_later_victims,
    no_look_at_all,
    no_look_at_the_beneficiary,
    no_release,
    started_before_it_has,
    no_intent,
    asks_again,
    forgets_what_was_open,
    a_restart_is_an_eviction,
    a_look_that_lies_behind_is_a_release,
    what_counts_as_lost_is_never_found,
    releases_what_others_hold,
    steps_without_an_end,
]


def broken(history: History) -> Iterator[str]:
    for law in LAWS:
        try:
            law(history)
        except (AssertionError, KeyError):
            yield law.__name__


@pytest.mark.parametrize("planted", PLANTED)
def test_a_wrong_driver_is_caught(planted: Planted) -> None:
    with contextlib.ExitStack() as stack:
        planted(stack)
        assert any(next(broken(play(seed)), None) for seed in range(WITHIN))
