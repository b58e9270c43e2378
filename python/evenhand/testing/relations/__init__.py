"""Changes of a snapshot that must not matter: the same is decided, under what the change calls it.

`RELATIONS` has them all. Each has a name, a change of a `Case` and how results map back; `hold` plans a case
and the changed one, twice in a row each, and raises `AssertionError` where they differ. `cases` of
`evenhand.testing.strategies` draws cases of every system::

    @given(es.relation_cases("slurm"), st.integers(0, 2**32))
    def test_names_only_name(case, seed):
        hold(RELATIONS["names_anew"], case, Random(seed))
"""

from __future__ import annotations

from evenhand.testing.relations.case import Back, Case
from evenhand.testing.relations.laws import RELATIONS, Relation, hold

__all__ = ["RELATIONS", "Back", "Case", "Relation", "hold"]
