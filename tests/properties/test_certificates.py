"""Every certificate of a drawn plan holds, and none that says anything else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests.properties.certifying import SYSTEMS, minimum_plans
from tests.reference.certificates import NotDerived, check_by_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.plans import Certificate, Plan


@pytest.mark.parametrize("system", SYSTEMS)
@given(data=st.data())
def test_every_certificate_holds(system: str, data: st.DataObject) -> None:
    """It is of the question that the rules ask, and its proof adds up."""
    plan = data.draw(minimum_plans(system))
    for step in plan.minimum_steps:
        certificate = plan.certificate(step)
        try:
            verdict = check_by_rules(plan, step)
        except NotDerived as why:
            event(str(why))
            continue
        event(f"{certificate.kind}: {verdict.cost}, {verdict.order}")
        assert (verdict.cost == "open") == (certificate.closed_by is None)
        assert verdict.cost == "certified" or certificate.closed_by != "multipliers"


@pytest.mark.parametrize("system", SYSTEMS)
@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_no_other_certificate_holds(system: str, data: st.DataObject) -> None:
    """Each number, victim, candidate and row of it matters."""
    plan = data.draw(minimum_plans(system))
    assume(plan.minimum_steps)
    step = data.draw(st.sampled_from(plan.minimum_steps))
    certificate = plan.certificate(step)
    try:
        check_by_rules(plan, step)
    except NotDerived:
        assume(False)
    what, spoilt = data.draw(st.sampled_from([*_spoilt(plan, certificate)]))
    event(f"{certificate.kind}: {what}")
    with pytest.raises(AssertionError):
        check_by_rules(plan, step, spoilt)


def _spoilt(plan: Plan, c: Certificate) -> Iterator[tuple[str, Certificate]]:
    """Yield certificates that claim, or rest on, something else."""
    yield "another step", replace(c, step=c.step + 1)
    yield "another beneficiary", replace(c, beneficiary=replace(c.beneficiary, operation="nobody"))
    yield "coarser quanta", replace(c, quantum=tuple(2 * q for q in c.quantum))
    yield "resources", replace(c, resources=("time", *c.resources[1:]))
    for name in ("cost", "lower_bound"):
        yield name, replace(c, **{name: getattr(c, name) - 1})
        yield name, replace(c, **{name: getattr(c, name) + 1})
    yield "proved", replace(c, proved=not c.proved)
    yield "first", replace(c, first=not c.first)
    yield "root bound", replace(c, root_bound=c.lower_bound + 1)
    yield "no victims", replace(c, taken=())
    others = [name for name in c.candidates if name not in c.taken]
    if others:
        yield "another victim", replace(c, taken=(others[0], *c.taken[1:]))
        yield "one victim more", replace(c, taken=(*c.taken, others[0]))
    yield "a cost", replace(c, costs=(c.costs[0] + 1, *c.costs[1:]))
    yield "a candidate less", _without_last(c)
    if len(c.candidates) > 1:
        yield "order", replace(c, candidates=c.candidates[::-1], costs=c.costs[::-1])
    if c.kind == "amounts":
        yield from _spoilt_amounts(c)
    elif c.kind == "jobs":
        yield from _spoilt_sites(plan, c)


def _without_last(c: Certificate) -> Certificate:
    more: dict[str, Any] = {"amounts": c.amounts[:-1]} if c.kind == "amounts" else {}
    return replace(c, candidates=c.candidates[:-1], costs=c.costs[:-1], **more)


def _spoilt_amounts(c: Certificate) -> Iterator[tuple[str, Certificate]]:
    yield "an amount", replace(c, amounts=((c.amounts[0][0] + 1, *c.amounts[0][1:]), *c.amounts[1:]))
    short = next(place for place, lacking in enumerate(c.shortage) if lacking > 0)
    less = [lacking - (place == short) for place, lacking in enumerate(c.shortage)]
    yield "less is short", replace(c, shortage=tuple(less))
    yield "another node", replace(c, node="elsewhere")
    yield "a negative multiplier", replace(c, multipliers=(-1.0,) * len(c.multipliers))
    if c.root_bound > 1 and set(c.costs) == {1}:
        yield "no multipliers", replace(c, multipliers=(0.0,) * len(c.multipliers))


def _spoilt_sites(plan: Plan, c: Certificate) -> Iterator[tuple[str, Certificate]]:
    first, rest = c.sites[0], c.sites[1:]
    yield "one copy less", replace(c, copies=c.copies - 1)
    yield "a node less", replace(c, sites=rest)
    yield "a node twice", replace(c, sites=(first, *c.sites))
    yield "what must be freed", replace(c, sites=(replace(first, must=not first.must), *rest))
    lacks = ((*first.lacks[0][:-1], first.lacks[0][-1] + 1), *first.lacks[1:])
    yield "more lacks", replace(c, sites=(replace(first, lacks=lacks), *rest))
    amounts = (tuple(a + 1 for a in first.amounts[0]), *first.amounts[1:])
    yield "an amount", replace(c, sites=(replace(first, amounts=amounts), *rest))
    sites = tuple(replace(s, parts=tuple(part * 3 + c.scale for part in s.parts)) for s in c.sites)
    if any(s.parts for s in sites) and c.copies > 0:
        dear = [p for s in c.sites for p in s.parts]
        if max(dear) * 3 + c.scale > c.scale * max(c.costs):
            yield "parts above the cost", replace(c, sites=sites)
    if c.root_bound > 0:
        none = tuple(replace(s, bounds=tuple(b and 0 for b in s.bounds)) for s in c.sites)
        yield "no bounds", replace(c, sites=none)
    assert plan is not None
