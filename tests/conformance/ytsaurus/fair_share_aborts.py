"""Trees on which the real YTsaurus library stops the process: laws hold for them, no numbers are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from tests.conformance.case import Case, Checker
from tests.conformance.engines import Engine
from tests.conformance.ytsaurus.fair_share_oracle import PARTS, run

TOLERANCE = 1e-9


def recognises(document: Any) -> bool:
    """Lines with ``case`` and ``result``."""
    return (
        isinstance(document, list) and bool(document) and all("case" in x and "result" in x for x in document)
    )


def cases(document: list[dict[str, Any]]) -> Iterator[Case]:
    """One case a line."""
    for line in document:
        yield Case("ytsaurus_fair_share_aborts", line["case"]["name"], partial(check, line))


def check(line: Mapping[str, Any], engine: Engine) -> Checker:
    """The update ends, and all shares are finite and within 0 and 1."""
    result = run(line["case"], engine)
    checker = Checker()
    names = {row: str(name) for (_, name), row in result.rows.items()}
    shares = [
        whole + part for whole in ("fair_share", "promised_guarantee_fair_share") for part in PARTS.values()
    ]
    for quantity in (*shares, "limits_share", "strong_guarantee_share"):
        values = result.quantities(quantity)
        wrong = ~(np.isfinite(values) & (values >= 0) & (values <= 1 + TOLERANCE)).all(axis=1)
        if quantity == "strong_guarantee_share":
            wrong[result.rows["pool", "<Root>"]] = False  # the root's may exceed 1 (overcommitted guarantees)
        checker.compared += len(values)
        for row in np.flatnonzero(wrong):
            checker.fail(names[int(row)], quantity, "within 0 and 1", values[row].tolist())
    return checker
