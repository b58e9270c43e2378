"""Plots of simulated runs: what stands where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import plot
from evenhand.building.readback import NO_TIME
from evenhand.reasons import ACTIONS, STAGES
from evenhand.simulate import Metrics

matplotlib = pytest.importorskip("matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")

S = 1_000_000
HOUR = 3600 * S


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    plt.switch_backend("Agg")
    yield
    plt.close("all")


class Names:
    """What a plot asks a snapshot."""

    def names(self, table: str) -> list[str]:
        assert table == "pools"
        return ["<Root>", "lab", "web", "$x_1$"]


def columns(**lists: list[Any]) -> dict[str, Any]:
    return {name: np.array(cells) for name, cells in lists.items()}


@dataclass
class Run:
    """Two samples of four pools in ten hours; three preemptions."""

    snapshot: Any = field(default_factory=Names)
    span: tuple[float, float] = (0.0, 36_000.0)
    operation_names: list[str] = field(default_factory=lambda: ["etl", "train", "idle"])
    operation_pools: Any = field(default_factory=lambda: np.array([1, 2, 3], np.int32))
    raw: Any = field(
        default_factory=lambda: {
            "series": columns(
                time=[0] * 4 + [5 * HOUR] * 4,
                pool=[0, 1, 2, 3] * 2,
                usage=[0.5, 0.25, 0.25, 0.0, 1.0, 0.75, 0.25, 0.0],
                fair_share=[1.0, 0.5, 0.5, 0.25, 1.0, 0.5, 0.5, 0.25],
                demand=[0.75, 1.0, 0.25, 0.0, 1.5, 1.0, 0.25, 0.0],
                guarantee=[0.0, 0.3, 0.0, 0.0] * 2,
            ),
            "spells": columns(
                pool=[1, -1, 1], **{"from": [HOUR, 0, 8 * HOUR]}, until=[2 * HOUR, HOUR, NO_TIME]
            ),
            "decisions": columns(
                time=[HOUR, HOUR, 4 * HOUR, 9 * HOUR],
                action=[ACTIONS.index("preempt")] * 3 + [ACTIONS.index("start")],
                operation=[0, 1, 1, 1],
                stage=[STAGES.index("preemptive"), STAGES.index("preemptive"), STAGES.index("aggressive"), 0],
            ),
        }
    )


def labels(ax: Any) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_timeline_has_a_panel_a_pool() -> None:
    axes: Any = plot.timeline(Run())  # type: ignore[arg-type]
    assert [ax.get_title(loc="left") for ax in axes] == ["lab", "web", "$x_1$"]
    fair, guarantee = axes[0].lines
    assert fair.get_xdata().tolist() == [0, 5, 10]
    assert fair.get_ydata().tolist() == [50, 50, 50]
    assert guarantee.get_ydata().tolist() == [30, 30, 30]
    # What it did not want is not owed to it.
    assert axes[1].lines[0].get_ydata().tolist() == [25, 25, 25]
    used, starved = axes[0].collections
    assert used.get_datalim(axes[0].transData).y1 == pytest.approx(75)
    spans = [(path.get_extents().x0, path.get_extents().x1) for path in starved.get_paths()]
    assert spans == [(1, 2), (8, 10)]
    assert axes[-1].get_xlabel() == "hours from the beginning"
    assert axes[-1].get_xlim() == (0, 10)


def test_timeline_draws_the_pools_that_used_most_where_nothing_is_owed() -> None:
    run = Run()
    series = run.raw["series"]
    series["fair_share"] = np.zeros(8)
    series["usage"] = np.array([0.5, 0.0, 0.25, 0.25, 1.0, 0.0, 0.25, 0.75])
    axes: Any = plot.timeline(run, max_pools=1)  # type: ignore[arg-type]
    assert [ax.get_title(loc="left") for ax in axes] == ["$x_1$"]
    series["fair_share"][5] = 0.01  # one that is owed something comes before all that are owed nothing
    axes = plot.timeline(run, max_pools=1)  # type: ignore[arg-type]
    assert [ax.get_title(loc="left") for ax in axes] == ["lab"]


def test_timeline_draws_the_pools_that_are_owed_most_or_named() -> None:
    axes: Any = plot.timeline(Run(), max_pools=1)  # type: ignore[arg-type]
    assert [ax.get_title(loc="left") for ax in axes] == ["lab"]
    axes = plot.timeline(Run(), pools=["web", "<Root>"], figure=plt.figure())  # type: ignore[arg-type]
    assert [ax.get_title(loc="left") for ax in axes] == ["web", "<Root>"]
    with pytest.raises(ValueError, match="no pool 'x'"):
        plot.timeline(Run(), pools=["x"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_pools"):
        plot.timeline(Run(), max_pools=0)  # type: ignore[arg-type]
    empty = Run()
    empty.raw["series"] = {name: column[:0] for name, column in empty.raw["series"].items()}
    with pytest.raises(ValueError, match="no samples"):
        plot.timeline(empty)  # type: ignore[arg-type]


def marks(ax: Any) -> dict[str, list[tuple[float, float]]]:
    return {
        line.get_label(): list(zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True))
        for line in ax.lines
    }


def test_raster_marks_preemptions() -> None:
    ax: Any = plot.raster(Run())  # type: ignore[arg-type]
    assert labels(ax) == ["web (2)", "lab (1)"]
    assert marks(ax) == {"preemptive": [(1, 1), (1, 0)], "aggressive": [(4, 0)]}
    ax = plot.raster(Run(), by="operation", max_rows=1)  # type: ignore[arg-type]
    assert labels(ax) == ["train (2)", "… and 1 more operation"]
    assert marks(ax) == {"preemptive": [(1, 0)], "aggressive": [(4, 0)]}


def test_raster_of_nothing_says_so() -> None:
    run = Run()
    run.raw["decisions"] = {name: column[:0] for name, column in run.raw["decisions"].items()}
    _, ax = plt.subplots()
    assert plot.raster(run, ax=ax) is ax  # type: ignore[arg-type]
    assert [text.get_text() for text in ax.texts] == ["nothing was preempted"]
    for wrong in ({"by": "node"}, {"max_rows": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            plot.raster(run, **wrong)  # type: ignore[arg-type]


def test_comparison_has_a_panel_a_metric() -> None:
    runs = {
        "a": Metrics({"waiting.p95": 30.0, "lost_work.cpu": 2.0, "lost_work.gpu": 9.0}),
        "b": Metrics({"waiting.p95": float("nan"), "lost_work.cpu": 4.0}),
    }
    axes: Any = plot.comparison(runs)
    assert [ax.get_title(loc="left") for ax in axes] == ["waiting.p95 (s)", "lost_work.cpu (cpu·h)"]
    assert [[p.get_width() for p in ax.patches] for ax in axes] == [[30, 0], [2, 4]]
    assert [t.get_text() for t in axes[0].texts] == ["30", "none"]
    assert labels(axes[0]) == ["a", "b"]
    (one,) = plot.comparison(runs, names=["lost_work.gpu"], figure=plt.figure())
    assert [t.get_text() for t in one.texts] == ["9", "none"]
    with pytest.raises(ValueError, match="no run has a metric 'x'"):
        plot.comparison(runs, names=["x"])
    with pytest.raises(ValueError, match="nothing to compare"):
        plot.comparison({})


@pytest.mark.parametrize(
    ("length", "unit"), [(30, "seconds"), (600, "minutes"), (20_000, "hours"), (1e6, "days")]
)
def test_the_axis_has_a_unit_that_suits_the_run(length: float, unit: str) -> None:
    ax = plot.raster(Run(span=(0.0, length)))  # type: ignore[arg-type]
    assert ax.get_xlabel() == f"{unit} from the beginning"


def test_a_real_run_is_drawn() -> None:
    work = eh.synthetic.workload(jobs=60, nodes=4, users=6, groups=2, load=1.5, seed=2)
    result = eh.simulate(work.snapshot(), eh.policies.Slurm(), work)
    for drawn in (plot.timeline(result)[0], plot.raster(result), plot.comparison({"one": result.metrics})[0]):
        content = BytesIO()
        drawn.figure.savefig(content, format="png")
        assert len(content.getvalue()) > 5000
