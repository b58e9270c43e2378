"""A live cluster beside rows and states that are kept by hand: whatever happens, both say the same.

`rows` keeps the tables as events say they change, `standing` what policies remember, `carried` what a plan
does; `events`, `groups` and `asking` draw what happens and what is asked, by small numbers; `compare` holds
plans and clusters against each other; `life` joins them. Nothing of it looks into the cluster.
"""

from __future__ import annotations

__all__: list[str] = []
