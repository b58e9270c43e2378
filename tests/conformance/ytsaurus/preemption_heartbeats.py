"""Kinds about heartbeats: victims, stages, repairs, the back-off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import evenhand as eh
from tests.conformance.planners import Answer
from tests.conformance.ytsaurus.fair_share_input import RESOURCES
from tests.conformance.ytsaurus.preemption_input import NOW, SSD, Scene, given_shares, given_starvation, runs
from tests.conformance.ytsaurus.preemption_question import PRESET, Question, preempted
from tests.conformance.ytsaurus.preemption_updates import groups_by_operation

STAGES = {
    "normal": "preemptive",
    "aggressive": "aggressive",
    "ssd_normal": "ssd_preemptive",
    "ssd_aggressive": "ssd_aggressive",
    "default_gpu_full_host": "full_host",
}
"""Names of stages here, by the names of the format."""

NODE = "node0"
FAR_APART = 10_000.0
"""Seconds between rounds: longer than any back-off."""


def _groups(question: Question) -> dict[str, str]:
    return {a["id"]: a["given_group"] for a in question.case["node"]["running"] if "given_group" in a}


def _scene(question: Question, **node: Any) -> Scene:
    """Return the case's node and what runs there."""
    scene = Scene(question.case)
    described = question.case["node"]
    scene.node(NODE, described.get("resource_limits", {}), **node)
    scene.on_node(NODE, described["running"])
    return scene


def _survivors(question: Question, answer: Answer) -> list[str]:
    gone = preempted(answer)
    return [a["id"] for a in question.case["node"]["running"] if a["id"] not in gone]


def victims(question: Question) -> None:
    """Run one stage for one candidate: a heartbeat in which nobody else wants anything.

    Before any stage the heartbeat would ask preemptible work of graceful operations to leave. There the
    case is asked one group and one stage higher up, where only the stage could take that work.
    """
    case, action = question.case, question.action
    stage = STAGES[action["stage"]]
    groups, starvation = _groups(question), given_starvation(case)
    graceful_ones = {o["id"] for o in case["operations"] if o.get("preemption_mode") == "graceful"}
    for allocation in case["node"]["running"]:
        if allocation["operation"] in graceful_ones and stage == "preemptive":
            groups[allocation["id"]] = "aggressively_preemptible"
            starvation[action["candidate"]] = "aggressively_starving"
            stage = "aggressive"
    scene = _scene(question)
    for operation in case["operations"]:
        if operation.get("pending_allocations"):
            fields = {} if operation.get("schedulable_on_node", True) else {"node_tags": ["elsewhere"]}
            count = operation["pending_allocations"]
            scene.request(operation["id"], operation["min_needed"], count, **fields)
    given = {
        "groups": groups,
        "starvation": starvation,
        "fair_share": given_shares(case),
    }
    answer = question.plan(scene, on=eh.Heartbeat(NODE), given=given)
    of_stage = [d for d in answer.decisions() if d["stage"] in ("regular", stage)]
    starts = [d for d in of_stage if d["action"] == "start" and d["operation"] == action["candidate"]]
    question.equal("scheduled", bool(starts))
    taken = [d for d in of_stage if d["action"] == "preempt"]
    question.equal("victims", [d["allocation"] for d in taken])
    question.reason(taken)
    question.same_set("survivors", _survivors(question, answer))
    groups_by_operation(question)


def node_overcommit(question: Question) -> None:
    """Let a node report that has been over its own resources for some time."""
    scene = _scene(question, overcommitted_since=NOW - question.case["node"]["overcommitted_for_s"])
    answer = question.plan(scene, on=eh.Heartbeat(NODE), given={"groups": _groups(question)})
    question.answered.add("victims_order_matters")
    if question.expect["victims_order_matters"]:
        question.equal("victims", preempted(answer))
    else:
        question.same_set("victims", preempted(answer))
    question.same_set("survivors", _survivors(question, answer))
    question.reason(answer.decisions("preempt"))


def graceful(question: Question) -> None:
    """Let a node report on which a graceful operation runs."""
    answer = question.plan(_scene(question), on=eh.Heartbeat(NODE), given={"groups": _groups(question)})
    question.same_set("victims", preempted(answer))
    question.reason(answer.decisions("preempt"))
    for decision in answer.decisions("preempt"):
        question.equal("timeout_s", decision["grace"], decision["allocation"])


def stage_eligibility(question: Question) -> None:
    """Tell what each stage may take, or the table of stages."""
    if question.action["type"] == "stage_table":
        _stage_table(question)
        return
    running = question.case["node"]["running"]
    for name in question.expect:
        # A candidate that needs all that may be taken gets it; one that needs more gets nothing.
        found: list[str] | str = []
        for need in range(1, len(running) + 1):
            answer = _one_candidate(question, name, need)
            if not answer.decisions("start"):
                break
            found = preempted(answer)
        question.same_set(name, found)


