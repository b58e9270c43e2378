"""The collection of cases and traces beside a checkout, which not everybody has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
DATA = REPOSITORY / "tests" / "data"
SHARED = Path(os.environ.get("EVENHAND_SHARED") or REPOSITORY.parent / "shared")


def shared(*parts: str) -> Path:
    """Return a file of the collection; skip the test where the collection is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is absent (set EVENHAND_SHARED to the collection of cases)")
    return path
