"""What recorded workloads look like, in a few numbers: tests/bench/workload_fit.py prints them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """A kind of workload."""

    processors_per_node: int
    nodes: int
    load: float
    sizes: tuple[float, ...]
    log_run: float
    log_run_by_size: float
    spread: float
    alike: float
    longest: float
    hours: tuple[float, ...]
    days: tuple[float, ...]
    users: int
    zipf: float
    jobs_per_session: float
    gap: float


#: SDSC Blue Horizon, 2000 to 2003.
SDSC = Profile(
    processors_per_node=8,
    nodes=144,
    load=0.769,
    sizes=(0.0, 0.0, 0.0, 0.5024, 0.1413, 0.1287, 0.1353, 0.0458, 0.0324, 0.0108, 0.0032),
    log_run=5.525,
    log_run_by_size=0.731,
    spread=2.76,
    alike=0.77,
    longest=72695.0,
    hours=(
        0.51,
        0.49,
        0.44,
        0.38,
        0.45,
        0.63,
        0.79,
        1.01,
        1.22,
        1.43,
        1.59,
        1.7,
        1.61,
        1.78,
        1.77,
        1.62,
        1.34,
        1.11,
        0.9,
        0.76,
        0.71,
        0.63,
        0.59,
        0.57,
    ),
    days=(1.03, 1.2, 1.29, 1.25, 1.18, 0.51, 0.55),
    users=468,
    zipf=0.69,
    jobs_per_session=2.62,
    gap=284.6,
)

#: RIKEN RICC, the first 90 days of its log of 2010.
RICC = Profile(
    processors_per_node=8,
    nodes=1024,
    load=0.906,
    sizes=(
        0.6387,
        0.0089,
        0.0379,
        0.0854,
        0.0567,
        0.0874,
        0.0287,
        0.028,
        0.0202,
        0.0043,
        0.0022,
        0.0011,
        0.0002,
        0.0002,
    ),
    log_run=8.667,
    log_run_by_size=0.306,
    spread=4.47,
    alike=0.848,
    longest=64499.0,
    hours=(
        0.5,
        1.18,
        0.5,
        0.1,
        0.35,
        0.09,
        0.06,
        0.33,
        0.17,
        0.61,
        1.06,
        1.77,
        1.17,
        1.66,
        1.76,
        1.6,
        2.09,
        2.11,
        1.99,
        1.47,
        0.93,
        1.35,
        0.68,
        0.47,
    ),
    days=(1.72, 1.29, 1.51, 1.04, 0.64, 0.23, 0.56),
    users=143,
    zipf=0.85,
    jobs_per_session=28.4,
    gap=18.4,
)

PROFILES = {"sdsc": SDSC, "ricc": RICC}
