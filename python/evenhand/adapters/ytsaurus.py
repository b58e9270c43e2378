"""The configuration of YTsaurus' pool trees, read as a policy; nothing here acts."""

from __future__ import annotations

from evenhand.systems.ytsaurus.text.reading import Reading, read

__all__ = ["Reading", "read"]
