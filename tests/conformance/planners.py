"""The implementations that a plan's case can be run on, behind one small form of answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import evenhand as eh
from evenhand.systems import SYSTEMS
from tests.conformance import engines

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What a plan says, as plain data.

    Attributes
    ----------
    plan
        The plan's JSON.
    statuses
        Name of an element to all that is known of its starvation.
    fair_share
        Name of an element to its fair share per resource, zeros left out.
    state
        To be handed to the next plan.
    """

    plan: Mapping[str, Any]
    statuses: Mapping[str, Mapping[str, Any]]
    fair_share: Mapping[str, Mapping[str, float]]
    state: Any

    def decisions(self, *actions: str) -> list[dict[str, Any]]:
        """Return the decisions with one of these actions, in order; all without any."""
        return [d for d in self.plan["decisions"] if not actions or d["action"] in actions]


@dataclass(frozen=True)
class Planner:
    """One implementation.

    Attributes
    ----------
    policies
        Names of the policies that it has.
    settings
        (policy, preset, settings) to all settings in effect; raises `evenhand.InputError`.
    plan
        (policy, preset, settings, snapshot, state, trigger, given, events) to the answer: events happen after
        the update.
    satisfaction
        (fair share, usage, demand), vectors of shares, to the ratio.
    usage_threshold
        (snapshot, preset, settings, operation) to the threshold in effect.
    stages
        (preset, settings, is the node in SSD mode) to pairs of a stage and the lowest level it may take.
    levels
        Levels from low to high.
    conditional
        (elements, threshold, blocked amounts by pool) to the blocking ancestor and the conditional discount
        of each operation; elements are rows with name, parent, is_pool, fair_share, usage, demand, starving.
    plan_all
        (policy, preset, settings by name, snapshots by name, trigger) to the answers by name.
    calls
        Name of a function of a case to the function.
    """

    policies: frozenset[str]
    settings: Callable[[str, str, Settings], Mapping[str, Any]]
    plan: Callable[..., Answer]
    satisfaction: Callable[[Sequence[float], Sequence[float], Sequence[float]], float]
    usage_threshold: Callable[[eh.Snapshot, str, Settings, str], Mapping[str, float]]
    stages: Callable[[str, Settings, bool], list[tuple[str, str]]]
    levels: Callable[[], Sequence[str]]
    conditional: Callable[..., tuple[dict[str, str | None], dict[str, dict[str, float]]]]
    plan_all: Callable[..., dict[str, Answer]]
    calls: Mapping[str, Callable[..., Any]]


def planner_of(engine: engines.Engine) -> Planner:
    """Return the planner that has the name of a fair-share engine."""
    (name,) = (name for name, known in engines.ENGINES.items() if known is engine)
    return PLANNERS[name]()


