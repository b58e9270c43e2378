"""How plots look: one colour a meaning, no ground of their own, and no label upon another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import display, plot
from evenhand.display.palette import ABOVE, AGGRESSIVE, ANSI, INK, NEUTRAL, PALETTE, STARTS, STARVES, USED
from evenhand.plot._axes import inked
from evenhand.reasons import ACTIONS, STAGES
from tests.packaging.layers import ROOT
from tests.unit.fakes import FakeShares
from tests.unit.test_plot_runs import HOUR, Run, columns

matplotlib = pytest.importorskip("matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")

GROUNDS = ("#ffffff", "#111111", "#14181e", "#1e1e1e")  # paper; JupyterLab, Sphinx and VS Code in dark
LONG = "a-department/of-a-long-name/with-teams/and-people"
FEATURE = "example.com/accelerator-of-the-third-generation"


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    plt.switch_backend("Agg")
    yield
    plt.close("all")


# --- what is drawn: many rows, long names, values that nearly agree


def crowded() -> eh.Snapshot:
    """Return 45 pools whose guarantees, shares and usages nearly agree, and a node full of small work."""
    pools = [f"{i:02}-{LONG}" for i in range(45)]
    guarantees = [{FEATURE: 20 + i % 3, "cpu": 20} for i in range(45)]
    jobs = [{"name": f"{pool}/job", "pool": pool} for pool in pools]
    held = [(f"{pool}/job", f"n{i % 3}", {FEATURE: 21, "cpu": 20}) for pool in pools[:8] for i in range(6)]
    return eh.Snapshot.from_dict(
        {
            "now": 7200,
            "resources": {"cpu": {}, FEATURE: {}},
            "nodes": [{"name": f"n{k}", "capacity": {"cpu": 340, FEATURE: 340}} for k in range(3)],
            "pools": [
                {"name": n, "strong_guarantee": g, "weight": 1 + i / 100}
                for i, (n, g) in enumerate(zip(pools, guarantees, strict=True))
            ],
            "operations": jobs,
            "allocations": [
                {"name": f"{job}-{node}-{i}", "operation": job, "node": node, "resources": amounts}
                | {"start_time": i}
                for i, (job, node, amounts) in enumerate(held)
            ],
            "requests": [
                {"name": f"{j['name']}/pending", "operation": j["name"], "count": 2}
                | {"resources": {FEATURE: 10, "cpu": 10}, "submit_time": 0}
                for j in jobs[8:]
            ],
        }
    )


@pytest.fixture(scope="module")
def plans() -> dict[str, eh.Plan]:
    near = {
        "consider_allocation_on_fair_share_bound_preemptible": True,
        "aggressive_preemption_satisfaction_threshold": 0.99,
        "preemption_satisfaction_threshold": 1.01,
    }
    snapshot = crowded()
    policies = {
        f"a plan under settings of a long name, {i}": eh.policies.YTsaurus(**{**near, **more})
        for i, more in enumerate(
            [{}, {"victim_selection": "minimum"}, {"preemption_satisfaction_threshold": 2}]
        )
    }
    made = {name: eh.plan(snapshot, policy, as_if_waiting="1h") for name, policy in policies.items()}
    assert all(len(plan.decisions.victims) > 2 for plan in made.values())
    return made


def run() -> Any:
    """Return a run with eight kinds of preemptions, of pools with long names."""
    made = Run()
    stages = [s for s in STAGES if s not in ("regular", "backfill")][:8]
    made.raw["decisions"] = columns(
        time=[HOUR * (1 + i) for i in range(8)],
        action=[ACTIONS.index("preempt")] * 8,
        operation=[i % 3 for i in range(8)],
        stage=[STAGES.index(stage) for stage in stages],
    )
    made.snapshot.names = lambda table: ["<Root>", *(f"{i}-{LONG}" for i in range(3))]
    return made


def drawings(plans: dict[str, eh.Plan]) -> dict[str, Any]:
    """Return a figure of each plot."""
    plan = next(iter(plans.values()))
    victim = plan.decisions.victims[0]
    metrics = {
        f"{LONG} {i}": {
            "waiting.p95": 1e6 + i,
            f"lost_work.{FEATURE}": 123456.789,
            "slowdown.p95": float("nan"),
        }
        for i in range(6)
    }
    axes: dict[str, Any] = {
        "pool_tree": plot.pool_tree(plan.shares),
        "pool_tree, one resource": plot.pool_tree(plan.shares, resource="cpu", max_pools=60),
        "pool_tree, few": plot.pool_tree(FakeShares()),  # type: ignore[arg-type]
        "groups": plot.groups(plan, victim.operation),
        "groups, older": plot.groups(plan, victim.operation, max_allocations=1),
        "node": plot.node(plan, victim.node),  # type: ignore[arg-type]
        "side_by_side": plot.side_by_side(plans)[0],
        "comparison": plot.comparison(metrics)[0],
        "comparison, one": plot.comparison(metrics, names=[f"lost_work.{FEATURE}"])[0],
        "timeline": plot.timeline(run())[0],
        "raster": plot.raster(run()),
    }
    return {name: ax.figure for name, ax in axes.items()}


# --- ground and ink


def luminance(colour: Any) -> float:
    channels = np.array(matplotlib.colors.to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(one: Any, other: Any) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ground", GROUNDS)
def test_colours_are_seen_on_every_ground(ground: str) -> None:
    assert {name for name, colour in PALETTE.items() if contrast(colour.value, ground) < 3} == set()
    assert contrast(INK.value, ground) >= 3.8, "text is read"


def test_a_plot_has_no_ground_and_ink_that_is_read(plans: dict[str, eh.Plan]) -> None:
    for name, figure in drawings(plans).items():
        buffer = BytesIO()
        figure.savefig(buffer, format="png")
        buffer.seek(0)
        pixels = plt.imread(buffer)
        assert pixels[0, 0, 3] == 0, f"{name}: the page shows through"
        # A transparent colour tells matplotlib-inline that a light ground is needed: a white box in the dark.
        assert matplotlib.colors.to_rgba(figure.get_facecolor())[3] == 1, name
        assert np.ptp(pixels[..., :3]) > 0.5, f"{name}: something is drawn"
        for text in texts(figure):
            tag = text.get_bbox_patch()
            if tag is None:
                assert text.get_color() == INK.value, f"{name}: {text.get_text()}"
            else:
                assert (text.get_color(), tag.get_facecolor()[:3]) == ("black", (1, 1, 1)), name


def test_a_style_and_axes_that_are_given_stay_as_they_are() -> None:
    with plt.style.context("dark_background"):
        ax: Any = plot.pool_tree(FakeShares())  # type: ignore[arg-type]
        assert matplotlib.colors.to_rgba(ax.figure.get_facecolor()) == (0, 0, 0, 1)
        assert {text.get_color() for text in texts(ax.figure)} == {"white"}
    _, given = plt.subplots()
    plot.pool_tree(FakeShares(), ax=given)  # type: ignore[arg-type]
    assert {text.get_color() for text in texts(given.figure)} == {"black"}
    assert plt.rcParams["text.color"] == "black", "nothing of it stays"


def test_what_a_backend_sets_meanwhile_stays() -> None:
    """As that of notebooks does when the first figure is made: without it none is shown."""

    @inked
    def draw(*, ax: Any = None) -> bool:
        plt.rcParams["interactive"] = True
        return plt.rcParams["text.color"] == INK.value

    before = plt.rcParams["interactive"]
    try:
        assert draw()
        assert plt.rcParams["interactive"] is True
        assert plt.rcParams["text.color"] == "black"
    finally:
        plt.rcParams["interactive"] = before


# --- one colour a meaning


MEANS = {
    USED: {"used", "owed", "stays", "non preemptible"},
    ABOVE: {"above fair share", "is preempted", "preemptible", "preemptive", "limit repair", "overcommit"},
    AGGRESSIVE: {"aggressively preemptible", "aggressive", "ssd aggressive"},
    STARTS: {"starts", "room made for it"},
    STARVES: {"starved"},
    NEUTRAL: {"was leaving already"},
}


def colours_of(artist: Any) -> set[str]:
    """Return the colours in which something is drawn, without their transparency."""
    getters = ("get_facecolor", "get_edgecolor", "get_facecolors", "get_edgecolors", "get_color")
    found = set()
    for getter in getters:
        value = getattr(artist, getter, lambda: None)()
        rows = [] if value is None or (isinstance(value, str) and value == "none") else [value]
        if isinstance(value, np.ndarray) and value.ndim == 2:
            rows = list(value)
        found |= {matplotlib.colors.to_hex(row) for row in rows if matplotlib.colors.to_rgba(row)[3] > 0}
    return found


def test_every_plot_draws_in_colours_of_the_palette(plans: dict[str, eh.Plan]) -> None:
    known = {colour.value for colour in PALETTE.values()} | {"#000000"}
    for name, figure in drawings(plans).items():
        for ax in figure.axes:
            drawn = [*ax.patches, *ax.lines, *ax.collections]
            assert set().union(*(colours_of(artist) for artist in drawn)) <= known, name


def test_a_word_has_one_colour_in_all_legends(plans: dict[str, eh.Plan]) -> None:
    seen: dict[str, set[str]] = {}
    for figure in drawings(plans).values():
        legends = [*figure.legends, *filter(None, (ax.get_legend() for ax in figure.axes))]
        for legend in legends:
            for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
                word = re.sub(r" \([\d,]+\)$", "", text.get_text())
                seen.setdefault(word, set()).update(colours_of(handle))
    for colour, words in MEANS.items():
        for word in words & seen.keys():
            assert seen[word] == {colour.value}, word
    assert len(set().union(*MEANS.values()) & seen.keys()) >= 11


def test_html_and_terminals_have_the_colours_of_plots() -> None:
    html = display.shares_html(FakeShares())  # type: ignore[arg-type]
    assert set(re.findall(r"--eh-used: ([^;]+);", html)) == {USED.value}
    assert set(re.findall(r"--eh-above: ([^;]+);", html)) == {ABOVE.value}
    channels = tuple(int(USED.value[i : i + 2], 16) for i in (1, 3, 5))
    assert set(re.findall(r"--eh-owed: ([^;]+);", html)) == {f"rgba({str(channels)[1:-1]}, .25)"}
    hues = [ANSI[style] for style in ("used", "above", "warn")]
    assert len(set(hues)) == 3, "what is warned of has not the colour of what is above its share"


def test_no_other_module_names_a_colour() -> None:
    package = ROOT / "python" / "evenhand"
    named = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"\"#[0-9a-fA-F]{6}\"", path.read_text("utf-8"))
    }
    assert named == {"display/palette.py"}


# --- labels


def texts(figure: Any) -> list[Any]:
    """Return the texts that are seen: not those of ticks beyond the axes."""
    figure.canvas.draw()
    hidden = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not ax.get_visible() or not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                    hidden |= {tick.label1, tick.label2}
    found = figure.findobj(matplotlib.text.Text)
    unseen = [t for ax in figure.axes if not ax.get_visible() for t in ax.findobj(matplotlib.text.Text)]
    return [
        t for t in found if t.get_visible() and t.get_text().strip() and t not in hidden and t not in unseen
    ]


def test_labels_do_not_collide(plans: dict[str, eh.Plan]) -> None:
    for name, figure in drawings(plans).items():
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
        assert boxes
        for i, (label, box) in enumerate(boxes):
            assert box.x0 >= -1, f"{name}: {label} begins outside"
            assert box.x1 <= figure.bbox.x1 + 1, f"{name}: {label} ends outside"
            assert box.y0 >= -1, f"{name}: {label} is below"
            assert box.y1 <= figure.bbox.y1 + 1, f"{name}: {label} is above"
            for other, beside in boxes[i + 1 :]:
                wide = min(box.x1, beside.x1) - max(box.x0, beside.x0)
                high = min(box.y1, beside.y1) - max(box.y0, beside.y0)
                assert wide <= 1 or high <= 1.5, f"{name}: {label!r} is upon {other!r}"
