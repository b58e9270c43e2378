"""Histories of acting on a made-up site: people, lags, faults and kills, judged by the site's own log.

`play` draws a history and carries it out with the drivers of this package, or with those of the caller;
`judge` holds what came of it against the laws of acting.
"""

from __future__ import annotations

from evenhand.testing.acting.adapter import SiteAdapter
from evenhand.testing.acting.histories import History, Killed, play
from evenhand.testing.acting.laws import LAWS, judge
from evenhand.testing.acting.site import Event, Job, Site

__all__ = ["LAWS", "Event", "History", "Job", "Killed", "Site", "SiteAdapter", "judge", "play"]
