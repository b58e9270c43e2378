"""The command line, as people and scripts meet it."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import commands, main
from evenhand.display.text import width

CLUSTER: dict[str, Any] = {
    "now": 600.0,
    "previous_update": 540.0,
    "resources": {"cpu": {}, "gpu": {}},
    "nodes": [{"name": "n1", "capacity": {"cpu": 100, "gpu": 10}}],
    "pools": [
        {"name": "lab", "strong_guarantee": {"cpu": 40}},
        {"name": "lab/nlp", "parent": "lab", "mode": "fifo"},
        {"name": "web", "weight": 3},
        {
            "name": "flow",
            "integral": {"type": "burst", "resource_flow": {"cpu": 10}, "burst": {"cpu": 20}},
        },
    ],
    "operations": [
        {"name": "train", "pool": "lab/nlp", "demand": {"cpu": 90, "gpu": 5}, "usage": {"cpu": 5}},
        {"name": "serve", "pool": "web", "demand": {"cpu": 60}, "usage": {"cpu": 50}},
        {"name": "nightly", "pool": "flow", "demand": {"cpu": 30}},
    ],
}
HOSTILE = "\x1b]0;owned\x07\x1b[31m\r\n\u202e\x9b\x7f<b>"


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(CLUSTER), encoding="utf-8")
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out, captured.err

    return call


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evenhand", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        **options,
    )


# --- demo -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo() -> dict[str, str]:
    """What the demo prints, by arguments; each run once."""
    calls = ("", "--all", "--depth 1", "--top 5", "--resource gpu --depth 0", "--operations --top 3")
    results = {}
    for call in calls:
        finished = process("demo", *call.split())
        assert (finished.returncode, finished.stderr) == (0, "")
        results[call] = finished.stdout
    return results


def rows_of(text: str) -> list[str]:
    """The tree's rows, root first."""
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("<Root>"))
    end = next(i for i, line in enumerate(lines) if line.startswith("% of"))
    return lines[start:end]


def test_demo_says_what_it_shows(demo: dict[str, str]) -> None:
    text = demo[""]
    assert text.startswith(
        "Synthetic cluster: 1,500 nodes, 300 pools, 4,000 operations, 40,000 allocations\n"
    )
    assert re.search(r"^pool +mode +resource +fair share +usage +guarantee ", text, re.MULTILINE)
    assert re.search(r"^[\d,]+ of 4,000 operations below their fair share", text, re.MULTILINE)
    assert "fifo" in text
    assert max(map(width, text.split("\n"))) <= 110
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert not any(line != line.rstrip() for line in text.split("\n"))


def test_demo_is_stable(demo: dict[str, str]) -> None:
    assert process("demo").stdout == demo[""]


