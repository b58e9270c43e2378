"""Diagnostics: what a result says about its input, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.errors import printable
from evenhand.frozen import freeze, thaw

__all__ = ["CODES", "Diagnostic"]

CODES: Mapping[str, str] = {
    "pool_tree_guarantees_overcommit": (
        "Strong guarantees together with flows (kind strong_plus_flow) or bursts (strong_plus_burst) of"
        " integral pools exceed the cluster. In the second case guarantees and bursts are scaled down by"
        " one factor."
    ),
    "nested_promised_guarantee_fair_share_pools": (
        "Pools below another one that computes the promised guarantee ask for it too; theirs is not computed."
    ),
    "priority_strong_guarantee_adjustment_pools_without_donor": (
        "Pools have a priority strong guarantee, but no pool above them donates; they count as regular."
    ),
    "state_pool_left": "The state holds a pool that is not in the snapshot; what it held is dropped.",
    "state_element_left": (
        "The state holds pools or operations that are not in the snapshot; their waiting times are dropped."
    ),
    "state_node_left": "The state holds nodes that are not in the snapshot; their clocks are dropped.",
    "state_settings_changed": (
        "The state was left by an update with other settings; volumes and clocks are taken over, the rest"
        " is computed anew."
    ),
    "minimum_budget_spent": (
        "The search for the fewest victims ran out of its budget. The best set that it had found stands, and"
        " costs no more than the irreducible one; `numbers.minimum` of its decisions has the bound that is"
        " known. Of the steps concerned, `size_proved` have as few as can be, if not the first such set in"
        " the order."
    ),
    "victim_cost_limit": (
        "Victims cost so much lost work that it is counted as 10^13 node-seconds each; whether others would"
        " cost less is open."
    ),
    "no_costs_given": (
        'Victims are to cost what their rows say (`victim_cost` "given"), but no operation has a'
        " `preemption_cost`; each costs 1."
    ),
    "costs_not_read": (
        'Operations have a `preemption_cost`, which counts only with `victim_selection` "minimum" and'
        ' `victim_cost` "given".'
    ),
    "main_resource_absent": (
        "The main resource is not among the snapshot's resources, so no missing guarantee is implied."
    ),
    "slurm_share_unknown": (
        "The fair share factor counts, but the settings' `shares` have no row of the account and user of some"
        " jobs; their factor is 0."
    ),
    "starts_preemptible": (
        "What is started may be preempted as soon as it runs, so that operations can preempt each other in"
        " turns; the message names the setting that ends that."
    ),
    "optuna_missing": (
        "Optuna, which would propose points that learn from those before, is not installed; they were drawn"
        " at random."
    ),
    "preemption_loop": (
        "Jobs lost all of their work three times in a day or less, while nothing of it was finished or saved:"
        " what they used was of no use to them, whoever got it."
    ),
    "single_allocations_stay": (
        "Operations of one allocation have more than their fair share. One allocation is not preemptible as"
        " a whole, so what is below its share waits for its end."
    ),
    "machine_unknown": (
        "Logical nodes name a machine that is not a node, so whether they exceed it together cannot be"
        " checked."
    ),
    "slurm_room_contested": (
        "Slurm ties the room that victims leave to no job: one that is tried first, or counts on the same"
        " room, may start there."
    ),
    "slurm_choice_not_used": (
        "Where partitions are gang scheduled, jobs that share cpus are suspended in Slurm's own order, and"
        " settings that choose victims play no part in that, or none at all."
    ),
    "slurm_left_out": "Slurm has jobs that wait and ask for nothing in the snapshot.",
    "slurm_assumed": "Slurm's texts lack something that its rules need; this is assumed.",
    "slurm_not_read": "Slurm's configuration has settings that do not affect plans.",
    "preemption_request_accepted": (
        "A request for preemption is accepted; the next scheduling run carries it out, if it is needed then."
    ),
    "yunikorn_field_unknown": "YuniKorn's answers have fields that are not known here and were not read.",
    "yunikorn_left_out": "YuniKorn's answers have rows that are not in the snapshot.",
    "yunikorn_assumed": "YuniKorn's answers lack something that its rules need; this is assumed.",
    "yunikorn_sums_differ": (
        "Amounts in use are not what allocations add up to: answers came one after the other, or an"
        " application is missing; the allocations count."
    ),
    "yunikorn_differs": (
        "The configuration differs from the queues that YuniKorn has; what is configured counts."
    ),
    "yunikorn_not_read": "The configuration has settings that do not affect plans, or that YuniKorn ignores.",
    "gridengine_left_out": "Grid Engine has jobs that are not in the snapshot.",
    "gridengine_assumed": "Grid Engine's texts lack something that its rules need; this is assumed.",
    "gridengine_not_read": "Grid Engine's configuration has settings that do not affect plans.",
    "now_in_milliseconds": (
        "The instant of the snapshot is in milliseconds, or in the year 5138 or later; times are seconds."
    ),
    "start_time_after_now": "Allocations start after the instant of the snapshot; they count as the newest.",
    "request_without_resources": "Requests ask for nothing, so that they fit on every node.",
    "node_overfull": (
        "Allocations use more than their node has, without those that are leaving; nothing fits there before"
        " what is too much has left."
    ),
    "guarantee_above_pool": (
        "Strong guarantees of pools add up to more than that of the pool above them; it bounds what they get."
    ),
    "queue_guarantees_overcommit": (
        "Guarantees of queues add up to more than the queue above them is guaranteed or may have, or than the"
        " cluster has; not all of them can be met."
    ),
    "gang_in_part": (
        "Of gangs a part runs and the rest waits: fair shares count a gang as a whole, its allocations start"
        " and leave one by one."
    ),
    "state_of_another_system": (
        "The state was left by plans of another system; what this system does not remember is dropped."
    ),
    "setting_in_milliseconds": (
        "Durations among the settings are whole thousands of seconds, as YTsaurus' own configuration has"
        " milliseconds; settings are seconds."
    ),
    "ytsaurus_not_read": "A pool tree's configuration has keys that do not affect plans.",
    "never_fits": (
        "Requests can never start, whatever else runs: they need more than any node has on which they may"
        " run, more at once than all nodes have, or more than a limit above them admits."
    ),
    "fields_not_read": "Rows have values that do not affect the plan.",
    "settings_not_read": "The policy has settings other than the defaults that do not affect the plan.",
}
"""Code of a diagnostic to what it means. A code never changes its meaning."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about the input of a result.

    Attributes
    ----------
    code : str
        One of `CODES`.
    elements : tuple
        Names of the pools or operations concerned.
    message : str
        A sentence with the names and numbers.
    numbers : dict
        The values that were compared.
    """

    code: str
    elements: tuple[str | int, ...]
    message: str
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", freeze(self.numbers))
        object.__setattr__(self, "message", printable(self.message))

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostic as plain values."""
        return {
            "code": self.code,
            "elements": list(self.elements),
            "message": self.message,
            "numbers": thaw(self.numbers),
        }
