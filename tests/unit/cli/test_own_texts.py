"""What YuniKorn and Grid Engine themselves write, in the place of a snapshot: as in Python, or one error."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters import gridengine, yunikorn
from evenhand.systems import SYSTEMS
from evenhand.systems.gridengine.text import parts as of_gridengine
from evenhand.systems.yunikorn.text import parts as of_yunikorn
from tests.shared import DATA
from tests.unit.cli.manners import SMALL

pytest.importorskip("yaml")

GE, YK = DATA / "gridengine", DATA / "yunikorn"
AT = {"gridengine": 1795584375.0, "yunikorn": 1790000000.0}
SECOND = 10**9
DUMP: dict[str, Any] = {
    "timestamp": 1000 * SECOND,
    "partitions": [{"name": "default"}],
    "queues": [
        {
            "queuename": "root",
            "partition": "default",
            "children": [
                {"queuename": f"root.{name}", "partition": "default", "isLeaf": True, "isManaged": True}
                | {"guaranteedResource": {"vcore": most}}
                for name, most in (("calm", 1000), ("keen", 3000))
            ],
        }
    ],
    "applications": [
        {
            "applicationID": name,
            "queueName": f"root.{name}",
            "partition": "default",
            "submissionTime": 10 * SECOND,
            "allocations": [
                {"allocationKey": f"{name}-{n}", "resource": {"vcore": 1000}, "nodeId": "n1", "priority": "0"}
                | {"requestTime": 20 * SECOND, "allocationTime": 20 * SECOND}
                for n in range(runs)
            ],
            "requests": [
                {
                    "allocationKey": f"{name}-w",
                    "resource": {"vcore": 1000},
                    "pendingCount": 1,
                    "priority": "0",
                }
                | {"requestTime": 30 * SECOND, "triggeredPreemption": triggered}
                for triggered in asks
            ],
        }
        for name, runs, asks in (("calm", 4, ()), ("keen", 0, (False,)))
    ],
    "nodes": [
        {
            "partitionName": "default",
            "nodesInfo": [
                {
                    "nodeID": "n1",
                    "capacity": {"vcore": 4000},
                    "schedulable": True,
                    "allocations": [
                        {"allocationKey": f"calm-{n}", "resource": {"vcore": 1000}, "nodeId": "n1"}
                        for n in range(4)
                    ],
                }
            ],
        }
    ],
}


def reading(system: str) -> Any:
    """What Python reads of the folder with a system's texts."""
    if system == "yunikorn":
        answers = {name: YK / f"{name}.json" for name in ("queues", "applications", "nodes")}
        return yunikorn.read(YK / "queues.yaml", now=AT[system], **answers)
    names = {"machines": "xml", "jobs": "xml", "details": "xml"}
    files = {name: GE / f"{name}.{names.get(name, 'txt')}" for name in of_gridengine.PARTS}
    return gridengine.read(files.pop("complexes"), now=AT[system], **files)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "whatever.txt"
    path.write_text(json.dumps(DUMP))
    return path


@pytest.mark.parametrize("system", ["gridengine", "yunikorn"])
def test_a_folder_is_planned_on_as_in_python(system: str, run: Any) -> None:
    read = reading(system)
    plan = eh.plan(read.snapshot, read.policy(), getattr(read, "state", None))
    status, out, err = run("plan", DATA / system, "--now", AT[system], "--format", "json")
    assert status == 0
    assert json.loads(out) == json.loads(plan.to_json())
    title = SYSTEMS[system].title
    assert f"note: {DATA / system}: texts of {title}, read with preset upstream\n" in err
    first = f"note: {DATA / system}: {read.diagnostics[0].message}"
    assert first in err
    documented = eh.plan(read.snapshot, read.policy("documented"), getattr(read, "state", None))
    words = ("--now", AT[system], "--format", "json", "--policy", f"{system}:documented")
    assert json.loads(run("plan", DATA / system, *words)[1]) == json.loads(documented.to_json())


@pytest.mark.parametrize("system", ["gridengine", "yunikorn"])
def test_every_command_that_takes_a_snapshot_takes_them(system: str, run: Any) -> None:
    folder, now = DATA / system, ("--now", AT[system])
    name = str(reading(system).snapshot.names("operations")[0])
    for words in (
        ("plan", folder),
        ("shares", folder),
        ("validate", folder),
        ("explain", folder, name),
        ("diff", folder, folder),
        ("sweep", folder, "--set", "pace.victim_cooldown=0,60", "--workers", 1),
    ):
        status, out, err = run(*words, *now, "--format", "json")
        assert (status, bool(json.loads(out))) == (0, True), (words, err)


@pytest.mark.parametrize("system", ["gridengine", "yunikorn"])
def test_validate_has_all_that_the_reader_and_the_plan_say(system: str, run: Any) -> None:
    read = reading(system)
    said = (*read.diagnostics, *eh.plan(read.snapshot, read.policy()).diagnostics)
    status, out, _ = run("validate", DATA / system, "--now", AT[system], "--format", "json")
    told = json.loads(out)["diagnostics"]
    assert (status, [one for one in said if one.to_dict() not in told]) == (0, [])
    shown = run("validate", DATA / system, "--now", AT[system])[1]
    assert all(one.code in shown for one in said)


