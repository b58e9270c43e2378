"""A certificate held against a question derived anew by the readable rules of its system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.errors import CertificateError
from evenhand.plans import Certificate
from evenhand.plans.certified import formed
from evenhand.testing._laws import must
from evenhand.testing.certificates import check_certificate
from evenhand.testing.fewest import Verdict
from tests.reference.certificates import backendai, slurm, ytsaurus
from tests.reference.certificates.questions import NotDerived, Question
from tests.reference.costs import cheapest_set

if TYPE_CHECKING:
    from evenhand.plans import Plan

__all__ = ["check_by_rules"]

ENUMERATED = 12
"""So many candidates are also tried in all their sets, by the policy's own placement."""


def check_by_rules(plan: Plan, step: int, certificate: Certificate | None = None) -> Verdict:
    """Check a certificate, and that it is of the question that the rules ask.

    Parameters
    ----------
    plan : Plan
    step : int
    certificate : Certificate, optional
        By default the plan's.

    Returns
    -------
    Verdict
        As of `check_certificate`; "enumerated" also if at most 12 candidates were tried in all their sets,
        each placed by the rules.

    Raises
    ------
    CertificateError
        As of `check_certificate`, and if candidates, costs, amounts or needs are not what the rules come to,
        or the victims do not make room by them.
    NotDerived
        If what the search was asked cannot be derived from the plan.
    KeyError
        If the step was not decided with `minimum`.

    Notes
    -----
    Derived from the snapshot, the settings, the state before, and the decisions of the steps before: what may
    be a victim, in which order and at which cost; what each frees on which node; what is missing there.

    Taken on trust. YTsaurus: fair shares, statuses and thresholds of the plan's update. BackendAI with
    victims agent by agent: which of the able agents it is, and, if several copies take victims, all but
    candidates, costs and that the victims make room. Slurm: with "GANG", which other jobs leave because they
    share the cpus.
    """
    if step not in plan.minimum_steps or certificate is None:
        certificate = plan.certificate(step)
    certificate = formed(Certificate, certificate)
    try:
        question = _derived(plan, step, certificate)
        _same_question(certificate, question)
        verdict = check_certificate(plan, step, certificate)
        names = [str(name) for name in certificate.taken]
        must(question.suffices(names), "the victims do not make room")
        return _tried(certificate, question, names, verdict)
    except CertificateError:
        raise
    except AssertionError as error:
        raise CertificateError.about("certificate", None, "rules", str(error)) from error


def _derived(plan: Plan, step: int, certificate: Certificate) -> Question:
    system = plan.policy.system
    if system == "ytsaurus":
        return ytsaurus.question(plan, step)
    if system == "backendai":
        return backendai.question(plan, step, None if certificate.node is None else str(certificate.node))
    if system == "slurm":
        return slurm.question(plan, step)
    raise NotDerived(f"there are no rules of {system} here")


def _same_question(certificate: Certificate, question: Question) -> None:
    """Compare what was asked with what the rules come to."""
    candidates = tuple(map(str, certificate.candidates))
    must(candidates == question.wanted, f"candidates {candidates}, by the rules {question.wanted}")
    must(certificate.costs == question.costs, f"costs {certificate.costs}, by the rules {question.costs}")
    if question.shortage is not None:
        must(certificate.kind == "amounts", f"kind {certificate.kind} of work on one node")
        must(str(certificate.node) == question.node, f"node {certificate.node}, by the rules {question.node}")
        told, known = (tuple(max(0, a) for a in row) for row in (certificate.shortage, question.shortage))
        must(told == known, f"shortage {told}, by the rules {known}")
        frees = tuple(question.frees[name] for name in question.wanted)
        must(certificate.amounts == frees, f"amounts {certificate.amounts}, by the rules {frees}")
    elif certificate.kind == "jobs":
        must(question.places is not None, "several requests are no one question")
        _same_places(certificate, question)
    else:
        must(certificate.kind == "sets", f"kind {certificate.kind} of sets of jobs")


def _same_places(certificate: Certificate, question: Question) -> None:
    places = question.places or {}
    must(
        certificate.copies == question.copies, f"{certificate.copies} copies, by the rules {question.copies}"
    )
    told = [None if site.node is None else str(site.node) for site in certificate.sites]
    must(len(set(told)) == len(told), f"a node stands twice among {told}")
    must(set(told) == set(places), f"nodes {told}, by the rules {[*places]}")
    width = len(certificate.columns)
    for node, site in zip(told, certificate.sites, strict=True):
        place = places[node]
        must(site.must == place.must, f"{node} must be freed: {site.must}, by the rules {place.must}")
        lacks = tuple(tuple(max(0, a) for a in row) for row in site.lacks)
        known = tuple(tuple(max(0, a) for a in row[:width]) for row in place.lacks)
        must(lacks == known, f"{node} lacks {lacks}, by the rules {known}")
        frees = {str(job): row for job, row in zip(site.jobs, site.amounts, strict=True) if any(row)}
        by_rules = {job: row[:width] for job, row in place.frees.items() if any(row[:width])}
        must(frees == by_rules, f"{node} is freed of {frees}, by the rules {by_rules}")


def _tried(certificate: Certificate, question: Question, names: list[str], verdict: Verdict) -> Verdict:
    """Try all sets by the policy's own placement, if there are few and the claim is of all of them."""
    on_agents = certificate.kind == "sets" and not question.together
    if len(question.wanted) > ENUMERATED or on_agents:
        return verdict
    costs = dict(zip(question.wanted, question.costs, strict=True))
    best = cheapest_set(question.wanted, costs.__getitem__, question.suffices)
    if best is None:
        raise AssertionError("no set of victims makes room")
    lowest = sum(costs[name] for name in best)
    must(certificate.lower_bound <= lowest, f"{best} suffice, below {certificate.lower_bound}")
    must(not certificate.first or best == names, f"{best} are before {names}")
    cost, order = verdict
    return Verdict("enumerated" if cost == "claimed" else cost, "enumerated" if certificate.first else order)
