"""What happens next: a policy, a workload and a clock; the module can be called, too."""

from __future__ import annotations

import sys
from inspect import signature
from types import ModuleType
from typing import Final

from evenhand.simulate.metrics import Metrics, measure
from evenhand.simulate.result import Result
from evenhand.simulate.running import Simulation
from evenhand.simulate.whole import simulate
from evenhand.simulate.workload import Workload

__all__ = ["Metrics", "Result", "Simulation", "Workload", "measure", "simulate"]


class Simulate(ModuleType):
    """``eh.simulate``: the function, and by name all of `__all__`; type checkers read both here."""

    __call__ = staticmethod(simulate)
    Metrics: Final = Metrics
    Result: Final = Result
    Simulation: Final = Simulation
    Workload: Final = Workload
    measure = staticmethod(measure)
    simulate = staticmethod(simulate)


sys.modules[__name__].__class__ = Simulate
__signature__ = signature(simulate)  # editors show it for ``eh.simulate(``
