"""Cases on what the seed documents say: the preset "documented", policy by policy."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import evenhand as eh
from evenhand.systems import SYSTEMS
from tests.conformance.case import Case, Checker
from tests.conformance.engines import Engine
from tests.conformance.planners import Planner, planner_of
from tests.conformance.seed_answers import compare


def recognises(document: Any) -> bool:
    """The object with the format's name."""
    return isinstance(document, dict) and document.get("format") == "evenhand/cases/seeds/1"


def cases(document: dict[str, Any]) -> Iterator[Case]:
    """One case each, by policy."""
    for case in document["cases"]:
        run = partial(check, case) if case["policy"] in SYSTEMS else None
        yield Case(f"seeds.{case['policy']}", case["id"], run)


def check(case: Mapping[str, Any], engine: Engine) -> Checker:
    """Take the steps of a case one after the other and compare each."""
    checker, planner = Checker(), planner_of(engine)
    state: Any = None
    for number, step in enumerate(case["steps"]):
        state = _step(checker, f"step {number}", case, step, planner, state)
    return checker


def _step(
    checker: Checker,
    label: str,
    case: Mapping[str, Any],
    step: Mapping[str, Any],
    planner: Planner,
    state: Any,
) -> Any:
    """Take one step; return the state that it leaves."""
    expected = step["expected"]
    if "call" in step:
        _call(checker, label, step, planner)
        return state
    if "snapshots" in step:
        _several(checker, label, case, step, planner)
        return state
    try:
        snapshot = eh.Snapshot.from_dict(step["snapshot"])
        answer = planner.plan(
            *(case["policy"], case["preset"], case["settings"], snapshot),
            *(state, _trigger(step["on"]), step.get("given")),
        )
    except eh.InputError as error:
        _compare_error(checker, label, expected.get("error"), error)
        return state
    if "error" in expected:
        checker.fail(label, "error", expected["error"], None)
    asked = step["on"].get("commands", ()) if isinstance(step["on"], Mapping) else ()
    listed = {k: v for k, v in expected.items() if k != "error"}
    compare(checker, label, listed, answer, {**step["snapshot"], "commands": asked})
    return answer.state


def _call(checker: Checker, label: str, step: Mapping[str, Any], planner: Planner) -> None:
    ((name, arguments),) = step["call"].items()
    expected = step["expected"]
    try:
        call = planner.calls[name]
        got = call(**arguments) if isinstance(arguments, Mapping) else call(arguments)
    except eh.InputError as error:
        _compare_error(checker, label, expected.get("error"), error)
        return
    wanted = expected.get("returns")
    for key, value in wanted.items() if isinstance(wanted, Mapping) else ():
        checker.equal(label, key, value, got.get(key))
    if not isinstance(wanted, Mapping):
        checker.equal(label, "returns", wanted, got)


def _several(
    checker: Checker, label: str, case: Mapping[str, Any], step: Mapping[str, Any], planner: Planner
) -> None:
    own = case.get("settings_for", {})
    snapshots = _nodes_apart(step["snapshots"])
    answers = planner.plan_all(
        *(case["policy"], case["preset"]),
        {name: {**case["settings"], **own.get(name, {})} for name in step["snapshots"]},
        {name: eh.Snapshot.from_dict(snapshot) for name, snapshot in snapshots.items()},
        _trigger(step["on"]),
    )
    for name, expected in step["expected"].items():
        if name not in answers:
            checker.fail(label, name, expected, None)
        else:
            compare(checker, f"{label} {name}", expected, answers[name], snapshots[name])


def _nodes_apart(snapshots: Mapping[str, Any]) -> dict[str, Any]:
    """Return snapshots whose nodes have names of their own.

    A node is in one snapshot of a mapping, or the mapping is refused. B6-a calls the only node of each of
    its groups n1; no answer of it names a node.
    """
    counts = Counter(node["name"] for one in snapshots.values() for node in one.get("nodes", ()))
    shared = {name for name, count in counts.items() if count > 1}
    apart = copy.deepcopy(dict(snapshots))
    for group, one in apart.items():
        for table, field in (("nodes", "name"), ("allocations", "node"), ("requests", "required_node")):
            for row in one.get(table, ()):
                if row.get(field) in shared:
                    row[field] = f"{group}/{row[field]}"
    return apart


def _trigger(on: Any) -> Any:
    if on == "round":
        return eh.Round()
    if on == "scheduling_run":
        return eh.SchedulingRun()
    ((kind, value),) = on.items()
    if kind == "commands":
        return eh.Commands(value)
    if kind == "cycle":
        return eh.Cycle(value)
    if kind == "heartbeat":
        return eh.Heartbeat(value)
    raise NotImplementedError(f"trigger {kind}")


def _compare_error(checker: Checker, label: str, expected: Any, error: eh.InputError) -> None:
    if expected is None:
        checker.fail(label, "error", None, str(error))
        return
    checker.compared += 1
    if not any(all(getattr(p, key, None) == v for key, v in expected.items()) for p in error.problems):
        checker.fail(label, "error", expected, str(error))
