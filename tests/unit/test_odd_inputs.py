"""Amounts, counts and times at the edges of what files, events and workloads may hold."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.accepted.kinds import Refused, kind_of_annotation
from evenhand.adapters import gridengine, ytsaurus

WORK: dict[str, Any] = {
    "name": ["a", "b", "c"],
    "resources.cpu": [4, 4, 4],
    "run_time": [60, 60, None],
    "submit_time": [0, 0, 5],
}
LIVE = eh.Snapshot.from_dict(
    {
        "now": 100,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n1", "capacity": {"cpu": 8}}],
        "operations": [{"name": "o1"}, {"name": "o2"}],
        "allocations": [{"name": "a1", "operation": "o1", "node": "n1", "resources": {"cpu": 4}}],
        "requests": [{"name": "r1", "operation": "o2", "resources": {"cpu": 6}, "count": 3}],
    }
)
LEAVE = {
    "event": "leave",
    "allocation": "a1",
    "deadline": 200,
    "beneficiary": {"operation": "o2", "request": "r1"},
}
LOG = "; MaxNodes: 4\n; MaxProcs: 16\n1 1 -1 50 4 -1 -1 4 100 -1 1 1 1 1 1 1 -1 -1\n"
LATEST = 2**60 / 1e6


# --- workloads


@pytest.mark.parametrize("factor", [float("inf"), float("nan"), 0, -1, 1e300, "2", None, True, 10**400])
@pytest.mark.parametrize("what", ["interval", "run_time"])
def test_a_factor_that_leads_nowhere_is_refused(what: str, factor: Any) -> None:
    with pytest.raises(eh.InputError) as error:
        eh.simulate.Workload(WORK).scaled(**{what: factor})
    assert error.value.problems[0].field == what


def test_the_last_instant_that_a_factor_may_lead_to() -> None:
    work = eh.simulate.Workload(WORK)
    assert work.scaled(interval=LATEST / 5).table()["submit_time"][2] == pytest.approx(LATEST)
    assert work.scaled(run_time=LATEST / 60).table()["run_time"][:2] == [pytest.approx(LATEST)] * 2
    for what, factor in (("interval", LATEST / 5), ("run_time", LATEST / 60)):
        with pytest.raises(eh.InputError, match=r"later than any|longer than any"):
            work.scaled(**{what: factor * 1.000001})
    assert work.scaled(run_time=1e6).table()["run_time"][2] is None, "what runs for ever does so"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"requests": [1]}, "row 0 of requests is a number; it must be an object"),
        ({"requests": [{"name": "a"}, "a"]}, "row 1 of requests is text"),
        ({"requests": 5}, "requests takes a frame, a dict of arrays or a list of dicts, not a number"),
        ({"requests": {**WORK, "pool": 0}}, "the column 'pool' of requests is a number"),
        ({"requests": {**WORK, 5: [1, 2, 3]}}, "a column whose name is a number"),
        ({"requests": {**WORK, "pool": np.zeros((3, 1))}}, "an array that is no column"),
        ({"requests": {"name": range(2**40)}}, "has 1,099,511,627,776 rows"),
        ({"requests": WORK, "resources": 0}, "resources is a number"),
        ({"requests": WORK, "notes": "x"}, "notes is text"),
        ({"requests": WORK, "recorded": {}}, "recorded is an object; it must be a Table"),
        ({"requests": WORK, "timezone": "Nowhere/At all"}, "timezone is text"),
    ],
    ids=str,
)
def test_what_is_no_workload_is_refused_in_words(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(eh.InputError) as error:
        eh.simulate.Workload(**arguments)
    assert said in str(error.value)


@pytest.mark.parametrize("field", ["name", "pool"])
def test_a_name_that_is_a_list_is_refused_with_its_row(field: str) -> None:
    work = eh.simulate.Workload({"pool": ["x"] * 3, **WORK, field: ["p", [], "q"]})
    with pytest.raises(eh.InputError, match="must be a name"):
        eh.simulate.simulate(work.snapshot(nodes=2, cpu=4), eh.policies.YTsaurus(), work)


@pytest.mark.parametrize("amount", [[], [1, 2], None, np.zeros(2), object()])
def test_an_amount_of_equal_nodes_is_one_amount(amount: Any) -> None:
    with pytest.raises(eh.InputError, match=r"capacity\.cpu"):
        eh.simulate.Workload(WORK).snapshot(nodes=2, cpu=amount)


def test_equal_nodes_may_be_as_many_as_are_made_and_no_more() -> None:
    work = eh.simulate.Workload(WORK)
    assert work.snapshot(nodes=np.int64(3), cpu=np.float64(4)).node_count == 3
    for count in (10_000_001, 2**60, -1):
        with pytest.raises(eh.InputError, match=r"nodes is .* it must be a whole number from 0 to 10000000"):
            work.snapshot(nodes=count, cpu=4)


def test_slices_by_text_begin_at_the_first_arrival() -> None:
    later = eh.simulate.Workload({**WORK, "submit_time": [1000, 1003, 1005]})
    assert list(later.slice("0s", "5s").table()["name"]) == list(later.slice(1000, 1005).table()["name"])
    assert len(later.slice("3s", "5s")) == 1
    for value in (float("nan"), float("inf"), 1e19, "soon", None):
        with pytest.raises(eh.InputError, match="end is"):
            later.slice(0, value)  # type: ignore[arg-type]


# --- logs


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "MaxNodes: 4\n; MaxProcs: 16",
            "MaxNodes: 99999999999\n; MaxProcs: 99999999999",
            "the header has 99,999,999,999 nodes; at most 10,000,000 are read",
        ),
        ("MaxProcs: 16", "MaxProcs: 40000004", "the header has 10,000,001 nodes"),
        ("MaxProcs: 16", "MaxProcs: " + "9" * 5000, "MaxProcs of the header has 5,000 digits"),
        ("MaxNodes: 4", "MaxNodes: " + "9" * 19, "MaxNodes of the header has 19 digits"),
    ],
    ids=["nodes", "one too many", "5,000 digits", "19 digits"],
)
def test_a_header_of_more_than_there_is_on_earth(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "log.swf"
    path.write_text(LOG.replace("MaxNodes: 4\n", "MaxNodes: 4\n").replace(old, new))
    options = {"processors_per_node": 4} if "40000004" in new else {}
    with pytest.raises(eh.InputError) as error:
        eh.traces.swf(path, **options)
    assert said in str(error.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1h", 1e19, 0, -1, True])
def test_memory_of_a_node_is_a_positive_number(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    with pytest.raises(eh.InputError, match="memory_per_node"):
        eh.traces.swf(path, memory_per_node=value)
    assert eh.traces.swf(path, memory_per_node=np.float32(2)).snapshot().node_count == 4


@pytest.mark.parametrize("path", ["a\0b", Path("a\0b")], ids=["text", "path"])
def test_a_zero_is_in_no_path_of_a_log(path: str | Path) -> None:
    with pytest.raises(eh.InputError, match="data has a zero in it, which no path has"):
        eh.traces.frame(path)


def test_a_zero_is_in_no_path_of_a_configuration() -> None:
    with pytest.raises(eh.InputError, match="text has a zero in it, which no path has"):
        eh.policies.Slurm.from_conf(Path("a\0b"))


class _Unreadable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "node", [_Unreadable(), [_Unreadable()], None, 1.5, 2**63 - 1, 2**63, pytest.param(10**5000, id="long")]
)
def test_what_is_no_name_is_the_name_of_no_node(node: Any) -> None:
    snapshot = eh.Snapshot.from_dict({"now": 0, "resources": {"cpu": {}}})
    with pytest.raises(eh.InputError, match="there is no node"):
        eh.plan(snapshot, eh.policies.YTsaurus(), on=eh.Heartbeat(node))


def test_a_request_to_what_is_no_adapter_is_refused(tmp_path: Path) -> None:
    """Not asked for its policy first."""
    adapter: Any = {"a": [1]}
    with pytest.raises(eh.adapters.AdapterError, match="is not an adapter"):
        eh.act.preempt("9", ["2"], adapter=adapter, journal=tmp_path / "journal")


@pytest.mark.parametrize("takes", [0, 1, 2, 3])
def test_a_function_of_other_arguments_is_refused(takes: int) -> None:
    functions: list[Any] = [lambda: None, lambda _: None, lambda _a, _b: None, lambda _a, _b, _c: None]
    kind = kind_of_annotation("Callable[[float, float], object] | None")
    if takes == 2:
        assert kind.accept(functions[takes]) is functions[takes]
        return
    with pytest.raises(Refused, match="takes other arguments; it must be a function of 2 arguments"):
        kind.accept(functions[takes])


def test_a_function_that_says_nothing_of_its_arguments_is_taken() -> None:
    for annotation in ("Callable[[float, float], object]", "Callable[..., object]", "Callable"):
        assert kind_of_annotation(annotation).accept(max) is max
    assert kind_of_annotation("Callable[..., object]").accept(print) is print


def test_an_adapter_without_a_text_is_refused(tmp_path: Path) -> None:
    adapter: Any = _Unreadable()
    with pytest.raises(eh.EvenhandError, match="_Unreadable"):
        eh.act.Driver(adapter, tmp_path / "journal")


def test_a_pool_of_each_job_is_a_list(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    with pytest.raises(eh.InputError, match="pools is null; it must be a function to one path a job"):
        eh.traces.swf(path, pools=lambda _: None)


def test_no_files_are_no_trace() -> None:
    none: Any
    for none in ([], ()):
        with pytest.raises(eh.InputError, match="one file or more"):
            eh.traces.google2011(none)


def test_an_array_of_no_dimension_has_no_rows() -> None:
    snapshot = eh.Snapshot.from_dict({"now": 0, "resources": {"cpu": {}}})
    with pytest.raises(eh.InputError, match="it must be a frame, columns by name or rows"):
        eh.history.side_by_side(snapshot, usage_history=np.array(1))


# --- ranges in settings


@pytest.mark.parametrize("values", [range(2**40), range(2**70)], ids=["2**40", "2**70"])
@pytest.mark.parametrize(
    ("made", "name"),
    [
        (eh.policies.YuniKorn, "cost"),
        (eh.policies.YuniKorn, "policies"),
        (eh.policies.Slurm, "pace"),
        (eh.policies.BackendAI, "user_policies"),
    ],
)
def test_ranges_are_not_read_to_their_end(made: Any, name: str, values: range) -> None:
    given: Any = {"pace": {"immune_hours": values}, "user_policies": {"u": {"range": values}}}.get(
        name, values
    )
    with pytest.raises(eh.InputError, match="more than 1,000,000 values"):
        made(**{name: given})


# --- texts of Grid Engine

COMPLEXES = "mem_free mf MEMORY <= YES YES 0 0 YES\nslots s INT <= YES YES 1 1000 YES"


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("mem_free=4X", "line 3: mem_free of h1 is 4X; it must be an amount of memory"),
        ("slots=x", "line 3: slots of h1 is x; it must be a number"),
    ],
)
def test_an_amount_of_a_host_that_is_none(field: str, said: str) -> None:
    text = f"hostname h0\nhostname h1\ncomplex_values {field}"
    with pytest.raises(eh.InputError) as error:
        gridengine.read(COMPLEXES, hosts=text, now=1.0)
    (problem,) = error.value.problems
    assert (problem.table, problem.row, problem.field) == ("qconf -se", 3, "complex_values")
    assert problem.message.startswith(said)


def test_an_amount_of_a_queue_that_is_none() -> None:
    text = "qname all.q\nslots 10\ncomplex_values mem_free=4X"
    with pytest.raises(eh.InputError) as error:
        gridengine.read(COMPLEXES, queues=text, hosts="hostname h1\ncomplex_values slots=1", now=1.0)
    (problem,) = error.value.problems
    assert (problem.table, problem.row, problem.field) == ("qconf -sq", 3, "complex_values")


# --- events


@pytest.mark.parametrize("amount", [np.int64(3), np.float32(3), np.uint8(3), 3])
def test_an_amount_that_is_taken_is_a_plain_number(amount: Any) -> None:
    cluster = eh.Cluster(LIVE)
    cluster.apply([LEAVE, {"event": "take", "allocation": "a1", "resources": {"cpu": amount}}])
    plain = eh.Cluster(LIVE)
    plain.apply([LEAVE, {"event": "take", "allocation": "a1", "resources": {"cpu": 3}}])
    assert json.loads(cluster.snapshot().to_json()) == json.loads(plain.snapshot().to_json())
    assert cluster.snapshot().fingerprint == plain.snapshot().fingerprint
    assert cluster.copy().snapshot() == plain.snapshot()


@pytest.mark.parametrize("count", ["1h", b"a", None, [], 2**70])
def test_a_count_of_a_request_that_is_not_there(count: Any) -> None:
    with pytest.raises(eh.InputError, match=r"there is no request 'nope'"):
        eh.Cluster(LIVE).apply([{"event": "count", "request": "nope", "count": count}])


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"event": "remove", "table": np.array([1, 2]), "name": "r1"}, "table"),
        ({"event": "put", "table": 5, "row": {}}, "table"),
        ({"event": "end", "allocation": []}, "allocation"),
        ({"event": "end", "allocation": True}, "allocation"),
        ({"event": "count", "request": np.array([1]), "count": 1}, "request"),
        ({"event": np.array([1, 2]), "request": "r1"}, "event"),
    ],
    ids=str,
)
def test_what_an_event_is_about_is_a_name(event: dict[str, Any], field: str) -> None:
    cluster = eh.Cluster(LIVE)
    with pytest.raises(eh.InputError) as error:
        cluster.apply([event])
    assert error.value.problems[0].field == field
    assert cluster.snapshot() == LIVE


def test_names_of_numpy_are_names() -> None:
    cluster = eh.Cluster(LIVE)
    cluster.apply([{"event": "count", "request": np.str_("r1"), "count": 1}])
    assert cluster.snapshot().to_dict()["requests"][0].get("count", 1) == 1


# --- pickles


def test_an_engine_travels_with_its_settings() -> None:
    engine = eh.FairShareEngine(eh.FairShareSettings(fast_fifo=True))
    first = engine.update(LIVE)
    other = pickle.loads(pickle.dumps(engine))
    assert other.settings == engine.settings
    assert (other.update(LIVE)["fair_share"] == first["fair_share"]).all()


def test_a_mark_stays_where_it_is() -> None:
    mark = eh.Cluster(LIVE).mark()
    with pytest.raises(eh.InputError, match="a mark is of its cluster, in its process") as error:
        pickle.dumps(mark)
    assert isinstance(error.value, TypeError)


# --- settings


@pytest.mark.parametrize("system", ["YTsaurus", "Slurm", "BackendAI", "YuniKorn", "GridEngine"])
def test_settings_of_numpy_are_numbers_and_flags(system: str) -> None:
    policy = getattr(eh.policies, system)
    for name, value in policy().settings.model_dump().items():
        if type(value) in (bool, int, float):
            kind = {bool: np.bool_, int: np.int64, float: np.float64}[type(value)]
            assert policy(**{name: kind(value)}) == policy(**{name: value}), name
            assert policy().replace(**{name: kind(value)}) == policy(), name
    pace = {"victim_cooldown": np.int64(5)}
    assert policy(pace=pace) == policy(pace={"victim_cooldown": 5})


# --- arguments that drawn ones have found


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: eh.history.side_by_side(LIVE, range(2**40)), "rows"),
        (lambda: eh.history.side_by_side(LIVE, shares={"x": None}), "shares"),
        (lambda: eh.history.side_by_side(LIVE, shares={"fair_share": [1.0]}), "shares"),
        (lambda: eh.plot.comparison({"x": 1}), "run x"),
        (lambda: gridengine.read("", now=np.zeros(1, [("a", "f8")])), "now"),
        (lambda: ytsaurus.read("a\0b"), "config"),
        (lambda: eh.traces.google2011([]), "task_events"),
    ],
)
def test_what_no_function_can_use_is_refused_by_name(call: Any, field: str) -> None:
    with pytest.raises(eh.InputError) as error:
        call()
    assert error.value.problems[0].field == field
