"""Acting needs locks of a POSIX system."""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("fcntl") is None:
    collect_ignore_glob = ["test_*.py"]
