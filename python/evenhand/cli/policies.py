"""Policies and their settings, and what they act on, as the command line names them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.building.problems import nearest
from evenhand.cli.parsing import either
from evenhand.cli.reading import lines_of, read_toml
from evenhand.cli.streams import Failure, label, print_errors
from evenhand.config import triggers
from evenhand.errors import InputError, Problem
from evenhand.systems import SYSTEMS

if TYPE_CHECKING:
    from evenhand.config.fair_share import FairShareSettings
    from evenhand.model import Snapshot

__all__ = ["described_policy", "fair_share_settings", "made_policy", "trigger_of"]

#: How each trigger is written.
_WRITTEN = {
    triggers.Round: ("round",),
    triggers.Heartbeat: ("heartbeat:NODE",),
    triggers.SchedulingRun: ("run",),
    triggers.Cycle: tuple(f"cycle:{name}" for name in triggers.CYCLES),
    triggers.Commands: ("commands",),
}


def described_policy(name: str, config: str | None) -> tuple[str, str, dict[str, Any]]:
    """Return system, preset and settings that the command line and its file ask for."""
    system, _, preset = name.partition(":")
    settings = {} if config is None else read_toml(config)
    # A file that describes a complete policy, too: the command line comes first.
    described = settings.pop("system", system)
    if described not in SYSTEMS:
        known = f"{', '.join(SYSTEMS)}{nearest(described, SYSTEMS)}"
        raise Failure(f"{label(str(config))}: settings: system is {described!r}, none of {known}")
    if described != system:
        said = f"{label(str(config))} describes {described}, not {system}; say --policy {described}"
        raise Failure(f"argument --policy: {said}", usage=True)
    other = settings.pop("preset", SYSTEMS[system].presets[0])
    return system, preset or other, settings


def made_policy(name: str, config: str | None) -> Any:
    """Return the policy that the command line and its file ask for."""
    system, preset, settings = described_policy(name, config)
    try:
        return SYSTEMS[system].policy(preset, **settings)
    except InputError as error:
        found = InputError(map(_with_its_system, error.problems), error.omitted)
        raise Failure(*lines_of(config or name, found)) from error


def _with_its_system(problem: Problem) -> Problem:
    """Return a problem that says which systems have a setting that the policy has not."""
    if problem.rule != "unknown_field" or "did you mean" in problem.message:
        return problem
    having = [
        word
        for word, system in SYSTEMS.items()
        if problem.field in {*system.policy.model.model_fields, *system.policy.model.ALIASES}
    ]
    said = f"; it is a setting of {either(having, 'and')}" if having else ""
    return replace(problem, message=problem.message + said)


def fair_share_settings(path: str | None) -> FairShareSettings | None:
    """Return the settings of fair shares in a file: by themselves, or among those of a policy."""
    from pydantic import ValidationError

    from evenhand.config.checked import problems_of
    from evenhand.config.fair_share import FairShareSettings

    if path is None:
        return None
    settings = read_toml(path)
    own = {*FairShareSettings.model_fields, *FairShareSettings.ALIASES}
    if _is_policy(settings, own):
        return _of_policy(path, settings, own)
    try:
        return FairShareSettings(**settings)
    except ValidationError as error:
        found = InputError(problems_of(FairShareSettings, error))
        raise Failure(*lines_of(path, found)) from error


def _is_policy(settings: dict[str, Any], own: set[str]) -> bool:
    """Return whether settings are those of a policy: whether one of them is, and none of fair shares."""
    models = [system.policy.model for system in SYSTEMS.values()]
    names = {name for model in models for name in (*model.model_fields, *model.ALIASES)}
    return not (names | {"system", "preset"}).isdisjoint(settings.keys() - own)


def _of_policy(path: str, settings: dict[str, Any], own: set[str]) -> FairShareSettings:
    """Return the settings of fair shares among a policy's; say which of the others are left out."""
    sharing = [word for word, system in SYSTEMS.items() if system.shares]
    word = settings.get("system", sharing[0])
    if word not in sharing:
        said = f"system is {word!r}; shares are computed as in {either(sharing)}"
        raise Failure(f"{label(path)}: settings: {said}")
    policy = made_policy(word, path)
    others = [name for name in settings if name not in {*own, "fair_share", "system", "preset"}]
    if others:
        said = f"shares do not depend on {either(others, 'and')}, which only plans read"
        print_errors([f"note: {label(path)}: {said}"])
    found: FairShareSettings = policy.settings.fair_share
    return found


def trigger_of(text: str | None, snapshot: Snapshot, file: str, system: str) -> Any:
    """Return what the policy acts on; None: its own."""
    import evenhand as eh

    if text is None:
        return None
    kind, _, name = text.partition(":")
    given = "heartbeat:NODE" if kind == "heartbeat" and name else text
    its = [form for trigger in SYSTEMS[system].triggers for form in _WRITTEN[trigger]]
    if given not in its:
        known = any(given in forms for forms in _WRITTEN.values())
        hint = "" if known else nearest(text, its)
        title = SYSTEMS[system].title
        raise Failure(f"argument --on: {title} decides on {either(its)}, not on {text!r}{hint}", usage=True)
    if given == "heartbeat:NODE":
        nodes = {str(node): node for node in snapshot.names("nodes")}
        if name not in nodes:
            said = f"{file} has no node {name!r}{nearest(name, nodes)}"
            raise Failure(f"argument --on: {said}", usage=True)
        return eh.Heartbeat(nodes[name])
    if kind == "cycle":
        return eh.Cycle(name)
    if kind == "commands":
        return eh.Commands(tuple(snapshot.commands))
    return eh.Round() if kind == "round" else eh.SchedulingRun()
