"""Gangs that hold a part of what they want, on a real trace."""

from __future__ import annotations

import pytest

from tests.bench import gangs
from tests.shared import shared


@pytest.mark.shared
def test_only_under_ytsaurus_a_gang_holds_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gangs, "TRACE", shared("traces", "philly-vc-2017", gangs.TRACE.name))
    found = gangs.measured(30, nodes=16)
    for name, metrics in found.items():
        assert metrics["preemptions"] > 0, name
        held = metrics["incomplete_gangs.gpu"]
        assert (held > 1) if name.startswith("ytsaurus") else (held == 0), name
    without, aggressive = found["ytsaurus"], found["ytsaurus, aggressive"]
    assert without["starvation.aggressive"] == 0 < aggressive["starvation.aggressive"]
    assert aggressive["starvation.aggressive"] <= aggressive["starvation.total"]
    # A cell each, and no number where nothing starves.
    lines = gangs.table(found).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert "| starvation, million s |  |  |  | " in lines[5]
