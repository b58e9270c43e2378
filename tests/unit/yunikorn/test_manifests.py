"""The configuration within ConfigMaps, as Kubernetes keeps it and as repositories have it."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters import yunikorn

QUEUES = """partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: a
            resources: {guaranteed: {vcore: 3}}
"""


def config_map(
    queues: str = QUEUES, name: str = "yunikorn-configs", key: str = "queues.yaml", more: str = ""
) -> str:
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"
    return f"{head}data:\n{more}  {key}: |\n{indent(queues, '    ')}"


def pools(text: Any, **more: Any) -> dict[str, Any]:
    rows = yunikorn.read(text, **more).snapshot.to_dict().get("pools", [])
    return {row["name"]: row.get("strong_guarantee", {}).get("vcore") for row in rows}


def notes(text: str) -> list[tuple[Any, ...]]:
    return [d.elements for d in yunikorn.read(text).diagnostics if "manifests" in d.message]


DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        (config_map(), []),
        (config_map(more='  log.level: "INFO"\n'), [("log.level",)]),
        ("---\n" + config_map() + "---\n", []),
        (DEPLOYMENT + "---\n" + config_map(), [("Deployment",)]),
        (config_map() + "---\n" + DEPLOYMENT, [("Deployment",)]),
        (config_map("partitions: []\n", "other", "other.yaml") + "---\n" + config_map(), [("other.yaml",)]),
        ("kind: List\nitems:\n- " + indent(config_map(), "  ").strip() + "\n", []),
        ("\N{ZERO WIDTH NO-BREAK SPACE}" + config_map(), []),
    ],
)
def test_the_configuration_of_a_manifest(text: str, passed: list[tuple[str, ...]], tmp_path: Path) -> None:
    assert pools(text) == {"root.a": 3}
    assert notes(text) == passed
    path = tmp_path / "configmap.yaml"
    path.write_text(text)
    assert pools(path) == {"root.a": 3}


def test_a_manifest_in_json() -> None:
    manifest = {"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"queues.yaml": QUEUES}}
    assert pools(json.dumps(manifest)) == {"root.a": 3}
    assert pools(json.dumps({"kind": "ConfigMapList", "items": [manifest]})) == {"root.a": 3}


def packed(data: bytes, key: str = "queues.yaml.gz") -> str:
    said = base64.b64encode(data).decode()
    return f"kind: ConfigMap\nmetadata: {{name: x}}\nbinaryData:\n  {key}: {said}\n"


def test_a_compressed_configuration() -> None:
    assert pools(packed(gzip.compress(QUEUES.encode(), mtime=0))) == {"root.a": 3}


@pytest.mark.parametrize("defaults_first", [True, False])
def test_what_is_configured_takes_the_place_of_the_defaults(defaults_first: bool) -> None:
    defaults = config_map(QUEUES.replace("name: a", "name: b"), "yunikorn-defaults")
    both = [defaults, config_map()]
    text = "---\n".join(both if defaults_first else both[::-1])
    assert pools(text) == {"root.a": 3}
    assert notes(text) == [("queues.yaml of yunikorn-defaults",)]
    assert pools(defaults) == {"root.b": 3}


def test_the_policy_group_names_the_key() -> None:
    group = "  service.policyGroup: gpu\n"
    assert pools(config_map(key="gpu.yaml", more=group)) == {"root.a": 3}
    with pytest.raises(eh.InputError, match=r"no ConfigMap has the key gpu.yaml; keys are: queues.yaml"):
        yunikorn.read(config_map(more=group))


@pytest.mark.parametrize("before", ["", "# a comment\n\n", DEPLOYMENT + "---\n"])
def test_lines_are_those_of_the_manifest(before: str) -> None:
    text = before + config_map(QUEUES.replace("guaranteed", "guarantees"))
    with pytest.raises(eh.InputError) as caught:
        yunikorn.read(text)
    (problem,) = caught.value.problems
    assert "guarantees" in text.splitlines()[(problem.row or 0) - 1]
    text = before + config_map("partitions: [")
    with pytest.raises(eh.InputError) as caught:
        yunikorn.read(text)
    assert caught.value.problems[0].row in (len(text.splitlines()), len(text.splitlines()) + 1)


@pytest.mark.parametrize(
    ("text", "rule", "said"),
    [
        (DEPLOYMENT, "required", "there is no ConfigMap"),
        ("kind: ConfigMap\n", "required", "keys are: none"),
        (
            config_map(key="queue.yaml"),
            "required",
            "no ConfigMap has the key queues.yaml; keys are: queue.yaml",
        ),
        (
            config_map(name="a") + "---\n" + config_map(name="b"),
            "unique",
            "several ConfigMaps have queues.yaml: a, b",
        ),
        (config_map(QUEUES + "---\n" + QUEUES), "yaml", "here begins a second document of queues.yaml"),
        (QUEUES + "---\n" + QUEUES, "yaml", "second document, and none of them is a ConfigMap"),
        (config_map(""), "required", "the text is empty"),
        (packed(b"no archive at all"), "damaged", "queues.yaml.gz cannot be unpacked"),
        (packed(gzip.compress(QUEUES.encode(), mtime=0)[:-9]), "damaged", "queues.yaml.gz is cut short"),
        (packed(gzip.compress(b"\xff", mtime=0)), "damaged", "queues.yaml.gz cannot be unpacked"),
    ],
)
def test_manifests_without_one_configuration(text: str, rule: str, said: str) -> None:
    with pytest.raises(eh.InputError, match=said) as caught:
        yunikorn.read(text)
    assert caught.value.problems[0].rule == rule


# Placement filters


def with_filter(users: str = "[]", groups: str = "[]") -> str:
    rule = f"{{name: user, filter: {{type: allow, users: {users}, groups: {groups}}}}}"
    return QUEUES + f"    placementrules: [{rule}]\n"


@pytest.mark.parametrize(
    "names", ["[]", "[ann]", "['.*']", "['a(b|c)']", "[1st, '(']", "[ann, '']", "[ann$]"]
)
def test_filters_that_yunikorn_takes(names: str) -> None:
    assert pools(with_filter(names)) == {"root.a": 3}
    if names != "[ann$]":
        assert pools(with_filter(groups=names)) == {"root.a": 3}


@pytest.mark.parametrize("names", ["[1st]", "['(']", "['']", "['*']", "[-x]"])
@pytest.mark.parametrize("kind", ["users", "groups"])
def test_filters_that_yunikorn_refuses(names: str, kind: str) -> None:
    """Of one item: neither a name nor a regular expression."""
    with pytest.raises(eh.InputError, match=f"filter.{kind} of a placement rule is") as caught:
        yunikorn.read(with_filter(**{kind: names}))
    assert [problem.rule for problem in caught.value.problems] == ["placement_filter"]


def test_the_filter_of_a_parent_rule_is_held_to_the_same_law() -> None:
    text = QUEUES + "    placementrules: [{name: tag, parent: {name: user, filter: {users: [1st]}}}]\n"
    with pytest.raises(eh.InputError, match=r"filter.users of a placement rule is 1st"):
        yunikorn.read(text)


# Answers of 1.9, and now


def test_fields_of_todays_answers_are_known() -> None:
    queue = {
        "queuename": "root",
        "partition": "default",
        "isLeaf": False,
        "isManaged": True,
        "headroom": {"vcore": 1},
        "preemptionEnabled": True,
        "isPreemptionFence": False,
        "preemptionDelay": "30s",
        "quotaPreemptionDelay": "0s",
        "quotaPreemptionStartTime": 1795584375000000000,
        "isQuotaPreemptionRunning": False,
        "unschedAskBackoff": 3,
        "askBackoffDelay": "30s",
        "isPriorityFence": False,
        "priorityOffset": 0,
        "somethingNew": 1,
    }
    reading = yunikorn.read(queues=[queue], now=10)
    assert [d.elements for d in reading.diagnostics] == [("somethingNew",)]


@pytest.mark.parametrize(
    "now", [1_700_000_000, datetime.fromtimestamp(1_700_000_000, UTC), "2023-11-14T22:13:20Z"]
)
def test_now_in_any_form(now: Any) -> None:
    assert yunikorn.read(QUEUES, now=now).snapshot.now == 1_700_000_000


def test_now_needs_a_time_zone() -> None:
    with pytest.raises(eh.InputError, match=r"now .*time zone"):
        yunikorn.read(QUEUES, now=datetime.fromtimestamp(1_700_000_000, UTC).replace(tzinfo=None))
