"""Wrong input and wrong usage: one line a problem, the right status, never a traceback."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import commands, main
from tests.unit.cli.cases import CLUSTER, HOSTILE

WRONG: list[tuple[str, str | bytes, str]] = [
    ("empty", "", "empty"),
    ("truncated", '{"pools": [', "JSON"),
    ("a list", "[1]", "list"),
    ("a word", "nul", "JSON"),
    ("deep", "[" * 100_000, "nested too deeply"),
    ("not UTF-8", b"\xff\xfe{}", "is not UTF-8 text: byte 0xff at offset 0"),
    ("latin-1", '{"näme": 1}'.encode("latin-1"), "is not UTF-8 text"),
    ("NaN", '{"now": NaN}', "NaN"),
    ("unknown field", '{"resources": {"cpu": {}}, "poolz": []}', "poolz"),
    ("unknown parent", '{"resources": {"cpu": {}}, "pools": [{"name": "a", "parent": "b"}]}', "pools[0]"),
    (
        "hostile",
        json.dumps({"resources": {"cpu": {}}, "pools": [{"name": HOSTILE, "parent": HOSTILE + "x"}]}),
        "pools[0]",
    ),
]


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
@pytest.mark.parametrize("command", ["validate", "shares"])
def test_wrong_input(tmp_path: Path, run: Any, command: str, text: str | bytes, words: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    status, out, err = run(command, path)
    assert (status, out) == (1, "")
    assert words in err
    assert all(line.startswith(f"evenhand: {path}: ") for line in err.splitlines())
    assert all(c.isprintable() or c == "\n" for c in err)


def test_every_problem_has_its_line(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "wrong.json"
    pools = [{"name": f"p{i}", "weight": -i} for i in range(150)]
    path.write_text(json.dumps({"resources": {"cpu": {}}, "pools": pools}))
    status, _, err = run("validate", path)
    lines = err.splitlines()
    assert status == 1
    assert len(lines) == 101
    assert re.search(r"at least 50 more problems", lines[-1])
    assert re.search(r"pools\[3\].*weight", err)


def test_problems_as_data(tmp_path: Path, cluster: Path, run: Any) -> None:
    path = tmp_path / "wrong.json"
    path.write_text('{"resources": {"cpu": {}}, "pools": [{"name": "a", "weight": -1}]}')
    status, out, err = run("validate", path, "--format", "json")
    found = json.loads(out)
    assert status == 1
    assert (found["valid"], found["omitted"], len(found["problems"])) == (False, 0, 1)
    assert found["problems"][0]["table"] == "pools"
    assert found["problems"][0]["row"] == 0
    assert len(err.splitlines()) == 1
    status, out, _ = run("validate", path, "--format", "csv")
    assert status == 1
    assert [row["field"] for row in csv.DictReader(io.StringIO(out))] == ["weight"]
    status, out, _ = run("validate", cluster, "--format", "json")
    assert (status, json.loads(out)) == (0, {"valid": True, "problems": [], "omitted": 0, "diagnostics": []})


@pytest.mark.parametrize("command", ["validate", "shares"])
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere.json", "No such file or directory"),
        (".", "is a folder without texts of Slurm, YuniKorn or Grid Engine"),
        ("a\0b", "null byte"),
        ("x" * 300, "too long"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any, command: str, path: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(command, path)
    assert (status, out) == (1, "")
    assert words in err
    assert len(err.splitlines()) == 1


def test_an_unreadable_file(cluster: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:  # root may read everything, so the refusal is ours
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert run("validate", cluster) == (1, "", f"evenhand: {cluster}: cannot be read: Permission denied\n")


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_no_name_reaches_the_terminal_unescaped(tmp_path: Path, run: Any, form: str) -> None:
    data = json.loads(json.dumps(CLUSTER).replace("lab", "L").replace('"L"', json.dumps(HOSTILE)))
    data["pools"][1]["parent"] = HOSTILE
    data["operations"].append({"name": HOSTILE + "op", "pool": "web", "demand": {"cpu": 50}})
    path = tmp_path / f"{'hostile'}.json"
    path.write_text(json.dumps(data))
    status, out, _ = run("shares", path, "--format", form)
    assert status == 0
    assert all(c.isprintable() or c == "\n" for c in out)
    assert "owned" in out
    if form == "json":
        assert HOSTILE in json.loads(out)["elements"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["plan"],
        ["plan", "x", "--top", "0"],
        ["explain", "x"],
        ["validate"],
        ["shares", "x", "--format", "xml"],
        ["demo", "--depth", "-1"],
        ["demo", "--depth", "x"],
        ["demo", "--top", "0"],
        ["demo", "extra"],
    ],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("usage: evenhand")


@pytest.mark.parametrize(
    ("arguments", "usage", "said"),
    [
        ("plan", "plan", "FILE must be given"),
        ("sweep", "sweep", "TRACE and --set must be given"),
        ("plan x --form json", "plan", 'there is no option --form; did you mean "--format"?'),
        ("demo extra", "demo", "'extra' is one argument too many"),
        ("plan x --polic=slurm", "plan", 'there is no option --polic; did you mean "--policy"?'),
        ("shares x --format jsn", "shares", "'jsn' is none of table, json, csv; did you mean \"json\"?"),
        ("plan x --policy", "plan", "argument --policy: needs a value"),
        ("demo --resource tpu", "demo", "argument --resource: no resource 'tpu'"),
        ("sweep x --set a=1 --lhs 2 --random 2", "sweep", "cannot be given together with --lhs"),
        ("nonsense", "", "argument COMMAND: 'nonsense' is none of demo, validate"),
    ],
)
def test_wrong_usage_is_told_in_plain_words(
    arguments: str, usage: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under the usage line of the command that was called, and with no word of the parser's own."""
    with pytest.raises(SystemExit, match="2"):
        main(arguments.split())
    error = capsys.readouterr().err
    assert error.startswith(f"usage: evenhand {usage}")
    assert said in error.splitlines()[-1]
    assert not re.search("invalid choice|unrecognized|expected one|not allowed with", error)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"evenhand {eh.__version__}\n"


def test_an_unknown_resource_is_wrong_usage(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["shares", str(cluster)], ["demo"]):
        with pytest.raises(SystemExit) as stop:
            main([*arguments, "--resource", "tpu"])
        assert stop.value.code == 2
        assert re.search(r"argument --resource: .*'tpu'.*cpu", capsys.readouterr().err)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for command in commands.__all__:
        assert f"\n    {command} " in text
    assert "exit status: 0 done, 1 the input is wrong" in text


def test_schema_accepts_what_validate_accepts(run: Any) -> None:
    status, out, _ = run("schema")
    schema = json.loads(out)
    assert status == 0
    assert schema["type"] == "object"
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(CLUSTER, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(CLUSTER | {"pools": [{"name": "a", "weight": "heavy"}]}, schema)


def test_versions(run: Any) -> None:
    status, out, _ = run("versions", "--format", "json")
    found = json.loads(out)
    assert status == 0
    assert found["evenhand"] == eh.__version__
    assert found["numpy"] == np.__version__
    assert found["compiler"].split()[0] in ("gcc", "clang")
    assert run("versions")[1].startswith("evenhand    ")
    assert run("versions", "--format", "csv")[1].startswith("name,version\nevenhand,")
