"""Comparison of a plan with what a seed case lists of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance.case import Checker, is_number
from tests.conformance.planners import Answer

EXACT_ENOUGH = 1e-9
NOTHING = "nothing"


@dataclass(frozen=True)
class Subject:
    """What one expected entry is compared with."""

    checker: Checker
    label: str
    key: str
    answer: Answer
    snapshot: Mapping[str, Any]

    @property
    def victims(self) -> list[dict[str, Any]]:
        """Decisions that preempt."""
        return self.answer.decisions("preempt")

    def same(self, element: Any, expected: Any, got: Any) -> None:
        """Compare one value: numbers within 1e-9, all else exactly."""
        where = f"{self.label}: {element}".rstrip(": ")
        if is_number(expected) and is_number(got):
            self.checker.number(where, self.key, expected, got, EXACT_ENOUGH)
        else:
            self.checker.equal(where, self.key, expected, got)

    def same_set(self, element: Any, expected: Sequence[Any], got: Sequence[Any]) -> None:
        """Compare what may stand in any order."""
        self.same(element, sorted(map(str, expected)), sorted(map(str, got)))

    def parts(self, expected: Sequence[Mapping[str, Any]], got: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Find for each expected object one that has all its values; return the rest."""
        rest = list(got)
        for wanted in expected:
            self.checker.compared += 1
            found = next((entry for entry in rest if _holds(wanted, entry)), None)
            if found is None:
                self.checker.fail(self.label, self.key, wanted, rest)
            else:
                rest.remove(found)
        return rest

    def each(self, expected: Mapping[str, Any], field: str, compare: Callable[..., None]) -> None:
        """Compare a field of the decision on each named victim."""
        for name, value in expected.items():
            decisions = [d for d in self.victims if d["allocation"] == name]
            if len(decisions) != 1:
                self.checker.fail(f"{self.label}: {name}", self.key, value, decisions)
            else:
                compare(name, value, decisions[0].get(field, NOTHING))

    def part_of(self, element: Any, expected: Mapping[str, Any], got: Any) -> None:
        """Compare the listed keys of an object."""
        for key, value in expected.items():
            self.same(
                f"{element}.{key}", value, got.get(key, NOTHING) if isinstance(got, Mapping) else NOTHING
            )

    def amounts(self, element: Any, expected: Mapping[str, float], got: Any) -> None:
        """Compare amounts; an absent one is 0."""
        for resource in {*expected, *(got if isinstance(got, Mapping) else ())}:
            found = got.get(resource, 0) if isinstance(got, Mapping) else NOTHING
            self.same(f"{element}.{resource}", expected.get(resource, 0), found)

    def one_of(self, element: Any, expected: Any, got: Any) -> None:
        """Compare with a value, or with several of which one must be met."""
        if isinstance(expected, list):
            self.same(element, True, got in expected)
        else:
            self.same(element, expected, got)


def compare(
    checker: Checker, label: str, expected: Mapping[str, Any], answer: Answer, snapshot: Mapping[str, Any]
) -> None:
    """Compare all that is listed; a key that is not known here has failed."""
    for key, value in expected.items():
        subject = Subject(checker, label, key, answer, snapshot)
        if key in COMPARISONS:
            COMPARISONS[key](subject, value)
        else:
            checker.fail(label, key, value, "not compared")


