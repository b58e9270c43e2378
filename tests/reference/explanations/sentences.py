"""Whether a sentence says nothing but what belongs to it: names and numbers of the plan that it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tests.reference.explanations.phrases import check_counts, decisions_about
from tests.reference.explanations.registry import must
from tests.reference.explanations.text import instants_and_numbers, names_in, quoted
from tests.reference.explanations.world import same

if TYPE_CHECKING:
    from evenhand.explain.explanation import Explanation
    from tests.reference.explanations.world import Row, World

__all__ = ["check_sentences"]


def check_sentences(world: World, explanation: Explanation, row: Row) -> Iterator[tuple[str, str]]:
    """Yield sentences that show a number, or name a row, that does not belong to them; and why.

    Parameters
    ----------
    world : World
    explanation : Explanation
    row : mapping
        Of the snapshot: what is explained.

    Notes
    -----
    A number may be shown rounded, as a share in percent, or as the time until an instant; then it must be
    that to the last digit shown. It belongs to an explanation if it is one of its `numbers` or `looked_at`,
    of its decisions, of its row or its operation's, of the policy's settings, or of the shares and statuses
    of its operation and the pools above.
    """
    pool = _belongings(world, explanation, row)
    values, texts = quoted(pool)
    texts |= {word for text in texts for word in text.split()}
    values += [float(text) for text in texts if text.isdigit()]  # names that are numbers
    # What a sentence adds up: together, more of the same, still waiting.
    values += [float(n) for n in range(len(world.decisions) + 1)]
    known = world.__dict__.setdefault("_names", {name: None for t in world.tables.values() for name in t})
    for quantity, row_ in explanation.amounts.items():
        for resource, amount in row_.items():
            if not any(abs(amount - value) <= 1e-6 * max(1.0, abs(value)) for value in values):
                yield quantity, f"{amount} {resource} is none of the numbers that belong to it"
    for sentence in explanation.sentences:
        try:
            counted, named = check_counts(world, explanation, row, sentence)
            for name in sorted(names_in(sentence, known) - named):
                must(name in texts, f"{name!r} is none of the names that belong to it")
            for number in instants_and_numbers(sentence, known):
                right = any(number.means(value, world.now) for value in (*values, *counted))
                must(right, f"{number.text} is none of the numbers that belong to it")
        except AssertionError as error:
            yield sentence, str(error)


def _belongings(world: World, explanation: Explanation, row: Row) -> list[Any]:
    """Return what an explanation may quote."""
    decisions = decisions_about(world, explanation)
    operations = _operations_about(world, explanation, row, decisions)
    rows: list[Any] = [row, dict(explanation.numbers), list(explanation.looked_at), decisions, world.now]
    if explanation.table == "nodes":
        rows.append([world.row("requests", d["request"]) for d in decisions if d["request"] is not None])
    for name in operations:
        operation = world.row("operations", name)
        rows += [operation, world.pools_of(operation), world.allocations_of(name)]
        rows += [[q, [*range(q.get("count", 1) + 1)]] for q in world.requests_of(name)]
        rows += [world.refusals.get(str(q["name"])) for q in world.requests_of(name)]
        rows += _standing(world, [("operation", name), *(("pool", p) for p in world.pools_of(operation))])
    if explanation.table == "pools":
        rows += _standing(world, [("pool", str(explanation.name))])
    for d in decisions:
        free, need = d["numbers"].get("free_before", {}), d["numbers"].get("needed", {})
        rows += [{r: a - free.get(r, 0) for r, a in need.items()}, {r: -a for r, a in free.items()}]
    for step in {d["step"] for d in decisions}:
        freed = [d["freed"] for d in world.victims_of(step)]
        rows.append({r: sum(f.get(r, 0) for f in freed) for r in world.resources})
    return [*rows, world.settings.model_dump(mode="json")]


def _operations_about(world: World, explanation: Explanation, row: Row, decisions: list[Row]) -> list[str]:
    names = {str(row["operation"])} if "operation" in row else set()
    if explanation.table == "operations":
        names.add(str(explanation.name))
    for d in decisions:
        names |= {str(d["operation"]), str((d["beneficiary"] or {}).get("operation"))}
    for met in explanation.looked_at:
        if met.get("request") is not None:
            names.add(str(world.row("requests", met["request"])["operation"]))
        names |= {
            n for n in world.tables["operations"] for v in met.get("compared", {}).values() if same(v, n)
        }
    behind = explanation.numbers.get("behind")
    if isinstance(behind, Mapping):
        names.add(str(behind.get("operation")))
    return sorted(names & world.tables["operations"].keys())


def _standing(world: World, elements: list[tuple[str, str]]) -> list[Any]:
    """Return shares, statuses and groups of elements, as amounts too."""
    if not world.plan._system.shares:
        return []
    from tests.reference.explanations.ytsaurus.moments import story

    tale, found = story(world), []
    for kind, name in elements:
        status = tale.status(kind, name)
        since = status.since
        found += [
            status.satisfaction,
            status.tolerance,
            status.timeout,
            dict(status.usage_threshold),
            None if since is None else world.now - since,
        ]
        for quantity in ("fair_share", "usage_share", "demand_share"):
            shares = tale.shares(quantity, kind, name)
            found += [shares, {r: s * world.total[r] for r, s in shares.items()}]
        if kind == "operation":
            found.append(tale.at(0).usage[kind, name])
            for decided in world.decided("preempt", operation=name):
                found.append(tale.part(tale.at([*world.decisions].index(dict(decided))).usage[kind, name]))
            found += _group_ends(world, name)
    return found


def _group_ends(world: World, operation: str) -> list[Any]:
    """Return how much of an operation is in the safest group, and in the two safest."""
    from tests.reference.explanations.ytsaurus.moments import GROUPS, story

    groups, found = world.plan.groups.to_dict(), []
    for end in range(2):
        held = world.amounts({})
        for row in world.allocations_of(operation):
            if groups.get(str(row["name"])) in GROUPS[: end + 1]:
                for r, amount in (row.get("resources") or {}).items():
                    held[r] += amount
        found += [story(world).part(held), held]
    return found
