"""Plans of several policies side by side: the table, the summary, the picture, and the tiers before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import evenhand as eh
from evenhand import plans

pytest.importorskip("pandas")

CLUSTER: dict[str, Any] = {
    "now": 1000,
    "resources": {"cpu": {}, "memory": {}},
    "nodes": [{"name": "n1", "capacity": {"cpu": 8, "memory": 8}}],
    "pools": [
        {"name": "z-lab", "strong_guarantee": {"cpu": 4}},
        {"name": "a-deep", "parent": "z-lab"},  # before its parent in canonical order
        {"name": "rest"},
    ],
    "operations": [
        {"name": "big", "pool": "a-deep", "start_time": 0},
        {"name": "low", "pool": "rest", "start_time": 5},
        {"name": "new", "pool": "z-lab", "start_time": 10},
    ],
    "allocations": [
        *(
            {"name": f"big-{i}", "operation": "big", "node": "n1", "start_time": i}
            | {"resources": {"cpu": 1, "memory": 1}}
            for i in range(6)
        ),
        {"name": "low-0", "operation": "low", "node": "n1", "start_time": 5}
        | {"resources": {"cpu": 2, "memory": 2}},
    ],
    "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 2, "memory": 2}}],
}
SLURM = eh.policies.Slurm(
    PreemptType="preempt/partition_prio",
    PreemptMode="REQUEUE",
    partitions={"best-effort": {"PriorityTier": 1}, "guaranteed": {"PriorityTier": 2}},
)


@pytest.fixture
def three() -> dict[str, eh.Plan]:
    snapshot = eh.policies.tiered(eh.Snapshot.from_dict(CLUSTER))
    return {
        "yt": eh.plan(snapshot, eh.policies.YTsaurus(), given={"starvation": {"new": "starving"}}),
        "slurm": eh.plan(snapshot, SLURM),
        "backendai": eh.plan(snapshot, eh.policies.BackendAI()),
    }


def test_tiers_are_inherited_and_change_nothing_else() -> None:
    before = eh.Snapshot.from_dict(CLUSTER)
    after = eh.policies.tiered(before)
    rows = {row["name"]: row for row in after.to_dict()["operations"]}
    tiers = {name: (row["partition"], row["priority"]) for name, row in rows.items()}
    high, low = ("guaranteed", 20), ("best-effort", 5)
    assert tiers == {"big": high, "new": high, "low": low}
    plain = after.to_dict()
    for row in plain["operations"]:
        del row["partition"], row["priority"]
    assert eh.Snapshot.from_dict(plain) == before


def test_tiers_of_ones_own() -> None:
    chosen = {"z-lab": "mid", "rest": "top"}
    tiers = {"low": 1, "mid": 2, "top": 3}
    table = eh.policies.tiered(eh.Snapshot.from_dict(CLUSTER), chosen, tiers=tiers).table("operations")
    assert dict(zip(table["name"], table["partition"], strict=True)) == {
        "big": "mid",
        "low": "top",
        "new": "mid",
    }
    with pytest.raises(eh.InputError) as error:
        eh.policies.tiered(eh.Snapshot.from_dict(CLUSTER), {"nope": "mid", "rest": "huge"}, tiers=tiers)
    assert [(p.name, p.rule) for p in error.value.problems] == [("nope", "exists"), ("rest", "choice")]


def test_the_table_says_what_the_plans_say(three: dict[str, eh.Plan]) -> None:
    both = plans.side_by_side(three)
    frame = both.to_pandas().set_index("allocation")
    for name, plan in three.items():
        taken = {d.allocation: (d.beneficiary.operation, d.reason) for d in plan.decisions.victims}
        some = frame[frame[f"{name}.reason"].notna()]
        found = zip(some[f"{name}.for"], some[f"{name}.reason"], strict=True)
        assert dict(zip(some.index, found, strict=True)) == taken
        assert taken
    assert frame[[f"{name}.reason" for name in three]].notna().any(axis=1).all()
    assert frame.loc["low-0", "operation"] == "low"
    assert frame.loc["low-0", "node"] == "n1"
    # Those that most plans take come first.
    times = frame[[f"{name}.reason" for name in three]].notna().sum(axis=1).tolist()
    assert times == sorted(times, reverse=True)


def test_the_summary_counts(three: dict[str, eh.Plan]) -> None:
    summary = plans.side_by_side(three).summary().to_pandas().set_index("plan")
    frame = plans.side_by_side(three).to_pandas()
    alone = frame[[f"{name}.reason" for name in three]].notna().sum(axis=1) == 1
    for name, plan in three.items():
        victims = list(plan.decisions.victims)
        row = summary.loc[name]
        assert row["allocations"] == len(victims)
        assert row["operations"] == len({d.operation for d in victims})
        assert row["for"] == len({d.beneficiary.operation for d in victims})
        assert row["starts"] == len(plan.decisions.starts)
        assert row["freed.cpu"] == sum(d.freed["cpu"] for d in victims)
        assert row["only_here"] == (alone & frame[f"{name}.reason"].notna()).sum()
    assert summary["only_here"].tolist() == [2, 0, 0], "yt takes from the pool above its share"


def test_why_asks_every_plan(three: dict[str, eh.Plan]) -> None:
    told = plans.side_by_side(three).why("low-0")
    assert [*told] == [*three]
    for name, explanation in told.items():
        assert explanation.text == three[name].why("low-0").text
    with pytest.raises(KeyError):
        plans.side_by_side(three).why("nobody")


def tables(shown: Any) -> int:
    """Return how many tables there are, those that go on below counted once."""
    html = shown._repr_html_()
    return int(html.count("<table") - html.count("of the same rows"))


def test_what_it_looks_like(three: dict[str, eh.Plan]) -> None:
    both = plans.side_by_side(three)
    assert "for, slurm" in repr(both)
    assert "low-0" in repr(both)
    assert tables(both) == 3, "the summary, the allocations, the requests"


def test_plans_of_different_snapshots(three: dict[str, eh.Plan]) -> None:
    other = eh.plan(three["slurm"].snapshot.replace(now=2000), SLURM)
    with pytest.raises(ValueError, match="different snapshots"):
        plans.side_by_side({**three, "other": other})
    with pytest.raises(ValueError, match="no plan"):
        plans.side_by_side({})


def test_nobody_goes(three: dict[str, eh.Plan]) -> None:
    off = eh.plan(three["slurm"].snapshot, SLURM.replace(PreemptType=None, PreemptMode="OFF"))
    both = plans.side_by_side({"off": off})
    assert len(both.table()) == 0
    assert both.summary()["allocations"].tolist() == [0]
    assert "off" in repr(both)


class TestPicture:
    """What `evenhand.plot.side_by_side` draws."""

    @pytest.fixture(autouse=True)
    def no_screen(self) -> Iterator[None]:
        plt = pytest.importorskip("matplotlib.pyplot")
        plt.switch_backend("Agg")
        yield
        plt.close("all")

    def test_bars_are_parts_of_what_operations_hold_or_get(self, three: dict[str, eh.Plan]) -> None:
        from evenhand import plot

        axes: Any = plot.side_by_side(three)
        assert [ax.get_title(loc="left") for ax in axes] == [*three]
        assert [label.get_text() for label in axes[0].get_yticklabels()] == ["big (6)", "low (2)", "new (2)"]
        drawn = [
            {
                (round(p.get_y() + p.get_height() / 2), round(p.get_x()), round(p.get_width()))
                for p in ax.patches
            }
            for ax in axes
        ]
        assert drawn == [
            {(0, 0, 67), (0, 67, 33), (1, 0, 100), (2, 0, 100)},  # two of six are taken
            {(0, 0, 100), (1, 0, 100), (2, 0, 100)},
            {(0, 0, 100), (1, 0, 100), (2, 0, 100)},
        ]

    def test_few_rows(self, three: dict[str, eh.Plan]) -> None:
        from evenhand import plot

        assert len(plot.side_by_side(three, max_operations=1)[0].get_yticklabels()) == 1
        with pytest.raises(ValueError, match="at least 1"):
            plot.side_by_side(three, max_operations=0)
        with pytest.raises(ValueError, match="no resource"):
            plot.side_by_side(three, resource="gpu")


@pytest.mark.parametrize(
    ("arguments", "field", "rule"),
    [
        ({"tiers": {}}, "tiers", "required"),
        ({"tiers": ["low"]}, "tiers", "type"),
        ({"tiers": {"low": "1"}}, "tiers.low", "type"),
        ({"pools": ["z-lab"]}, "pools", "type"),
    ],
)
def test_tiers_that_are_none(arguments: dict[str, Any], field: str, rule: str) -> None:
    with pytest.raises(eh.InputError) as error:
        eh.policies.tiered(eh.Snapshot.from_dict(CLUSTER), **arguments)
    assert [(p.field, p.rule) for p in error.value.problems] == [(field, rule)]


class TestOtherActions:
    """Modes, grace, resumptions and reservations stand beside the victims."""

    def made(self) -> plans.SideBySide:
        from tests.unit.plans.fake import make, victim

        return plans.side_by_side(
            {
                "one": make(
                    [
                        victim("a09", "n1", 0, grace=60),
                        {"action": "reserve", "request": "b", "operation": "B", "node": "n1", "step": 0}
                        | {"reason": "room_reserved", "stage": "preemptive", "needed": {"cpu": 2}},
                    ]
                ),
                "two": make(
                    [
                        victim("a09", "n1", 0, mode="checkpoint"),
                        {"action": "resume", "allocation": "c1", "operation": "C", "node": "n3", "step": 1}
                        | {"reason": "room_reserved", "stage": "preemptive"},
                        {"action": "release", "allocation": "c2", "operation": "C", "node": "n3", "step": 2}
                        | {"reason": "room_reserved", "stage": "preemptive"},
                    ]
                ),
            }
        )

    def test_allocations(self) -> None:
        rows = self.made().to_pandas().set_index("allocation")
        assert rows.index.tolist() == ["a09", "c1", "c2"]
        facts = ["one.action", "one.mode", "one.grace", "two.action", "two.mode", "two.grace"]
        assert rows.loc["a09", facts].tolist() == ["preempt", "requeue", 60, "preempt", "checkpoint", 30]
        assert rows.loc["c1", "two.action"] == "resume"
        assert rows.loc["c1", ["one.action", "two.mode", "two.grace"]].isna().all()
        assert rows.loc["c2", "two.action"] == "release"

    def test_requests(self) -> None:
        (row,) = self.made().requests().rows()
        assert row == ("b", "B", "reserve", "n1", 100.0, None, None, None)

    def test_summary(self) -> None:
        summary = self.made().summary().to_pandas().set_index("plan")
        counts = summary[["starts", "resumes", "reserves", "releases"]]
        assert counts.values.tolist() == [[0, 0, 1, 0], [0, 1, 0, 1]]
        assert summary["modes"].tolist() == ["requeue", "checkpoint"]
        assert summary["grace"].tolist() == [60, 30]

    def test_text(self) -> None:
        text = repr(self.made())
        for words in ("B (requeue in 60 s)", "B (checkpoint in 30 s)", "resume", "release", "reserve"):
            assert words in text
        assert tables(self.made()) == 3
