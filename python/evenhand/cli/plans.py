"""The commands that decide: plan and explain, and the demo's plan."""

from __future__ import annotations

import textwrap
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.cli.reading import lines_of, read_snapshot, read_state, write_state
from evenhand.cli.streams import (
    Failure,
    glyphs,
    label,
    print_csv,
    print_json,
    print_lines,
    print_text,
    read_text,
)
from evenhand.config.triggers import CYCLES
from evenhand.errors import InputError
from evenhand.systems import SYSTEMS

if TYPE_CHECKING:
    import argparse

    from evenhand.display.terminal import Line
    from evenhand.model import Snapshot
    from evenhand.plans import Plan
    from evenhand.state import State

__all__ = ["demo_lines", "demo_plan", "described_policy", "explain", "made_policy", "plan"]

_LISTED = 5  # starving elements, rules of refusals, diagnostics
_DEMO_DECISIONS = 12
_WIDTH = 110
_DEMO_EARLIER = 600.0  # seconds


def plan(args: argparse.Namespace) -> int:
    """Decide on a snapshot, and leave the next state."""
    from evenhand.display.plans import plan_title

    result = _planned(args)
    if args.state:
        write_state(args.state, result.state)
    if args.format == "json":
        print_json(result.to_dict())
    elif args.format == "csv":
        print_csv(result.table())
    else:
        head: Line = [("head", label(args.file)), ("", f": {plan_title(result).removeprefix('for ')}")]
        top = args.top or (len(result.decisions) if args.all else args.default_top)
        print_lines([*_lines(result, head, max(top, 1)), *_findings(result)])
    return 0


def explain(args: argparse.Namespace) -> int:
    """Say why something is decided on a snapshot, or is not."""
    from evenhand.table import Table

    result = _planned(args)
    try:
        explanation = result.why(args.name)
    except KeyError as error:
        raise Failure(f"argument NAME: {label(args.file)}: {error.args[0]}", usage=True) from error
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
        print_text(explanation.text)
    return 0


def demo_plan(snapshot: Snapshot) -> Plan:
    """Plan on the bundled cluster, as if it had been in this state for ten minutes."""
    import evenhand as eh

    policy = eh.policies.YTsaurus()
    then = snapshot.replace(now=snapshot.now - _DEMO_EARLIER, previous_update=None)
    earlier = eh.plan(then, policy)
    return eh.plan(snapshot, policy, earlier.state)


def demo_lines(result: Plan) -> list[Line]:
    """Return the plan, and the explanations of a victim and of one that was spared beside it."""
    head = "Plan for the same cluster, had nothing changed for ten minutes"
    lines = _lines(result, [("head", head)], _DEMO_DECISIONS)
    victims = result.decisions.victims
    if not len(victims):
        return lines
    names = result.snapshot.names("allocations")
    taken = int(victims.column("allocation")[0])
    asked = [("Why does it leave?", taken)]
    spared = _spared(result, taken)
    if spared is not None:
        asked.append(("Why not the one beside it?", spared))
    for question, row in asked:
        text = result.why(names[row], table="allocations").text
        lines += [[], [("head", question)]]
        lines += [[("", part)] for line in text.split("\n") for part in textwrap.wrap(line, _WIDTH)]
    return lines


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


def _planned(args: argparse.Namespace) -> Plan:
    import evenhand as eh

    try:
        snapshot = read_snapshot(args.file)
    except InputError as error:
        raise Failure(*lines_of(args.file, error)) from error
    policy = made_policy(args.policy, args.config)
    on = _trigger(args.on, snapshot, label(args.file))
    state: State | None = read_state(args.state)
    try:
        return eh.plan(snapshot, policy, state, on=on)
    except InputError as error:
        # What does not fit together may stand in any of the files.
        table = error.problems[0].table
        path = {"settings": args.config, "state": args.state}.get(table) or args.file
        if table == "trigger":
            raise Failure(*lines_of("argument --on", error), usage=True) from error
        raise Failure(*lines_of(path, error)) from error


def described_policy(name: str, config: str | None) -> tuple[str, str, dict[str, Any]]:
    """Return system, preset and settings that the command line and its file ask for."""
    system, _, preset = name.partition(":")
    if system not in SYSTEMS:
        known = ", ".join(SYSTEMS)
        raise Failure(f"argument --policy: there is no policy {system!r} but {known}", usage=True)
    if preset not in ("", *SYSTEMS[system].presets):
        known = " and ".join(SYSTEMS[system].presets)
        raise Failure(f"argument --policy: {system} has no preset {preset!r} but {known}", usage=True)
    settings: dict[str, Any] = {}
    if config is not None:
        try:
            settings = tomllib.loads(read_text(config))
        except tomllib.TOMLDecodeError as error:
            raise Failure(f"{label(config)}: is not TOML: {error}") from error
    # A file that describes a complete policy, too: the command line comes first.
    if (described := settings.pop("system", system)) != system:
        raise Failure(
            f"argument --policy: {label(str(config))} describes {described!r}, not {system}", usage=True
        )
    other = settings.pop("preset", SYSTEMS[system].presets[0])
    return system, preset or other, settings


def made_policy(name: str, config: str | None) -> Any:
    """Return the policy that the command line and its file ask for."""
    system, preset, settings = described_policy(name, config)
    try:
        return SYSTEMS[system].policy(preset, **settings)
    except InputError as error:
        raise Failure(*lines_of(config or name, error)) from error


def _trigger(text: str | None, snapshot: Snapshot, file: str) -> Any:
    """Return what the policy acts on; None: its own."""
    import evenhand as eh

    if text is None:
        return None
    if text in ("round", "run"):
        return eh.Round() if text == "round" else eh.SchedulingRun()
    if text == "commands":
        return eh.Commands(tuple(snapshot.commands))
    kind, _, node = text.partition(":")
    if kind == "cycle" and node in CYCLES:
        return eh.Cycle(node)
    if kind != "heartbeat" or not node:
        known = ", ".join(
            ["round", "heartbeat:NODE", "run", *(f"cycle:{name}" for name in CYCLES), "commands"]
        )
        raise Failure(f"argument --on: {text!r} is none of {known}", usage=True)
    for name in snapshot.names("nodes"):
        if str(name) == node:
            return eh.Heartbeat(name)
    raise Failure(f"argument --on: {file} has no node {node!r}", usage=True)


def _lines(result: Plan, head: Line, top: int) -> list[Line]:
    from evenhand.display.plans import (
        decision_lines,
        plan_sentence,
        refusal_lines,
        starving_lines,
    )

    signs = glyphs()
    starving = starving_lines(result.statuses, _LISTED, signs)
    return [
        head,
        [],
        *([*starving, []] if starving else []),
        [("head", plan_sentence(result))],
        *decision_lines(result, top, signs),
        [],
        *refusal_lines(result, _LISTED),
    ]


def _findings(result: Plan) -> list[Line]:
    from evenhand.display.terminal import diagnostic_lines

    return diagnostic_lines(result.diagnostics, _LISTED)
