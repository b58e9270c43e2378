"""The toy's record."""

from __future__ import annotations

from evenhand.config.triggers import SchedulingRun
from evenhand.systems.reason import Reason
from evenhand.systems.record import Column, System

__all__ = ["TOY"]

TOY = System(
    word="toy",
    title="Toy",
    policy_at="tests.unit.systems.toy.policy:Toy",
    triggers=(SchedulingRun,),
    reads={
        "nodes": {"capacity": "the room"},
        "operations": {"priority": "which jobs may preempt which"},
        "allocations": {
            "operation": "whose it is",
            "node": "where its room is",
            "resources": "what it gives back",
            "start_time": "the newest leaves",
            "state": "only running ones leave",
        },
        "requests": {"operation": "which operation asks", "resources": "what it needs"},
    },
    only_if={("operations", "priority"): lambda settings: settings.preempts},
    reasons=(
        Reason(
            "newest_leaves",
            "victim",
            "{allocation} of operation {operation} leaves {node}: {lacking} for request {request} of"
            " {beneficiary}",
            "The newest of a less urgent operation leaves.",
            "Toy",
        ),
        Reason(
            "node_rests",
            "request",
            "{node} was cleared too recently",
            "Between two victims on a node `rest` must pass.",
            "Toy",
        ),
    ),
    memory=(Column("nodes", "last_cleared"),),
    settings_at=("tests.unit.systems.toy.policy:ToySettings",),
)
