"""Which thresholds are best: what comes of many settings; the module can be called, too."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from evenhand.sweep.front import pareto
from evenhand.sweep.running import sweep
from evenhand.sweep.space import Between, between
from evenhand.sweep.trials import objective, suggest
from evenhand.sweep.tuning import Tuned, tune
from evenhand.table import Table

__all__ = ["Between", "Tuned", "between", "objective", "pareto", "suggest", "sweep", "tune"]


class _Callable(ModuleType):
    """So that ``eh.sweep`` is the function and the room."""

    def __call__(self, *args: Any, **kwargs: Any) -> Table:
        return sweep(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
