"""The plot of the pool tree."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import plot
from evenhand.errors import MissingExtraError
from tests.unit.fakes import CLUSTER, FakeShares, chain
from tests.waiting import HANG

matplotlib = pytest.importorskip("matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def labels(ax: Any) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def bars(ax: Any) -> set[tuple[int, float, float]]:
    """(row, start, length) of every bar."""
    return {
        (round(p.get_y() + p.get_height() / 2), round(p.get_x(), 6), round(p.get_width(), 6))
        for p in ax.patches
    }


def test_bars_and_marks_stand_where_the_numbers_are() -> None:
    ax: Any = plot.pool_tree(FakeShares(), resource="cpu")
    assert labels(ax) == ["lab", "   /nlp", "web", "idle"]
    assert bars(ax) == {(0, 0, 30), (0, 30, 20), (1, 0, 5), (1, 5, 15), (2, 0, 25), (2, 25, 25)}
    (marks,) = ax.collections
    assert [segment[0][0] for segment in marks.get_segments()] == pytest.approx([40, 10])
    assert ax.get_xlim() == pytest.approx((0, 50))
    assert ax.get_xlabel() == "% of cpu"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "used",
        "above fair share",
        "owed",
        "guarantee",
    ]


def test_each_bar_names_its_dominant_resource() -> None:
    ax: Any = plot.pool_tree(FakeShares())
    assert [text.get_text() for text in ax.texts] == ["cpu"] * 4
    assert ax.get_xlabel() == "% of each pool's dominant resource"


def test_many_pools_are_capped() -> None:
    rows: list[Any] = [CLUSTER[0], *((f"p{i:03}", *CLUSTER[1][1:]) for i in range(300))]
    ax: Any = plot.pool_tree(FakeShares(rows), max_pools=30)
    assert len(labels(ax)) == 31
    assert labels(ax)[-1] == "… and 270 more pools"
    low, high = ax.get_ylim()
    assert low > 30 > 0 > high, "the first pool is at the top and the last line is inside"
    all_of_them = plot.pool_tree(FakeShares(rows), max_pools=300)
    assert len(labels(all_of_them)) == 300


def test_given_axes_are_drawn_into() -> None:
    figure, (left, right) = plt.subplots(1, 2)
    assert plot.pool_tree(FakeShares(), ax=right) is right
    assert not left.patches
    assert right.patches
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("style", ["default", "dark_background", "grayscale"])
def test_it_renders_in_every_style(style: str) -> None:
    with plt.style.context(style):
        ax: Any = plot.pool_tree(FakeShares())
        buffer = BytesIO()
        ax.figure.savefig(buffer, format="png")
        buffer.seek(0)
        pixels = plt.imread(buffer)
        marks = ax.collections[0]
        (halo,) = marks.get_path_effects()
    assert np.ptp(pixels[..., :3]) > 0.5, "something is drawn"
    assert matplotlib.colors.to_rgb(marks.get_colors()[0]) == (0, 0, 0)
    assert halo._gc["foreground"] == "white", "marks stand out from any ground and any bar"


def test_names_are_text_not_mathematics() -> None:
    rows: list[Any] = [
        CLUSTER[0],
        (r"$\frac{1}{0$ $", *CLUSTER[1][1:]),
        ("a\x1b[31m\n" + "b" * 99, *CLUSTER[1][1:]),
    ]
    ax: Any = plot.pool_tree(FakeShares(rows, resources=(r"$\c$", "gpu")))
    ax.figure.savefig(BytesIO(), format="png")
    assert labels(ax)[0] == r"$\frac{1}{0$ $"
    assert all(text.isprintable() and len(text) <= 34 for text in labels(ax))


def test_real_shares() -> None:
    snapshot = eh.Snapshot.from_dict(
        {
            "resources": {"cpu": {}},
            "total": {"cpu": 10},
            "pools": [{"name": "a", "weight": 3}, {"name": "b", "strong_guarantee": {"cpu": 2}}],
            "operations": [{"name": "x", "pool": "a", "demand": {"cpu": 10}, "usage": {"cpu": 5}}],
        }
    )
    ax: Any = plot.pool_tree(eh.fair_share(snapshot))
    assert labels(ax) == ["a", "b"]
    assert bars(ax) == {(0, 0, 50), (0, 50, 50)}


def test_odd_trees() -> None:
    for rows in (chain(100), chain(0)):
        ax: Any = plot.pool_tree(FakeShares(rows, resources=("cpu",)))
        ax.figure.savefig(BytesIO())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"max_pools": 0}, "max_pools is at least 1, not 0"), ({"resource": "tpu"}, "no resource 'tpu'")],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot.pool_tree(FakeShares(), **arguments)


def test_without_matplotlib_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'pip install "evenhand\[plot\]"'):
        plot.pool_tree(FakeShares())


def test_importing_the_package_of_plots_imports_no_matplotlib() -> None:
    code = "import evenhand.plot, sys; assert not any(name.startswith('matplotlib') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=HANG)