def test_settings_change_what_the_texts_say(dump: Path, tmp_path: Path, run: Any) -> None:
    """Settings in a file are laid over the system's own; another system's rules may be asked for."""
    plain = json.loads(run("plan", dump, "--format", "json")[1])
    assert [row["action"] for row in plain["decisions"]].count("preempt") == 1
    off = tmp_path / "off.toml"
    off.write_text("enabled = false\n")
    changed = json.loads(run("plan", dump, "--config", off, "--format", "json")[1])
    assert "preempt" not in [row["action"] for row in changed["decisions"]]
    queues = tmp_path / "queues.yaml"
    tree = [{"name": "root", "queues": [{"name": "calm"}, {"name": "keen"}]}]
    queues.write_text(json.dumps({"partitions": [{"name": "default", "queues": tree}]}))
    changed = json.loads(run("plan", dump, "--config", queues, "--format", "json")[1])
    assert "preempt" not in [row["action"] for row in changed["decisions"]]  # no queue has a guarantee
    other = json.loads(run("plan", dump, "--policy", "backendai", "--format", "json")[1])
    assert (other["provenance"]["system"], other["provenance"]["preset"]) == ("backendai", "documented")


def test_a_plan_starts_from_what_the_texts_tell(dump: Path, tmp_path: Path, run: Any) -> None:
    """An ask that has preempted already does not do so again; a state that is given comes first."""
    data = json.loads(json.dumps(DUMP))
    data["applications"][1]["requests"][0]["triggeredPreemption"] = True
    dump.write_text(json.dumps(data))
    triggered = json.loads(run("plan", dump, "--format", "json")[1])
    assert "preempt" not in [row["action"] for row in triggered["decisions"]]
    state = tmp_path / "state.json"
    eh.State(1000.0).save(state)
    fresh = json.loads(run("plan", dump, "--state", state, "--format", "json")[1])
    assert "preempt" in [row["action"] for row in fresh["decisions"]]


@pytest.mark.parametrize("system", ["gridengine", "yunikorn"])
def test_each_text_tells_what_it_is(system: str, tmp_path: Path, run: Any) -> None:
    """Under any name."""
    folder, known = tmp_path / "texts", {"gridengine": of_gridengine, "yunikorn": of_yunikorn}[system]
    folder.mkdir()
    for number, file in enumerate(sorted((DATA / system).iterdir())):
        want = "config" if file.suffix == ".yaml" else file.stem
        assert known.part_of(file.read_text()) == want
        shutil.copy(file, folder / f"{number}.out")
    (folder / ".hidden").write_text("nothing")
    words = ("--now", AT[system], "--format", "json")
    assert run("plan", folder, *words)[1] == run("plan", DATA / system, *words)[1]


MANIFEST = "apiVersion: v1\nkind: ConfigMap\ndata:\n  queues.yaml: |\n    partitions: []\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (json.dumps(DUMP), "dump"),
        (json.dumps({key: value for key, value in DUMP.items() if key != "partitions"}), "dump"),
        (json.dumps({"partitions": [{"name": "default"}]}), "config"),
        (json.dumps({"kind": "ConfigMap", "data": {}}), "config"),
        (json.dumps({"kind": "List", "items": []}), "config"),
        (json.dumps(DUMP["queues"]), "queues"),
        (json.dumps(DUMP["queues"][0]), "queues"),
        (MANIFEST, "config"),
        ("\ufeff# queues\npartitions:\n", "config"),
        (json.dumps(SMALL), None),
        (json.dumps(SMALL | {"operations": [{"name": "a", "labels": {"kind": "x", "nodeID": "y"}}]}), None),
        ("[]", None),
        ('[3, {"nodeID": 1}]', None),
        ('{"partitions": [', None),
        ('{"kind": "x"}', None),
        ("", None),
    ],
)
def test_which_text_of_yunikorn_it_is(text: str, part: str | None) -> None:
    assert of_yunikorn.part_of(text) == part
    assert of_gridengine.part_of(text) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<?xml version='1.0'?>\n<qhost xmlns:xsd='x'>\n</qhost>", "machines"),
        ("<job_info/>", "jobs"),
        ("<detailed_job_info/>", "details"),
        ("<unknown_jobs/>", "details"),
        ("<html/>", None),
        ("slots s INT <= YES YES 1 1000 YES\n", "complexes"),
        ("#name shortcut type relop requestable consumable default urgency\n", "complexes"),
        ("slots s INTEGER <= YES YES 1 1000\n", None),
        ("algorithm default\n", "scheduler"),
        ("qname low.q\nhostlist @allhosts\n", "queues"),
        ("pe_name mpi\nslots 8\n", "parallel"),
        ("hostname global\ncomplex_values NONE\n", "hosts"),
        ("qname\n", None),
        ("", None),
    ],
)
def test_which_text_of_grid_engine_it_is(text: str, part: str | None) -> None:
    assert of_gridengine.part_of(text) == part
    assert of_yunikorn.part_of(text) is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "texts"
    path.mkdir()
    return path


