"""Clauses: what a system says beyond its codes, worded from facts by name."""

from __future__ import annotations

from string import Formatter
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.explain.clauses import Known
from evenhand.explain.facts import Facts
from evenhand.reasons import OUTCOMES, reason
from evenhand.systems import SYSTEMS
from evenhand.systems.reason import Clause
from tests.unit.ytsaurus.cluster import cluster, row

UNSAID = np.iinfo(np.int64).min
CLAUSES = [
    pytest.param(kind, code, clause, id=f"{word}-{code}")
    for word, system in SYSTEMS.items()
    for (kind, code), clauses in system.says.items()
    for clause in clauses
]
#: Kinds that are of no code of their own, and those of what is said of a victim.
PARTS = ("part", "cost", "letter", "fate")
OF_VICTIMS = ("lacking", "order", "selection", "mode", "rule")
DATA: dict[str, Any] = cluster(
    {"cpu": 8, "memory": 4},
    [row("a1", "a", cpu=2)],
    [row("r", "b", cpu=4)],
) | {"resources": {"cpu": {"quantum": 1}, "memory": {"quantum": 1}}}


def known(recorded: dict[str, Any], **event: Any) -> Known:
    plan = eh.plan(eh.Snapshot.from_dict(DATA), eh.policies.YTsaurus())
    return Known(Facts(plan), recorded, event, {"operation": ("operations", 0), "row": ("requests", 0)})


class Settings(Facts):
    """Facts of a policy with a table among its settings."""

    def setting(self, name: str) -> Any:
        return {"early": Clause("a"), "late": Clause("b")} if name == "queues" else super().setting(name)


@pytest.mark.parametrize(("kind", "code", "clause"), CLAUSES)
def test_a_clause_is_of_a_code_and_its_fields_are_names(kind: Any, code: str, clause: Clause) -> None:
    if kind not in PARTS:
        of: Any = "victim" if kind in OF_VICTIMS else "allocation" if kind == "stood" else kind
        assert reason(code, of, "allocation", "request").code == code
    fields = [(name, form) for _, name, form, _ in Formatter().parse(clause.sentence) if name is not None]
    assert all(part.isidentifier() for name, _ in fields for part in name.split("."))
    forms = ("", "span", "words", "name", "nodes", "tags", "listed", "exact", "part", "said", "each", "all")
    assert all(form in forms or form.startswith(("of ", "beside ", "one ")) for _, form in fields)
    assert not set(clause.says) & {one if isinstance(one, str) else one[0] for one in clause.numbers}


@pytest.mark.parametrize("word", [word for word, system in SYSTEMS.items() if system.says])
def test_every_part_is_named_somewhere(word: str) -> None:
    says = SYSTEMS[word].says
    named = {
        name
        for clauses in says.values()
        for clause in clauses
        for _, name, form, _ in Formatter().parse(clause.sentence)
        if form == "part"
    } | {part for clauses in says.values() for clause in clauses for part in clause.then}
    assert {code for kind, code in says if kind == "part"} - {"asks"} == named


