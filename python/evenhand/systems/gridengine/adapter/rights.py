"""Who asks: the user of this process, and what the cluster lets it do."""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["rights_of"]


def rights_of(ask: Callable[..., str]) -> tuple[str, bool]:
    """Return the user of this process, and whether it is a manager of the cluster."""
    try:
        import pwd

        user = pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):
        user = ""  # of whom the machine knows no name: owns no job
    return user, bool(user) and user in ask("qconf", "-sm").split()