def _holds(wanted: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    return all(
        abs(entry[key] - value) <= EXACT_ENOUGH
        if is_number(value) and is_number(entry.get(key))
        else key in entry and type(entry[key]) is type(value) and entry[key] == value
        for key, value in wanted.items()
    )


def _victims(subject: Subject, expected: list[Any]) -> None:
    subject.same_set("", expected, [d["allocation"] for d in subject.victims])


def _victims_in_order(subject: Subject, expected: list[Any]) -> None:
    subject.same("", expected, [d["allocation"] for d in subject.victims])


def _victims_of(subject: Subject, expected: Mapping[str, list[Any]]) -> None:
    for request, names in expected.items():
        found = [
            d["allocation"] for d in subject.victims if (d.get("beneficiary") or {}).get("request") == request
        ]
        subject.same_set(request, names, found)
        _must_be_there(subject, "requests", request)


def _exactly(action: str) -> Callable[[Subject, list[Mapping[str, Any]]], None]:
    def exactly(subject: Subject, expected: list[Mapping[str, Any]]) -> None:
        for left in subject.parts(expected, subject.answer.decisions(action)):
            subject.checker.fail(subject.label, subject.key, None, left)

    return exactly


def _starts_in_order(subject: Subject, expected: list[Any]) -> None:
    subject.same("", expected, [d["request"] for d in subject.answer.decisions("start")])


def _placed(subject: Subject, expected: Mapping[str, Any]) -> None:
    for request, node in expected.items():
        subject.same(request, [node], sorted({d["node"] for d in _placements(subject, request)}))


def _not_placed(subject: Subject, expected: list[Any]) -> None:
    for request in expected:
        _must_be_there(subject, "requests", request)
        subject.same(request, [], _placements(subject, request))


def _placements(subject: Subject, request: Any) -> list[dict[str, Any]]:
    return [d for d in subject.answer.decisions("start", "reserve") if d.get("request") == request]


def _reservations(subject: Subject, expected: list[Mapping[str, Any]]) -> None:
    subject.parts(expected, subject.answer.decisions("reserve"))


def _counts(subject: Subject, expected: Mapping[str, int]) -> None:
    for action, count in expected.items():
        known = action in {"start", "preempt", "reserve", "release", "resume"}
        subject.same(action, count, len(subject.answer.decisions(action)) if known else NOTHING)


def _stages(subject: Subject, expected: Mapping[str, str]) -> None:
    for name, stage in expected.items():
        decisions = [d for d in subject.answer.decisions() if name in (d.get("request"), d.get("allocation"))]
        subject.same(name, [stage], sorted({d["stage"] for d in decisions}))


def _statuses(subject: Subject, expected: Mapping[str, Mapping[str, Any]]) -> None:
    for name, status in expected.items():
        subject.part_of(name, status, subject.answer.plan["statuses"].get(name))


def _groups(subject: Subject, expected: Mapping[str, str]) -> None:
    for name, group in expected.items():
        subject.same(name, group, subject.answer.plan["groups"].get(name, NOTHING))


def _fair_share(subject: Subject, expected: Mapping[str, Mapping[str, float]]) -> None:
    for name, shares in expected.items():
        subject.amounts(name, shares, subject.answer.fair_share.get(name, NOTHING))


def _refusals(subject: Subject, expected: list[Mapping[str, Any]]) -> None:
    subject.parts(expected, subject.answer.plan["refusals"])


def _accepted(subject: Subject, expected: list[int]) -> None:
    refused = {r["command"] for r in subject.answer.plan["refusals"] if r.get("command") is not None}
    count = len(subject.snapshot.get("commands", ()))
    subject.same("", expected, [i for i in range(max(count, *expected, 0)) if i not in refused])


def _messages(subject: Subject, expected: list[str]) -> None:
    found = [d["message"] for d in subject.answer.plan["diagnostics"]]
    for text in expected:
        subject.same(text, True, any(text in message for message in found))


def _missed(subject: Subject, expected: Mapping[str, int]) -> None:
    for request, count in expected.items():
        _must_be_there(subject, "requests", request)
        subject.same(request, count, subject.answer.state.requests.get(request, {}).get("missed", 0))


def _must_be_there(subject: Subject, table: str, name: Any) -> None:
    names = [row["name"] for row in subject.snapshot.get(table, ())]
    if name not in names:
        subject.checker.fail(subject.label, subject.key, name, f"not among the {table}")


COMPARISONS: Mapping[str, Callable[[Subject, Any], None]] = {
    "victims": _victims,
    "victims_in_order": _victims_in_order,
    "victims_of": _victims_of,
    "starts": _exactly("start"),
    "starts_in_order": _starts_in_order,
    "placed": _placed,
    "not_placed": _not_placed,
    "resumes": _exactly("resume"),
    "reservations": _reservations,
    "counts": _counts,
    "stages": _stages,
    "reasons": lambda subject, expected: subject.each(expected, "reason", subject.same),
    "modes": lambda subject, expected: subject.each(expected, "mode", subject.one_of),
    "grace": lambda subject, expected: subject.each(expected, "grace", subject.same),
    "beneficiaries": lambda subject, expected: subject.each(expected, "beneficiary", subject.part_of),
    "within_fair_share": lambda subject, expected: subject.each(
        expected, "victim_within_fair_share", subject.same
    ),
    "freed": lambda subject, expected: subject.each(expected, "freed", subject.amounts),
    "kept": lambda subject, expected: subject.each(expected, "kept", subject.amounts),
    "numbers": lambda subject, expected: subject.each(expected, "numbers", subject.part_of),
    "statuses": _statuses,
    "groups": _groups,
    "fair_share": _fair_share,
    "refusals": _refusals,
    "accepted": _accepted,
    "messages": _messages,
    "missed": _missed,
}
