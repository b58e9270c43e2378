"""Events that the core carries out, by the rules of entire tables instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from evenhand.cluster.columns import Listed
from evenhand.cluster.stage import Stage

__all__ = ["no_event_is_plain"]


@contextmanager
def no_event_is_plain() -> Iterator[None]:
    """Let the rules of tables carry out what the core does else: all that is not plain."""

    def happen(_: Listed, stage: Stage, *, recorded: bool) -> int:
        if not recorded:
            stage.forget()
        stage.mark()
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Listed, "happen", happen)
        patch.setattr(Listed, "plain", lambda _, __, first: first)
        yield
