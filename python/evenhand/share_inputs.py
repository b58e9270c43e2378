"""What fair shares are computed from, as the core takes it, and what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand import _core
from evenhand.diagnostics import CODES, Diagnostic
from evenhand.errors import InputError, Problem
from evenhand.provenance import digest
from evenhand.units.text import amounts_of

if TYPE_CHECKING:
    from evenhand.config.fair_share import FairShareSettings
    from evenhand.model import Snapshot
    from evenhand.quantities import KeptShares
    from evenhand.state import State

__all__ = ["diagnostics_of", "memory_of", "options_of"]

_ISSUES = (
    ("pool_tree_guarantees_overcommit", "strong_plus_flow"),
    ("pool_tree_guarantees_overcommit", "strong_plus_burst"),
    ("nested_promised_guarantee_fair_share_pools", None),
    ("priority_strong_guarantee_adjustment_pools_without_donor", None),
)


def options_of(
    snapshot: Snapshot, settings: FairShareSettings
) -> tuple[_core.FairShareOptions, tuple[Diagnostic, ...]]:
    """Return settings as the core takes them, and what is to be said of them."""
    options = _core.FairShareOptions()
    for name in (
        "step_function_for_gang",
        "fifo_reordering",
        "improved",
        "integral_pool_capacity_saturation_period_s",
        "integral_smooth_period_s",
        "fifo_truncation",
        "limit_strong_before_scaling",
    ):
        setattr(options, name, getattr(settings, name))
    main = settings.main_resource or "cpu"
    if main in snapshot.resources:
        options.main_resource = snapshot.resources.index(main)
        return options, ()
    if settings.main_resource is not None:
        message = f"main_resource is {main!r}; the resources are {', '.join(snapshot.resources)}"
        raise InputError([Problem("settings", None, None, "main_resource", "exists", repr(main), message)])
    options.main_resource = -1
    if not snapshot._core.column("pools", "strong_guarantee_given").any():
        return options, ()
    message = f"no resource is called {main!r}: guarantees that are not given are 0"
    return options, (Diagnostic("main_resource_absent", (), message, {"main_resource": main}),)


def memory_of(
    snapshot: Snapshot, settings: FairShareSettings, state: State
) -> tuple[_core.VolumeMemory, tuple[Diagnostic, ...]]:
    """Return a state's volumes by the snapshot's pools, and what became of those that left."""
    state.check_clock(snapshot.now)
    core = snapshot._core
    quantum = np.array(list(snapshot.quantum.values()))
    volumes = np.array(core.column("pools", "integral.accumulated_volume"), float)
    ratios = np.array(core.column("pools", "integral.last_share_ratio"), float)
    row_of = {name: row for row, name in enumerate(snapshot.element_names[: snapshot.pool_count])}
    left = []
    for name, kept in state.pools.items():
        row = row_of.get(name)
        if row is None:
            left.append(name)
            continue
        volume = kept["accumulated_volume"]
        volumes[row] = [volume.get(resource, 0.0) for resource in snapshot.resources] / quantum
        ratios[row] = kept["last_share_ratio"]
    found = []
    if left:
        message = f"{len(left)} pools of the state have left and are dropped: {', '.join(map(str, left[:5]))}"
        found.append(Diagnostic("state_pool_left", tuple(left), message, {"count": len(left)}))
    if state.settings and state.settings != digest(settings.model_dump_json()):
        found.append(Diagnostic("state_settings_changed", (), CODES["state_settings_changed"], {}))
    updated = state.time if state.updated is None else state.updated
    return _core.VolumeMemory(round(updated * 1e6), volumes.ravel(), ratios), tuple(found)


def diagnostics_of(snapshot: Snapshot, core: _core.FairShares | KeptShares) -> list[Diagnostic]:
    """Return what the core found wrong with the guarantees."""
    names = snapshot.element_names
    found = []
    for issue, rows, wanted in core.diagnostics:
        code, kind = _ISSUES[issue]
        elements = tuple(names[row] for row in rows)
        if kind is None:
            message = f"{CODES[code]} Pools: {', '.join(map(str, elements))}."
            found.append(Diagnostic(code, elements, message))
            continue
        asked = np.multiply(wanted, list(snapshot.quantum.values())).tolist()
        amounts = dict(zip(snapshot.resources, asked, strict=True))
        total = snapshot.total
        over = {r: wanted for r, wanted in amounts.items() if wanted > total[r]}
        what = "flows" if kind == "strong_plus_flow" else "bursts"
        said = amounts_of(over, total, snapshot.units)
        message = f"Strong guarantees and {what} together exceed the cluster: {said}."
        found.append(
            Diagnostic(code, ("<Root>",), message, {"kind": kind, "wanted": amounts, "total": total})
        )
    return found
