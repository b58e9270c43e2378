"""Hypothesis strategies for resources, pool trees, snapshots and settings.

They follow hypothesis' guide to API style: names are plurals of what is drawn,
the strategy of the elements comes first, everything optional is given by
keyword, bounds come in pairs, and wrong arguments raise `InvalidArgument` when
an example is drawn. Nothing is filtered: what must hold between rows is met by
construction, and everything shrinks towards one resource, no pools, no
operations and zero amounts.

**Ties.** Where a cap is met exactly, or two jumps coincide, two correct engines
may differ by an entire operation, the specification's "knife edge". Snapshots are
therefore generic unless asked otherwise: every amount carries a small excess of
its own. With ``ties=True`` amounts are exact percentages of small totals, and a
drawn boolean switches on the nasty shapes of `NASTY`: use that for laws, not for
comparing engines.

Needs the extra `test`.
"""

from __future__ import annotations

from evenhand.errors import require

require("hypothesis", "test")

from evenhand.testing.strategies._related import relation_cases  # noqa: E402
from evenhand.testing.strategies.clusters import (  # noqa: E402
    cluster_dicts,
    clusters,
    system_cluster_dicts,
)
from evenhand.testing.strategies.gridengine import gridengine_clusters, gridengine_settings  # noqa: E402
from evenhand.testing.strategies.histories import cluster_histories, event_histories  # noqa: E402
from evenhand.testing.strategies.jobs import job_clusters, slurm_settings  # noqa: E402
from evenhand.testing.strategies.policies import policies  # noqa: E402
from evenhand.testing.strategies.preemption import (  # noqa: E402
    PlanInput,
    crowded_dicts,
    plan_inputs,
    ytsaurus_settings,
)
from evenhand.testing.strategies.queues import queue_partitions, yunikorn_settings  # noqa: E402
from evenhand.testing.strategies.resources import resource_spaces, resource_vectors  # noqa: E402
from evenhand.testing.strategies.sessions import backendai_settings, session_groups  # noqa: E402
from evenhand.testing.strategies.snapshot_inputs import (  # noqa: E402
    NASTY,
    fair_share_settings,
    snapshot_dicts,
    snapshots,
)
from evenhand.testing.strategies.tables import (  # noqa: E402
    allocations,
    nodes,
    operations,
    pool_trees,
    pools,
    requests,
)
from evenhand.testing.strategies.victims import preempting  # noqa: E402

__all__ = [
    "NASTY",
    "PlanInput",
    "allocations",
    "backendai_settings",
    "cluster_dicts",
    "cluster_histories",
    "clusters",
    "crowded_dicts",
    "event_histories",
    "fair_share_settings",
    "gridengine_clusters",
    "gridengine_settings",
    "job_clusters",
    "nodes",
    "operations",
    "plan_inputs",
    "policies",
    "pool_trees",
    "pools",
    "preempting",
    "queue_partitions",
    "relation_cases",
    "requests",
    "resource_spaces",
    "resource_vectors",
    "session_groups",
    "slurm_settings",
    "snapshot_dicts",
    "snapshots",
    "system_cluster_dicts",
    "ytsaurus_settings",
    "yunikorn_settings",
]