@pytest.mark.parametrize(
    ("recorded", "sentence", "text", "value"),
    [
        ({"numbers": {"x": 3.0}}, "{x}", "3", 3),
        ({"numbers": {"x": 2500.5}}, "{x}", "2,500.5", 2500.5),
        ({"times": {"until": 1_500_000}}, "{until}", "1.5 s (", 1.5),
        ({"times": {"wait": 61_000_000}}, "{wait:span}", "61 s", 61.0),
        ({"operations": {"x": 1}}, "{x}", "b", "b"),
        ({"requests": {"x": 0}}, "{x}", "r", "r"),
        ({"pools": {"x": 0}}, "{x}", "the cluster as a whole", None),
        ({"allocations": {"x": 0}}, "{x}", "a1", "a1"),
        ({"slots": {"x": [0, 0]}}, "{x}", "a1", ["a1"]),
        ({"jobs": {"x": [1, 0]}}, "{x}", "operation b and operation a", ["b", "a"]),
        ({"hosts": {"x": 0}}, "{x}", "node n", "n"),
        ({"hosts": {"x": 0}}, "{x:name}", "n", "n"),
        ({"words": {"x": "low.q"}}, "{x}", "low.q", "low.q"),
        ({"settings": {"x": ("queues", 1)}}, "{x}", "late", "late"),
        ({"numbers": {"x": 3.14159265}}, "{x:beside x}", "3.14159265", 3.14159265),
        ({"lists": {"x": ["j", "gone"]}}, "{x}", "j and gone", ["j", "gone"]),
        ({"lists": {"x": ["ssd"]}}, "{x:tags}", "the tag ssd", ["ssd"]),
        ({"lists": {"x": ["ssd", "gpu"]}}, "{x:tags}", "the tags ssd and gpu", ["ssd", "gpu"]),
        ({"jobs": {"x": [1, 1]}}, "{x:one has|have}", "has", ["b"]),
        ({"jobs": {"x": [1, 0]}}, "{x:one has|have}", "have", ["b", "a"]),
        ({"numbers": {"x": 1.0}}, "{x:one job|jobs}", "job", 1),
        ({"numbers": {"x": 0.0}}, "{x:one job|jobs}", "jobs", 0),
        ({"numbers": {"x": 0.1 + 0.7}}, "{x:exact}", "0.7999999999999999", 0.1 + 0.7),
        ({"numbers": {"x": 3.0}}, "{x:exact}", "3", 3),
        ({"numbers": {"x": 1e-7}}, "{x:exact}", "0.0000001", 1e-7),
        ({"numbers": {"x": 12345.5}}, "{x:exact}", "12,345.5", 12345.5),
        ({"numbers": {"x": 0.12341, "y": 0.12342}}, "{x:beside y}", "0.12341", 0.12341),
        ({"nodes": {"x": [0]}}, "{x:nodes}", "node n", ["n"]),
        ({"operations": {"element": 1}}, "{element}", "operation b", "b"),
        ({"amounts": {"x": np.array([2, UNSAID])}}, "{x}", "2 cpu", {"cpu": 2}),
        ({"amounts": {"x": np.array([0, 3])}}, "{x}", "0 cpu, 3 memory", {"cpu": 0, "memory": 3}),
        (
            {"amounts": {"x": np.array([2, 0]), "most": np.array([4, UNSAID])}},
            "{x:of most}",
            "2 of 4 cpu",
            {"cpu": 2, "memory": 0},
        ),
    ],
)
def test_facts_read_as_their_kinds_and_names_say(
    recorded: dict[str, Any], sentence: str, text: str, value: Any
) -> None:
    of = known(recorded)
    of.facts = Settings(of.facts.plan)
    name = next(n for _, n, _, _ in Formatter().parse(sentence) if n)
    said = of.first((Clause(sentence, (name,)),))
    assert said is not None
    assert said[0].startswith(text)
    assert value is None or said[1] == {name: value}


def test_the_first_clause_whose_facts_are_known_and_equal_is_said() -> None:
    clauses = (
        Clause("{missing}"),
        Clause("other", where={"x": 2}),
        Clause("no number", ("missing",)),
        Clause("{x:of missing}"),
        Clause("said", ("x",), where={"x": 1}, says={"y": "constant"}),
        Clause("later"),
    )
    of = known({"numbers": {"x": 1.0}})
    assert of.first(clauses) == ("said", {"y": "constant", "x": 1})
    assert of.first(clauses[:4]) is None


def test_a_clause_has_parts_which_may_be_unknown() -> None:
    of = known({"numbers": {"x": 3.0}, "stood": np.eye(256, dtype=int)[OUTCOMES.index("backoff")]})
    of.says = {
        ("part", "more"): (Clause(" and {missing}"), Clause(" and {x} more", ("x",), {"x": (2, 3)})),
        ("part", "nothing"): (Clause(" but {missing}"),),
        ("stood", "backoff"): (Clause("{count} of {x}", where={"first": True}),),
        ("allocation", "backoff"): (Clause("backed off", says={"of_{operation}": "c"}),),
    }
    assert of.first((Clause("some{more:part}{nothing:part}"),)) == ("some and 3 more", {"x": 3})
    assert of.first((Clause("{stood:each}", (("n", "stood"),)),)) == ("1 of 3", {"n": {"backoff": 1}})
    of.event = {"why": "backoff", "none": "no_code"}
    assert of.first((Clause("{none:said}"), Clause("it {why:said}"))) == ("it backed off", {"of_a": "c"})


