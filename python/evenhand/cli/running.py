"""From the words of the command line to the exit status."""

from __future__ import annotations

import sys

from evenhand.cli.arguments import parser
from evenhand.cli.streams import Failure, close_output, open_streams, print_errors, reason

__all__ = ["run"]


def run(argv: list[str] | None) -> int:
    """Run a command; return the exit status."""
    open_streams()
    try:
        args, strange = parser().parse_known_args(argv)
        if strange and strange != ["--"]:
            args.parser.error(f"unrecognized arguments: {strange[0]}")
        try:
            # Commands are imported here so that --help and wrong usage answer at once.
            from evenhand.cli import commands

            status = int(getattr(commands, args.command)(args))
            sys.stdout.flush()
        except Failure as failure:
            if failure.usage:
                args.parser.error("; ".join(failure.lines))
            print_errors(failure.lines)
            return 1
    except BrokenPipeError:  # the reader has all it wants
        close_output()
        return 0
    except OSError as error:  # a full disk; input files are dealt with where they are read
        close_output()
        print_errors([f"standard output: cannot be written: {reason(error)}"])
        return 1
    return status
