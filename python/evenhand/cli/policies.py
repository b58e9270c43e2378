"""Policies and their settings, and what they act on, as the command line names them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.building.problems import nearest
from evenhand.cli.own_files import own_kind, policy_of
from evenhand.cli.parsing import either
from evenhand.cli.reading import lines_of, read_toml, toml_of
from evenhand.cli.streams import Failure, label, print_errors, read_text
from evenhand.errors import EvenhandError, InputError, Problem
from evenhand.systems import SYSTEMS

if TYPE_CHECKING:
    from evenhand.cli.given import Own
    from evenhand.config.fair_share import FairShareSettings
    from evenhand.model import Snapshot

__all__ = ["described_policy", "fair_share_settings", "made_policy", "trigger_of"]


def described_policy(
    name: str | None, config: str | None, its_own: str | None = None
) -> tuple[str, str, dict[str, Any]]:
    """Return system, preset and settings that the command line and its file ask for.

    The command line comes first; a file may describe a complete policy. Settings of the system `its_own` are
    those of a cluster that it runs: by default what the system itself does counts there.
    """
    return _described(name, config, {} if config is None else read_toml(config), its_own)


def _described(
    name: str | None, config: str | None, settings: dict[str, Any], its_own: str | None = None
) -> tuple[str, str, dict[str, Any]]:
    system, _, preset = (name or "").partition(":")
    described = settings.pop("system", system or its_own or next(iter(SYSTEMS)))
    if described not in [*SYSTEMS]:
        known = f"{', '.join(SYSTEMS)}{nearest(described, SYSTEMS)}"
        raise Failure(f"{label(str(config))}: settings: system is {described!r}, none of {known}")
    if system and described != system:
        said = f"{label(str(config))} describes {described}, not {system}; say --policy {described}"
        raise Failure(f"argument --policy: {said}", usage=True)
    usual = "upstream" if described == its_own else SYSTEMS[described].presets[0]
    other = settings.pop("preset", usual)
    return described, preset or other, settings


def made_policy(name: str | None, config: str | None, own: Own | None = None) -> Any:
    """Return the policy that the command line and its file ask for.

    Where a system's own texts are planned on, it is that system's with its configuration, if no other is
    asked for.
    """
    text = None if config is None else read_text(config)
    settings: dict[str, Any] = {}
    if config is not None and text is not None:
        kind = own_kind(config, text)
        if kind is not None and (own is None or kind != own.system):
            return _of_own_file(kind, name, config, text)
        settings = {} if kind is not None else toml_of(config, text)
    system, preset, settings = _described(name, config, settings, None if own is None else own.system)
    try:
        if own is not None and system == own.system:
            print_errors(
                [f"note: {label(own.path)}: texts of {SYSTEMS[system].title}, read with preset {preset}"]
            )
            return own.reading.policy(preset, **settings)
        return SYSTEMS[system].policy(preset, **settings)
    except InputError as error:
        found = InputError(map(_with_its_system, error.problems), error.omitted)
        raise Failure(*lines_of(config or system, found)) from error


def _of_own_file(own: str, name: str | None, config: str, text: str) -> Any:
    """Return the policy that a system's own file describes, and say by which preset it is read."""
    system, _, preset = (name or own).partition(":")
    if system != own:
        said = f"{label(config)} is a file of {SYSTEMS[own].title}; say --policy {own}"
        raise Failure(f"argument --policy: {said}", usage=True)
    preset = preset or "upstream"
    try:
        policy, said_of_it = policy_of(own, text, preset, config)
    except InputError as error:
        raise Failure(*lines_of(config, error)) from error
    except EvenhandError as error:  # a missing extra
        raise Failure(f"{label(config)}: {error}") from error
    heads = [f"a file of {SYSTEMS[own].title}, read with preset {preset}", *said_of_it]
    print_errors([f"note: {label(config)}: {said}" for said in heads])
    return policy


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
    from evenhand.config.fair_share import FairShareSettings

    if path is None:
        return None
    settings = read_toml(path)
    own = {*FairShareSettings.model_fields, *FairShareSettings.ALIASES}
    if _is_policy(settings, own):
        return _of_policy(path, settings, own)
    try:
        return FairShareSettings(**settings)
    except InputError as error:
        raise Failure(*lines_of(path, error)) from error


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
    from evenhand.plans.triggers import trigger_of as read

    try:
        return None if text is None else read(text, snapshot, SYSTEMS[system])
    except ValueError as error:
        said = str(error).replace("the snapshot has", f"{file} has")
        raise Failure(f"argument --on: {said}", usage=True) from error
