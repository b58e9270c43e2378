"""A sweep that was killed is resumed."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import evenhand as eh
from evenhand.sweep import workers
from tests.unit.sweep.small import POLICY, SPACE, START, STRICT, WORK
from tests.waiting import until

KILLED = """
import itertools, sys, threading
from evenhand.sweep import workers
from tests.unit.sweep.small import *
plain, begun = workers.together, itertools.count()
def no_more_than_three(*of):
    if next(begun) >= 3:
        threading.Event().wait()  # until killed
    return plain(*of)
workers.together = no_more_than_three
eh.sweep(START, POLICY, WORK, SPACE, workers=2, resume=sys.argv[1])
"""


def test_a_sweep_that_was_killed_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "points.jsonl"
    whole = eh.sweep(START, POLICY, WORK, SPACE)
    root = Path(__file__).parents[3]
    other = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], cwd=root)
    until(lambda: other.poll() is not None or (path.exists() and path.read_bytes().count(b"\n") >= 4))
    other.send_signal(signal.SIGKILL)
    assert other.wait() == -signal.SIGKILL
    done = path.read_bytes().count(b"\n") - 1
    assert 3 <= done < len(whole)
    with path.open("ab") as file:
        file.write(b'{"point": 11, "met')  # half of a line
    asked = set()
    plain = workers._answer
    monkeypatch.setattr(workers, "_answer", lambda *of: asked.update(map(repr, of[2])) or plain(*of))
    table = eh.sweep(START, POLICY, WORK, SPACE, resume=path)
    assert len(asked) == len(whole) - done
    assert pickle.dumps(table.to_dict()) == pickle.dumps(whole.to_dict())
    again = eh.sweep(START, POLICY, WORK, SPACE, resume=path)
    assert len(asked) == len(whole) - done  # all of it was there
    assert pickle.dumps(again.to_dict()) == pickle.dumps(whole.to_dict())


def test_half_a_line_behind_all_points_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    space = {"fair_share_starvation_timeout": [5, 10]}
    eh.sweep(START, POLICY, WORK, space, resume=path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"point": 1, "met')
    eh.sweep(START, POLICY, WORK, space, resume=path)
    assert path.read_bytes() == whole


def test_errors_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    space = {"fair_share_starvation_timeout": [5, 600]}
    first = eh.sweep(START, STRICT, WORK, space, resume=path)
    assert eh.sweep(START, STRICT, WORK, space, resume=path)["error"] == first["error"]
    assert first["error"][1] is not None


def test_a_file_of_another_sweep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    space = {"fair_share_starvation_timeout": [5]}
    eh.sweep(START, POLICY, WORK, space, resume=path)
    kept = path.read_bytes()
    others = (
        (START.replace(now=1), POLICY, WORK, space),
        (START, POLICY.replace(fair_share_update_period=2), WORK, space),
        (START, POLICY, WORK.head(20), space),
        (START, POLICY, WORK, {"fair_share_starvation_timeout": [6]}),
    )
    for snapshot, policy, work, over in others:
        with pytest.raises(eh.InputError, match="is of another sweep"):
            eh.sweep(snapshot, policy, work, over, resume=path)
    with pytest.raises(eh.InputError, match="is of another sweep"):
        eh.sweep(START, POLICY, WORK, space, resume=path, until=100)
    assert path.read_bytes() == kept


@pytest.mark.parametrize("text", ["name,value\n1,2\n", "{}\n", "half a li", '{"evenhand_sweep": 1}\n'])
def test_other_files_stay_what_they_are(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(eh.InputError, match=r"no file of a sweep|another sweep|another form"):
        eh.sweep(START, POLICY, WORK, {"pools.y.weight": [1]}, resume=path)
    assert path.read_text() == text


def test_a_line_in_the_middle_must_be_whole(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    space = {"pools.y.weight": [1, 2]}
    eh.sweep(START, POLICY, WORK, space, resume=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{]\n" + lines[2])
    with pytest.raises(eh.InputError, match="line 2"):
        eh.sweep(START, POLICY, WORK, space, resume=path)


def test_whatever_bit_flips_the_table_is_the_same_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    space = {"pools.y.weight": [1, 2], "heartbeat_period": [10, -1]}
    whole = pickle.dumps(eh.sweep(START, POLICY, WORK, space, resume=path, workers=1).to_dict())
    written, chance, refused = path.read_bytes(), Random(1), 0
    assert b'"refused": ' in written
    head = written.index(b"\n") + 1
    ends = [place for place, byte in enumerate(written) if byte == ord("\n")]
    places = [*range(0, head, 3), *ends, *(chance.randrange(head, len(written)) for _ in range(100))]
    for place in places:
        flipped = bytearray(written)
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        try:
            table = eh.sweep(START, POLICY, WORK, space, resume=path, workers=1)
            assert pickle.dumps(table.to_dict()) == whole
        except eh.InputError:
            refused += 1
            assert path.read_bytes() == flipped
    assert refused >= len(places) - 2


@pytest.mark.parametrize(
    "line",
    [
        b'{"point": 0, "metrics": {}}',
        b'{"point": 0, "metrics": {"jobs": "x"}}',
        b'{"point": 0, "refused": "no"}',
        b'{"point": 0, "refused": "no", "digest": "00000000000000000000000000000000"}',
        b"[" * 100_000,
    ],
)
def test_a_line_without_its_digest_is_refused(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "points.jsonl"
    space = {"pools.y.weight": [1, 2]}
    eh.sweep(START, POLICY, WORK, space, resume=path)
    head = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(head + line + b"\n")
    with pytest.raises(eh.InputError, match="line 2 that is not as it was written"):
        eh.sweep(START, POLICY, WORK, space, resume=path)


def test_a_line_of_another_sweep_is_refused(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    eh.sweep(START, POLICY, WORK, {"pools.y.weight": [1, 2]}, resume=own)
    eh.sweep(START, POLICY, WORK, {"pools.y.weight": [3, 4]}, resume=other)
    mixed = own.read_bytes().splitlines(keepends=True)[:1] + other.read_bytes().splitlines(keepends=True)[1:]
    own.write_bytes(b"".join(mixed))
    with pytest.raises(eh.InputError, match="line 2"):
        eh.sweep(START, POLICY, WORK, {"pools.y.weight": [1, 2]}, resume=own)


def test_a_head_that_is_half_there_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    space = {"pools.y.weight": [1]}
    whole = eh.sweep(START, POLICY, WORK, space, resume=path)
    head = path.read_bytes().splitlines()[0]
    path.write_bytes(head[: len(head) // 2])
    assert eh.sweep(START, POLICY, WORK, space, resume=path)["preemptions"][0] == whole["preemptions"][0]
    assert path.read_bytes().startswith(head)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, tmp_path, tmp_path / "none" / "x"):
        with pytest.raises(OSError):  # noqa: PT011 - the system says which
            eh.sweep(START, POLICY, WORK, {"pools.y.weight": [1]}, resume=place)
