"""A live cluster, as the command line names it: its adapter, and whose rules count."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.building.problems import nearest
from evenhand.cli.reading import read_toml
from evenhand.cli.streams import Failure
from evenhand.systems import SYSTEMS

if TYPE_CHECKING:
    import argparse

    from evenhand.adapters import Adapter

__all__ = ["known_adapter", "loaded", "rules_of"]

#: Arguments that one adapter takes.
_OF_ONE: Mapping[str, Sequence[str]] = {
    "slurm": ("evict", "pools"),
    "gridengine": ("force", "suspended_slots_are_free"),
}


def known_adapter(args: argparse.Namespace) -> None:
    """Refuse an adapter that there is not, and options of another one."""
    from evenhand import adapters

    if args.adapter not in (known := sorted(adapters.available())):
        said = f"{args.adapter!r} is none of {', '.join(known)}{nearest(args.adapter, known)}"
        raise Failure(f"argument --adapter: {said}", usage=True)
    for system, names in _OF_ONE.items():
        for name in names:
            if args.adapter != system and getattr(args, name, None):
                option = name.replace("_", "-")
                raise Failure(f"argument --{option}: only with --adapter {system}", usage=True)


def loaded(args: argparse.Namespace, rules: str) -> Adapter:
    """Return the adapter with the options that it takes; `rules` says whose count, as `rules_of` does."""
    from evenhand import adapters

    options: dict[str, Any] = {}
    if args.adapter == "slurm":
        options = {"pools": args.pools or "partition", "timeout": args.timeout}
        options["own_rules"] = rules.startswith("slurm:")
        if hasattr(args, "evict"):
            options["evict"] = args.evict or "requeue_hold"
    elif args.adapter == "gridengine":
        names = ("timeout", "force", "suspended_slots_are_free")
        options = {name: getattr(args, name) for name in names if hasattr(args, name)}
    return adapters.load(args.adapter, **options)


def rules_of(args: argparse.Namespace) -> tuple[str, Callable[[Adapter], Any]]:
    """Return whose rules count, and how to get them from an adapter.

    The adapter is asked for its own where no others are named, and for those of the cluster's own system.
    """
    from evenhand.adapters.guarded import guarded
    from evenhand.cli.policies import described_policy, made_policy

    name = args.policy or (args.adapter if args.adapter in SYSTEMS else None)
    settings = {} if args.config is None or name is not None else read_toml(args.config)
    if name is None and "system" not in settings:
        preset = settings.pop("preset", None)
        said = f"those of the adapter {args.adapter}{f':{preset}' if preset else ''}"
        return said, lambda adapter: functools.partial(guarded(adapter).policy, preset, **settings)
    system, preset, settings = described_policy(name, args.config, args.adapter)

    def policy(adapter: Adapter) -> Any:
        if system == adapter.name:
            return functools.partial(adapter.policy, preset, **settings)
        return made_policy(name, args.config)

    return f"{system}:{preset}", policy
