"""What is no certificate of a step is refused with one error, which names the field."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import CertificateError
from evenhand.plans import Certificate, CertificateSite
from evenhand.plans.certified import formed
from evenhand.testing.certificates import check_certificate
from tests.reference.certificates import check_by_rules
from tests.unit.plans.test_certificates import jobs, large, only, sessions
from tests.unit.plans.test_fewest import HARD, plan

Data = dict[str, Any]

MADE: dict[str, Callable[[], eh.Plan]] = {
    "amounts": lambda: plan(HARD, (4, 10), victim_selection="minimum"),
    "multipliers": lambda: plan([(1, 1), (2, 1), (2, 1), (4, 4)], (4, 1), victim_selection="minimum"),
    "open": lambda: plan(HARD, (4, 10), victim_selection="minimum", minimum_budget=1),
    "jobs": jobs,
    "licences": lambda: jobs(licences=True, reclaim_licenses=True),
    "sessions": lambda: sessions([{"name": "r", "resources": {"cpu": 3}}]),
    "agents": lambda: sessions([{"name": "r", "resources": {"cpu": 3}}], victim_area="agent"),
    "sets": lambda: sessions(
        [{"name": "r", "resources": {"cpu": 3}}, {"name": "q", "resources": {"gpu": 1}}]
    ),
}


@cache
def made(which: str) -> eh.Plan:
    return MADE[which]()


def true(which: str) -> Data:
    """The certificate as it comes out of a file."""
    data: Data = json.loads(json.dumps(only(made(which)).to_dict()))
    return data


def refusal(which: str, forged: Any) -> CertificateError | None:
    """The error of a certificate, of which there is one kind; None: it is accepted."""
    whole = made(which)
    found = None
    try:
        check_certificate(whole, only(whole).step, forged)
    except CertificateError as error:
        found = error
    assert found is None or [(p.table, bool(p.rule)) for p in found.problems] == [("certificate", True)]
    return found


def same(one: Certificate, other: Certificate) -> bool:
    """Whether two certificates claim the same of the same question; their proofs may differ."""

    def claims(certificate: Certificate) -> Certificate:
        sites = tuple(replace(site, parts=(), bounds=(), multipliers=()) for site in certificate.sites)
        return replace(certificate, multipliers=(), scale=1, sites=sites)

    return claims(one) == claims(other)


@pytest.mark.parametrize("which", MADE)
def test_plain_data_is_the_same_certificate(which: str) -> None:
    data = true(which)
    assert Certificate.from_dict(data) == only(made(which))
    assert Certificate.from_dict(data).to_dict() == data
    assert check_certificate(made(which), only(made(which)).step, data) == check_certificate(
        made(which), only(made(which)).step
    )


ODD = (None, True, "", "nobody", 0, -1, 1, 0.5, math.nan, -math.inf, 10**30, [], {}, [[]], [None], {"a": 1})


def other(value: Any) -> Iterator[Any]:
    """Yield other values of a field: odd ones, ones close by, and the same as another kind."""
    yield from ODD
    if isinstance(value, str):
        yield from (value[:-1], value[1:], f"{value} ", [value], value.encode())
    elif isinstance(value, bool):
        yield from (not value, int(value), str(value))
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, -value, float(value), str(value), [value])


def mutations(data: Any) -> Iterator[Any]:
    """Yield plain data of which one part is gone, there twice, called otherwise or something else."""
    if isinstance(data, dict):
        yield {**data, "more": 0}
        for key, value in data.items():
            rest = {k: v for k, v in data.items() if k != key}
            yield rest
            yield {**rest, key[:-1]: value}
            yield {**rest, f"{key}s": value, key: value}
            yield from ({**data, key: changed} for changed in (*other(value), *mutations(value)))
    elif isinstance(data, list):
        yield [*data, *data]
        yield data[::-1]
        for place, value in enumerate(data):
            before, after = data[:place], data[place + 1 :]
            yield before + after
            yield [*before, value, value, *after]
            yield from ([*before, changed, *after] for changed in (*other(value), *mutations(value)))


@pytest.mark.parametrize("which", MADE)
def test_whatever_is_changed_it_is_refused_or_means_the_same(which: str) -> None:
    own, refused = only(made(which)), 0
    for forged in mutations(true(which)):
        if refusal(which, forged) is None:
            assert same(Certificate.from_dict(forged), own)
        else:
            refused += 1
    assert refused > 300


@pytest.mark.parametrize(
    "forged", [*(one for one in ODD if one is not None and not isinstance(one, dict)), {}]
)
def test_what_is_no_certificate_at_all(forged: Any) -> None:
    assert refusal("jobs", forged) is not None


class Strange:
    """Compares as it likes."""

    def __eq__(self, _: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@pytest.mark.parametrize("which", MADE)
def test_objects_with_other_fields_are_refused_or_mean_the_same(which: str) -> None:
    """Also where a field has what could not be written down."""
    own = only(made(which))
    strange = (Strange(), object(), np.arange(3), np.array([[1, 2]]), {1: 2}, b"x", ([1],), lambda: 0)
    for of, put in (
        (own, lambda part: part),
        *((site, lambda part, i=i: replace(own, sites=(*own.sites[:i], part, *own.sites[i + 1 :])))
          for i, site in enumerate(own.sites)),
    ):  # fmt: skip
        for field in fields(of):
            for value in (*other(getattr(of, field.name)), *strange):
                forged = put(replace(of, **{field.name: value}))
                if refusal(which, forged) is None:
                    assert same(formed(Certificate, forged), own)


def test_numbers_of_numpy_are_numbers() -> None:
    own = only(made("jobs"))
    costs = tuple(np.int64(cost) for cost in own.costs)
    assert refusal("jobs", replace(own, costs=costs, proved=np.bool_(own.proved))) is None


def at(path: str, change: Callable[[Any], Any]) -> Callable[[Data], None]:
    """Return a change of what stands at a path: ``sites.0.bounds.0``."""
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]

    def spoil(data: Any) -> None:
        for step in way:
            data = data[step]
        data[last] = change(data[last])

    return spoil


def says(path: str, value: Any) -> Callable[[Data], None]:
    return at(path, lambda _: value)


def more(path: str, by: float = 1) -> Callable[[Data], None]:
    return at(path, lambda value: value + by)


#: Whose certificate, what is false of it, and how it is made so.
FALSE: tuple[tuple[str, str, Callable[[Data], None]], ...] = (
    ("jobs", "another step", more("step")),
    ("jobs", "another kind", says("kind", "sets")),
    ("amounts", "for another operation", says("beneficiary.operation", "old")),
    ("jobs", "for another request", says("beneficiary.request", "another")),
    ("jobs", "for no request", says("beneficiary.request", None)),
    ("jobs", "of other rows", says("table", "allocations")),
    ("amounts", "of operations", says("table", "operations")),
    ("jobs", "another candidate", says("candidates.0", "nobody")),
    ("amounts", "another order", at("candidates", lambda names: names[::-1])),
    ("jobs", "cheaper candidates", more("costs.0", -1)),
    ("amounts", "a candidate for nothing", says("costs.0", 0)),
    ("jobs", "another victim", says("taken.0", "one")),
    ("jobs", "no victims", says("taken", [])),
    ("amounts", "a victim twice", at("taken", lambda names: [*names, names[0]])),
    ("jobs", "a lower cost", more("cost", -1)),
    ("amounts", "a higher bound", more("lower_bound")),
    ("amounts", "a lower bound", more("lower_bound", -1)),
    ("amounts", "more is proved at the root", more("root_bound")),
    ("jobs", "less is proved at the root", more("root_bound", -1)),
    ("open", "an open gap is closed", says("proved", True)),
    ("amounts", "a closed gap is open", says("proved", False)),
    ("open", "the first of the cheapest", says("first", True)),
    ("open", "an unspent budget", says("spent", False)),
    ("amounts", "a spent budget", says("spent", True)),
    ("open", "a larger budget", more("budget")),
    ("open", "more was looked at", more("branches")),
    ("jobs", "within caps", says("within_caps", True)),
    ("amounts", "closed by multipliers", says("closed_by", "multipliers")),
    ("sets", "closed by parts", says("closed_by", "parts")),
    ("amounts", "coarser quanta", more("quantum.cpu")),
    ("jobs", "a column twice", at("columns", lambda names: [names[0], *names[:-1]])),
    ("jobs", "another column", says("columns.0", "gpu")),
    ("amounts", "another node", says("node", "m")),
    ("agents", "the other agent", at("node", lambda name: {"m1": "m2", "m2": "m1"}[name])),
    ("amounts", "more is freed", more("amounts.0.0")),
    ("multipliers", "more is missing", more("shortage.0")),
    ("amounts", "multipliers that prove nothing", says("multipliers", [0.0, 0.0])),
    ("multipliers", "multipliers below 0", at("multipliers", lambda row: [-y - 1 for y in row])),
    ("jobs", "one copy less", more("copies", -1)),
    ("jobs", "parts of nothing", says("scale", 0)),
    ("jobs", "a site less", at("sites", lambda sites: sites[1:])),
    ("jobs", "a site twice", at("sites", lambda sites: [*sites[:-1], sites[0]])),
    ("jobs", "another site", says("sites.0.node", "n4")),
    ("licences", "what need not be freed", at("sites", lambda sites: [{**s, "must": False} for s in sites])),
    ("jobs", "what must be freed", says("sites.0.must", True)),
    ("jobs", "another job there", says("sites.0.jobs.0", "one")),
    ("jobs", "more is freed there", more("sites.0.amounts.0.0")),
    ("jobs", "less is missing there", more("sites.0.lacks.0.0", -1)),
    ("jobs", "parts above the cost", at("sites", lambda sites: [{**s, "parts": [10**9]} for s in sites])),
    ("jobs", "a part below 0", says("sites.0.parts.0", -1)),
    ("jobs", "bounds of nothing", at("sites", lambda sites: [{**s, "bounds": [0]} for s in sites])),
    ("jobs", "a bound that is too high", more("sites.0.bounds.0", 10**6)),
    ("jobs", "a level that cannot be had", says("sites.0.bounds.0", None)),
    ("sessions", "multipliers below 0 there", at("sites.0.multipliers.0", lambda row: [-1.0 for _ in row])),
)  # fmt: skip


@pytest.mark.parametrize(("which", "what", "spoil"), FALSE, ids=[f"{w}: {what}" for w, what, _ in FALSE])
def test_a_planted_falsehood_is_found(which: str, what: str, spoil: Callable[[Data], None]) -> None:
    data = true(which)
    forged = copy.deepcopy(data)
    spoil(forged)
    assert forged != data, what
    assert refusal(which, forged) is not None


def test_every_kind_of_field_is_forged() -> None:
    names = {one.name for of in (Certificate, CertificateSite) for one in fields(of)} | {"closed_by"}
    forged = set()
    for which, _, spoil in FALSE:
        data, spoilt = true(which), true(which)
        spoil(spoilt)
        forged |= {key for key in data if data[key] != spoilt[key]}
        for one, two in zip(data.get("sites", ()), spoilt.get("sites", ()), strict=False):
            forged |= {key for key in one if one[key] != two[key]}
    assert names - forged == {"resources"}  # the keys of "quantum"
    data = true("jobs")
    data["quantum"] = {"time" if r == "cpu" else r: q for r, q in data["quantum"].items()}
    assert refusal("jobs", data) is not None


def test_the_rules_refuse_with_the_same_error() -> None:
    one = only(jobs())
    cut = replace(one, sites=(replace(one.sites[0], jobs=()), *one.sites[1:]))
    for forged in (cut, replace(one, candidates=one.candidates[::-1]), replace(one, costs=None)):  # type: ignore[arg-type]
        with pytest.raises(CertificateError):
            check_by_rules(jobs(), one.step, forged)


def test_a_certificate_of_another_plan_is_refused() -> None:
    """Of the same step, and true there."""
    whole = large("slurm")
    assert {step: check_certificate(whole, step) for step in whole.minimum_steps}
    assert refusal("jobs", whole.certificate(whole.minimum_steps[0])) is not None


def test_the_error_says_which_field_and_is_one_of_its_kind() -> None:
    found = refusal("jobs", {**true("jobs"), "copies": 7})
    assert found is not None
    assert str(found) == "certificate: copies is 7, by the plan 2 [plan]"
    assert isinstance(found, eh.InputError | AssertionError)
    assert not isinstance(found, KeyError)
    assert found.problems[0].field == "copies"
