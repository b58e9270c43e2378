"""The command line ``evenhand``.

Exit status: 0 done, 1 the input is wrong (standard error says where, a line each problem), 2 wrong usage, 130
interrupted. Whatever the input, there is no traceback, and no name in it reaches the terminal unescaped.
"""

from __future__ import annotations

import sys

from evenhand.cli.arguments import parser
from evenhand.cli.streams import Failure, close_output, open_streams, print_errors, reason

__all__ = ["main", "parser"]


def main(argv: list[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv
        Arguments without the program's name; those of the process unless given.

    Returns
    -------
    int
        The exit status.

    Raises
    ------
    SystemExit
        With status 2 for wrong usage, with status 0 after ``--help``.
    """
    open_streams()
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
    except KeyboardInterrupt:
        return 130
    return status