def test_all_parts_that_follow_and_are_known_are_sentences_of_their_own() -> None:
    of = known({"numbers": {"x": 1.0}})
    of.says = {
        ("part", "one"): (Clause("it is {x}", ("x",)),),
        ("part", "unknown"): (Clause("it is {missing}"),),
        ("part", "empty"): (Clause("", says={"y": 2}),),
        ("part", "other"): (Clause("no {missing}"), Clause("the other")),
    }
    first = Clause("said", then=("one", "unknown", "empty", "other"))
    assert of.told((Clause("{missing}", then=("one",)), first)) == (
        "said",
        {"x": 1, "y": 2},
        ("it is 1", "the other"),
    )
    assert of.told((Clause("{missing}"),)) is None


def test_codes_are_counted_in_a_row_and_the_last_comes_behind_and() -> None:
    stood = np.zeros(256, int)
    codes = ("backoff", "operation_starving", "stage_taken")
    stood[[OUTCOMES.index(one) for one in codes]] = 1
    of = known({"stood": stood})
    of.says = {("stood", one): (Clause(one),) for one in codes}
    assert of.first((Clause("{stood:all}"),)) == (f"{codes[0]}, {codes[1]} and {codes[2]}", {})
    of = known({"stood": np.eye(256, dtype=int)[OUTCOMES.index("backoff")]})
    of.says = {("stood", "backoff"): (Clause("backoff"),)}
    assert of.first((Clause("{stood:all}"),)) == ("backoff", {})
    assert known({}).first((Clause("{stood:all}", ("stood",)),)) is None


def test_a_setting_of_the_pace_is_known_by_its_name() -> None:
    assert known({}).value("victim_cooldown") == eh.policies.YTsaurus().settings.pace.victim_cooldown
    assert known({}).value("no_such_setting") is None


def test_a_name_with_a_dot_is_a_cell_of_a_row() -> None:
    of = known({"operations": {"asks": 1}})
    said = of.first(
        (Clause("{asks.kind} {asks.missing}"), Clause("{asks.kind}", (("{asks}_is", "asks.kind"),)))
    )
    assert said == ("batch", {"b_is": "batch"})
    assert of.value("asks.user") is None
    assert of.value("row.node_tags") in (None, [])
    assert of.value("missing.kind") is None


def test_a_name_with_a_dot_is_a_cell_of_a_row_of_settings() -> None:
    of = known({"settings": {"of": ("queues", 1)}})
    of.facts = Settings(of.facts.plan)
    assert of.first((Clause("{of.sentence}", (("said", "of.sentence"),)),)) == ("b", {"said": "b"})


@pytest.mark.parametrize(
    ("count", "text", "more"), [(5, "a, b, c, d and e", 0), (6, "a, b, c, d and 2 more", 2)]
)
def test_of_names_that_are_left_out_their_number_is_one_of_its_numbers(
    count: int, text: str, more: int
) -> None:
    said = known({"lists": {"x": list("abcdef"[:count])}}).first((Clause("{x:listed}"),))
    assert said == (text, {"more": more} if more else {})


def test_what_was_recorded_comes_before_the_event_and_the_settings() -> None:
    setting, clause = "victim_cost", (Clause("{victim_cost}"),)
    assert known({}).first(clause) == ("victims", {})
    assert known({}, **{setting: "of the event"}).first(clause) == ("of the event", {})
    assert known({"numbers": {setting: 7.0}}, **{setting: "of the event"}).first(clause) == ("7", {})


def test_a_second_question_about_the_same_makes_no_plan() -> None:
    plan = eh.plan(eh.Snapshot.from_dict(DATA), eh.policies.YTsaurus())
    asked: list[tuple[str, int]] = []

    class Core:
        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        def trace(self, kind: str, row: int) -> Any:
            asked.append((kind, row))
            return inner.trace(kind, row)

    inner = plan._core
    plan._keep(_core=Core())
    first = plan.why("a1").to_dict()
    assert plan.why_not("a1").to_dict() == first
    plan.why("r")
    assert asked == [("allocation", 0)]
