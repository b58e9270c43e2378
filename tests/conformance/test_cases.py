"""All cases that the library covers give their answers, through the runner that a user calls."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import evenhand as eh
from tests.conformance.__main__ import main
from tests.drawing import examples
from tests.shared import DATA, shared

SAMPLE = DATA / "conformance"
FAIR_SHARE = {"oracle.jsonl.gz": 54, "aborts.jsonl.gz": 11, "unit.json.gz": 88}
WHOLE_FAIR_SHARE = {"oracle.jsonl.gz": 1488, "aborts.jsonl.gz": 11, "unit.json": 88}
PREEMPTION_ENGINES = ["reference", *(["evenhand"] if "plan" in eh.__all__ else [])]
PREEMPTION = {
    "ytsaurus-preemption.json.gz": 82,
    "seeds-ytsaurus.json.gz": 77,
    "seeds-backendai.json.gz": 55,
    "seeds-slurm.json.gz": 2,
    "seeds-pinned.json": 4,
    "ytsaurus-usage-above-demand.json": 3,
}
HISTORY_KINDS = (
    "classic_fair_share",
    "fair_tree",
    "fair_share_usage",
    "fair_share_factor",
    "usage_decay",
    "sharetree",
    "halflife",
)


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Return the exit status and what was printed."""
    status = main([str(a) for a in arguments])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("engine", ["evenhand", "reference"])
@pytest.mark.parametrize(("name", "count"), FAIR_SHARE.items())
def test_sample_of_fair_share(capsys: pytest.CaptureFixture[str], name: str, count: int, engine: str) -> None:
    status, out = run(capsys, SAMPLE / f"ytsaurus-fair-share-{name}", "--engine", engine)
    assert out.splitlines()[-1] == f"{count} passed, 0 failed, 0 not covered", out
    assert status == 0
    assert out.count("tie-dependent ytsaurus_fair_share") == (2 if name.startswith("oracle") else 0)


@pytest.mark.parametrize("engine", PREEMPTION_ENGINES)
@pytest.mark.parametrize(("name", "count"), PREEMPTION.items())
def test_preemption(capsys: pytest.CaptureFixture[str], name: str, count: int, engine: str) -> None:
    status, out = run(capsys, SAMPLE / name, "--engine", engine)
    assert out.splitlines()[-1] == f"{count} passed, 0 failed, 0 not covered", out
    assert status == 0


