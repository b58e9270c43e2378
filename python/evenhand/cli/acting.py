"""The command that touches a cluster."""

from __future__ import annotations

import contextlib
import functools
import logging
import shlex
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evenhand.cli.journal import unsettled
from evenhand.cli.live import known_adapter, loaded, rules_of
from evenhand.cli.reading import lines_of, read_state
from evenhand.cli.streams import Failure, Talker, label, print_errors, reason
from evenhand.errors import EvenhandError, InputError

if TYPE_CHECKING:
    import argparse

    from evenhand.act import Driver, Row
    from evenhand.act.watching import Cycle

__all__ = ["print_row", "stopping", "watch"]


def watch(args: argparse.Namespace) -> int:
    """Plan for a cluster and act, until a signal."""
    from evenhand import act
    from evenhand.act.folder import KEPT
    from evenhand.display.text import clean

    rules, policy_of = rules_of(args)
    state = read_state(args.state)
    known_adapter(args)
    logging.basicConfig(format="evenhand: %(message)s", level=logging.WARNING)
    caps = act.Caps(
        *(getattr(args, name) or None for name in ("per_run", "per_hour", "per_owner", "per_job"))
    )
    timing = act.Timing(start=args.start_timeout, max_age=args.max_age)
    try:
        adapter = loaded(args, rules)
        policy = policy_of(adapter)
        say, stop = Talker(), threading.Event()
        with (
            stopping(stop),
            contextlib.closing(say),
            act.Driver(
                adapter,
                args.journal,
                dry_run=args.dry_run,
                caps=caps,
                stop_file=args.stop_file,
                timing=timing,
                lock=args.lock,
                progress=functools.partial(print_row, say),
                rotate_at=args.rotate_at * 1024**2 or None,
                stop=stop,
                plans=args.plans,
                keep_plans=args.keep_plans or KEPT,
            ) as driver,
        ):
            release = driver.release.get("version")
            say(
                f"rules: {rules}" + (f"; the cluster runs {args.adapter} {clean(release)}" if release else "")
            )
            try:
                failures = _watch(args, driver, policy, state, say)
            finally:
                left = unsettled(driver.book)
                print_errors(left)
    except InputError as error:
        raise Failure(*lines_of(args.config or args.policy or args.adapter, error)) from error
    except EvenhandError as error:
        raise Failure(str(error)) from error
    except OSError as error:
        where = f"{label(str(error.filename))}: " if error.filename else ""
        raise Failure(f"{where}cannot be used: {reason(error)}") from error
    return 1 if (failures and args.once) or (left and not args.dry_run) else 0


def _watch(args: argparse.Namespace, driver: Driver, policy: Any, state: Any, say: Talker) -> list[str]:
    from evenhand import act
    from evenhand.act.metrics import metrics_text, write_metrics
    from evenhand.act.waiting import waiting_text
    from evenhand.display.text import clean

    failures: list[str] = []
    noted: set[str] = set()
    last = [""]

    def each(cycle: Cycle) -> None:
        print_errors([f"note: {notice}" for notice in cycle.notices if notice not in noted])
        noted.update(cycle.notices)
        if cycle.error:
            failures[:] = [cycle.error]  # one is enough
            print_errors([cycle.error])
        counts = ", ".join(f"{count} {outcome}" for outcome, count in cycle.report.counts.items())
        waits = waiting_text(cycle.waiting)
        idle = "" if waits else "no job must leave"
        done = "failed" if cycle.error else f"steps: {counts}" if counts else idle
        done = "; ".join(filter(None, (done, waits, clean(cycle.held_up))))
        if done != last[0] or counts:  # idle rounds once
            say(f"round {cycle.number}: {done}")
        last[0] = done
        if args.metrics and not driver.dry_run:
            try:
                write_metrics(args.metrics, metrics_text(driver.book, cycle, driver.timing.now()))
            except OSError as error:  # figures are no reason to stop
                print_errors([f"{label(args.metrics)}: cannot be written: {reason(error)}"])

    act.watch(driver, policy, state=state, interval=args.interval, once=args.once, save=args.state, each=each)
    return failures


@contextlib.contextmanager
def stopping(event: threading.Event) -> Iterator[None]:
    """Let signals end a watch after the step that was begun, or that an earlier driver left open."""

    def stop(*_: object) -> None:
        # In a thread: the one that is interrupted may hold the event's own lock.
        threading.Thread(target=event.set, daemon=True).start()

    kept = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        kept[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def print_row(say: Talker, row: Row) -> None:
    """Say what came of a step."""
    from evenhand.display.text import clean

    victims = ", ".join(row.victims) or "no job"
    beneficiary = f" for {row.beneficiary}" if row.beneficiary else ""
    owed = "".join(row.why.partition("; ")[1:])  # what it is still owed
    said = {
        "started": f"started: {row.beneficiary} runs, {victims} left for it{owed}",
        "repaired": f"repaired: {victims} left",
        "not_started": f"not started: {victims} was asked to leave{beneficiary}: {row.why}",
        "unwatched": f"unwatched: {victims} left{beneficiary}: {row.why}",
        "dry_run": f"dry run: {victims} {row.why}",
    }
    words = said.get(row.outcome, f"{row.outcome}: {victims} was to leave{beneficiary}: {row.why}")
    say(clean(words))
    for command in row.commands:
        say(f"  would run: {clean(shlex.join(command))}")
