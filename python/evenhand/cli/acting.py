"""The commands that touch a cluster: watch, and what its journal says."""

from __future__ import annotations

import contextlib
import functools
import logging
import shlex
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evenhand.cli.reading import lines_of, read_state
from evenhand.cli.streams import Failure, label, print_csv, print_errors, print_json, print_text, reason
from evenhand.errors import EvenhandError, InputError

if TYPE_CHECKING:
    import argparse

    from evenhand.act import Driver, Row
    from evenhand.act.watching import Cycle

__all__ = ["journal", "watch"]


def watch(args: argparse.Namespace) -> int:
    """Plan for a cluster and act, until a signal."""
    from evenhand import act, adapters
    from evenhand.cli.plans import described_policy, made_policy

    system, preset, settings = described_policy(args.policy, args.config)
    state = read_state(args.state)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    caps = act.Caps(
        *(getattr(args, name) or None for name in ("per_run", "per_hour", "per_owner", "per_job"))
    )
    timing = act.Timing(start=args.start_timeout, max_age=args.max_age)
    try:
        options = {}
        if args.adapter == "slurm":
            options = {"evict": args.evict, "timeout": args.timeout, "pools": args.pools}
        adapter = adapters.load(args.adapter, **options)
        policy = (
            functools.partial(adapter.policy, preset, **settings)
            if system == adapter.name
            else made_policy(args.policy, args.config)
        )
        with (
            act.Driver(
                adapter,
                args.journal,
                dry_run=args.dry_run,
                caps=caps,
                stop_file=args.stop_file,
                timing=timing,
                progress=_print_row,
            ) as driver,
            _stopping(driver),
        ):
            failures = _watch(args, driver, policy, state)
    except InputError as error:
        raise Failure(*lines_of(args.config or args.policy, error)) from error
    except EvenhandError as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(
            f"{label(str(error.filename or args.state))}: cannot be written: {reason(error)}"
        ) from error
    return 1 if failures and args.once else 0


def _watch(args: argparse.Namespace, driver: Driver, policy: Any, state: Any) -> list[str]:
    from evenhand import act
    from evenhand.act.metrics import metrics_text, write_metrics

    failures: list[str] = []
    told: set[str] = set()

    def each(cycle: Cycle) -> None:
        print_errors([f"note: {notice}" for notice in cycle.notices if notice not in told])
        told.update(cycle.notices)
        if cycle.error:
            failures.append(cycle.error)
            print_errors([cycle.error])
        counts = ", ".join(f"{count} {outcome}" for outcome, count in cycle.report.counts.items())
        print_text(f"round {cycle.number}: {cycle.decisions} decisions; {counts or 'nothing to do'}")
        if args.metrics and not driver.dry_run:
            write_metrics(args.metrics, metrics_text(driver.book, cycle, driver.timing.now()))

    act.watch(driver, policy, state=state, interval=args.interval, once=args.once, save=args.state, each=each)
    return failures


@contextlib.contextmanager
def _stopping(driver: Driver) -> Iterator[None]:
    """Let signals end a watch after the step that was begun."""
    kept = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        kept[number] = signal.signal(number, lambda *_: driver.stop.set())
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _print_row(row: Row) -> None:
    from evenhand.display.text import clean

    victims = ", ".join(row.victims)
    print_text(clean(f"{row.outcome}: {victims} for {row.beneficiary or 'a repair'}: {row.why}"))
    for command in row.commands:
        print_text(f"  would run: {clean(shlex.join(command))}")


def journal(args: argparse.Namespace) -> int:
    """Show what was done."""
    from evenhand.act.book import Book
    from evenhand.act.journal import JournalError, read, repair
    from evenhand.display import table_text

    try:
        if args.repair:
            cut = repair(args.file)
            print_errors([f"{label(args.file)}: {cut} bytes of a torn line cut off"] if cut else [])
        lines = read(args.file)
    except JournalError as error:
        raise Failure(str(error)) from error
    if args.format == "json":
        print_json(lines)
        return 0
    book = Book()
    for line in lines:
        book.add(line)
    table = _history(lines)
    if args.format == "csv":
        print_csv(table)
        return 0
    print_text(table_text(table) if len(table) else "nobody was told to leave")
    ends = ", ".join(f"{count} {outcome}" for outcome, count in book.ends.items()) or "none"
    print_text(f"\nsteps ended: {ends}; evictions asked for: {len(book.evictions)}")
    print_text(f"refused: {', '.join(f'{n} {code}' for code, n in book.refusals.items()) or 'none'}")
    for step in book.open.values():
        print_text(f"open: step {step.number} for {step.beneficiary}: {', '.join(step.victims)}")
    for owed in book.owed.values():
        print_text(f"owed: {owed.what} of {owed.job} (step {owed.step})")
    if not book.open and not book.owed:
        print_text("nothing is open")
    return 0


def _history(lines: list[dict[str, Any]]) -> Any:
    """Return one row a victim, and one a refused step."""
    from datetime import UTC, datetime

    from evenhand.table import Table

    ends = {line["step"]: line for line in lines if line["kind"] == "end"}
    rows: list[dict[str, Any]] = []
    for line in lines:
        if line["kind"] not in ("step", "refused"):
            continue
        when = datetime.fromtimestamp(line["t"], UTC).strftime("%Y-%m-%d %H:%M:%S")
        step = line["kind"] == "step"
        end = ends.get(line["step"]) if step else None
        victims = line["victims"] if step else [{"job": " ".join(line["victims"])}]
        rows.extend(
            {
                "UTC": when,
                "step": line.get("step"),
                "victim": victim["job"],
                "owner": victim.get("owner"),
                "action": victim.get("action"),
                "for": line["beneficiary"],
                "reason": victim.get("reason") or ", ".join(line.get("codes", ())),
                "outcome": (end["outcome"] if end else "open") if step else "refused",
                "why": (end["why"] if end else "") if step else line["why"],
            }
            for victim in victims
        )
    names = ("UTC", "step", "victim", "owner", "action", "for", "reason", "outcome", "why")
    return Table({name: [row[name] for row in rows] for name in names}, title="journal")
