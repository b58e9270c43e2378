"""The commands: one function each, named like it, from parsed arguments to the exit status."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evenhand.building.problems import nearest
from evenhand.cli.acting import watch
from evenhand.cli.differing import diff
from evenhand.cli.given import given_file, told
from evenhand.cli.journal import journal
from evenhand.cli.looking import snapshot
from evenhand.cli.plans import demo_decisions, demo_lines, demo_plan, explain, plan
from evenhand.cli.policies import fair_share_settings, made_policy
from evenhand.cli.reading import lines_of, read_state, write_files
from evenhand.cli.requesting import preempt
from evenhand.cli.simulating import simulate
from evenhand.cli.streams import (
    Failure,
    glyphs,
    label,
    print_csv,
    print_errors,
    print_json,
    print_lines,
    print_prose,
    print_text,
    room,
)
from evenhand.cli.sweeping import sweep
from evenhand.errors import InputError

if TYPE_CHECKING:
    import argparse

    from evenhand.diagnostics import Diagnostic
    from evenhand.display.terminal import Line
    from evenhand.shares import Shares

__all__ = [
    "demo",
    "diff",
    "explain",
    "journal",
    "plan",
    "preempt",
    "schema",
    "shares",
    "simulate",
    "snapshot",
    "sweep",
    "validate",
    "versions",
    "watch",
]

_NARROWEST, _WIDEST, _SCREEN = 60, 120, 80  # columns of the demo: least, most, where none are known
_LISTED = 5  # operations below their share; diagnostics


def demo(args: argparse.Namespace) -> int:
    """Show the bundled cluster."""
    from evenhand import synthetic
    from evenhand.shares import fair_share

    snapshot = synthetic.demo()
    if args.snapshot:
        print_text(snapshot.to_json())
        return 0
    result = fair_share(snapshot)
    if args.format == "json":
        print_json(result.to_dict() | {"plan": demo_plan(snapshot).to_dict()})
    elif args.format == "csv":
        print_csv(result.table())
    else:
        columns = min(max(room() or _SCREEN, _NARROWEST), _WIDEST)
        head, totals, tree, _ = _parts(args, "Synthetic cluster", result, columns)
        made = demo_plan(snapshot)
        parts = (head + totals, demo_lines(made, columns), tree, demo_decisions(made, columns))
        print_lines([line for part in parts for line in ([], *part)][1:])
    return 0


def validate(args: argparse.Namespace) -> int:
    """Check a snapshot, and by the rules of a policy if one is named; all problems go to standard error.

    Diagnostics, of what is valid and can hardly be meant, go to standard output.
    """
    from evenhand.display.snapshots import counts
    from evenhand.display.terminal import diagnostic_lines
    from evenhand.implausible import of_gangs, of_guarantees, of_snapshot

    problems, omitted = InputError(()), 0
    said: tuple[Diagnostic, ...] = ()
    asked = args.policy or args.config
    given = given_file(args.file)
    own = given.own(args, args.config)
    policy = made_policy(args.policy, args.config, own) if asked or own is not None else None
    try:
        snapshot = given.snapshot(args, own)
        found = counts(snapshot)
        said = of_snapshot(snapshot)
        if policy is None or policy.RECORD.shares:
            said += (*of_guarantees(snapshot), *of_gangs(snapshot))
        said += () if own is None else own.diagnostics
        if policy is not None:
            said += tuple(one for one in policy.plan(snapshot).diagnostics if one not in said)
    except InputError as error:
        problems, omitted = error, error.omitted
    if args.format == "json":
        listed = [asdict(problem) for problem in problems.problems]
        remarks = [diagnostic.to_dict() for diagnostic in said]
        print_json({"valid": not listed, "problems": listed, "omitted": omitted, "diagnostics": remarks})
    elif args.format == "csv":
        print_csv(problems.to_frame())
    elif not problems.problems:
        print_prose(f"{label(args.file)}: valid; {found}")
        if said:
            print_lines(diagnostic_lines(said, len(said)))
    print_errors(lines_of(args.file, problems) if problems.problems else ())
    return 1 if problems.problems else 0


def shares(args: argparse.Namespace) -> int:
    """Compute the fair shares of a snapshot, and the next state."""
    from evenhand.shares import fair_share

    given = given_file(args.file)
    own = told(args, given)
    try:
        snapshot = given.snapshot(args, own)
    except InputError as error:
        raise Failure(*lines_of(args.file, error)) from error
    if args.resource is not None and args.resource not in snapshot.resources:
        known = ", ".join(map(str, snapshot.resources))
        hint = nearest(args.resource, snapshot.resources)
        raise Failure(
            f"argument --resource: {label(args.file)} has no {args.resource!r} but {known}{hint}", usage=True
        )
    settings, state = fair_share_settings(args.config), read_state(args.state)
    try:
        result = fair_share(snapshot, settings, state=state)
    except InputError as error:
        # What does not fit together may stand in any of the files.
        table = error.problems[0].table
        raise Failure(
            *lines_of({"settings": args.config, "state": args.state}.get(table, args.file), error)
        ) from error
    if args.state is not None:
        write_files({args.state: result.state._text()})
    _print_shares(args, label(args.file), result)
    return 0


def schema(_args: argparse.Namespace) -> int:
    """Print the JSON Schema of a snapshot."""
    from evenhand.fields import json_schema

    print_text(json.dumps(json_schema(), indent=2))
    return 0


def versions(args: argparse.Namespace) -> int:
    """Print what is installed."""
    from evenhand.table import Table
    from evenhand.versions import show_versions
    from evenhand.versions import versions as found

    if args.format == "table":
        show_versions()
    elif args.format == "json":
        print_json(found())
    else:
        print_csv(Table({"name": list(found()), "version": list(found().values())}))
    return 0


def _print_shares(args: argparse.Namespace, title: str, result: Shares) -> None:
    if args.format == "json":
        print_json(result.to_dict())
    elif args.format == "csv":
        print_csv(result.table())
    else:
        print_lines(_report(args, title, result))


def _report(args: argparse.Namespace, title: str, result: Shares) -> list[Line]:
    """Head, totals, table of pools, operations below their share, diagnostics."""
    head, totals, tree, below = _parts(args, title, result, room())
    return [*head, [], *totals, [], *tree, [], *below]


def _parts(
    args: argparse.Namespace, title: str, result: Shares, columns: int | None
) -> tuple[list[Line], ...]:
    """Return the parts of a report."""
    from evenhand.display import terminal
    from evenhand.display.overview import overview
    from evenhand.display.results import totals
    from evenhand.display.snapshots import counts

    def limit(given: int | None, default: int | None) -> int | None:
        return given if given is not None or args.all else default

    try:
        view = overview(result, args.resource)
    except InputError as error:
        said = error.problems[0].message
        raise Failure(f"argument --resource: {said}", usage=True) from error
    rows = view.rows(
        depth=limit(args.depth, args.default_depth),
        top=limit(args.top, args.default_top),
        operations=args.operations,
    )
    signs = glyphs()
    snapshot: Any = result.snapshot
    return (
        [[("head", title), ("", f": {counts(snapshot)}")]],
        terminal.total_lines(
            view, [snapshot.total[r] for r in view.resources], totals(result), signs, columns
        ),
        terminal.tree_lines(view, rows, signs, columns),
        [
            *terminal.below_lines(view, _LISTED, signs, columns),
            *terminal.diagnostic_lines(result.diagnostics, _LISTED),
        ],
    )
