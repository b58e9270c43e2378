"""The page on what sentences promise names every clause that concludes, and nothing else."""

from __future__ import annotations

import re

import pytest

from evenhand.systems import SYSTEMS
from tests.packaging.layers import ROOT
from tests.properties.conclusions.case import REGISTERED

PAGE = (ROOT / "docs" / "concepts" / "what-a-sentence-promises.md").read_text("utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| system", "| ---"))
]
PROMISES = {(system, kind, code): promise for system, kind, code, promise, _ in ROWS}
#: Words of what is not, but would be.
CONCLUDES = re.compile(r"\b(would|might|fits once|[Nn]othing else)\b")
#: Kinds of clauses that are said in letters, of what is said elsewhere or of modes.
LETTERS = ("letter", "rule", "fate")
#: Where the tests try what parts of sentences conclude, and by which codes.
TRIED_AT = {
    ("backendai", "part", "fate"): ("allocations", "lower_priority"),
    ("slurm", "part", "with_lower"): ("allocations", "tier_not_lower"),
    ("slurm", "part", "with_higher"): ("allocations", "higher_partition_tier"),
    ("gridengine", "part", "distance"): ("allocations", "automatic_preemption"),
    ("ytsaurus", "allocation", "taken"): ("allocations", "preemption"),
    ("yunikorn", "allocation", "taken"): ("allocations", "higher_priority_in_queue"),
}


def test_each_is_named_once() -> None:
    assert len(PROMISES) == len(ROWS)
    assert set(PROMISES.values()) == {"exact", "fact", "replanned"}
    assert all(row[-1].endswith(".") for row in ROWS)


@pytest.mark.parametrize("word", SYSTEMS)
def test_every_clause_that_concludes_is_on_the_page(word: str) -> None:
    says = SYSTEMS[word].says
    concluding = {
        (word, kind, code)
        for (kind, code), clauses in says.items()
        if kind not in LETTERS and any(CONCLUDES.search(clause.sentence) for clause in clauses)
    }
    named = {row for row in PROMISES if row[0] == word}
    assert concluding <= named
    assert {row[1:] for row in named} <= set(says)


@pytest.mark.parametrize("row", [row for row, promise in PROMISES.items() if promise == "replanned"])
def test_what_is_replanned_is_tried_by_the_tests(row: tuple[str, str, str]) -> None:
    system, kind, code = row
    table = "requests" if kind == "request" else "allocations"
    assert (system, *TRIED_AT.get(row, (table, code))) in REGISTERED
