"""The arguments of the commands that replay a workload."""

from __future__ import annotations

import argparse

from evenhand.cli.options import (
    config_option,
    format_option,
    policy_option,
    reading_options,
    state_options,
    top_option,
    trigger_option,
)
from evenhand.cli.parsing import Parser
from evenhand.cli.values import File, Pair, Seconds, Whole

__all__ = ["replay_commands"]

_TOP = 40
_SUFFIXES = ".swf or .csv (a table)"


def replay_commands(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the commands that replay a workload."""
    simulate = commands.add_parser(
        "simulate",
        help="replay a recorded workload under a policy, and print metrics of the run",
        description="Files may be compressed by gzip, bzip2, xz or zstd. Nodes are those that the trace "
        "tells of, unless --nodes and --capacity say otherwise.",
    )
    _trace_options(simulate, ("swf", "google2011", "philly", "table"), "recorded workload", _SUFFIXES)
    simulate.add_argument(
        "--table",
        choices=("metrics", "operations", "allocations", "decisions", "series", "spells"),
        default="metrics",
        help="what is printed; default: metrics",
    )
    top_option(simulate, "rows of a table", _TOP)
    _run_options(simulate, "the order of heartbeats")
    simulate.add_argument(
        "--series-every",
        type=Seconds(above=True),
        metavar="TIME",
        help="time between samples of pools; default: about a thousand of them",
    )
    simulate.add_argument(
        "--give-up-after",
        type=Whole(2),
        metavar="N",
        help="end where an operation loses all that it has done N times and nothing gets done; default: 1000",
    )
    simulate.add_argument(
        "--literal", action="store_true", help="visit every heartbeat and update: slow, with the same result"
    )
    format_option(simulate)

    sweep = commands.add_parser(
        "sweep",
        help="replay a recorded workload, or plan on a snapshot, under many settings, and print metrics",
        description="Every combination of values is a point, unless --lhs or --random draw them. "
        "A name is a setting of the policy (pace.victim_cooldown), one of its clocks (heartbeat_period), "
        "or a row's cell (pools.research.weight). Of a snapshot each point is a plan.",
    )
    _trace_options(
        sweep,
        ("swf", "google2011", "philly", "table", "snapshot"),
        "recorded workload, or snapshot",
        f"{_SUFFIXES}, or .json (a snapshot)",
    )
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
    _run_options(sweep, "points and heartbeats")
    sweep.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        help="metric that is wanted; several times; default: a few in a table, else all",
    )
    sweep.add_argument(
        "--resume",
        metavar="FILE",
        type=File("lines are added to it"),
        help="file that records finished points; a rerun skips them",
    )
    sweep.add_argument("--workers", type=Whole(1), metavar="N", help="runs at a time; default: processors")
    plans = sweep.add_argument_group("of a snapshot")
    state_options(plans, "state to start from, if it exists; it stays as it is")
    trigger_option(plans)
    reading_options(plans)
    format_option(sweep)


def _run_options(command: Parser, drawn: str) -> None:
    """Add what a run is drawn by, and how it shows that it is not over."""
    command.add_argument("--seed", type=Whole(0), metavar="N", help=f"what draws {drawn}")
    command.add_argument("--progress", action="store_true", help="show a bar")


def _trace_options(command: Parser, kinds: tuple[str, ...], what: str, suffixes: str) -> None:
    """Add what says which workload is replayed on what."""
    command.add_argument("trace", metavar="TRACE", type=File(), help=what)
    command.add_argument(
        "--kind", choices=kinds, help=f"format of the trace; default: by its name, {suffixes}"
    )
    command.add_argument("--machines", metavar="FILE", type=File(), help="machine events, for google2011")
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
    command.add_argument(
        "--header",
        metavar="NAMES",
        help="names of the columns of a table without a line of these: name,queue",
    )
    command.add_argument(
        "--timezone",
        metavar="NAME",
        help="time zone of a table's times that have none, such as Europe/Berlin",
    )
    policy_option(command, presets=False)
    config_option(command)
    command.add_argument(
        "--clock",
        action="append",
        type=Pair(Seconds(above=False), "NAME=TIME"),
        metavar="NAME=TIME",
        help="clock of the system, such as heartbeat_period=2s or bf_interval=30; several times",
    )
    command.add_argument("--nodes", type=Whole(1), metavar="N", help="number of identical nodes")
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
        help="how long to simulate, in seconds or such as 10m or 10d; default: to the end",
    )
    command.add_argument(
        "--warm-up",
        type=Seconds(above=False),
        metavar="TIME",
        help="how much of the beginning metrics leave out; default: 0",
    )
