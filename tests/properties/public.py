"""Every public function, found by walking the documented modules."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import evenhand as eh

__all__ = ["Public", "every_public"]

ROOT = Path(__file__).resolve().parents[2]

#: What the engine itself calls, and what only functions of the package make: no argument of anybody's.
INSIDE = frozenset(
    (
        *("Plan", "Shares", "Explanation", "plans.decisions.Decisions", "plans.refusals.Refusals"),
        *(
            "plans.decisions.Decisions.take",
            "plans.refusals.Refusals.take",
            "plans.check.check",
            "plans.check.check_rest",
        ),
        *("plans.statuses.Groups", "plans.statuses.Statuses", "plans.certificates.certificates_of"),
        *("policies.Policy", "reasons.add", "reasons.reason", "systems.registry.register", "act.Book"),
        *("act.Book.add", "act.Book.failed", "act.Book.set_clock", "act.Caps.exceeded", "act.Caps.spent"),
        *("act.Timing.pause_after", "adapters.recording.Recorder"),
        *("systems.record.System.reads_with", "simulate.Workload.parsed"),
        *("plans.decisions.asked_cells", "plans.steps.rows_by_step"),
        "plans.certificates.none_of",
    )
)
#: Methods of a policy that plans and simulations call.
HOOKS = frozenset(
    (
        *(
            "came",
            "coming",
            "compared",
            "counted",
            "decides",
            "drive",
            "fate",
            "live",
            "noted",
            "noted_of_run",
        ),
        *("order_numbers", "remembered"),
        *("apart", "become", "share", "standing", "together"),
    )
)
#: Methods of an adapter that a driver calls.
DRIVEN = frozenset(("action", "commands", "do", "keep", "look", "room"))


@dataclass(frozen=True)
class Public:
    """A function, a constructor or a method that anybody may call.

    Attributes
    ----------
    name : str
        Below ``evenhand``: ``"simulate.Workload.slice"``.
    function : callable
        Of a method: of the class, to be called with an object first.
    owner : class or None
        Whose method it is.
    parameters : tuple of inspect.Parameter
        Without the object.
    reads : bool
        Whether it says that it raises OSError.
    """

    name: str
    function: Callable[..., Any]
    owner: type | None
    parameters: tuple[inspect.Parameter, ...]
    reads: bool


@cache
def documented() -> tuple[str, ...]:
    """Return the names of the modules that the reference lists."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: tuple[str, ...] = module.MODULES
    return found


@cache
def every_public() -> tuple[Public, ...]:
    """Return all of them, each once, by name."""
    modules: list[ModuleType] = [eh, *(importlib.import_module(f"evenhand.{name}") for name in documented())]
    found: dict[int, Public] = {}
    for module in modules:
        if module.__name__.startswith("evenhand.testing"):
            continue  # it refuses as the framework of its tests does
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, ModuleType):
                continue
            path = f"{module.__name__}.{name}".removeprefix("evenhand.")
            for one in _of(path, value):
                found.setdefault(id(one.function), one)
    return tuple(sorted(found.values(), key=lambda one: one.name))


def _of(path: str, value: Any) -> Iterator[Public]:
    if not inspect.isclass(value):
        if inspect.isroutine(value) and path not in INSIDE:
            yield from _public(path, value, value, None)
        return
    abstract = getattr(value, "_is_protocol", False) or path == "policies.Policy"
    if issubclass(value, Exception) or abstract:
        return
    if path not in INSIDE and "Parameters\n" in (inspect.getdoc(value) or ""):  # else functions make them
        yield from _public(path, value, value, None)
    for name in dir(value):
        if name.startswith("_") or f"{path}.{name}" in INSIDE:
            continue
        if (path.startswith("policies.") and name in HOOKS) or (
            path.startswith("adapters.") and name in DRIVEN
        ):
            continue
        kept = inspect.getattr_static(value, name)
        member = getattr(value, name)
        if inspect.isclass(member) or not callable(member):
            continue
        if not (getattr(member, "__module__", None) or "").startswith("evenhand"):
            continue
        if isinstance(kept, classmethod | staticmethod):
            yield from _public(f"{path}.{name}", member, kept.__func__, None)
        else:
            yield from _public(f"{path}.{name}", member, member, value)


def _public(path: str, call: Any, told: Any, owner: type | None) -> Iterator[Public]:
    said = inspect.getdoc(told) or ""
    parameters = tuple(inspect.signature(call).parameters.values())[owner is not None :]
    if parameters:
        yield Public(path, call, owner, parameters, re.search(r"^OSError", said, re.MULTILINE) is not None)
