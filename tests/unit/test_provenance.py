"""Every result tells by which build, policy and seed it was made, and of what."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.systems import SYSTEMS
from tests.packaging.layers import ROOT

WORK = eh.simulate.Workload(
    {"name": ["a", "b"], "pool": ["x", "y"], "resources.cpu": [4, 2], "submit_time": [0, 5]}
    | {"run_time": [60, 30]}
)
START = WORK.snapshot(nodes=1, cpu=4)
BUILD = eh._core.build_info()["commit"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_plan_and_a_run_tell_all_of_it(system: str) -> None:
    policy = SYSTEMS[system].policy("upstream")
    plan, result = eh.plan(START, policy), eh.simulate(START, policy, WORK, rng=3)
    same = {"evenhand": eh.__version__, "commit": BUILD, "system": system, "preset": "upstream"}
    for made in (plan.provenance, result.provenance):
        assert {name: made[name] for name in same} == same
    assert plan.provenance["snapshot"] == START.fingerprint
    assert (result.provenance["workload"], result.provenance["seed"]) == (WORK.fingerprint, 3)
    assert json.loads(plan.to_json())["provenance"] == plan.provenance
    metrics = eh.simulate.measure(result)
    tables = [result.allocations, result.operations, result.decisions, result.series, metrics.table()]
    assert all(table.provenance == result.provenance for table in tables)
    assert plan.table().provenance == plan.provenance


@pytest.mark.parametrize("system", SYSTEMS)
def test_files_tell_it(system: str, tmp_path: Path) -> None:
    """State, plan, cluster and run; what is remembered is the same whoever wrote it down."""
    policy = SYSTEMS[system].policy("upstream")
    plan, run = eh.plan(START, policy), eh.simulate.Simulation(START, policy, WORK, rng=3)
    made = {key: plan.provenance[key] for key in ("evenhand", "commit", "system", "preset", "settings")}
    files = {name: tmp_path / name for name in ("state", "plan", "cluster", "run")}
    plan.state.save(files["state"])
    plan.save(files["plan"])
    eh.Cluster(START, policy).save(files["cluster"])
    run.save(files["run"])
    with files["run"].open("rb") as file:
        _, line = file.readline(), file.readline()
    assert json.loads(files["state"].read_text())["provenance"] == made
    assert json.loads(files["plan"].read_text())["provenance"] == plan.provenance
    assert json.loads(files["cluster"].read_text())["provenance"] == plan.provenance
    assert json.loads(line) == eh.simulate(START, policy, WORK, rng=3).provenance
    state = eh.State.load(files["state"])
    assert (state, state.provenance) == (plan.state, made)
    assert eh.State.from_dict(plan.state.to_dict()) == plan.state
    assert eh.Plan.load(files["plan"]) == plan
    assert eh.Cluster.load(files["cluster"]).plan() == eh.Cluster(START, policy).plan()


def test_shares_and_clusters_without_a_policy_tell_it_in_files(tmp_path: Path) -> None:
    shares, file = eh.fair_share(START), tmp_path / "file"
    shares.state.save(file)
    made = {"evenhand": eh.__version__, "commit": BUILD}
    assert json.loads(file.read_text())["provenance"] == made | {"settings": shares.state.settings}
    eh.Cluster(START).save(file)
    assert json.loads(file.read_text())["provenance"] == made | {"snapshot": START.fingerprint}


def test_files_without_it_are_read(tmp_path: Path) -> None:
    """As versions before wrote them; and their bytes are the same whenever they are written."""
    policy = eh.policies.YTsaurus()
    file, again = tmp_path / "file", tmp_path / "again"
    state = eh.plan(START, policy).state
    state.save(file)
    eh.State.load(file).save(again)
    assert again.read_bytes() == file.read_bytes()
    data = json.loads(file.read_text())
    file.write_text(json.dumps({key: data[key] for key in data if key not in ("provenance", "digest")}))
    assert (eh.State.load(file), eh.State.load(file).provenance) == (state, {})
    eh.State.load(file).save(again)
    assert "provenance" not in json.loads(again.read_text())
    cluster = eh.Cluster(START, policy)
    cluster.save(file)
    cluster.save(again)
    assert again.read_bytes() == file.read_bytes()
    data = json.loads(file.read_text())
    del data["provenance"]
    file.write_text(json.dumps(data))
    assert eh.Cluster.load(file).plan() == cluster.plan()
    run = eh.simulate.Simulation(START, policy, WORK)
    run.save(file)
    head, _, body = file.read_bytes().split(b"\n", 2)
    version = head.split(b" ")[2]
    file.write_bytes(b"evenhand simulation %s %d %s\n" % (version, len(body), sha256(body)) + body)
    assert eh.simulate.Simulation.load(file).now == run.now


def sha256(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


@pytest.mark.parametrize("wrong", [3, [], "x", None])
def test_a_provenance_is_an_object(wrong: Any) -> None:
    with pytest.raises(eh.InputError, match="provenance is an object"):
        eh.State.from_dict({"schema": "evenhand/state/1", "time": 0, "provenance": wrong})


def test_another_setting_snapshot_or_seed_tells_otherwise() -> None:
    policy = eh.policies.YTsaurus()
    first = eh.simulate(START, policy, WORK).provenance
    assert first["seed"] is None
    other = policy.replace(fair_share_starvation_timeout="1m")
    assert eh.simulate(START, other, WORK).provenance["settings"] != first["settings"]
    more = WORK.snapshot(nodes=2, cpu=4)
    assert eh.simulate(more, policy, WORK).provenance["snapshot"] != first["snapshot"]
    fewer = WORK.slice(0, 3)
    assert eh.simulate(START, policy, fewer).provenance["workload"] != first["workload"]


def test_shares_and_sweeps_tell_it() -> None:
    shares = eh.fair_share(START)
    assert shares.to_dict()["provenance"] == shares.provenance == shares.table().provenance
    assert shares.provenance["snapshot"] == START.fingerprint
    policy, space = eh.policies.YTsaurus(), {"fair_share_starvation_timeout": [5, 60]}
    swept = eh.sweep(START, policy, WORK, space, seed=4).provenance
    assert (swept["system"], swept["workload"], swept["seed"]) == ("ytsaurus", WORK.fingerprint, 4)
    assert "workload" not in eh.sweep(START, policy, space=space).provenance


def test_frames_carry_it() -> None:
    table = eh.plan(START, eh.policies.YTsaurus()).table()
    assert pickle.loads(pickle.dumps(table)).provenance == table.provenance
    assert eh.Table({"a": [1]}).provenance == {}
    pandas = pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.attrs["evenhand"] == table.provenance
    pytest.importorskip("pyarrow")
    metadata: Any = table.to_arrow().schema.metadata
    assert json.loads(metadata[b"evenhand"]) == table.provenance
    assert not eh.Table({"a": [1]}).to_arrow().schema.metadata


def test_versions_name_the_commit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["versions"]) == 0
    assert f"commit      {BUILD}" in capsys.readouterr().out


def test_the_citation_has_the_version() -> None:
    assert f"\nversion: {eh.__version__}\n" in (ROOT / "CITATION.cff").read_text()
