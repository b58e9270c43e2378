"""The command that carries out one request for preemption on a cluster."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
from typing import TYPE_CHECKING

from evenhand.cli.acting import print_row, stopping
from evenhand.cli.journal import unsettled
from evenhand.cli.reading import lines_of, read_toml
from evenhand.cli.streams import Failure, Talker, label, print_errors, reason
from evenhand.errors import EvenhandError, InputError

if TYPE_CHECKING:
    import argparse

__all__ = ["preempt"]

_SYSTEM = "gridengine"


def preempt(args: argparse.Namespace) -> int:
    """Let jobs give way to another one."""
    from evenhand import act, adapters
    from evenhand.act.folder import KEPT
    from evenhand.act.requests import request, rules_of

    settings = {} if args.config is None else read_toml(args.config)
    settings.pop("preset", None)
    if settings.pop("system", _SYSTEM) != _SYSTEM:
        raise Failure(f"{label(args.config)}: settings: system must be {_SYSTEM}")
    logging.basicConfig(format="evenhand: %(message)s", level=logging.WARNING)
    caps = act.Caps(
        *(getattr(args, name) or None for name in ("per_run", "per_hour", "per_owner", "per_job"))
    )
    timing = act.Timing(start=args.start_timeout, max_age=args.max_age)
    options = {name: getattr(args, name) for name in ("timeout", "force", "suspended_slots_are_free")}
    try:
        adapter = adapters.load(_SYSTEM, **options)
        rules = rules_of(adapter, **settings)
        say, stop = Talker(), threading.Event()
        with (
            stopping(stop),
            contextlib.closing(say),
            act.Driver(
                adapter,
                args.journal,
                dry_run=args.dry_run,
                caps=caps,
                stop_file=args.stop_file,
                timing=timing,
                lock=args.lock,
                progress=functools.partial(print_row, say),
                stop=stop,
                plans=args.plans,
                keep_plans=args.keep_plans or KEPT,
            ) as driver,
        ):
            driver.recover()
            plan = request(driver, rules, args.consumer, args.providers, action=args.action, force=args.force)
            rows = driver.act(plan).rows
            left = unsettled(driver.book)
            print_errors(left)
    except InputError as error:
        raise Failure(*lines_of(args.config or _SYSTEM, error)) from error
    except EvenhandError as error:
        raise Failure(str(error)) from error
    except OSError as error:
        where = f"{label(str(error.filename))}: " if error.filename else ""
        raise Failure(f"{where}cannot be used: {reason(error)}") from error
    done = {"started", "repaired", "dry_run"}
    return 0 if rows and all(row.outcome in done for row in rows) and not (left and not args.dry_run) else 1
