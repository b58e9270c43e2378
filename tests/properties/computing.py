"""The two implementations of fair shares that the properties are held against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import evenhand as eh
from evenhand.testing.assertions import SharesLike
from evenhand.testing.metamorphic import Compute
from evenhand.testing.reference import Settings, reference_fair_share


def engine(settings: Mapping[str, Any]) -> Compute:
    """The C++ engine."""

    def compute(snapshot: Mapping[str, Any], /, **options: Any) -> SharesLike:
        chosen = eh.FairShareSettings(**{**settings, **options})
        return eh.fair_share(eh.Snapshot.from_dict(dict(snapshot)), chosen)

    return compute


def reference(settings: Mapping[str, Any]) -> Compute:
    """The NumPy reference."""

    def compute(snapshot: Mapping[str, Any], /, **options: Any) -> SharesLike:
        full = eh.Snapshot.from_dict(dict(snapshot)).to_dict()
        return reference_fair_share(full, **{**settings, **options})

    return compute
