from __future__ import annotations

import json
import math
from datetime import timedelta

import pytest

from evenhand.errors import InputError
from evenhand.history import Decay, DecayedUsage
from evenhand.history.decay import DAY


def test_every_system_has_its_own_constant() -> None:
    assert Decay.exact(timedelta(days=7)).factor(7 * DAY) == 0.5
    assert Decay.slurm(3600).factor(60) == pytest.approx((1 - 0.693 / 3600) ** 60, rel=1e-14)
    constant = 1 - 60 * math.log(2) / (168 * 3600)
    assert Decay.gridengine().factor([60, 3600]) == pytest.approx([constant, constant**60], rel=1e-14)
    assert Decay.gridengine(-1).factor([0, 1]).tolist() == [1, 0]
    assert Decay.slurm(0).factor(1e12) == 1


def test_backend_ai_counts_whole_days_its_proposal_whole_half_lives() -> None:
    shipped, proposal = Decay.backendai(), Decay.backendai(preset="documented")
    ages = [0.9 * DAY, 3.5 * DAY, 7 * DAY, 13 * DAY]
    assert shipped.factor(ages).tolist() == pytest.approx([1, 2 ** (-3 / 7), 0.5, 2 ** (-13 / 7)])
    assert proposal.factor(ages).tolist() == [1, 1, 0.5, 0.5]


@pytest.mark.parametrize(
    "fields", [("slurm", -1.0), ("exact", float("nan")), ("weekly", 1.0), ("exact", 1.0, -1.0)]
)
def test_wrong_rules_are_refused(fields) -> None:
    with pytest.raises(InputError):
        Decay(*fields)


def test_usage_moves_forward_only() -> None:
    usage = DecayedUsage.empty(["cpu"], decay=Decay.exact(10), at=100).add(["a"], [4.0])
    assert usage.decayed_to(110).values.tolist() == [[2.0]]
    assert usage.values.tolist() == [[4.0]]
    with pytest.raises(InputError, match="at least 100"):
        usage.decayed_to(99)


def test_events_of_the_past_arrive_decayed_and_of_the_future_move_the_clock() -> None:
    usage = DecayedUsage.empty(["cpu", "gpu"], decay=Decay.exact(10), at=100)
    usage = usage.add(["a", "b", "a"], [[4, 0], [0, 8], [1, 1]], at=[90, 110, 110])
    assert usage.at == 110
    assert usage.to_dict()["usage"] == {"a": {"cpu": 2.0, "gpu": 1.0}, "b": {"cpu": 0.0, "gpu": 8.0}}
    assert usage.keep(["b", "new"]).values.tolist() == [[0, 8], [0, 0]]


def test_state_survives_json() -> None:
    usage = DecayedUsage.empty(["cpu"], decay=Decay.slurm(), at=5).add(["a", "b"], [1.1, 2.2])
    again = DecayedUsage.from_dict(json.loads(json.dumps(usage.to_dict())))
    assert again.to_dict() == usage.to_dict()
    assert DecayedUsage.from_dict(usage.keep([]).to_dict()).names == ()


def test_wrong_events_are_refused() -> None:
    usage = DecayedUsage.empty(["cpu"], decay=Decay.slurm(), at=5)
    for amounts, at in (([-1.0], 5), ([float("nan")], 5), ([1.0], float("inf"))):
        with pytest.raises(InputError):
            usage.add(["a"], amounts, at=at)
    with pytest.raises(InputError, match="without steps"):
        DecayedUsage.empty(["cpu"], decay=Decay.backendai(), at=0)
