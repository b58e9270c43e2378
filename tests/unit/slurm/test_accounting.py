"""What sshare and sacctmgr print, read strictly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.history import slurm
from evenhand.systems.slurm.text.accounting import parse_associations, parse_qos, parse_shares
from tests.unit.slurm.accounting_texts import ASSOCIATIONS, QOS, SHARES


def test_qos() -> None:
    qos = parse_qos(QOS)
    assert list(qos) == ["normal", "gold", "silver"]
    assert qos["gold"] == {
        "Priority": 100,
        "GraceTime": 5.0,
        "Preempt": ["normal"],
        "PreemptExemptTime": None,
        "PreemptMode": "requeue",
    }
    assert qos["silver"]["PreemptExemptTime"] == 60.0
    assert qos["silver"]["PreemptMode"] is None
    policy = eh.policies.Slurm(PreemptType="preempt/qos", PreemptMode="CANCEL", qos=qos)
    assert policy.settings.qos["gold"].PreemptMode == "REQUEUE"


def test_qos_with_trailing_bars() -> None:
    text = "".join(f"{line}|\n" for line in QOS.splitlines())
    assert parse_qos(text) == parse_qos(QOS)


def test_priorities_of_associations() -> None:
    assert parse_associations(ASSOCIATIONS) == {
        "phys": 7,
        "phys/games": 7,
        "phys/list/high": 7,
        "phys/man": 7,
    }
    assert parse_associations(ASSOCIATIONS, cluster="other") == {}


def test_the_tree_of_sshare() -> None:
    tree = parse_shares(SHARES)
    row = {name: place for place, name in enumerate(tree.names)}
    assert tree.parent_names[row["phys/list/high"]] == "phys"
    assert tree.parent_names[row["phys"]] == "labs"
    assert tree.parent_names[row["labs"]] == "root"
    assert tree.inherits[row["solo"]]
    assert tree.inherits[row["chem/games"]]
    assert tree.shares[row["phys/games"]] == 3
    printed = [float(line.split("|")[5]) for line in SHARES.splitlines()[1:]]
    assert tree.subtree_usage.tolist() == printed


def test_fair_tree_makes_the_factors_that_sshare_printed() -> None:
    factors = np.asarray(slurm.fair_tree(parse_shares(SHARES))["factor"])
    lines = SHARES.splitlines()[1:]
    users = [place for place, line in enumerate(lines) if line.split("|")[1]]
    assert len(users) == 10
    printed = [float(lines[place].split("|")[8]) for place in users]
    np.testing.assert_allclose(factors[users], printed, atol=5e-7)


@pytest.mark.parametrize(
    ("read", "text", "found"),
    [
        (parse_qos, "Name|Prioritee\na|1", (1, "Prioritee", "unknown_field")),
        (parse_qos, "Priority\n1", (1, "Name", "required")),
        (parse_qos, "Name|Priority\na|high", (2, "Priority", "type")),
        (parse_qos, "Name|Priority\na", (2, "Name", "length")),
        (parse_qos, "Name\na\na", (3, "Name", "unique")),
        (parse_qos, "", (1, "Name", "required")),
        (parse_associations, "Account|User\na|b", (1, "Priority", "required")),
        (parse_associations, "Account|User|Priority\na|b|1\na|b|2", (3, "Account", "unique")),
        (parse_shares, "Account|User|RawShares|RawUsage\nlab||1|0", (2, "Account", "tree")),
        (parse_shares, "Account|User|RawShares|RawUsage\nroot|||0\n  lab||1|0", (3, "Account", "tree")),
        (parse_shares, "Account|User|RawShares|RawUsage\nroot|||0\n lab||x|0", (3, "RawShares", "type")),
        (
            parse_shares,
            "Account|User|RawShares|RawUsage\nroot|||0\n root|ann|1|0\n root|ann|1|0",
            (4, "Account", "unique"),
        ),
    ],
)
def test_what_cannot_be_read_is_named(
    read: Callable[[str], Any], text: str, found: tuple[int, str, str]
) -> None:
    with pytest.raises(eh.InputError) as caught:
        read(text)
    problem = caught.value.problems[0]
    assert (problem.row, problem.field, problem.rule) == found
