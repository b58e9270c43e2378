"""Why a share is the number that it is: one small cluster for each cause."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh


def shares(operations: list[dict[str, Any]], *pools: dict[str, Any], **settings: Any) -> eh.Shares:
    data = {
        "resources": {"cpu": {}},
        "total": {"cpu": 100},
        "pools": list(pools),
        "operations": operations,
    }
    return eh.fair_share(eh.Snapshot.from_dict(data), eh.FairShareSettings(**settings))


def op(name: str, pool: str, demand: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "pool": pool, "demand": {"cpu": demand}, **more}


def test_demand() -> None:
    why = shares([op("x", "a", 20)], {"name": "a"}).why("a")
    assert (why.code, why.text) == ("demand", "a has all that it wants: 20 % (20 cpu).")


def test_a_limit_of_a_child() -> None:
    found = shares([op("x", "b", 60), op("y", "a", 10)], {"name": "a"}, pool("b", "a", limits={"cpu": 5}))
    why = found.why("a")
    assert why.code == "child_limit"
    said = "a has 15 % (15 cpu) of the 70 % (70 cpu) that it wants, because its child b is limited to 5 %."
    assert why.text == said
    assert [one["element"] for one in why.numbers["limited"]] == ["b"]
    x = found.why("x")
    assert (x.code, x.numbers["decides"]) == ("limit", "b")
    assert [step["cause"] for step in x.numbers["path"]] == ["child_limit", "child_limit", "limit", "pool"]
    assert "because it is limited to 5 %" in x.text.split("\n")[1]


def pool(name: str, parent: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "parent": parent, **more}


def test_weights_and_guarantees() -> None:
    found = shares(
        [op("x", "a", 100), op("y", "b", 100)],
        {"name": "a", "weight": 3, "strong_guarantee": {"cpu": 20}},
        {"name": "b"},
    )
    why = found.why("a")
    assert why.text == (
        "a has 80 % (80 cpu) of the 100 % (100 cpu) that it wants: 20 % by guarantee and 60 % by its weight, "
        "3 of 4 with b, which wants more of <Root> too.\n"
        "<Root> has 100 % (100 cpu) of the 200 % (200 cpu) that it wants: there is no more cpu in the"
        " cluster."
    )
    assert why.code == "weight"


def test_nothing_beyond_guarantees() -> None:
    owed = [{"name": n, "strong_guarantee": {"cpu": c}} for n, c in (("a", 60), ("b", 40), ("c", 0))]
    found = shares([op(n, n, 90) for n in "abc"], *owed)
    assert [found.why(n).code for n in "abc"] == ["guarantee"] * 3
    assert found.why("a").text.startswith(
        "a has 60 % (60 cpu) of the 90 % (90 cpu) that it wants: its guarantee is 60 %, and <Root> had"
        " nothing"
    )
    assert "it has no guarantee, and <Root> had nothing to pass on" in found.why("c").text


def test_queues_and_gangs() -> None:
    fifo = shares([op("x", "a", 80), op("y", "a", 80)], {"name": "a", "mode": "fifo"})
    assert (fifo.why("x").code, fifo.why("y").code) == ("demand", "order")
    assert "a serves operations in order" in fifo.why("y").text
    gangs = shares(
        [op("x", "a", 80, gang=True), op("y", "a", 80)], {"name": "a"}, step_function_for_gang=True
    )
    assert gangs["fair_share"][gangs.names.index("x"), 0] == 0
    assert gangs.why("x").code == "gang"
    assert "a gang gets all that it wants or nothing" in gangs.why("x").text


def test_one_element() -> None:
    found = shares([op("a", "a", 20), op("y", "a", 300)], {"name": "a"})
    table = found.element("a")
    assert table.title == "a: pool of <Root>"
    assert table["fair_share"].tolist() == [pytest.approx(1)]  # type: ignore[union-attr]
    own = found.element("a", kind="operation")
    assert own["demand_share"].tolist() == [0.2]  # type: ignore[union-attr]
    assert found.why("a", kind="operation").table == "operations"
    for ask in (found.element, found.why):
        with pytest.raises(KeyError, match="there is no pool or operation 'nobody'"):
            ask("nobody")


def test_hostile_names_are_cleaned() -> None:
    bad = "b\x1b[31m"
    text = shares([op("x", bad, 300)], {"name": bad, "limits": {"cpu": 10}}).why(bad).text
    assert "\x1b" not in text
