"""What a result was made by and of: enough to cite it, and to make it again."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

from evenhand import _core

__all__ = ["digest", "made_by", "of_policy", "seed_of"]


@cache
def _build() -> tuple[str, str]:
    return _core.__version__, _core.build_info()["commit"]


def digest(text: str) -> str:
    """Return the fingerprint of settings that are written as a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def made_by() -> dict[str, Any]:
    """Return the version and the commit that the core was built from."""
    version, commit = _build()
    return {"evenhand": version, "commit": commit}


def of_policy(policy: Any, settings: str) -> dict[str, Any]:
    """Return `made_by`, a policy's system and preset, and the fingerprint of its settings."""
    return made_by() | {"system": policy.system, "preset": policy.preset, "settings": settings}


def of_plans(policy: Any, settings: str, snapshot: Any) -> dict[str, Any]:
    """Return `of_policy`, the fingerprint of a snapshot, and what the policy says of plans for it."""
    made = of_policy(policy, settings) | {"snapshot": snapshot.fingerprint}
    return made | policy.made_for(snapshot)


def seed_of(rng: Any) -> int | str | None:
    """Return a seed as it can be written down."""
    return rng if rng is None or isinstance(rng, int) else f"a {type(rng).__name__}"
