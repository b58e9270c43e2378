"""Requests for preemption, as persons make them on Grid Engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.testing.strategies._picking import Pick

__all__ = ["asked_for"]


def asked_for(data: dict[str, Any], pick: Pick) -> dict[str, Any]:
    """Return a command that names some of the jobs."""
    jobs = [row["name"] for row in data["operations"]]
    waiting = data["requests"][0]["operation"]
    return {
        "consumer": pick((waiting, waiting, waiting, pick(jobs), "99")),
        "providers": list(dict.fromkeys(pick((*jobs, "sleep")) for _ in range(pick((0, 1, 2, 3))))),
        "action": pick((None, "P", "N", "S", "T", "R", "C")),
        "force": pick((False, True)),
        "user": pick(("ann", "eve", None)),
        "manager": pick((False, True, True)),
    }
