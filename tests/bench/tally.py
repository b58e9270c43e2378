"""What searches for victims took and proved, ours and a solver's on the same instances."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["Tally", "arguments", "solved", "solver"]


class Tally:
    """Figures of one setting.

    Attributes
    ----------
    times : list of float
        Milliseconds of our searches.
    gaps : list of float
        By how much the cost is above the bound.
    proved : list of bool
    sound : bool
        Whether the solver's answers agree with our proofs.
    """

    def __init__(self) -> None:
        self.times: list[float] = []
        self.gaps: list[float] = []
        self.proved: list[bool] = []
        self.sound = True
        self._first: list[bool] = []
        self._branches: list[int] = []
        self._costs: list[int] = []
        self._slow: list[float] = []
        self._optimal = self._dearer = 0

    def add(self, found: Mapping[str, Any], milliseconds: float) -> None:
        """Count a search of ours."""
        self.times.append(milliseconds)
        self.gaps.append(found["cost"] / found["lower_bound"] - 1)
        self.proved.append(found["proved"])
        self._first.append(found["first"])
        self._branches.append(found["branches"])
        self._costs.append(found["cost"])

    def beside(self, best: int, optimal: bool, milliseconds: float, found: Mapping[str, Any]) -> None:
        """Count what the solver made of the instance of `found`."""
        self._slow.append(milliseconds)
        self._optimal += optimal
        self._dearer += best > found["cost"]
        self.sound &= not (found["proved"] and best < found["cost"]) and found["lower_bound"] <= best

    def print(self, name: str, width: int) -> None:
        """Print one line of ours and one of the solver's."""
        print(
            f"{name:{width}} {_spread(self.times)}; proved {np.mean(self.proved):4.0%},"
            f" first {np.mean(self._first):4.0%}; gap {np.median(self.gaps):.1%}, most {max(self.gaps):.1%};"
            f" cost {np.median(self._costs):.0f}; branches {np.median(self._branches):.0f},"
            f" most {max(self._branches)}"
        )
        if self._slow:
            print(
                f"{'':{width}} {_spread(self._slow)}; HiGHS, {self._optimal} of {len(self._slow)} proved,"
                f" dearer than ours {self._dearer}"
            )
        sys.stdout.flush()


def _spread(times: list[float]) -> str:
    return f"{np.median(times):8.3f} ms, 95 % {np.percentile(times, 95):8.3f}, most {max(times):8.2f}"


def arguments(description: str | None, count: int, peers: int) -> argparse.Namespace:
    """Return ``count``, ``peers``, ``seconds`` and ``budget`` of the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=count, help="instances of a setting")
    parser.add_argument("--peers", type=int, default=peers, help="of which HiGHS sees so many")
    parser.add_argument("--seconds", type=float, default=10.0, help="that HiGHS has for an instance")
    parser.add_argument("--budget", type=int, default=20_000)
    return parser.parse_args()


def solver(seconds: float) -> Any:
    """HiGHS with one thread, which is to prove what it finds."""
    import highspy

    made = highspy.Highs()
    made.setOptionValue("output_flag", False)
    made.setOptionValue("threads", 1)
    made.setOptionValue("mip_rel_gap", 0.0)
    made.setOptionValue("time_limit", seconds)
    return made


def solved(model: Any) -> tuple[int, bool, float]:
    """The least of a model of HiGHS, whether it is proved, and milliseconds, model building left out."""
    import highspy

    start = time.perf_counter()
    model.run()
    took = (time.perf_counter() - start) * 1e3
    optimal = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return round(model.getInfo().objective_function_value), optimal, took
