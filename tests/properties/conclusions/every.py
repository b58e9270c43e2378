"""What plans of every system conclude."""

from __future__ import annotations

from tests.properties.conclusions.case import Case, Conclusions, Data, tries

__all__: list[str] = []

_PACE = ("max_victims_per_hour", "immune_hours", "victim_cooldown", "spare_if_ran_less_than")

_SYSTEMS = ("ytsaurus", "yunikorn", "backendai", "slurm", "gridengine")


def _without_the_pace(case: Case) -> Conclusions:
    """It starts then, or something leaves for it; or another has what leaves."""
    node = case.said.looked_at[0]["node"] if case.said.looked_at else None

    def change(data: Data) -> None:
        for table in ("pools", "operations"):
            for row in data.get(table, ()):
                for setting in _PACE:
                    row.get("settings", {}).pop(setting, None)

    def served() -> bool:
        plan = case.again(change, pace={})
        return case.starts(plan) > case.starts(case.plan) or any(
            str(d.beneficiary.operation) == str(case.own["name"]) or str(d.node) == str(node)
            for d in plan.decisions.victims
            if d.beneficiary is not None
        )

    if case.said.code == "victims_spared":
        yield "without the pace", served


def _nothing_considered_it(case: Case) -> Conclusions:
    """Nothing leaves its node for a request."""
    if "no stage of this plan considered it" in case.said.summary:
        node = case.row(case.data, "allocations", case.said.name).get("node")
        made = case.plan.decisions.victims
        yield "no stage", lambda: not any(str(d.node) == str(node) and d.beneficiary for d in made)


def _fits_once_they_have_left(case: Case) -> Conclusions:
    """Where nothing else waits, and nothing that was preempted resumes in the room."""
    says = "it fits once" in case.said.summary or "back it fits" in case.said.summary
    if says and all(a.get("state") != "preempted" for a in case.data["allocations"]):
        yield "it fits once they have left", lambda: case.starts(case.once_gone()) > 0


for _system in _SYSTEMS:
    tries("requests", "waits_for_victims", system=_system)(_fits_once_they_have_left)
    tries("requests", "victims_spared", system=_system)(_without_the_pace)
    tries("allocations", "not_considered", system=_system)(_nothing_considered_it)