def _one_candidate(question: Question, stage: str, need: int) -> Answer:
    """Plan for one candidate of a stage on a node that is full of allocations of one core each."""
    count = len(question.case["node"]["running"])
    ssd = stage.startswith("ssd")
    scene = _scene(question, tags=[SSD])
    scene.nodes[0]["capacity"] = {"cpu": count}
    scene.total = {r: count if r == "cpu" else 0 for r in RESOURCES}
    scene.operation("candidate")["settings"] = {"disk_media": [SSD]} if ssd else {}
    scene.request("candidate", {"cpu": need})
    state = "aggressively_starving" if stage.endswith("aggressive") else "starving"
    given = {"groups": _groups(question), "starvation": {"candidate": state}}
    return question.plan(scene, on=eh.Heartbeat(NODE), given=given)


def _stage_table(question: Question) -> None:
    names = {ours: theirs for theirs, ours in STAGES.items()}

    def table(ssd: bool, **changes: Any) -> list[list[str]]:
        settings = {**question.settings, **changes}
        pairs = question.planner.stages(PRESET, settings, ssd)
        return [[names[stage], level] for stage, level in pairs]

    plain = table(False)
    question.equal("level_order_low_to_high", list(question.planner.levels()))
    question.equal("stages_ssd_node", table(True))
    question.equal("stages_plain_node", plain)
    extra = [
        row for row in table(False, default_gpu_full_host_preemption={"enable": True}) if row not in plain
    ]
    question.equal("extra_stage_if_enabled", extra[0])
    question.equal("always_analyzed_even_without_candidates", _always_analysed(question))


def _always_analysed(question: Question) -> list[str]:
    """Return the stages that repair limits although nobody may preempt: those that then take something."""
    found = []
    for level, stage in (("preemptible", "normal"), ("aggressively_preemptible", "aggressive")):
        scene = Scene(question.case)
        scene.node(NODE, {"cpu": 1})
        scene.total = {r: 1 if r == "cpu" else 0 for r in RESOURCES}
        scene.operation("over")["limits"] = {"cpu": 0}
        scene.allocation("a", "over", {"cpu": 1}, 0, node=NODE)
        if preempted(question.plan(scene, on=eh.Heartbeat(NODE), given={"groups": {"a": level}})):
            found.append(stage)
    return found


def limits_violation(question: Question) -> None:
    """Let nodes report round after round while limits are lowered."""
    case, placement = question.case, question.action["placement"]
    limits: dict[str, Any] = {}
    gone: list[str] = []
    victims_per_step, running_after = [], []
    state, now, decisions = None, NOW, []
    for step in question.action["steps"]:
        limits.update(step["set_resource_limits"])
        of_step: list[str] = []
        for node in step["heartbeat_order"]:
            now += FAR_APART
            scene = Scene(case, now=now)
            scene.cluster_nodes(case)
            for row in (*scene.pools, *scene.operations):
                row["limits"] = limits.get(row["name"], {})
            _add_remaining(scene, case, placement, gone)
            answer = question.plan(
                scene, state=state, on=eh.Heartbeat(node), given={"fair_share": step["fair_share"]}
            )
            state = answer.state
            of_step += preempted(answer)
            gone += preempted(answer)
            decisions += answer.decisions("preempt")
        victims_per_step.append(of_step)
        running_after.append(len(placement) - len(gone))
    question.equal("victims_per_step", victims_per_step)
    question.equal("running_after", running_after)
    question.reason(decisions)


def _add_remaining(
    scene: Scene, case: Mapping[str, Any], placement: Mapping[str, str], gone: list[str]
) -> None:
    for operation in case["operations"]:
        for name, start, resources in runs(operation):
            if name not in gone:
                scene.allocation(name, operation["id"], resources, start, node=placement[name])
        if operation.get("pending_allocations"):
            scene.request(operation["id"], operation["min_needed"], operation["pending_allocations"])


def backoff(question: Question) -> None:
    """Let a node report again and again, where there is always somebody to start and somebody to take."""
    node, state, ran = question.action["node"], None, []
    for time in question.action["times_s"]:
        scene = Scene({"cluster": {"nodes": [], "total": {"cpu": 1}}}, now=time)
        scene.node(node, {"cpu": 1})
        scene.operation("victim")
        scene.operation("candidate")
        scene.allocation("a", "victim", {"cpu": 1}, 0, node=node)
        scene.request("candidate", {"cpu": 1})
        given = {"groups": {"a": "preemptible"}, "starvation": {"candidate": "starving"}}
        answer = question.plan(scene, state=state, on=eh.Heartbeat(node), given=given)
        state = answer.state
        ran.append(preempted(answer) == ["a"])
    question.equal("preemptive_stages_run", ran)
