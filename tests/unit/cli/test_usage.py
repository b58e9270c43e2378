"""Options: whole names, under the usage line of the command that was meant, with what was meant."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main, parser
from evenhand.cli.parsing import Parser
from tests.unit.cli.cases import HOSTILE

COMMANDS: dict[str, Parser] = parser().commands  # type: ignore[attr-defined]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """The usage line's command and the message of a wrong call."""
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    out, error = capsys.readouterr()
    assert out == ""
    usage = re.match(r"usage: evenhand(?: ([a-z]+))? \[-h\]", error)
    assert usage, error
    last = error.rstrip("\n").split("\n")[-1]
    command, said = last.split(": error: ", 1)
    assert command == f"evenhand {usage[1] or ''}".strip()
    return usage[1] or "", said


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_is_abbreviated(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each option but its last letter is unknown, and is the one that was meant, if no other begins so."""
    for option in COMMANDS[command].options():
        short = option[:-1]
        if not option.startswith("--") or short in COMMANDS[command].options():
            continue
        usage, said = refused([command, short], capsys)
        assert usage == command
        assert said.startswith(f"there is no option {short}; did you mean "), said


@pytest.mark.parametrize(
    ("arguments", "usage", "said"),
    [
        ("--vers", "", 'there is no option --vers; did you mean "--version"?'),
        ("--vers plan x", "", 'there is no option --vers before the command; did you mean "--version"?'),
        ("-v", "", 'there is no option -v; did you mean "--version"?'),
        ("-plan", "", "there is no option -plan; the command is plan, without dashes"),
        ("--plan x", "", "there is no option --plan; the command is plan, without dashes"),
        ("--nothing", "", "there is no option --nothing"),
        ("plan --pol x", "plan", 'there is no option --pol; did you mean "--policy"?'),
        ("plan x --as", "plan", 'there is no option --as; did you mean "--as-if-waiting"?'),
        ("plan -x", "plan", "there is no option -x"),
        ("--policy slurm plan x", "plan", "option --policy stands behind the command: evenhand plan"),
        ("--policy=slurm plan x", "plan", "option --policy stands behind the command: evenhand plan"),
        ("--journal x watch", "watch", "option --journal stands behind the command: evenhand watch"),
        ("--journal x", "", "option --journal stands behind the command: evenhand watch"),
        ("--journal x plan y", "", "option --journal stands behind the command: evenhand watch"),
        ("validate x --state s", "validate", "there is no option --state"),
        ("plan --all=1 x", "plan", "argument --all: takes no value, but '1' is given"),
        ("--version=3", "", "argument --version: takes no value, but '3' is given"),
        ("plan x --state --all", "plan", "argument --state: needs a value"),
        ("plan x -1", "plan", "'-1' is one argument too many"),
        ("plan x --top -x", "plan", "there is no option -x"),
        ("plan x --top -1", "plan", "argument --top: '-1' is not a whole number from 1 up"),
        ("plan x --top 1_0", "plan", "argument --top: '1_0' is not a whole number from 1 up"),
        ("pan x", "", "argument COMMAND: 'pan' is none of"),
    ],
)
def test_a_wrong_call_names_what_was_meant(
    arguments: str, usage: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = refused(arguments.split(), capsys)
    assert found[0] == usage
    assert found[1].startswith(said)


def test_what_no_option_is_missing_for_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["plan", "--help", "--nothing"])
    assert capsys.readouterr().out.startswith("usage: evenhand plan")


def test_behind_two_dashes_all_are_names(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("validate", "--", "--all") == (
        1,
        "",
        "evenhand: --all: cannot be read: No such file or directory\n",
    )


@pytest.mark.parametrize("place", [["--" + HOSTILE], ["plan", "x", "--" + HOSTILE], ["plan", "x", HOSTILE]])
def test_no_argument_reaches_the_terminal_unescaped(
    place: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(place)
    assert all(c.isprintable() or c == "\n" for c in capsys.readouterr().err)


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        (
            "--as-if-waiting",
            "soon",
            "'soon' is not a duration; write seconds as a number, or text such as 30s",
        ),
        ("--as-if-waiting", "", "'' is not a duration; write seconds"),
        ("--as-if-waiting", "-5", "'-5' is out of range; it must be between 0 and a hundred years"),
        ("--as-if-waiting", "-5m", "'-5m' is not a duration; write seconds"),
        ("--as-if-waiting", "nan", "'nan' is not a duration; write seconds"),
        ("--as-if-waiting", "1e400", "'1e400' is out of range"),
        ("--as-if-waiting", "1:30", "'1:30' is not a duration; write seconds"),
        ("--as-if-waiting", "\u0663", "'\u0663' is not a duration; write seconds"),
        ("--policy", "", "'' is none of ytsaurus, backendai, slurm, yunikorn, gridengine"),
        ("--policy", "slrm", 'gridengine; did you mean "slurm"?'),
        ("--policy", "Slurm", 'gridengine; did you mean "slurm"?'),
        ("--policy", "ytsaurus:", "'' is none of the presets of ytsaurus: documented, upstream"),
        ("--policy", "slurm:up", 'documented, upstream; did you mean "upstream"?'),
        ("--policy", ":upstream", "'' is none of ytsaurus"),
    ],
)
@pytest.mark.parametrize("command", [["plan", "x"], ["explain", "x", "y"]])
def test_a_wrong_value_is_quoted_with_what_is_accepted(
    command: list[str], option: str, given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    usage, found = refused([*command, option, given], capsys)
    assert usage == command[0]
    assert found.startswith(f"argument {option}: ")
    assert said in found


@pytest.mark.parametrize("option", ["--until", "--warm-up"])
def test_times_are_seconds_or_durations(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for given in ("soon", "-5", "", "inf"):
        usage, found = refused(["simulate", "x", f"{option}={given}"], capsys)
        assert usage == "simulate"
        assert found.startswith(f"argument {option}: {given!r} is ")
    args = parser().parse_args(["simulate", "x", option, "1h30m"])
    assert getattr(args, option.strip("-").replace("-", "_")) == 5400.0


def test_nothing_to_warm_up_is_right_and_no_time_to_simulate_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert parser().parse_args(["simulate", "x", "--warm-up", "0"]).warm_up == 0
    assert "more than 0" in refused(["simulate", "x", "--until", "0"], capsys)[1]


def test_a_word_of_the_readers_own_is_no_suggestion() -> None:
    from evenhand.building.problems import nearest_of

    known = ["fair_share", "promised_fair_share", "victim_cost", "stage_order", "victim_cooldown"]
    for unknown in ("request_order", "candidate_order", "share", "", " ", 7):
        assert nearest_of(unknown, known) is None
    for unknown, meant in (
        ("Victim_Cost", "victim_cost"),
        ("victim_cooldwn", "victim_cooldown"),
        ("promised", "promised_fair_share"),
        ("fair_shares", "fair_share"),
    ):
        assert nearest_of(unknown, known) == meant
    assert nearest_of("ab", ["abcdefg", "abhijkl"]) is None, "two begin so"
    assert nearest_of("N7", [f"n{i}" for i in range(6000)]) == "n7", "of many only the same in other letters"
    assert nearest_of("nn7", [f"n{i}" for i in range(6000)]) is None


def test_validate_says_what_a_policy_makes_of_a_snapshot(tmp_path: Path, run: Any) -> None:
    nodes = [{"name": "n", "capacity": {"cpu": 4}}]
    data = {
        "now": 100,
        "resources": {"cpu": {}},
        "nodes": nodes,
        "operations": [{"name": "old"}, {"name": "new", "settings": {"fair_share_starvation_tolerance": 1}}],
        "allocations": [{"name": "a", "operation": "old", "node": "n", "resources": {"cpu": 4}}],
        "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 4}}],
    }
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(data))
    assert "single_allocations_stay" not in run("validate", path)[1]
    for policy in ("ytsaurus", "ytsaurus:upstream"):
        status, out, err = run("validate", path, "--policy", policy)
        assert (status, err) == (0, "")
        assert "single_allocations_stay: 1 of 1 operation" in out
    status, out, _ = run("validate", path, "--policy", "ytsaurus", "--format", "json")
    (found,) = json.loads(out)["diagnostics"]
    assert (found["code"], found["numbers"]["operations"]) == ("single_allocations_stay", 1)
    status, _, err = run("validate", path, "--policy", "slurm")
    assert (status, "fair_share_starvation_tolerance" in err) == (1, True)
    config = tmp_path / "on.toml"
    config.write_text("consider_allocation_on_fair_share_bound_preemptible = true\n")
    assert "single_allocations_stay" not in run("validate", path, "--config", config)[1]
