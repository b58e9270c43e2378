"""What people type: requests for preemption, and methods that stop jobs."""

from __future__ import annotations

from typing import Any

from evenhand.accepted import checked
from evenhand.building.problems import shorten
from evenhand.errors import InputError, Problem
from evenhand.systems.gridengine.record import LETTERS

__all__ = ["parse_command", "suspend_method"]


@checked("parse_command")
def parse_command(text: str) -> dict[str, Any]:
    """Read a line of ``qmod`` that requests preemption.

    Parameters
    ----------
    text : str
        ``qmod [-f] -p CONSUMER PROVIDER... [ACTION]``; jobs are numbers, tasks ``number.task``, providers
        also names. Without an action it is P.

    Returns
    -------
    dict
        ``kind``, ``consumer``, ``providers``, ``action``, ``force``.

    Raises
    ------
    InputError
        If it is no such line; table "commands".

    Examples
    --------
    >>> parse_command("qmod -f -p 6 4.1 sleep R")["providers"]
    ['4.1', 'sleep']
    """
    words = text.split() if isinstance(text, str) else []
    if not words or words[0].rpartition("/")[2] != "qmod":
        raise _wrong("kind", text, "it begins with qmod")
    rest, force = words[1:], False
    while rest[:1] == ["-f"]:
        rest, force = rest[1:], True
    if rest[:1] != ["-p"]:
        raise _wrong("kind", text, "it has the switch -p, before it at most -f")
    consumer, *providers = rest[1:] or [""]
    if not _is_job(consumer):
        raise _wrong("consumer", text, "the consumer is the number of a job, or number.task")
    action = "P"
    if len(providers) > 1 and len(providers[-1]) == 1 and providers[-1] in LETTERS:
        action = providers.pop()
    if not providers or (len(providers) == 1 and providers[0] in tuple(LETTERS)):
        raise _wrong("providers", text, "it names at least one provider")
    for name in providers:
        if name.startswith("-"):
            raise _wrong("providers", text, f"{name} is no job")
    return {
        "kind": "preempt",
        "consumer": consumer,
        "providers": providers,
        "action": action,
        "force": force,
    }


@checked("suspend_method")
def suspend_method(method: str, action: str) -> str:
    """Return a method that stops jobs, with the letter of the action in the place of ``$action``.

    Parameters
    ----------
    method : str
        As the queue configures it.
    action : str
        A letter.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If there is no such action.

    Examples
    --------
    >>> suspend_method("/m.sh $action", "N")
    '/m.sh N'
    """
    if len(action) != 1 or action not in LETTERS:
        raise _wrong("action", action, f"an action is one of {', '.join(LETTERS)}")
    return method.replace("$action", action)


def _is_job(word: str) -> bool:
    number, dot, task = word.partition(".")
    return number.isascii() and number.isdigit() and (not dot or (task.isascii() and task.isdigit()))


def _wrong(field: str, value: Any, rule: str) -> InputError:
    message = f"{shorten(value)}: {rule}"
    return InputError([Problem("commands", None, None, field, "syntax", shorten(value), message)])