def test_demo_limits(demo: dict[str, str]) -> None:
    def depths(call: str) -> list[int]:
        return [re.search(r"[^│├└ ]", row).start() // 2 for row in rows_of(demo[call])]  # type: ignore[union-attr]

    def shown(call: str) -> list[str]:
        return [row for row in rows_of(demo[call]) if "…" not in row.partition("  ")[0]]

    assert max(depths("")) == 2
    assert len(shown("")) <= 40
    assert max(depths("--all")) == 5
    assert len(rows_of(demo["--all"])) == 301
    assert max(depths("--depth 1")) == 1
    assert len(shown("--top 5")) == 5
    assert len(rows_of(demo["--resource gpu --depth 0"])) == 1
    assert "% of gpu" in demo["--resource gpu --depth 0"]


def test_what_the_table_leaves_out_is_counted(demo: dict[str, str]) -> None:
    for call in ("", "--depth 1", "--top 5", "--resource gpu --depth 0"):
        left = shown = 0
        for row in rows_of(demo[call]):
            name = re.match(r"[│├└ ]*(.*?)(?:  |$)", row)
            assert name
            rest = re.fullmatch(r"… ([\d,]+) more pools?", name[1])
            more = re.search(r" \+([\d,]+)$", name[1])
            shown += not rest
            left += int((rest or more)[1].replace(",", "")) if rest or more else 0  # type: ignore[index]
        assert shown + left == 301, call


def test_demo_numbers_are_those_of_the_library(demo: dict[str, str]) -> None:
    shares = eh.fair_share(eh.synthetic.demo())
    roots = re.findall(r"^(\w+) +\S+(?: [A-Z])? +([\d.]+)% +([\d.]+)% +([\d.]+)%$", demo[""], re.MULTILINE)
    assert [root[0] for root in roots] == list(shares.resources)
    for r, root in enumerate(roots):
        quantities = ("usage_share", "fair_share", "demand_share")
        assert [float(x) for x in root[1:]] == [round(100 * float(shares[q][0, r]), 1) for q in quantities]
    first = shares.snapshot.pool_count
    below = int((shares["satisfaction"][first:] < 1 - 1e-6).sum())
    assert f"{below:,} of 4,000 operations below their fair share" in demo[""]
    assert below > 0


def test_demo_as_data(run: Any) -> None:
    status, out, _ = run("demo", "--format", "json")
    assert status == 0
    assert len(json.loads(out)["elements"]) == 4301
    status, out, _ = run("demo", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 4301
    assert rows[0]["name"] == "<Root>"
    assert float(rows[0]["fair_share.cpu"]) > 0.9


def test_demo_snapshot_is_a_file_for_the_other_commands(
    demo: dict[str, str], tmp_path: Path, run: Any
) -> None:
    path = tmp_path / "demo.json"
    path.write_text(process("demo", "--snapshot").stdout, encoding="utf-8")
    status, out, _ = run("shares", path, "--depth", 2, "--no-operations")
    assert status == 0
    assert out.split("\n")[1:] == demo[""].split("\n")[1:]
    assert run("validate", path)[:2] == (
        0,
        f"{path}: valid; 1,500 nodes, 300 pools, 4,000 operations, 40,000 allocations\n",
    )


# --- shares ---------------------------------------------------------------------------------------


def test_shares_table(cluster: Path, run: Any) -> None:
    status, out, err = run("shares", cluster)
    assert (status, err) == (0, "")
    assert out.startswith(f"{cluster}: 1 node, 4 pools, 3 operations, 0 allocations\n")
    assert [row.split()[0] for row in rows_of(out)] == ["<Root>", "├", "│", "├", "│", "└"] or len(
        rows_of(out)
    ) == 8
    for name in ("lab", "/nlp", "train", "web", "serve", "flow", "nightly"):
        assert any(re.match(rf"[│├└ ]*{name} ", row) for row in rows_of(out)), name


def test_shares_without_operations(cluster: Path, run: Any) -> None:
    _, out, _ = run("shares", cluster, "--no-operations", "--resource", "gpu")
    assert len(rows_of(out)) == 5
    assert "train" not in "\n".join(rows_of(out))


def test_shares_json_is_the_result_as_a_dict(cluster: Path, run: Any) -> None:
    status, out, _ = run("shares", cluster, "--format", "json")
    expected = eh.fair_share(eh.Snapshot.from_dict(CLUSTER)).to_dict()
    assert status == 0
    assert json.loads(out) == json.loads(json.dumps(expected))


def test_shares_csv_reads_back_exactly(cluster: Path, run: Any) -> None:
    _, out, _ = run("shares", cluster, "--format", "csv")
    table = eh.fair_share(eh.Snapshot.from_dict(CLUSTER)).table()
    rows = list(csv.reader(io.StringIO(out)))
    assert tuple(rows[0]) == table.columns
    for name, *values in zip(rows[0], *rows[1:], strict=True):
        column = table[name]
        if isinstance(column, np.ndarray) and column.dtype == np.float64:
            assert [float(v) for v in values] == column.tolist()


def test_standard_input(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\xef\xbb\xbf" + json.dumps(CLUSTER).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    status, out, _ = run("shares", "-")
    assert status == 0
    assert out.startswith("standard input: 1 node")


def test_config(cluster: Path, tmp_path: Path, run: Any) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('main_resource = "gpu"\n')
    status, out, _ = run("shares", cluster, "--config", config, "--format", "json")
    assert status == 0
    settings = eh.FairShareSettings(main_resource="gpu")
    expected = eh.fair_share(eh.Snapshot.from_dict(CLUSTER), settings).to_dict()
    assert json.loads(out) == json.loads(json.dumps(expected))


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            'improved = 7\nnothing = 1\nmain_resource = ""',
            [r"improved: .*bool", r"nothing: .*not permitted", r"main_resource: "],
        ),
        ("improved = ", [r"is not TOML: "]),
        ("\x00", [r"is not TOML: "]),
        ('main_resource = "tpu"', [r"main_resource.*tpu"]),
    ],
)
def test_wrong_config(cluster: Path, tmp_path: Path, run: Any, text: str, problems: list[str]) -> None:
    config = tmp_path / "settings.toml"
    config.write_text(text)
    status, out, err = run("shares", cluster, "--config", config)
    assert (status, out) == (1, "")
    assert len(err.splitlines()) == len(problems)
    for problem in problems:
        assert re.search(f"^evenhand: {re.escape(str(config))}: .*{problem}", err, re.MULTILINE), problem


# --- state ----------------------------------------------------------------------------------------


