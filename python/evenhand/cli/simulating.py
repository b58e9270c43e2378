"""The commands that let time go by: simulate, sweep."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from evenhand.cli.plans import made_policy
from evenhand.cli.reading import lines_of
from evenhand.cli.streams import Failure, label, print_csv, print_json, print_text, reason
from evenhand.errors import EvenhandError, InputError

if TYPE_CHECKING:
    import argparse

    from evenhand.model import Snapshot
    from evenhand.simulate import Workload

__all__ = ["simulate", "sweep"]

#: What a table of a sweep shows unless it is said.
_SHOWN = ("starvation.p95", "preemptions_per_hour", "waiting.p50", "waiting.p95")


def simulate(args: argparse.Namespace) -> int:
    """Replay a trace under a policy, and print metrics or a table of the run."""
    from evenhand.display.terminal import table_text
    from evenhand.simulate import measure
    from evenhand.simulate.running import simulate as run

    policy = made_policy(args.policy, args.config)
    workload, snapshot, until = _start(args)
    try:
        result = run(snapshot, policy, workload, until=until)
    except InputError as error:
        raise Failure(*lines_of(args.trace, error)) from error
    if args.table != "metrics":
        table = getattr(result, args.table)
        _print(args, table.to_dict(), table, args.top)
        return 0
    metrics = measure(result, warm_up=args.warm_up)
    if args.format == "table":
        print_text(f"{label(args.trace)}: {result!r}\n")
        print_text(table_text(metrics.table(), max_rows=len(metrics)))
    else:
        found = {name: None if value != value else value for name, value in metrics.items()}
        _print(args, found | {"notes": workload.notes}, metrics.table(), None)
    return 0


def sweep(args: argparse.Namespace) -> int:
    """Replay a trace under many settings, and print a row for each."""
    from evenhand.sweep.running import sweep as run

    policy = made_policy(args.policy, args.config)
    space = {name: _values(name, text) for name, text in args.space}
    workload, snapshot, until = _start(args)
    metrics = args.metric
    if metrics is None and args.format == "table":
        metrics = [
            *_SHOWN,
            *(f"{name}.{r}" for name in ("lost_work", "utilisation") for r in snapshot.resources),
        ]
    drawn = {name: getattr(args, name) for name in ("lhs", "random", "seed", "resume", "workers", "progress")}
    try:
        table = run(
            snapshot, policy, workload, space, metrics=metrics, until=until, warm_up=args.warm_up, **drawn
        )
    except InputError as error:
        usage = {"space", "settings"} & {problem.table for problem in error.problems}
        named = "argument --set" if usage else label(args.trace)
        raise Failure(*(f"{named}: {p.message}" for p in error.problems), usage=bool(usage)) from error
    except OSError as error:
        raise Failure(f"{label(args.resume)}: cannot be used: {reason(error)}") from error
    _print(args, table.to_dict(), table, len(table))
    return 0


def _values(name: str, text: str) -> Any:
    """Return the values that are written as ``a,b,c``, or the range ``a..b``."""
    import json

    from evenhand.sweep.space import between

    def value(word: str) -> Any:
        try:
            return json.loads(word)
        except ValueError:
            return word

    low, dots, high = text.partition("..")
    try:
        return between(value(low), value(high)) if dots else [value(word) for word in text.split(",")]
    except InputError as error:
        raise Failure(f"argument --set: {label(name)} is no range of numbers", usage=True) from error


def _print(args: argparse.Namespace, content: dict[str, Any], table: Any, rows: int | None) -> None:
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
                return traces.frame(PurePath(args.trace), dict(args.column) if args.column else None)
    except InputError as error:
        if any(problem.row is None and problem.field == "pools" for problem in error.problems):
            raise Failure(*(f"argument --pools: {p.message}" for p in error.problems), usage=True) from error
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


def _start(args: argparse.Namespace) -> tuple[Workload, Snapshot, float | None]:
    """Return the workload, what is at its beginning, and when it ends."""
    workload = _read(args)
    workload = workload if args.head is None else workload.head(args.head)
    nodes = None if not args.capacity else args.nodes
    if args.capacity and nodes is None:
        raise Failure("argument --capacity: needs --nodes", usage=True)
    try:
        snapshot = workload.snapshot(nodes, **dict(args.capacity or ()))
    except InputError as error:
        if any(problem.field == "nodes" and problem.rule == "type" for problem in error.problems):
            message = (
                f"argument --nodes: {label(args.trace)} says nothing of nodes; give --nodes and --capacity"
            )
            raise Failure(message, usage=True) from error
        raise Failure(*lines_of(args.trace, error)) from error
    return workload, snapshot, None if args.until is None else snapshot.now + args.until
