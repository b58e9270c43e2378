"""The plots of plans: an operation's groups, a node before and after."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import plot
from tests.unit.plans.fake import CLUSTER, GROUPS_OF_A, HOSTILE, FakePolicy, make, remade

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture
def plan() -> Any:
    policy = FakePolicy(
        preemption_satisfaction_threshold=1.0, aggressive_preemption_satisfaction_threshold=0.5
    )
    return remade(make(), policy=policy)


def bars(ax: Any) -> list[tuple[int, float, float]]:
    """(row, start, length) of every bar, by row."""
    return sorted(
        (round(p.get_y() + p.get_height() / 2), round(p.get_x(), 4), round(p.get_width(), 4))
        for p in ax.patches
    )


def labels(ax: Any) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_groups_are_a_staircase_of_cumulative_shares(plan: Any) -> None:
    ax: Any = plot.groups(plan, "A", resource="cpu")
    assert labels(ax) == sorted(GROUPS_OF_A)
    step = 100 * 2 / 24
    assert bars(ax) == [(i, round(i * step, 4), round(step, 4)) for i in range(10)]
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["non preemptible (3)", "aggressively preemptible (3)", "preemptible (4)"]
    crosses = sorted((line.get_ydata()[0], round(line.get_xdata()[0], 2)) for line in ax.lines[:2])
    assert crosses == [(8, round(8.5 * step, 2)), (9, round(9.5 * step, 2))]
    fair = 100 * plan.shares["fair_share"][plan.snapshot.element_names.index("A"), 0]
    assert [line.get_xdata()[0] for line in ax.lines[2:]] == pytest.approx([fair / 2, fair])
    assert [text.get_text() for text in ax.texts] == ["aggressive threshold 0.5", "fair share, threshold 1"]


def test_older_allocations_are_drawn_together(plan: Any) -> None:
    ax: Any = plot.groups(plan, "A", resource="cpu", max_allocations=4)
    assert labels(ax) == ["6 older allocations", "a07", "a08", "a09", "a10"]
    step = 100 * 2 / 24
    assert bars(ax)[:2] == [(0, 0.0, round(3 * step, 4)), (0, round(3 * step, 4), round(3 * step, 4))]
    assert len(ax.patches) == 6


def test_an_operation_without_allocations(plan: Any) -> None:
    ax: Any = plot.groups(plan, "B")
    assert not ax.patches
    ax.figure.savefig(BytesIO())


def test_a_node_before_and_after(plan: Any) -> None:
    ax: Any = plot.node(plan, "n1")
    assert labels(ax) == [
        "10 cpu, before",
        "10 cpu, after",
        "100 memory, before",
        "100 memory, after",
    ]
    rows: dict[float, list[tuple[float, float]]] = {}
    for p in ax.patches:
        y = round(p.get_y() + p.get_height() / 2, 3)
        rows.setdefault(y, []).append((round(p.get_x(), 3), round(p.get_width(), 3)))
    assert rows[0.0] == [(0, 20), (20, 20), (40, 20), (60, 20), (80, 20)]
    assert rows[1.0] == rows[0.0], "b takes the place of a09"
    assert rows[2.3][-1] == (20, 5)
    assert rows[3.3][-1] == (20, 4)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["stays", "is preempted", "starts"]
    assert [text.get_text() for text in ax.texts][:5] == ["a01", "a03", "a05", "a07", "a09"]


def test_a_long_name_leaves_room_for_the_legend() -> None:
    data = copy.deepcopy(CLUSTER)
    data["nodes"][0]["name"] = "n" * 200
    for row in data["allocations"]:
        row["node"] = row["node"].replace("n1", "n" * 200)
    ax: Any = plot.node(make([], eh.Snapshot.from_dict(data)), "n" * 200)
    ax.figure.canvas.draw()
    title, legend = ax._left_title.get_window_extent(), ax.get_legend().get_window_extent()
    assert not title.overlaps(legend)
    assert title.x0 >= 0
    assert title.x1 <= ax.figure.bbox.x1


def test_what_was_leaving_already_is_told_apart() -> None:
    plan = make()
    after = plan.snapshot.after(plan)
    ax: Any = plot.node(make([], after), "n1")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["stays", "was leaving already"]
    assert ax.get_xlim()[1] > 120, "more than the node has, until the victim has gone"


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_they_render_in_every_style(plan: Any, style: str) -> None:
    with plt.style.context(style):
        for ax in (plot.groups(plan, "A"), plot.node(plan, "n1")):
            buffer = BytesIO()
            ax.figure.savefig(buffer, format="png")
            buffer.seek(0)
            assert np.ptp(plt.imread(buffer)[..., :3]) > 0.5


def test_given_axes_are_drawn_into(plan: Any) -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert plot.groups(plan, "A", ax=left) is left
    assert plot.node(plan, "n1", ax=right) is right
    assert len(plt.get_fignums()) == 1


def test_names_are_text() -> None:
    data = {**CLUSTER, "allocations": [dict(row) for row in CLUSTER["allocations"]]}
    data["allocations"][8]["name"] = r"$\frac{" + HOSTILE
    snapshot = eh.Snapshot.from_dict(data)
    plan = make([], snapshot, groups={r"$\frac{" + HOSTILE: "preemptible"}, refused={}, traces={})
    for ax in (plot.groups(plan, "A"), plot.node(plan, "n1")):
        ax.figure.savefig(BytesIO())
        assert all(text.isprintable() for text in labels(ax))


def test_wrong_arguments(plan: Any) -> None:
    with pytest.raises(KeyError, match="no operation 'x'"):
        plot.groups(plan, "x")
    with pytest.raises(ValueError, match="no resource 'gpu'"):
        plot.groups(plan, "A", resource="gpu")
    with pytest.raises(ValueError, match="max_allocations is at least 1"):
        plot.groups(plan, "A", max_allocations=0)
    with pytest.raises(KeyError, match="no node 'x'"):
        plot.node(plan, "x")
