"""The command line ``evenhand``.

Exit status: 0 done, 1 the input is wrong (standard error says where, a line each problem), 2 wrong usage, 130
interrupted. Whatever the input, there is no traceback, and no name in it reaches the terminal unescaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = ["main", "parser"]


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    try:
        # Imported here: a Ctrl-C may come while it is.
        from evenhand.cli.running import run

        return run(argv)
    except KeyboardInterrupt:
        return 130


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    from evenhand.cli.arguments import parser as built

    return built()