def test_an_empty_text_is_known_by_its_name(folder: Path, run: Any) -> None:
    """A cluster without parallel environments has no text of them."""
    for file in GE.iterdir():
        shutil.copy(file, folder / file.name)
    before = run("plan", folder, "--now", AT["gridengine"], "--format", "json")
    (folder / "parallel.txt").write_text("")
    (folder / "details.xml").unlink()
    status, out, _ = run("plan", folder, "--now", AT["gridengine"], "--format", "json")
    assert (status, out != before[1]) == (0, True)


def write(name: str, text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("fill", "said"),
    [
        (
            (),
            "{folder}: is a folder without texts of Slurm, YuniKorn or Grid Engine; give one with those of",
        ),
        (
            (write("notes", "hello"),),
            "{folder}: is a folder without texts of Slurm, YuniKorn or Grid Engine;",
        ),
        (
            (write("a", "partitions:\n"), write("b", "qname x\n")),
            "{folder}: is a folder with texts of Grid Engine and YuniKorn; give one with those of one system",
        ),
        (
            (write("a", "qname x\n"), write("b", "qname y\n")),
            "{folder}/b: is what qconf -sq prints, as another file of the folder is",
        ),
        (
            (write("a", "qname x\n"), write("b.md", "hello")),
            "{folder}/b.md: is no text of Grid Engine that is",
        ),
        (
            (write("a", "qname x\n"), write("b", "<job_info/>")),
            "{folder}: has what qconf -sq prints and what qstat -xml prints of Grid Engine, but not what ",
        ),
        ((write("a", "partitions:\n  - name: [\n"),), "{folder}: queues.yaml["),
        ((write("a", "slots s INT <= YES YES 1\n"),), "{folder}: qconf -sc["),
        (
            (write("jobs", "<job_info>"), write("complexes", "a a INT <= YES YES 0 0")),
            "{folder}: qstat -xml[",
        ),
    ],
)
def test_one_error_says_what_is_wrong(folder: Path, run: Any, fill: Any, said: str) -> None:
    for one in fill:
        one(folder)
    for command in ("plan", "shares", "validate"):
        status, out, err = run(command, folder)
        assert (status, out) == (1, "")
        assert err.startswith("evenhand: " + said.format(folder=folder))


def test_slurms_configuration_is_no_snapshot(tmp_path: Path, run: Any) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text("PreemptMode=REQUEUE\nNodeName=n1 CPUs=64\nPartitionName=low Nodes=ALL\n")
    said = "is a configuration, which has no jobs; give it as --config of a snapshot's plan"
    assert run("plan", conf) == (1, "", f"evenhand: {conf}: {said}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "GE --rounding nearest",
            "argument --rounding: only with a snapshot as JSON, and GE is of Grid Engine",
        ),
        ("YK --order rows", "argument --order: only with a snapshot as JSON, and YK is of YuniKorn"),
        ("GE --partition x", "argument --partition: not with texts of Grid Engine"),
        ("SMALL --now 3", "argument --now: only with a system's own texts, and SMALL has none"),
        ("SMALL --partition x", "argument --partition: only with a system's own texts, and SMALL has none"),
        ("GE --config GE/scheduler.txt", "argument --config: GE has what qconf -ssconf prints already"),
        (
            "YK --config YK/queues.yaml --now 1790000000",
            "argument --config: YK has a queue configuration already",
        ),
        ("YK --now yesterday", "argument --now: 'yesterday' is not an instant; write seconds since 1970, or"),
        ("YK --now inf", "argument --now: 'inf' is not an instant"),
        ("YK --now 2026-11-27T12:00", "argument --now: '2026-11-27T12:00' is not an instant"),
    ],
)
def test_options_that_are_of_the_other_kind(
    tmp_path: Path, capsys: Any, run: Any, words: str, said: str
) -> None:
    small = tmp_path / "small.json"
    small.write_text(json.dumps(SMALL))
    places = {"GE": str(GE), "YK": str(YK), "SMALL": str(small)}
    for name, place in places.items():
        words, said = words.replace(name, place), said.replace(name, place)
    with pytest.raises(SystemExit, match="2"):
        run("plan", *words.split())
    assert f"error: {said}" in capsys.readouterr().err


def test_the_instant_and_the_partition(dump: Path, run: Any) -> None:
    at = {
        words: json.loads(run("plan", dump, *words, "--format", "json")[1])["state"]["time"]
        for words in ((), ("--now", "2000"), ("--now", "1970-01-01T01:00:00+00:00"))
    }
    assert [*at.values()] == [1000.0, 2000.0, 3600.0]
    assert run("plan", dump, "--partition", "default")[0] == 0
    status, _, err = run("plan", dump, "--partition", "other")
    assert status == 1
    assert f"{dump}: queues: queues of the partition other are missing" in err
    assert (
        run("plan", YK)[2]
        == f"evenhand: {YK}: snapshot: --now must be given where there is no dump [required]\n"
    )
