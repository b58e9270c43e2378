"""The command that lets time go by, and what it shares with sweep."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from evenhand.cli.policies import made_policy
from evenhand.cli.reading import lines_of
from evenhand.cli.streams import Failure, label, print_csv, print_json, print_text, reason
from evenhand.errors import EvenhandError, InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from evenhand.model import Snapshot
    from evenhand.simulate import Workload

__all__ = ["once", "printed", "simulate", "start"]


def simulate(args: argparse.Namespace) -> int:
    """Replay a trace under a policy, and print metrics or a table of the run."""
    from evenhand.display.terminal import table_text
    from evenhand.simulate import measure
    from evenhand.simulate.whole import simulate as run

    policy = made_policy(args.policy, args.config)
    workload, snapshot, until = start(args)
    try:
        result = run(snapshot, policy, workload, until=until)
    except InputError as error:
        lines = lines_of(args.trace, error)
        raise Failure(*(line.replace("until=", "--until") for line in lines)) from error
    if args.table != "metrics":
        table = getattr(result, args.table)
        printed(args, table.to_dict(), table, args.top)
        return 0
    metrics = measure(result, warm_up=args.warm_up)
    if args.format == "table":
        print_text(f"{label(args.trace)}: {result!r}\n")
        print_text(table_text(metrics.table(), max_rows=len(metrics)))
    else:
        found = {name: None if value != value else value for name, value in metrics.items()}
        printed(args, found | {"notes": workload.notes}, metrics.table(), None)
    return 0


def printed(args: argparse.Namespace, content: dict[str, Any], table: Any, rows: int | None) -> None:
    """Print a table, and as JSON what is given for it."""
    from evenhand.display.terminal import table_text

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
        print_text(table_text(table, max_rows=rows or 20))


def once(option: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs by name; one name twice is wrong usage."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Failure(f"argument {option}: {label(name)} is given twice", usage=True)
        found[name] = value
    return found


def _read(args: argparse.Namespace) -> Workload:
    from evenhand import traces

    kind = args.kind or _kind(args.trace)
    pools = {} if args.pools is None else {"pools": args.pools}
    if args.machines is not None and kind != "google2011":
        raise Failure("argument --machines: only with --kind google2011", usage=True)
    if args.column and kind != "table":
        raise Failure("argument --column: only with --kind table", usage=True)
    if pools and kind not in ("swf", "google2011"):
        raise Failure(f"argument --pools: not with --kind {kind}", usage=True)
    try:
        match kind:
            case "swf":
                return traces.swf(args.trace, **pools)
            case "google2011":
                return traces.google2011(args.trace, args.machines, **pools)
            case "philly":
                return traces.philly(args.trace, **({} if args.nodes is None else {"nodes": args.nodes}))
            case _:
                columns = once("--column", args.column) if args.column else None
                return traces.frame(PurePath(args.trace), columns)
    except InputError as error:
        if any(problem.row is None and problem.field == "pools" for problem in error.problems):
            words = error.problems[0].message.partition("must be of ")[2].partition(", joined by")[0]
            said = f"{args.pools!r} is none of {words}, nor several of them joined by /"
            raise Failure(f"argument --pools: {said}", usage=True) from error
        if kind == "table" and [(p.field, p.rule) for p in error.problems] == [("name", "required")]:
            said = error.problems[0].message.replace("columns={'name': COLUMN}", "--column name=COLUMN")
            raise Failure(f"{label(args.trace)}: {said}") from error
        raise Failure(*_lines(args.trace, error)) from error
    except OSError as error:
        raise Failure(f"{label(args.trace)}: cannot be read: {reason(error)}") from error
    except EvenhandError as error:  # a missing extra
        raise Failure(f"{label(args.trace)}: {error}") from error


def _lines(path: str, error: InputError) -> list[str]:
    """Return a line a problem; its table is the file, which is named in front already."""
    lines = [f"{label(path)}: {problem.message} [{problem.rule}]" for problem in error.problems]
    return lines + ([f"{label(path)}: at least {error.omitted:,} more problems"] if error.omitted else [])


def _kind(path: str) -> str:
    suffixes = [suffix for suffix in PurePath(path).suffixes if suffix not in (".gz", ".xz", ".zst")]
    known = {".swf": "swf", ".csv": "table"}
    if suffixes and suffixes[-1] in known:
        return known[suffixes[-1]]
    raise Failure(f"argument --kind: the name of {label(path)} does not tell; say which", usage=True)


def start(args: argparse.Namespace) -> tuple[Workload, Snapshot, float | None]:
    """Return the workload, what is at its beginning, and when it ends."""
    if args.until is not None and args.warm_up >= args.until:
        said = f"metrics would leave out all that --until {args.until:g} simulates"
        raise Failure(f"argument --warm-up: {said}", usage=True)
    workload = _read(args)
    workload = workload if args.head is None else workload.head(args.head)
    nodes = None if not args.capacity else args.nodes
    if args.nodes is not None and nodes is None and args.kind != "philly":
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
