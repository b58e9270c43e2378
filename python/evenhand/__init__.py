"""A cluster scheduler's fairness and preemption policy as a library."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    from evenhand._core import __version__
except ImportError as error:
    error.add_note(
        "evenhand's compiled core is missing or does not fit this Python. In a checkout, build it with"
        " `pip install .` (a C++20 compiler is needed); otherwise `pip install --force-reinstall evenhand`."
    )
    raise

if TYPE_CHECKING:
    from evenhand import act, adapters, history, plot, policies, synthetic, traces
    from evenhand.cluster import Cluster
    from evenhand.config.fair_share import FairShareSettings
    from evenhand.config.triggers import Commands, Cycle, Heartbeat, Round, SchedulingRun
    from evenhand.diagnostics import Diagnostic
    from evenhand.errors import CertificateError, EvenhandError, InputError, MissingExtraError
    from evenhand.explain import Explanation
    from evenhand.model import Snapshot
    from evenhand.plans import Plan
    from evenhand.plans.answers import starvation, usage_share
    from evenhand.plans.planning import plan
    from evenhand.plans.victims import victims
    from evenhand.shares import FairShareEngine, Shares, fair_share
    from evenhand.simulate import Simulate
    from evenhand.state import State
    from evenhand.sweep import Sweep, tune
    from evenhand.table import Table
    from evenhand.versions import show_versions

    simulate: Simulate  # functions that are rooms, too
    sweep: Sweep

# Where a public name lives: its module is imported when the name is first used, so that
# `import evenhand` costs little more than NumPy.
# A module is its own home.
_HOMES = {
    "CertificateError": "evenhand.errors",
    "Cluster": "evenhand.cluster",
    "Commands": "evenhand.config.triggers",
    "Cycle": "evenhand.config.triggers",
    "Diagnostic": "evenhand.diagnostics",
    "EvenhandError": "evenhand.errors",
    "Explanation": "evenhand.explain",
    "FairShareEngine": "evenhand.shares",
    "FairShareSettings": "evenhand.config.fair_share",
    "Heartbeat": "evenhand.config.triggers",
    "InputError": "evenhand.errors",
    "MissingExtraError": "evenhand.errors",
    "Plan": "evenhand.plans",
    "Round": "evenhand.config.triggers",
    "SchedulingRun": "evenhand.config.triggers",
    "Shares": "evenhand.shares",
    "Snapshot": "evenhand.model",
    "State": "evenhand.state",
    "Table": "evenhand.table",
    "act": "evenhand.act",
    "adapters": "evenhand.adapters",
    "fair_share": "evenhand.shares",
    "history": "evenhand.history",
    "plan": "evenhand.plans.planning",
    "plot": "evenhand.plot",
    "policies": "evenhand.policies",
    "show_versions": "evenhand.versions",
    "simulate": "evenhand.simulate",
    "starvation": "evenhand.plans.answers",
    "sweep": "evenhand.sweep",
    "synthetic": "evenhand.synthetic",
    "traces": "evenhand.traces",
    "tune": "evenhand.sweep.tuning",
    "usage_share": "evenhand.plans.answers",
    "victims": "evenhand.plans.victims",
}

__all__ = [
    "CertificateError",
    "Cluster",
    "Commands",
    "Cycle",
    "Diagnostic",
    "EvenhandError",
    "Explanation",
    "FairShareEngine",
    "FairShareSettings",
    "Heartbeat",
    "InputError",
    "MissingExtraError",
    "Plan",
    "Round",
    "SchedulingRun",
    "Shares",
    "Snapshot",
    "State",
    "Table",
    "__version__",
    "act",
    "adapters",
    "fair_share",
    "history",
    "plan",
    "plot",
    "policies",
    "show_versions",
    "simulate",
    "starvation",
    "sweep",
    "synthetic",
    "traces",
    "tune",
    "usage_share",
    "victims",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_HOMES[name])
    value = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
