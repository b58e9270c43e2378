"""The command that lets time go by, and what it shares with sweep."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from evenhand.cli.policies import made_policy
from evenhand.cli.reading import lines_of, on_disk
from evenhand.cli.streams import (
    Failure,
    glyphs,
    label,
    print_csv,
    print_json,
    print_lines,
    print_prose,
    print_text,
    reason,
    table_room,
)
from evenhand.errors import EvenhandError, InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from evenhand.model import Snapshot
    from evenhand.simulate import Workload

__all__ = ["clocks", "kind_of", "once", "printed", "simulate", "start"]

_LISTED = 5  # diagnostics


def simulate(args: argparse.Namespace) -> int:
    """Replay a trace under a policy, and print metrics or a table of the run."""
    from evenhand.display.terminal import diagnostic_lines
    from evenhand.simulate import measure
    from evenhand.simulate.whole import simulate as run

    policy = made_policy(args.policy, args.config)
    given = clocks(args, policy)
    workload, snapshot, until = start(args)
    options = {name: getattr(args, name) for name in ("series_every", "give_up_after", "literal", "progress")}
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    try:
        result = run(snapshot, policy, workload, until=until, rng=args.seed, **chosen | given)
    except InputError as error:
        raise Failure(*lines_of(args.trace, error)) from error
    except EvenhandError as error:  # a missing extra
        raise Failure(str(error)) from error
    if args.table != "metrics":
        table = getattr(result, args.table)
        printed(args, table.to_dict(), table, args.top)
        return 0
    metrics = measure(result, warm_up=args.warm_up or 0.0)
    if args.format == "table":
        print_prose(f"{label(args.trace)}: {result!r}\n")
        print_table(metrics.table(), len(metrics))
        if result.diagnostics:
            print_lines([[], *diagnostic_lines(result.diagnostics, _LISTED)])
    else:
        found = {name: None if value != value else value for name, value in metrics.items()}
        said = [diagnostic.to_dict() for diagnostic in result.diagnostics]
        printed(args, found | {"notes": workload.notes, "diagnostics": said}, metrics.table(), None)
    return 0


def clocks(args: argparse.Namespace, policy: Any) -> dict[str, float]:
    """Return the clocks that are given; a name that the system has not is wrong usage."""
    from evenhand.simulate.columns import clocks_of

    given = once("--clock", args.clock or ())
    try:
        clocks_of(policy, given)
    except InputError as error:
        raise Failure(f"argument --clock: {error.problems[0].message}", usage=True) from error
    return given


def printed(args: argparse.Namespace, content: dict[str, Any], table: Any, rows: int | None) -> None:
    """Print a table, and as JSON what is given for it."""
    if args.format == "json":  # which has no word for what is not a number
        print_json(
            {
                name: [None if cell != cell else cell for cell in column]
                if isinstance(column, list)
                else column
                for name, column in content.items()
            }
        )
    elif args.format == "csv":
        print_csv(table)
    else:
        print_table(table, rows or 20)


def print_table(table: Any, rows: int) -> None:
    """Print as many rows, and the columns that fit."""
    from evenhand.display.terminal import table_text

    print_text(table_text(table, max_rows=rows, max_width=table_room(), glyphs=glyphs()))


def once(option: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs by name; one name twice is wrong usage."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Failure(f"argument {option}: {label(name)} is given twice", usage=True)
        found[name] = value
    return found


def _read(args: argparse.Namespace) -> Workload:
    """Read the workload, from standard input, too."""
    kind = kind_of(args)
    pools: dict[str, Any] = {} if args.pools is None else {"pools": args.pools}
    if args.machines is not None and kind != "google2011":
        raise Failure("argument --machines: only with --kind google2011", usage=True)
    for option in ("column", "header", "timezone"):
        if getattr(args, option) is not None and kind != "table":
            raise Failure(f"argument --{option}: only with --kind table", usage=True)
    if pools and kind not in ("swf", "google2011"):
        raise Failure(f"argument --pools: not with --kind {kind}", usage=True)
    machines = on_disk(args.machines) if args.machines is not None else nullcontext()
    with on_disk(args.trace) as path, machines as other:
        try:
            return _workload(args, kind, path, other, pools)
        except InputError as error:
            raise _unread(args, kind, error) from error
        except OSError as error:
            named = args.machines if error.filename == args.machines else args.trace
            raise Failure(f"{label(named)}: cannot be read: {reason(error)}") from error
        except EvenhandError as error:  # a missing extra
            raise Failure(f"{label(args.trace)}: {error}") from error


def _workload(
    args: argparse.Namespace, kind: str, path: str, machines: str | None, pools: dict[str, Any]
) -> Workload:
    from evenhand import traces

    match kind:
        case "swf":
            return traces.swf(path, **pools)
        case "google2011":
            return traces.google2011(path, machines, **pools)
        case "philly":
            return traces.philly(path, **({} if args.nodes is None else {"nodes": args.nodes}))
        case _:
            columns = once("--column", args.column) if args.column else None
            header = None if args.header is None else args.header.split(",")
            return traces.frame(PurePath(path), columns, header=header, timezone=args.timezone)


def _unread(args: argparse.Namespace, kind: str, error: InputError) -> Failure:
    """Return what is wrong with the workload, or with the options that say how it is read."""
    first = error.problems[0]
    if any(problem.row is None and problem.field == "pools" for problem in error.problems):
        words = first.message.partition("must be of ")[2].partition(", joined by")[0]
        said = f"{args.pools!r} is none of {words}, nor several of them joined by /"
        return Failure(f"argument --pools: {said}", usage=True)
    if args.timezone is not None and "timezone" in (first.field, first.rule):
        return Failure(f"argument --timezone: {first.message.removeprefix('timezone ')}", usage=True)
    if kind == "table" and [(p.field, p.rule) for p in error.problems] == [("name", "required")]:
        return Failure(f"{label(args.trace)}: {first.message}")
    return Failure(*_lines(args.trace, error))


def _lines(path: str, error: InputError) -> list[str]:
    """Return a line a problem; its table is the file, which is named in front already."""
    lines = [f"{label(path)}: {problem.message} [{problem.rule}]" for problem in error.problems]
    return lines + ([f"{label(path)}: at least {error.omitted:,} more problems"] if error.omitted else [])


def kind_of(args: argparse.Namespace) -> str:
    """Return the format of the trace: as it is said, or by its name."""
    if args.kind is not None:
        return str(args.kind)
    if args.command == "sweep" and args.trace != "-" and os.path.isdir(args.trace):  # noqa: PTH112
        return "snapshot"
    suffixes = [suffix for suffix in PurePath(args.trace).suffixes if suffix not in (".gz", ".xz", ".zst")]
    known = {".swf": "swf", ".csv": "table", ".json": "snapshot"}
    if args.command == "simulate":
        del known[".json"]
    if suffixes and suffixes[-1] in known:
        return known[suffixes[-1]]
    said = "does not come with a name" if args.trace == "-" else "has a name that does not tell"
    raise Failure(f"argument --kind: {label(args.trace)} {said}; say which it is", usage=True)


def start(args: argparse.Namespace) -> tuple[Workload, Snapshot, float | None]:
    """Return the workload, what is at its beginning, and when it ends."""
    if args.until is not None and (args.warm_up or 0.0) >= args.until:
        said = f"metrics would leave out all that --until {args.until:g} simulates"
        raise Failure(f"argument --warm-up: {said}", usage=True)
    workload = _read(args)
    workload = workload if args.head is None else workload.head(args.head)
    nodes = None if not args.capacity else args.nodes
    if args.nodes is not None and nodes is None and kind_of(args) != "philly":
        raise Failure("argument --nodes: needs --capacity: what each of them has", usage=True)
    if args.capacity and nodes is None:
        raise Failure("argument --capacity: needs --nodes", usage=True)
    capacity = once("--capacity", args.capacity or ())
    try:
        snapshot = workload.snapshot(nodes, **capacity)
    except InputError as error:
        if any((problem.field or "").startswith("capacity.") for problem in error.problems):
            said = error.problems[0].message.removeprefix("capacity.").replace(" of the nodes", "", 1)
            raise Failure(f"argument --capacity: {said}", usage=True) from error
        if any(problem.field == "nodes" and problem.rule == "type" for problem in error.problems):
            message = (
                f"argument --nodes: {label(args.trace)} says nothing of nodes; give --nodes and --capacity"
            )
            raise Failure(message, usage=True) from error
        raise Failure(*lines_of(args.trace, error)) from error
    return workload, snapshot, None if args.until is None else snapshot.now + args.until
