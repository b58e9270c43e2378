"""For tests of programs that use the library: strategies, machines, laws and comparisons.

`strategies` draws snapshots, policies and what happens to clusters, and `machines` lets a live cluster, which
`living` compares with its rows, go through all of it (these need the extra `test`). `invariants` and
`metamorphic` hold the laws of fair shares, and `assertions` compares results in the words of the field.
`plan_laws`, `job_laws`, `queue_laws` and `priority_laws` hold the laws of plans, `successive` those of plans
that follow each other, and `happened` tells hypothesis how much there was to hold them against. `relations`
has changes of a snapshot that must not matter to any policy. `certificates` checks what a plan says of the
fewest or cheapest victims, with the arithmetic of `fewest` and `fewest_jobs`. `adapters` checks an adapter of
your own, and `acting` lets drivers act on a made-up site.

The page "Test your settings, policy, adapter or driver" has an example of each. Modules are imported when
they are first used.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

__all__ = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
