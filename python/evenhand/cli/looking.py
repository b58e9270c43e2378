"""The commands that look at a live cluster and change nothing: snapshot, and explain --live."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.live import known_adapter, loaded, rules_of
from evenhand.cli.live_arguments import TIMEOUT
from evenhand.cli.policies import trigger_of
from evenhand.cli.reading import lines_of, read_state, write_files
from evenhand.cli.streams import (
    Failure,
    glyphs,
    label,
    print_csv,
    print_errors,
    print_json,
    print_prose,
    print_text,
    room,
)
from evenhand.errors import EvenhandError, InputError

if TYPE_CHECKING:
    import argparse

    from evenhand.act.trails import Said
    from evenhand.adapters import Adapter
    from evenhand.plans import Plan

__all__ = ["explain_live", "snapshot", "without_live_options"]

_WIDTH = 80  # columns of amounts where no width is known
_OF_FILES = ("order", "rounding", "now", "partition")


def snapshot(args: argparse.Namespace) -> int:
    """Write what a live cluster is, and by which rules it lives."""
    from evenhand.display.snapshots import counts
    from evenhand.plans.saved import packed_as
    from evenhand.systems.files import toml_of

    known_adapter(args)
    beside = _rules_file(args.output)
    if args.config is not None and os.path.realpath(args.config) in map(
        os.path.realpath, (args.output, beside)
    ):
        raise Failure(f"argument --output: {label(args.config)} is the file of --config, too", usage=True)
    rules, policy_of = rules_of(args)
    try:
        adapter = loaded(args, rules)
        found = adapter.snapshot()
    except EvenhandError as error:
        raise Failure(str(error)) from error
    text = found.to_json()
    try:
        made = policy_of(adapter)
        settings = toml_of(made() if callable(made) else made)
        unsaid = ""
    except InputError as error:
        settings, unsaid = "", "; ".join(lines_of(args.config or rules, error))
    except EvenhandError as error:
        settings, unsaid = "", str(error)
    print_errors([f"note: {notice}" for notice in adapter.notices])
    if args.output == "-":
        print_text(text)
        return 0
    files: dict[str, str | bytes] = {args.output: packed_as(args.output, text + "\n")}
    write_files(files | ({beside: settings} if settings else {}))
    said = f"{label(args.output)}: {counts(found)}; "
    if settings:
        print_prose(f"{said}rules ({rules}): {label(beside)}")
    else:
        print_prose(f"{said}without rules")
        print_errors([f"note: the cluster's rules are not written: {unsaid}"])
    return 0


def _rules_file(path: str) -> str:
    """Return the file of rules that belongs to a snapshot: ``cluster.json`` has ``cluster.rules.toml``."""
    name = Path(path).name.removesuffix(".gz").removesuffix(".json")
    return str(Path(path).with_name(f"{name}.rules.toml"))


def without_live_options(args: argparse.Namespace) -> None:
    """Refuse options of live clusters where a file is explained."""
    for option in ("adapter", "pools", "suspended_slots_are_free", "timeout"):
        if getattr(args, option):
            raise Failure(f"argument --{option.replace('_', '-')}: only with --live", usage=True)


def explain_live(args: argparse.Namespace) -> int:
    """Say what a plan for the cluster as it is now says of a job."""
    from evenhand.display.trails import said_table, said_text

    if args.file is not None:
        raise Failure("argument --live: stands in the place of FILE and NAME", usage=True)
    for option in _OF_FILES:
        if getattr(args, option) is not None:
            raise Failure(f"argument --{option}: not with --live", usage=True)
    args.adapter, args.timeout = args.adapter or "slurm", args.timeout or float(TIMEOUT)
    known_adapter(args)
    rules, policy_of = rules_of(args)
    try:
        adapter = loaded(args, rules)
        plan = _planned(args, adapter, policy_of)
        job, said = _said(args.live, adapter, plan, plain=args.plain)
    except InputError as error:
        raise Failure(*lines_of(args.config or args.adapter, error)) from error
    except EvenhandError as error:
        raise Failure(str(error)) from error
    if args.format == "json":
        print_json({"job": job, **said.to_dict()})
    elif args.format == "csv":
        print_csv(said_table(said))
    else:
        print_prose(said_text(said, room() or _WIDTH, glyphs()))
    return 0


def _planned(args: argparse.Namespace, adapter: Adapter, policy_of: Any) -> Plan:
    import evenhand as eh

    found, made = adapter.snapshot(), policy_of(adapter)
    policy = made() if callable(made) else made
    print_errors([f"note: {notice}" for notice in adapter.notices])
    # A policy of another package may have no record of its triggers.
    on = None if args.on is None else trigger_of(args.on, found, args.adapter, policy.RECORD.word)
    state = read_state(args.state)
    if args.as_if_waiting is not None and state is None:
        return eh.plan(found, policy, on=on, as_if_waiting=args.as_if_waiting)
    return eh.plan(found, policy, state, on=on)


def _said(asked: str, adapter: Adapter, plan: Plan, *, plain: bool) -> tuple[str, Said]:
    """Return the job that is meant, and what there is to say of it."""
    from evenhand.act.jobs import explained, named, several
    from evenhand.act.trails import Said

    left_out = {job: why for why, jobs in (getattr(adapter, "left_out", None) or {}).items() for job in jobs}
    tables = ("operations", "allocations", "requests")
    names = [str(name) for table in tables for name in plan.snapshot.names(table)]
    jobs = named([*names, *left_out], asked)
    if len(jobs) > 1:
        raise Failure(f"argument --live: {label(several(asked, jobs))}", usage=True)
    if jobs:
        parts, more = explained(plan, jobs[0]) if jobs[0] in names else ((), 0)
        if plain and parts:
            parts, more = (plan.letter(jobs[0]),), 0
        why = left_out.get(jobs[0])
        said = f"{jobs[0]} asks for {why}, and is left out: which jobs would give way to it cannot be judged"
        return jobs[0], Said(None, parts, more, "" if why is None else said)
    standing = adapter.look([asked])[asked]
    if standing.state == "gone":
        raise Failure(f"{adapter.name}: there is no job {label(asked)}")
    detail = f" ({standing.detail})" if standing.detail else ""
    return asked, Said(None, missing=f"{asked} is {standing.state}{detail}, and no plan considers it")
