"""The arguments of the command that acts."""

from __future__ import annotations

import argparse

from evenhand.cli.live_arguments import adapter_option, pools_option, seconds_option, slots_option
from evenhand.cli.options import REPLACED
from evenhand.cli.parsing import Parser
from evenhand.cli.values import File, Folder, PolicyName, Whole

__all__ = ["preempt_command", "watch_command"]

_KEPT = "it is a file that stays"


def watch_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command that acts."""
    watch = commands.add_parser(
        "watch",
        help="plan for a live cluster and carry the plan out, until stopped",
        description="Snapshot, plan, check, act, sleep, until a signal. A first run with --dry-run changes "
        "nothing and prints what would be run.",
    )
    adapter_option(watch, "slurm")
    watch.add_argument(
        "--journal",
        required=True,
        metavar="FILE",
        type=File(_KEPT),
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
        help="system whose rules apply; default: those of the adapter, for a system above with the "
        "cluster's own configuration of each round, as the system itself follows it (preset upstream)",
    )
    watch.add_argument(
        "--config",
        metavar="FILE.toml",
        type=File(),
        help="settings of the policy; where it is the cluster's own, only those to change",
    )
    pools_option(watch)
    watch.add_argument(
        "--state",
        metavar="FILE",
        type=File(REPLACED),
        help="state to start from, if it exists; replaced every round",
    )
    watch.add_argument("--dry-run", action="store_true", help="change nothing, print what would be run")
    watch.add_argument("--once", action="store_true", help="one round only")
    seconds_option(watch, "interval", 30, "seconds between rounds; ")
    watch.add_argument(
        "--stop-file", metavar="FILE", type=File(_KEPT), help="while it exists, no job is asked to leave"
    )
    watch.add_argument(
        "--lock",
        metavar="FILE",
        type=File(_KEPT),
        help="lock held by the driver of the cluster; default: one in /run/lock, $RUNTIME_DIRECTORY or /tmp",
    )
    watch.add_argument(
        "--metrics",
        metavar="FILE",
        type=File(REPLACED),
        help="metrics in Prometheus' text format, every round",
    )
    _plans(watch)
    watch.add_argument(
        "--evict",
        choices=("requeue_hold", "requeue", "as_planned"),
        help="how victims leave Slurm; default: requeue_hold (requeued, and held until their beneficiary "
        "runs)",
    )
    watch.add_argument(
        "--force",
        action="store_true",
        help="Grid Engine: send back to the queue also jobs that are not rerunnable (qmod -f -rj)",
    )
    slots_option(watch)
    _limits(watch)


def preempt_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command that carries out one request."""
    preempt = commands.add_parser(
        "preempt",
        help="let jobs of a live Grid Engine give way to another one, now",
        description="Ask that running jobs of lower priority give way to one that waits, as `qmod -p` does "
        "in Univa's Grid Engine: the rights are those of the user who calls it.",
    )
    preempt.add_argument("consumer", metavar="CONSUMER", help="job that is to start: number or number.task")
    preempt.add_argument(
        "providers",
        nargs="*",
        metavar="PROVIDER",
        help="jobs that give way, in this order, as far as needed: number, number.task or name; none: those "
        "that the rules choose, of a plain user among the own ones",
    )
    preempt.add_argument(
        "--action",
        choices=tuple("TRCPNS"),
        help="how they give way; default: R, without PROVIDER what the rules say",
    )
    preempt.add_argument(
        "--force",
        action="store_true",
        help="a manager's: also if it would start soon, and jobs that are not rerunnable",
    )
    preempt.add_argument(
        "--journal",
        required=True,
        metavar="FILE",
        type=File(_KEPT),
        help="where each action is recorded, as of watch",
    )
    preempt.add_argument(
        "--config", metavar="FILE.toml", type=File(), help="settings of the cluster's own policy to change"
    )
    preempt.add_argument("--dry-run", action="store_true", help="change nothing, print what would be run")
    preempt.add_argument("--stop-file", metavar="FILE", type=File(_KEPT), help="as of watch")
    preempt.add_argument("--lock", metavar="FILE", type=File(_KEPT), help="as of watch")
    _plans(preempt)
    slots_option(preempt)
    _limits(preempt)


def _plans(command: Parser) -> None:
    """Add the folder of what was seen and decided."""
    command.add_argument(
        "--plans",
        metavar="FOLDER",
        type=Folder(),
        help="folder in which each plan is saved that decides something, and the first of every hour; "
        "journal --explain and explain read them",
    )
    command.add_argument(
        "--keep-plans",
        type=Whole(1),
        metavar="N",
        help="plans that the folder holds at most, the newest; default: 3000",
    )


def _limits(command: Parser) -> None:
    """Add caps and times of what acts."""
    caps = command.add_argument_group("most victims (0: no cap)")
    for name, most, within in (
        ("run", 100, "in a round; "),
        ("hour", 50, ""),
        ("owner", 10, "in an hour; "),
        ("job", 3, "in a day; "),
    ):
        said = f"{within}default: {most}"
        caps.add_argument(f"--per-{name}", type=Whole(0), default=most, metavar="N", help=said)
    times = command.add_argument_group("seconds")
    seconds_option(times, "start-timeout", 120, "for a beneficiary to start; ")
    seconds_option(times, "max-age", 60, "of plan and snapshot; ")
    seconds_option(times, "timeout", 30, "of a command; ")
