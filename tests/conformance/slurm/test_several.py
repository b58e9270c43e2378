"""Several jobs that wait at once: what a real controller did, and where a simulation differs."""

from __future__ import annotations

from collections import defaultdict

from tests.conformance import files
from tests.conformance.__main__ import run
from tests.conformance.engines import ENGINES
from tests.shared import DATA

ONE_BY_ONE = "victims end one by one: the job starts as soon as enough nodes are clear, on other nodes"
#: Kind and case of every difference, and the rule behind it.
DIFFERS = {
    ("live_several.sets", "live_several_part_48"): ONE_BY_ONE,
    ("live_several.nodes", "live_several_part_48"): ONE_BY_ONE,
    ("live_several.beneficiaries", "live_several_part_48"): ONE_BY_ONE,
    ("live_several.nodes", "live_several_backfill_first_20"): ONE_BY_ONE,
}
BINDING = {
    "live_several.first_pass": 131,
    "live_several.sets": 124,
    "live_several.nodes": 122,
    "live_several.beneficiaries": 96,
}


def test_passes_of_the_newest_release_do_what_its_controller_did() -> None:
    document = files.read(DATA / "conformance" / "live-several-2605.json.gz")
    cases = list(files.cases(document))
    assert [case.kind for case in cases] == ["live_several.first_pass"] * 140
    assert [case.name for case in cases if run(case, ENGINES["evenhand"]).mismatches] == []


def test_simulated_passes_do_what_the_controller_did_but_for_known_differences() -> None:
    document = files.read(DATA / "conformance" / "live-several.json.gz")
    counted: dict[str, int] = defaultdict(int)
    missed = set()
    for case in files.cases(document):
        counted[case.kind] += 1
        if run(case, ENGINES["evenhand"]).mismatches:
            missed.add((case.kind, case.name))
    assert dict(counted) == BINDING
    assert missed == set(DIFFERS)
