"""What happens next: a policy, a workload and a clock."""

from __future__ import annotations

from evenhand.simulate.workload import Workload

__all__ = ["Workload"]
