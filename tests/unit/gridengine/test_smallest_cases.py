"""The smallest cases that were once wrong: the readable rules agree, and what is said of each holds."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.gridengine.settings import GridEngineSettings
from tests.conformance.files import read
from tests.properties.gridengine.test_reference import said
from tests.reference.explanations import check_explanations
from tests.reference.gridengine import Run, World, judge
from tests.shared import DATA

CASES = {case["id"]: case for case in read(DATA / "conformance" / "gridengine-minimal.json.gz")["cases"]}


@pytest.mark.parametrize("name", CASES)
def test_rules_and_explanations_of_a_case(name: str) -> None:
    case = CASES[name]
    settings = GridEngineSettings(**case["settings"])
    policy, state, accepted = eh.policies.GridEngine(**case["settings"]), None, dict[str, Any]()
    for step in case["steps"]:
        snapshot, world = eh.Snapshot.from_dict(step["snapshot"]), World(step["snapshot"], settings)
        if step["on"] != "scheduling_run":
            (command,) = step["on"]["commands"]
            state = eh.plan(snapshot, policy, on=eh.Commands((command,))).state
            accepted = dict([judge(world, command)])
            continue
        plan = eh.plan(snapshot, policy, state)
        run = Run(world, accepted)
        assert said(plan) == run.decisions
        assert {r.request: r.rule for r in plan.refusals} == run.rules
        check_explanations(plan)
