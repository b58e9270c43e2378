"""Limits of QOS and associations, by the page "Resource Limits" of Slurm's documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tests.reference.slurm.world import YEAR

if TYPE_CHECKING:
    from tests.reference.slurm.world import Job, World

__all__ = ["Limits"]

#: Fields of a QOS, of the job's own association and of accounts above it, by whose use counts.
_COUNTED = {
    "group": (("GrpTRES", "GrpJobs"), ("GrpTRES", "GrpJobs")),
    "user": (("MaxTRESPU", "MaxJobsPU"), (None, "MaxJobs")),
    "account": (("MaxTRESPA", "MaxJobsPA"), (None, None)),
}
_MINUTES = {
    "group": ("GrpTRESRunMins", "GrpTRESRunMins"),
    "user": ("MaxTRESRunMinsPU", None),
    "account": ("MaxTRESRunMinsPA", None),
}
_NEVER = ("energy", "vmem", "pages", "fs/", "ic/")


class Limits:
    """What counts against limits, and which of them hold a job back."""

    def __init__(self, world: World) -> None:
        s, self.world = world.settings, world
        self._looked_at: tuple[dict[str, float], float] = ({}, 0.0)
        self._words: dict[str, str] = {}
        for resource, kind in world.kinds.items():
            word = {"cpu": "cpu", "memory": "mem"}.get(kind, "")
            word = resource.lower() if resource in world.licences or not word else word
            self._words[resource] = resource.lower() if word in self._words.values() else word
        words = [word.lower() for word in s.AccountingStorageEnforce or ("limits",)]
        self.on = any(word in ("limits", "safe", "all", "1") for word in words)
        self.taken: list[tuple[Job, dict[str, float], float]] = []
        for job in world.jobs if self.on else ():
            if job.allocations:
                self.taken.append((job, self._has(job), self._left(job)))

    def count(self, job: Job) -> None:
        """Let a job count, once, that was looked at last and starts, or that others leave for."""
        if self.on and not self._counts(job):
            self.taken.append((job, *self._looked_at))

    def _counts(self, job: Job) -> bool:
        return any(other is job for other, _, _ in self.taken) and not job.allocations

    def rule(self, job: Job) -> str | None:
        """Return the rule of a job that a limit keeps waiting."""
        return "limit_reached" if self._holds(job) else None

    def _holds(self, job: Job) -> bool:
        if not self.on or self._counts(job):
            return False
        asks, lasts = self._asks(job), self.world.lasts(job, backfill=False)
        self._looked_at = (asks, lasts)
        said: set[tuple[str, str]] = set()
        for scope, limits in self._scopes(job):
            if limits is None:
                continue
            if self._unread(limits) or any(
                asked > most for asked, most in self._of(job, scope, limits, asks, lasts, said)
            ):
                return True
        return False

    def _of(
        self,
        job: Job,
        scope: tuple[str, Any],
        limits: Any,
        asks: Mapping[str, float],
        lasts: float,
        said: set[tuple[str, str]],
    ) -> Iterator[tuple[float, float]]:
        """Yield what would be in use and the limit, of each limit that counts."""
        kind, _ = scope
        side = 0 if kind == "qos" else 1
        found: list[tuple[str, str, float, float]] = []
        for whose, fields in _COUNTED.items():
            amounts, jobs = fields[side]
            if kind == "above" and whose != "group":
                continue
            most: dict[str, float] = dict(getattr(limits, amounts)) if amounts else {}
            count = getattr(limits, jobs) if jobs else None
            if count is not None:
                most["jobs"] = count
            for name, limit in most.items():
                if asks.get(name):
                    used = sum(has.get(name, 0.0) for has, _ in self._others(job, scope, whose))
                    found.append((whose, name, used + asks[name], limit))
            minutes = _MINUTES[whose][side]
            for name, limit in (getattr(limits, minutes) if minutes else {}).items():
                if asks.get(name):
                    used = sum(has.get(name, 0.0) * left for has, left in self._others(job, scope, whose))
                    found.append((f"{whose} minutes", name, (used + asks[name] * lasts) / 60, limit))
        if kind != "above":
            found += [("job", n, asks[n], most) for n, most in limits.MaxTRES.items() if asks.get(n)]
            here = self._on_node(job)
            found += [("node", n, here[n], most) for n, most in limits.MaxTRESPerNode.items() if here.get(n)]
            if limits.MaxWall is not None:
                found.append(("wall", "", lasts, limits.MaxWall))
        if side == 0:
            known = self._names()
            least = {name: most for name, most in limits.MinTRES.items() if name in known}
            found += [("least", name, -asks.get(name, 0.0), -most) for name, most in least.items()]
        every = {(whose, name) for whose, name, _, _ in found} | self._set(limits, side)
        for whose, name, asked, bound in found:
            if (whose, name) not in said:
                yield asked, bound
        if side == 0:
            said |= every

    @staticmethod
    def _set(limits: Any, side: int) -> set[tuple[str, str]]:
        """Return all limits that are set, also of what the job does not ask for."""
        found: set[tuple[str, str]] = set()
        for whose, fields in _COUNTED.items():
            amounts, jobs = fields[side]
            found |= {(whose, name) for name in (getattr(limits, amounts) if amounts else ())}
            if jobs and getattr(limits, jobs) is not None:
                found.add((whose, "jobs"))
        return found

    def _scopes(self, job: Job) -> Iterator[tuple[tuple[str, Any], Any]]:
        """Yield the QOS of partition and job, the first first, then the association and those above."""
        s = self.world.settings
        names = [job.partition.QOS, job.qos_name]
        if job.qos is not None and job.qos.OverPartQOS:
            names.reverse()
        for qos in dict.fromkeys(name for name in names if name is not None):
            yield ("qos", qos), s.qos[qos]
        account, user = job.account or "", job.user or ""
        own = [f"{account}/{user}/{job.partition_name or ''}", f"{account}/{user}", account]
        name: str | None = next((one for one in own if one in s.association_limits), None)
        kind = "own"
        while name is not None:
            yield (kind, name), s.association_limits[name]
            name, kind = s.association_limits[name].parent, "above"

    def _others(
        self, job: Job, scope: tuple[str, Any], whose: str
    ) -> Iterator[tuple[dict[str, float], float]]:
        """Yield what jobs have that count, and for how many seconds yet."""
        for other, has, left in self.taken:
            under = [(k == "qos", name) for (k, name), _ in self._scopes(other)]
            if (scope[0] == "qos", scope[1]) not in under:
                continue
            if scope[0] == "qos" and whose == "user" and other.user != job.user:
                continue
            if scope[0] == "qos" and whose == "account" and other.account != job.account:
                continue
            yield has, left

    def _names(self) -> set[str]:
        return {*self._words.values(), "node", "jobs"}

    def _name(self, resource: str) -> str:
        return self._words[resource]

    def _unread(self, limits: Any) -> bool:
        """Whether something is limited that is known under no name, or nobody knows how far it is used."""
        known = self._names()
        fields = [f for f in type(limits).model_fields if "TRES" in f]
        return bool(limits.unread_limits) or any(
            name not in known
            and not name.startswith(_NEVER)
            and not (name.startswith(("gres/", "license/")) and name.split(":")[0] not in known)
            for field in fields
            for name in getattr(limits, field)
        )

    def _has(self, job: Job) -> dict[str, float]:
        found: dict[str, float] = {
            "jobs": 1.0,
            "node": float(len({a.node for a in job.allocations} - {None})),
        }
        for a in job.allocations:
            for resource, amount in a.amounts.items():
                found[self._name(resource)] = found.get(self._name(resource), 0.0) + float(amount)
        return found

    def _left(self, job: Job) -> float:
        now, ends = self.world.now, [a.planned_end for a in job.allocations]
        return max(0.0, *(YEAR if end is None else end - now for end in ends))

    def _each(self, job: Job, resource: str, amount: Any, *, licence: bool) -> float:
        if licence or not (job.whole_nodes or self.world.settings.SelectType == "select/linear"):
            return float(amount)
        largest = [float(self.world.capacity[n].get(resource, 0)) for n in self.world.partition_nodes(job)]
        return max([float(amount), *largest])

    def _asks(self, job: Job) -> dict[str, float]:
        world, found = self.world, {"jobs": 1.0, "node": 0.0}
        for q in job.requests:
            on_node = not world.only_licences(q)
            found["node"] += q.count if on_node else 0
            for resource in world.kinds:
                licence = resource in world.licences or not on_node
                amount = self._each(job, resource, q.amounts.get(resource, 0), licence=licence) * q.count
                found[self._name(resource)] = found.get(self._name(resource), 0.0) + amount
        return found

    def _on_node(self, job: Job) -> dict[str, float]:
        found: dict[str, float] = {}
        for q in job.requests:
            for resource, amount in q.amounts.items():
                licence = resource in self.world.licences or self.world.only_licences(q)
                each = self._each(job, resource, amount, licence=licence)
                found[self._name(resource)] = max(found.get(self._name(resource), 0.0), each)
        return found
