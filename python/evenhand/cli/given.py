"""What FILE is: a snapshot or a saved plan as JSON, or texts of a system itself, in a file or a folder."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from evenhand.cli.own_files import own_kind, part_in
from evenhand.cli.parsing import either
from evenhand.cli.reading import lines_of, snapshot_of
from evenhand.cli.streams import Failure, label, print_errors, read_bytes, read_text, reason
from evenhand.errors import EvenhandError, InputError
from evenhand.systems import SYSTEMS
from evenhand.systems.record import named

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot
    from evenhand.state import State

__all__ = ["Given", "Own", "given_file", "told"]

_READ = {word: import_module(system.texts_at) for word, system in SYSTEMS.items() if system.texts_at}
_LISTED = 5  # diagnostics
_OF_TEXTS = ("now", "partition")
_OF_JSON = ("order", "rounding")


@dataclass(frozen=True, slots=True)
class Own:
    """What the texts of a system say: its word, the path they came from, and what its reader returned."""

    system: str
    path: str
    reading: Any

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What there is to say of the texts."""
        return tuple(self.reading.diagnostics)

    def state(self, system: str) -> State | None:
        """Return what a first plan starts from, where the texts tell of anything before them."""
        if system != self.system or not getattr(self.reading, "triggered", None):
            return None
        state: State = self.reading.state
        return state


@dataclass(frozen=True, slots=True)
class Given:
    """A file that a command is given, or a folder."""

    path: str
    text: str = ""
    system: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)

    def own(self, args: argparse.Namespace, config: str | None = None) -> Own | None:
        """Return what a system's own texts say, with the configuration if that is its own; None of JSON."""
        if not self.system:
            _refuse(args, _OF_TEXTS, f"only with a system's own texts, and {label(self.path)} has none")
            return None
        title, reader = SYSTEMS[self.system].title, named(SYSTEMS[self.system].reader_at)
        _refuse(args, _OF_JSON, f"only with a snapshot as JSON, and {label(self.path)} is of {title}")
        known = inspect.signature(reader).parameters
        _refuse(args, [name for name in _OF_TEXTS if name not in known], f"not with texts of {title}")
        parts = {**self.parts, **self._configuration(config)}
        texts = _READ[self.system]
        if missing := [texts.PARTS[part] for part in texts.NEEDED if part not in parts]:
            has = either([texts.PARTS[part] for part in parts], "and")
            said = f"has {has} of {title}, but not {missing[0]}; give a folder with that too"
            raise Failure(f"{label(self.path)}: {said}")
        options = {name: getattr(args, name) for name in _OF_TEXTS if getattr(args, name) is not None}
        try:
            return Own(self.system, self.path, reader(**parts, **options))
        except InputError as error:
            raise Failure(*lines_of(self.path, error)) from error
        except EvenhandError as error:  # a missing extra
            raise Failure(f"{label(self.path)}: {error}") from error

    def _configuration(self, config: str | None) -> dict[str, str]:
        """Return a configuration that is the same system's own as a part."""
        if config is None:
            return {}
        text = read_text(config)
        if own_kind(config, text) != self.system or (part := part_in(self.system, text)) is None:
            return {}
        if part in self.parts:
            said = f"{label(self.path)} has {_READ[self.system].PARTS[part]} already"
            raise Failure(f"argument --config: {said}", usage=True)
        return {part: text}

    def snapshot(self, args: argparse.Namespace, own: Own | None) -> Snapshot:
        """Return the snapshot; what is wrong with it is raised as `InputError`."""
        if own is None:
            return snapshot_of(args, self.text)
        snapshot: Snapshot = own.reading.snapshot
        return snapshot


def told(args: argparse.Namespace, given: Given, config: str | None = None) -> Own | None:
    """Return what `Given.own` does; what there is to say of the texts goes to standard error."""
    own = given.own(args, config)
    if own is None:
        return None
    lines = [one.message for one in own.diagnostics[:_LISTED]]
    if (more := len(own.diagnostics) - _LISTED) > 0:
        lines.append(f"there is more to say of the texts ({more} notes); evenhand validate says all")
    print_errors([f"note: {label(own.path)}: {line}" for line in lines])
    return own


def given_file(path: str) -> Given:
    """Read a file, or the texts in a folder, and tell what it is."""
    if path != "-" and os.path.isdir(path):  # noqa: PTH112 - of a name that is none it says no
        return _folder(path)
    text = read_text(path)
    for system in _READ:
        if part := part_in(system, text):
            return Given(path, "", system, {part: text})
    if own_kind(path, text) is not None:  # of Slurm, which no reader makes a snapshot of
        said = "is a configuration, which has no jobs; give it as --config of a snapshot's plan"
        raise Failure(f"{label(path)}: {said}")
    return Given(path, text)


def _folder(path: str) -> Given:
    """Return the texts of a folder: each tells by itself what it is, or else by its name."""
    try:
        files = sorted(one for one in Path(path).iterdir() if one.is_file() and one.name[:1] != ".")
    except OSError as error:
        raise Failure(f"{label(path)}: cannot be read: {reason(error)}") from error
    texts = {str(file): _lenient(str(file)) for file in files}
    told = {
        name: (system, part)
        for name, text in texts.items()
        for system in _READ
        if (part := part_in(system, text))
    }
    systems = sorted({system for system, _ in told.values()})
    if len(systems) != 1:
        titles = [SYSTEMS[system].title for system in systems or _READ]
        said = f"with texts of {either(titles, 'and')}" if systems else f"without texts of {either(titles)}"
        raise Failure(f"{label(path)}: is a folder {said}; give one with those of one system")
    system = systems[0]
    parts: dict[str, str] = {}
    for name, text in texts.items():
        part = told[name][1] if name in told else _stem(name)
        if part not in _READ[system].PARTS:
            raise Failure(f"{label(name)}: is no text of {SYSTEMS[system].title} that is known here")
        if part in parts:
            raise Failure(f"{label(name)}: is {_READ[system].PARTS[part]}, as another file of the folder is")
        parts[part] = text
    return Given(path, "", system, parts)


def _lenient(path: str) -> str:
    """Return a text; in XML the environments of jobs may have bytes that are no UTF-8."""
    data = read_bytes(path)
    xml = data.lstrip()[:1] == b"<"
    return data.decode("utf-8-sig", errors="replace") if xml else read_text(path)


def _stem(path: str) -> str:
    """Return a file's name without what stands behind the first dot."""
    return PurePath(path).name.partition(".")[0]


def _refuse(args: argparse.Namespace, options: Any, said: str) -> None:
    for option in options:
        if getattr(args, option) is not None:
            raise Failure(f"argument --{option}: {said}", usage=True)
