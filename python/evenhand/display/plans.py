"""Plans and statuses as lines of text and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.display import markup
from evenhand.display.snapshots import counts
from evenhand.display.terminal import Line, counted, diagnostic_lines, paint
from evenhand.display.text import UNICODE, Glyphs, clean, duration, fit, in_short, ratio, width
from evenhand.reasons import ACTIONS, OUTCOMES, REASONS, STARVATION, reason
from evenhand.units.text import instant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.plans.decisions import Decision, Decisions
    from evenhand.plans.plan import Plan
    from evenhand.plans.statuses import Statuses
    from evenhand.table import Table

__all__ = [
    "decision_lines",
    "decision_table",
    "not_waited",
    "plan_html",
    "plan_sentence",
    "plan_text",
    "plan_title",
    "refusal_lines",
    "starving_lines",
    "starving_sentences",
    "statuses_html",
    "statuses_text",
]

_TEXT_ROWS = 20
_HTML_ROWS = 150
_LISTED = 10
_DECISION = ("do", "what", "operation", "node", "reason", "for", "gives or takes", "fair share")
_LINE = ("do", "what", "node", "reason", "for", "gives or takes")
_WIDTH = 110
_NOT_WAITED = 'None of them has waited yet: plan with as_if_waiting="10m", or later with this plan\'s state.'
_STARVING = ("name", "kind", "starvation", "below since", "satisfied", "starves after")


def plan_sentence(plan: Plan) -> str:
    """Return how much is decided: ``3 preempted, 2 started in free room, ...``."""
    decisions = plan.decisions
    found = np.bincount(decisions.column("reason"), minlength=len(REASONS)).tolist()
    free, after = (found[REASONS.index(code)] for code in ("fits_free_room", "fits_after_preemption"))
    done = np.bincount(decisions.column("action"), minlength=len(ACTIONS)).tolist()
    preempted, resumed, kept = (done[ACTIONS.index(word)] for word in ("preempt", "resume", "reserve"))
    started = done[ACTIONS.index("start")] - free - after
    served = int(np.count_nonzero(plan.refusals.column("rule") == OUTCOMES.index("waits_for_victims")))
    parts = [
        f"{preempted:,} preempted",
        f"{free:,} started in free room",
        f"{after:,} started after preemption",
        *([f"{started:,} started otherwise"] if started else []),
        *([f"{resumed:,} resumed"] if resumed else []),
        *([f"{counted(kept, 'reservation')}"] if kept else []),
        *([f"{counted(served, 'request')} served once victims have left"] if served else []),
        f"{counted(len(plan.refusals) - served, 'request')} refused",
    ]
    return f"{', '.join(parts)}."


def plan_title(plan: Plan) -> str:
    """Return what a plan is of: ``for 3 nodes, ..., at 100 s, on a scheduling run``."""
    several = isinstance(plan.on, tuple) and len(plan.on) != 1
    one = plan.on[0] if isinstance(plan.on, tuple) and not several else plan.on
    on = "" if one is None else f", on {len(one):,} heartbeats" if several else f", on {clean(one)}"
    return f"for {counts(plan.snapshot)}, at {instant(plan.snapshot.now, plan.snapshot.now)}{on}"


def _of(name: object, operation: object) -> str:
    """Return ``a1 of A``, or the name alone if it says its operation itself."""
    name, operation = clean(name), clean(operation)
    return name if name.startswith(f"{operation}/") else f"{name} of {operation}"


def _decision_cells(decision: Decision, units: Mapping[str, str | None]) -> list[str]:
    beneficiary = decision.beneficiary
    preempts = decision.action == "preempt"
    what = decision.request if decision.allocation is None else decision.allocation
    share = {None: "", True: "within", False: "above"}[decision.victim_within_fair_share]
    numbers = decision.freed if preempts else decision.numbers.get("needed", {})
    served = "" if beneficiary is None or not preempts else _of(beneficiary.request, beneficiary.operation)
    cells = (what, decision.operation, decision.node)
    names = ["" if cell is None else clean(cell) for cell in cells]
    return [decision.action, *names, decision.reason, served, in_short(numbers, units), share]


def decision_table(decisions: Decisions) -> Table:
    """Return the columns of decisions that people read first."""
    from evenhand.table import Table

    rows = [_decision_cells(d, decisions._snapshot.units) for d in decisions[: _HTML_ROWS + 1]]
    more = len(decisions) - len(rows)
    title = counted(len(decisions), "decision") + (f", the first {len(rows):,}" if more else "")
    return Table({head: [row[i] for row in rows] for i, head in enumerate(_DECISION)}, title=title)


def _aligned(
    cells: Sequence[Sequence[str]], right: frozenset[int], glyphs: Glyphs, room: int = _WIDTH
) -> list[Line]:
    """Return rows under their heads, each column as wide as it needs; the widest are cut to fit the room."""
    widths = [min(room, max(map(width, column))) for column in zip(*cells, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > room:
        widths[widths.index(max(widths))] -= 1
    lines: list[Line] = []
    for i, row in enumerate(cells):
        parts = [
            fit(text, widths[j], right=j in right, name=True, ellipsis=glyphs.ellipsis)
            for j, text in enumerate(row)
        ]
        lines.append([("dim" if i == 0 else "", "  ".join(parts))])
    return lines


def decision_lines(
    plan: Plan, top: int, glyphs: Glyphs = UNICODE, room: int = _WIDTH, *, reasons: bool = True
) -> list[Line]:
    """Return the first decisions, those with victims first, and how many more there are."""
    decisions = plan.decisions
    if not len(decisions):
        return [[("", "Nothing is to be done.")]]
    steps = decisions.column("step")
    with_victims = np.isin(steps, steps[decisions.column("action") == ACTIONS.index("preempt")])
    order = np.concatenate([np.flatnonzero(with_victims), np.flatnonzero(~with_victims)])[:top]
    rows, units = [_LINE], plan.snapshot.units
    for decision in decisions.take(order):
        do, what, operation, node, why, served, amounts, _ = _decision_cells(decision, units)
        rows.append((do, _of(what, operation), node, why, served, amounts))
    cells = [row if reasons else (*row[:3], *row[4:]) for row in rows]
    lines = _aligned(cells, frozenset(), glyphs, room)
    if len(decisions) > len(order):
        lines.append([("", f"and {counted(len(decisions) - len(order), 'more decision')}")])
    return lines


def refusal_lines(plan: Plan, top: int, glyphs: Glyphs = UNICODE, room: int = _WIDTH) -> list[Line]:
    """Return how many requests were refused by each rule."""
    if not len(plan.refusals):
        return []
    found = np.bincount(plan.refusals.column("rule"), minlength=len(OUTCOMES)).tolist()
    rules = {code: count for code, count in zip(OUTCOMES, found, strict=True) if count}
    ranked = sorted(rules.items(), key=lambda pair: (-pair[1], pair[0]))
    lines: list[Line] = [[("head", f"{counted(len(plan.refusals), 'request')} did not start:")]]
    for rule, count in ranked[:top]:
        said = f"{count:,} {rule}"
        doc = f": {reason(rule, 'request').doc}"
        words = fit(doc, room - len(said), ellipsis=glyphs.ellipsis).rstrip()
        lines.append([("", said), ("dim", words)])
    if len(ranked) > top:
        lines.append([("", f"and {counted(len(ranked) - top, 'more rule')}")])
    return lines


def starving_sentences(statuses: Statuses) -> list[str]:
    """Return how many operations and pools are below their fair shares, and starve."""
    found = statuses.counts()
    sentences = []
    for kind, noun in (("operation", "operation"), ("pool", "pool")):
        of = found[kind]
        if not of["all"]:
            continue
        hard = of["aggressively_starving"]
        starving = f"{of['starving']:,} starving" + (f", {hard:,} aggressively" if hard else "")
        below = f"{of['below_fair_share']:,} of {counted(of['all'], noun)} below their fair share"
        sentences.append(f"{below}, {starving}.")
    return sentences


def not_waited(plan: Plan) -> bool:
    """Return whether all that is below its fair share has been so since this instant."""
    if not len(plan.statuses):
        return False
    statuses, now = plan.statuses, round(plan.snapshot.now * 1e6)
    since = statuses.column("since")[statuses.column("status") == 1]
    return bool(len(since) and not statuses.column("starvation").any() and (since >= now).all())


def _starving_cells(statuses: Statuses, top: int, glyphs: Glyphs) -> list[list[str]]:
    """Return heads and a row for each of those that starve most and longest."""
    starvation, since = statuses.column("starvation"), statuses.column("since")
    below = np.flatnonzero(statuses.column("status") == 1)
    order = below[np.lexsort((since[below], -starvation[below].astype(np.int64)))]
    names, pools = list(statuses), statuses.snapshot.pool_count
    cells = [list(_STARVING)]
    for row in order[:top].tolist():
        status = statuses.at(row)
        ago = None if status.since is None else statuses.snapshot.now - status.since
        timeout = "" if status.timeout is None else duration(status.timeout, glyphs)
        cells.append(
            [
                clean(names[row]),
                "pool" if row < pools else "operation",
                STARVATION[starvation[row]].replace("_", " "),
                "" if ago is None else f"{duration(ago, glyphs)} ago",
                ratio(status.satisfaction, glyphs),
                timeout,
            ]
        )
    return cells


def starving_lines(statuses: Statuses, top: int, glyphs: Glyphs = UNICODE, room: int = _WIDTH) -> list[Line]:
    """Return a sentence on what is below its share, and a line for each that starves most."""
    if not len(statuses):
        return []
    lines: list[Line] = [[("head", sentence)] for sentence in starving_sentences(statuses)]
    cells = _starving_cells(statuses, top, glyphs)
    if len(cells) > 1:
        lines += _aligned(cells, frozenset({3, 4, 5}), glyphs, room)
    return lines


def statuses_text(statuses: Statuses) -> str:
    """Statuses as text: how many are below and starve, and those that starve most."""
    return paint(starving_lines(statuses, _LISTED))


def statuses_html(statuses: Statuses) -> str:
    """Statuses as HTML: the same, with more rows."""
    return markup.wrap(statuses_text(statuses), _statuses_body(statuses))


def _statuses_body(statuses: Statuses) -> str:
    if not len(statuses):
        return ""
    heads, *rows = _starving_cells(statuses, _HTML_ROWS, UNICODE)
    sentence = markup.safe(" ".join(starving_sentences(statuses)))
    if not rows:
        return f"<div>{sentence}</div>"
    return markup.fold(sentence, markup.table(heads, rows, numbers=(3, 4, 5)), opened=len(rows) <= _TEXT_ROWS)


def plan_text(plan: Plan) -> str:
    """Plan as text: how much is done, the first decisions, what starves, what was refused."""
    lines: list[Line] = [
        [("head", "Plan"), ("", f" {plan_title(plan)}")],
        [("", plan_sentence(plan))],
        *decision_lines(plan, _TEXT_ROWS),
        [],
        *starving_lines(plan.statuses, 0),
        *([[("warn", _NOT_WAITED)]] if not_waited(plan) else []),
        *refusal_lines(plan, _LISTED),
        *diagnostic_lines(plan.diagnostics, _LISTED),
    ]
    return paint(lines)


def plan_html(plan: Plan) -> str:
    """Plan as HTML: a foldable row a step, statuses, refusals, diagnostics."""
    steps, units = plan.steps(), plan.snapshot.units
    serving = [step for step in steps if step.victims] + [step for step in steps if not step.victims]
    parts = [
        markup.header("Plan", plan_title(plan)),
        f"<div>{markup.safe(plan_sentence(plan))}</div>",
        *(_step_html(step, units, opened=len(serving) <= 3) for step in serving[:_LISTED]),
    ]
    rest = [decision for step in serving[_LISTED:] for decision in step.decisions]
    if rest:
        rows = [_decision_cells(decision, units) for decision in rest[:_HTML_ROWS]]
        more = f", the first {len(rows):,}" if len(rows) < len(rest) else ""
        parts.append(markup.fold(f"{len(rest):,} more decisions{more}", markup.table(_DECISION, rows)))
    parts.append(_statuses_body(plan.statuses))
    if not_waited(plan):
        parts.append(f"<div>{markup.safe(_NOT_WAITED)}</div>")
    if len(plan.refusals):
        rows = [[clean(r.request), r.rule, r.message] for r in plan.refusals[:_HTML_ROWS]]
        label = f"{counted(len(plan.refusals), 'request')} did not start"
        parts.append(markup.fold(label, markup.table(["request", "rule", "in words"], rows)))
    if plan.diagnostics:
        found = [(d.code, d.message) for d in plan.diagnostics[:_HTML_ROWS]]
        parts.append(
            markup.fold(
                counted(len(plan.diagnostics), "diagnostic"), markup.table(["code", "message"], found)
            )
        )
    return markup.wrap(plan_text(plan), *parts)


def _step_html(step: Any, units: Mapping[str, str | None], *, opened: bool) -> str:
    beneficiary = step.beneficiary
    served = "repair"
    if beneficiary is not None:
        served = f"{markup.safe(beneficiary.request)} of {markup.safe(beneficiary.operation)}"
    quiet = f"{markup.safe(step.stage)}, {counted(len(step.victims), 'victim')}"
    freed = in_short(step.freed, units)
    if freed:
        quiet += f", frees {markup.safe(freed)}"
    rows = [_decision_cells(decision, units) for decision in step.decisions]
    summary = f'<b>{markup.safe(step.node)}</b> {served} <span class="eh-quiet">{quiet}</span>'
    return markup.fold(summary, markup.table(_DECISION, rows[:_HTML_ROWS]), opened=opened)
