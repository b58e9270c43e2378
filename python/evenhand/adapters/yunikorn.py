"""YuniKorn's configuration and REST answers, read as a snapshot and a policy; nothing here acts."""

from __future__ import annotations

from evenhand.systems.yunikorn.text.laws import LAWS
from evenhand.systems.yunikorn.text.reading import Reading, read

__all__ = ["LAWS", "Reading", "read"]
