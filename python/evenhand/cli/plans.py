"""The commands that decide: plan and explain, and the demo's plan."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.cli.given import given_file, told
from evenhand.cli.looking import explain_live, without_live_options
from evenhand.cli.policies import made_policy, trigger_of
from evenhand.cli.reading import lines_of, read_state, write_files
from evenhand.cli.streams import (
    Failure,
    glyphs,
    label,
    print_csv,
    print_json,
    print_lines,
    print_prose,
    room,
    table_room,
)
from evenhand.errors import InputError
from evenhand.explain.facts import seconds
from evenhand.plans.saved import is_saved, opened, packed_as, saved

if TYPE_CHECKING:
    import argparse

    from evenhand.cli.given import Given
    from evenhand.display.terminal import Line
    from evenhand.model import Snapshot
    from evenhand.plans import Plan
    from evenhand.state import State

__all__ = [
    "demo_decisions",
    "demo_lines",
    "demo_plan",
    "explain",
    "plan",
    "planned",
    "saved_or_planned",
]

_LISTED = 5  # starving elements, rules of refusals, diagnostics
_DEMO_DECISIONS = 5
_SPARED_SENTENCES = 2  # what it is; which stages looked at it is left to explain
_NOT_WAITED = "None of them has waited yet: add --as-if-waiting 10m, or --state FILE now and later."
_DEMO_WAITS = "10m"
_AMOUNTS = 80  # columns of an explanation where no width is known


def plan(args: argparse.Namespace) -> int:
    """Decide on a snapshot, and leave the next state."""
    from evenhand.display.plans import plan_title

    _must_be_apart(args)
    result = planned(args, given_file(args.file))
    files = {args.save: packed_as(args.save, saved(result))} if args.save is not None else {}
    if args.state is not None:
        files[args.state] = result.state._text().encode()
    write_files(files)
    if args.format == "json":
        print_json(result.to_dict())
    elif args.format == "csv":
        print_csv(result.table())
    else:
        title = plan_title(result).removeprefix("for ")
        head: Line = [("head", label(args.file)), ("", f": {title}")]
        top = args.top or (len(result.decisions) if args.all else args.default_top)
        print_lines([*_lines(result, head, max(top, 1)), *_findings(result), *_answered(args, result)])
    return 0


def _must_be_apart(args: argparse.Namespace) -> None:
    """Refuse to save a plan over what it is made from, or over the next state."""
    for what in ("file", "state", "config"):
        other = getattr(args, what)
        if args.save and other and os.path.realpath(args.save) == os.path.realpath(other):
            named = "FILE" if what == "file" else f"--{what}"
            raise Failure(f"argument --save: {label(args.save)} is the file of {named}, too", usage=True)


def explain(args: argparse.Namespace) -> int:
    """Say why something is decided on a snapshot, or is not."""
    from evenhand.display.explanations import explanation_text
    from evenhand.table import Table

    if args.live is not None:
        return explain_live(args)
    without_live_options(args)
    result = _explained(args)
    try:
        explanation = result.letter(args.name) if args.plain else result.why(args.name)
    except InputError as error:
        said = f"{label(args.file)}: {error.problems[0].message}"
        raise Failure(f"argument NAME: {said}", usage=True) from error
    if args.format == "json":
        print_json(explanation.to_dict())
    elif args.format == "csv":
        heads = ("stage", "outcome", "times", "node", "request")
        columns: dict[str, Any] = {head: [row[head] for row in explanation.looked_at] for head in heads}
        for resource in result.snapshot.resources:
            columns[f"missing.{resource}"] = [
                row["missing"].get(resource, 0) for row in explanation.looked_at
            ]
        print_csv(Table(columns))
    else:
        print_prose(explanation_text(explanation, room() or _AMOUNTS, glyphs()))
    return 0


def demo_plan(snapshot: Snapshot) -> Plan:
    """Plan on the bundled cluster, as if it had been in this state for ten minutes."""
    import evenhand as eh

    return eh.plan(snapshot, eh.policies.YTsaurus(), as_if_waiting=_DEMO_WAITS)


def demo_lines(result: Plan, room: int) -> list[Line]:
    """Return what is planned in short, and why a victim leaves and one beside it stays."""
    from evenhand.display.plans import plan_sentence, starving_sentences

    lines: list[Line] = [[("head", "The plan, as if nothing had changed for ten minutes")]]
    for sentence in (plan_sentence(result), *starving_sentences(result.statuses)):
        lines += [[("", part)] for part in textwrap.wrap(sentence, room, break_on_hyphens=False)]
    victims = result.decisions.victims
    if not len(victims):
        return lines
    names = result.snapshot.names("allocations")
    taken = int(victims.column("allocation")[0])
    asked: list[tuple[str, int, int | None]] = [("leave", taken, None)]
    spared = _spared(result, taken)
    if spared is not None:
        asked.append(("stay", spared, _SPARED_SENTENCES))
    for does, row, most in asked:
        sentences = result.why(names[row], table="allocations").sentences[:most]
        lines += [[], [("head", f"Why does {label(str(names[row]))} {does}?")]]
        lines += [[("", part)] for part in textwrap.wrap(" ".join(sentences), room, break_on_hyphens=False)]
    return lines


def demo_decisions(result: Plan, room: int) -> list[Line]:
    """Return the first decisions of the demo's plan, without codes."""
    from evenhand.display.plans import decision_lines

    return decision_lines(result, _DEMO_DECISIONS, glyphs(), room, reasons=False)


