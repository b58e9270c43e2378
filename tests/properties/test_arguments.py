"""Wrong arguments for every public function: what comes out is an error of the package, or an answer."""

from __future__ import annotations

import inspect
from pkgutil import resolve_name

import pytest

import evenhand as eh
from tests.drawing import examples
from tests.properties import public
from tests.properties.arguing import drawn, raw_of
from tests.properties.odd_values import ODD
from tests.properties.public import every_public
from tests.properties.right_values import world

DRAWN = examples(6)
PARTS = 6


@pytest.mark.parametrize("part", range(PARTS))
def test_wrong_arguments_are_refused_by_an_error_of_the_package(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world().folder)
    raw = {str(call): error for call in map(drawn, range(part, DRAWN, PARTS)) if (error := raw_of(call))}
    assert raw == {}


def test_functions_are_found_by_themselves() -> None:
    names = {one.name for one in every_public()}
    assert len(names) == len(every_public()) > 120
    assert {"plan", "tune", "Cluster.apply", "simulate.Workload.slice", "traces.swf", "plot.node"} <= names
    found = {one.function for one in every_public()}
    for name in eh.__all__:
        if inspect.isfunction(value := getattr(eh, name)) and inspect.signature(value).parameters:
            assert value in found, name


def test_every_method_can_be_called_with_right_arguments() -> None:
    """A class whose objects the tests cannot make must be entered there."""
    for one in every_public():
        if one.owner is not None:
            assert world().receiver(one.owner) is not None, one.name


def test_what_is_left_out_is_there() -> None:
    for name in public.INSIDE:
        assert callable(resolve_name(f"evenhand.{name}")), name


def test_what_is_drawn_is_the_same_every_time_and_of_every_kind() -> None:
    calls = [drawn(number) for number in range(3000)]
    assert [str(call) for call in calls] == [str(drawn(number)) for number in range(3000)]
    assert {value for call in calls for value in call.odd.values()} == set(ODD)
    assert {call.function.name for call in calls} == {one.name for one in every_public()}
