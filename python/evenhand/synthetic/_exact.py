"""Powers, logarithms and normal deviates whose last bit is the same on every machine.

The functions of a C library differ in it. Here are additions, multiplications and divisions alone, which
are correctly rounded everywhere, of arrays, so that no compiler joins two of them to one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.synthetic._stream import Stream

    Floats = NDArray[np.float64]

_LN2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476


def exp2(x: Floats) -> Floats:
    """Return 2 to the power of x, within 2e-16, relative."""
    whole = np.floor(x)
    y = (x - whole) * _LN2
    sum_ = np.ones_like(y)
    for n in range(18, 0, -1):  # the exponential series, by Horner's rule
        sum_ = sum_ * y / n + 1.0
    return np.ldexp(sum_, whole.astype(np.int64))


def log2(x: Floats) -> Floats:
    """Return the logarithm of positive numbers to base 2, within 4e-16."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < _SQRT_HALF
    mantissa = np.where(small, 2.0 * mantissa, mantissa)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    sum_ = np.zeros_like(s)
    for n in range(25, 0, -2):  # the series of the inverse hyperbolic tangent
        sum_ = sum_ * square + 1.0 / n
    return (exponent - small) + 2.0 * s * sum_ / _LN2


def normal(stream: Stream, size: int) -> Floats:
    """Draw nearly normal deviates: sums of twelve uniform ones, less 6, so none is beyond 6."""
    sum_ = np.zeros(size)
    for row in stream.uniform(12 * size).reshape(12, size):
        sum_ = sum_ + row
    return sum_ - 6.0


def exponential(stream: Stream, size: int) -> Floats:
    """Draw exponential deviates of mean 1."""
    return -log2(1.0 - stream.uniform(size)) * _LN2
