"""What a journal says of the jobs that left: for which job, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.cli.streams import (
    Failure,
    glyphs,
    label,
    print_csv,
    print_errors,
    print_json,
    print_prose,
    read_bytes,
    room,
)
from evenhand.errors import EvenhandError, InputError

if TYPE_CHECKING:
    import argparse

    from evenhand.act.book import Book
    from evenhand.table import Table

__all__ = ["journal", "unsettled"]

_WIDTH = 80  # columns of amounts where no width is known


def journal(args: argparse.Namespace) -> int:
    """Show what was done."""
    from evenhand.act.book import Book
    from evenhand.act.journal import read, repair, rotate
    from evenhand.act.reading import read_text

    if args.plans is not None and args.explain is None:
        raise Failure("argument --plans: only with --explain", usage=True)
    for option in ("repair", "rotate"):
        if args.file == "-" and getattr(args, option):
            raise Failure(f"argument --{option}: standard input cannot be changed; name the file", usage=True)
    try:
        if args.repair:
            cut = repair(args.file)
            print_errors([f"{label(args.file)}: {cut} bytes of a torn line cut off"] if cut else [])
        if args.rotate:
            old = rotate(args.file)
            said = f"the old journal is {label(str(old))}" if old else "most of it is still needed; it stays"
            print_errors([f"{label(args.file)}: {said}"])
        lines = read_text(label("-"), read_bytes("-")).lines if args.file == "-" else read(args.file)
    except EvenhandError as error:
        raise Failure(str(error)) from error
    if args.explain is not None:
        return _explain(args, lines)
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
    print_prose("\n".join(_history_lines(table)) or "no job was asked to leave")
    ends = ", ".join(f"{count} {outcome}" for outcome, count in book.ends.items()) or "none"
    print_prose(f"\nsteps ended: {ends}; evictions asked for: {book.evicted}")
    print_prose(f"refused: {', '.join(f'{n} {code}' for code, n in book.refusals.items()) or 'none'}")
    print_prose("\n".join(unsettled(book)) or "nothing is open")
    return 0


def _explain(args: argparse.Namespace, lines: list[dict[str, Any]]) -> int:
    """Show the trail of one job."""
    from evenhand.act.trails import trail_of
    from evenhand.display.trails import trail_table, trail_text

    try:
        found = trail_of(lines, args.explain, args.plans)
    except InputError as error:
        raise Failure(*(problem.message for problem in error.problems)) from error
    if args.format == "json":
        print_json(found.to_dict())
    elif args.format == "csv":
        print_csv(trail_table(found))
    else:
        print_prose(trail_text(found, room() or _WIDTH, glyphs()))
    return 0


def unsettled(book: Book) -> list[str]:
    """Return a line for every step that is open and every job that is owed something."""
    found = [
        f"open: step {step.number} for {step.beneficiary}: {', '.join(step.victims)}"
        for step in book.open.values()
    ]
    return found + [f"owed: {owed.what} of {owed.job} (step {owed.step})" for owed in book.owed.values()]


def _history_lines(table: Table) -> list[str]:
    """Return one line per victim and per refused step: time, outcome, victim, beneficiary, reason."""
    from evenhand.display.text import clean

    found = []
    for cells in table.rows():
        row = dict(zip(table.columns, cells, strict=True))
        owner = f" (owner {row['owner']})" if row["owner"] else ""
        said = row["why"] if row["outcome"] == "refused" else f"{row['reason']}, {row['action']}"
        if row["became"] not in ("", "left"):
            said += f"; {row['became']}"
        if row["outcome"] not in ("started", "refused", "open"):
            said += f"; {row['why']}"
        beneficiary = f" for {row['for']}" if row["for"] is not None else ""
        line = f"{row['UTC']} UTC  {row['outcome']:<11}  {row['victim']}{owner}{beneficiary}: {said}"
        found.append(clean(line))
    return found


def _history(lines: list[dict[str, Any]]) -> Table:
    """Return one row per victim, and one per refused step."""
    from datetime import UTC, datetime

    from evenhand.adapters.protocol import EVICTIONS
    from evenhand.reasons import current
    from evenhand.table import Table

    ends = {line["step"]: line for line in lines if line["kind"] == "end"}
    became: dict[tuple[int, str], str] = {}
    for line in lines:
        if line["kind"] == "intent" and line["action"] in EVICTIONS:
            became[line["step"], line["job"]] = "asked to leave"
        elif line["kind"] == "victim" and line.get("answer"):
            became[line["step"], line["job"]] = line["answer"]
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
                "reason": current(victim.get("reason") or "")
                or ", ".join(map(current, line.get("codes", ()))),
                "became": became.get((line["step"], victim["job"]), "not asked") if step else "",
                "outcome": (end["outcome"] if end else "open") if step else "refused",
                "why": (end["why"] if end else "") if step else line["why"],
            }
            for victim in victims
        )
    names = ("UTC", "step", "victim", "owner", "action", "for", "reason", "became", "outcome", "why")
    return Table({name: [row[name] for row in rows] for name in names}, title="journal")
