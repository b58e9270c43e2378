"""A certificate held against a question derived anew, and its proof added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evenhand.testing._laws import must
from evenhand.testing.certificates.questions import NotDerived, Question
from evenhand.testing.costs import cheapest_set
from evenhand.testing.fewest import Verdict, check_minimum
from evenhand.testing.fewest_jobs import Site, Spread, check_minimum_jobs

if TYPE_CHECKING:
    from evenhand.plans.certificates import Certificate
    from evenhand.plans.plan import Plan

__all__ = ["check_certificate"]

ENUMERATED = 12
"""So many candidates are also tried in all their sets, by the policy's own placement."""


def check_certificate(plan: Plan, step: int, certificate: Certificate | None = None) -> Verdict:
    """Check what a plan certifies of the victims of a step, without trusting the engine.

    Parameters
    ----------
    plan : Plan
        Of the YTsaurus, BackendAI or Slurm policy.
    step : int
        One of ``plan.minimum_steps``.
    certificate : Certificate, optional
        By default the plan's.

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
    AssertionError
        If the certificate is not of that step, its candidates, costs, amounts or needs are not what the rules
        come to, the victims are not those of the plan or do not make room, or its numbers prove less than
        they claim.
    NotDerived
        If what the search was asked cannot be derived from the plan.
    KeyError
        If the step was not decided with `minimum`.

    Notes
    -----
    Derived anew in Python, from the snapshot, the settings, the state before, and the decisions of the steps
    before: what may be a victim, in which order and at which cost; what each frees on which node; what is
    missing there. Sums and bounds are exact fractions.

    Taken on trust. YTsaurus: fair shares, statuses and thresholds of the plan's update. BackendAI with
    victims agent by agent: which of the able agents it is, and, if several copies take victims, all but
    candidates, costs and that the victims make room. Slurm: with "GANG", which other jobs leave because they
    share the cpus. That a search was exhausted is never taken as checked: the verdict says "claimed". Nothing
    rests on ``budget``, ``branches``, ``spent`` and ``within_caps``, which tell how the search went.

    One run of the readable rules; with at most 12 candidates also all 2^n sets, each placed by the rules.
    """
    if certificate is None:
        certificate = plan.certificate(step)
    elif step not in plan.minimum_steps:
        plan.certificate(step)
    must(certificate.step == step, f"the certificate is of step {certificate.step}")
    question = _derived(plan, step, certificate)
    _same_numbers(plan, step, certificate)
    _same_question(certificate, question)
    names = [str(name) for name in certificate.taken]
    _same_victims(plan, step, certificate, names)
    proof = {
        name: getattr(certificate, name) for name in ("cost", "lower_bound", "root_bound", "proved", "first")
    }
    if certificate.kind == "amounts":
        verdict = _of_amounts(certificate, names, proof)
    elif certificate.kind == "jobs":
        verdict = _of_jobs(certificate, names, proof)
    else:
        verdict = _of_sets(certificate, names, proof)
    must(question.suffices(names), "the victims do not make room")
    return _tried(certificate, question, names, verdict)


def _derived(plan: Plan, step: int, certificate: Certificate) -> Question:
    system = plan.policy.system
    if system == "ytsaurus":
        from evenhand.testing.certificates import ytsaurus

        return ytsaurus.question(plan, step)
    if system == "backendai":
        from evenhand.testing.certificates import backendai

        return backendai.question(plan, step, None if certificate.node is None else str(certificate.node))
    if system == "slurm":
        from evenhand.testing.certificates import slurm

        return slurm.question(plan, step)
    raise NotDerived(f"there are no rules of {system} here")


def _same_numbers(plan: Plan, step: int, certificate: Certificate) -> None:
    """Compare the claims with those of the plan's decisions, and the units with the snapshot's."""
    snapshot, served = plan.snapshot, certificate.beneficiary
    resources = tuple(snapshot.resources)
    must(
        certificate.resources == resources, f"resources {certificate.resources}, by the snapshot {resources}"
    )
    quantum = tuple(snapshot.quantum[r] for r in resources)
    must(certificate.quantum == quantum, f"quantum {certificate.quantum}, by the snapshot {quantum}")
    must(certificate.columns[: len(resources)] == resources, f"columns {certificate.columns}")
    for decision in plan.decisions:
        if decision.step != step or "minimum" not in decision.numbers:
            continue
        whose = decision.beneficiary
        if whose is not None:
            same = served.operation == whose.operation
            must(same, f"they leave for {served.operation}, by the plan for {whose.operation}")
        for name, value in decision.numbers["minimum"].items():
            own = getattr(certificate, name)
            must(own == value, f"{name} is {own}, by the plan {value}")
        return


def _same_victims(plan: Plan, step: int, certificate: Certificate, names: list[str]) -> None:
    """Compare the victims with the plan's; beside them, Slurm lets those go that share the cpus."""
    own = [d for d in plan.decisions if d.step == step and d.action == "preempt"]
    of = "allocation" if certificate.table == "allocations" else "operation"
    made = {str(getattr(d, of)) for d in own}
    must(len(names) == len(set(names)), f"a victim stands twice among {names}")
    more = plan.policy.system == "slurm" and "GANG" in plan.policy.settings.PreemptMode
    must(set(names) == made or (more and set(names) <= made), f"victims {names}, by the plan {sorted(made)}")


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
