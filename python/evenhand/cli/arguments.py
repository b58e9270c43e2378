"""The arguments of the command line."""

from __future__ import annotations

import argparse

from evenhand import __version__
from evenhand.cli.parsing import Parser, either
from evenhand.cli.values import Pair, PolicyName, Seconds, Whole
from evenhand.systems import SYSTEMS

__all__ = ["parser"]

_TOP = 40
_DEMO_TOP = 13
_DECISIONS = 30
_EPILOG = """\
exit status: 0 done, 1 the input is wrong (standard error says where), 2 wrong usage
a FILE of - is standard input; colours appear on a terminal only, and not where NO_COLOR is set
"""


def parser() -> argparse.ArgumentParser:
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

    demo = commands.add_parser("demo", help="show fair shares and a plan for a bundled synthetic cluster")
    demo.add_argument(
        "--snapshot", action="store_true", help="print the cluster itself, as JSON for other commands"
    )
    _table_options(demo, depth=1, top=_DEMO_TOP, operations=False)

    validate = commands.add_parser("validate", help="check a snapshot and report all that is wrong with it")
    validate.add_argument("file", metavar="FILE", help="snapshot as JSON")
    _format_option(validate)

    shares = commands.add_parser("shares", help="compute the fair shares of a snapshot")
    shares.add_argument("file", metavar="FILE", help="snapshot as JSON")
    shares.add_argument(
        "--config", metavar="FILE.toml", help="settings of fair shares, or of a policy that has them"
    )
    shares.add_argument(
        "--state", metavar="FILE", help="state to start from, if it exists; replaced by the next one"
    )
    _table_options(shares, depth=None, top=_TOP, operations=True)

    plan = commands.add_parser("plan", help="decide what to start and what to preempt, with reasons")
    plan.add_argument("file", metavar="FILE", help="snapshot as JSON")
    _plan_options(plan, state="state to start from, if it exists; replaced by the next one")
    plan.add_argument(
        "--top", type=Whole(1), metavar="N", help=f"at most N decisions in the table; default: {_DECISIONS}"
    )
    plan.add_argument("--all", action="store_true", help="all decisions in the table")
    plan.add_argument("--save", metavar="PLAN", help="file for the plan, which explain reads")
    plan.set_defaults(default_top=_DECISIONS)

    explain = commands.add_parser("explain", help="say why something was decided, or was not")
    explain.add_argument(
        "file",
        metavar="FILE",
        help="snapshot as JSON; or a plan that plan --save wrote, without options of it",
    )
    explain.add_argument("name", metavar="NAME", help="an allocation, request, operation, pool or node")
    _plan_options(explain, state="state to start from, if it exists; it stays as it is")

    _simulate_command(commands)
    _watch_command(commands)

    journal = commands.add_parser(
        "journal", help="show which jobs were evicted, for which job and why, and what is still open"
    )
    journal.add_argument("file", metavar="FILE", help="journal that watch wrote")
    journal.add_argument("--repair", action="store_true", help="first cut off a last line that is torn")
    journal.add_argument(
        "--rotate",
        action="store_true",
        help="first start a new journal with what is open and the last 24 hours; the old one becomes FILE.1",
    )
    _format_option(journal)

    commands.add_parser("schema", help="print the JSON Schema of a snapshot")

    versions = commands.add_parser("versions", help="print the versions that matter in a bug report")
    _format_option(versions)
    for command in commands.choices.values():
        command.set_defaults(parser=command)  # its usage line is shown where its arguments are wrong
    return main