def _spared(result: Plan, victim: int) -> int | None:
    """Return an allocation of the victim's node that stays, of the same operation if there is one."""
    core = result.snapshot._core
    node, operation = (np.asarray(core.column("allocations", c)) for c in ("node", "operation"))
    stays = (node == node[victim]) & (result.groups.codes < 255)
    stays[result.decisions.victims.column("allocation")] = False
    rows = np.flatnonzero(stays)
    if not len(rows):
        return None
    same = rows[operation[rows] == operation[victim]]
    return int(same[0] if len(same) else rows[0])


def _explained(args: argparse.Namespace) -> Plan:
    """Return the plan that is explained: a saved one, or that of a snapshot."""
    result, made = saved_or_planned(args, given_file(args.file))
    if made and _moved_on(args, result):
        said = f"is what a plan at {seconds(result.snapshot.now)} left, which it does not explain"
        how = "save that plan with evenhand plan --save PLAN, then evenhand explain PLAN NAME"
        raise Failure(f"{label(args.state)}: {said}; {how}")
    if not made:
        without_options(args, f"{label(args.file)} is a saved plan, which has its own")
    return result


#: Options of what a plan is made of, which a saved plan has itself.
_MAKING = ("policy", "config", "state", "as_if_waiting", "on", "order", "rounding", "now", "partition")


def without_options(args: argparse.Namespace, said: str) -> None:
    """Refuse options of plans that are made."""
    for option in _MAKING:
        if getattr(args, option) is not None:
            raise Failure(f"argument --{option.replace('_', '-')}: {said}", usage=True)


def saved_or_planned(args: argparse.Namespace, given: Given) -> tuple[Plan, bool]:
    """Return the plan of a file, and whether it was made: a saved one is not."""
    if not is_saved(given.text):
        return planned(args, given), True
    try:
        return opened(given.text), False
    except InputError as error:
        said = [f"{label(given.path)}: {problem.message}" for problem in error.problems]
        raise Failure(*said) from error


def _moved_on(args: argparse.Namespace, result: Plan) -> bool:
    """Return whether the state of a file has answered for the same instant before."""
    before = result.state_before
    return args.state is not None and before is not None and before.time == result.snapshot.now


def _answered(args: argparse.Namespace, result: Plan) -> list[Line]:
    """Say that a plan follows one of the same instant."""
    if not _moved_on(args, result):
        return []
    had = f"had answered for {seconds(result.snapshot.now)} before: this plan follows that one"
    return [[("warn", label(args.state)), ("", f" {had}.")]]


def planned(args: argparse.Namespace, given: Given, config: str | None = None) -> Plan:
    """Return the plan of what a file has, under the settings that are given."""
    import evenhand as eh

    config, path = config or args.config, given.path
    own = told(args, given, config)
    policy = made_policy(args.policy, config, own)
    try:
        snapshot = given.snapshot(args, own)
    except InputError as error:
        raise Failure(*lines_of(path, error)) from error
    on = trigger_of(args.on, snapshot, label(path), policy.RECORD.word)
    state: State | None = read_state(args.state)
    if state is None and args.as_if_waiting is None and own is not None:
        state = own.state(policy.RECORD.word)
    try:
        if args.as_if_waiting is not None and state is None:
            return eh.plan(snapshot, policy, on=on, as_if_waiting=args.as_if_waiting)
        return eh.plan(snapshot, policy, state, on=on)
    except InputError as error:
        # What does not fit together may stand in any of the files.
        other = {"settings": config, "state": args.state}.get(error.problems[0].table) or path
        raise Failure(*lines_of(other, error)) from error


def _lines(result: Plan, head: Line, top: int) -> list[Line]:
    from evenhand.display.plans import (
        decision_lines,
        not_waited,
        plan_sentence,
        refusal_lines,
        starving_lines,
    )

    signs, columns = glyphs(), table_room()
    starving = starving_lines(result.statuses, _LISTED, signs, columns)
    if not_waited(result):
        starving.append([("warn", _NOT_WAITED)])
    return [
        head,
        [],
        *([*starving, []] if starving else []),
        [("head", plan_sentence(result))],
        *decision_lines(result, top, signs, columns),
        [],
        *refusal_lines(result, _LISTED, signs, columns),
    ]


def _findings(result: Plan) -> list[Line]:
    from evenhand.display.terminal import diagnostic_lines

    return diagnostic_lines(result.diagnostics, _LISTED)
