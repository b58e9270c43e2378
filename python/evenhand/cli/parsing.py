"""Parsers of the command line: whole names of options only, and what is wrong with them in plain words."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from evenhand.cli.advice import in_options
from evenhand.cli.values import File

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Parser", "either"]

_NEGATIVE = re.compile(r"-[.\d]")
_NO_CHOICE = r"(argument .+): invalid choice: (.+) \(choose from (.+)\)"
_NO_VALUE = r"argument (.+): ignored explicit argument (.+)"


class Parser(argparse.ArgumentParser):
    """A parser that takes options by their whole names, and says what is wrong in plain words.

    What is wrong is told by the parser of the command that was meant, under its usage line.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **given})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Look at options before all else: argparse tells of what is missing first."""
        given = [*(sys.argv[1:] if args is None else args)]
        words, stray = self._looked_through(given)
        if stray:
            self._refuse(given, stray)
        required = [action for action in self._actions if action.required]
        try:
            found = super().parse_known_args(words, namespace)
        finally:
            for action in required:  # one that was given may stand in the place of others, in this call
                action.required = True
        self._one_standard_input(vars(found[0]))
        return found

    def _one_standard_input(self, given: Mapping[str, Any]) -> None:
        """Refuse two files that are both to come from standard input."""
        first: str | None = None
        for action in self.files():
            if given.get(action.dest) != "-":
                continue
            if first is not None:
                said = f"standard input is {first} already; only one of them can be"
                self.error(str(argparse.ArgumentError(action, said)))
            first = action.option_strings[0] if action.option_strings else str(action.metavar)

    def files(self) -> list[argparse.Action]:
        """Return the arguments and options that name a file."""
        return [action for action in self._actions if isinstance(action.type, File)]

    def error(self, message: str) -> NoReturn:
        """Leave with status 2: one line of usage, and one of what is wrong."""
        from evenhand.display.text import clean  # NumPy is not needed for help

        said = clean(in_options(_in_plain_words(message)))
        self.exit(2, f"usage: {self.brief}\n{self.prog}: error: {said}\n")

    @property
    def brief(self) -> str:
        """The usage in one line: what must be given, and that there are options."""
        needed = [
            f"{action.option_strings[0]} {action.metavar}"
            for action in self._actions
            if action.required and action.option_strings
        ]
        named = [
            f"{action.metavar} ..." if action.nargs == argparse.PARSER else str(action.metavar)
            for action in self._get_positional_actions()
        ]
        return " ".join([self.prog, "[-h]", *needed, "[OPTION ...]", *named])

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Leave once all that was printed has been written."""
        if message:
            self._print_message(message, sys.stderr)
        sys.stdout.flush()
        sys.exit(status)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write; unlike argparse, let the caller know what standard output does not take."""
        if file is not sys.stdout and file is not None:
            try:
                file.write(message)
                file.flush()
            except OSError:  # what is left of it must not be written again when the interpreter ends
                from evenhand.cli.streams import close_output  # not needed for help

                with suppress(OSError, ValueError):
                    close_output(file)
        elif message:
            sys.stdout.write(message)

    @property
    def commands(self) -> dict[str, Parser]:
        """Parsers of the commands, of the program's own parser."""
        found: dict[str, Parser] = {}
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                found.update(action.choices)
        return found

    def options(self) -> list[str]:
        """Return the names of all options, short ones too."""
        return [*self._option_string_actions]

    def _looked_through(self, given: Sequence[str]) -> tuple[list[str], str | None]:
        """Return the arguments, and an option that there is not.

        A value that begins with a dash and a digit is joined to its option: it is that option's to judge.
        """
        words: list[str] = []
        at = 0
        while at < len(given):
            word, at = given[at], at + 1
            if word == "--" or (self.commands and not word.startswith("-")):
                return [*words, word, *given[at:]], None
            option = word.partition("=")[0]
            action = self._option_string_actions.get(option)
            if action is None:
                if word.startswith("-") and len(word) > 1 and not _NEGATIVE.match(word) and " " not in word:
                    return words, option
            elif action.dest in ("help", "version"):
                return [*words, word, *given[at:]], None
            elif action.nargs is None and option == word and at < len(given):
                value, at = given[at], at + 1
                if _NEGATIVE.match(value):
                    word = f"{word}={value}"
                elif value.startswith("-") and len(value) > 1:
                    at -= 1
                else:
                    words += [word, value]
                    continue
            words.append(word)
        return words, None

    def _refuse(self, given: Sequence[str], stray: str) -> NoReturn:
        """Leave because of an option that there is not."""
        from evenhand.building.problems import nearest  # NumPy is not needed for help

        commands = self.commands
        meant = next((word for word in given if word in commands), None)
        having = [name for name, command in commands.items() if stray in command.options()]
        if having:
            behind = meant if meant in having else having[0]
            teller = commands[behind] if meant in having else self
            teller.error(f"option {stray} stands behind the command: evenhand {behind} ... {stray}")
        if (plain := stray.lstrip("-")) in commands:
            self.error(f"there is no option {stray}; the command is {plain}, without dashes")
        begun = [name for name in self.options() if len(stray) == 2 and name.startswith(f"-{stray}".lower())]
        known = f'; did you mean "{begun[0]}"?' if len(begun) == 1 else ""
        for parser in (self, *commands.values()):
            known = known or nearest(stray, [name for name in parser.options() if name.startswith("--")])
        where = " before the command" if commands and meant else ""
        self.error(f"there is no option {stray}{where}{known}")


def either(words: Sequence[str], last: str = "or") -> str:
    """Return words in a row, ``last`` before the last of them."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _in_plain_words(message: str) -> str:
    """Return what is wrong with the arguments, with the nearest words where one is unknown."""
    from evenhand.building.problems import nearest

    if found := re.fullmatch(r"the following arguments are required: (.+)", message):
        return f"{either(found[1].split(', '), 'and')} must be given"
    if found := re.fullmatch(r"unrecognized arguments: (.+)", message, re.DOTALL):
        return f"{found[1]!r} is one argument too many"
    if found := re.fullmatch(_NO_CHOICE, message, re.DOTALL):
        words = found[3].replace("'", "").split(", ")
        return f"{found[1]}: {found[2]} is none of {', '.join(words)}{nearest(found[2][1:-1], words)}"
    if found := re.fullmatch(_NO_VALUE, message, re.DOTALL):
        return f"argument {found[1]}: takes no value, but {found[2]} is given"
    message = message.replace("not allowed with argument", "cannot be given together with")
    return re.sub("expected (one|at least one) argument", "needs a value", message)
