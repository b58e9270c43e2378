"""The commands that touch a cluster: watch, and what its journal says."""

from __future__ import annotations

import contextlib
import functools
import logging
import shlex
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evenhand.cli.reading import lines_of, read_state
from evenhand.cli.streams import Failure, label, print_csv, print_errors, print_json, print_text, reason
from evenhand.errors import EvenhandError, InputError

if TYPE_CHECKING:
    import argparse

    from evenhand.act import Driver, Row
    from evenhand.act.watching import Cycle
    from evenhand.table import Table

__all__ = ["journal", "watch"]


def watch(args: argparse.Namespace) -> int:
    """Plan for a cluster and act, until a signal."""
    from evenhand import act, adapters
    from evenhand.cli.plans import described_policy, made_policy

    system, preset, settings = described_policy(args.policy, args.config)
    state = read_state(args.state)
    logging.basicConfig(format="evenhand: %(message)s", level=logging.WARNING)
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
                rotate_at=args.rotate_at * 1024**2 or None,
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
    last = [""]

    def each(cycle: Cycle) -> None:
        print_errors([f"note: {notice}" for notice in cycle.notices if notice not in told])
        told.update(cycle.notices)
        if cycle.error:
            failures.append(cycle.error)
            print_errors([cycle.error])
        counts = ", ".join(f"{count} {outcome}" for outcome, count in cycle.report.counts.items())
        done = "failed" if cycle.error else f"steps: {counts}" if counts else "nobody has to leave"
        if done != last[0] or counts:  # idle rounds once
            print_text(f"round {cycle.number}: {done}")
        last[0] = done
        if args.metrics and not driver.dry_run:
            try:
                write_metrics(args.metrics, metrics_text(driver.book, cycle, driver.timing.now()))
            except OSError as error:  # figures are no reason to stop
                print_errors([f"{label(args.metrics)}: cannot be written: {reason(error)}"])

    act.watch(driver, policy, state=state, interval=args.interval, once=args.once, save=args.state, each=each)
    return failures


@contextlib.contextmanager
def _stopping(driver: Driver) -> Iterator[None]:
    """Let signals end a watch after the step that was begun."""

    def stop(*_: object) -> None:
        # In a thread: the one that is interrupted may hold the event's own lock.
        threading.Thread(target=driver.stop.set, daemon=True).start()

    kept = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        kept[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _print_row(row: Row) -> None:
    from evenhand.display.text import clean

    who = ", ".join(row.victims)
    whom = f" for {row.beneficiary}" if row.beneficiary else ""
    said = {
        "started": f"started: {row.beneficiary} runs, {who} left for it",
        "repaired": f"repaired: {who} left",
        "not_started": f"not started: {who} was told to leave{whom}, and is given back: {row.why}",
        "unwatched": f"unwatched: {who} left{whom}: {row.why}",
        "dry_run": f"dry run: {who} {row.why}",
    }
    words = said.get(row.outcome, f"{row.outcome}: {who} was to leave{whom}: {row.why}")
    print_text(clean(words))
    for command in row.commands:
        print_text(f"  would run: {clean(shlex.join(command))}")


def journal(args: argparse.Namespace) -> int:
    """Show what was done."""
    from evenhand.act.book import Book
    from evenhand.act.journal import read, repair, rotate

    try:
        if args.repair:
            cut = repair(args.file)
            print_errors([f"{label(args.file)}: {cut} bytes of a torn line cut off"] if cut else [])
        if args.rotate:
            old = rotate(args.file)
            said = f"the old journal is {label(str(old))}" if old else "most of it is still needed; it stays"
            print_errors([f"{label(args.file)}: {said}"])
        lines = read(args.file)
    except EvenhandError as error:
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
    print_text("\n".join(_told(table)) or "nobody was told to leave")
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


def _told(table: Table) -> list[str]:
    """Return one line a victim and a refused step: when, what came of it, who, for whom, why."""
    from evenhand.display.text import clean

    found = []
    for cells in table.rows():
        row = dict(zip(table.columns, cells, strict=True))
        owner = f" (owner {row['owner']})" if row["owner"] else ""
        said = row["why"] if row["outcome"] == "refused" else f"{row['reason']}, {row['action']}"
        if row["outcome"] not in ("started", "refused", "open"):
            said += f"; {row['why']}"
        whom = f" for {row['for']}" if row["for"] is not None else ""
        found.append(clean(f"{row['UTC']} UTC  {row['outcome']:<11}  {row['victim']}{owner}{whom}: {said}"))
    return found


def _history(lines: list[dict[str, Any]]) -> Table:
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
