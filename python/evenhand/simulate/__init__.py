"""What happens next: a policy, a workload and a clock; the module can be called, too."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from evenhand.simulate.metrics import Metrics, measure
from evenhand.simulate.result import Result
from evenhand.simulate.running import Simulation, simulate
from evenhand.simulate.workload import Workload

__all__ = ["Metrics", "Result", "Simulation", "Workload", "measure", "simulate"]


class _Callable(ModuleType):
    """So that ``eh.simulate`` is the function and the room."""

    def __call__(self, *args: Any, **kwargs: Any) -> Result:
        return simulate(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
