"""The two implementations of fair shares that the properties are held against, and the inputs they get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

import evenhand as eh
from evenhand.testing import strategies as es
from evenhand.testing.assertions import SharesLike
from evenhand.testing.metamorphic import Compute
from tests.drawing import examples
from tests.reference import reference_fair_share

Inputs = tuple[dict[str, Any], eh.FairShareSettings]


def inputs(*, older: bool = False, gangs: bool = True, **bounds: Any) -> st.SearchStrategy[Inputs]:
    """Snapshots in the file format, each with settings whose main resource it has."""
    drawn = es.snapshot_dicts(allow_gangs=gangs, **bounds)
    return drawn.flatmap(
        lambda data: st.tuples(
            st.just(data),
            es.fair_share_settings(list(data["resources"]), allow_gangs=gangs, allow_older=older),
        )
    )


def engine(chosen: eh.FairShareSettings) -> Compute:
    """The C++ engine."""

    def compute(snapshot: Mapping[str, Any], /, **options: Any) -> SharesLike:
        return eh.fair_share(eh.Snapshot.from_dict(snapshot), chosen.replace(**options))

    return compute


def reference(chosen: eh.FairShareSettings) -> Compute:
    """The NumPy reference."""

    def compute(snapshot: Mapping[str, Any], /, **options: Any) -> SharesLike:
        return reference_fair_share(snapshot, **{**chosen.model_dump(), **options})

    return compute


# The reference is slow; that the laws hold for it, too, is seen at night.
IMPLEMENTATIONS = {"engine": engine} | ({"reference": reference} if examples() >= 1000 else {})
