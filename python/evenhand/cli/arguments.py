"""The arguments of the command line."""

from __future__ import annotations

import argparse

from evenhand import __version__
from evenhand.cli.live_arguments import live_options, snapshot_command
from evenhand.cli.options import (
    REPLACED,
    config_option,
    format_option,
    plan_options,
    policy_option,
    reading_options,
    snapshot_options,
    table_options,
    top_option,
)
from evenhand.cli.parsing import Parser
from evenhand.cli.replay_arguments import replay_commands
from evenhand.cli.values import File, Folder
from evenhand.cli.watch_arguments import preempt_command, watch_command

__all__ = ["parser"]

_TOP = 40
_DEMO_TOP = 13
_DECISIONS = 30
_DIFFERENCES = 40
_EPILOG = """\
exit status: 0 done, 1 the input is wrong (standard error says where), 2 wrong usage
a file of - is standard input, one in each call; tables are as wide as the terminal, or as COLUMNS says;
colours appear on a terminal only, and not where NO_COLOR is set
"""


def parser() -> Parser:
    """Build the parser of all commands."""
    main = Parser(
        prog="evenhand",
        description="Compute what each pool and operation of a shared cluster is owed, what it has, and "
        "which allocations must give way.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    main.add_argument("--version", action="version", version=f"evenhand {__version__}")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _demo_command(commands)
    _snapshot_commands(commands)
    _plan_commands(commands)
    replay_commands(commands)
    snapshot_command(commands)
    watch_command(commands)
    preempt_command(commands)
    _journal_command(commands)
    commands.add_parser("schema", help="print the JSON Schema of a snapshot")
    versions = commands.add_parser("versions", help="print the versions that matter in a bug report")
    format_option(versions)
    for command in commands.choices.values():
        command.set_defaults(parser=command)  # its usage line is shown where its arguments are wrong
    return main


def _demo_command(commands: argparse._SubParsersAction[Parser]) -> None:
    demo = commands.add_parser("demo", help="show fair shares and a plan for a bundled synthetic cluster")
    demo.add_argument(
        "--snapshot", action="store_true", help="print the cluster itself, as JSON for other commands"
    )
    table_options(demo, depth=1, top=_DEMO_TOP, operations=False)


def _snapshot_commands(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add what needs no policy."""
    validate = commands.add_parser(
        "validate",
        help="check a snapshot and report all that is wrong with it; with --policy also what its rules say",
    )
    snapshot_options(validate)
    policy_option(validate)
    config_option(validate)
    format_option(validate)

    shares = commands.add_parser("shares", help="compute the fair shares of a snapshot")
    snapshot_options(shares)
    shares.add_argument(
        "--config",
        metavar="FILE",
        type=File(),
        help="settings of fair shares as TOML, or of a policy that has them",
    )
    shares.add_argument(
        "--state",
        metavar="FILE",
        type=File(REPLACED),
        help="state to start from, if it exists; replaced by the next one",
    )
    table_options(shares, depth=None, top=_TOP, operations=True)


def _plan_commands(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add what decides, and what looks at decisions."""
    plan = commands.add_parser("plan", help="decide what to start and what to preempt, with reasons")
    snapshot_options(plan)
    plan_options(plan, state="state to start from, if it exists; replaced by the next one")
    top_option(plan, "decisions in the table", _DECISIONS, known=False)
    plan.add_argument("--all", action="store_true", help="all decisions in the table")
    plan.add_argument(
        "--save",
        metavar="PLAN",
        type=File("the output has the plan already"),
        help="file for the plan, which explain, diff and eh.Plan.load read; compressed if it ends in .gz",
    )
    plan.set_defaults(default_top=_DECISIONS)

    explain = commands.add_parser("explain", help="say why something was decided, or was not")
    snapshot_options(explain, said="; or a plan that plan --save wrote, without options of it")
    explain.add_argument("name", metavar="NAME", help="an allocation, request, operation, pool or node")
    plan_options(explain, state="state to start from, if it exists; it stays as it is")
    live_options(explain)
    explain.add_argument(
        "--plain",
        action="store_true",
        help="three sentences at most, for the one whose work leaves or who waits",
    )

    diff = commands.add_parser(
        "diff",
        help="say what another plan decides differently",
        description="Each of both is a plan that plan --save wrote, or what a plan is made of: a snapshot, "
        "or with --snapshot a file of settings. Options are those of the plans that are made.",
    )
    diff.add_argument("before", metavar="A", type=File(), help="saved plan, snapshot, or settings")
    diff.add_argument("after", metavar="B", type=File(), help="likewise")
    diff.add_argument(
        "--snapshot", metavar="FILE", type=File(), help="snapshot that settings A and B are tried on"
    )
    reading_options(diff)
    plan_options(diff, state="state that both start from, if it exists; it stays as it is")
    top_option(diff, "rows of the table", _DIFFERENCES)


def _journal_command(commands: argparse._SubParsersAction[Parser]) -> None:
    journal = commands.add_parser(
        "journal", help="show which jobs were evicted, for which job and why, and what is still open"
    )
    journal.add_argument("file", metavar="FILE", type=File(), help="journal that watch wrote")
    journal.add_argument("--repair", action="store_true", help="first cut off a last line that is torn")
    journal.add_argument(
        "--rotate",
        action="store_true",
        help="first start a new journal with what is open and the last 24 hours; the old one becomes FILE.1",
    )
    journal.add_argument(
        "--explain",
        metavar="JOB",
        help="only the steps that concerned a job, by its number or name: what was decided by which "
        "numbers, and what the cluster answered",
    )
    journal.add_argument(
        "--plans",
        metavar="FOLDER",
        type=Folder(),
        help="folder that watch saved its plans in, for --explain",
    )
    format_option(journal)
