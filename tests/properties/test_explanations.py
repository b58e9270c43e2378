"""No drawn plan explains anything falsely: every code and sentence is evaluated anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.reasons import TABLE
from evenhand.testing.explanations import falsehoods
from evenhand.testing.explanations.registry import CHECKS
from evenhand.testing.explanations.table import load
from tests.properties.explaining import SYSTEMS, plans

#: What is known to be false of some plans: system, table and code. A row goes with its mistake.
KNOWN = {
    ("ytsaurus", "requests", "no_room_even_with_victims"): "a refusal counts groups that nothing cut",
    ("ytsaurus", "requests", "victims_spared"): "as above, where the pace spares some",
    ("slurm", "requests", "no_room_even_with_victims"): "the amounts are those without victims",
    ("slurm", "requests", "wrong_tags"): "said of all requests of a job of which one lacks a node",
    ("slurm", "requests", "node_outside_partition"): "as above",
    ("slurm", "requests", "node_not_schedulable"): "as above",
    ("slurm", "requests", "behind_first_waiting"): "said where no other job waits for the nodes",
    ("slurm", "allocations", "no_start_in_stage"): "said where another turn of the job took victims",
    ("slurm", "allocations", "tier_not_lower"): "tiers of the first of several partitions",
    ("slurm", "allocations", "off_chosen_nodes"): "said on chosen nodes where the fewest are taken",
    ("slurm", "allocations", "frees_nothing_useful"): "said where the node is taken by others first",
    ("yunikorn", "requests", "no_room_even_with_victims"): "nothing is said to be missing",
    ("yunikorn", "requests", "not_considered"): "said where victims are taken for it",
    ("yunikorn", "requests", "cycle_full"): "said of a cycle in which nothing was decided",
    ("yunikorn", "allocations", "no_start_in_stage"): "said where another attempt took victims",
    ("yunikorn", "allocations", "not_a_candidate"): "said of the queue that asks",
    ("gridengine", "requests", "no_free_room"): "nothing is said to be missing of the units before the last",
    ("gridengine", "requests", "no_room_even_with_victims"): "as above",
    ("gridengine", "requests", "waits_for_reservation"): "in a few plans other amounts than free room lacks",
    ("gridengine", "allocations", "no_free_room"): "nothing is said to be missing",
    ("gridengine", "allocations", "spared_fits_without"): "in a few plans nothing leaves for the request",
    ("gridengine", "allocations", "max_preemptees"): "in a few plans fewer are preempted than may be",
    ("gridengine", "requests", "max_preemptees"): "as above",
}

#: Codes that have no check, as nothing explains with them: stages and what a check of a plan finds.
_UNEXPLAINED = ("stage", "check")


@pytest.mark.parametrize("system", SYSTEMS)
@given(data=st.data())
def test_no_explanation_is_false(system: str, data: st.DataObject) -> None:
    """What is decided, what waits, what is spared, how elements and nodes stand; but for what is known."""
    found = falsehoods(data.draw(plans(system)))
    assert not [str(one) for one in found if (system, one.table, one.code) not in KNOWN]


def test_every_code_has_a_check() -> None:
    """A new code cannot go unchecked; those of one system may have a check of that system only."""
    load()
    checked = {(kind, code) for kind, code, _ in CHECKS}
    assert not sorted(
        (row.kind, row.code)
        for row in TABLE
        if row.kind not in _UNEXPLAINED and (row.kind, row.code) not in checked
    )
