"""The arguments of commands that read a live cluster and change nothing."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from evenhand.cli.parsing import Parser
from evenhand.cli.values import File, Output, PolicyName, Seconds

__all__ = [
    "TIMEOUT",
    "adapter_option",
    "live_options",
    "pools_option",
    "seconds_option",
    "slots_option",
    "snapshot_command",
]

#: Seconds that a command of the cluster's may take.
TIMEOUT = 30


def snapshot_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command that writes what a live cluster is."""
    snapshot = commands.add_parser(
        "snapshot",
        help="write what a live cluster is to a file, for plan, explain, validate, diff and sweep",
        description="Reads the cluster once and changes nothing. The cluster's own rules are written beside "
        "PATH (cluster.json: cluster.rules.toml), for --config.",
    )
    adapter_option(snapshot, "slurm")
    snapshot.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Output(),
        default="-",
        help="file that is replaced as a whole, compressed if it ends in .gz; default: -, the standard "
        "output, without rules",
    )
    snapshot.add_argument(
        "--policy",
        type=PolicyName(),
        metavar="NAME[:PRESET]",
        help="system whose rules are written; default: as of watch",
    )
    snapshot.add_argument(
        "--config", metavar="FILE.toml", type=File(), help="settings to change, as of watch"
    )
    pools_option(snapshot)
    slots_option(snapshot)
    seconds_option(snapshot, "timeout", TIMEOUT, "seconds of a command; ")


class _Live(argparse.Action):
    """A job of a live cluster, in the place of the arguments that name a file and what is in it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the job; nothing else has to be named."""
        del option_string
        setattr(namespace, self.dest, values)
        for action in parser._get_positional_actions():
            action.required = False


def live_options(command: Parser) -> None:
    """Add a job of a live cluster, and how that is read."""
    live = command.add_argument_group("of a live cluster, in the place of FILE and NAME")
    live.add_argument(
        "--live",
        metavar="JOB",
        action=_Live,
        help="job of the cluster as it is now: 4711, a task 4711_3 of Slurm or 4711.3 of Grid Engine",
    )
    adapter_option(live, None)
    pools_option(live)
    slots_option(live)
    live.add_argument(
        "--timeout",
        type=Seconds(above=True),
        metavar="S",
        help=f"seconds of a command; default: {TIMEOUT}",
    )


def adapter_option(command: argparse._ActionsContainer, default: str | None) -> None:
    """Add which system's cluster it is."""
    command.add_argument(
        "--adapter", default=default, metavar="NAME", help="the cluster's system; default: slurm"
    )


def pools_option(command: argparse._ActionsContainer) -> None:
    """Add what pools are."""
    command.add_argument(
        "--pools",
        choices=("partition", "account", "user"),
        help="what becomes a pool of Slurm; default: partition",
    )


def slots_option(command: argparse._ActionsContainer) -> None:
    """Add whether suspended jobs keep their slots."""
    command.add_argument(
        "--suspended-slots-are-free",
        action="store_true",
        help="Grid Engine: slots of suspended jobs are free for others",
    )


def seconds_option(command: argparse._ActionsContainer, name: str, default: int, said: str) -> None:
    """Add a time that is never none."""
    said += f"default: {default}"
    command.add_argument(
        f"--{name}", type=Seconds(above=True), default=float(default), metavar="S", help=said
    )