@pytest.mark.shared
@pytest.mark.parametrize("engine", PREEMPTION_ENGINES)
def test_whole_preemption(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    """The simulations, and the seeds of other policies, are named as not covered."""
    status, out = run(capsys, shared("cases", "ytsaurus-preemption.json"), "--engine", engine)
    assert (status, out.splitlines()[-1]) == (1, "82 passed, 0 failed, 3 not covered"), out
    seeds = shared("cases", "seeds.json")
    status, out = run(capsys, seeds, "--engine", engine, "--kind", "ytsaurus")
    assert (status, out.splitlines()[-1]) == (0, "77 passed, 0 failed, 0 not covered"), out
    status, out = run(capsys, seeds, "--engine", engine, "--kind", "backendai")
    assert (status, out.splitlines()[-1]) == (0, "55 passed, 0 failed, 0 not covered"), out
    status, out = run(capsys, shared("cases", "seeds-pinned.json"), "--engine", engine)
    assert (status, out.splitlines()[-1]) == (0, "4 passed, 0 failed, 0 not covered"), out


def test_sample_of_victims(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, SAMPLE / "priority-backendai.json")
    assert (status, out.splitlines()[-1]) == (0, "16 passed, 0 failed, 0 not covered"), out


def test_slurm(capsys: pytest.CaptureFixture[str]) -> None:
    """What a real controller did, and the examples of its documentation."""
    status, out = run(capsys, SAMPLE / "priority-slurm.json.gz")
    assert out.splitlines()[-1] == "137 passed, 0 failed, 0 not covered", out
    assert status == 0


@pytest.mark.parametrize(
    ("name", "count"),
    {"yunikorn.json.gz": 316, "yunikorn-oracle.jsonl.gz": 145, "seeds-yunikorn.json.gz": 40}.items(),
)
def test_yunikorn(capsys: pytest.CaptureFixture[str], name: str, count: int) -> None:
    """Its unit tests, what its own code answered, and the design page."""
    status, out = run(capsys, SAMPLE / name)
    assert out.splitlines()[-1] == f"{count} passed, 0 failed, 0 not covered", out
    assert status == 0


@pytest.mark.parametrize(
    ("name", "count"),
    {
        "priority-gridengine.json.gz": 21,
        "seeds-gridengine.json.gz": 64,
        "gridengine-minimal.json.gz": 10,
    }.items(),
)
def test_gridengine(capsys: pytest.CaptureFixture[str], name: str, count: int) -> None:
    """Its table of actions, commands by hand, slot-wise suspension, and its document."""
    status, out = run(capsys, SAMPLE / name)
    assert out.splitlines()[-1] == f"{count} passed, 0 failed, 0 not covered", out
    assert status == 0


@pytest.mark.shared
def test_whole_yunikorn(capsys: pytest.CaptureFixture[str]) -> None:
    cases = shared("cases")
    status, out = run(capsys, *(cases / f"yunikorn{rest}" for rest in (".json", "-oracle.jsonl.gz")))
    assert (status, out.splitlines()[-1]) == (0, "1916 passed, 0 failed, 0 not covered"), out
    status, out = run(capsys, cases / "seeds.json", "--kind", "yunikorn")
    assert (status, out.splitlines()[-1]) == (0, "40 passed, 0 failed, 0 not covered"), out


def test_sample_of_history(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, SAMPLE / "priority-history.json")
    assert out.splitlines()[-1] == "9 passed, 0 failed, 0 not covered", out
    assert status == 0


@pytest.mark.shared
@pytest.mark.parametrize(("name", "count"), WHOLE_FAIR_SHARE.items())
def test_whole_fair_share(capsys: pytest.CaptureFixture[str], name: str, count: int) -> None:
    status, out = run(capsys, shared("cases", f"ytsaurus-fair-share-{name}"))
    assert out.splitlines()[-1] == f"{count} passed, 0 failed, 0 not covered", out
    assert status == 0


@pytest.mark.skipif(examples() < 1000, reason="takes 100 seconds: in the profile of many examples")
@pytest.mark.slow
@pytest.mark.shared
def test_reference_gives_the_whole_oracle(capsys: pytest.CaptureFixture[str]) -> None:
    path = shared("cases", "ytsaurus-fair-share-oracle.jsonl.gz")
    status, out = run(capsys, path, "--engine", "reference")
    assert out.splitlines()[-1] == "1488 passed, 0 failed, 0 not covered", out
    assert len(re.findall(r"^tie-dependent .*: agrees$", out, re.MULTILINE)) == 12
    assert status == 0


@pytest.mark.shared
def test_whole_history(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = [argument for kind in HISTORY_KINDS for argument in ("--kind", kind)]
    status, out = run(capsys, shared("cases", "priority.json"), *kinds)
    assert out.splitlines()[-1] == "9 passed, 0 failed, 0 not covered", out
    assert status == 0


@pytest.mark.shared
def test_every_file_is_known(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each case file is told by its content, and kinds without an engine are named and make the run fail."""
    folder = shared("cases")
    for path in sorted(folder.glob("*.json*")):
        status, out = run(capsys, path, "--match", "there is no such name")
        assert (status, out) == (0, "0 passed, 0 failed, 0 not covered\n"), path
    status, out = run(capsys, folder / "priority.json", "--kind", "slotwise", "--match", "simple$")
    assert (status, out.splitlines()[-1]) == (0, "1 passed, 0 failed, 0 not covered")
    unknown = tmp_path / "priority.json"
    cases = json.loads((folder / "priority.json").read_text())
    cases["cases"] = [{**cases["cases"][0], "kind": "of_no_engine", "name": "simple"}]
    unknown.write_text(json.dumps(cases))
    status, out = run(capsys, unknown)
    assert "not covered: simple\n" in out
    assert (status, out.splitlines()[-1]) == (1, "0 passed, 0 failed, 1 not covered")


def test_kind_and_match_restrict(capsys: pytest.CaptureFixture[str]) -> None:
    path = SAMPLE / "ytsaurus-fair-share-oracle.jsonl.gz"
    status, out = run(
        capsys, path, "--engine", "reference", "--kind", "ytsaurus_fair_share.fifo", "--kind", "gang"
    )
    assert (status, out.splitlines()[-1]) == (0, "6 passed, 0 failed, 0 not covered")
    status, out = run(capsys, path, "--engine", "reference", "--match", "^fifo-")
    assert (status, out.splitlines()[-1]) == (0, "3 passed, 0 failed, 0 not covered")


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.json"
    path.write_text("[1, 2]")
    with pytest.raises(SystemExit) as stop:
        main([str(path)])
    assert stop.value.code == 2
    assert "other.json: no known format of cases" in capsys.readouterr().err