def test_state_goes_on_from_the_last_run(tmp_path: Path, run: Any) -> None:
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    first.write_text(json.dumps(CLUSTER | {"previous_update": None}))
    second.write_text(json.dumps(CLUSTER | {"previous_update": None, "now": 3600.0}))
    state = tmp_path / "state.json"
    assert run("shares", first, "--state", state)[0] == 0
    left = json.loads(state.read_text())
    assert run("shares", second, "--state", state, "--format", "json")[0] == 0
    gained = json.loads(state.read_text())

    def volume(data: Any) -> float:
        return float(data["pools"][0]["accumulated_volume"]["cpu"])

    assert left["time"] == 600.0
    assert gained["time"] == 3600.0
    assert volume(gained) > volume(left)
    remembered = eh.State.from_dict(left)
    expected = eh.fair_share(eh.Snapshot.from_json(second.read_text()), state=remembered).state.to_dict()
    assert gained == json.loads(json.dumps(expected))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.json", "2.json", "state.json"], (
        "nothing left over"
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "evenhand/state/9"}', "", "\x00"])
def test_a_broken_state_is_left_alone(cluster: Path, tmp_path: Path, run: Any, text: str) -> None:
    state = tmp_path / "state.json"
    state.write_text(text)
    status, out, err = run("shares", cluster, "--state", state)
    assert (status, out) == (1, "")
    assert err.startswith(f"evenhand: {state}: ")
    assert state.read_text() == text


def test_a_state_from_the_future(cluster: Path, tmp_path: Path, run: Any) -> None:
    state = tmp_path / "state.json"
    assert run("shares", cluster, "--state", state)[0] == 0
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(CLUSTER | {"now": 10.0, "previous_update": None}))
    status, _, err = run("shares", earlier, "--state", state)
    assert status == 1
    assert "before the state" in err


def test_a_state_that_cannot_be_written(cluster: Path, tmp_path: Path, run: Any) -> None:
    status, out, err = run("shares", cluster, "--state", tmp_path / "no folder" / "state.json")
    assert (status, out) == (1, "")
    assert err.endswith("cannot be written: No such file or directory\n")
    assert run("shares", cluster, "--state", tmp_path)[0] == 1


# --- wrong input ----------------------------------------------------------------------------------

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
    assert re.search(r"50 more problems", lines[-1])
    assert re.search(r"pools\[7\].*weight", err)


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
    assert (status, json.loads(out)) == (0, {"valid": True, "problems": [], "omitted": 0})


@pytest.mark.parametrize("command", ["validate", "shares"])
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere.json", "No such file or directory"),
        (".", "Is a directory"),
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(cluster: Path, run: Any) -> None:
    cluster.chmod(0)
    status, _, err = run("validate", cluster)
    assert status == 1
    assert "Permission denied" in err


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


# --- usage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["plan", "x"],
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


# --- the process ----------------------------------------------------------------------------------


def test_interrupted(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "schema", interrupt)
    assert run("schema") == (130, "", "")


def test_a_reader_that_leaves() -> None:
    command = [sys.executable, "-m", "evenhand", "demo", "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout
        assert child.stderr
        child.stdout.read(10)
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        finished = subprocess.run(
            [sys.executable, "-m", "evenhand", "schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert finished.returncode == 1
    assert finished.stderr == b"evenhand: standard output: cannot be written: No space left on device\n"


def test_closed_streams() -> None:
    command = f"{sys.executable} -m evenhand"
    for closed, status in (("schema >&-", 0), ("validate nowhere 2>&-", 1), ("validate - <&-", 1)):
        finished = subprocess.run(
            f"{command} {closed}", shell=True, capture_output=True, timeout=60, check=False
        )
        assert finished.returncode == status, closed
        assert b"Traceback" not in finished.stderr


def test_a_terminal_without_unicode(cluster: Path) -> None:
    data = cluster.read_text().replace('"web"', '"wëb"')
    cluster.write_text(data, encoding="utf-8")
    finished = process("shares", str(cluster), env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert finished.returncode == 0
    assert finished.stdout.isascii()
    assert "w\\xebb" in finished.stdout
    assert "+ lab " in finished.stdout


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_on_a_terminal(cluster: Path, environment: dict[str, str], coloured: bool) -> None:
    inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "evenhand", "shares", str(cluster)], stdout=theirs, env=inherited | environment
    ) as child:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the terminal is gone with its last user
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert child.returncode == 0
    assert (b"\x1b[1m" in shown) == coloured
    assert b"satisfied" in shown


def test_help_does_not_wait_for_numpy() -> None:
    code = """
import sys
from evenhand.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
heavy = {"numpy", "pydantic", "narwhals"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, timeout=60)
