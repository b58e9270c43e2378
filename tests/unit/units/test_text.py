"""How numbers, amounts and times read: without exponents, in the order of what they say."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.units import text

FINITE = st.floats(allow_nan=False, allow_infinity=False)
#: Of the size of amounts: up to 2^60 quanta, down to a millionth.
USUAL = st.floats(-(2.0**60), 2.0**60, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) >= 1e-6)
SPANS = {"d": 86_400, "h": 3_600, "min": 60, "s": 1}


def read(number: str) -> float:
    assert re.fullmatch(r"-?\d{1,3}(,\d{3})*(\.\d*[1-9])?", number), number
    return float(number.replace(",", ""))


def seconds(span: str) -> float:
    sign = -1 if span.startswith("-") else 1
    words = span.removeprefix("-").split()
    return sign * math.fsum(
        read(count) * SPANS[word] for count, word in zip(words[::2], words[1::2], strict=True)
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (-0.0, "0"),
        (7, "7"),
        (999.0, "999"),
        (1000.0, "1,000"),
        (412316860416, "412,316,860,416"),
        (2**60, "1,152,921,504,606,846,976"),
        (5.3e-05, "0.000053"),
        (0.1 + 0.2, "0.3"),
        (1234.5, "1,234.5"),
        (12345678901.4, "12,345,678,901"),
        (9999999999.5, "10,000,000,000"),
        (-0.25, "-0.25"),
        (math.inf, "infinite"),
        (-math.inf, "minus infinite"),
        (math.nan, "unknown"),
    ],
)
def test_a_number_by_itself(value: float, written: str) -> None:
    assert text.number(value) == written


@pytest.mark.parametrize(
    ("value", "beside", "written"),
    [
        (2 / 3, [1], "0.6667"),
        (7.9996, [8], "7.9996"),
        (7.99999999, [8], "7.99999999"),
        (8, [7.99999999], "8"),
        (0.33331, [0.33334], "0.33331"),
        (0.33331, [0.4], "0.3333"),
        (2 / 3, [2 / 3], "0.6666666667"),
        (12345.678, [3], "12,346"),
        (12345.678, [12346], "12,345.7"),
        (500 - 2.0**-40, [500], "499.999999999999"),
    ],
)
def test_a_number_beside_another(value: float, beside: list[float], written: str) -> None:
    assert text.number(value, beside) == written


@given(FINITE)
def test_a_number_has_no_exponent_and_is_near(value: float) -> None:
    assert read(text.number(value)) == pytest.approx(value, rel=1e-9, abs=0)


@given(st.lists(USUAL, min_size=2, max_size=4))
def test_what_is_compared_keeps_its_order(values: list[float]) -> None:
    shown = [read(text.number(value, values)) for value in values]
    for a, x in zip(values, shown, strict=True):
        for b, y in zip(values, shown, strict=True):
            assert (x < y) == (a < b)


@given(USUAL, st.integers(1, 3))
def test_neighbours_look_different(value: float, steps: int) -> None:
    other = value
    for _ in range(steps):
        other = math.nextafter(other, math.inf)
    assert text.number(value, [other]) != text.number(other, [value])


@pytest.mark.parametrize(
    ("value", "beside", "written"),
    [
        (0, [], "0 %"),
        (0.0222, [], "2.22 %"),
        (1 / 3, [], "33.3 %"),
        (1, [], "100 %"),
        (12.345, [], "1,234 %"),
        (0.00000053, [], "0.000053 %"),
        (0.33334, [1 / 3], "33.334 %"),
        (0.3333333338, [0.3333333333], "33.3 %"),  # apart by less than 1e-9: equal
        (0.333333336, [0.333333333], "33.333334 %"),
    ],
)
def test_shares_in_percent(value: float, beside: list[float], written: str) -> None:
    assert text.percent(value, beside) == written


@pytest.mark.parametrize(
    ("unit", "resource", "value", "written"),
    [
        (None, "memory", 4096, "4,096 memory"),
        ("GiB", "memory", 3.5, "3.5 GiB of memory"),
        ("core", "cpu", 1, "1 core of cpu"),
        ("core", "cpu", 0, "0 cores of cpu"),
        ("core", "cores", 8, "8 cores"),
        ("GPU", "gpu", 8, "8 gpu"),
        ("seat", "lic\x1b", 2, "2 seat of lic\\x1b"),
    ],
)
def test_an_amount_in_its_unit(unit: str | None, resource: str, value: float, written: str) -> None:
    assert text.amount(value, resource, unit) == written
    assert text.amounts({resource: value}, {resource: unit}) == written


def test_amounts_of_others() -> None:
    most = {"cpu": 8, "memory": 4}
    assert text.amounts_of({"cpu": 0, "memory": 3.99996}, most, {"memory": "GiB"}) == (
        "0 of 8 cpu, 3.99996 of 4 GiB of memory"
    )
    assert text.amounts_of({"gpu": 1}, most) == "nothing"
    assert text.amounts({}) == "nothing"
    assert text.amounts({"cpu": 1 / 3, "gpu": 1 / 3}, beside={"cpu": 1 / 3}) == "0.3333333333 cpu, 0.3333 gpu"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0 s"),
        (0.000001, "0.000001 s"),
        (0.5, "0.5 s"),
        (60, "60 s"),
        (119.999999, "119.999999 s"),
        (120, "2 min"),
        (120.000001, "2 min 0.000001 s"),
        (899.9996, "14 min 59.9996 s"),
        (900, "15 min"),
        (3_600, "1 h"),
        (7_500, "2 h 5 min"),
        (86_399, "23 h 59 min 59 s"),
        (86_400, "1 d"),
        (1767225630, "20,454 d 30 s"),
        (-900, "-15 min"),
        (math.inf, "infinite"),
    ],
)
def test_durations(value: float, written: str) -> None:
    assert text.duration(value) == written


@given(st.integers(-(2**53), 2**53))
def test_a_duration_is_what_it_says(micros: int) -> None:
    said = text.duration(micros / 1e6)
    assert seconds(said) == pytest.approx(micros / 1e6, abs=1e-6)
    assert re.search(r"\d{10}", said) is None


@pytest.mark.parametrize(
    ("now", "value", "written"),
    [
        (0, 3600, "3,600 s"),
        (999_999_999.0, 1767225630, "1,767,225,630 s"),
        (1e9, 1767225630, "2026-01-01 00:00:30 UTC"),
        (1767225610, 1767225630.25, "2026-01-01 00:00:30.25 UTC"),
        (1767225610, 0, "1970-01-01 00:00:00 UTC"),
        (99_999_999_999.0, 1767225630, "2026-01-01 00:00:30 UTC"),
        (1e11, 1767225630, "1,767,225,630 s"),
        (0, -0.1, "-0.1 s"),
        (0, math.inf, "infinite"),
        (1e9, math.inf, "infinite"),
        (1767225610000, 1767225630000, "1,767,225,630,000 s"),
    ],
)
def test_instants(now: float, value: float, written: str) -> None:
    assert text.instant(value, now) == written


def test_an_instant_beyond_the_calendar() -> None:
    assert text.instant(1e15, 1767225610) == "1,000,000,000,000,000 s"


@given(st.integers(0, 4 * 10**15), st.integers(10**15, 4 * 10**15))
def test_an_instant_is_what_it_says(micros: int, now: int) -> None:
    said = text.instant(micros / 1e6, now / 1e6).removesuffix(" UTC")
    read_back = datetime.fromisoformat(said.ljust(len(said) if "." not in said else 26, "0"))
    assert read_back.replace(tzinfo=UTC).timestamp() == pytest.approx(micros / 1e6, abs=2e-6)


@pytest.mark.parametrize(
    ("value", "now", "written"),
    [
        (20, 20, "now"),
        (40, 20, "in 20 s"),
        (20, 40, "20 s ago"),
        (3_599.5, 0, "in 59 min 59.5 s"),
        (3_600, 0, "in 1 h"),
        (3_629, 0, "in 1 h"),
        (3_631, 0, "in 1 h 1 min"),
        (86_399, 0, "in 1 d"),
        (86_400, 0, "in 1 d"),
        (86_400 + 1_799, 0, "in 1 d"),
        (86_400 + 1_801, 0, "in 1 d 1 h"),
    ],
)
def test_how_far_from_now(value: float, now: float, written: str) -> None:
    assert text.relative(value, now) == written


def test_when() -> None:
    assert text.when(1767225630, 1767225610) == "2026-01-01 00:00:30 UTC (in 20 s)"
    assert text.when(5, 25) == "5 s (20 s ago)"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.80004321, "0.80004321"),
        (0.1 + 0.2, "0.30000000000000004"),
        (3, "3"),
        (-2.0, "-2"),
        (1e-7, "0.0000001"),
        (1234567.5, "1,234,567.5"),
        (1e22, "10,000,000,000,000,000,000,000"),
    ],
)
def test_an_exact_number_has_all_its_digits(value: float, said: str) -> None:
    assert text.exact(value) == said


@given(FINITE)
def test_an_exact_number_gives_the_number_back(value: float) -> None:
    assert read(text.exact(value)) == value
