"""Answers that are lost, and commands that reach no qmaster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.act import watch
from evenhand.adapters import AdapterError
from evenhand.adapters.commands import Result
from tests.unit.act.gridengine.cluster import Clock, Engine
from tests.unit.act.gridengine.test_jobs import RULES, act, adapter_of, driver, full

NOT_SENT = 'error: unable to send message to qmaster using port 6444 on host "h": got send error'
CONNECTION_REFUSED = f"error: commlib error: got select error (Connection refused)\n{NOT_SENT}"


class Silent:
    """A cluster that says one thing to commands that act, and does nothing."""

    def __init__(self, engine: Engine, said: str) -> None:
        self.engine, self.said = engine, said

    def __call__(self, arguments: Any, timeout: float) -> Result:
        if self.said and arguments[0] in ("qhold", "qmod", "qrls"):
            return Result(1, "", self.said)
        return self.engine(arguments, timeout)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (CONNECTION_REFUSED, "refused"),  # no connection, so nothing was asked
        (NOT_SENT, "unknown"),
        ('error: commlib error: got read error (closing "h/qmaster/1")', "unknown"),
        (f'error: commlib error: got read error (closing "h/qmaster/1")\n{CONNECTION_REFUSED}', "unknown"),
        ("error: unable to contact qmaster", "unknown"),
    ],
)
def test_an_answer_that_is_lost_is_unknown_and_a_connection_that_is_refused_an_answer(
    said: str, status: str
) -> None:
    clock = Clock()
    answer = adapter_of(Silent(Engine(full(), clock), said), clock).do("requeue_hold", "4", "")
    assert answer.status == status
    assert answer.message.startswith("error: ")


@pytest.mark.parametrize(("said", "outcome"), [(CONNECTION_REFUSED, "started"), (NOT_SENT, "refused")])
def test_others_leave_at_once_where_the_qmaster_was_not_reached(
    said: str, outcome: str, tmp_path: Path
) -> None:
    """Of a command that may have been sent it is not known: no other job leaves for `forget` seconds."""
    clock = Clock()
    runner = Silent(Engine(full(), clock), said)
    adapter = adapter_of(runner, clock)
    (row,), _ = act(tmp_path, adapter, clock)
    assert (row.outcome, row.victims) == ("not_started", ("4",))
    runner.said = ""
    with driver(tmp_path, adapter, clock) as driving:
        cycles: list[Any] = []
        watch(driving, lambda: adapter.policy(**RULES), once=True, each=cycles.append)
    assert [row.outcome for row in cycles[0].report.rows] == [outcome]


def test_a_qmaster_that_is_gone_is_not_asked() -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    adapter = adapter_of(engine, clock)
    engine.reachable = False
    assert adapter.do("requeue_hold", "4", "").status == "refused"
    with pytest.raises(AdapterError, match="commlib error"):
        adapter.snapshot()
    with pytest.raises(AdapterError, match="commlib error"):
        adapter.look(["4"])
