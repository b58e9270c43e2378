"""Acting needs locks of a POSIX system."""

from __future__ import annotations

import importlib.util
import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evenhand import adapters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.act.world import World

if importlib.util.find_spec("fcntl") is None:
    collect_ignore_glob = ["*test_*.py"]  # in folders below, too


@pytest.fixture(scope="module")
def quiet() -> Iterator[None]:
    """No warning is logged: for the many runs of a property."""
    log = logging.getLogger("evenhand.act")
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(logging.NOTSET)


@pytest.fixture(scope="session", autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Locks are of this run alone: another one on the machine acts on clusters of the same names."""
    from evenhand.act import lock

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lock, "_SHARED", tmp_path_factory.mktemp("locks"))
        yield


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder for all users, as /run/lock is; pytest shuts its own to them whenever it is started again."""
    with tempfile.TemporaryDirectory(prefix="evenhand-") as name:
        folder = Path(name).resolve()
        folder.chmod(0o1777)
        yield folder
        for below in folder.iterdir():
            below.chmod(0o700)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A fake cluster to which the command line comes, too."""
    from tests.unit.act.world import World  # where there are no locks it cannot be imported

    world = World(tmp_path)

    def load(name: str, **options: Any) -> Any:
        adapter = world.adapter()
        adapter.identity = f"fake {tmp_path}"
        return adapter

    monkeypatch.setattr(adapters, "load", load)
    return world
