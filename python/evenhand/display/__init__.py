"""Text and HTML of all result types, apart from the types themselves.

Every function takes the object and returns a string that is safe to show whatever
names it holds: no markup, no terminal escapes, no control or direction characters.
Rows are capped, so that the output stays small however large the cluster is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.display.results import (
        PoolTree,
        pool_tree,
        shares_html,
        shares_text,
        snapshot_html,
        snapshot_text,
        table_html,
        table_text,
    )

__all__ = [
    "PoolTree",
    "pool_tree",
    "shares_html",
    "shares_text",
    "snapshot_html",
    "snapshot_text",
    "table_html",
    "table_text",
]


def __getattr__(name: str) -> Any:
    # The command line takes its text tools from here and must not wait for NumPy to say --help.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("evenhand.display.results"), name)
