"""Goes over the explanations of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.reference.explanations.registry import Said, check_of
from tests.reference.explanations.sentences import check_sentences
from tests.reference.explanations.table import load
from tests.reference.explanations.world import World

if TYPE_CHECKING:
    from evenhand.explain.explanation import Explanation
    from evenhand.plans.plan import Plan

__all__ = [
    "TABLES",
    "Falsehood",
    "check_explanation",
    "check_explanations",
    "codes_told",
    "falsehoods",
    "found_false",
    "told_by",
]

#: Tables whose rows a plan explains.
TABLES = ("allocations", "requests", "operations", "pools", "nodes")


@dataclass(frozen=True)
class Falsehood:
    """Something that an explanation says and that is not so.

    Attributes
    ----------
    name, table : str or int, str
        What is explained.
    code : str
        What is said.
    sentence : str
        Empty if it is said by a code and its numbers.
    why : str
        What was found instead.
    """

    name: str | int
    table: str
    code: str
    sentence: str
    why: str

    def __str__(self) -> str:
        said = f"{self.sentence!r} " if self.sentence else ""
        return f"{self.table} {self.name}: {said}({self.code}): {self.why}"


def check_explanations(plan: Plan) -> int:
    """Check all that a plan explains.

    Parameters
    ----------
    plan : Plan
        Of any policy.

    Returns
    -------
    int
        How many explanations were checked.

    Raises
    ------
    AssertionError
        With everything that is false.

    Notes
    -----
    O(rows × decisions) at worst: for plans of tests, not of clusters of ten thousand nodes.
    """
    world, found, count = World(plan), [], 0
    for explanation in told_by(plan):
        found += found_false(world, explanation)
        count += 1
    _raise(found)
    return count


def check_explanation(plan: Plan, explanation: Explanation) -> None:
    """Check one explanation.

    Parameters
    ----------
    plan : Plan
        What it explains.
    explanation : Explanation
        As `Plan.why` or `Plan.why_not` gave it, or as someone changed it.

    Raises
    ------
    AssertionError
        With everything that is false.
    """
    _raise(found_false(World(plan), explanation))


def falsehoods(plan: Plan) -> list[Falsehood]:
    """Return everything that a plan's explanations say and that is not so."""
    world = World(plan)
    return [one for explanation in told_by(plan) for one in found_false(world, explanation)]


def codes_told(plan: Plan) -> set[tuple[str, str]]:
    """Return the codes that a plan's explanations say, each with its kind."""
    world, found = World(plan), set()
    for one in told_by(plan):
        kind = _kind(world, one)
        found |= {(kind, one.code)} | {(one.table.removesuffix("s"), met["outcome"]) for met in one.looked_at}
    return found


def _raise(found: list[Falsehood]) -> None:
    if found:
        raise AssertionError("\n".join(map(str, found)))


def told_by(plan: Plan) -> Iterator[Explanation]:
    """Yield all that a plan explains."""
    for table in TABLES:
        for name in plan.snapshot.names(table):
            yield plan.why(name, table=table)
            if table == "requests":
                yield plan.why_not(name, table=table)


def found_false(world: World, explanation: Explanation) -> list[Falsehood]:
    """Return what is false of one explanation."""
    load()
    row = world.row(explanation.table, explanation.name)
    found: list[Falsehood] = []

    def hold(kind: str, code: str, met: Mapping[str, Any], sentence: str = "") -> None:
        check = check_of(kind, code, world.system)
        why = ""
        if check is None:
            why = f"nothing checks the {kind} code {code!r} of {world.system}"
        else:
            try:
                check(world, Said(explanation, row, code, met))
            except AssertionError as error:
                why = str(error) or check.__name__
        if why:
            found.append(Falsehood(explanation.name, explanation.table, code, sentence, why))

    kind = _kind(world, explanation)
    if kind != "allocation":
        hold(kind, explanation.code, explanation.numbers)
    elif explanation.code not in {met["outcome"] for met in explanation.looked_at}:
        why = "it is none of the outcomes that were looked at"
        found.append(Falsehood(explanation.name, explanation.table, explanation.code, "", why))
    for met in explanation.looked_at:
        hold(explanation.table.removesuffix("s"), met["outcome"], met)
    for sentence, why in check_sentences(world, explanation, row):
        found.append(Falsehood(explanation.name, explanation.table, explanation.code, sentence, why))
    return found


def _kind(world: World, explanation: Explanation) -> str:
    """Return of what the code of an explanation is said."""
    table, name, code = explanation.table, explanation.name, explanation.code
    if table in ("operations", "pools"):
        return "element"
    if table == "nodes":
        return "node"
    if table == "allocations":
        if world.decided("preempt", allocation=name):
            return "victim"
        if world.decided("resume", allocation=name):
            return "start"
        return "unseen" if not explanation.looked_at else "allocation"
    if code in {d["reason"] for d in world.decided("start", request=name)}:
        return "start"
    return "unseen" if code == "not_considered" else "request"
