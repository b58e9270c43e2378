"""The command that lets time go by under many settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evenhand.cli.given import given_file, told
from evenhand.cli.policies import made_policy, trigger_of
from evenhand.cli.reading import lines_of, read_state
from evenhand.cli.simulating import clocks, kind_of, once, printed, start
from evenhand.cli.streams import Failure, label, print_errors, reason
from evenhand.errors import EvenhandError, InputError, Problem

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from evenhand.cli.given import Given, Own
    from evenhand.model import Snapshot
    from evenhand.simulate import Workload

__all__ = ["sweep"]

#: What a table shows unless it is said.
_SHOWN_OF_PLANS = ("victims", "victims.operations", "served", "starts", "refused", "starving")
_SHOWN = ("starvation.p95", "preemptions_per_hour", "waiting.p50", "waiting.p95")


def sweep(args: argparse.Namespace) -> int:
    """Replay a trace, or plan on a snapshot, under many settings, and print a row for each."""
    from evenhand.sweep.running import sweep as run

    of_snapshot = kind_of(args) == "snapshot"
    given = given_file(args.trace) if of_snapshot else None
    own = None if given is None else told(args, given, args.config)
    policy = made_policy(args.policy, args.config, own)
    space = {name: _values(name, text) for name, text in once("--set", args.space).items()}
    _must_be_drawn(args, space)
    workload: Workload | None = None
    if given is not None:
        snapshot, shared = _on_snapshot(args, given, own, policy)
    else:
        _only(args, "snapshot", _OF_SNAPSHOT)
        clocked = clocks(args, policy)
        workload, snapshot, until = start(args)
        shared = {"until": until, "warm_up": args.warm_up or 0.0, **clocked}
    metrics = args.metric
    if metrics is None and args.format == "table":
        metrics = _shown(snapshot, of_snapshot)
    drawn = {name: getattr(args, name) for name in ("lhs", "random", "seed", "resume", "workers", "progress")}
    try:
        joined = snapshot if workload is None else workload.joined(snapshot)
        _must_be_taken(joined, policy, space, of_snapshot)
        table = run(snapshot, policy, workload, space, metrics=metrics, **shared, **drawn)
    except InputError as error:
        raise _failure(args, error) from error
    except OSError as error:
        raise Failure(f"{label(args.resume)}: cannot be used: {reason(error)}") from error
    except EvenhandError as error:  # a missing extra
        raise Failure(str(error)) from error
    printed(args, table.to_dict(), table, len(table))
    return _ended(args, [*table["error"]])


#: Options that only workloads have, and those that only snapshots have.
_OF_TRACE = (
    *(
        "machines",
        "pools",
        "column",
        "header",
        "timezone",
        "clock",
        "nodes",
        "capacity",
        "head",
        "until",
        "warm_up",
    ),
)
_OF_SNAPSHOT = ("state", "as_if_waiting", "on", "order", "rounding", "now", "partition")


def _only(args: argparse.Namespace, kind: str, options: Iterable[str]) -> None:
    """Refuse options of the other kind of input."""
    for option in options:
        if getattr(args, option) is not None:
            said = f"only with a {kind}, and {label(args.trace)} is none"
            raise Failure(f"argument --{option.replace('_', '-')}: {said}", usage=True)


def _on_snapshot(
    args: argparse.Namespace, given: Given, own: Own | None, policy: Any
) -> tuple[Snapshot, dict[str, Any]]:
    """Return the snapshot that each point plans on, and from where: a plan decides nothing without a past."""
    import evenhand as eh

    _only(args, "trace", _OF_TRACE)
    try:
        snapshot = given.snapshot(args, own)
        on = trigger_of(args.on, snapshot, label(args.trace), policy.RECORD.word)
        state = read_state(args.state)
        if state is None and args.as_if_waiting is None and own is not None:
            state = own.state(policy.RECORD.word)
        if state is None and args.as_if_waiting is not None:
            state = eh.plan(snapshot, policy, on=on, as_if_waiting=args.as_if_waiting).state_before
    except InputError as error:
        raise Failure(*lines_of(args.trace, error)) from error
    return snapshot, {"on": on, "state": state}


def _shown(snapshot: Snapshot, of_snapshot: bool) -> list[str]:
    """Return the metrics of a table unless it is said which."""
    if of_snapshot:
        return [*_SHOWN_OF_PLANS, *(f"freed.{resource}" for resource in snapshot.resources)]
    of_each = [f"{name}.{r}" for name in ("lost_work", "utilisation") for r in snapshot.resources]
    return [*_SHOWN, *of_each]


def _ended(args: argparse.Namespace, errors: list[str | None]) -> int:
    """Say how many points came to no end; return the exit status."""
    refused = [error for error in errors if error is not None]
    if refused:
        first = refused[0].partition("\n")[0]
        said = f"{len(refused)} of {len(errors)} points have no metrics; the first: {first}"
        print_errors([f"{label(args.trace)}: {said}"])
    return 1 if len(refused) == len(errors) else 0


def _failure(args: argparse.Namespace, error: InputError) -> Failure:
    """Return what is wrong, with the option or the file that it is wrong in."""
    problem = error.problems[0]
    if {"space", "settings"} & {one.table for one in error.problems}:
        return Failure(*(f"argument --set: {one.message}" for one in error.problems), usage=True)
    if problem.field == "metrics":
        return Failure(f"argument --metric: {problem.message}", usage=True)
    if problem.field == "resume":
        return Failure(f"{label(args.resume)}: {problem.message.removeprefix(f'resume: {problem.value} ')}")
    return Failure(*(f"{label(args.trace)}: {one.message}" for one in error.problems))


def _values(name: str, text: str) -> Any:
    """Return the values that are written as ``a,b,c``, or the range ``a..b``."""
    from evenhand.sweep.space import between

    low, dots, high = text.partition("..")
    if not dots:
        return [_value(word) for word in text.split(",")]
    try:
        return between(_value(low), _value(high))
    except InputError as error:
        said = f"{text!r} for {label(name)} is no range; write two numbers, the smaller first: 30..600"
        raise Failure(f"argument --set: {said}", usage=True) from error


def _value(word: str) -> Any:
    """Return a number, a flag, or text."""
    try:
        return json.loads(word)
    except (ValueError, RecursionError):
        return word


def _must_be_drawn(args: argparse.Namespace, space: Mapping[str, Any]) -> None:
    """Refuse what is no setting of a policy, and ranges of which nothing is drawn."""
    from evenhand.sweep.space import Between

    for name in space:
        if name == "policy" or not all(name.split(".")):
            said = "sweep once for each --policy" if name == "policy" else "one is pace.victim_cooldown"
            raise Failure(f"argument --set: {name!r} is no setting; {said}", usage=True)
    if args.lhs is not None or args.random is not None:
        return
    for name, values in space.items():
        if isinstance(values, Between):
            said = f"{label(name)} is a range: add --lhs N or --random N, which draw N points, or list values"
            raise Failure(f"argument --set: {said}", usage=True)


def _must_be_taken(snapshot: Snapshot, policy: Any, space: Mapping[str, Any], of_snapshot: bool) -> None:
    """Refuse values that no point could have; what depends on other settings is each point's own matter."""
    from evenhand.simulate.columns import clocks_of
    from evenhand.sweep.space import Between, applied

    for name, values in space.items():
        for value in (values.low, values.high) if isinstance(values, Between) else values:
            try:
                clocks = applied(snapshot, policy, {name: value})[2]
                clocks_of(policy, clocks)
                if clocks and of_snapshot:
                    raise Failure(f"argument --set: {name} is a clock, which only traces have", usage=True)
            except InputError as error:
                if own := next((problem for problem in error.problems if _is_own(problem)), None):
                    raise Failure(f"argument --set: {own.message}", usage=True) from error


def _is_own(problem: Problem) -> bool:
    """Return whether a value is wrong by itself: what settings have against each other shows no value."""
    return problem.value is not None or problem.rule in ("unknown_field", "exists")
