from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import InputError
from evenhand.history import ShareTree

ROWS = [
    {"name": "lab", "shares": 3},
    {"name": "ann", "parent": "lab", "shares": "parent", "usage": 2.0},
    {"name": 7, "parent": "lab", "usage": 4, "active": False},
    {"name": "idle", "user": False},
]


def check(tree: ShareTree) -> None:
    assert tree.names == ("lab", "ann", 7, "idle")
    assert tree.parent.tolist() == [-1, 0, 0, -1]
    assert tree.shares.tolist() == [3, 0, 1, 1]
    assert tree.inherits.tolist() == [False, True, False, False]
    assert tree.user.tolist() == [False, True, True, False]
    assert tree.active.tolist() == [True, True, False, True]
    assert tree.subtree_usage.tolist() == [6, 2, 4, 0]


def test_rows_dicts_and_columns_build_the_same_tree() -> None:
    check(ShareTree.from_rows(ROWS))
    check(ShareTree.from_dict({row["name"]: {k: v for k, v in row.items() if k != "name"} for row in ROWS}))
    fields = ("name", "parent", "shares", "usage", "user", "active")
    check(ShareTree.from_columns({field: [row.get(field) for row in ROWS] for field in fields}))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_build_the_same_tree(library: str) -> None:
    columns = {"name": ["a", "b"], "parent": [None, "a"], "shares": [2.0, None], "usage": [None, 5]}
    module = pytest.importorskip(library)
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    tree = ShareTree.from_frame(frame)
    assert tree.parent_names == [None, "a"]
    assert tree.shares.tolist() == [2, 1]
    assert tree.usage.tolist() == [0, 5]


def test_columns_of_arrays_are_taken_as_they_are() -> None:
    tree = ShareTree.from_columns({"name": np.arange(3), "shares": np.array([1, 2, 3]), "usage": np.zeros(3)})
    assert tree.shares.tolist() == [1, 2, 3]
    assert tree.user.all()


def test_total_usage_takes_nothing_from_below() -> None:
    tree = ShareTree.from_dict(
        {"project": {"usage": 10.0, "total": True}, "ann": {"parent": "project", "usage": 3.0}}
    )
    assert tree.subtree_usage.tolist() == [10, 3]


def test_other_usage_by_name_or_row() -> None:
    tree = ShareTree.from_rows(ROWS)
    assert tree.with_usage({"ann": 1.5}).subtree_usage.tolist() == [1.5, 1.5, 0, 0]
    assert tree.with_usage([0, 1, 2, 3]).subtree_usage.tolist() == [3, 1, 2, 3]
    for wrong in ({"bob": 1.0}, [1.0], {"ann": -1.0}, [0, 0, float("nan"), 0]):
        with pytest.raises(InputError):
            tree.with_usage(wrong)


@pytest.mark.parametrize(
    ("rows", "row", "field", "rule"),
    [
        ([{"name": "a"}, {"name": "a"}], 1, "name", "unique"),
        ([{"name": None}], 0, "name", "name"),
        ([{"name": True}], 0, "name", "name"),
        ([{"name": "a", "parent": "b"}], 0, "parent", "reference"),
        ([{"name": "a", "parent": ["b"]}], 0, "parent", "reference"),
        ([{"name": "a", "parent": "a"}], 0, "parent", "cycle"),
        ([{"name": "a", "shares": -1}], 0, "shares", "range"),
        ([{"name": "a", "shares": "many"}], 0, "shares", "type"),
        ([{"name": "a", "shares": True}], 0, "shares", "type"),
        ([{"name": "a", "usage": float("nan")}], 0, "usage", "finite"),
        ([{"name": "a", "usage": float("inf")}], 0, "usage", "finite"),
        ([{"name": "a", "user": 1}], 0, "user", "type"),
        ([{"name": "a", "user": True}, {"name": "b", "parent": "a"}], 0, "user", "user_has_children"),
        ([{"name": "a", "share": 1}], None, "share", "unknown_field"),
        ([{"parent": None}], 0, "name", "name"),
    ],
)
def test_wrong_input_names_row_field_and_rule(rows, row, field, rule) -> None:
    with pytest.raises(InputError) as caught:
        ShareTree.from_rows(rows)
    found = [(p.row, p.field, p.rule) for p in caught.value.problems]
    assert (row, field, rule) in found
    assert all(p.table == "share_tree" for p in caught.value.problems)


def test_all_problems_come_at_once_and_unknown_fields_name_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        ShareTree.from_rows([{"name": "a", "usage": -1.0}, {"name": "b", "shares": -2.0, "parent": "c"}])
    assert len(caught.value.problems) == 3
    with pytest.raises(InputError, match="expected shares"):
        ShareTree.from_rows([{"name": "a", "share": 1}])
    with pytest.raises(InputError, match="equal length"):
        ShareTree.from_columns({"name": ["a"], "shares": [1, 2]})
    with pytest.raises(InputError, match="column of names"):
        ShareTree.from_columns({"shares": [1, 2]})


def test_a_tree_comes_back_from_its_dict() -> None:
    rows: dict[str | int, dict[str, object]] = {
        "lab": {"shares": 3.0, "total": True, "usage": 7.5, "user": False},
        "ann": {"parent": "lab", "shares": "parent", "usage": 2.0},
        "empty": {"user": False, "active": False},
        7: {"parent": "lab"},
    }
    tree = ShareTree.from_dict(rows)
    again = ShareTree.from_dict(tree.to_dict())
    assert again == tree
    assert hash(again) == hash(tree)
    assert tree.to_dict()[7] == {"parent": "lab"}
    assert tree != tree.with_usage({"ann": 3.0})
    assert tree != rows
    assert repr(tree) == "ShareTree(4 rows, 2 users)"
