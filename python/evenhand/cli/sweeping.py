"""The command that lets time go by under many settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evenhand.cli.policies import made_policy
from evenhand.cli.simulating import once, printed, start
from evenhand.cli.streams import Failure, label, print_errors, reason
from evenhand.errors import InputError, Problem

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from evenhand.model import Snapshot

__all__ = ["sweep"]

#: What a table shows unless it is said.
_SHOWN = ("starvation.p95", "preemptions_per_hour", "waiting.p50", "waiting.p95")


def sweep(args: argparse.Namespace) -> int:
    """Replay a trace under many settings, and print a row for each."""
    from evenhand.sweep.running import sweep as run

    policy = made_policy(args.policy, args.config)
    space = {name: _values(name, text) for name, text in once("--set", args.space).items()}
    _must_be_drawn(args, space)
    workload, snapshot, until = start(args)
    metrics = args.metric
    if metrics is None and args.format == "table":
        metrics = [
            *_SHOWN,
            *(f"{name}.{r}" for name in ("lost_work", "utilisation") for r in snapshot.resources),
        ]
    drawn = {name: getattr(args, name) for name in ("lhs", "random", "seed", "resume", "workers", "progress")}
    try:
        _must_be_taken(workload.joined(snapshot), policy, space)
        table = run(
            snapshot, policy, workload, space, metrics=metrics, until=until, warm_up=args.warm_up, **drawn
        )
    except InputError as error:
        raise _failure(args, error) from error
    except OSError as error:
        raise Failure(f"{label(args.resume)}: cannot be used: {reason(error)}") from error
    printed(args, table.to_dict(), table, len(table))
    return _ended(args, [*table["error"]])


def _ended(args: argparse.Namespace, errors: list[str | None]) -> int:
    """Say how many points came to no end; return the exit status."""
    refused = [error for error in errors if error is not None]
    if refused:
        first = refused[0].partition("\n")[0].replace("until=", "--until")
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


def _must_be_taken(snapshot: Snapshot, policy: Any, space: Mapping[str, Any]) -> None:
    """Refuse values that no point could have; what depends on other settings is each point's own matter."""
    from evenhand.simulate.columns import clocks_of
    from evenhand.sweep.space import Between, applied

    for name, values in space.items():
        for value in (values.low, values.high) if isinstance(values, Between) else values:
            try:
                clocks = applied(snapshot, policy, {name: value})[2]
                clocks_of(policy, clocks)
            except InputError as error:
                if own := next((problem for problem in error.problems if _is_own(problem)), None):
                    raise Failure(f"argument --set: {own.message}", usage=True) from error


def _is_own(problem: Problem) -> bool:
    """Return whether a value is wrong by itself: what settings have against each other shows no value."""
    return problem.value is not None or problem.rule in ("unknown_field", "exists")
