"""Drawn workloads: the same everywhere, with the hours, tails, users and gangs of their profile."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import synthetic
from evenhand.synthetic import _exact, _workload
from evenhand.synthetic._profiles import PROFILES
from evenhand.synthetic._stream import Stream
from tests.bench import workload_fit
from tests.shared import shared


def same_everywhere(workload: eh.simulate.Workload) -> str:
    text = json.dumps([workload.table().to_dict(), workload.operations().to_dict()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_seed_gives_the_same_workload_everywhere() -> None:
    # A change of this digest changes what users draw: say so in the changelog.
    assert same_everywhere(synthetic.workload(jobs=2000, seed=1)) == DIGEST
    assert same_everywhere(synthetic.workload(jobs=2000, seed=2)) != DIGEST


@given(st.lists(st.floats(-900, 900), min_size=1))
def test_powers_are_exact_to_the_last_bits(x: list[float]) -> None:
    assert _exact.exp2(np.array(x)) == pytest.approx([math.pow(2.0, v) for v in x], rel=1e-15)


@given(st.lists(st.floats(1e-300, 1e300), min_size=1))
def test_logarithms_are_exact_to_the_last_bits(x: list[float]) -> None:
    assert _exact.log2(np.array(x)) == pytest.approx([math.log2(v) for v in x], rel=1e-14, abs=1e-15)


def test_deviates() -> None:
    normal = _exact.normal(Stream(1, "n"), 50_000)
    assert (normal.mean(), normal.std()) == pytest.approx((0, 1), abs=0.02)
    assert (np.abs(normal) < 1.96).mean() == pytest.approx(0.95, abs=0.005)
    waits = _exact.exponential(Stream(1, "e"), 50_000)
    assert (waits.mean(), waits.std()) == pytest.approx((1, 1), abs=0.02)


@given(
    st.integers(1, 300),
    st.integers(1, 40),
    st.floats(0.1, 3),
    st.integers(1, 20),
    st.sampled_from(["sdsc", "ricc"]),
)
def test_any_workload_fits_its_snapshot(jobs: int, nodes: int, load: float, users: int, profile: Any) -> None:
    w = synthetic.workload(jobs=jobs, nodes=nodes, load=load, users=users, profile=profile, seed=jobs)
    t = w.table().to_dict()
    assert len(w) == jobs
    assert t["submit_time"] == sorted(t["submit_time"])
    assert min(t["run_time"]) >= 1
    assert all(run <= limit for run, limit in zip(t["run_time"], t["duration"], strict=True))
    assert max(n * c for n, c in zip(t["count"], t["resources.cpu"], strict=True)) <= nodes * 8
    assert w.parsed(w.snapshot()).rows.request_count == jobs
    assert len(set(w.operations()["user"])) <= users


def test_load_sets_the_clock() -> None:
    for load in (0.5, 1.5):
        w = synthetic.workload(jobs=20_000, load=load, seed=3)
        t = w.table()
        work = float((t["count"] * t["resources.cpu"] * t["run_time"]).sum())
        assert work / (1152 * (w.end - w.begin)) == pytest.approx(load, rel=0.06)


def test_arrivals_follow_hours_and_days() -> None:
    profile = PROFILES["sdsc"]
    week = 7 * 86_400.0
    monday = 4 * 86_400.0  # 1970-01-05
    times = _workload.arrivals(profile, 40_000, 20 * week, monday, seed=1)
    assert (np.diff(times) >= 0).all()
    hour = np.bincount((times // 3600 % 24).astype(int), minlength=24) / len(times) * 24
    assert hour == pytest.approx(profile.hours, abs=0.08)
    day = np.bincount(((times - monday) // 86_400 % 7).astype(int), minlength=7) / len(times) * 7
    assert day == pytest.approx(profile.days, abs=0.08)
    assert times[-1] - monday == pytest.approx(20 * week, rel=0.03)


def test_users_come_by_a_power_law_and_in_sessions() -> None:
    w = synthetic.workload(jobs=30_000, profile="ricc", users=50, seed=5)
    c = workload_fit.columns(w)
    often = np.sort(np.bincount(c["user"]))[::-1]
    assert often[0] > 4 * often[25]
    assert workload_fit.moments(c)["jobs a session"] == pytest.approx(28.4, rel=0.2)


def test_gangs_are_a_choice() -> None:
    w = synthetic.workload(jobs=500, seed=1)
    gang, count = np.array(w.table()["gang"]), np.array(w.table()["count"])
    assert (gang == (count > 1)).all()
    assert gang.any()
    assert not np.any(synthetic.workload(jobs=500, gangs=False, seed=1).table()["gang"])


def test_a_profile_of_ones_own() -> None:
    own = replace(PROFILES["sdsc"], sizes=(1.0,), log_run_by_size=0.0, spread=0.0, longest=1e9, log_run=6.0)
    w = synthetic.workload(jobs=50, profile=own, seed=1)
    assert set(w.table()["run_time"].tolist()) == {64.0}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"jobs": 0}, "jobs is 0; it must be a whole number from 1"),
        ({"nodes": 0}, "nodes is 0; it must be a whole number from 1"),
        ({"load": 0}, "load is above 0"),
        ({"users": 0}, "users is 0; it must be a whole number from 1"),
        ({"groups": 0}, "groups is 0; it must be a whole number from 1"),
        ({"profile": "mira"}, "profile is one of sdsc, ricc"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        synthetic.workload(seed=1, **parameters)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["sdsc", "ricc"])
def test_profiles_are_what_the_script_fits(name: str) -> None:
    path, zone = workload_fit.LOGS[name]
    log = eh.traces.swf(shared(*path.parts[-3:]))
    c = workload_fit.columns(log)
    nodes, total = int(log.notes["MaxNodes"]), int(log.notes["MaxProcs"])
    found = workload_fit.fit(c, (total // nodes, nodes), zone, float(log.notes["UnixStartTime"]))
    for field in fields(found):
        assert getattr(found, field.name) == pytest.approx(getattr(PROFILES[name], field.name), rel=1e-6), (
            field.name
        )


DIGEST = "c1430e5d2b7fcd9a468a2eaa6d5a9a3ca5923a4240f97fc950a7afb20a8fda06"
