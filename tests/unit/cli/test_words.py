"""Messages about files: whose mistake it is and where, in no words of a library's own."""

from __future__ import annotations

import json
import math
import re
from datetime import date, time
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.systems import SYSTEMS, System
from evenhand.systems.record import named
from tests.unit.cli.cases import CLUSTER
from tests.unit.traces.files import job, write

#: Words of Python, of its parsers of JSON, TOML and CSV, and of pydantic; what Python alone would type.
FOREIGN = re.compile(
    r"Expecting|Extra data|char \d|delimiter|Unterminated|Invalid (statement|value|control)|Illegal"
    r"|Input should|constrained|(dict|list|tuple|function-\w+)\[|[{}]"
    r"|pydantic|tomllib|NoneType|\bNone\b|\bTrue\b|\bFalse\b|not (list|dict|str|int|float)\b|<class"
    r"|object at 0x"
    r"|is not iterable|dictionary update|recursion|codec|start byte|continuation byte|unexpected end of data"
    r"|a function, or|Python|\w+\(\)|=, or|columns=|random=|lhs=|until=|[Tt]raceback|Error\b|numpy|\bdtype\b"
)

FILES: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n",
    "binary": bytes(range(256)) * 20,
    "latin-1": '{"n\u00e4me": 1}'.encode("latin-1"),
    "utf-16": '{"now": 1}'.encode("utf-16"),
    "a list": b"[1, 2]",
    "text": b'"abc"',
    "a number": b"12",
    "null": b"null",
    "cut off": b'{"now": 1, "pools": [',
    "cut off in a text": b'{"now": 1, "po',
    "words": b"hello there\n",
    "twice": b'{"now": 1, "now": 2}',
    "more behind": b'{"now": 1} x',
    "a comma too many": b'{"now": 1,}',
    "no comma": b'{"now": 1 "x": 2}',
    "no colon": b'{"now" 1}',
    "single quotes": b"{'now': 1}",
    "a line break in a text": b'{"now": "\n"}',
    "a strange escape": b'{"now": "\\x"}',
    "deep": b"[" * 100_000,
    "a long number": b'{"now": ' + b"9" * 5000 + b"}",
    "not a number": b'{"now": NaN}',
    "no value": b"a = \n",
    "no bracket": b"[pace\nx = 1\n",
    "a setting twice": b"improved = true\nimproved = false\n",
    "a bare word": b"improved = yes\n",
    "an open text": b'main_resource = "cpu\n',
    "an open list": b"main_resource = [1,",
    "a date": b"job_interrupt_timeout = 1979-05-27T07:32:00Z\n",
    "a wrong date": b"job_interrupt_timeout = 1979-99-99\n",
    "a list for a table": b"pace = [1]\nfair_share = 3\n",
    "flags for numbers": b"fair_share_starvation_timeout = true\nminimum_budget = true\n",
    "open quotes": b'name,pool\n"a,b\n',
    "other columns": b"a,b\n1,2\n",
    "a row too short": b"name,pool\nx\n",
    "two of a column": b"name,name\nx,y\n",
}

LINES = (
    "validate FILE",
    "shares FILE",
    "shares GOOD --config FILE",
    "shares GOOD --state FILE",
    "plan FILE",
    "plan GOOD --config FILE",
    "plan GOOD --policy slurm --config FILE",
    "plan GOOD --state FILE",
    "explain FILE a",
    "simulate FILE --kind swf --until 1h",
    "simulate FILE --kind table --until 1h",
    "simulate FILE --kind google2011 --until 1h",
    "simulate FILE --kind philly --until 1h",
    "simulate LOG --config FILE --until 1h",
    "sweep LOG --set job_interrupt_timeout=1 --config FILE --until 1h",
    "sweep LOG --set job_interrupt_timeout=1 --until 1h --workers 1 --resume FILE",
    "journal FILE",
    "watch --journal JOURNAL --adapter gridengine --once --dry-run --policy gridengine --config FILE",
)


def said(run: Any, capsys: Any, line: list[str]) -> tuple[int, list[str]]:
    """Exit status, and the lines of messages."""
    try:
        status, _, error = run(*line)
    except SystemExit as stop:
        status, error = int(str(stop.code)), capsys.readouterr().err
        error = error[error.index("evenhand", error.index("\nevenhand") if "\nevenhand" in error else 0) :]
    return status, error.splitlines()


def check(status: int, lines: list[str], what: object) -> None:
    assert status in (1, 2), what
    assert lines, what
    for text in lines:
        text = re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)  # what the file says may be anything
        assert not FOREIGN.search(text), (what, text)
        assert text.isprintable()


@pytest.fixture
def good(tmp_path: Path) -> dict[str, str]:
    snapshot, log = tmp_path / "good.json", write(tmp_path, [job(n, 10 * n) for n in range(1, 6)])
    snapshot.write_text(json.dumps(CLUSTER))
    return {"GOOD": str(snapshot), "LOG": str(log), "JOURNAL": str(tmp_path / "journal")}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_wrong_files(tmp_path: Path, good: dict[str, str], run: Any, capsys: Any, content: bytes) -> None:
    """Whatever a file holds, and whatever it is given for, it stays as it was, and messages are plain."""
    file = tmp_path / "file"
    for line in LINES:
        file.write_bytes(content)
        words = [good.get(word, str(file) if word == "FILE" else word) for word in line.split()]
        status, lines = said(run, capsys, words)
        if status == 0:  # such as an empty file of settings
            continue
        check(status, lines, line)
        assert file.read_bytes() == content


#: What files of settings and of snapshots may have in a place where something else is expected.
VALUES: tuple[Any, ...] = (
    *(None, True, False, "nonsense", "", -1, 0, 1.5, math.nan, math.inf, 10**30, "2026-01-01"),
    *([], [1], ["a"], [None], [{"a": 1}], {}, {"a": 1}, {"a": "x"}, {"a": None}, {"": 1}),
    *({"a": {}}, {"a": {"b": 1}}, date(2026, 1, 1), time(12)),
)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_wrong_settings(system: System) -> None:
    """Whatever a setting of a policy, or of a row, is in a file."""
    found = 0
    for model in [system.policy.model, *map(named, system.settings_at)]:
        for name in (*model.model_fields, *getattr(model, "ALIASES", {}), "nothing"):
            for value in VALUES:
                try:
                    model(**{name: value})
                except eh.InputError as error:
                    problems = list(error.problems)
                else:
                    continue
                found += len(problems)
                for problem in problems:
                    said = re.sub(r"'[^']*'|\"[^\"]*\"", "''", problem.message)
                    assert not FOREIGN.search(said), problem
    assert found > 100
