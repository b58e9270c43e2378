"""Words of the mechanism: groups, levels, stages, reasons, and why something did not happen."""

from __future__ import annotations

__all__ = [
    "GROUPS",
    "LEVELS",
    "OUTCOMES",
    "REASONS",
    "STAGE_LEVELS",
    "STARVATIONS",
]

#: From the safest to the least safe.
GROUPS = ("non_preemptible", "aggressively_preemptible", "preemptible")

STARVATIONS = ("non_starving", "starving", "aggressively_starving")

#: From low to high; a stage may take its own level and those above.
LEVELS = (
    "ssd_non_preemptible",
    "ssd_aggressively_preemptible",
    "non_preemptible",
    "aggressively_preemptible",
    "preemptible",
)

#: Lowest level that each preemptive stage may take.
STAGE_LEVELS = {
    "ssd_aggressive": "ssd_aggressively_preemptible",
    "ssd_preemptive": "non_preemptible",
    "aggressive": "aggressively_preemptible",
    "preemptive": "preemptible",
    "full_host": "ssd_non_preemptible",
}

#: Why a victim goes, by the stage or pass that takes it.
REASONS = {
    "preemptive": "preemption",
    "aggressive": "aggressive_preemption",
    "ssd_preemptive": "ssd_preemption",
    "ssd_aggressive": "ssd_aggressive_preemption",
    "full_host": "default_gpu_full_host_preemption",
    "graceful": "graceful_preemption",
    "limit_repair": "resource_limits_violated",
    "overcommit": "resource_overcommit",
}

#: Why a request did not start, from the least to the most that was in its favour.
OUTCOMES = (
    "no_heartbeat",
    "unschedulable",
    "node_not_schedulable",
    "wrong_node",
    "wrong_tags",
    "ssd_only",
    "graceful_while_normal",
    "limits_of_operation_or_pool",
    "no_free_room",
    "no_room_even_with_victims",
    "within_fair_share_only",
    "stage_taken",
)
