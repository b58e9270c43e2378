"""A certificate held against its plan, and its proof added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from evenhand.errors import CertificateError
from evenhand.plans.certificates import Certificate
from evenhand.plans.certified import formed, from_dict, refuse
from evenhand.testing._laws import must
from evenhand.testing.fewest import Verdict, check_minimum
from evenhand.testing.fewest_jobs import Site, Spread, check_minimum_jobs

if TYPE_CHECKING:
    from evenhand.plans.plan import Plan

__all__ = ["check_certificate"]

#: What proves the answer: it may be another proof, which is added up. All else is the plan's.
_PROVES = ("multipliers", "scale", "sites")
_PROVES_OF_A_SITE = ("parts", "bounds", "multipliers")


def check_certificate(
    plan: Plan, step: int, certificate: Certificate | Mapping[str, Any] | None = None
) -> Verdict:
    """Check what a plan certifies of the victims of a step, without trusting the search.

    Parameters
    ----------
    plan : Plan
        Of the YTsaurus, BackendAI or Slurm policy.
    step : int
        One of ``plan.minimum_steps``.
    certificate : Certificate or mapping, optional
        As `Plan.certificate` gives it, or as its `to_dict` does; by default the plan's.

    Returns
    -------
    Verdict
        What the claims rest on. ``cost``: "certified", the bound was added up here from multipliers or parts,
        and is the cost; "enumerated", it took a trial of all sets of few candidates, or of those of each
        node; "claimed", the search says that it tried all that could cost less; "open", nothing was claimed.
        ``order`` likewise, of the claim that no set of the same cost comes first. What is only "claimed" may
        be wrong.

    Raises
    ------
    CertificateError
        If a part of the certificate is missing, is of another kind or is none that it has; if its step,
        question, units, numbers or victims are not the plan's; if the victims do not free what it says is
        missing, or its numbers prove less than they claim. It is an `AssertionError`, and an `InputError`
        with field and rule.
    KeyError
        If the step was not decided with `minimum`.

    Notes
    -----
    The question (which jobs are candidates, in which order and at which cost, what each frees and what is
    missing) is that of the plan, derived again from its snapshot; the tests of the library derive it by
    readable implementations of each system's rules. Of kind "sets", whose sets are placed by those rules,
    costs and claims are compared, and nothing is tried. That a search was exhausted is never taken as
    checked: the verdict says "claimed". Nothing rests on ``budget``, ``branches``, ``spent`` and
    ``within_caps``, which tell how the search went; they are the plan's, too. Only ``parts``, ``bounds``,
    ``multipliers`` and ``scale`` may be others: those of another proof of the same.

    The costs are those of `evenhand.testing.fewest.check_minimum` and
    `evenhand.testing.fewest_jobs.check_minimum_jobs`; all sums are exact fractions.
    """
    own = plan.certificate(step)
    if certificate is None:
        certificate = own
    if isinstance(certificate, Mapping):
        certificate = from_dict(Certificate, certificate)
    certificate = formed(Certificate, certificate)
    _same(certificate, own, _PROVES, "")
    _same_sites(certificate, own)
    names = [str(name) for name in certificate.taken]
    try:
        _same_victims(plan, step, certificate, names)
        return _adds_up(certificate, names)
    except AssertionError as error:
        raise CertificateError.about("certificate", "taken", "proof", str(error)) from None


def _same(given: object, own: object, but: Sequence[str], of: str) -> None:
    """Compare what was asked, and what is claimed, with what the plan says."""
    for field in fields(own):  # type: ignore[arg-type]
        value, said = getattr(given, field.name), getattr(own, field.name)
        if field.name not in but and value != said:
            refuse(of + field.name, "plan", f"is {value}, by the plan {said}", value)


def _same_sites(certificate: Certificate, own: Certificate) -> None:
    """Compare the sites likewise."""
    if len(certificate.sites) != len(own.sites):
        refuse("sites", "plan", f"are {len(certificate.sites)}, by the plan {len(own.sites)}")
    for place, (given, asked) in enumerate(zip(certificate.sites, own.sites, strict=True)):
        _same(given, asked, _PROVES_OF_A_SITE, f"sites[{place}].")


def _adds_up(certificate: Certificate, names: list[str]) -> Verdict:
    """Add up what proves the claims of a certificate that asks what the plan does."""
    proof = {
        name: getattr(certificate, name) for name in ("cost", "lower_bound", "root_bound", "proved", "first")
    }
    if certificate.kind == "amounts":
        return _of_amounts(certificate, names, proof)
    if certificate.kind == "jobs":
        return _of_jobs(certificate, names, proof)
    return _of_sets(certificate, names, proof)


def _same_victims(plan: Plan, step: int, certificate: Certificate, names: list[str]) -> None:
    """Compare the victims with the plan's; beside them, Slurm lets those go that share the cpus."""
    own = [d for d in plan.decisions if d.step == step and d.action == "preempt"]
    of = "allocation" if certificate.table == "allocations" else "operation"
    made = {str(getattr(d, of)) for d in own}
    more = plan.policy.system == "slurm" and "GANG" in plan.policy.settings.PreemptMode
    must(set(names) == made or (more and set(names) <= made), f"victims {names}, by the plan {sorted(made)}")


def _places_of(certificate: Certificate, names: Sequence[str]) -> list[int]:
    known = {str(name): place for place, name in enumerate(certificate.candidates)}
    strange = [name for name in names if name not in known]
    must(not strange, f"{strange} are no candidates")
    return [known[name] for name in names]


def _of_amounts(certificate: Certificate, names: list[str], proof: dict[str, Any]) -> Verdict:
    taken = sorted(_places_of(certificate, names))
    proof |= {"multipliers": certificate.multipliers}
    return check_minimum(certificate.amounts, certificate.shortage, taken, proof, certificate.costs)


def _of_jobs(certificate: Certificate, names: list[str], proof: dict[str, Any]) -> Verdict:
    sites = tuple(
        Site(
            tuple(_places_of(certificate, [str(job) for job in site.jobs])),
            site.amounts,
            site.lacks,
            site.must,
        )
        for site in certificate.sites
    )
    proof |= {
        "scale": certificate.scale,
        "parts": [part for site in certificate.sites for part in site.parts],
        "bounds": [-1 if bound is None else bound for site in certificate.sites for bound in site.bounds],
        "multipliers": [y for site in certificate.sites for row in site.multipliers for y in row],
    }
    spread = Spread(certificate.costs, sites, certificate.copies)
    return check_minimum_jobs(spread, sorted(_places_of(certificate, names)), proof)


def _of_sets(certificate: Certificate, names: list[str], proof: dict[str, Any]) -> Verdict:
    costs = dict(zip(map(str, certificate.candidates), certificate.costs, strict=True))
    paid = sum(costs[str(certificate.candidates[i])] for i in _places_of(certificate, names))
    cost, least, root = proof["cost"], proof["lower_bound"], proof["root_bound"]
    must(cost == paid, f"cost {cost} of victims that cost {paid}")
    must(root <= least <= cost, f"bounds {root}, {least} and cost {cost} are out of order")
    must(proof["proved"] == (least == cost), f"proved is {proof['proved']} with {least} of {cost}")
    must(proof["proved"] or not proof["first"], "first of the cheapest, which is not proved")
    return Verdict("claimed" if proof["proved"] else "open", "claimed" if proof["first"] else "open")
