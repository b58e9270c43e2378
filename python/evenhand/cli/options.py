"""Options that several commands have."""

from __future__ import annotations

import argparse

from evenhand.cli.parsing import Parser, either
from evenhand.cli.values import File, Instant, PolicyName, Seconds, Whole
from evenhand.config.triggers import PASSES
from evenhand.systems import SYSTEMS

__all__ = [
    "REPLACED",
    "config_option",
    "format_option",
    "plan_options",
    "policy_option",
    "reading_options",
    "snapshot_options",
    "state_options",
    "table_options",
    "top_option",
    "trigger_option",
]

#: Why a file that is written cannot be a standard stream.
REPLACED = "the file is replaced as a whole"

_SNAPSHOT = (
    "snapshot as JSON, compressed (gzip, bzip2, xz, zstd) or not; or what Slurm, YuniKorn or Grid Engine "
    "themselves write, in a file or a folder"
)

_FORMATS = "default: table; csv has an apostrophe before text that begins like a formula"


def format_option(command: Parser) -> None:
    """Add in which form is printed."""
    command.add_argument("--format", choices=("table", "json", "csv"), default="table", help=_FORMATS)


def snapshot_options(command: Parser, name: str = "file", metavar: str = "FILE", said: str = "") -> None:
    """Add a snapshot, and how it is read."""
    command.add_argument(name, metavar=metavar, type=File(), help=_SNAPSHOT + said)
    reading_options(command)


def reading_options(command: argparse._ActionsContainer) -> None:
    """Add how snapshots are read."""
    command.add_argument(
        "--order", choices=("rows",), help="rows: ties end in the order of the file's rows, not of names"
    )
    command.add_argument(
        "--rounding",
        choices=("nearest",),
        help="nearest: amounts that are no multiple of their quantum are rounded, not refused",
    )
    command.add_argument(
        "--now",
        metavar="TIME",
        type=Instant(),
        help="instant of a system's own texts: seconds since 1970, or such as 2026-11-27T12:00:00Z; default: "
        "what they say, else this moment",
    )
    command.add_argument(
        "--partition", metavar="NAME", help="partition of YuniKorn's texts; default: default"
    )


def policy_option(command: Parser, *, presets: bool = True) -> None:
    """Add the system whose rules apply."""
    first, *others = SYSTEMS
    words = [f"{first} (the default)", *others]
    followed = "; NAME:documented (the default) follows its documents, NAME:upstream its source"
    command.add_argument(
        "--policy",
        type=PolicyName(),
        metavar="NAME[:PRESET]",
        help=f"system whose rules apply: {either(words)}, or what --config describes{followed * presets}",
    )


def config_option(command: Parser) -> None:
    """Add the file of settings."""
    command.add_argument(
        "--config",
        metavar="FILE",
        type=File(),
        help="settings of the policy as TOML; or a slurm.conf, YuniKorn's queue configuration, or what "
        "qconf -ssconf of Grid Engine prints, with preset upstream",
    )


def state_options(command: argparse._ActionsContainer, said: str) -> None:
    """Add where clocks come from."""
    command.add_argument("--state", metavar="FILE", type=File(REPLACED), help=said)
    command.add_argument(
        "--as-if-waiting",
        type=Seconds(above=False),
        metavar="TIME",
        help="plan as if all had been as it is for so long, such as 10m; with --state only where there is no "
        "such file yet",
    )


def plan_options(command: Parser, *, state: str) -> None:
    """Add the options of all that decides."""
    policy_option(command)
    config_option(command)
    state_options(command, state)
    trigger_option(command)
    format_option(command)


def trigger_option(command: argparse._ActionsContainer) -> None:
    """Add what is decided on."""
    command.add_argument(
        "--on",
        metavar="TRIGGER",
        help=f"what is decided on: {_triggers()}; default: the first of the policy",
    )


def _triggers() -> str:
    """Say what is decided on, with which systems."""
    systems: dict[str, list[str]] = {}
    for word, system in SYSTEMS.items():
        passes = [f"run:{name}" for name in PASSES] if system.passes else []
        systems.setdefault(either([*(t.SAID for t in system.triggers), *passes]), []).append(word)
    return ", ".join(f"{said} with {either(words, 'and')}" for said, words in systems.items())


def top_option(command: argparse._ActionsContainer, what: str, most: int, *, known: bool = True) -> None:
    """Add how much is shown; unless it is `known`, None stands for the default, which --all can lift."""
    default = most if known else None
    said = f"at most N {what}; default: {most}"
    command.add_argument("--top", type=Whole(1), metavar="N", default=default, help=said)


def table_options(command: Parser, *, depth: int | None, top: int, operations: bool) -> None:
    """Add the options of a table of pools; json and csv hold everything and ignore all but --format."""
    format_option(command)
    group = command.add_argument_group("what the table shows")
    group.add_argument(
        "--resource", metavar="NAME", help="shares of this resource; default: each row's dominant one"
    )
    group.add_argument(
        "--depth", type=Whole(0), metavar="N", help=f"deepest level of the tree; default: {depth or 'all'}"
    )
    top_option(group, "rows, the largest", top, known=False)
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
