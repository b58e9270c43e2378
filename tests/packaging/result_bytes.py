"""Print a digest of every result for a fixed set of inputs: two builds must print the same.

Run as ``python -m tests.packaging.result_bytes`` with the build in question on the path. The inputs are the
shared collection of cases where it is there, else the sample of it, and large trees. Every input is computed
alone and in two threads at once, which must not change a byte.
"""

from __future__ import annotations

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import evenhand as eh
from evenhand import synthetic
from tests.bench import crowded
from tests.conformance import engines, files
from tests.conformance.ytsaurus.fair_share_oracle import run
from tests.conformance.ytsaurus.scale_input import tree
from tests.shared import SHARED

SAMPLE = Path(__file__).parents[1] / "data" / "conformance"


def digest(shares: eh.Shares) -> bytes:
    """Digest of the bytes of every quantity, and of the diagnostics."""
    total = hashlib.sha256()
    for quantity in shares.quantities:
        total.update(quantity.encode())
        total.update(np.ascontiguousarray(shares[quantity]).tobytes())
    total.update(repr(shares.diagnostics).encode())
    return total.digest()


class Recorder:
    """An engine for the conformance runner that keeps a digest of all it computed."""

    def __init__(self) -> None:
        self.total = hashlib.sha256()
        self.updates = 0

    def record(self, *given: Any) -> None:
        """Compute one update alone and twice at once."""
        alone = digest(eh.fair_share(*given[:2], state=given[2]))
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(lambda g: digest(eh.fair_share(*g[:2], state=g[2])), [given, given]))
        if together != [alone, alone]:
            raise SystemExit("two threads give other bytes than one")
        self.total.update(alone)
        self.updates += 1

    def __call__(
        self, snapshot: dict[str, Any], options: dict[str, Any], state: Any = None
    ) -> engines.Result:
        built = eh.Snapshot.from_dict(snapshot, order="rows")
        self.record(built, eh.FairShareSettings(**options), state)
        return engines.evenhand(snapshot, options, state)

    def report(self, name: str) -> None:
        """Print the digest of a group of inputs."""
        print(f"{self.total.hexdigest()}  {name}: {self.updates} updates")


def plan_digest(snapshot: eh.Snapshot, policy: Any) -> str:
    """Digest of the second plan, ten minutes after the first; alone and in two threads at once."""
    state = eh.plan(snapshot, policy).state
    later = snapshot.replace(now=snapshot.now + 600)

    def digest_once(_: int) -> str:
        return hashlib.sha256(eh.plan(later, policy, state).to_json().encode()).hexdigest()

    alone = digest_once(0)
    with ThreadPoolExecutor(2) as pool:
        if list(pool.map(digest_once, range(2))) != [alone, alone]:
            raise SystemExit("two threads give another plan than one")
    return alone


def main() -> int:
    """Print a line for each group of inputs."""
    cases = SHARED / "cases" if SHARED.exists() else SAMPLE
    for path in sorted(cases.glob("ytsaurus-fair-share-*.json*")):
        recorder = Recorder()
        for case in files.cases(files.read(path)):
            if case.run is not None:
                case.run(recorder)
        recorder.report(path.name)
    for variant, improved, gang in (("plain", False, 0.0), ("full", False, 0.0), ("full", True, 0.3)):
        recorder = Recorder()
        run(tree(10_000, 500, 4, variant, improved=improved, gang=gang), recorder)
        recorder.report(f"10,000 operations, {variant}{', improved, gangs' if improved else ''}")
    recorder = Recorder()
    recorder.record(synthetic.demo(), eh.FairShareSettings(), None)
    recorder.report("demo")
    for name, snapshot in (("demo", synthetic.demo()), ("crowded", crowded.cluster(2000, 20, 1000, 20))):
        for preset in ("documented", "upstream"):
            policy: Any = eh.policies.YTsaurus(preset, enable_aggressive_starvation=True)
            print(f"{plan_digest(snapshot, policy)}  plan of {name}, {preset}")
    # Full, and in tiers, for the systems of whole jobs; what is cheapest is found in floating point, too.
    ranked = eh.policies.tiered(synthetic.demo())
    ranked = ranked.after(eh.plan(ranked, eh.policies.YTsaurus()))
    tiers = {"best-effort": {"PriorityTier": 1}, "guaranteed": {"PriorityTier": 2}}
    slurm = eh.policies.Slurm(
        PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=tiers, minimum_budget=500
    )
    backendai = eh.policies.BackendAI(preemptible_priority=5, minimum_budget=500)
    for policy in (slurm, slurm.replace(victim_selection="minimum"), backendai):
        print(f"{plan_digest(ranked, policy)}  {policy.system}, {policy.settings.victim_selection}")
    for cost in ("victims", "lost_work"):
        policy = backendai.replace(victim_selection="minimum", victim_cost=cost)
        print(f"{plan_digest(ranked, policy)}  {policy.system}, the least {cost}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