def _simulate_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the commands that replay a trace."""
    simulate = commands.add_parser(
        "simulate",
        help="replay a recorded workload under a policy, and print metrics of the run",
        description="Files may be compressed by gzip, xz or zstd. Nodes are those that the trace tells of, "
        "unless --nodes and --capacity say otherwise.",
    )
    _trace_options(simulate)
    simulate.add_argument(
        "--table",
        choices=("metrics", "operations", "allocations", "decisions", "series", "spells"),
        default="metrics",
        help="what is printed; default: metrics",
    )
    simulate.add_argument(
        "--top",
        type=Whole(1),
        default=_TOP,
        metavar="N",
        help=f"at most N rows of a table; default: {_TOP}",
    )
    _format_option(simulate)

    sweep = commands.add_parser(
        "sweep",
        help="replay a recorded workload under many settings, and print metrics of each run",
        description="Every combination of values is a point, unless --lhs or --random draw them. "
        "A name is a setting of the policy (pace.victim_cooldown), one of its clocks (heartbeat_period), "
        "or a row's cell (pools.research.weight).",
    )
    _trace_options(sweep)
    sweep.add_argument(
        "--set",
        action="append",
        required=True,
        type=Pair(str, "NAME=VALUES"),
        dest="space",
        metavar="NAME=VALUES",
        help="values of a setting, such as fair_share_starvation_timeout=30,60 or =30..600; several times",
    )
    drawn = sweep.add_mutually_exclusive_group()
    drawn.add_argument("--lhs", type=Whole(1), metavar="N", help="draw N points, a Latin hypercube")
    drawn.add_argument("--random", type=Whole(1), metavar="N", help="draw N points, one by one")
    sweep.add_argument("--seed", type=Whole(0), metavar="N", help="what draws points and heartbeats")
    sweep.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        help="metric that is wanted; several times; default: a few in a table, else all",
    )
    sweep.add_argument("--resume", metavar="FILE", help="file of finished points, which are not run again")
    sweep.add_argument("--workers", type=Whole(1), metavar="N", help="runs at a time; default: processors")
    sweep.add_argument("--progress", action="store_true", help="show a bar")
    _format_option(sweep)


def _trace_options(command: argparse.ArgumentParser) -> None:
    """Add what says which workload is replayed on what."""
    command.add_argument("trace", metavar="TRACE", help="recorded workload")
    command.add_argument(
        "--kind",
        choices=("swf", "google2011", "philly", "table"),
        help="format of the trace; default: by its name, .swf or .csv (a table)",
    )
    command.add_argument("--machines", metavar="FILE", help="machine events, for google2011")
    command.add_argument(
        "--pools",
        metavar="WORDS",
        help="what becomes a pool, such as queue/user (swf) or band/user (google2011)",
    )
    command.add_argument(
        "--column",
        action="append",
        type=Pair(str, "NAME=COLUMN"),
        metavar="NAME=COLUMN",
        help="column of a table that is the workload's NAME, such as submit_time=submitted; several times",
    )
    first, *others = SYSTEMS
    words = [f"{first} (the default)", *others]
    command.add_argument(
        "--policy",
        type=PolicyName(),
        default=first,
        metavar="NAME[:PRESET]",
        help=f"system whose rules apply: {either(words)}",
    )
    command.add_argument("--config", metavar="FILE.toml", help="settings of the policy")
    command.add_argument("--nodes", type=Whole(1), metavar="N", help="so many equal nodes")
    command.add_argument(
        "--capacity",
        action="append",
        type=Pair(float, "RESOURCE=AMOUNT"),
        metavar="RESOURCE=AMOUNT",
        help="what each of these nodes has, such as cpu=8; several times",
    )
    command.add_argument("--head", type=Whole(1), metavar="N", help="only the first N requests")
    command.add_argument(
        "--until",
        type=Seconds(above=True),
        metavar="TIME",
        help="how long to simulate, in seconds or such as 10m; default: to the end",
    )
    command.add_argument(
        "--warm-up",
        type=Seconds(above=False),
        default=0.0,
        metavar="TIME",
        help="how much of the beginning metrics leave out; default: 0",
    )


def _watch_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command that acts."""
    watch = commands.add_parser(
        "watch",
        help="plan for a live cluster and carry the plan out, until stopped",
        description="Snapshot, plan, check, act, sleep, until a signal. A first run with --dry-run changes "
        "nothing and prints what would be run.",
    )
    watch.add_argument(
        "--adapter", default="slurm", metavar="NAME", help="the cluster's system; default: slurm"
    )
    watch.add_argument(
        "--journal",
        required=True,
        metavar="FILE",
        help="where each action is recorded before it is carried out",
    )
    watch.add_argument(
        "--rotate-at",
        type=Whole(0),
        default=16,
        metavar="MB",
        help="size at which a new journal is started and the old one kept beside it; 0: never; default: 16",
    )
    watch.add_argument(
        "--policy",
        type=PolicyName(),
        metavar="NAME[:PRESET]",
        help="system whose rules apply; default: that of the adapter (else slurm), with the cluster's own "
        "configuration of each round",
    )
    watch.add_argument(
        "--config",
        metavar="FILE.toml",
        help="settings of the policy; where it is the cluster's own, only those to change",
    )
    watch.add_argument(
        "--pools",
        choices=("partition", "account", "user"),
        help="what becomes a pool of Slurm; default: partition",
    )
    watch.add_argument(
        "--state", metavar="FILE", help="state to start from, if it exists; replaced every round"
    )
    watch.add_argument("--dry-run", action="store_true", help="change nothing, print what would be run")
    watch.add_argument("--once", action="store_true", help="one round only")
    watch.add_argument(
        "--interval",
        type=Seconds(above=True),
        default=30.0,
        metavar="S",
        help="seconds between rounds; default: 30",
    )
    watch.add_argument("--stop-file", metavar="FILE", help="while it exists, no job is asked to leave")
    watch.add_argument(
        "--lock",
        metavar="FILE",
        help="lock held by the driver of the cluster; default: one in /run/lock, $RUNTIME_DIRECTORY or /tmp",
    )
    watch.add_argument("--metrics", metavar="FILE", help="metrics in Prometheus' text format, every round")
    watch.add_argument(
        "--evict",
        choices=("requeue_hold", "requeue", "as_planned"),
        help="how victims leave Slurm; default: requeue_hold (requeued, and held until their beneficiary "
        "runs)",
    )
    caps = watch.add_argument_group("most victims (0: no cap)")
    caps.add_argument("--per-run", type=Whole(0), default=100, metavar="N", help="in a round; default: 100")
    caps.add_argument("--per-hour", type=Whole(0), default=50, metavar="N", help="default: 50")
    caps.add_argument("--per-owner", type=Whole(0), default=10, metavar="N", help="in an hour; default: 10")
    caps.add_argument("--per-job", type=Whole(0), default=3, metavar="N", help="in a day; default: 3")
    times = watch.add_argument_group("seconds")
    times.add_argument(
        "--start-timeout",
        type=Seconds(above=True),
        default=120.0,
        metavar="S",
        help="for a beneficiary to start; default: 120",
    )
    times.add_argument(
        "--max-age",
        type=Seconds(above=True),
        default=60.0,
        metavar="S",
        help="of plan and snapshot; default: 60",
    )
    times.add_argument(
        "--timeout", type=Seconds(above=True), default=30.0, metavar="S", help="of a command; default: 30"
    )


