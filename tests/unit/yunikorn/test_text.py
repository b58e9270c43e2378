"""The configuration of queues: read strictly, and held to YuniKorn's own laws."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

import evenhand as eh
from evenhand.adapters import yunikorn
from evenhand.systems.yunikorn.text.quantities import quantity
from tests.shared import DATA

QUEUES = DATA / "yunikorn" / "queues.yaml"
GI = 2**30


def partition(queues: str, more: str = "") -> str:
    """Return a configuration whose root has these queues."""
    below = indent(dedent(queues).strip(), " " * 10)
    text = f"partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n{below}\n"
    return text + indent(dedent(more).strip(), " " * 4) + "\n"


def problems(text: str) -> list[tuple[int | None, str | int | None, str | None, str]]:
    with pytest.raises(eh.InputError) as caught:
        yunikorn.read(text)
    assert {problem.table for problem in caught.value.problems} == {"queues.yaml"}
    assert all(f"line {problem.row}: " in str(problem) for problem in caught.value.problems if problem.row)
    return [(p.row, p.name, p.field, p.rule) for p in caught.value.problems]


def test_a_configuration_is_a_tree_of_pools() -> None:
    reading = yunikorn.read(QUEUES)
    pools = {row["name"]: row for row in reading.snapshot.to_dict()["pools"]}
    assert list(pools) == [
        "root.production",
        "root.research",
        "root.research.chemistry",
        "root.research.physics",
        "root.sandbox",
    ]
    assert pools["root.research"] == {
        "name": "root.research",
        "strong_guarantee": {"vcore": 6, "memory": 24 * GI},
        "limits": {"vcore": 10, "memory": 48 * GI, "nvidia.com/gpu": 4},
        "settings": {"properties": {"preemption.policy": "fence", "preemption.delay": "10s"}},
    }
    # Names are in lower case, as in YuniKorn, and aliases stand for what they name.
    assert pools["root.research.physics"]["strong_guarantee"] == {"vcore": 2.5, "memory": 8 * GI}
    assert pools["root.research.physics"]["parent"] == "root.research"
    assert pools["root.production"]["strong_guarantee"] == pools["root.research"]["strong_guarantee"]
    # A text is a text, with quotes or without.
    assert pools["root.research.chemistry"]["settings"] == {"properties": {"priority.offset": "5"}}
    assert reading.snapshot.to_dict()["root"] == {
        "settings": {"properties": {"application.sort.policy": "fifo"}}
    }
    assert dict(reading.settings) == {"enabled": True, "quota_preemption": True}


def test_the_policy_has_what_the_partition_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []
    monkeypatch.setattr("evenhand.systems.files.from_dict", asked.append)
    reading = yunikorn.read(partition("- name: a", "preemption: {enabled: false}"))
    reading.policy()
    reading.policy("upstream", enabled=True, attempts=3)
    assert asked == [
        {"system": "yunikorn", "preset": "upstream", "enabled": False, "quota_preemption": False},
        {
            "system": "yunikorn",
            "preset": "upstream",
            "enabled": True,
            "quota_preemption": False,
            "attempts": 3,
        },
    ]


def test_what_plays_no_part_is_named() -> None:
    reading = yunikorn.read(QUEUES)
    assert {d.code for d in reading.diagnostics} == {"yunikorn_not_read"}
    said = {d.message.split("that YuniKorn ignores. ")[1].split(" of")[0]: d for d in reading.diagnostics}
    assert {*said} == {
        *("submitacl", "adminacl", "maxapplications", "childtemplate", "limits"),
        *("placementrules", "nodesortpolicy"),
    }
    assert said["childtemplate"].elements == ("root.research",)
    assert said["maxapplications"].numbers == {"count": 3}


def test_the_root_is_put_above_queues_that_have_none() -> None:
    text = "partitions:\n- name: ''\n  queues:\n  - name: a\n  - name: B\n    queues: [{name: c}]\n"
    rows = yunikorn.read(text).snapshot.to_dict()["pools"]
    assert [(row["name"], row.get("parent")) for row in rows] == [
        ("root.a", None),
        ("root.b", None),
        ("root.b.c", "root.b"),
    ]
    settings = yunikorn.read(text).settings
    assert (settings["enabled"], settings["quota_preemption"]) == (True, False)


def test_each_partition_by_its_name() -> None:
    text = "partitions: [{name: default, queues: [{name: a}]}, {name: GPU, queues: [{name: b}]}]"
    assert [row["name"] for row in yunikorn.read(text, partition="gpu").snapshot.to_dict()["pools"]] == [
        "root.b"
    ]
    with pytest.raises(eh.InputError, match="partition is gpus; there are default, GPU") as caught:
        yunikorn.read(text, partition="gpus")
    assert caught.value.problems[0].rule == "exists"


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("vcore", "10", 10_000),
        ("vcore", "500m", 500),
        ("vcore", "2k", 2_000_000),
        ("vcore", "1Ki", 1_024_000),
        ("memory", "512Gi", 512 * GI),
        ("memory", "1 G", 10**9),
        ("memory", "7k", 7000),
        ("pods", "+3", 3),
        ("x", "9223372036854775807", 2**63 - 1),
        ("x", "7Ei", 7 * 2**60),
    ],
)
def test_quantities(resource: str, text: str, amount: int) -> None:
    assert quantity(resource, text) == amount


@pytest.mark.parametrize(
    ("resource", "text", "said"),
    [
        ("memory", "500m", "suffix"),
        ("memory", "1.5Gi", "whole number"),
        ("vcore", "0.5", "whole number"),
        ("memory", "1GiB", "suffix"),
        ("memory", "1ki", "suffix"),
        ("memory", "7K", "suffix"),
        ("memory", "-1", "negative"),
        ("memory", "", "whole number"),
        ("memory", "8Ei", "below"),
        ("vcore", "9223372036854775807", "below"),
        ("memory", "1e3", "suffix"),
        ("memory", "\u0661", "whole number"),
    ],
)
def test_what_is_no_quantity(resource: str, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        quantity(resource, text)


def test_a_quantity_that_is_none_is_named_with_its_place() -> None:
    text = partition(
        """
        - name: a
          resources:
            guaranteed:
              memory: 1.5Gi
              vcore: [1]
              pods:
        """
    )
    assert problems(text) == [
        (9, "root.a", "resources.guaranteed.memory", "quantity"),
        (10, "root.a", "resources.guaranteed.vcore", "type"),
        (11, "root.a", "resources.guaranteed.pods", "quantity"),
    ]


LAWS = {
    "partition_unique": "partitions: [{name: '', queues: [{name: a}]}, {name: Default, queues: [{name: a}]}]",
    "root_resources": "partitions: [{name: x, queues: [{name: ROOT, resources: {max: {vcore: 1}}}]}]",
    "queue_name": partition("- name: a.b"),
    "queue_unique": partition("- name: a\n- name: A"),
    "acl": partition("- name: a\n  submitacl: ann bob carl"),
    "child_template": partition("- name: a\n  childtemplate: {maxapplications: 3}"),
    "guaranteed_within_max": partition(
        "- name: a\n  resources: {guaranteed: {vcore: 2, memory: 1}, max: {vcore: 1500m}}"
    ),
    "max_within_parent": partition(
        """
        - name: a
          resources: {max: {vcore: 4}}
          queues:
            - name: between
              queues: [{name: b, resources: {max: {vcore: 5, memory: 1}}}]
        """
    ),
    "guaranteed_sum": partition(
        """
        - name: a
          resources: {guaranteed: {vcore: 4}}
          queues:
            - {name: b, resources: {guaranteed: {vcore: 3}}}
            - name: c
              queues: [{name: d, resources: {guaranteed: {vcore: 1001m}}}]
        """
    ),
    "max_applications": partition("- name: a\n  maxapplications: 5\n  queues: [{name: b}]"),
    "limit_subjects": partition("- name: a\n  limits: [{maxapplications: 1}]"),
    "limit_name": partition("- name: a\n  limits: [{users: ['0x!'], maxapplications: 1}]"),
    "limit_unique": partition(
        "- name: a\n  limits: [{users: [ann], maxapplications: 1}, {users: [ann], maxapplications: 2}]"
    ),
    "limit_wildcard_last": partition(
        "- name: a\n  limits: [{users: ['*'], maxapplications: 1}, {users: [ann], maxapplications: 2}]"
    ),
    "limit_wildcard_group": partition("- name: a\n  limits: [{groups: ['*'], maxapplications: 1}]"),
    "limit_empty": partition("- name: a\n  limits: [{users: [ann]}]"),
    "limit_resources": partition("- name: a\n  limits: [{users: [ann], maxresources: {vcore: 0}}]"),
    "limit_within_queue": partition(
        "- name: a\n  resources: {max: {vcore: 1}}\n  limits: [{users: [ann], maxresources: {vcore: 2}}]"
    ),
    "limit_within_parent": partition(
        """
        - name: a
          limits: [{users: [ann], maxresources: {vcore: 2}}]
          queues: [{name: b, limits: [{users: [ann], maxresources: {vcore: 2001m}}]}]
        """
    ),
    "node_sort_policy": partition("- name: a", "nodesortpolicy: {type: spread}"),
    "placement_filter": partition("- name: a", "placementrules: [{name: tag, filter: {users: [1st]}}]"),
    "placement_rule": partition("- name: a", "placementrules: [{name: tag, filter: {type: maybe}}]"),
}


def test_every_law_has_a_case() -> None:
    assert {*LAWS} == {*yunikorn.LAWS}


@pytest.mark.parametrize("law", LAWS)
def test_a_breach_names_its_law(law: str) -> None:
    assert [rule for *_, rule in problems(LAWS[law])] == [law]


@pytest.mark.parametrize(
    "queues",
    [
        "- name: a@b/c:d#1\n  submitacl: '*'\n  adminacl: ann,bob  admins",
        "- name: a\n  parent: true\n  childtemplate: {properties: {x: y}}",
        # What a maximum lacks is unlimited, and zeros count as not set.
        "- name: a\n  resources: {guaranteed: {gpu: 9}, max: {vcore: 1}}",
        "- name: a\n  resources: {guaranteed: {vcore: 0}}\n  queues: [{name: b}]",
        "- name: a\n  maxapplications: 5\n  queues: [{name: b, maxapplications: 5}]",
        "- name: a\n  limits: [{groups: [g], maxapplications: 1}, {groups: ['*'], maxresources: {x: 1}}]",
        # A queue with limits hands down its own alone.
        """
        - name: a
          limits: [{users: [ann], maxapplications: 2}]
          queues:
            - name: b
              limits: [{users: [bob], maxapplications: 1}]
              queues: [{name: c, limits: [{users: [ann], maxapplications: 3}]}]
        """,
    ],
)
def test_what_keeps_the_laws(queues: str) -> None:
    assert len(yunikorn.read(partition(queues)).snapshot.to_dict()["pools"]) >= 1


def test_a_guarantee_counts_by_its_children_where_it_has_none_itself() -> None:
    queues = """
        - name: a
          resources: {max: {vcore: 4}}
          queues:
            - {name: b, resources: {guaranteed: {vcore: 3}}}
            - {name: c, resources: {guaranteed: {vcore: 2}}}
        """
    with pytest.raises(eh.InputError, match=r"adds up to 5000 over its children; its maximum is 4000"):
        yunikorn.read(partition(queues))


def test_all_that_is_unknown_or_of_a_wrong_kind_is_named_with_its_line() -> None:
    text = """\
