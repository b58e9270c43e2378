"""The command that compares two plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.cli.given import given_file
from evenhand.cli.plans import planned, saved_or_planned, without_options
from evenhand.cli.streams import (
    Failure,
    glyphs,
    label,
    print_csv,
    print_json,
    print_prose,
    print_text,
    table_room,
)

if TYPE_CHECKING:
    import argparse

    from evenhand.plans import Plan

__all__ = ["diff"]


def diff(args: argparse.Namespace) -> int:
    """Say what the second plan decides differently."""
    from evenhand.display.terminal import table_text

    before, after = _both(args)
    found = before.diff(after)
    if args.format == "json":
        print_json(found.to_dict())
    elif args.format == "csv":
        print_csv(found.table())
    else:
        print_prose(f"{label(args.before)} to {label(args.after)}: {found.head}")
        if found:
            table = found.table()
            print_text("\n" + table_text(table, max_rows=args.top, max_width=table_room(), glyphs=glyphs()))
    return 0


def _both(args: argparse.Namespace) -> tuple[Plan, Plan]:
    """Return the two plans: saved ones, those of snapshots, or those that settings make of one snapshot."""
    if args.snapshot is not None:
        if args.config is not None:
            raise Failure("argument --config: with --snapshot A and B are the settings", usage=True)
        given = given_file(args.snapshot)
        return planned(args, given, args.before), planned(args, given, args.after)
    for path in (args.before, args.after):
        if path.endswith(".toml"):
            said = f"{label(path)} is a file of settings: add --snapshot FILE, which they are tried on"
            raise Failure(said, usage=True)
    first, second = (saved_or_planned(args, given_file(path)) for path in (args.before, args.after))
    if not first[1] and not second[1]:
        without_options(args, "both are saved plans, which have their own")
    return first[0], second[0]
