"""Acting: from the steps of a plan to a cluster, safely enough to be killed at any moment.

`act` carries out one plan, `preempt` a person's request, `Driver` several; `watch` runs until it is stopped.
`PlanFolder` has the plans that a driver saved, `trail` what became of a job and why.
"""

from __future__ import annotations

from evenhand.act.acting import act, act_async
from evenhand.act.book import Book
from evenhand.act.caps import Caps
from evenhand.act.driver import Driver
from evenhand.act.folder import PlanFolder
from evenhand.act.journal import JournalError
from evenhand.act.lock import LockedError
from evenhand.act.report import Report, Row
from evenhand.act.requests import RequestError, preempt
from evenhand.act.timing import Timing
from evenhand.act.trails import Event, Said, Trail, TrailStep, trail
from evenhand.act.watching import watch

__all__ = [
    "Book",
    "Caps",
    "Driver",
    "Event",
    "JournalError",
    "LockedError",
    "PlanFolder",
    "Report",
    "RequestError",
    "Row",
    "Said",
    "Timing",
    "Trail",
    "TrailStep",
    "act",
    "act_async",
    "preempt",
    "trail",
    "watch",
]