partitions:
  - name: default
    preemtion: {enabled: true}
    preemption: {enabled: "true"}
    queues:
      - name: root
        queues:
          - name: a
            maxapplication: 3
            maxapplications: -3
            parent: perhaps
          - name: b
            queues: {name: c}
          - name: c
            limits: [7]
"""
    assert problems(text) == [
        (3, None, "preemtion", "unknown_field"),
        (4, None, "preemption.enabled", "type"),
        (9, "root.a", "maxapplication", "unknown_field"),
        (10, "root.a", "maxapplications", "type"),
        (11, "root.a", "parent", "type"),
        (13, "root.b", "queues", "type"),
        (15, "root.c", "limits[0]", "type"),
    ]
    with pytest.raises(eh.InputError, match='line 3: preemtion is unknown; did you mean "preemption"'):
        yunikorn.read(text)


@pytest.mark.parametrize(
    ("text", "row", "rule"),
    [
        ("partitions: [", 1, "yaml"),
        ("partitions:\n  - name: a\n   queues: []", 3, "yaml"),
        ("", 1, "required"),
        ("a: 1\n---\nb: 2", 3, "yaml"),
        ("partitions: &a [*a]", 1, "yaml"),
        ("partitions: []", 1, "required"),
        ("partitions: [{name: default}]", 1, "required"),
        ("partitions: [{name: default, queues: [{name: a, name: b}]}]", 1, "unique"),
        ("[]", 1, "type"),
        ("partitions: !!python/object/apply:os.getcwd []", 1, "required"),
        ("partitions: [{? [a] : b, queues: []}]", 1, "type"),
    ],
)
def test_what_is_no_configuration(text: str, row: int, rule: str) -> None:
    found = problems(text)
    assert (found[0][0], found[0][3]) == (row, rule)


def test_aliases_have_bounds() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert problems("\n".join(lines))[0][3] == "yaml"


def test_mappings_can_be_merged() -> None:
    text = partition(
        """
        - name: a
          resources: &r {guaranteed: {vcore: 1}, max: {vcore: 2}}
        - name: b
          resources:
            <<: *r
            max: {vcore: 3}
        """
    )
    rows = yunikorn.read(text).snapshot.to_dict()["pools"]
    assert (rows[1]["strong_guarantee"], rows[1]["limits"]) == ({"vcore": 1}, {"vcore": 3})


def test_a_file_and_its_text_are_the_same(tmp_path: Path) -> None:
    assert yunikorn.read(QUEUES).snapshot == yunikorn.read(QUEUES.read_text()).snapshot
    (tmp_path / "latin").write_bytes(b"partitions: \xe9")
    with pytest.raises(eh.InputError, match="UTF-8"):
        yunikorn.read(tmp_path / "latin")
    with pytest.raises(FileNotFoundError):
        yunikorn.read(tmp_path / "absent")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("preemption.policy", "fenced", "which counts as the default"),
        ("preemption.delay", "30", "which counts as the default"),
        ("priority.offset", "high", "which counts as the default"),
        ("preemption.polcy", "fence", 'did you mean "preemption.policy"'),
    ],
)
def test_a_property_that_yunikorn_passes_over_is_named(name: str, text: str, said: str) -> None:
    reading = yunikorn.read(partition(f"- name: a\n  properties: {{{name}: '{text}'}}"))
    (found,) = reading.diagnostics
    assert (found.code, found.elements) == ("yunikorn_not_read", ("root.a",))
    assert name in found.message
    assert said in found.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("preemption.policy", "Fence"),
        ("preemption.delay", "1h30m0.5s"),
        ("priority.offset", "-5"),
        ("quota.preemption.delay", "0"),
        ("application.sort.policy", "stateaware"),
    ],
)
def test_a_property_that_counts_is_not(name: str, text: str) -> None:
    assert not yunikorn.read(partition(f"- name: a\n  properties: {{{name}: '{text}'}}")).diagnostics
