"""What the command line prints is what Python says, whatever the cluster, the system and the options."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cli import main
from evenhand.plans.triggers import trigger_of
from evenhand.systems import SYSTEMS
from evenhand.testing import strategies as es
from tests.drawing import examples

WORDS = {
    "ytsaurus": ("round",),
    "backendai": ("run",),
    "slurm": ("run", "run:main", "run:backfill"),
    "yunikorn": ("cycle:preemption", "cycle:allocation", "cycle:quota", "cycle:both"),
    "gridengine": ("run", "commands"),
}


def said(*words: object) -> Any:
    """What a call prints as JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([str(word) for word in words]) == 0
    return json.loads(out.getvalue())


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str, dict[str, Any], str | None, str | None]:
    system = draw(st.sampled_from([*SYSTEMS]))
    preset = draw(st.sampled_from(SYSTEMS[system].presets))
    cluster = draw(es.system_cluster_dicts(system))
    on = draw(st.sampled_from([None, *WORDS[system]]))
    waited = draw(st.sampled_from([None, "0", "90", "10m", "1d"]))
    return system, preset, cluster, on, waited


@settings(max_examples=examples(0.3))
@given(calls())
def test_plans_are_those_of_python(
    tmp_path_factory: Any, drawn: tuple[str, str, dict[str, Any], str | None, str | None]
) -> None:
    system, preset, cluster, on, waited = drawn
    folder: Path = tmp_path_factory.mktemp("call")
    file, saved, state = folder / "cluster.json", folder / "plan.json.gz", folder / "state.json"
    file.write_text(json.dumps(cluster))
    snapshot = eh.Snapshot.from_json(file)
    policy = SYSTEMS[system].policy(preset)
    trigger = None if on is None else trigger_of(on, snapshot, SYSTEMS[system])
    lasting: Any = float(waited) if waited is not None and waited.isdigit() else waited
    plan = eh.plan(snapshot, policy, on=trigger, as_if_waiting=lasting)
    options = ["--policy", f"{system}:{preset}", *(["--on", on] if on else [])]
    waiting = ["--as-if-waiting", waited] if waited else []
    form = ["--format", "json"]
    printed = said("plan", file, *options, *waiting, *form, "--save", saved, "--state", state)
    assert printed == as_json(plan.to_dict())
    assert eh.State.load(state) == plan.state
    assert eh.Plan.load(saved) == plan
    names = [*snapshot.names("requests")[:2], *snapshot.names("allocations")[:2]]
    for name in (name for name in names if isinstance(name, str) and not name.startswith("-")):
        expected = as_json(plan.why(name).to_dict())
        assert said("explain", file, name, *options, *waiting, *form) == expected
        assert said("explain", saved, name, *form) == expected
    fresh = eh.plan(snapshot, policy, on=trigger)
    assert said("diff", saved, file, *options, *form) == as_json(plan.diff(fresh).to_dict())
    if SYSTEMS[system].shares:
        assert said("shares", file, *form) == as_json(eh.fair_share(snapshot).to_dict())
