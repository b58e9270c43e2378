"""The command that touches a cluster."""

from __future__ import annotations

import contextlib
import functools
import logging
import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.building.problems import nearest
from evenhand.cli.journal import unsettled
from evenhand.cli.reading import lines_of, read_state, read_toml
from evenhand.cli.streams import Failure, Talker, label, print_errors, reason
from evenhand.errors import EvenhandError, InputError
from evenhand.systems import SYSTEMS

if TYPE_CHECKING:
    import argparse

    from evenhand.act import Driver, Row
    from evenhand.act.watching import Cycle
    from evenhand.adapters import Adapter

__all__ = ["print_row", "stopping", "watch"]

#: Arguments that one adapter takes.
_OF_ONE: Mapping[str, Sequence[str]] = {
    "slurm": ("evict", "pools"),
    "gridengine": ("force", "suspended_slots_are_free"),
}


def watch(args: argparse.Namespace) -> int:
    """Plan for a cluster and act, until a signal."""
    from evenhand import act, adapters
    from evenhand.display.text import clean

    rules, policy_of = _rules(args)
    state = read_state(args.state)
    logging.basicConfig(format="evenhand: %(message)s", level=logging.WARNING)
    caps = act.Caps(
        *(getattr(args, name) or None for name in ("per_run", "per_hour", "per_owner", "per_job"))
    )
    timing = act.Timing(start=args.start_timeout, max_age=args.max_age)
    if args.adapter not in (known := sorted(adapters.available())):
        said = f"{args.adapter!r} is none of {', '.join(known)}{nearest(args.adapter, known)}"
        raise Failure(f"argument --adapter: {said}", usage=True)
    for system, names in _OF_ONE.items():
        for name in names:
            if args.adapter != system and getattr(args, name):
                option = name.replace("_", "-")
                raise Failure(f"argument --{option}: only with --adapter {system}", usage=True)
    try:
        options: dict[str, Any] = {}
        if args.adapter == "slurm":
            options = {"evict": args.evict or "requeue_hold", "pools": args.pools or "partition"}
            options["timeout"] = args.timeout
            options["own_rules"] = rules.startswith("slurm:")
        elif args.adapter == "gridengine":
            options = {name: getattr(args, name) for name in ("timeout", "force", "suspended_slots_are_free")}
        adapter = adapters.load(args.adapter, **options)
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


def _rules(args: argparse.Namespace) -> tuple[str, Callable[[Adapter], Any]]:
    """Return whose rules count, and how to get them from an adapter.

    The adapter is asked for its own where no others are named, and for those of the cluster's own system.
    """
    from evenhand.adapters.guarded import guarded
    from evenhand.cli.policies import described_policy, made_policy

    name = args.policy or (args.adapter if args.adapter in SYSTEMS else None)
    settings = {} if args.config is None or name is not None else read_toml(args.config)
    if name is None and "system" not in settings:
        preset = settings.pop("preset", None)
        said = f"those of the adapter {args.adapter}{f':{preset}' if preset else ''}"
        return said, lambda adapter: functools.partial(guarded(adapter).policy, preset, **settings)
    system, preset, settings = described_policy(name, args.config, args.adapter)

    def policy(adapter: Adapter) -> Any:
        if system == adapter.name:
            return functools.partial(adapter.policy, preset, **settings)
        return made_policy(name, args.config)

    return f"{system}:{preset}", policy


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