_FORMATS = "default: table; csv has an apostrophe before text that begins like a formula"


def _format_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=("table", "json", "csv"), default="table", help=_FORMATS)


def _plan_options(command: argparse.ArgumentParser, *, state: str) -> None:
    """Add the options of all that decides."""
    first, *others = SYSTEMS
    words = [f"{first} (the default)", *others]
    command.add_argument(
        "--policy",
        type=PolicyName(),
        metavar="NAME[:PRESET]",
        help=f"system whose rules apply: {either(words)}; NAME:documented (the default) follows its "
        "documents, NAME:upstream its source",
    )
    command.add_argument("--config", metavar="FILE.toml", help="settings of the policy")
    before = command.add_mutually_exclusive_group()
    before.add_argument("--state", metavar="FILE", help=state)
    before.add_argument(
        "--as-if-waiting",
        type=Seconds(above=False),
        metavar="TIME",
        help="in the place of a state: plan as if all had been as it is for so long, such as 10m",
    )
    command.add_argument(
        "--on",
        metavar="TRIGGER",
        help=f"what is decided on: {_triggers()}; default: the first of the policy",
    )
    _format_option(command)


def _triggers() -> str:
    """Say what is decided on, with which systems."""
    systems: dict[str, list[str]] = {}
    for word, system in SYSTEMS.items():
        systems.setdefault(either([trigger.SAID for trigger in system.triggers]), []).append(word)
    return ", ".join(f"{said} with {either(words, 'and')}" for said, words in systems.items())


def _table_options(
    command: argparse.ArgumentParser, *, depth: int | None, top: int, operations: bool
) -> None:
    """Add the options of a table of pools; json and csv hold everything and ignore all but --format."""
    _format_option(command)
    group = command.add_argument_group("what the table shows")
    group.add_argument(
        "--resource", metavar="NAME", help="shares of this resource; default: each row's dominant one"
    )
    group.add_argument(
        "--depth", type=Whole(0), metavar="N", help=f"deepest level of the tree; default: {depth or 'all'}"
    )
    group.add_argument(
        "--top", type=Whole(1), metavar="N", help=f"at most N rows, the largest; default: {top}"
    )
    group.add_argument(
        "--all", action="store_true", help="all levels and rows, unless --depth or --top limits them"
    )
    group.add_argument(
        "--operations",
        action=argparse.BooleanOptionalAction,
        default=operations,
        help=f"operations as rows of the tree; default: {'yes' if operations else 'no'}",
    )
    command.set_defaults(default_depth=depth, default_top=top)
