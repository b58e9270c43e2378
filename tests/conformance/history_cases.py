"""Answers to the history kinds of priority.json, in the shape of each case's ``expected``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from evenhand.history import Decay, ShareTree, backendai, gridengine, slurm
from evenhand.history.decay import DAY

Answers = dict[str, Any]


def run(case: Mapping[str, Any]) -> Answers:
    """Compute what a case of one of `KINDS` expects: an object with the keys of ``expected``."""
    return KINDS[case["kind"]](case)


def classic_fair_share(case: Mapping[str, Any]) -> Answers:
    table = slurm.classic(
        ShareTree.from_dict(case["tree"]),
        total=1.0,  # usages are given as fractions of all usage
        fair_share_dampening_factor=case["config"]["FairShareDampeningFactor"],
    )
    return by_name(table, "norm_shares", "effective_usage", "factor")


def fair_tree(case: Mapping[str, Any]) -> Answers:
    rows = [{"name" if key == "id" else key: value for key, value in row.items()} for row in case["tree"]]
    # The expected ranks of uD2 and uD3 come from rounded level fair shares that are equal in truth.
    table = slurm.fair_tree(ShareTree.from_rows(rows), ties="floating")
    return {name: values["factor"] for name, values in by_name(table, "factor").items()}


def fair_share_usage(case: Mapping[str, Any]) -> Answers:
    given = case["input"]
    usage = backendai.normalised_usage(
        {resource: [amount] for resource, amount in given["usage_resource_seconds"].items()},
        given["capacity"],
        lookback_days=given["lookback_days"],
        weights=given["weights"],
    )
    return {"normalised_usage": float(usage[0]), "factor_weight_1": float(backendai.factor(usage)[0])}


def fair_share_factor(case: Mapping[str, Any]) -> Answers:
    rows = case["input"]
    return {"factor": backendai.factor([r["usage"] for r in rows], [r["weight"] for r in rows]).tolist()}


def usage_decay(case: Mapping[str, Any]) -> Answers:
    sums = []
    for given in case["input"]:
        days = {-entry["day"]: {"user": (float(entry["usage"]),)} for entry in given["history"]}
        buckets = backendai.UsageBuckets(("used",), days)
        sums.append(buckets.decayed(0.0, half_life_days=given["half_life_days"])["user"]["used"])
    return {"decayed_usage": sums}


def sharetree(case: Mapping[str, Any]) -> Answers:
    table = gridengine.share_tree(
        ShareTree.from_dict(case["nodes"]), compensation_factor=case["config"]["compensation_factor"]
    )
    return by_name(table, "short_term", "long_term")


def halflife(case: Mapping[str, Any]) -> Answers:
    hours, interval = case["config"]["halftime_hours"], case["config"]["usage_interval_s"]
    once, week = Decay.gridengine(hours).factor([interval, 7 * DAY]).tolist()
    exact = Decay.exact(hours * 3600).factor(7 * DAY)
    return {"per_interval_factor": once, "after_168h": week, "exact": float(exact)}


def by_name(table: Any, *columns: str) -> dict[str, dict[str, float]]:
    """Name → column → value."""
    values = {column: np.asarray(table[column]).tolist() for column in columns}
    return {name: {c: values[c][row] for c in columns} for row, name in enumerate(table["name"])}


KINDS: Mapping[str, Callable[[Mapping[str, Any]], Answers]] = {
    function.__name__: function
    for function in (
        classic_fair_share,
        fair_tree,
        fair_share_usage,
        fair_share_factor,
        usage_decay,
        sharetree,
        halflife,
    )
}
