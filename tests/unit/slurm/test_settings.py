"""Settings of Slurm, of its jobs, and host lists."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.slurm.settings import SlurmSettings, split_mode
from evenhand.systems.slurm.text.accounting import parse_qos
from evenhand.systems.slurm.text.hostlist import MOST, expand_hostlist

TIERS: dict[str, Any] = {
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "requeue",
    "partitions": {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10, "PreemptMode": "off"}},
}


def problem(**settings: Any) -> tuple[str | None, str]:
    """Field and rule of the first problem that settings have."""
    with pytest.raises(eh.InputError) as caught:
        SlurmSettings(**settings)
    return caught.value.problems[0].field, caught.value.problems[0].rule


def test_modes_are_read_as_slurm_writes_them() -> None:
    s = SlurmSettings(**TIERS)
    assert s.PreemptMode == "REQUEUE"
    assert s.partitions["high"].PreemptMode == "OFF"
    assert split_mode("SUSPEND,GANG") == ("SUSPEND", {"GANG"})
    assert split_mode("WITHIN") == ("OFF", {"WITHIN"})
    on = SlurmSettings(PreemptType="preempt/qos", PreemptMode="gang, on")
    assert on.PreemptMode == "GANG,SUSPEND"
    assert SlurmSettings(PreemptMode="cluster").PreemptMode == "OFF"
    assert SlurmSettings(PreemptType="preempt/none").PreemptType is None
    assert SlurmSettings(reorder_count=-3).reorder_count == 1


@pytest.mark.parametrize(
    ("settings", "field", "rule"),
    [
        ({"PreemptTyp": "preempt/qos"}, "PreemptTyp", "unknown_field"),
        ({"PreemptType": "preempt/job_prio", "PreemptMode": "CANCEL"}, "PreemptType", "choice"),
        ({"PreemptType": "preempt/qos", "PreemptMode": "CANCEL,REQUEUE"}, "PreemptMode", "choice"),
        ({"PreemptType": "preempt/qos", "PreemptMode": "KILL"}, "PreemptMode", "choice"),
        ({"PreemptMode": "CANCEL"}, "PreemptMode", "needs"),
        ({"PreemptType": "preempt/qos"}, "PreemptMode", "needs"),
        ({"PreemptType": "preempt/qos", "PreemptMode": "SUSPEND"}, "PreemptMode", "needs"),
        ({"PreemptType": "preempt/qos", "PreemptMode": "CANCEL,GANG,WITHIN"}, "PreemptMode", "needs"),
        ({"partitions": {"a": {"PriorityTier": 65534}}}, "partitions.a.PriorityTier", "range"),
        ({"partitions": {"a": {"Tier": 1}}}, "partitions.a.Tier", "unknown_field"),
        ({"partitions": {"a": {"PreemptMode": "SUSPEND,GANG"}}}, "partitions.a.PreemptMode", "choice"),
        ({"partitions": {"a": {"PreemptMode": "WITHIN"}}}, "partitions.a.PreemptMode", "choice"),
        ({"partitions": {"a": {"PreemptMode": "CANCEL,GANG"}}}, "partitions.a.PreemptMode", "choice"),
        ({"release": "26"}, "release", "choice"),
        ({"release": 26.05}, "release", "type"),
        ({"node_weights": {"n1": -1}}, "node_weights.n1", "range"),
        ({"partitions": {"a": {"State": "IDLE"}}}, "partitions.a.State", "choice"),
        ({"qos": {"a": {"PreemptMode": "CANCEL,GANG"}}}, "qos.a.PreemptMode", "choice"),
        ({"partitions": {"a": {"OverSubscribe": "MAYBE"}}}, "partitions.a.OverSubscribe", "choice"),
        ({"partitions": {"a": {"Nodes": "n[1-"}}}, "partitions.a.Nodes", "host_list"),
        ({"partitions": {"a": {"QOS": "gold"}}}, "partitions.a.QOS", "exists"),
        ({"partitions": {"a": {"Default": True}, "b": {"Default": "yes"}}}, "partitions", "unique"),
        ({"qos": {"gold": {"Preempt": ["bronze"]}}}, "qos.gold.Preempt", "exists"),
        ({"minimum_budget": 0}, "minimum_budget", "range"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], field: str, rule: str) -> None:
    assert problem(**settings) == (field, rule)


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        *((word, None) for word in ("OFF", "off", "Cluster", "", None)),
        ("cancel", "CANCEL"),
        ("within", "WITHIN"),
        ("CANCEL,WITHIN", "CANCEL,WITHIN"),
    ],
)
def test_the_database_keeps_no_mode_off(given: str | None, mode: str | None) -> None:
    """A real sacctmgr that is told OFF prints "cluster"; jobs of that QOS are preempted in its mode."""
    assert SlurmSettings(qos={"a": {"PreemptMode": given}}).qos["a"].PreemptMode == mode
    if given is not None:
        assert parse_qos(f"Name|PreemptMode\na|{given}\n")["a"]["PreemptMode"] in (mode, given)


def test_presets() -> None:
    documented, upstream = (SlurmSettings.preset(name) for name in ("documented", "upstream"))
    changed = {n for n in SlurmSettings.model_fields if getattr(documented, n) != getattr(upstream, n)}
    assert changed == {"gang_exempt_time", "tied_accounts"}


def test_a_policy_comes_back_from_its_dict() -> None:
    from evenhand.systems.files import from_dict

    policy = eh.policies.Slurm(**TIERS, qos={"gold": {}})
    assert from_dict(policy.to_dict()) == policy
    assert policy.replace(youngest_first=True).settings.youngest_first


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", "n1"),
        ("n[1-3,07],m5", "n1 n2 n3 n07 m5"),
        ("n[3-3]", "n3"),
        ("r[1-2]n[08-10]-x", "r1n08-x r1n09-x r1n10-x r2n08-x r2n09-x r2n10-x"),
        ("", ""),
    ],
)
def test_host_lists(text: str, names: str) -> None:
    assert expand_hostlist(text) == tuple(names.split())


@pytest.mark.parametrize("text", ["n[1-", "n]1", "n[3-1]", "n[a]", "n[1-99999]", "n[]", "n[1-300][1-300]"])
def test_broken_host_lists(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no|do not match|stands for"):
        expand_hostlist(text)


def test_most_names_of_a_host_list() -> None:
    assert len(expand_hostlist(f"n[1-{MOST}]")) == MOST
    for text in (f"n[0-{MOST}]", f"m,n[1-{MOST}]"):
        with pytest.raises(ValueError, match="65,536"):
            expand_hostlist(text)


def job(**values: Any) -> eh.Snapshot:
    return eh.Snapshot.from_dict({"resources": {"cpu": {}}, "operations": [{"name": "j", **values}]})


@pytest.mark.parametrize(
    ("values", "field", "rule"),
    [
        ({"partition": "hgih"}, "partition", "exists"),
        ({"partition": "low", "qos": "gold"}, "qos", "exists"),
        ({"settings": {"requeu": True}}, "settings.requeu", "unknown_field"),
        ({"settings": {"requeue": "yes"}}, "settings.requeue", "type"),
        ({"settings": {"eligible_time": 1e15}}, "settings.eligible_time", "range"),
        ({"settings": {"accrue_time": -1e15}}, "settings.accrue_time", "range"),
    ],
)
def test_wrong_jobs_are_named(values: dict[str, Any], field: str, rule: str) -> None:
    policy = eh.policies.Slurm(**TIERS, qos={"silver": {}})
    with pytest.raises(eh.InputError) as caught:
        eh.plan(job(**values), policy)
    [found] = caught.value.problems
    assert (found.table, found.field, found.rule) == ("operations", field, rule)


def test_a_partition_of_nodes_that_are_not_there() -> None:
    """They are named in the order of the list."""
    policy = eh.policies.Slurm(partitions={"low": {"Nodes": "n[1-30]"}})
    with pytest.raises(eh.InputError, match="is no node of the snapshot") as caught:
        eh.plan(job(partition="low"), policy)
    assert [p.value for p in caught.value.problems] == [f"'n{i}'" for i in range(1, 31)]


def test_other_triggers_and_given_values_are_refused() -> None:
    for arguments in ({"on": eh.Round()}, {"given": {"fair_share": {}}}):
        with pytest.raises(eh.InputError):
            eh.plan(job(), eh.policies.Slurm(), **arguments)
