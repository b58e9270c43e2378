"""Cases on YTsaurus' preemption: the preset "upstream", kind by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from tests.conformance.case import Case, Checker
from tests.conformance.engines import Engine
from tests.conformance.planners import planner_of
from tests.conformance.ytsaurus import preemption_heartbeats, preemption_updates
from tests.conformance.ytsaurus.preemption_question import Question

KINDS: Mapping[str, Callable[[Question], None]] = {
    "allocation_groups": preemption_updates.allocation_groups,
    "effective_settings": preemption_updates.effective_settings,
    "scheduling_status": preemption_updates.scheduling_status,
    "starvation_timeline": preemption_updates.starvation_timeline,
    "preemption_priority": preemption_updates.preemption_priority,
    "satisfaction": preemption_updates.satisfaction,
    "local_satisfaction": preemption_updates.local_satisfaction,
    "config_validation": preemption_updates.config_validation,
    "config_normalization": preemption_updates.config_normalization,
    "legacy_conditional_preemption": preemption_updates.conditional_preemption,
    "victims": preemption_heartbeats.victims,
    "node_overcommit": preemption_heartbeats.node_overcommit,
    "graceful": preemption_heartbeats.graceful,
    "stage_eligibility": preemption_heartbeats.stage_eligibility,
    "limits_violation": preemption_heartbeats.limits_violation,
    "backoff": preemption_heartbeats.backoff,
}
"""What the library offers; simulations are not covered."""


def recognises(document: Any) -> bool:
    """An object with a version of the schema, default settings and cases."""
    return isinstance(document, dict) and "schema_version" in document and "default_config" in document


def cases(document: dict[str, Any]) -> Iterator[Case]:
    """One case each, by kind."""
    for case in document["cases"]:
        ask = KINDS.get(case["kind"])
        run = partial(check, case, document["default_config"], ask) if ask else None
        yield Case(f"ytsaurus_preemption.{case['kind']}", case["id"], run)


def check(
    case: Mapping[str, Any], defaults: Mapping[str, Any], ask: Callable[[Question], None], engine: Engine
) -> Checker:
    """Ask one case; what an answer does not cover has failed."""
    question = Question(case, defaults, planner_of(engine))
    ask(question)
    for key in case["expect"]:
        if key not in question.answered:
            question.checker.fail("", key, case["expect"][key], None)
    return question.checker
