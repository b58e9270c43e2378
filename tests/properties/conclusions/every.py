"""What plans of every system conclude."""

from __future__ import annotations

from tests.properties.conclusions.case import QUANTUM, Case, Conclusions, Data, NotTriedError, tries, until

__all__: list[str] = []

_PACE = ("max_victims_per_hour", "immune_hours", "victim_cooldown", "spare_if_ran_less_than")

_SPARED = ("ran_too_short", "victim_cooldown", "spared_run_time", "pool_immune", "pool_victims_per_hour")

#: Of what might leave.
_OPEN = ("taken", "no_start_in_stage", "spared_fits_without", "given_back", "frees_nothing_useful")

_SYSTEMS = ("ytsaurus", "yunikorn", "backendai", "slurm", "gridengine")


def _without_the_pace(case: Case) -> Conclusions:
    """It starts then, or something leaves for it; or another has what leaves."""
    spared = (one["node"] for one in case.said.looked_at if one["outcome"] == "victims_spared")
    node = next(spared, None)

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


def _spared_until(case: Case, code: str, instant: float, owner: str | None, value: object) -> bool:
    """As `until`; not tried where just before no stage comes as far as the pace."""
    plan = case.again(case.at(instant - QUANTUM))
    if not case.leaves(plan) and not case.barred(plan, *_SPARED, *_OPEN):
        raise NotTriedError
    return until(case, code, instant, owner, value)


def _until_when(case: Case) -> Conclusions:
    """From that instant on it is not spared for that, and just before it is."""
    for one in case.said.looked_at:
        told = one.get("compared", {})
        for name in ("until", "again_from"):
            counts = name == "again_from" and len(case.plan.decisions.victims)  # its own are in it
            if one["outcome"] in _SPARED and (instant := told.get(name)) is not None and not counts:
                owner = next((key for key in ("immune", "pool") if key in told), None)
                tried = (one["outcome"], instant, owner, told.get(owner))
                yield name, lambda tried=tried: _spared_until(case, *tried)


for _system in _SYSTEMS:
    tries("allocations", *_SPARED, system=_system)(_until_when)
    tries("requests", "waits_for_victims", system=_system)(_fits_once_they_have_left)
    tries("requests", "victims_spared", system=_system)(_without_the_pace)
    tries("allocations", "not_considered", system=_system)(_nothing_considered_it)
