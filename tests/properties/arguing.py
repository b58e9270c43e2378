"""Wrong arguments for every public function, drawn from its own signature.

``python -m tests.properties.arguing COUNT`` draws so many calls; each must be refused by an error of the
package, or be of use.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import faulthandler
import inspect
import io
import itertools
import os
import resource
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import evenhand as eh
from tests.properties.odd_values import ODD
from tests.properties.public import Public, every_public
from tests.properties.right_values import world

__all__ = ["Call", "drawn", "raw_of"]

#: How many values of an iterator that a function returns are asked for.
_ASKED = 5
_NOTHING = object()
#: Arguments without which a call would go on for ever, as it should.
_ALWAYS: dict[tuple[str, str], Any] = {("act.watch", "once"): True}


@dataclass(frozen=True)
class Call:
    """A call with some arguments that are odd.

    Attributes
    ----------
    function : Public
    number : int
        Of the draw, from which the right arguments follow.
    odd : dict of str to str
        Names of odd values by parameter; of ``**others`` by an invented name.
    """

    function: Public
    number: int
    odd: dict[str, str]

    def __str__(self) -> str:
        said = ", ".join(f"{name}={value}" for name, value in self.odd.items())
        return f"{self.function.name}({said})  # draw {self.number}"


def drawn(number: int) -> Call:
    """Return one call of all that there are."""
    chance = Random(number)
    function = chance.choice(every_public())
    names = [p.name if p.kind is not p.VAR_KEYWORD else "other" for p in function.parameters]
    count = min(1 if chance.random() < 0.7 else 2, len(names))
    return Call(function, number, {name: chance.choice(list(ODD)) for name in chance.sample(names, count)})


def arguments_of(call: Call) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments: odd ones, and right ones for all that must be given and for some others."""
    chance = Random(call.number)
    things = world()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    if call.function.owner is not None:
        positional.append(things.receiver(call.function.owner))
    for p in call.function.parameters:
        given: Any = _ALWAYS.get((call.function.name, p.name), _NOTHING)
        if p.kind is p.VAR_KEYWORD:
            if "other" in call.odd:
                key = chance.choice(
                    ["cpu", "heartbeat_period", "pools", "strange name", "fair_share_update_period"]
                )
                if key not in named:
                    named[key] = ODD[call.odd["other"]]()
            continue
        if given is not _NOTHING:
            pass
        elif p.name in call.odd:
            given = ODD[call.odd[p.name]]()
        elif p.kind is not p.VAR_POSITIONAL and (p.default is p.empty or chance.random() < 0.3):
            kind = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
            known, given = things.right(call.function.name, p.name, kind, chance)
            if not known:
                given = ODD[chance.choice(list(ODD))]() if p.default is p.empty else _NOTHING
        if given is _NOTHING:
            continue
        if p.kind is p.VAR_POSITIONAL:
            positional.extend([given])
        elif p.kind is p.POSITIONAL_ONLY:
            positional.append(given)
        else:
            named[p.name] = given
    return positional, named


def raw_of(call: Call) -> BaseException | None:
    """Return what comes out of a call that is no error of the package; None: all is well."""
    positional, named = arguments_of(call)
    quiet = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            warnings.simplefilter("ignore")
            _use(call.function.function(*positional, **named))
    except eh.EvenhandError as error:
        return _unreadable(error)
    except OSError as error:
        return None if call.function.reads else error
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, TypeError) and _counts(call, positional, named):
            return None
        return error
    return None


def _unreadable(error: eh.EvenhandError) -> BaseException | None:
    try:
        return None if str(error) else ValueError("an error without a word")
    except Exception as another:
        return another


def _counts(call: Call, positional: list[Any], named: dict[str, Any]) -> bool:
    """Whether the number or the names of the arguments are what is wrong."""
    try:
        inspect.signature(call.function.function).bind(*positional, **named)
    except TypeError:
        return True
    return False


def _use(value: Any) -> None:
    """Wait for what comes later."""
    if inspect.iscoroutine(value):
        value = asyncio.run(value)
    if inspect.isgenerator(value):
        for _ in itertools.islice(value, _ASKED):
            pass


def smallest(call: Call) -> Call:
    """Return the call with fewer odd arguments if that fails as well."""
    for name in list(call.odd):
        one = Call(call.function, call.number, {name: call.odd[name]})
        if len(call.odd) > 1 and raw_of(one) is not None:
            return one
    return call


def failures(numbers: Iterator[int], loud: bool = False) -> Iterator[tuple[Call, BaseException]]:
    """Yield calls out of which something raw comes."""
    for number in numbers:
        call = drawn(number)
        if loud:
            print(call, file=sys.stderr, flush=True)
        if (error := raw_of(call)) is not None:
            yield call, error


def main() -> int:
    """Draw as many calls as the command line asks for; return 1 if anything raw came out of one."""
    parser = argparse.ArgumentParser(prog="python -m tests.properties.arguing", allow_abbrev=False)
    parser.add_argument("count", type=int)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--only", help="functions whose name has this text")
    parser.add_argument("--last", help="file for the call that is being made: what a crash leaves")
    asked = parser.parse_args()
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30,) * 2)
    os.chdir(world().folder)
    found: Counter[str] = Counter()
    for number in range(asked.first, asked.first + asked.count):
        call = drawn(number)
        if asked.only and asked.only not in call.function.name:
            continue
        if asked.last:
            Path(asked.last).write_text(f"{call}\n", "utf-8")
        faulthandler.dump_traceback_later(120, exit=True)
        error = raw_of(call)
        faulthandler.cancel_dump_traceback_later()
        if error is None:
            continue
        call = smallest(call)
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = next(
            (
                f"{f.filename.rpartition('/')[2]}:{f.lineno}"
                for f in reversed(traceback.extract_tb(error.__traceback__))
                if "/evenhand/" in f.filename
            ),
            f"{at.filename}:{at.lineno}",
        )
        key = f"{call.function.name} {type(error).__name__} at {where}"
        found[key] += 1
        if found[key] == 1:
            print(f"{key}\n    {call}\n    {str(error)[:200]!r}", flush=True)
    print(f"{asked.count} calls; raw: {sum(found.values())} of {len(found)} kinds")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
