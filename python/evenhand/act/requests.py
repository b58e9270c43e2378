"""A person's request that jobs give way to another one, carried out at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.accepted import COUNT, checked
from evenhand.act.driver import Driver
from evenhand.act.folder import KEPT
from evenhand.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.act.caps import Caps
    from evenhand.act.report import Report, Row
    from evenhand.act.timing import Timing
    from evenhand.adapters.protocol import Adapter
    from evenhand.plans import Plan

__all__ = ["RequestError", "preempt", "request"]

#: Where the system says nothing of it, caps of the driver bound how many jobs give way.
_ANY = 2**31 - 1


class RequestError(EvenhandError):
    """A request for preemption was refused, or nothing came of it; no job was touched.

    Attributes
    ----------
    rule : str
        Its code; see `evenhand.reasons`.
    """

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{message} [{rule}]")
        self.rule = rule


@checked("preempt", consumer="str | int", providers="Any", adapter="Any", policy="Any", keep_plans=COUNT)
def preempt(
    consumer: str | int,
    providers: Sequence[str | int] = (),
    *,
    adapter: Adapter,
    journal: str | os.PathLike[str],
    action: str | None = None,
    force: bool = False,
    policy: Any = None,
    dry_run: bool = False,
    caps: Caps | None = None,
    stop_file: str | os.PathLike[str] | None = None,
    timing: Timing | None = None,
    progress: Callable[[Row], object] | None = None,
    plans: str | os.PathLike[str] | None = None,
    keep_plans: int = KEPT,
) -> Report:
    """Let jobs give way to another one, as ``qmod -p`` does where there is one.

    Parameters
    ----------
    consumer : str or int
        Number of the job that waits, or ``number.task``.
    providers : sequence of str or int
        Numbers or names of the jobs that are to give way, in this order, as far as they are needed; none:
        those that the policy chooses, of a plain user among the own ones.
    adapter : Adapter
        Of a system with such requests: ``"gridengine"``.
    journal : str or path-like
        As of `act`.
    action : str, optional
        How they give way: a letter. By default what the policy says, or R where jobs are named.
    force : bool
        A manager's: also if the job would start soon anyway, and of jobs that are not rerunnable.
    policy : Policy, optional
        By default the adapter's, in which nothing but this request preempts.
    dry_run, caps, stop_file, timing, progress
        As of `act`.
    plans, keep_plans
        As of `Driver`: the folder in which the plan is saved.

    Returns
    -------
    Report
        One row a step.

    Raises
    ------
    RequestError
        If the request is refused (rights, what runs, what it allows), or is dropped as the job starts anyway,
        or nothing suffices.
    LockedError
        If another driver acts on the cluster.
    AdapterError
        If the cluster does not answer.

    Notes
    -----
    Who asks, and with which rights, is what the cluster says of the user of this process.
    """
    with Driver(
        adapter,
        journal,
        dry_run=dry_run,
        caps=caps,
        stop_file=stop_file,
        timing=timing,
        progress=progress,
        plans=plans,
        keep_plans=keep_plans,
    ) as driver:
        rules = policy if policy is not None else rules_of(driver.adapter)
        driver.act(request(driver, rules, consumer, providers, action=action, force=force))
        return driver.report


def rules_of(adapter: Any, **settings: Any) -> Any:
    """Return an adapter's own policy in which nothing but requests preempts."""
    quiet = {**settings, "automatic_preemption": False}
    found = adapter.policy(**quiet)
    if found.settings.max_preemptees == 0 and "max_preemptees" not in settings:
        found = adapter.policy(**quiet, max_preemptees=_ANY)
    return found


def request(
    driver: Driver,
    policy: Any,
    consumer: str | int,
    providers: Sequence[str | int] = (),
    *,
    action: str | None = None,
    force: bool = False,
) -> Plan:
    """Return the plan that carries a request out."""
    from evenhand.config.triggers import Commands
    from evenhand.plans.planning import plan

    who = getattr(driver.adapter, "rights", None)
    if who is None:
        said = f"the adapter {driver.adapter.name} takes no requests for preemption"
        raise RequestError("not_supported", said)
    user, manager = who()
    if force and not manager:
        raise RequestError("not_manager", f"only a manager may force a request, and {user} is none")
    command = {
        "consumer": str(consumer),
        "providers": [str(name) for name in providers],
        "action": action or ("R" if providers else None),
        "force": force,
        "user": user,
        "manager": manager,
    }
    snapshot = driver.snapshot()
    asked = plan(snapshot, policy, on=Commands((command,)))
    for refusal in asked.refusals:
        if refusal.command is not None:
            said = f"the request of {user}{' (manager)' if manager else ''} is refused: {refusal.message}"
            raise RequestError(refusal.rule, said)
    made = plan(snapshot, policy, asked.state)
    name = str(consumer)
    served = [d for d in made.decisions.victims if d.beneficiary and str(d.beneficiary.operation) == name]
    if not served:
        rows = snapshot.to_dict().get("requests", ())
        own = {str(row["name"]) for row in rows if str(row["operation"]) == name}
        for refusal in made.refusals:
            if refusal.request is not None and str(refusal.request) in own:
                raise RequestError(refusal.rule, str(made.why_not(refusal.request).summary))
        raise RequestError("available_now", f"no job has to give way to {name}")
    return made
