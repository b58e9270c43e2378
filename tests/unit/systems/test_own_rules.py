"""What is read from a live system or its own configuration is followed as the system itself does it."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import evenhand as eh
from evenhand import adapters
from evenhand.adapters import gridengine, yunikorn
from evenhand.adapters.protocol import Adapter
from evenhand.systems import SYSTEMS

CONF = """\
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n1 CPUs=4
PartitionName=p Nodes=ALL
"""
QUEUES = """\
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: a
"""

READERS: dict[str, Any] = {
    "Slurm.from_conf": eh.policies.Slurm.from_conf,
    "BackendAI.from_scheduler_opts": eh.policies.BackendAI.from_scheduler_opts,
    "slurm": adapters.load("slurm").policy,
    "gridengine": adapters.load("gridengine").policy,
    "gridengine's texts": gridengine.Reading.policy,
    "yunikorn's texts": yunikorn.Reading.policy,
    "the protocol": Adapter.policy,
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_of_systems_own_words_follow_the_system(reader: str) -> None:
    assert inspect.signature(READERS[reader]).parameters["preset"].default == "upstream"


@pytest.mark.parametrize("word", SYSTEMS)
def test_policies_without_a_source_follow_the_documents(word: str) -> None:
    assert SYSTEMS[word].policy().preset == "documented"


def test_what_is_read_says_by_which_preset() -> None:
    policy = eh.policies.Slurm.from_conf(CONF)
    assert (policy.preset, repr(policy)[:16]) == ("upstream", "Slurm('upstream'")
    assert eh.policies.Slurm.from_conf(CONF, preset="documented").preset == "documented"
    assert policy.settings.gang_exempt_time == "by_release"


def test_a_snapshot_that_is_read_carries_no_mark() -> None:
    """The policy decides, whatever the snapshot comes from."""
    reading = yunikorn.read(QUEUES)
    assert reading.policy().preset == "upstream"
    assert reading.policy("documented").preset == "documented"
    plain = eh.plan(reading.snapshot, eh.policies.YuniKorn())
    assert plain.policy.preset == "documented"
    assert reading.snapshot == eh.Snapshot.from_dict(reading.snapshot.to_dict())
