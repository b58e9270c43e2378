"""Answers that are lost, and commands that reach no slurmctld."""

from __future__ import annotations

import pytest

from evenhand.adapters.commands import Result
from evenhand.systems.slurm.adapter.live import Slurm


@pytest.mark.parametrize(
    ("status", "text", "answer"),
    [
        (0, "", "done"),
        (0, "Socket timed out on send/recv operation", "done"),  # it tried again
        (1, "Requested operation is presently disabled for job 4", "refused"),
        (1, "slurm_requeue error: Unable to contact slurm controller (connect failure)", "refused"),
        (1, "slurm_requeue error: Unable to contact slurm controller (send failure)", "refused"),
        (1, "slurm_requeue error: Unable to contact slurm controller (receive failure)", "unknown"),
        (1, "slurm_requeue error: Socket timed out on send/recv operation", "unknown"),
        (1, "slurm_requeue error: Zero Bytes were transmitted or received", "unknown"),
        (1, "Unexpected message received for job 4", "unknown"),  # of a stopped slurmctld, which did it later
        (8, "scancel: error: Kill job error on job id 4: Socket timed out on send/recv operation", "unknown"),
        (None, "no answer within 30 s", "unknown"),
    ],
)
def test_what_was_sent_and_not_answered_is_unknown(status: int | None, text: str, answer: str) -> None:
    adapter = Slurm(runner=lambda arguments, timeout: Result(status, "", text))
    assert adapter.do("requeue_hold", "4", "").status == answer
