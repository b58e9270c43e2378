"""Which thresholds are best: what comes of many settings; the module can be called, too."""

from __future__ import annotations

import sys
from inspect import signature
from types import ModuleType
from typing import Final

from evenhand.sweep.front import pareto
from evenhand.sweep.running import sweep
from evenhand.sweep.space import Between, between
from evenhand.sweep.trials import objective, suggest
from evenhand.sweep.tuned import Tuned
from evenhand.sweep.tuning import tune

__all__ = ["Between", "Tuned", "between", "objective", "pareto", "suggest", "sweep", "tune"]


class Sweep(ModuleType):
    """``eh.sweep``: the function, and by name all of `__all__`; type checkers read both here."""

    __call__ = staticmethod(sweep)
    Between: Final = Between
    Tuned: Final = Tuned
    between = staticmethod(between)
    objective = staticmethod(objective)
    pareto = staticmethod(pareto)
    suggest = staticmethod(suggest)
    sweep = staticmethod(sweep)
    tune = staticmethod(tune)


sys.modules[__name__].__class__ = Sweep
__signature__ = signature(sweep)  # editors show it for ``eh.sweep(``
