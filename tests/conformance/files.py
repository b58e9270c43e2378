"""Reading case files and telling their formats apart by content."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance import priority, seeds
from tests.conformance.case import Case
from tests.conformance.slurm import several
from tests.conformance.ytsaurus import fair_share_aborts, fair_share_oracle, fair_share_unit, preemption
from tests.conformance.yunikorn import cases as yunikorn

FORMATS = (
    fair_share_oracle,
    fair_share_aborts,
    fair_share_unit,
    priority,
    several,
    preemption,
    seeds,
    yunikorn,
)


def read(path: str | Path) -> Any:
    """Return a file's JSON document; a file of one object a line becomes a list, gzip is unpacked."""
    raw = Path(path).read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Extra data"):
            raise
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return [document] if isinstance(document, dict) and "case" in document else document


def cases(document: Any) -> Iterator[Case]:
    """Return the cases of a document of any known format."""
    if isinstance(document, list) and not all(isinstance(entry, dict) for entry in document):
        document = None
    for module in FORMATS:
        if module.recognises(document):
            yield from module.cases(document)
            return
    raise ValueError("no known format of cases")
