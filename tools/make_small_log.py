"""Write the drawn log that a tutorial replays: python tools/make_small_log.py [--check]."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import evenhand as eh
from evenhand.traces.swf import FIELDS

LOG = Path(__file__).parents[1] / "notebooks" / "small.swf.gz"
NODES = 8
HEADER = """; Version: 2.2
; Computer: none: drawn by evenhand.synthetic.workload
; Installation: nowhere
; Preemption: No
; MaxNodes: {nodes}
; MaxProcs: {processors}
; UnixStartTime: {start}
"""


def text() -> str:
    """Return the log."""
    work = eh.synthetic.workload(
        jobs=600, nodes=NODES, users=12, groups=3, load=0.8, profile="ricc", seed=12, start=1_767_571_200
    )
    requests: dict[str, list[Any]] = work.table().to_dict()
    jobs: dict[str, list[Any]] = work.operations().to_dict()
    users = sorted(set(jobs["user"]))
    groups = sorted({pool.partition("/")[0] for pool in jobs["pool"]})
    lines = []
    for row in range(len(work)):
        processors = requests["count"][row] * requests["resources.cpu"][row]
        fields = dict.fromkeys(FIELDS, -1) | {
            "job": row + 1,
            "submit": round(requests["submit_time"][row] - work.begin),
            "run_time": round(requests["run_time"][row]),
            "processors": processors,
            "requested_processors": processors,
            "requested_time": round(requests["duration"][row]),
            "status": 1,
            "user": users.index(jobs["user"][row]) + 1,
            "group": groups.index(jobs["pool"][row].partition("/")[0]) + 1,
            "queue": 1,
        }
        lines.append(" ".join(map(str, fields.values())))
    head = HEADER.format(nodes=NODES, processors=8 * NODES, start=round(work.begin))
    return head + "\n".join(lines) + "\n"


def main() -> int:
    """Write it, or tell whether it is what would be written."""
    if "--check" in sys.argv[1:]:
        fresh = gzip.decompress(LOG.read_bytes()).decode() == text()
        print("up to date" if fresh else f"{LOG.name} is not what the generator draws")
        return 0 if fresh else 1
    LOG.write_bytes(gzip.compress(text().encode(), mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
