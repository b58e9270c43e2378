"""Command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from evenhand.model import Snapshot
from evenhand.shares import fair_share


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="evenhand")
    commands = parser.add_subparsers(dest="command", required=True)
    shares = commands.add_parser("shares", help="print the shares of pools and operations")
    shares.add_argument("file")
    args = parser.parse_args(argv)
    snapshot = Snapshot.from_json(Path(args.file).read_text())
    matrix = fair_share(snapshot)["fair_share"]
    print("name".ljust(20), *(r.rjust(10) for r in snapshot.resources))
    for name, row in zip(snapshot.element_names, matrix, strict=True):
        print(str(name).ljust(20), *(f"{x:10.4f}" for x in row))
    return 0
