"""Acting: from the steps of a plan to a cluster, safely enough to be killed at any moment.

`act` carries out one plan, `preempt` a person's request, `Driver` several; `watch` runs until it is stopped.
"""

from __future__ import annotations

from evenhand.act.acting import act, act_async
from evenhand.act.book import Book
from evenhand.act.caps import Caps
from evenhand.act.driver import Driver
from evenhand.act.journal import JournalError
from evenhand.act.lock import LockedError
from evenhand.act.report import Report, Row
from evenhand.act.requests import RequestError, preempt
from evenhand.act.timing import Timing
from evenhand.act.watching import watch

__all__ = [
    "Book",
    "Caps",
    "Driver",
    "JournalError",
    "LockedError",
    "Report",
    "RequestError",
    "Row",
    "Timing",
    "act",
    "act_async",
    "preempt",
    "watch",
]