def _totals(elements: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {name: element["fair_share"]["total"] for name, element in elements.items()}


def evenhand() -> Planner:
    """Return the library itself."""
    from evenhand import _core

    policies = {word: system.policy for word, system in SYSTEMS.items()}

    def answer(made: eh.Plan) -> Answer:
        statuses = {str(name): asdict(status) for name, status in made.statuses.items()}
        shares = _totals(made.shares.to_dict()["elements"]) if made.policy.RECORD.shares else {}
        return Answer(made.to_dict(), statuses, shares, made.state)

    def plan(
        policy: str,
        preset: str,
        settings: Settings,
        snapshot: eh.Snapshot,
        state: Any,
        on: Any,
        given: Mapping[str, Any] | None,
        later: Sequence[Mapping[str, Any]] = (),
    ) -> Answer:
        made = policies[policy](preset=preset, **settings)
        if later:
            cluster = eh.Cluster(snapshot, made, state)
            cluster.update(given=given)
            cluster.apply(later)
            nodes = [eh.Heartbeat(name) for name in snapshot.names("nodes")]
            return answer(cluster.plan(on=nodes if isinstance(on, eh.Round) else on))
        return answer(eh.plan(snapshot, made, state, on=on, given=given))

    def plan_all(
        policy: str,
        preset: str,
        settings: Mapping[str, Settings],
        snapshots: Mapping[str, eh.Snapshot],
        on: Any,
    ) -> dict[str, Answer]:
        each = {name: policies[policy](preset=preset, **values) for name, values in settings.items()}
        return {name: answer(made) for name, made in eh.plan(snapshots, each, on=on).items()}

    def conditional(
        elements: Sequence[Mapping[str, Any]], threshold: float, blocked: Mapping[str, Any]
    ) -> tuple[dict[str, str | None], dict[str, dict[str, float]]]:
        names = [None, *(element["name"] for element in elements)]  # the root first
        parents = [-1, *(names.index(element["parent"]) for element in elements)]
        served = [_core.satisfaction(e["fair_share"], e["usage"], e["demand"]) for e in elements]
        starving = [False, *(element["starving"] for element in elements)]
        shields = _core.shields(parents, starving, [1e9, *served], threshold).tolist()
        discounts: dict[str, dict[str, float]] = {}
        operations = [row for row, e in enumerate(elements, 1) if not e["is_pool"]]
        for row in operations:
            sums = discounts.setdefault(str(names[row]), {})
            for pool, amounts in blocked.items():
                if _core.stands_in(parents, row, names.index(pool)):
                    for resource, amount in amounts.items():
                        sums[resource] = sums.get(resource, 0) + amount
        return {
            str(names[row]): names[shields[row]] if shields[row] >= 0 else None for row in operations
        }, discounts

    return Planner(
        policies=frozenset(policies),
        settings=lambda policy, preset, settings: policies[policy](preset=preset, **settings).to_dict(),
        plan=plan,
        satisfaction=_core.satisfaction,
        usage_threshold=lambda snapshot, preset, settings, operation: (
            eh.plan(snapshot, eh.policies.YTsaurus(preset=preset, **settings))
            .statuses[operation]
            .usage_threshold
        ),
        stages=lambda preset, settings, on_ssd: list(
            eh.policies.YTsaurus(preset=preset, **settings).stages(ssd_node=on_ssd)
        ),
        levels=lambda: eh.policies.YTsaurus.LEVELS,
        conditional=conditional,
        plan_all=plan_all,
        calls=CALLS,
    )


def reference() -> Planner:
    """Return the slow, readable implementation of the published rules."""
    from evenhand.systems.backendai import columns
    from evenhand.systems.backendai.settings import BackendAISettings
    from evenhand.systems.slurm.settings import SlurmSettings
    from evenhand.systems.ytsaurus.settings import YTsaurusSettings
    from tests.reference import backendai, slurm
    from tests.reference.ytsaurus import codes, conditional, effective, reading, reference_plan
    from tests.reference.ytsaurus.heartbeat import stages_of
    from tests.reference.ytsaurus.status import satisfaction

    def plan(
        policy: str,
        preset: str,
        settings: Settings,
        snapshot: eh.Snapshot,
        state: Any,
        on: Any,
        given: Mapping[str, Any] | None,
        later: Sequence[Mapping[str, Any]] = (),
    ) -> Answer:
        if policy == "backendai":
            columns.row_columns(
                snapshot, BackendAISettings.preset(preset, **settings)
            )  # the input is checked
            found = backendai.reference_plan(snapshot, BackendAISettings.preset(preset, **settings))
            return Answer(found, {}, {}, None)
        if policy == "slurm":
            found = slurm.reference_plan(snapshot, SlurmSettings.preset(preset, **settings))
            return Answer(found, {}, {}, None)
        made = YTsaurusSettings.preset(preset, **settings)
        shares = eh.fair_share(snapshot, made.fair_share)
        if later:
            cluster = eh.Cluster(snapshot)
            cluster.apply(later)
            snapshot = cluster.snapshot()
        found = reference_plan(snapshot, made, state, on=on, given=given, shares=shares)
        return Answer(found, found["statuses"], _totals(shares.to_dict()["elements"]), found["state"])

    def usage_threshold(
        snapshot: eh.Snapshot, preset: str, settings: Settings, operation: str
    ) -> Mapping[str, float]:
        world = reading.read_world(snapshot, YTsaurusSettings.preset(preset, **settings))
        effective.resolve(world.pools, world.settings)
        (found,) = (op for op in world.operations if op.name == operation)
        return found.effective.usage_threshold

    def stages(preset: str, settings: Settings, on_ssd: bool) -> list[tuple[str, str]]:
        names = stages_of(YTsaurusSettings.preset(preset, **settings), on_ssd)
        return [(name, codes.STAGE_LEVELS[name]) for name in names]

    def analyse(
        elements: Sequence[Mapping[str, Any]], threshold: float, blocked: Mapping[str, Any]
    ) -> tuple[dict[str, str | None], dict[str, dict[str, float]]]:
        ranked = {row["name"]: conditional.Ranked(**row) for row in elements}
        operations = [row["name"] for row in elements if not row["is_pool"]]
        return (
            {name: conditional.blocking_ancestor(name, ranked, threshold) for name in operations},
            {name: conditional.conditional_discount(name, ranked, blocked) for name in operations},
        )

    return Planner(
        policies=frozenset(SYSTEMS),
        settings=lambda _policy, preset, settings: YTsaurusSettings.preset(preset, **settings).model_dump(),
        plan=plan,
        satisfaction=lambda *vectors: satisfaction(*map(list, vectors)),
        usage_threshold=usage_threshold,
        stages=stages,
        levels=lambda: codes.LEVELS,
        conditional=analyse,
        plan_all=lambda policy, preset, settings, snapshots, on: {
            name: plan(policy, preset, settings[name], snapshot, None, on, None)
            for name, snapshot in snapshots.items()
        },
        calls=CALLS,
    )


CALLS: Mapping[str, Callable[..., Any]] = {
    "priority_choice": eh.policies.BackendAI.priority_choice,
    "parse_command": eh.policies.GridEngine.parse_command,
    "suspend_method": eh.policies.GridEngine.suspend_method,
}

PLANNERS: dict[str, Callable[[], Planner]] = {"evenhand": evenhand, "reference": reference}
